#include "model/dominators.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "model/digraph.h"

/* The vertices of the graph from the root's side; the first comes with @step 0. */
static uint32_t vertex_at(const struct digraph *graph, enum dominators_side side, uint32_t step)
{
    return graph->order[side == DOMINATORS_ENTRY ? step : graph->vertex_count - 1 - step];
}

/*
 * Cooper, Harvey, Kennedy 2001; one pass is enough because there are no cycles. Depths
 * take the place of their postorder numbers.
 */
static void find_parent(
    struct dominators *tree, const struct digraph *graph, enum dominators_side side,
    uint32_t vertex)
{
    const bool forward = side == DOMINATORS_ENTRY;
    const struct digraph_vertex *shape = &graph->vertices[vertex];
    const uint32_t count = forward ? shape->in_count : shape->out_count;
    uint32_t parent = tree->root;

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t before =
            forward ? digraph_in(graph, vertex, i)->from : digraph_out(graph, vertex, i)->to;
        parent = i == 0 ? before : dominators_nearest(tree, parent, before);
    }
    tree->parent[vertex] = parent;
    tree->depth[vertex] = tree->depth[parent] + 1;
}

static void group_children(
    struct dominators *tree, const struct digraph *graph, enum dominators_side side)
{
    /* Counts are kept one place further, so that filling a group moves its first to its end. */
    for (uint32_t i = 0; i < tree->root; i++) {
        tree->child_first[tree->parent[i] + 2]++;
    }
    for (uint32_t i = 2; i < tree->root + 2; i++) {
        tree->child_first[i] += tree->child_first[i - 1];
    }
    for (uint32_t i = 0; i < tree->root; i++) {
        const uint32_t vertex = vertex_at(graph, side, i);
        tree->children[tree->child_first[tree->parent[vertex] + 1]++] = vertex;
    }
}

struct dominators *dominators_create(const struct digraph *graph, enum dominators_side side)
{
    struct dominators *tree = memory_zeroed(1, sizeof(*tree));

    ASSERT(graph->sealed);
    tree->root = graph->vertex_count;
    tree->parent = memory_zeroed(tree->root + 1, sizeof(*tree->parent));
    tree->depth = memory_zeroed(tree->root + 1, sizeof(*tree->depth));
    tree->child_first = memory_zeroed(tree->root + 3, sizeof(*tree->child_first));
    tree->children = memory_zeroed(tree->root, sizeof(*tree->children));
    tree->parent[tree->root] = VERTEX_NONE;
    for (uint32_t i = 0; i < tree->root; i++) {
        find_parent(tree, graph, side, vertex_at(graph, side, i));
    }
    group_children(tree, graph, side);
    return tree;
}

void dominators_destroy(struct dominators *tree)
{
    if (tree == NULL) {
        return;
    }
    free(tree->parent);
    free(tree->depth);
    free(tree->child_first);
    free(tree->children);
    free(tree);
}

bool dominators_covers(const struct dominators *tree, uint32_t vertex, uint32_t other)
{
    ASSERT(vertex <= tree->root);
    ASSERT(other <= tree->root);

    while (tree->depth[other] > tree->depth[vertex]) {
        other = tree->parent[other];
    }
    return other == vertex;
}

uint32_t dominators_nearest(const struct dominators *tree, uint32_t a, uint32_t b)
{
    ASSERT(a <= tree->root);
    ASSERT(b <= tree->root);

    while (a != b) {
        if (tree->depth[a] > tree->depth[b]) {
            a = tree->parent[a];
        } else {
            b = tree->parent[b];
        }
    }
    return a;
}
