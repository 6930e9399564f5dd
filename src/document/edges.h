/*
 * edges.h - what the tasks of a workflow document take from each other.
 *
 * A task names its producers under `after`, or, port by port, under `in`; `bytes` says
 * how much crosses each edge.
 */
#ifndef DOCUMENT_EDGES_H
#define DOCUMENT_EDGES_H

#include "document/reader.h"
#include "document/tree.h"
#include "model/workflow.h"

#define EDGES_INPUT  "input"  /* The request, under `after`; */
#define EDGES_INPUTS "inputs" /* and under `in`, before the name of one of its parts. */

/*
 * Add the edges of the workflow document @node to @workflow, which has its tasks. Fails
 * for unknown tasks and for cycles, at the line of a task that is in one.
 */
void edges_read(struct reader *reader, const struct tree_node *node, struct workflow *workflow);

#endif /* DOCUMENT_EDGES_H */
