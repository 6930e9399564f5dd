/*
 * network_document.h - the part of a cluster document that is about its network.
 */
#ifndef DOCUMENT_NETWORK_DOCUMENT_H
#define DOCUMENT_NETWORK_DOCUMENT_H

#include "document/reader.h"
#include "model/fleet.h"

/* Read @node, which may be NULL, into the network of @fleet, whose machines are all there. */
void network_read(struct reader *reader, const struct tree_node *node, struct fleet *fleet);

/* The rate @key of @mapping, which is above 0 if it is given; 0 if not. */
uint64_t network_read_rate(struct reader *reader, const struct tree_node *mapping, const char *key);

#endif /* DOCUMENT_NETWORK_DOCUMENT_H */
