/*
 * digraph.h - a directed graph without names: vertices with a time, edges with bytes.
 *
 * For graphs that are analysed and contracted but never run: the operators of a model,
 * an unfolded job, the shape of a workflow. digraph_seal() checks the graph once, groups
 * the edges by both ends and puts the vertices in a topological order. Not thread-safe
 * while being built; safe to share once sealed.
 */
#ifndef MODEL_DIGRAPH_H
#define MODEL_DIGRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/status.h>

#include "base/limits.h"

struct workflow;

#define VERTEX_NONE UINT32_MAX

/* Eight inputs a vertex on average, as for workflows. */
enum { DIGRAPH_EDGES_MAX = 8 * GRAPH_VERTICES_MAX };

struct digraph_vertex {
    int64_t run_ns;

    /* Derived by digraph_seal(). */
    uint32_t in_first; /* Into edges_in. */
    uint32_t in_count;
    uint32_t out_first; /* Into edges_out. */
    uint32_t out_count;
};

struct digraph_edge {
    uint32_t from;
    uint32_t to;
    uint64_t bytes; /* What @to needs of the one tensor that @from makes. */
};

struct digraph {
    bool sealed;
    uint32_t vertex_count;
    uint32_t edge_count;
    int64_t run_ns; /* Of all vertices together. */
    struct digraph_vertex *vertices;
    struct digraph_edge *edges;

    /* Derived by digraph_seal(). */
    uint32_t *order;     /* Vertices, every producer before its consumers. */
    uint32_t *edges_in;  /* Edge indices grouped by consumer; in a group as they came. */
    uint32_t *edges_out; /* Likewise by producer. */
};

/* An empty graph; the caller owns it. */
struct digraph *digraph_create(void);

/*
 * The shape of @workflow, which has no cycle: vertices and edges keep their indices. A
 * time per task comes from @run_ns, NULL for none; edges carry the bytes of @items items.
 * Sealed; the caller owns it.
 */
struct digraph *digraph_from_workflow(
    const struct workflow *workflow, const int64_t *run_ns, uint32_t items);

/* Release @graph. NULL is allowed. */
void digraph_destroy(struct digraph *graph);

/*
 * Add a vertex and give its index through @vertex_out. Times are not negative, and the
 * sum of all of them fits.
 *
 * Errors: WEFT_LIMIT past GRAPH_VERTICES_MAX.
 */
enum weft_status digraph_add_vertex(struct digraph *graph, int64_t run_ns, uint32_t *vertex_out);

/*
 * Add an edge, which is copied.
 *
 * Errors: WEFT_NOT_FOUND for an unknown vertex; WEFT_INVALID for an edge to itself;
 * WEFT_LIMIT past DIGRAPH_EDGES_MAX.
 */
enum weft_status digraph_add_edge(struct digraph *graph, const struct digraph_edge *edge);

/*
 * Check the graph and freeze it.
 *
 * Errors: WEFT_INVALID for an empty graph or a cycle; WEFT_EXISTS if two edges connect
 * the same vertices in the same direction. The graph stays open.
 */
enum weft_status digraph_seal(struct digraph *graph);

/*
 * Write the vertices whose ways back end at sources, producers first and otherwise by
 * ascending index (Kahn 1962, first come first served). Returns their number: less than
 * all if there is a cycle. The edges must be grouped, as they are once sealed.
 */
uint32_t digraph_sort(const struct digraph *graph, uint32_t *order_out);

static inline const struct digraph_edge *digraph_in(
    const struct digraph *graph, uint32_t vertex, uint32_t index)
{
    return &graph->edges[graph->edges_in[graph->vertices[vertex].in_first + index]];
}

static inline const struct digraph_edge *digraph_out(
    const struct digraph *graph, uint32_t vertex, uint32_t index)
{
    return &graph->edges[graph->edges_out[graph->vertices[vertex].out_first + index]];
}

#endif /* MODEL_DIGRAPH_H */
