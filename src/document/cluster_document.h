/* cluster_document.h - a fleet from its document: docs/DOCUMENTS.md has the form. */
#ifndef DOCUMENT_CLUSTER_DOCUMENT_H
#define DOCUMENT_CLUSTER_DOCUMENT_H

#include <weft/status.h>

#include "document/tree.h"
#include "model/fleet.h"

/*
 * Read the cluster at @node. On success the caller owns *fleet_out.
 *
 * Errors: WEFT_INVALID, with "file:line: cause".
 */
enum weft_status cluster_read(
    const struct tree_node *node, struct fleet **fleet_out, struct weft_error *error);

/* The same for the file at @path. Errors: also those of tree_load(). */
enum weft_status cluster_load(const char *path, struct fleet **fleet_out, struct weft_error *error);

#endif /* DOCUMENT_CLUSTER_DOCUMENT_H */
