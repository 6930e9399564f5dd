/* Covers: src/model/workflow.c, src/model/ports.c, and src/model/grow.h through them. */
#include "model/workflow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "dies.h"
#include "random_graph.h"

enum { GRAPHS = 4000 };

/* The diamond 0 -> {1, 2} -> 3, with 4 by itself. */
static struct workflow *diamond(void)
{
    struct workflow *workflow = workflow_create("diamond");
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(add_named(workflow, i), i);
    }
    assert_int_equal(connect(workflow, 0, 2), WEFT_OK);
    assert_int_equal(connect(workflow, 0, 1), WEFT_OK);
    assert_int_equal(connect(workflow, 2, 3), WEFT_OK);
    assert_int_equal(connect(workflow, 1, 3), WEFT_OK);
    return workflow;
}

static void a_sealed_diamond_knows_its_shape(ATTR_UNUSED void **state)
{
    static const uint32_t order[] = {0, 1, 2, 3, 4};
    struct workflow *workflow = diamond();

    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);

    assert_true(workflow->sealed);
    assert_memory_equal(workflow->order, order, sizeof(order));
    assert_int_equal(workflow->source_count, 2);
    assert_int_equal(workflow->sources[0], 0);
    assert_int_equal(workflow->sources[1], 4);
    assert_int_equal(workflow->sink_count, 2);
    assert_int_equal(workflow->tasks[3].sink, 0);
    assert_int_equal(workflow->tasks[4].sink, 1);
    assert_int_equal(workflow->tasks[0].sink, TASK_NONE);
    assert_int_equal(workflow->tasks[0].dominator, TASK_NONE);
    assert_int_equal(workflow->tasks[1].dominator, 0);
    assert_int_equal(workflow->tasks[3].dominator, 0);
    assert_int_equal(workflow->tasks[4].dominator, TASK_NONE);
    assert_true(workflow_is_join(workflow, 3));
    assert_false(workflow_is_join(workflow, 1));
    workflow_destroy(workflow);
}

static void inputs_keep_the_order_in_which_they_were_declared(ATTR_UNUSED void **state)
{
    struct workflow *workflow = diamond();
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);

    assert_int_equal(workflow_in(workflow, 3, 0)->from, 2);
    assert_int_equal(workflow_in(workflow, 3, 1)->from, 1);
    assert_int_equal(workflow_out(workflow, 0, 0)->to, 2);
    assert_int_equal(workflow_out(workflow, 0, 1)->to, 1);
    workflow_destroy(workflow);
}

static void a_task_is_copied_as_described(ATTR_UNUSED void **state)
{
    struct workflow_task task = {
        .name = "detect",
        .run = 7,
        .models = {3, 4},
        .model_count = 2,
        .gives = {.low = 1, .high = 9},
        .in_count = 99,
    };
    struct workflow *workflow = workflow_create("copy");
    uint32_t index = TASK_NONE;

    assert_int_equal(workflow_add_task(workflow, &task, &index), WEFT_OK);
    memset(&task, 0xff, sizeof(task));
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);

    const struct workflow_task *copy = &workflow->tasks[index];
    assert_string_equal(copy->name, "detect");
    assert_int_equal(copy->run, 7);
    assert_int_equal(copy->models[0], 3);
    assert_int_equal(copy->models[1], 4);
    assert_int_equal(copy->model_count, 2);
    assert_int_equal(copy->gives.low, 1);
    assert_int_equal(copy->gives.high, 9);
    assert_int_equal(copy->in_count, 0);
    workflow_destroy(workflow);
}

static void an_edge_carries_its_bytes_in_all_or_for_each_item(ATTR_UNUSED void **state)
{
    const struct workflow_edge whole = {.to = 1, .bytes = 100};
    const struct workflow_edge each = {.to = 2, .bytes = 100, .per_item = true};
    struct workflow *workflow = workflow_create("edges");
    for (uint32_t i = 0; i < 3; i++) {
        (void)add_named(workflow, i);
    }

    assert_int_equal(workflow_add_edge(workflow, &whole), WEFT_OK);
    assert_int_equal(workflow_add_edge(workflow, &each), WEFT_OK);

    assert_int_equal(workflow_edge_bytes(&workflow->edges[0], 7), 100);
    assert_int_equal(workflow_edge_bytes(&workflow->edges[1], 7), 700);
    workflow_destroy(workflow);
}

