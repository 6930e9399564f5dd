#include "model/digraph.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "model/grow.h"
#include "model/workflow.h"

_Static_assert((int)DIGRAPH_EDGES_MAX >= WORKFLOW_EDGES_MAX, "every workflow has a digraph");

struct digraph *digraph_create(void)
{
    return memory_zeroed(1, sizeof(struct digraph));
}

struct digraph *digraph_from_workflow(
    const struct workflow *workflow, const int64_t *run_ns, uint32_t items)
{
    struct digraph *graph = digraph_create();
    uint32_t vertex;

    for (uint32_t i = 0; i < workflow->task_count; i++) {
        const enum weft_status added =
            digraph_add_vertex(graph, run_ns == NULL ? 0 : run_ns[i], &vertex);
        ASSERT(added == WEFT_OK);
    }
    for (uint32_t i = 0; i < workflow->edge_count; i++) {
        const struct workflow_edge *edge = &workflow->edges[i];
        const struct digraph_edge copy = {
            .from = edge->from,
            .to = edge->to,
            .bytes = workflow_edge_bytes(edge, items),
        };
        const enum weft_status added = digraph_add_edge(graph, &copy);
        ASSERT(added == WEFT_OK);
    }
    const enum weft_status sealed = digraph_seal(graph);
    ASSERT(sealed == WEFT_OK);
    return graph;
}

static void release_derived(struct digraph *graph)
{
    free(graph->order);
    free(graph->edges_in);
    free(graph->edges_out);
    graph->order = NULL;
    graph->edges_in = NULL;
    graph->edges_out = NULL;
}

void digraph_destroy(struct digraph *graph)
{
    if (graph == NULL) {
        return;
    }
    release_derived(graph);
    free(graph->vertices);
    free(graph->edges);
    free(graph);
}

enum weft_status digraph_add_vertex(struct digraph *graph, int64_t run_ns, uint32_t *vertex_out)
{
    ASSERT(!graph->sealed);
    ASSERT(run_ns >= 0);
    ASSERT(run_ns <= INT64_MAX - graph->run_ns);

    if (graph->vertex_count == GRAPH_VERTICES_MAX) {
        return WEFT_LIMIT;
    }
    graph->vertices = grow(graph->vertices, graph->vertex_count, sizeof(*graph->vertices));
    graph->vertices[graph->vertex_count] = (struct digraph_vertex){.run_ns = run_ns};
    graph->run_ns += run_ns;
    *vertex_out = graph->vertex_count;
    graph->vertex_count++;
    return WEFT_OK;
}

enum weft_status digraph_add_edge(struct digraph *graph, const struct digraph_edge *edge)
{
    ASSERT(!graph->sealed);

    if (edge->from >= graph->vertex_count || edge->to >= graph->vertex_count) {
        return WEFT_NOT_FOUND;
    }
    if (edge->from == edge->to) {
        return WEFT_INVALID;
    }
    if (graph->edge_count == DIGRAPH_EDGES_MAX) {
        return WEFT_LIMIT;
    }
    graph->edges = grow(graph->edges, graph->edge_count, sizeof(*graph->edges));
    graph->edges[graph->edge_count] = *edge;
    graph->edge_count++;
    return WEFT_OK;
}

static void group_edges(struct digraph *graph)
{
    uint32_t in_first = 0;
    uint32_t out_first = 0;

    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        graph->vertices[i].in_count = 0;
        graph->vertices[i].out_count = 0;
    }
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        graph->vertices[graph->edges[i].to].in_count++;
        graph->vertices[graph->edges[i].from].out_count++;
    }
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        struct digraph_vertex *vertex = &graph->vertices[i];
        vertex->in_first = in_first;
        vertex->out_first = out_first;
        in_first += vertex->in_count;
        out_first += vertex->out_count;
        vertex->in_count = 0; /* Counted again below, as places are given out. */
        vertex->out_count = 0;
    }
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        struct digraph_vertex *from = &graph->vertices[graph->edges[i].from];
        struct digraph_vertex *to = &graph->vertices[graph->edges[i].to];
        graph->edges_in[to->in_first + to->in_count++] = i;
        graph->edges_out[from->out_first + from->out_count++] = i;
    }
}

/* Whether two edges connect the same vertices in the same direction. */
static bool has_twins(const struct digraph *graph)
{
    uint32_t reached_from[GRAPH_VERTICES_MAX]; /* One more than the last to reach it; 0: none. */

    memset(reached_from, 0, graph->vertex_count * sizeof(reached_from[0]));
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        for (uint32_t j = 0; j < graph->vertices[i].out_count; j++) {
            const uint32_t to = digraph_out(graph, i, j)->to;
            if (reached_from[to] == i + 1) {
                return true;
            }
            reached_from[to] = i + 1;
        }
    }
    return false;
}

uint32_t digraph_sort(const struct digraph *graph, uint32_t *order_out)
{
    uint32_t missing[GRAPH_VERTICES_MAX]; /* Producers that are not in the order yet. */
    uint32_t ordered = 0;

    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        missing[i] = graph->vertices[i].in_count;
        if (missing[i] == 0) {
            order_out[ordered++] = i;
        }
    }
    for (uint32_t i = 0; i < ordered; i++) { /* The order is also the queue. */
        const uint32_t vertex = order_out[i];
        for (uint32_t j = 0; j < graph->vertices[vertex].out_count; j++) {
            const uint32_t to = digraph_out(graph, vertex, j)->to;
            missing[to]--;
            if (missing[to] == 0) {
                order_out[ordered++] = to;
            }
        }
    }
    return ordered;
}

enum weft_status digraph_seal(struct digraph *graph)
{
    const uint32_t edge_room = graph->edge_count > 0 ? graph->edge_count : 1;

    ASSERT(!graph->sealed);
    if (graph->vertex_count == 0) {
        return WEFT_INVALID;
    }
    graph->order = memory_zeroed(graph->vertex_count, sizeof(*graph->order));
    graph->edges_in = memory_zeroed(edge_room, sizeof(*graph->edges_in));
    graph->edges_out = memory_zeroed(edge_room, sizeof(*graph->edges_out));
    group_edges(graph);
    enum weft_status status = WEFT_OK;
    if (has_twins(graph)) {
        status = WEFT_EXISTS;
    } else if (digraph_sort(graph, graph->order) < graph->vertex_count) {
        status = WEFT_INVALID;
    }
    if (status != WEFT_OK) {
        release_derived(graph);
        return status;
    }
    graph->sealed = true;
    return WEFT_OK;
}
