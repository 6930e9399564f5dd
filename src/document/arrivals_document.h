/*
 * arrivals_document.h - the part of a scenario that says how requests come.
 *
 * The command line gives the same settings one by one: they are put into a tree and read
 * here, so that both mean the same and are refused in the same words.
 */
#ifndef DOCUMENT_ARRIVALS_DOCUMENT_H
#define DOCUMENT_ARRIVALS_DOCUMENT_H

#include "base/arena.h"
#include "document/reader.h"
#include "model/arrivals.h"
#include "model/catalogue.h"

/*
 * Read the arrivals at @node. Lists and traces come from @arena and live as long. The
 * path of a trace is relative to the folder of the file that @node stands in.
 */
void arrivals_read(
    struct reader *reader, const struct tree_node *node, const struct catalogue *catalogue,
    struct arena *arena, struct arrivals *arrivals_out);

/*
 * Change the rate of what was read, as arrivals_set_rate() does. On failure @arrivals is
 * of no use: keep a copy.
 */
void arrivals_read_rate(
    struct reader *reader, const struct tree_node *node, struct arrivals *arrivals);

/* How long clients wait: a time, or a mapping with the mean of one. */
void arrivals_read_patience(
    struct reader *reader, const struct tree_node *node, struct arrivals *arrivals);

#endif /* DOCUMENT_ARRIVALS_DOCUMENT_H */
