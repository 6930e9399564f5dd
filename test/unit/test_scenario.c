/*
 * Covers: src/document/pace_document.c, src/document/policy_document.c,
 * src/document/scenario_check.c, src/profile/builtin.c
 */
#include "document/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "document_fixture.h"
#include "model/builtin.h"
#include "model/graph.h"

#define SMALL                                                                                      \
    "scenario: small\n"                                                                            \
    "cluster:\n"                                                                                   \
    "  machines: {count: 2, device: {kind: t4, memory: 8GB, h2d: 10GB/s}}\n"                       \
    "workflows:\n"                                                                                 \
    "  - {workflow: chat, tasks: {a: {model: llm}}}\n"                                             \
    "  - {workflow: talk, tasks: {a: {model: llm}, b: {function: f, after: a}}}\n"                 \
    "profile: {weft_profile: 1, models: {llm: {load: 4GB, devices: {t4: {ms: 50}}},\n"             \
    "  f: {devices: {t4: {ms: 1}}}}}\n"
#define RATE "arrivals: {rate: 2/s}\n"

static struct scenario *read_good(const char *text)
{
    struct tree *tree = parsed(text);
    struct scenario *scenario = NULL;
    struct weft_error error = {0};

    assert_good(scenario_read(tree->root, &scenario, &error), &error);
    tree_destroy(tree);
    return scenario;
}

static void what_is_not_said_has_a_default(ATTR_UNUSED void **state)
{
    struct scenario *scenario = read_good(SMALL RATE);

    assert_string_equal(scenario->name, "small");
    assert_int_equal(scenario->arrivals.kind, ARRIVALS_POISSON);
    assert_true(scenario->arrivals.rate_per_s == 2);
    assert_true(scenario->arrivals.mix[0] == 1 && scenario->arrivals.mix[1] == 1);
    assert_string_equal(scenario->policy, "weft");
    assert_int_equal(scenario->rows.load_ns, 10000000);
    assert_int_equal(scenario->rows.cache_ns, 100000000);
    assert_true(scenario->noise == 0);
    assert_int_equal(scenario->pace.count, 0);
    assert_true(scenario->warmup == 0.1);
    assert_int_equal(scenario->jobs, 1000);
    assert_int_equal(scenario->seed_count, 1);
    assert_int_equal(scenario->seeds[0], 1);
    assert_int_equal(scenario->fault_count, 0);
    scenario_destroy(scenario);
}

static void everything_can_be_said(ATTR_UNUSED void **state)
{
    struct scenario *scenario =
        read_good(SMALL "arrivals: {kind: constant, rate: 120/m, mix: {talk: 3}}\n"
                        "rows: {load: 1ms, cache: 2s}\n"
                        "policy: {place: jit, order: {name: edf}}\n"
                        "noise: 5%\n"
                        "jobs: 20\n"
                        "warmup: 0\n"
                        "seeds: [7, 9007199254740992]\n"
                        "faults: [{at: 2s, crash: 1}, {at: 3s, restart: 1}, {at: 4s, drain: 0}]\n");

    assert_int_equal(scenario->arrivals.kind, ARRIVALS_CONSTANT);
    assert_true(scenario->arrivals.rate_per_s == 2);
    assert_true(scenario->arrivals.mix[0] == 0 && scenario->arrivals.mix[1] == 3);
    assert_int_equal(scenario->rows.load_ns, 1000000);
    assert_int_equal(scenario->rows.cache_ns, 2000000000);
    assert_string_equal(scenario->policy, "place=jit,order=edf");
    assert_true(scenario->noise == 0.05);
    assert_int_equal(scenario->jobs, 20);
    assert_true(scenario->warmup == 0);
    assert_int_equal(scenario->seed_count, 2);
    assert_int_equal(scenario->seeds[1], 9007199254740992);
    assert_int_equal(scenario->fault_count, 3);
    assert_int_equal(scenario->faults[0].kind, FAULT_CRASH);
    assert_int_equal(scenario->faults[0].victim, 1);
    assert_int_equal(scenario->faults[1].kind, FAULT_RESTART);
    assert_int_equal(scenario->faults[1].at_ns, 3000000000);
    assert_int_equal(scenario->faults[2].kind, FAULT_DRAIN);
    scenario_destroy(scenario);
}

