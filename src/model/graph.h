/*
 * graph.h - what follows from the shape of a sealed workflow.
 *
 * Times of tasks and edges come from the caller, because the model layer knows no
 * measurements. Every function works on caller's memory.
 */
#ifndef MODEL_GRAPH_H
#define MODEL_GRAPH_H

#include <stdint.h>

#include "model/workflow.h"

/*
 * Upward rank (HEFT, Topcuoglu 2002, eq. 3): run time of a task plus the costliest
 * way from it to a sink. @run_ns has a time per task, @edge_ns one per edge and may
 * be NULL for none; @rank_out has room for a value per task.
 */
void graph_upward_rank(
    const struct workflow *workflow, const int64_t *run_ns, const int64_t *edge_ns,
    int64_t *rank_out);

/* Tasks by descending rank; ties keep the topological order. @order_out: one per task. */
void graph_rank_order(const struct workflow *workflow, const int64_t *rank, uint32_t *order_out);

/* The longest way from a source to a sink. @rank_scratch has room for one per task. */
int64_t graph_longest_path(
    const struct workflow *workflow, const int64_t *run_ns, int64_t *rank_scratch);

#endif /* MODEL_GRAPH_H */
