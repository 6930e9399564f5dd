/*
 * The search itself, with failures that are made up: whatever is not needed goes.
 *
 * Covers: src/lab/shrink.c, src/lab/scenario_cut.c, src/lab/scenario_cut_copy.c and
 * src/lab/scenario_cut_plain.c.
 */
#include "lab/shrink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

static const char text[] =
    "scenario: large\n"
    "cluster:\n"
    "  machines:\n"
    "    - {count: 3, devices: 2, device: {kind: a, memory: 8GB, h2d: 8GB/s, units: 4}}\n"
    "    - {count: 2, partitions: 2, device: {kind: b, memory: 8GB, h2d: 8GB/s}, up: 1GB/s}\n"
    "  network: {kind: two-tier, per_rack: 2, core: 1GB/s, sharing: fair, background: 10%}\n"
    "workflows:\n"
    "  - workflow: chain\n"
    "    slo: 1s\n"
    "    tasks:\n"
    "      c0: {function: f}\n"
    "      c1: {model: m, after: [c0], bytes: 12345, gives: [1, 3]}\n"
    "      c2: {model: m, after: [c1]}\n"
    "  - workflow: diamond\n"
    "    input: 3MB\n"
    "    tasks:\n"
    "      d0: {function: f}\n"
    "      d1: {model: m, after: [d0]}\n"
    "      d2: {model: m, after: [d0], bytes: 5MB}\n"
    "      d3: {function: f, after: [d1, d2], bytes: {d1: 1KB per item}}\n"
    "      d4: {function: f, after: [d3]}\n"
    "  - workflow: one\n"
    "    tasks: {o0: {function: f}}\n"
    "profile:\n"
    "  weft_profile: 1\n"
    "  figures: assumed\n"
    "  models:\n"
    "    f: {devices: {a: {ms: 1.2345, sd_ms: 1}, b: {ms: 2}}}\n"
    "    m: {load: 1GB, workspace: 3MB, devices: {a: {ms: 9}, b: {ms: 8}}}\n"
    "truth:\n"
    "  weft_profile: 1\n"
    "  figures: assumed\n"
    "  models:\n"
    "    f: {devices: {a: {ms: 2}, b: {ms: 1}}}\n"
    "    m: {load: 1GB, devices: {a: {ms: 18}, b: {ms: 4}}}\n"
    "arrivals: {rate: 100/s}\n"
    "jobs: 500\n"
    "rows: {load: 3ms, cache: 7ms}\n"
    "policy: {place: jit, order: edf, cache: lru}\n"
    "noise: 20%\n"
    "pace: {every: 20ms, factors: [1, 2]}\n"
    "seeds: 4\n"
    "faults:\n"
    "  - {at: 1s, crash: 1}\n"
    "  - {at: 1234ms, slow: 7, for: 3s, factor: 2}\n"
    "  - {at: 2s, drain: 2}\n"
    "  - {at: 3s, restart: 1}\n"
    "  - random: {rate: 2/s, until: 10s, kinds: [stop, partition]}\n";