static void a_pace_is_a_list_of_factors(ATTR_UNUSED void **state)
{
    struct scenario *scenario =
        read_good(SMALL RATE "pace: {every: 20ms, factors: [1, 1.5, 0.9]}\n");

    assert_int_equal(scenario->pace.every_ns, 20000000);
    assert_int_equal(scenario->pace.count, 3);
    assert_true(scenario->pace.factors[1] == 1.5 && scenario->pace.factors[2] == 0.9);
    scenario_destroy(scenario);
}

static void a_pace_is_written_as_it_is_read(ATTR_UNUSED void **state)
{
    struct scenario *scenario =
        read_good(SMALL RATE "pace: {every: 20ms, factors: [1, 1.5, 0.9]}\n");
    struct weft_error error;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_int_equal(scenario_write(scenario, file, &error), WEFT_OK);
    assert_int_equal(fclose(file), 0);
    assert_non_null(strstr(text, "\npace: {every: 20ms, factors: [1, 1.5, 0.9]}\n"));
    free(text);
    scenario_destroy(scenario);
}

static void expect_bad_pace(const char *pace, const char *cause)
{
    char text[sizeof(SMALL RATE) + 128];
    (void)snprintf(text, sizeof(text), SMALL RATE "pace: %s\n", pace);
    struct tree *tree = parsed(text);
    struct scenario *scenario = NULL;
    struct weft_error error = {0};

    assert_int_equal(scenario_read(tree->root, &scenario, &error), WEFT_INVALID);
    assert_non_null(strstr(error.message, cause));
    tree_destroy(tree);
}

static void a_pace_that_makes_no_sense_is_refused(ATTR_UNUSED void **state)
{
    expect_bad_pace("{factors: [1]}", "'every' is missing");
    expect_bad_pace("{every: 20ms}", "'factors' is missing");
    expect_bad_pace("{every: 0ms, factors: [1]}", "between 1ms and 240h");
    expect_bad_pace("{every: 20ms, factors: []}", "'factors' wants 1 to 4096 numbers");
    expect_bad_pace("{every: 20ms, factors: [1, 0]}", "between 0.01 and 100");
}

static void random_faults_stand_among_the_others(ATTR_UNUSED void **state)
{
    struct scenario *scenario = read_good(
        SMALL "arrivals: {rate: 2/s}\n"
              "faults:\n"
              "  - random: {rate: 6/m, until: 1m}\n"
              "  - {at: 2s, crash: 1}\n"
              "  - random: {rate: 2/s, until: 5s, for: 3ms, kinds: [slow, crash, slow]}\n");

    assert_int_equal(scenario->fault_count, 1);
    assert_int_equal(scenario->faults[0].at_ns, 2000000000);
    assert_int_equal(scenario->fault_random_count, 2);
    assert_true(scenario->fault_randoms[0].rate_per_s == 0.1);
    assert_int_equal(scenario->fault_randoms[0].until_ns, 60000000000);
    assert_int_equal(scenario->fault_randoms[0].for_ns, 1000000000);
    assert_int_equal(scenario->fault_randoms[0].kinds, fault_drawable_kinds());
    assert_int_equal(scenario->fault_randoms[1].for_ns, 3000000);
    assert_int_equal(scenario->fault_randoms[1].kinds, 1 << FAULT_SLOW | 1 << FAULT_CRASH);
    scenario_destroy(scenario);
}

static void a_list_of_arrivals_counts_the_jobs(ATTR_UNUSED void **state)
{
    struct scenario *scenario =
        read_good(SMALL "arrivals: {kind: list, list: [{at: 0, workflow: talk},\n"
                        "  {at: 10ms, workflow: chat, items: 3}, {at: 10ms, workflow: talk}]}\n"
                        "seeds: 3\n");

    assert_int_equal(scenario->arrivals.kind, ARRIVALS_LIST);
    assert_int_equal(scenario->jobs, 3);
    assert_int_equal(scenario->arrivals.list_count, 3);
    assert_int_equal(scenario->arrivals.list[0].workflow, 1);
    assert_int_equal(scenario->arrivals.list[0].items, 1);
    assert_int_equal(scenario->arrivals.list[1].at_ns, 10000000);
    assert_int_equal(scenario->arrivals.list[1].workflow, 0);
    assert_int_equal(scenario->arrivals.list[1].items, 3);
    assert_int_equal(scenario->seed_count, 3);
    assert_int_equal(scenario->seeds[2], 3);
    scenario_destroy(scenario);
}

