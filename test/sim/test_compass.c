/*
 * compass on the workload of its paper, simulated: where the published rule loses, the
 * corrected one must not. Means over a few seeds, all runs checked to answer every job.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "document/scenario.h"
#include "sim/sim.h"

enum { SEEDS = 3, SETTINGS_MAX = 4 };

struct setup {
    const char *file;
    const char *policy;
    struct scenario_setting settings[SETTINGS_MAX];
    uint64_t failed_max;
};

struct figures {
    double latency_ms;
    double slowdown;
    double hit_rate;
};

static void require(enum weft_status status, const struct weft_error *error)
{
    if (status != WEFT_OK) {
        fail_msg("%s", error->message);
    }
}

static void simulate(
    const struct scenario *scenario, const struct policy_set *set, uint64_t seed,
    struct report *report_out)
{
    const struct sim_options options = {
        .fleet = scenario->fleet,
        .catalogue = scenario->catalogue,
        .profile = scenario->profile,
        .policies = set,
        .arrivals = &scenario->arrivals,
        .jobs = scenario->jobs,
        .warmup = scenario->warmup,
        .seed = seed,
        .row_load_ns = scenario->rows.load_ns,
        .row_cache_ns = scenario->rows.cache_ns,
        .noise = scenario->noise,
        .fault_count = scenario->fault_count,
        .faults = scenario->faults,
    };
    struct sim *sim = sim_create(&options);
    sim_run(sim);
    sim_report(sim, report_out);
    sim_destroy(sim);
}

static struct figures run(const struct setup *setup)
{
    struct weft_error error = {0};
    struct scenario *scenario = NULL;
    struct policy_set set;
    struct figures outcome = {0};
    char path[256];
    (void)snprintf(path, sizeof(path), "scenarios/compass/%s.yaml", setup->file);
    struct scenario_setting settings[SETTINGS_MAX + 1] = {{.key = "jobs", .value = "1500"}};
    uint32_t count = 1;
    for (; count <= SETTINGS_MAX && setup->settings[count - 1].key != NULL; count++) {
        settings[count] = setup->settings[count - 1];
    }
    require(scenario_load_with(path, settings, count, &scenario, &error), &error);
    require(policy_set_parse(setup->policy, &set, &error), &error);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct report report;
        simulate(scenario, &set, seed, &report);
        assert_int_equal(report.refused + report.cancelled, 0);
        assert_in_range(report.failed, 0, setup->failed_max);
        assert_int_equal(report.completed + report.failed, 1500);
        outcome.latency_ms += report.latency_ms.mean / SEEDS;
        outcome.slowdown += report.slowdown.mean / SEEDS;
        outcome.hit_rate += report.cache_hit_rate / SEEDS;
    }
    scenario_destroy(scenario);
    return outcome;
}

/* Mean latency of @policy over that of compass, everything else as in @setup. */
static double times_slower(struct setup setup, const char *policy)
{
    setup.policy = "compass";
    const double own_ms = run(&setup).latency_ms;
    setup.policy = policy;
    return run(&setup).latency_ms / own_ms;
}

