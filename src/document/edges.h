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
#include "document/writer.h"
#include "model/catalogue.h"

/*
 * Add the edges and names of the workflow document @node to @workflow, which has its
 * tasks. Tasks that names ask for follow behind those of the document; @catalogue then
 * has their function. Fails for unknown tasks and for cycles, at the line of a task that
 * is in one.
 */
void edges_read(
    struct reader *reader, const struct tree_node *node, struct catalogue *catalogue,
    struct workflow *workflow);

/* Write the producers of a struct task_entry that no port names, under `after`; and all edges,
 * under `bytes`. The writer's context is the catalogue. */
void edges_write_after(struct writer *writer, const void *entry);
void edges_write_bytes(struct writer *writer, const void *entry);

#endif /* DOCUMENT_EDGES_H */
