#include "model/digraph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "dies.h"
#include "random_digraph.h"
#include "random_graph.h"

enum { GRAPHS = 3000 };

static void a_sealed_graph_knows_its_neighbours_both_ways(ATTR_UNUSED void **state)
{
    struct digraph *graph = drawn("ac ab cd bd");

    assert_true(graph->sealed);
    assert_int_equal(graph->vertex_count, 4);
    assert_int_equal(graph->edge_count, 4);
    assert_int_equal(graph->run_ns, 4);
    assert_int_equal(graph->vertices[0].in_count, 0);
    assert_int_equal(graph->vertices[0].out_count, 2);
    assert_int_equal(digraph_out(graph, 0, 0)->to, 2); /* As they came. */
    assert_int_equal(digraph_out(graph, 0, 1)->to, 1);
    assert_int_equal(graph->vertices[3].in_count, 2);
    assert_int_equal(digraph_in(graph, 3, 0)->from, 2);
    assert_int_equal(digraph_in(graph, 3, 1)->from, 1);
    digraph_destroy(graph);
}

static void the_order_puts_producers_first_and_then_goes_by_index(ATTR_UNUSED void **state)
{
    static const uint32_t expected[] = {1, 4, 2, 0, 3};
    struct digraph *graph = drawn("bc bd ca ad ed");

    assert_memory_equal(graph->order, expected, sizeof(expected));
    digraph_destroy(graph);
}

static void every_list_of_a_random_graph_holds_every_edge_once(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(1);

    for (uint32_t i = 0; i < GRAPHS; i++) {
        struct digraph *graph = random_digraph(&rng);
        uint32_t position[RANDOM_VERTICES_MAX];
        uint32_t in_seen = 0;
        uint32_t out_seen = 0;
        uint32_t seen = 0;
        for (uint32_t j = 0; j < graph->vertex_count; j++) {
            position[graph->order[j]] = j;
            seen |= UINT32_C(1) << graph->order[j];
        }
        assert_int_equal(seen, (UINT32_C(1) << graph->vertex_count) - 1);
        for (uint32_t j = 0; j < graph->vertex_count; j++) {
            for (uint32_t k = 0; k < graph->vertices[j].in_count; k++, in_seen++) {
                assert_int_equal(digraph_in(graph, j, k)->to, j);
                assert_true(position[digraph_in(graph, j, k)->from] < position[j]);
                assert_true(k == 0 || digraph_in(graph, j, k) > digraph_in(graph, j, k - 1));
            }
            for (uint32_t k = 0; k < graph->vertices[j].out_count; k++, out_seen++) {
                assert_int_equal(digraph_out(graph, j, k)->from, j);
                assert_true(k == 0 || digraph_out(graph, j, k) > digraph_out(graph, j, k - 1));
            }
        }
        assert_int_equal(in_seen, graph->edge_count);
        assert_int_equal(out_seen, graph->edge_count);
        digraph_destroy(graph);
    }
}

static void a_workflow_gives_its_shape_times_and_bytes(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(2);

    for (uint32_t i = 0; i < GRAPHS; i++) {
        struct workflow *workflow = random_graph(&rng, /* cycles */ false);
        int64_t run_ns[RANDOM_TASKS_MAX];
        for (uint32_t j = 0; j < RANDOM_TASKS_MAX; j++) {
            run_ns[j] = rng_below(&rng, 100);
        }
        for (uint32_t j = 0; j < workflow->edge_count; j++) {
            workflow->edges[j].bytes = rng_below(&rng, 100);
            workflow->edges[j].per_item = rng_below(&rng, 2) == 1;
        }
        assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
        struct digraph *graph = digraph_from_workflow(workflow, run_ns, /* items */ 7);
        assert_true(graph->sealed);
        assert_int_equal(graph->vertex_count, workflow->task_count);
        assert_int_equal(graph->edge_count, workflow->edge_count);
        for (uint32_t j = 0; j < graph->vertex_count; j++) {
            assert_int_equal(graph->vertices[j].run_ns, run_ns[j]);
        }
        for (uint32_t j = 0; j < graph->edge_count; j++) {
            const struct workflow_edge *edge = &workflow->edges[j];
            assert_int_equal(graph->edges[j].from, edge->from);
            assert_int_equal(graph->edges[j].to, edge->to);
            assert_int_equal(graph->edges[j].bytes, edge->bytes * (edge->per_item ? 7 : 1));
        }
        digraph_destroy(graph);
        graph = digraph_from_workflow(workflow, /* run_ns */ NULL, /* items */ 1);
        assert_int_equal(graph->run_ns, 0);
        digraph_destroy(graph);
        workflow_destroy(workflow);
    }
}

