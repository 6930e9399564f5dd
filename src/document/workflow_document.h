/*
 * workflow_document.h - a workflow in and out of its document: docs/DOCUMENTS.md has the form.
 *
 * The tasks of the workflow have the order of the document, so that task number i is
 * child number i of the node `tasks`: that is how a later check finds its line.
 */
#ifndef DOCUMENT_WORKFLOW_DOCUMENT_H
#define DOCUMENT_WORKFLOW_DOCUMENT_H

#include <weft/status.h>

#include "document/record.h"
#include "document/tree.h"
#include "model/catalogue.h"

extern const struct field workflow_fields[];
extern const struct field workflow_task_fields[]; /* Of each of `tasks`. */

/*
 * Read the workflow at @node and number its models in @catalogue, where they stay even
 * if something else is wrong. On success the caller owns *workflow_out, which is sealed.
 *
 * Errors: WEFT_INVALID, with "file:line: cause".
 */
enum weft_status workflow_read(
    const struct tree_node *node, struct catalogue *catalogue, struct workflow **workflow_out,
    struct weft_error *error);

/* Write the sealed @workflow as the next value, each key on its line; or all of it to @file. */
void workflow_write(
    struct writer *writer, const struct workflow *workflow, const struct catalogue *catalogue);
void workflow_print(const struct workflow *workflow, const struct catalogue *catalogue, FILE *file);

#endif /* DOCUMENT_WORKFLOW_DOCUMENT_H */
