#include "model/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/bitset.h"
#include "random_graph.h"

enum { GRAPHS = 3000, RANDOM_EDGES_MAX = RANDOM_TASKS_MAX * RANDOM_TASKS_MAX };

/* A sealed random graph with random times, small enough for ties to be common. */
struct timed_graph {
    struct workflow *workflow;
    int64_t run_ns[RANDOM_TASKS_MAX];
    int64_t edge_ns[RANDOM_EDGES_MAX];
};

static void draw_graph(struct rng *rng, struct timed_graph *graph_out)
{
    graph_out->workflow = random_graph(rng, /* cycles */ false);
    assert_int_equal(workflow_seal(graph_out->workflow, NULL), WEFT_OK);
    for (uint32_t i = 0; i < RANDOM_TASKS_MAX; i++) {
        graph_out->run_ns[i] = rng_below(rng, 6);
    }
    for (uint32_t i = 0; i < RANDOM_EDGES_MAX; i++) {
        graph_out->edge_ns[i] = rng_below(rng, 6);
    }
}

/* Try every way from @task onwards, one edge at a time. */
static int64_t costliest_way(const struct timed_graph *graph, const int64_t *edge_ns, uint32_t task)
{
    int64_t longest_ns = 0;
    for (uint32_t i = 0; i < graph->workflow->edge_count; i++) {
        const struct workflow_edge *edge = &graph->workflow->edges[i];
        if (edge->from != task) {
            continue;
        }
        const int64_t way_ns =
            (edge_ns == NULL ? 0 : edge_ns[i]) + costliest_way(graph, edge_ns, edge->to);
        longest_ns = way_ns > longest_ns ? way_ns : longest_ns;
    }
    return graph->run_ns[task] + longest_ns;
}

static void a_rank_is_the_costliest_way_to_a_sink(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(21);
    struct timed_graph graph;
    int64_t rank[RANDOM_TASKS_MAX];

    for (uint32_t i = 0; i < GRAPHS; i++) {
        draw_graph(&rng, &graph);
        graph_upward_rank(graph.workflow, graph.run_ns, graph.edge_ns, rank);
        for (uint32_t task = 0; task < graph.workflow->task_count; task++) {
            assert_int_equal(rank[task], costliest_way(&graph, graph.edge_ns, task));
        }
        graph_upward_rank(graph.workflow, graph.run_ns, NULL, rank);
        for (uint32_t task = 0; task < graph.workflow->task_count; task++) {
            assert_int_equal(rank[task], costliest_way(&graph, NULL, task));
        }
        workflow_destroy(graph.workflow);
    }
}

static void the_longest_path_is_the_longest_of_all(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(22);
    struct timed_graph graph;
    int64_t scratch[RANDOM_TASKS_MAX];

    for (uint32_t i = 0; i < GRAPHS; i++) {
        int64_t longest_ns = 0;
        draw_graph(&rng, &graph);
        for (uint32_t task = 0; task < graph.workflow->task_count; task++) {
            const int64_t way_ns = costliest_way(&graph, NULL, task);
            longest_ns = way_ns > longest_ns ? way_ns : longest_ns;
        }
        assert_int_equal(graph_longest_path(graph.workflow, graph.run_ns, scratch), longest_ns);
        workflow_destroy(graph.workflow);
    }
}

static uint32_t position_of(const struct workflow *workflow, uint32_t task)
{
    uint32_t position = 0;
    while (workflow->order[position] != task) {
        position++;
    }
    return position;
}

static void the_rank_order_descends_and_ties_stay_topological(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(23);
    struct timed_graph graph;
    uint32_t order[RANDOM_TASKS_MAX];

    for (uint32_t i = 0; i < GRAPHS; i++) {
        uint32_t seen = 0;
        draw_graph(&rng, &graph);
        graph_rank_order(graph.workflow, graph.run_ns, order); /* Any values will do as ranks. */
        for (uint32_t j = 0; j < graph.workflow->task_count; j++) {
            seen |= UINT32_C(1) << order[j];
            if (j == 0) {
                continue;
            }
            const int64_t before = graph.run_ns[order[j - 1]];
            const int64_t after = graph.run_ns[order[j]];
            assert_true(before >= after);
            if (before == after) {
                assert_true(
                    position_of(graph.workflow, order[j - 1]) <
                    position_of(graph.workflow, order[j]));
            }
        }
        assert_int_equal(seen, (UINT32_C(1) << graph.workflow->task_count) - 1);
        workflow_destroy(graph.workflow);
    }
}

static void a_thousand_tasks_are_put_in_order(ATTR_UNUSED void **state)
{
    static int64_t rank[WORKFLOW_TASKS_MAX];
    static uint32_t order[WORKFLOW_TASKS_MAX];
    struct rng rng = rng_from_seed(24);
    struct workflow *workflow = workflow_create("wide");

    for (uint32_t i = 0; i < WORKFLOW_TASKS_MAX; i++) {
        (void)add_named(workflow, i);
        rank[i] = rng_below(&rng, 100);
    }
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    graph_rank_order(workflow, rank, order);
    for (uint32_t i = 1; i < WORKFLOW_TASKS_MAX; i++) {
        const int64_t drop = rank[order[i - 1]] - rank[order[i]];
        assert_true(drop > 0 || (drop == 0 && order[i - 1] < order[i]));
    }
    workflow_destroy(workflow);
}

static void ancestors_are_what_a_task_needs_and_itself(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(25);
    struct timed_graph graph;
    struct reach reach;

    for (uint32_t i = 0; i < GRAPHS; i++) {
        draw_graph(&rng, &graph);
        find_reach(graph.workflow, TASK_NONE, &reach);
        for (uint32_t task = 0; task < graph.workflow->task_count; task++) {
            for (uint32_t other = 0; other < graph.workflow->task_count; other++) {
                const bool expected = other != task && reach.from[other][task];
                assert_int_equal(workflow_is_ancestor(graph.workflow, other, task), expected);
            }
        }
        workflow_destroy(graph.workflow);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_is_the_costliest_way_to_a_sink),
        cmocka_unit_test(the_longest_path_is_the_longest_of_all),
        cmocka_unit_test(the_rank_order_descends_and_ties_stay_topological),
        cmocka_unit_test(a_thousand_tasks_are_put_in_order),
        cmocka_unit_test(ancestors_are_what_a_task_needs_and_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