static void wrong_tasks_and_edges_are_refused_and_change_nothing(ATTR_UNUSED void **state)
{
    const struct workflow_task twin = {.name = "t1"};
    struct workflow *workflow = diamond();
    uint32_t index = 77;

    assert_int_equal(workflow_add_task(workflow, &twin, &index), WEFT_EXISTS);
    assert_int_equal(index, 77);
    assert_int_equal(connect(workflow, 0, 5), WEFT_NOT_FOUND);
    assert_int_equal(connect(workflow, 5, 0), WEFT_NOT_FOUND);
    assert_int_equal(connect(workflow, 3, 3), WEFT_INVALID);
    assert_int_equal(connect(workflow, 0, 1), WEFT_EXISTS);

    assert_int_equal(workflow->task_count, 5);
    assert_int_equal(workflow->edge_count, 4);
    assert_int_equal(connect(workflow, 1, 0), WEFT_OK);
    workflow_destroy(workflow);
}

static void a_workflow_is_as_large_as_the_limits_and_no_larger(ATTR_UNUSED void **state)
{
    const struct workflow_task extra = {.name = "extra"};
    struct workflow *workflow = workflow_create("large");
    uint32_t index = TASK_NONE;

    for (uint32_t i = 0; i < WORKFLOW_TASKS_MAX; i++) {
        assert_int_equal(add_named(workflow, i), i);
    }
    assert_int_equal(workflow_add_task(workflow, &extra, &index), WEFT_LIMIT);
    for (uint32_t i = 0; i < WORKFLOW_EDGES_MAX; i++) { /* From each task to its next eight. */
        const uint32_t from = i / 8;
        const uint32_t to = (from + 1 + i % 8) % WORKFLOW_TASKS_MAX;
        const bool forward = to > from;
        assert_int_equal(connect(workflow, forward ? from : to, forward ? to : from), WEFT_OK);
    }
    assert_int_equal(connect(workflow, 0, 500), WEFT_LIMIT);
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    for (uint32_t i = 0; i < WORKFLOW_TASKS_MAX; i++) {
        assert_int_equal(workflow->order[i], i);
    }
    workflow_destroy(workflow);
}

static void independent_tasks_keep_their_order(ATTR_UNUSED void **state)
{
    struct workflow *workflow = workflow_create("wide");
    for (uint32_t i = 0; i < 300; i++) {
        (void)add_named(workflow, i);
    }
    assert_int_equal(connect(workflow, 299, 0), WEFT_OK);

    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);

    for (uint32_t i = 0; i < 299; i++) {
        assert_int_equal(workflow->order[i], i + 1);
    }
    assert_int_equal(workflow->order[299], 0);
    workflow_destroy(workflow);
}

static void a_name_finds_its_task(ATTR_UNUSED void **state)
{
    struct workflow *workflow = diamond();

    assert_int_equal(workflow_find_task(workflow, "t3"), 3);
    assert_int_equal(workflow_find_task(workflow, "t"), TASK_NONE);
    workflow_destroy(workflow);
    workflow_destroy(NULL);
}

static void an_empty_workflow_is_not_sealed(ATTR_UNUSED void **state)
{
    struct workflow *workflow = workflow_create("void");
    struct weft_error error;

    assert_int_equal(workflow_seal(workflow, &error), WEFT_INVALID);

    assert_string_equal(error.message, "workflow 'void' has no tasks");
    assert_false(workflow->sealed);
    workflow_destroy(workflow);
}

static void the_error_names_a_task_on_the_cycle(ATTR_UNUSED void **state)
{
    struct workflow *workflow = workflow_create("ring");
    struct weft_error error;
    for (uint32_t i = 0; i < 4; i++) {
        (void)add_named(workflow, i);
    }
    assert_int_equal(connect(workflow, 3, 2), WEFT_OK);
    assert_int_equal(connect(workflow, 2, 3), WEFT_OK);
    assert_int_equal(connect(workflow, 2, 1), WEFT_OK); /* Behind the cycle, not on it. */
    assert_int_equal(connect(workflow, 1, 0), WEFT_OK);

    assert_int_equal(workflow_seal(workflow, &error), WEFT_INVALID);

    const bool names_two =
        strcmp(error.message, "workflow 'ring' has a cycle through task 't2'") == 0;
    const bool names_three =
        strcmp(error.message, "workflow 'ring' has a cycle through task 't3'") == 0;
    assert_true(names_two || names_three);
    assert_null(workflow->order); /* Nothing is left behind. */
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_INVALID);
    workflow_destroy(workflow);
}

