#include "model/dominators.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "random_digraph.h"

enum { GRAPHS = 3000 };

/* Whether some way from a source to @to, or with @exit from @to to a sink, avoids @without. */
static bool can_avoid(const struct digraph *graph, uint32_t without, uint32_t to, bool exit)
{
    struct ways ways;

    find_ways(graph, without, &ways);
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        const struct digraph_vertex *shape = &graph->vertices[i];
        const bool is_end = (exit ? shape->out_count : shape->in_count) == 0;
        const bool is_linked = i == to || (exit ? ways.to[to][i] : ways.to[i][to]);
        if (i != without && is_end && is_linked) {
            return true;
        }
    }
    return false;
}

static bool dominates(const struct digraph *graph, uint32_t a, uint32_t b, bool exit)
{
    return a == b || !can_avoid(graph, a, b, exit);
}

/* The parent is a strict dominator that every other strict dominator dominates. */
static void check_parent(
    const struct digraph *graph, const struct dominators *tree, uint32_t vertex, bool exit)
{
    const uint32_t parent = tree->parent[vertex];

    assert_int_equal(tree->depth[vertex], tree->depth[parent] + 1);
    if (parent != tree->root) {
        assert_int_not_equal(parent, vertex);
        assert_true(dominates(graph, parent, vertex, exit));
    }
    for (uint32_t other = 0; other < graph->vertex_count; other++) {
        const bool expected = dominates(graph, other, vertex, exit);
        assert_int_equal(dominators_covers(tree, other, vertex), expected);
        if (other != vertex && expected) {
            assert_int_not_equal(parent, tree->root);
            assert_true(dominates(graph, other, parent, exit));
        }
    }
}

/* Of all that dominate both, the nearest is the one that all the others dominate. */
static void check_nearest(
    const struct digraph *graph, const struct dominators *tree, uint32_t a, uint32_t b)
{
    const uint32_t nearest = dominators_nearest(tree, a, b);

    assert_true(dominators_covers(tree, nearest, a));
    assert_true(dominators_covers(tree, nearest, b));
    for (uint32_t i = 0; i <= graph->vertex_count; i++) {
        if (dominators_covers(tree, i, a) && dominators_covers(tree, i, b)) {
            assert_true(dominators_covers(tree, i, nearest));
        }
    }
}

static void check_children(const struct digraph *graph, const struct dominators *tree, bool exit)
{
    struct ways ways;
    uint32_t seen = 0;

    find_ways(graph, VERTEX_NONE, &ways);
    for (uint32_t i = 0; i <= tree->root; i++) {
        for (uint32_t j = 0; j < dominators_child_count(tree, i); j++) {
            const uint32_t child = dominators_child(tree, i, j);
            assert_int_equal(tree->parent[child], i);
            seen |= UINT32_C(1) << child;
            for (uint32_t k = 0; k < j; k++) {
                const uint32_t earlier = dominators_child(tree, i, k);
                assert_int_not_equal(earlier, child);
                assert_false(exit ? ways.to[earlier][child] : ways.to[child][earlier]);
            }
        }
    }
    assert_int_equal(seen, (UINT32_C(1) << graph->vertex_count) - 1);
}

static void check_side(enum dominators_side side, uint64_t seed)
{
    struct rng rng = rng_from_seed(seed);
    const bool exit = side == DOMINATORS_EXIT;

    for (uint32_t i = 0; i < GRAPHS; i++) {
        struct digraph *graph = random_digraph(&rng);
        struct dominators *tree = dominators_create(graph, side);
        assert_int_equal(tree->root, graph->vertex_count);
        assert_int_equal(tree->parent[tree->root], VERTEX_NONE);
        assert_int_equal(tree->depth[tree->root], 0);
        for (uint32_t j = 0; j < graph->vertex_count; j++) {
            check_parent(graph, tree, j, exit);
            for (uint32_t k = 0; k < graph->vertex_count; k++) {
                check_nearest(graph, tree, j, k);
            }
        }
        check_children(graph, tree, exit);
        dominators_destroy(tree);
        digraph_destroy(graph);
    }
}

static void a_dominator_is_on_every_way_from_the_entry(ATTR_UNUSED void **state)
{
    check_side(DOMINATORS_ENTRY, /* seed */ 1);
}

static void a_post_dominator_is_on_every_way_to_the_exit(ATTR_UNUSED void **state)
{
    check_side(DOMINATORS_EXIT, /* seed */ 2);
}

/* a -> {b -> c, d} -> e: the join hangs beside the branches, as ESG's split wants it. */
static void a_fork_has_its_branches_and_its_join_as_children(ATTR_UNUSED void **state)
{
    struct digraph *graph = drawn("ab bc ad ce de");
    struct dominators *before = dominators_create(graph, DOMINATORS_ENTRY);
    struct dominators *after = dominators_create(graph, DOMINATORS_EXIT);

    assert_int_equal(dominators_child_count(before, 0), 3);
    assert_int_equal(dominators_child(before, 0, 2), 4); /* The join comes last. */
    assert_int_equal(before->parent[0], before->root);
    assert_int_equal(dominators_nearest(before, 2, 3), 0);
    assert_int_equal(after->parent[0], 4);
    assert_int_equal(after->parent[1], 2);
    assert_int_equal(dominators_nearest(after, 1, 3), 4);
    assert_true(dominators_covers(after, 4, 1));
    assert_false(dominators_covers(after, 3, 1));
    dominators_destroy(before);
    dominators_destroy(after);
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
    struct dominators *tree = dominators_create(sealed(graph), DOMINATORS_EXIT);

    assert_int_equal(tree->depth[0], GRAPH_VERTICES_MAX);
    assert_int_equal(tree->parent[GRAPH_VERTICES_MAX - 1], tree->root);
    dominators_destroy(tree);
    digraph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dominator_is_on_every_way_from_the_entry),
        cmocka_unit_test(a_post_dominator_is_on_every_way_to_the_exit),
        cmocka_unit_test(a_fork_has_its_branches_and_its_join_as_children),
        cmocka_unit_test(the_longest_chain_has_the_deepest_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
