/*
 * A scenario that is written and read again is the same experiment: the traces are equal.
 *
 * Covers: src/document/scenario_save.c, src/document/cluster_save.c and
 * src/document/scalar_save.c, over the scenarios that are shipped and draws of the swarm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "document/scenario.h"
#include "swarm.h"

enum { DRAWS = 200, JOBS_MAX = 400 };

static uint64_t trace_hash(const struct scenario *scenario)
{
    struct policy_set policies;
    struct weft_error error;
    struct report report;
    assert_int_equal(policy_set_parse(scenario->policy, &policies, &error), WEFT_OK);
    const struct sim_options options = {
        .fleet = scenario->fleet,
        .catalogue = scenario->catalogue,
        .profile = scenario->profile,
        .policies = &policies,
        .arrivals = &scenario->arrivals,
        .jobs = scenario->jobs,
        .warmup = scenario->warmup,
        .seed = scenario->seeds[0],
        .row_load_ns = scenario->rows.load_ns,
        .row_cache_ns = scenario->rows.cache_ns,
        .noise = scenario->noise,
        .has_deputies = scenario->has_deputies,
        .is_asked_twice = scenario->is_asked_twice,
        .members_after_ns = scenario->members_after_ns,
        .fault_count = scenario->fault_count,
        .faults = scenario->faults,
        .fault_random_count = scenario->fault_random_count,
        .fault_randoms = scenario->fault_randoms,
    };
    struct sim *sim = sim_create(&options);
    sim_run(sim);
    sim_report(sim, &report);
    sim_destroy(sim);
    return report.trace_hash;
}

static char *written(const struct scenario *scenario)
{
    char *text = NULL;
    size_t size = 0;
    struct weft_error error = {0};
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    if (scenario_write(scenario, file, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(fclose(file), 0);
    return text;
}

static struct scenario *read_again(const char *text)
{
    struct tree *tree = NULL;
    struct scenario *scenario = NULL;
    struct weft_error error = {0};
    if (tree_parse("written", text, strlen(text), &tree, &error) != WEFT_OK ||
        scenario_read(tree->root, &scenario, &error) != WEFT_OK) {
        fail_msg("%s in\n%s", error.message, text);
    }
    tree_destroy(tree);
    return scenario;
}

/* Takes @scenario. What is read again is also written again as it was. */
static void expect_the_same(struct scenario *scenario)
{
    char *text = written(scenario);
    struct scenario *again = read_again(text);
    char *second = written(again);
    assert_string_equal(second, text);
    if (trace_hash(again) != trace_hash(scenario)) {
        fail_msg("another trace from\n%s", text);
    }
    free(text);
    free(second);
    scenario_destroy(again);
    scenario_destroy(scenario);
}

static void shipped_scenarios_stay_the_same(ATTR_UNUSED void **state)
{
    static const char *const paths[] = {
        "scenarios/compass/burst.yaml", "scenarios/compass/compass.yaml",
        "scenarios/compass/gamma.yaml", "scenarios/compass/loss.yaml",
        "scenarios/compass/slow.yaml",  "scenarios/demo/demo.yaml",
        "scenarios/random/random.yaml", "scenarios/traces/replay.yaml",
    };
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct scenario *scenario = NULL;
        struct weft_error error = {0};
        if (scenario_load(paths[i], &scenario, &error) != WEFT_OK) {
            fail_msg("%s", error.message);
        }
        scenario->jobs = scenario->jobs > JOBS_MAX ? JOBS_MAX : scenario->jobs;
        expect_the_same(scenario);
    }
}

static void draws_of_the_swarm_stay_the_same(ATTR_UNUSED void **state)
{
    for (uint64_t seed = 1; seed <= DRAWS; seed++) {
        struct swarm swarm;
        swarm_draw(&swarm, seed);
        expect_the_same(swarm_to_scenario(&swarm));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_scenarios_stay_the_same),
        cmocka_unit_test(draws_of_the_swarm_stay_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
