/* cluster_save.h - a fleet as the inside of a cluster document. */
#ifndef DOCUMENT_CLUSTER_SAVE_H
#define DOCUMENT_CLUSTER_SAVE_H

#include <stdbool.h>
#include <stdio.h>

#include "model/fleet.h"

/* Whether a document can say it: all workers of a machine are alike, and its devices whole. */
bool cluster_is_writable(const struct fleet *fleet);

/* The keys "machines" and "network", each line after @indent spaces. */
void cluster_write(const struct fleet *fleet, int indent, FILE *file);

#endif /* DOCUMENT_CLUSTER_SAVE_H */
