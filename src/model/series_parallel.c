/*
 * Vertices are taken in topological order, and each asks for its in edges to become one.
 * Two edges from the same vertex do so in parallel; an edge from a vertex with no other
 * out edge does so in series with that vertex and its own, single in edge, and then comes
 * from further up. In a series-parallel graph everything between a join and its fork
 * lies before the join in the order, so nothing later could help if this gets stuck.
 */
#include "model/series_parallel.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "model/digraph.h"

#define PART_NONE UINT32_MAX /* What stands for a virtual edge: nothing. */

struct reduction {
    const struct digraph *graph;
    struct series_parallel *tree;
    uint32_t entry; /* The virtual vertex before all sources. */

    /* By vertex, with the entry. */
    uint32_t *out_left; /* Its out edges, less those that have become one. */
    uint32_t *from;     /* Once it has been visited: where its single in edge comes from, */
    uint32_t *before;   /* and that edge with the vertex itself, as one part. */
    uint32_t *open;     /* Its edge to the vertex being visited; */
    uint32_t *open_for; /* only if this is that vertex, else there is none. */

    uint32_t visited;    /* The vertex whose in edges are being joined, */
    uint32_t open_count; /* and how many of them are left. */
};

static uint32_t add_leaf(struct series_parallel *tree, enum part_kind kind, uint32_t index)
{
    tree->parts[tree->part_count] = (struct part){.kind = kind, .index = index};
    return tree->part_count++;
}

static uint32_t add_pair(
    struct series_parallel *tree, enum part_kind kind, uint32_t left, uint32_t right)
{
    if (left == PART_NONE || right == PART_NONE) {
        ASSERT(kind == PART_SERIES); /* No virtual edge lies beside anything. */
        return left == PART_NONE ? right : left;
    }
    tree->parts[tree->part_count] = (struct part){.kind = kind, .left = left, .right = right};
    return tree->part_count++;
}

/*
 * Let @part lead from @from to the visited vertex, and join what can be joined. Returns
 * where the edge that has come of it starts.
 */
static uint32_t open_edge(struct reduction *reduction, uint32_t from, uint32_t part)
{
    for (;;) {
        if (reduction->open_for[from] == reduction->visited) {
            part = add_pair(reduction->tree, PART_PARALLEL, reduction->open[from], part);
            reduction->out_left[from]--;
            reduction->open_count--;
        }
        if (reduction->out_left[from] > 1) {
            break;
        }
        part = add_pair(reduction->tree, PART_SERIES, reduction->before[from], part);
        from = reduction->from[from];
    }
    reduction->open[from] = part;
    reduction->open_for[from] = reduction->visited;
    reduction->open_count++;
    return from;
}

/* Join the in edges of @vertex. False if they do not become one. */
static bool visit(struct reduction *reduction, uint32_t vertex)
{
    const struct digraph *graph = reduction->graph;
    const struct digraph_vertex *shape = &graph->vertices[vertex];
    uint32_t from = reduction->entry;

    reduction->visited = vertex;
    reduction->open_count = 0;
    if (shape->in_count == 0) {
        (void)open_edge(reduction, reduction->entry, PART_NONE);
    }
    for (uint32_t i = 0; i < shape->in_count; i++) {
        const uint32_t edge = graph->edges_in[shape->in_first + i];
        const uint32_t leaf = add_leaf(reduction->tree, PART_EDGE, edge);
        from = open_edge(reduction, graph->edges[edge].from, leaf);
    }
    const uint32_t leaf = add_leaf(reduction->tree, PART_VERTEX, vertex);
    reduction->from[vertex] = from;
    reduction->before[vertex] = add_pair(reduction->tree, PART_SERIES, reduction->open[from], leaf);
    return reduction->open_count == 1;
}

/*
 * The same for the virtual exit, whose in edges come from the sinks. What is left by then
 * is a tree with no joins but this one, so it always succeeds.
 */
static void visit_exit(struct reduction *reduction)
{
    const struct digraph *graph = reduction->graph;

    reduction->visited = reduction->entry; /* No vertex is: the two virtual ones share it. */
    reduction->open_count = 0;
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        if (graph->vertices[i].out_count == 0) {
            const uint32_t from = open_edge(reduction, i, PART_NONE);
            reduction->tree->root = reduction->open[from];
        }
    }
    ASSERT(reduction->open_count == 1);
}

static bool reduce(struct reduction *reduction)
{
    const struct digraph *graph = reduction->graph;

    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        reduction->out_left[i] = graph->vertices[i].out_count;
        reduction->open_for[i] = VERTEX_NONE;
    }
    reduction->out_left[reduction->entry] = UINT32_MAX; /* There is no way further up. */
    reduction->open_for[reduction->entry] = VERTEX_NONE;
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        if (!visit(reduction, graph->order[i])) {
            return false;
        }
    }
    visit_exit(reduction);
    return true;
}

struct series_parallel *series_parallel_create(const struct digraph *graph)
{
    const uint32_t leaf_count = graph->vertex_count + graph->edge_count;
    const size_t vertex_room = (size_t)graph->vertex_count + 1;

    ASSERT(graph->sealed);
    struct series_parallel *tree = memory_zeroed(1, sizeof(*tree));
    uint32_t *scratch = memory_zeroed(5 * vertex_room, sizeof(*scratch));
    struct reduction reduction = {
        .graph = graph,
        .tree = tree,
        .entry = graph->vertex_count,
        .out_left = scratch,
        .from = scratch + vertex_room,
        .before = scratch + 2 * vertex_room,
        .open = scratch + 3 * vertex_room,
        .open_for = scratch + 4 * vertex_room,
    };
    tree->parts = memory_zeroed(2 * leaf_count - 1, sizeof(*tree->parts));
    const bool nests = reduce(&reduction);
    free(scratch);
    if (!nests) {
        series_parallel_destroy(tree);
        return NULL;
    }
    ASSERT(tree->part_count == 2 * leaf_count - 1);
    return tree;
}

void series_parallel_destroy(struct series_parallel *tree)
{
    if (tree == NULL) {
        return;
    }
    free(tree->parts);
    free(tree);
}