static void any_cycle_is_found_and_the_workflow_stays_open(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(11);
    uint32_t cyclic = 0;

    for (uint32_t i = 0; i < GRAPHS; i++) {
        struct workflow *workflow = random_graph(&rng, /* cycles */ true);
        struct weft_error error;
        struct reach reach;
        bool has_cycle = false;
        find_reach(workflow, TASK_NONE, &reach);
        for (uint32_t j = 0; j < workflow->task_count; j++) {
            has_cycle |= reach.from[j][j];
        }
        const enum weft_status status = workflow_seal(workflow, &error);
        assert_int_equal(status, has_cycle ? WEFT_INVALID : WEFT_OK);
        if (has_cycle) {
            char name[NAME_BYTES_MAX];
            const char *quoted = strstr(error.message, "task '");
            assert_non_null(quoted);
            assert_int_equal(sscanf(quoted, "task '%63[^']", name), 1);
            const uint32_t task = workflow_find_task(workflow, name);
            assert_true(reach.from[task][task]);
            (void)add_named(workflow, RANDOM_TASKS_MAX);
            cyclic++;
        }
        workflow_destroy(workflow);
    }
    assert_in_range(cyclic, GRAPHS / 4, 3 * GRAPHS / 4);
}

static void the_order_takes_the_smallest_ready_task_first(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(12);

    for (uint32_t i = 0; i < GRAPHS; i++) {
        struct workflow *workflow = random_graph(&rng, /* cycles */ false);
        bool done[RANDOM_TASKS_MAX] = {false};
        assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
        for (uint32_t j = 0; j < workflow->task_count; j++) {
            uint32_t lowest = TASK_NONE;
            for (uint32_t task = workflow->task_count; task-- > 0;) {
                bool ready = !done[task];
                for (uint32_t k = 0; k < workflow->edge_count; k++) {
                    ready &= workflow->edges[k].to != task || done[workflow->edges[k].from];
                }
                lowest = ready ? task : lowest;
            }
            assert_int_equal(workflow->order[j], lowest);
            done[lowest] = true;
        }
        workflow_destroy(workflow);
    }
}

/* Whether every way from a source to @task passes @gate. */
static bool dominates(const struct workflow *workflow, uint32_t gate, uint32_t task)
{
    struct reach reach;
    if (gate == task) {
        return true;
    }
    find_reach(workflow, gate, &reach);
    for (uint32_t i = 0; i < workflow->source_count; i++) {
        const uint32_t source = workflow->sources[i];
        if (source != gate && (source == task || reach.from[source][task])) {
            return false;
        }
    }
    return true;
}

/* The strict dominator that all others dominate. */
static uint32_t nearest_dominator(
    bool table[RANDOM_TASKS_MAX][RANDOM_TASKS_MAX], uint32_t count, uint32_t task)
{
    for (uint32_t gate = 0; gate < count; gate++) {
        bool is_nearest = gate != task && table[gate][task];
        for (uint32_t other = 0; other < count; other++) {
            is_nearest &= other == task || !table[other][task] || table[other][gate];
        }
        if (is_nearest) {
            return gate;
        }
    }
    return TASK_NONE;
}

static void dominators_agree_with_the_removal_of_each_task(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(13);
    uint32_t dominated = 0;

    for (uint32_t i = 0; i < GRAPHS; i++) {
        struct workflow *workflow = random_graph(&rng, /* cycles */ false);
        bool table[RANDOM_TASKS_MAX][RANDOM_TASKS_MAX];
        const uint32_t count = workflow->task_count;
        assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
        for (uint32_t gate = 0; gate < count; gate++) {
            for (uint32_t task = 0; task < count; task++) {
                table[gate][task] = dominates(workflow, gate, task);
            }
        }
        for (uint32_t task = 0; task < count; task++) {
            const uint32_t expected = nearest_dominator(table, count, task);
            assert_int_equal(workflow->tasks[task].dominator, expected);
            dominated += expected != TASK_NONE && workflow->tasks[task].in_count > 1;
        }
        workflow_destroy(workflow);
    }
    assert_true(dominated > GRAPHS / 4); /* Joins with a dominator: the case that is not trivial. */
}

static void edges_are_grouped_by_both_ends(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(14);

    for (uint32_t i = 0; i < GRAPHS; i++) {
        struct workflow *workflow = random_graph(&rng, /* cycles */ false);
        uint32_t in_total = 0;
        uint32_t out_total = 0;
        assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
        for (uint32_t task = 0; task < workflow->task_count; task++) {
            for (uint32_t j = 0; j < workflow->tasks[task].in_count; j++) {
                assert_int_equal(workflow_in(workflow, task, j)->to, task);
                assert_int_equal(workflow_in(workflow, task, j)->in_index, j);
                in_total++;
            }
            for (uint32_t j = 0; j < workflow->tasks[task].out_count; j++) {
                assert_int_equal(workflow_out(workflow, task, j)->from, task);
                out_total++;
            }
        }
        assert_int_equal(in_total, workflow->edge_count);
        assert_int_equal(out_total, workflow->edge_count);
        workflow_destroy(workflow);
    }
}