#define assert_at_least(value, least)                                                              \
    do {                                                                                           \
        const double value_ = (value);                                                             \
        if (!(value_ >= (least))) {                                                                \
            fail_msg("%s is %.4f, below %.4f", #value, value_, (double)(least));                   \
        }                                                                                          \
    } while (0)

static void models_stay_where_they_are(void **state)
{
    (void)state;
    const struct setup slow = {
        .file = "compass", .policy = "compass", .settings = {{"rate", "1/s"}}};
    const struct setup fast = {
        .file = "compass", .policy = "compass", .settings = {{"rate", "2/s"}}};
    assert_at_least(run(&slow).hit_rate, 0.98);
    assert_at_least(run(&fast).hit_rate, 0.94);
}

static void latency_is_half_of_what_blind_placement_gives(void **state)
{
    (void)state;
    const struct setup setup = {.file = "compass", .settings = {{"rate", "2/s"}}};
    assert_at_least(times_slower(setup, "hash"), 2);
    assert_at_least(times_slower(setup, "heft"), 2);
    assert_at_least(times_slower(setup, "jit"), 1.1);
    assert_at_least(times_slower(setup, "compass:original"), 1.03);
}

static void near_saturation_it_is_still_ahead(void **state)
{
    (void)state;
    const struct setup setup = {.file = "compass", .settings = {{"rate", "4/s"}}};
    assert_at_least(times_slower(setup, "jit"), 1.2);
    assert_at_least(times_slower(setup, "compass:original"), 1.03);
    const struct setup small = {
        .file = "compass", .settings = {{"rate", "4/s"}, {"memory", "8GB"}}};
    assert_at_least(times_slower(small, "compass:original"), 1.05);
}

/* Sixteen branches on two and on eight machines: adjusting them must not undo the plan. */
static void a_wide_fork_stays_balanced(void **state)
{
    (void)state;
    static const struct setup setups[] = {
        {.file = "fork", .settings = {{"workers", "2"}, {"rate", "3/s"}}},
        {.file = "fork", .settings = {{"workers", "8"}, {"rate", "74/s"}}},
    };
    for (uint32_t i = 0; i < sizeof(setups) / sizeof(setups[0]); i++) {
        assert_at_least(times_slower(setups[i], "compass:adjust=0"), 1.0);
        assert_at_least(times_slower(setups[i], "least-work"), 1.0);
    }
}

static void idle_machines_are_used(void **state)
{
    (void)state;
    const struct setup setup = {
        .file = "compass", .settings = {{"rate", "4/s"}, {"workers", "20"}, {"memory", "24GB"}}};
    assert_at_least(times_slower(setup, "hash"), 1.2);
    assert_at_least(times_slower(setup, "jit"), 0.99);
    assert_at_least(times_slower(setup, "compass:original"), 1.08);
}

static void two_kinds_of_devices_are_told_apart(void **state)
{
    (void)state;
    const struct setup setup = {.file = "mixed"};
    assert_at_least(times_slower(setup, "compass:original"), 1.2);
    assert_at_least(times_slower(setup, "jit"), 1.2);
}

static void many_planners_with_old_rows_do_not_herd(void **state)
{
    (void)state;
    const struct setup setup = {
        .file = "compass",
        .settings = {{"rate", "36/s"}, {"workers", "60"}, {"rows.load", "200ms"}}};
    assert_at_least(times_slower(setup, "compass:original"), 1.5);
    assert_at_least(times_slower(setup, "compass:jitter=0"), 1.2);
}

static void adjustment_helps_when_run_times_are_wrong(void **state)
{
    (void)state;
    const struct setup noisy = {.file = "compass", .settings = {{"rate", "2/s"}, {"noise", "99%"}}};
    assert_at_least(times_slower(noisy, "compass:adjust=0"), 1.02);
    const struct setup slow = {.file = "slow"};
    assert_at_least(times_slower(slow, "compass:adjust=0"), 1.02);
}

static void what_was_planned_on_a_lost_worker_is_done_elsewhere(void **state)
{
    (void)state;
    const struct setup setup = {.file = "loss", .policy = "compass", .failed_max = 12};
    assert_at_least(run(&setup).hit_rate, 0.9);
}

/* The nets of an H200, 40 models in memory for ten: what is used often has to stay. */
static void popular_models_stay_where_the_latest_would(void **state)
{
    (void)state;
    static const char *const memories[] = {"750MiB", "1302MiB", "2400MiB"};
    static const char *const files[] = {"../gpu/zipf-0.7", "../gpu/zipf-1", "../gpu/zipf-1.3"};
    for (uint32_t i = 0; i < 9; i++) {
        struct setup setup = {
            files[i / 3], "place=compass,cache=lru", {{"memory", memories[i % 3]}}, 0};
        const struct figures lru = run(&setup);
        setup.policy = "compass";
        const struct figures own = run(&setup);
        assert_at_least(own.hit_rate, lru.hit_rate + 0.03);
        assert_at_least(lru.latency_ms, 1.1 * own.latency_ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_stay_where_they_are),
        cmocka_unit_test(latency_is_half_of_what_blind_placement_gives),
        cmocka_unit_test(near_saturation_it_is_still_ahead),
        cmocka_unit_test(a_wide_fork_stays_balanced),
        cmocka_unit_test(idle_machines_are_used),
        cmocka_unit_test(two_kinds_of_devices_are_told_apart),
        cmocka_unit_test(many_planners_with_old_rows_do_not_herd),
        cmocka_unit_test(adjustment_helps_when_run_times_are_wrong),
        cmocka_unit_test(what_was_planned_on_a_lost_worker_is_done_elsewhere),
        cmocka_unit_test(popular_models_stay_where_the_latest_would),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