static void policies_come_as_text_or_mapping(ATTR_UNUSED void **state)
{
    static const struct {
        const char *written;
        const char *read;
    } cases[] = {
        {"policy: jit\n", "jit"},
        {"policy: \"place=jit,cache=lru\"\n", "place=jit,cache=lru"},
        {"policy: {name: jit}\n", "jit"},
        {"policy: {place: {name: jit}, cache: lru}\n", "place=jit,cache=lru"},
    };
    char text[2048];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)snprintf(text, sizeof(text), "%s%s", SMALL RATE, cases[i].written);
        struct scenario *scenario = read_good(text);
        assert_string_equal(scenario->policy, cases[i].read);
        scenario_destroy(scenario);
    }
}

/* An option of any registered policy, set by a mapping, reaches the composition. */
static void options_of_policies_are_passed_on(ATTR_UNUSED void **state)
{
    char text[2048];
    struct policy_set set;

    for (uint32_t i = 0; policy_registry[i] != NULL; i++) {
        const struct policy *policy = policy_registry[i];
        if (policy->options == NULL || policy->options[0].name == NULL) {
            continue;
        }
        const double most = policy->options[0].maximum;
        (void)snprintf(
            text, sizeof(text), "%spolicy: {name: %s, %s: %.10g%s}\n", SMALL RATE, policy->name,
            policy->options[0].name, most,
            strcmp(policy->name, "aquatope") == 0 ? ", rounds: 0" : "");
        struct scenario *scenario = read_good(text);
        struct weft_error error = {0};
        assert_good(policy_set_parse(scenario->policy, &set, &error), &error);
        bool is_set = false;
        for (uint32_t role = 0; role < POLICY_ROLES; role++) {
            is_set |= set.roles[role].policy == policy && set.roles[role].options[0] == most;
        }
        assert_true(is_set);
        scenario_destroy(scenario);
    }
}

/* The critical paths as published, in microseconds. */
static const struct {
    const char *name;
    int64_t path_us;
} published[] = {
    {"translation", 1365000},
    {"question-answer", 587000},
    {"image-to-sound", 359200},
    {"detection", 282600},
};

static void compass_has_the_published_critical_paths(ATTR_UNUSED void **state)
{
    struct scenario *scenario = NULL;
    struct weft_error error = {0};
    uint64_t weights = 0;

    assert_good(scenario_load("scenarios/compass/compass.yaml", &scenario, &error), &error);
    assert_int_equal(scenario->fleet->worker_count, 5);
    assert_int_equal(scenario->catalogue->workflow_count, 4);
    assert_int_equal(scenario->jobs, 20000);
    assert_int_equal(scenario->seed_count, 8);
    for (uint32_t i = 0; i < 4; i++) {
        const struct workflow *workflow = scenario->catalogue->workflows[i];
        int64_t run_ns[8];
        int64_t scratch[8];
        assert_string_equal(workflow->name, published[i].name);
        for (uint32_t task = 0; task < workflow->task_count; task++) {
            run_ns[task] = profile_run_one_ns(scenario->profile, workflow->tasks[task].run, 0);
        }
        assert_int_equal(
            graph_longest_path(workflow, run_ns, scratch), published[i].path_us * 1000);
    }
    for (uint32_t i = 0; i < scenario->profile->model_count; i++) {
        weights += scenario->profile->models[i].resident_bytes;
    }
    assert_int_equal(weights, 20760000000);
    scenario_destroy(scenario);
}

static void the_demo_is_short_of_memory(ATTR_UNUSED void **state)
{
    struct scenario *scenario = NULL;
    struct weft_error error = {0};
    uint64_t weights = 0;

    assert_good(scenario_load("scenarios/demo/demo.yaml", &scenario, &error), &error);
    assert_int_equal(scenario->fleet->node_count, 3);
    for (uint32_t i = 0; i < scenario->profile->model_count; i++) {
        const struct profile_model *model = &scenario->profile->models[i];
        weights += model->resident_bytes;
        if (model->load_bytes > 0) {
            const int64_t load_ns =
                profile_load_ns(scenario->profile, i, &scenario->fleet->workers[0]);
            assert_in_range(load_ns, 50000000, 200000000);
        }
    }
    assert_true(weights > 2 * scenario->fleet->workers[0].memory_bytes);
    for (uint32_t i = 0; i < scenario->catalogue->workflow_count; i++) {
        const struct workflow *workflow = scenario->catalogue->workflows[i];
        assert_in_range(workflow->task_count, 5, 7);
        assert_in_range(workflow->slo_ns, 300000000, 600000000);
    }
    scenario_destroy(scenario);
}

