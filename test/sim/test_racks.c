/*
 * Jobs that no machine can do alone, in racks behind a core that is too small to scatter them:
 * scenarios/nona/racks.yaml. What docs/studies/nona.md claims of it, by counting.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "document/scenario.h"
#include "mixture/mixture.h"
#include "mixture/program.h"
#include "sim/sim.h"

/* Twice what the best of the policies that do not look at the network carries. */
#define RATE_PER_S 300

enum { JOBS = 4000 };

static struct scenario *load(void)
{
    struct scenario *scenario = NULL;
    struct weft_error error = {0};
    if (scenario_load("scenarios/nona/racks.yaml", &scenario, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    return scenario;
}

static uint32_t rack_of(const struct fleet *fleet, uint32_t worker)
{
    return fleet_rack(fleet, fleet->workers[worker].node);
}

/* What crosses the core, and when the last job has arrived. */
struct crossings {
    const struct fleet *fleet;
    double bytes;
    int64_t last_ns;
};

static void on_record(void *context, const struct record *record)
{
    struct crossings *crossings = context;
    if (record->kind == RECORD_ARRIVED) {
        crossings->last_ns = record->at_ns;
    }
    if (record->kind == RECORD_SENT &&
        fleet_rack(crossings->fleet, record->node) != rack_of(crossings->fleet, record->worker)) {
        crossings->bytes += (double)record->value;
    }
}

/* How much of the core is asked for while jobs arrive: 1 is all that it can carry. */
static double ask_core(const struct scenario *scenario, const char *policy, struct report *report)
{
    struct policy_set policies;
    struct arrivals arrivals = scenario->arrivals;
    struct crossings crossings = {.fleet = scenario->fleet};
    assert_int_equal(policy_set_parse(policy, &policies, NULL), WEFT_OK);
    assert_true(arrivals_set_rate(&arrivals, RATE_PER_S));
    const struct sim_options options = {
        .fleet = scenario->fleet,
        .catalogue = scenario->catalogue,
        .profile = scenario->profile,
        .policies = &policies,
        .arrivals = &arrivals,
        .jobs = JOBS,
        .warmup = 0.1,
        .seed = 1,
        .row_load_ns = 1000000,
        .row_cache_ns = 100000000,
        .on_record = on_record,
        .context = &crossings,
    };
    struct sim *sim = sim_create(&options);
    sim_run(sim);
    sim_report(sim, report);
    sim_destroy(sim);
    assert_int_equal(report->completed, JOBS);
    const struct fleet_network *network = &scenario->fleet->network;
    return crossings.bytes / ((double)crossings.last_ns * 1e-9) /
           ((double)network->core_bytes_per_s * fleet_rack_count(scenario->fleet));
}

static void blind_placement_asks_for_more_than_the_core_has(ATTR_UNUSED void **state)
{
    static const char *const policies[] = {"fair", "fifo",       "opportunistic",
                                           "po2",  "least-work", "hash"};
    struct scenario *scenario = load();
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        struct report report;
        const double load = ask_core(scenario, policies[i], &report);
        print_message("[racks] %-13s core %.2f\n", policies[i], load);
        assert_true(load > 1);
        assert_false(report.stable);
    }
    scenario_destroy(scenario);
}

static void nona_and_the_expert_leave_the_core_to_others(ATTR_UNUSED void **state)
{
    static const char *const policies[] = {"nona", "expert"};
    struct scenario *scenario = load();
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        struct report report;
        const double load = ask_core(scenario, policies[i], &report);
        print_message("[racks] %-13s core %.2f\n", policies[i], load);
        assert_true(load < 0.3);
        assert_true(report.stable);
    }
    scenario_destroy(scenario);
}

/* What is large stays in a rack, and racks have nearly equal parts of the jobs. */
static void solved_placements_spare_the_core(ATTR_UNUSED void **state)
{
    struct scenario *scenario = load();
    const struct fleet *fleet = scenario->fleet;
    const double rates[] = {67, 67, 67}; /* At which sites become small. */
    const struct program_input input = {
        .catalogue = scenario->catalogue,
        .profile = scenario->profile,
        .fleet = fleet,
        .rates_per_s = rates,
    };
    const struct program_options first = {.restarts = 1};
    const struct program_options all = {0};
    struct program_report report;
    struct mixture *mixture = NULL;
    assert_int_equal(program_solve(&input, &first, &mixture, &report, NULL), WEFT_OK);
    const double even_ns = mixture->mean_ns;
    mixture_destroy(mixture);
    assert_int_equal(program_solve(&input, &all, &mixture, &report, NULL), WEFT_OK);
    assert_true(mixture->mean_ns < 0.98 * even_ns); /* Not all machines for all jobs. */
    assert_true(report.gap < 0.05);
    double parts[4] = {0};
    double core_load = 0;
    for (uint32_t i = 0; i < mixture->workflow_count; i++) {
        const struct mixture_workflow *mixed = &mixture->workflows[i];
        for (uint32_t k = 0; k < mixed->pattern_count; k++) {
            parts[rack_of(fleet, mixture_placement(mixture, i, k)[0])] += mixed->weights[k] / 3;
        }
    }
    for (uint32_t rack = 0; rack < 4; rack++) {
        const double *core = mixture->link_load + (size_t)2 * (fleet->node_count + rack);
        print_message("[racks] rack %u: %.3f of the jobs\n", rack, parts[rack]);
        assert_true(parts[rack] > 0.15 && parts[rack] < 0.35);
        core_load += (core[0] + core[1]) / 8;
    }
    assert_true(core_load < 0.3); /* Room for what is small. */
    mixture_destroy(mixture);
    scenario_destroy(scenario);
}

/* The first rack alone, where each placement passes a site that is small when it is rounded. */
static void placements_outlive_the_sites_they_were_found_on(ATTR_UNUSED void **state)
{
    struct scenario *scenario = load();
    struct fleet *fleet = scenario->fleet;
    fleet->node_count = fleet->network.nodes_per_rack;
    fleet->worker_count = fleet->node_count;
    fleet->network.kind = NETWORK_STAR;
    const double rates[] = {50.0 / 3, 50.0 / 3, 50.0 / 3};
    const struct program_input input = {
        .catalogue = scenario->catalogue,
        .profile = scenario->profile,
        .fleet = fleet,
        .rates_per_s = rates,
    };
    double means_ns[3];
    for (uint32_t i = 0; i < 3; i++) {
        const struct program_options options = {.restarts = i + 1};
        struct mixture *mixture = NULL;
        assert_int_equal(program_solve(&input, &options, &mixture, NULL, NULL), WEFT_OK);
        means_ns[i] = mixture->mean_ns;
        mixture_destroy(mixture);
    }
    print_message(
        "[racks] %.2f ms from 1 start, %.2f from 2, %.2f from 3\n", means_ns[0] / 1e6,
        means_ns[1] / 1e6, means_ns[2] / 1e6);
    assert_true(means_ns[1] < 0.98 * means_ns[0]);
    scenario_destroy(scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blind_placement_asks_for_more_than_the_core_has),
        cmocka_unit_test(nona_and_the_expert_leave_the_core_to_others),
        cmocka_unit_test(solved_placements_spare_the_core),
        cmocka_unit_test(placements_outlive_the_sites_they_were_found_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
