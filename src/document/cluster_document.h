/*
 * cluster_document.h - machines and their network: docs/DOCUMENTS.md has the form.
 */
#ifndef DOCUMENT_CLUSTER_DOCUMENT_H
#define DOCUMENT_CLUSTER_DOCUMENT_H

#include <stdbool.h>

#include <weft/status.h>

#include "document/record.h"
#include "document/tree.h"
#include "model/fleet.h"

extern const struct field cluster_fields[];
extern const struct field cluster_machines_fields[]; /* Of each of `machines`. */
extern const struct field cluster_device_fields[];   /* Of their `device`. */
extern const struct field cluster_prices_fields[];   /* Of `prices`. */

/*
 * Read the cluster at @node. On success the caller owns *fleet_out.
 *
 * Errors: WEFT_INVALID, with "file:line: cause".
 */
enum weft_status cluster_read(
    const struct tree_node *node, struct fleet **fleet_out, struct weft_error *error);

/* Whether a document can describe @fleet: at least one machine, and all devices of one alike. */
bool cluster_is_writable(const struct fleet *fleet);

/* Write @fleet as the next value, each key on its line. It must be writable. */
void cluster_write(struct writer *writer, const struct fleet *fleet);

#endif /* DOCUMENT_CLUSTER_DOCUMENT_H */