static struct scenario *large(void)
{
    struct tree *tree = NULL;
    struct scenario *scenario = NULL;
    struct weft_error error = {0};
    if (tree_parse("large", text, strlen(text), &tree, &error) != WEFT_OK ||
        scenario_read(tree->root, &scenario, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    tree_destroy(tree);
    return scenario;
}

static struct scenario *shrunk(bool (*fails)(void *, const struct scenario *), uint32_t *tries)
{
    struct scenario *scenario = large();
    struct shrink shrink = {.fails = fails, .tries_max = *tries};
    struct scenario *small = shrink_run(&shrink, scenario);
    assert_true(fails(NULL, small));
    assert_true(shrink.tries <= *tries);
    *tries = shrink.tries;
    scenario_destroy(scenario);
    return small;
}

static void expect_count(const struct scenario *scenario, enum scenario_part part, uint32_t count)
{
    if (scenario_cut_count(scenario, part) != count) {
        fail_msg(
            "%u %s, not %u", scenario_cut_count(scenario, part), scenario_cut_name(part), count);
    }
}

static bool always(ATTR_UNUSED void *context, ATTR_UNUSED const struct scenario *scenario)
{
    return true;
}

static void what_always_fails_ends_with_one_of_each(ATTR_UNUSED void **state)
{
    uint32_t tries = 1000;
    struct scenario *small = shrunk(always, &tries);
    assert_true(tries < 200);
    expect_count(small, CUT_JOBS, 1);
    expect_count(small, CUT_FAULTS, 0);
    expect_count(small, CUT_WORKFLOWS, 1);
    expect_count(small, CUT_TASKS, 1);
    expect_count(small, CUT_NODES, 1);
    expect_count(small, CUT_WORKERS, 1);
    assert_string_equal(small->policy, "least-work");
    assert_true(small->noise == 0);
    assert_int_equal(small->pace.count, 0);
    assert_null(small->truth);
    assert_int_equal(small->rows.load_ns, 10000000);
    assert_int_equal(small->fleet->network.kind, NETWORK_STAR);
    assert_true(small->fleet->network.background.load == 0);
    assert_int_equal(small->fleet->workers[0].gpu_units, 1);
    assert_int_equal(small->fleet->nodes[0].up_bytes_per_s, 0);
    assert_int_equal(small->catalogue->workflows[0]->input_bytes, 0);
    assert_int_equal(small->profile->models[0].curves[0].points[0].run_ns, 1200000);
    assert_int_equal(small->profile->models[0].curves[0].points[0].sd_ns, 0);
    scenario_destroy(small);
}

static bool has_join(const struct scenario *scenario)
{
    for (uint32_t i = 0; i < scenario->catalogue->workflow_count; i++) {
        const struct workflow *workflow = scenario->catalogue->workflows[i];
        for (uint32_t j = 0; j < workflow->task_count; j++) {
            if (workflow_is_join(workflow, j)) {
                return true;
            }
        }
    }
    return false;
}

static bool has_fault(const struct scenario *scenario, enum fault_kind kind)
{
    for (uint32_t i = 0; i < scenario->fault_count; i++) {
        if (scenario->faults[i].kind == kind) {
            return true;
        }
    }
    return false;
}

static bool slow_with_a_join(ATTR_UNUSED void *context, const struct scenario *scenario)
{
    return has_join(scenario) && has_fault(scenario, FAULT_SLOW) &&
           scenario->fleet->node_count >= 2;
}

static void what_is_needed_is_left_and_nothing_else(ATTR_UNUSED void **state)
{
    uint32_t tries = 1000;
    struct scenario *small = shrunk(slow_with_a_join, &tries);
    expect_count(small, CUT_JOBS, 1);
    expect_count(small, CUT_FAULTS, 1);
    expect_count(small, CUT_WORKFLOWS, 1);
    expect_count(small, CUT_TASKS, 3);
    expect_count(small, CUT_EDGES, 2);
    expect_count(small, CUT_NODES, 2);
    expect_count(small, CUT_WORKERS, 2);
    assert_true(small->faults[0].victim < small->fleet->worker_count);
    assert_int_equal(small->faults[0].at_ns, 1200000000);
    scenario_destroy(small);
}

static bool partitioned(ATTR_UNUSED void *context, const struct scenario *scenario)
{
    return has_fault(scenario, FAULT_PARTITION);
}

static void what_was_drawn_at_random_is_cut_one_by_one(ATTR_UNUSED void **state)
{
    uint32_t tries = 1000;
    struct scenario *small = shrunk(partitioned, &tries);
    assert_int_equal(small->fault_random_count, 0);
    expect_count(small, CUT_FAULTS, 1);
    assert_int_equal(small->faults[0].kind, FAULT_PARTITION);
    assert_true(small->faults[0].for_ns > 0);
    scenario_destroy(small);
}

/* What comes out of d4 depends on d0, however many tasks are between them. */
static bool has_path(ATTR_UNUSED void *context, const struct scenario *scenario)
{
    for (uint32_t i = 0; i < scenario->catalogue->workflow_count; i++) {
        const struct workflow *workflow = scenario->catalogue->workflows[i];
        const uint32_t from = workflow_find_task(workflow, "d0");
        const uint32_t to = workflow_find_task(workflow, "d4");
        if (from != TASK_NONE && to != TASK_NONE && workflow_is_ancestor(workflow, from, to)) {
            return true;
        }
    }
    return false;
}

static void neighbours_of_a_task_can_meet(ATTR_UNUSED void **state)
{
    uint32_t tries = 1000;
    struct scenario *small = shrunk(has_path, &tries);
    expect_count(small, CUT_TASKS, 2);
    expect_count(small, CUT_EDGES, 1);
    scenario_destroy(small);
}

/* Three requests of the stream, far from each other, and the workflow of one of them. */
static bool three_requests(ATTR_UNUSED void *context, const struct scenario *scenario)
{
    uint32_t seen = 0;
    struct arrival_stream stream;
    struct arrival arrival;
    arrival_stream_init(&stream, &scenario->arrivals, scenario->catalogue, scenario->seeds[0]);
    for (uint64_t i = 0; i < scenario->jobs && arrival_stream_next(&stream, &arrival); i++) {
        const char *name = scenario->catalogue->workflows[arrival.workflow]->name;
        seen |= arrival.at_ns < 1000000000 && strcmp(name, "one") == 0 ? 1U : 0;
        seen |= arrival.at_ns > 2000000000 && arrival.at_ns < 2100000000 ? 2U : 0;
        seen |= arrival.at_ns > 4000000000 ? 4U : 0;
    }
    return seen == 7;
}

static void requests_are_found_wherever_they_are(ATTR_UNUSED void **state)
{
    uint32_t tries = 1000;
    struct scenario *small = shrunk(three_requests, &tries);
    expect_count(small, CUT_JOBS, 3);
    assert_int_equal(small->jobs, 3);
    scenario_destroy(small);
}

static void roles_of_a_policy_go_one_by_one(ATTR_UNUSED void **state)
{
    struct scenario *scenario = large();
    const struct scenario_cut order = {CUT_POLICY, 1, 1};
    struct scenario *without = scenario_cut_apply(scenario, &order);
    assert_string_equal(without->policy, "place=jit,cache=lru");
    scenario_destroy(without);
    const struct scenario_cut all = {CUT_POLICY, 0, 3};
    without = scenario_cut_apply(scenario, &all);
    assert_string_equal(without->policy, "place=jit");
    scenario_destroy(without);
    scenario_destroy(scenario);
}

static void what_leaves_nothing_is_no_cut(ATTR_UNUSED void **state)
{
    struct scenario *scenario = large();
    static const enum scenario_part parts[] = {CUT_NODES, CUT_WORKFLOWS, CUT_TASKS};
    for (uint32_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const struct scenario_cut all = {parts[i], 0, scenario_cut_count(scenario, parts[i])};
        assert_null(scenario_cut_apply(scenario, &all));
    }
    scenario_destroy(scenario);
}

static void tries_are_bounded(ATTR_UNUSED void **state)
{
    uint32_t tries = 5;
    struct scenario *small = shrunk(always, &tries);
    assert_int_equal(tries, 5);
    assert_int_equal(small->jobs, 500 >> 5);
    scenario_destroy(small);
}

static bool stop_soon(void *context, ATTR_UNUSED const struct scenario *scenario)
{
    struct shrink *shrink = context;
    shrink->stop = shrink->tries == 3;
    return true;
}

static void a_callback_can_stop_it(ATTR_UNUSED void **state)
{
    struct scenario *scenario = large();
    struct shrink shrink = {.fails = stop_soon, .context = &shrink, .tries_max = 1000};
    struct scenario *small = shrink_run(&shrink, scenario);
    assert_int_equal(shrink.tries, 3);
    assert_int_equal(small->jobs, 62);
    scenario_destroy(small);
    scenario_destroy(scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_always_fails_ends_with_one_of_each),
        cmocka_unit_test(what_is_needed_is_left_and_nothing_else),
        cmocka_unit_test(what_was_drawn_at_random_is_cut_one_by_one),
        cmocka_unit_test(neighbours_of_a_task_can_meet),
        cmocka_unit_test(requests_are_found_wherever_they_are),
        cmocka_unit_test(roles_of_a_policy_go_one_by_one),
        cmocka_unit_test(what_leaves_nothing_is_no_cut),
        cmocka_unit_test(tries_are_bounded),
        cmocka_unit_test(a_callback_can_stop_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
