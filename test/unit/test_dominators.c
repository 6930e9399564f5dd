#include "model/dominators.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "random_digraph.h"

enum { GRAPHS = 3000 };

/* Whether some way from a source to @to avoids @without. */
static bool can_avoid(const struct digraph *graph, uint32_t without, uint32_t to)
{
    struct ways ways;

    find_ways(graph, without, &ways);
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        if (i != without && graph->vertices[i].in_count == 0 && (i == to || ways.to[i][to])) {
            return true;
        }
    }
    return false;
}

static bool dominates(const struct digraph *graph, uint32_t a, uint32_t b)
{
    return a == b || a == graph->vertex_count || !can_avoid(graph, a, b);
}

/* The parent is a strict dominator that every other strict dominator dominates. */
static void check_parent(
    const struct digraph *graph, const struct dominators *tree, uint32_t vertex)
{
    const uint32_t parent = tree->parent[vertex];

    assert_int_equal(tree->depth[vertex], tree->depth[parent] + 1);
    assert_int_not_equal(parent, vertex);
    assert_true(dominates(graph, parent, vertex));
    for (uint32_t other = 0; other < graph->vertex_count; other++) {
        if (other != vertex && dominates(graph, other, vertex)) {
            assert_int_not_equal(parent, tree->root);
            assert_true(dominates(graph, other, parent));
        }
    }
}

/* Of all that dominate both, the nearest is the one that all the others dominate. */
static void check_nearest(
    const struct digraph *graph, const struct dominators *tree, uint32_t a, uint32_t b)
{
    const uint32_t nearest = dominators_nearest(tree, a, b);

    assert_true(dominates(graph, nearest, a));
    assert_true(dominates(graph, nearest, b));
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        if (dominates(graph, i, a) && dominates(graph, i, b)) {
            assert_int_not_equal(nearest, tree->root);
            assert_true(dominates(graph, i, nearest));
        }
    }
}

static void a_dominator_is_on_every_way_from_the_entry(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(1);

    for (uint32_t i = 0; i < GRAPHS; i++) {
        struct digraph *graph = random_digraph(&rng);
        struct dominators *tree = dominators_create(graph);
        assert_int_equal(tree->root, graph->vertex_count);
        assert_int_equal(tree->parent[tree->root], VERTEX_NONE);
        assert_int_equal(tree->depth[tree->root], 0);
        for (uint32_t j = 0; j < graph->vertex_count; j++) {
            check_parent(graph, tree, j);
            for (uint32_t k = 0; k < graph->vertex_count; k++) {
                check_nearest(graph, tree, j, k);
            }
        }
        dominators_destroy(tree);
        digraph_destroy(graph);
    }
}

/* a -> {b -> c, d} -> e: the join hangs beside the branches, as ESG's split wants it. */
static void a_fork_dominates_its_branches_and_its_join(ATTR_UNUSED void **state)
{
    struct digraph *graph = drawn("ab bc ad ce de");
    struct dominators *tree = dominators_create(graph);

    assert_int_equal(tree->parent[0], tree->root);
    assert_int_equal(tree->parent[1], 0);
    assert_int_equal(tree->parent[2], 1);
    assert_int_equal(tree->parent[3], 0);
    assert_int_equal(tree->parent[4], 0);
    assert_int_equal(dominators_nearest(tree, 2, 3), 0);
    dominators_destroy(tree);
    digraph_destroy(graph);
    dominators_destroy(NULL);
}

static void the_longest_chain_has_the_deepest_tree(ATTR_UNUSED void **state)
{
    struct digraph *graph = digraph_create();
    for (uint32_t i = 0; i < GRAPH_VERTICES_MAX; i++) {
        (void)vertex(graph, 1);
        if (i > 0) {
            arc(graph, i - 1, i, 1);
        }
    }
    struct dominators *tree = dominators_create(sealed(graph));

    assert_int_equal(tree->depth[GRAPH_VERTICES_MAX - 1], GRAPH_VERTICES_MAX);
    assert_int_equal(tree->parent[0], tree->root);
    dominators_destroy(tree);
    digraph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dominator_is_on_every_way_from_the_entry),
        cmocka_unit_test(a_fork_dominates_its_branches_and_its_join),
        cmocka_unit_test(the_longest_chain_has_the_deepest_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