static void paths_are_relative_to_the_scenario_or_absolute(ATTR_UNUSED void **state)
{
    char folder[512];
    char text[2048];
    struct scenario *scenario = NULL;
    struct weft_error error = {0};

    assert_good(scenario_load("test/documents/good/separate.yaml", &scenario, &error), &error);
    assert_int_equal(scenario->fleet->node_count, 2);
    scenario_destroy(scenario);

    assert_non_null(getcwd(folder, sizeof(folder)));
    (void)snprintf(
        text, sizeof(text),
        "scenario: s\ncluster: %s/test/documents/good/cluster.yaml\n"
        "workflows: [%s/scenarios/compass/detection.yaml]\n"
        "profile: scenarios/compass/compass-t4.profile.json\n" RATE,
        folder, folder);
    scenario = read_good(text);
    assert_string_equal(scenario->catalogue->workflows[0]->name, "detection");
    scenario_destroy(scenario);

    struct tree *tree = NULL;
    (void)snprintf(
        text, sizeof(text), "scenario: s\ncluster: %s/test/documents/good/cluster.yaml\n", folder);
    assert_good(tree_parse("some/where/t.yaml", text, strlen(text), &tree, &error), &error);
    assert_int_equal(scenario_read(tree->root, &scenario, &error), WEFT_INVALID);
    assert_string_equal(error.message, "some/where/t.yaml:1: 'workflows' is missing");
    tree_destroy(tree);
}

static void a_missing_file_is_an_error_of_input(ATTR_UNUSED void **state)
{
    struct scenario *scenario = NULL;
    struct weft_error error = {0};

    assert_int_equal(scenario_load("none.yaml", &scenario, &error), WEFT_IO);
    assert_int_equal(
        scenario_load("test/documents/bad/scenario-missing-file.yaml", &scenario, &error), WEFT_IO);
    assert_int_equal(error.status, WEFT_IO);
    scenario_destroy(NULL);
}

/* The task that hands the request on takes no time, and no profile has to say so. */
static void what_is_built_in_is_in_no_profile(ATTR_UNUSED void **state)
{
    struct scenario *scenario =
        read_good("scenario: s\n"
                  "cluster: {machines: {device: {kind: t4, memory: 8GB, h2d: 10GB/s}}}\n"
                  "workflows:\n"
                  "  - {workflow: w, tasks: {a: {function: f, in: {x: inputs.x}},\n"
                  "      b: {function: f, in: {x: inputs.x, y: a.y}}}}\n"
                  "profile: {weft_profile: 1, models: {f: {devices: {t4: {ms: 50}}}}}\n" RATE);
    const uint32_t pass = catalogue_find_model(scenario->catalogue, BUILTIN_PASS);

    assert_int_not_equal(pass, MODEL_NONE);
    assert_true(profile_is_measured(scenario->profile, pass, /* device */ 0));
    assert_int_equal(profile_run_one_ns(scenario->profile, pass, /* device */ 0), 0);
    scenario_destroy(scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_said_has_a_default),
        cmocka_unit_test(random_faults_stand_among_the_others),
        cmocka_unit_test(everything_can_be_said),
        cmocka_unit_test(a_pace_is_a_list_of_factors),
        cmocka_unit_test(a_pace_is_written_as_it_is_read),
        cmocka_unit_test(a_pace_that_makes_no_sense_is_refused),
        cmocka_unit_test(what_is_built_in_is_in_no_profile),
        cmocka_unit_test(a_list_of_arrivals_counts_the_jobs),
        cmocka_unit_test(policies_come_as_text_or_mapping),
        cmocka_unit_test(options_of_policies_are_passed_on),
        cmocka_unit_test(compass_has_the_published_critical_paths),
        cmocka_unit_test(the_demo_is_short_of_memory),
        cmocka_unit_test(paths_are_relative_to_the_scenario_or_absolute),
        cmocka_unit_test(a_missing_file_is_an_error_of_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
