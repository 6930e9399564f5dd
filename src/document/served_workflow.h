/* served_workflow.h - what a workflow that is served must say, beyond one that is only simulated.
 */
#ifndef DOCUMENT_SERVED_WORKFLOW_H
#define DOCUMENT_SERVED_WORKFLOW_H

#include "document/repository_scan.h"
#include "document/tree.h"

/*
 * Check the workflow at @node, which was read as @workflow, against @scan: what a request
 * brings and what a job gives back is declared, every task says what it takes, and what
 * tasks run is there. Without a workflow, because the document has errors, only the last of these.
 *
 * Errors: WEFT_INVALID, with "file:line: cause".
 */
enum weft_status served_workflow_check(
    const struct tree_node *node, const struct workflow *workflow,
    const struct repository_scan *scan, struct weft_error *error);

#endif /* DOCUMENT_SERVED_WORKFLOW_H */