static void seal_twice(void *workflow)
{
    (void)workflow_seal(workflow, NULL);
    (void)workflow_seal(workflow, NULL);
}

static void extend_sealed(void *workflow)
{
    (void)workflow_seal(workflow, NULL);
    (void)connect(workflow, 3, 4);
}

static void a_sealed_workflow_does_not_change(ATTR_UNUSED void **state)
{
    struct workflow *workflow = diamond();

    assert_true(dies(seal_twice, workflow));
    assert_true(dies(extend_sealed, workflow));
    workflow_destroy(workflow);
}

static void names_are_kept_and_unique(ATTR_UNUSED void **state)
{
    struct workflow *workflow = diamond();
    struct workflow_port port = {.task = 3, .from = 1, .name = "x", .output = "y"};
    struct workflow_input input = {.name = "image", .dtype = WEFT_UINT8, .rank = 1, .shape = {-1}};
    struct workflow_result result = {.task = 3, .name = "text", .output = "out"};

    assert_int_equal(workflow_add_port(workflow, &port), WEFT_OK);
    assert_int_equal(workflow_add_port(workflow, &port), WEFT_EXISTS);
    port.task = 2; /* Another task may call its input the same. */
    port.from = TASK_NONE;
    assert_int_equal(workflow_add_port(workflow, &port), WEFT_OK);
    port.from = 5;
    assert_int_equal(workflow_add_port(workflow, &port), WEFT_NOT_FOUND);
    port.from = 0;
    port.task = 5;
    assert_int_equal(workflow_add_port(workflow, &port), WEFT_NOT_FOUND);
    assert_int_equal(workflow_add_input(workflow, &input), WEFT_OK);
    assert_int_equal(workflow_add_input(workflow, &input), WEFT_EXISTS);
    assert_int_equal(workflow_add_result(workflow, &result), WEFT_OK);
    assert_int_equal(workflow_add_result(workflow, &result), WEFT_EXISTS);
    result.task = 5;
    assert_int_equal(workflow_add_result(workflow, &result), WEFT_NOT_FOUND);

    assert_int_equal(workflow->port_count, 2);
    assert_string_equal(workflow->ports[0].output, "y");
    assert_int_equal(workflow->inputs[0].shape[0], -1);
    assert_int_equal(workflow->results[0].task, 3);
    workflow_destroy(workflow);
}

/* What a model takes and gives is known when it is loaded: long after it was sealed. */
static void a_model_alone_is_described_later(ATTR_UNUSED void **state)
{
    const struct workflow_input ports[] = {
        {.name = "x", .dtype = WEFT_FP32, .rank = 1, .shape = {-1}},
        {.name = "y", .dtype = WEFT_INT8},
    };
    struct workflow *workflow = workflow_create("m");
    struct workflow_task task = {.name = "m"};
    uint32_t number;
    assert_int_equal(workflow_add_task(workflow, &task, &number), WEFT_OK);
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    workflow_describe(workflow, ports, 1, ports, 2);
    workflow_describe(workflow, ports, 2, ports + 1, 1);
    assert_int_equal(workflow->input_count, 2);
    assert_string_equal(workflow->inputs[0].name, "x");
    assert_int_equal(workflow->inputs[0].shape[0], -1);
    assert_int_equal(workflow->result_count, 1);
    assert_string_equal(workflow->results[0].name, "y");
    assert_string_equal(workflow->results[0].output, "y");
    assert_int_equal(workflow->results[0].task, 0);
    workflow_destroy(workflow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sealed_diamond_knows_its_shape),
        cmocka_unit_test(names_are_kept_and_unique),
        cmocka_unit_test(inputs_keep_the_order_in_which_they_were_declared),
        cmocka_unit_test(a_task_is_copied_as_described),
        cmocka_unit_test(an_edge_carries_its_bytes_in_all_or_for_each_item),
        cmocka_unit_test(wrong_tasks_and_edges_are_refused_and_change_nothing),
        cmocka_unit_test(a_workflow_is_as_large_as_the_limits_and_no_larger),
        cmocka_unit_test(independent_tasks_keep_their_order),
        cmocka_unit_test(a_name_finds_its_task),
        cmocka_unit_test(an_empty_workflow_is_not_sealed),
        cmocka_unit_test(the_error_names_a_task_on_the_cycle),
        cmocka_unit_test(any_cycle_is_found_and_the_workflow_stays_open),
        cmocka_unit_test(the_order_takes_the_smallest_ready_task_first),
        cmocka_unit_test(dominators_agree_with_the_removal_of_each_task),
        cmocka_unit_test(edges_are_grouped_by_both_ends),
        cmocka_unit_test(a_model_alone_is_described_later),
        cmocka_unit_test(a_sealed_workflow_does_not_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
