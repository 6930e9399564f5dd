#include "model/dominators.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "model/digraph.h"

/*
 * Cooper, Harvey, Kennedy 2001; one pass is enough because there are no cycles. Depths
 * take the place of their postorder numbers.
 */
static void find_parent(struct dominators *tree, const struct digraph *graph, uint32_t vertex)
{
    uint32_t parent = tree->root;

    for (uint32_t i = 0; i < graph->vertices[vertex].in_count; i++) {
        const uint32_t before = digraph_in(graph, vertex, i)->from;
        parent = i == 0 ? before : dominators_nearest(tree, parent, before);
    }
    tree->parent[vertex] = parent;
    tree->depth[vertex] = tree->depth[parent] + 1;
}

struct dominators *dominators_create(const struct digraph *graph)
{
    struct dominators *tree = memory_zeroed(1, sizeof(*tree));

    ASSERT(graph->sealed);
    tree->root = graph->vertex_count;
    tree->parent = memory_zeroed(tree->root + 1, sizeof(*tree->parent));
    tree->depth = memory_zeroed(tree->root + 1, sizeof(*tree->depth));
    tree->parent[tree->root] = VERTEX_NONE;
    for (uint32_t i = 0; i < tree->root; i++) {
        find_parent(tree, graph, graph->order[i]);
    }
    return tree;
}

void dominators_destroy(struct dominators *tree)
{
    if (tree == NULL) {
        return;
    }
    free(tree->parent);
    free(tree->depth);
    free(tree);
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
