/*
 * network_document.h - the part of a cluster document that is about its network.
 */
#ifndef DOCUMENT_NETWORK_DOCUMENT_H
#define DOCUMENT_NETWORK_DOCUMENT_H

#include "document/record.h"
#include "model/fleet.h"

extern const struct field network_fields[];            /* Of struct fleet_network. */
extern const struct field network_background_fields[]; /* Of `background`. */

extern const struct reader_range network_rate; /* Of a link that has a limit. */

/* Read @node into the network of a struct fleet, whose machines are all there; and write it. */
void network_read(struct reader *reader, const struct tree_node *node, void *fleet);
void network_write(struct writer *writer, const void *fleet);

#endif /* DOCUMENT_NETWORK_DOCUMENT_H */