static void wrong_edges_are_refused_and_change_nothing(ATTR_UNUSED void **state)
{
    struct digraph *graph = digraph_create();
    (void)vertex(graph, 1);
    (void)vertex(graph, 1);

    const struct digraph_edge to_nowhere = {.from = 0, .to = 2};
    const struct digraph_edge from_nowhere = {.from = 2, .to = 0};
    const struct digraph_edge loop = {.from = 1, .to = 1};
    assert_int_equal(digraph_add_edge(graph, &to_nowhere), WEFT_NOT_FOUND);
    assert_int_equal(digraph_add_edge(graph, &from_nowhere), WEFT_NOT_FOUND);
    assert_int_equal(digraph_add_edge(graph, &loop), WEFT_INVALID);
    assert_int_equal(graph->edge_count, 0);
    assert_int_equal(digraph_seal(graph), WEFT_OK);
    digraph_destroy(graph);
}

static void a_graph_that_cannot_be_sealed_stays_open(ATTR_UNUSED void **state)
{
    struct digraph *graph = digraph_create();

    assert_int_equal(digraph_seal(graph), WEFT_INVALID); /* Empty. */
    for (uint32_t i = 0; i < 4; i++) {
        (void)vertex(graph, 1);
    }
    arc(graph, 0, 1, 1);
    arc(graph, 1, 2, 1);
    arc(graph, 2, 3, 1);
    arc(graph, 3, 1, 1);
    assert_int_equal(digraph_seal(graph), WEFT_INVALID);
    assert_false(graph->sealed);
    assert_null(graph->order);
    arc(graph, 0, 1, 2); /* Still open. */
    assert_int_equal(digraph_seal(graph), WEFT_EXISTS);
    assert_false(graph->sealed);
    digraph_destroy(graph);
    digraph_destroy(NULL);
}

/* Opposite edges are a cycle, not twins; and twins may lie far apart. */
static void twins_are_edges_with_both_ends_alike(ATTR_UNUSED void **state)
{
    struct digraph *graph = digraph_create();
    for (uint32_t i = 0; i < 4; i++) {
        (void)vertex(graph, 1);
    }
    arc(graph, 0, 1, 1);
    arc(graph, 2, 1, 1);
    arc(graph, 0, 3, 1);
    arc(graph, 3, 0, 1);
    assert_int_equal(digraph_seal(graph), WEFT_INVALID);
    arc(graph, 2, 3, 1);
    arc(graph, 2, 1, 9);
    assert_int_equal(digraph_seal(graph), WEFT_EXISTS);
    digraph_destroy(graph);
}

static void a_graph_is_as_large_as_the_limits_and_no_larger(ATTR_UNUSED void **state)
{
    struct digraph *graph = digraph_create();
    uint32_t extra = 77;

    for (uint32_t i = 0; i < GRAPH_VERTICES_MAX; i++) {
        assert_int_equal(vertex(graph, INT64_MAX / GRAPH_VERTICES_MAX), i);
    }
    assert_int_equal(digraph_add_vertex(graph, 1, &extra), WEFT_LIMIT);
    assert_int_equal(extra, 77);
    for (uint32_t i = 0; graph->edge_count < DIGRAPH_EDGES_MAX; i++) { /* To the next nine. */
        for (uint32_t j = 1; j <= 9 && i + j < GRAPH_VERTICES_MAX; j++) {
            if (graph->edge_count < DIGRAPH_EDGES_MAX) {
                arc(graph, i, i + j, 1);
            }
        }
    }
    const struct digraph_edge edge = {.from = 0, .to = 4000};
    assert_int_equal(digraph_add_edge(graph, &edge), WEFT_LIMIT);
    assert_int_equal(digraph_seal(graph), WEFT_OK);
    uint32_t *position = test_calloc(GRAPH_VERTICES_MAX, sizeof(*position));
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        position[graph->order[i]] = i;
    }
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        assert_true(position[graph->edges[i].from] < position[graph->edges[i].to]);
    }
    test_free(position);
    digraph_destroy(graph);
}

static void add_after_seal(void *argument)
{
    (void)vertex(argument, 1);
}

static void add_too_long(void *argument)
{
    (void)vertex(argument, INT64_MAX);
}

static void add_negative(void *argument)
{
    (void)vertex(argument, -1);
}

static void mistakes_stop_the_program(ATTR_UNUSED void **state)
{
    struct digraph *graph = digraph_create();
    (void)vertex(graph, 1);

    assert_true(dies(add_too_long, graph));
    assert_true(dies(add_negative, graph));
    assert_false(dies(add_after_seal, graph)); /* Not sealed yet. */
    (void)sealed(graph);
    assert_true(dies(add_after_seal, graph));
    digraph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sealed_graph_knows_its_neighbours_both_ways),
        cmocka_unit_test(the_order_puts_producers_first_and_then_goes_by_index),
        cmocka_unit_test(every_list_of_a_random_graph_holds_every_edge_once),
        cmocka_unit_test(a_workflow_gives_its_shape_times_and_bytes),
        cmocka_unit_test(wrong_edges_are_refused_and_change_nothing),
        cmocka_unit_test(a_graph_that_cannot_be_sealed_stays_open),
        cmocka_unit_test(twins_are_edges_with_both_ends_alike),
        cmocka_unit_test(a_graph_is_as_large_as_the_limits_and_no_larger),
        cmocka_unit_test(mistakes_stop_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
