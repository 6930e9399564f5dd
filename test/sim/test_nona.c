/*
 * Nona's own examples, and what closed forms say of them: simulated with jobs that draw their
 * placements, solved for or fixed by hand. The figures are those of papers: Nona, sections 1
 * to 6.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "document/scenario.h"
#include "mixture/mixture.h"
#include "mixture/program.h"
#include "sim/sim.h"

enum { TASKS = 4, SERVERS = 80 };

static struct scenario *load(const char *name)
{
    char path[128];
    struct scenario *scenario = NULL;
    struct weft_error error = {0};
    (void)snprintf(path, sizeof(path), "scenarios/nona/%s.yaml", name);
    if (scenario_load(path, &scenario, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    return scenario;
}

/* Run @scenario at @rate_per_s, with what else @options say. */
static struct report run(
    const struct scenario *scenario, const char *policy, double rate_per_s,
    struct sim_options options)
{
    struct policy_set policies;
    struct arrivals arrivals = scenario->arrivals;
    struct report report;
    assert_int_equal(policy_set_parse(policy, &policies, NULL), WEFT_OK);
    assert_true(arrivals_set_rate(&arrivals, rate_per_s));
    options.fleet = scenario->fleet;
    options.catalogue = scenario->catalogue;
    options.profile = scenario->profile;
    options.policies = &policies;
    options.arrivals = &arrivals;
    options.warmup = 0.1;
    options.seed = 1;
    struct sim *sim = sim_create(&options);
    sim_run(sim);
    sim_report(sim, &report);
    sim_destroy(sim);
    return report;
}

/* The mean time of @jobs jobs at @rate_per_s, in milliseconds. */
static double simulate(
    const struct scenario *scenario, const char *policy, const struct mixture *mixture,
    double rate_per_s, uint64_t jobs)
{
    const struct sim_options options = {
        .mixture = mixture,
        .jobs = jobs,
        .row_load_ns = 1000000, /* State-aware policies are to have something to be aware of. */
        .row_cache_ns = 100000000,
    };
    const struct report report = run(scenario, policy, rate_per_s, options);
    assert_int_equal(report.completed, jobs);
    return report.latency_ms.mean;
}

static void assert_near(const char *what, double value, double expected, double share)
{
    if (fabs(value - expected) > share * expected) {
        fail_msg("%s: %g, expected %g", what, value, expected);
    }
}

static void add(struct mixture *mixture, uint32_t workflow, const uint16_t *workers, double weight)
{
    assert_int_equal(mixture_add_pattern(mixture, workflow, workers, weight), WEFT_OK);
}

static void seal(struct mixture *mixture)
{
    assert_int_equal(mixture_seal(mixture, NULL), WEFT_OK);
}

/* Diamonds on every server alike, a part of them with the light branch on the next server. */
static struct mixture *diamonds(double split, double rate_per_s)
{
    struct mixture *mixture = mixture_create(1, SERVERS, 2 * SERVERS + 1);
    mixture_set_workflow(mixture, 0, TASKS, rate_per_s);
    for (uint16_t i = 0; i < SERVERS; i++) {
        const uint16_t next = (uint16_t)((i + 1) % SERVERS);
        add(mixture, 0, (uint16_t[]){i, i, i, i}, 1 - split);
        add(mixture, 0, (uint16_t[]){i, next, i, i}, split);
    }
    seal(mixture);
    return mixture;
}

/* Section 3.2: on one server, with the heavy branch sent away, and with the light one. */
static void an_idle_diamond_takes_22_32_or_14_ms(ATTR_UNUSED void **state)
{
    static const struct {
        uint16_t workers[TASKS];
        double expected_ms;
    } cases[] = {{{1, 1, 1, 1}, 22}, {{0, 0, 1, 0}, 32}, {{0, 1, 0, 0}, 14}};
    struct scenario *scenario = load("diamond");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mixture *mixture = mixture_create(1, 2, 4);
        mixture_set_workflow(mixture, 0, TASKS, /* rate_per_s */ 0.001);
        add(mixture, 0, cases[i].workers, 1);
        seal(mixture);
        assert_near(
            "diamond", simulate(scenario, "nona", mixture, 0.001, 50), cases[i].expected_ms, 1e-6);
        mixture_destroy(mixture);
    }
    /* What is solved for is the best of them. */
    assert_near("solved", simulate(scenario, "nona", NULL, 0.001, 50), 14, 1e-6);
    scenario_destroy(scenario);
}

/* Section 1.5: together on one server, tasks are one visit, and the formula is exact. */
static void tasks_that_stay_together_wait_once(ATTR_UNUSED void **state)
{
    static const struct {
        double load;
        double expected_ms;
        double share;
    } rows[] = {
        {0.1, 23.2, 0.01},
        {0.3, 26.7, 0.01},
        {0.5, 33.0, 0.02},
        {0.7, 47.7, 0.03},
        {0.8, 66.2, 0.05}};
    struct scenario *scenario = load("one-link");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const double rate_per_s = rows[i].load * SERVERS / 0.022;
        struct mixture *mixture = diamonds(/* split */ 0, rate_per_s);
        const double mean_ms = simulate(scenario, "nona:drift=0", mixture, rate_per_s, 30000);
        assert_near("merged", mean_ms, rows[i].expected_ms, rows[i].share);
        mixture_destroy(mixture);
    }
    scenario_destroy(scenario);
}

/* Section 3.3: the best part to split is 1 / (3 lambda), lambda in jobs a millisecond. */
static void the_optimum_lies_between_the_placements(ATTR_UNUSED void **state)
{
    static const double parts[] = {0, 0.3, 0.45, 0.5, 0.556, 0.65, 0.75};
    struct scenario *scenario = load("one-link");
    double best_ms = (double)INFINITY;
    double best = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct mixture *mixture = diamonds(parts[i], 600);
        const double mean_ms = simulate(scenario, "nona:drift=0", mixture, 600, 30000);
        if (mean_ms < best_ms) {
            best_ms = mean_ms;
            best = parts[i];
        }
        mixture_destroy(mixture);
    }
    assert_true(best >= 0.45 && best <= 0.6);
    const double solved_ms = simulate(scenario, "nona", NULL, 600, 30000);
    assert_true(solved_ms < 1.02 * best_ms);
    assert_near("solved", solved_ms, 20.92, 0.02);
    scenario_destroy(scenario);
}

/* Section 1.4: every server for all, or 10, 20 and 50 for tasks of 2, 8 and 60 ms. */
static struct mixture *sizes(bool dedicated, double rate_per_s)
{
    static const uint32_t first[] = {0, 10, 30, SERVERS};
    struct mixture *mixture = mixture_create(3, SERVERS, 2 * SERVERS);
    for (uint32_t workflow = 0; workflow < 3; workflow++) {
        static const double mix[] = {0.6, 0.3, 0.1};
        mixture_set_workflow(mixture, workflow, 1, rate_per_s * mix[workflow]);
        const uint32_t from = dedicated ? first[workflow] : 0;
        const uint32_t to = dedicated ? first[workflow + 1] : SERVERS;
        for (uint32_t i = from; i < to; i++) {
            add(mixture, workflow, (uint16_t[]){(uint16_t)i}, 1);
        }
    }
    seal(mixture);
    return mixture;
}

static void short_tasks_are_kept_from_long_ones(ATTR_UNUSED void **state)
{
    static const struct {
        double load;
        double uniform_ms;
        double dedicated_ms;
        double share;
    } rows[] = {{0.5, 29.5, 14.40, 0.05}, {0.7, 56.0, 20.80, 0.06}, {0.8, 89.1, 28.80, 0.1}};
    struct scenario *scenario = load("sizes");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const double rate_per_s = rows[i].load * SERVERS / 0.0096;
        struct mixture *uniform = sizes(/* dedicated */ false, rate_per_s);
        struct mixture *dedicated = sizes(/* dedicated */ true, rate_per_s);
        const double solved_ms = simulate(scenario, "nona:drift=0", NULL, rate_per_s, 100000);
        assert_near(
            "uniform", simulate(scenario, "nona:drift=0", uniform, rate_per_s, 100000),
            rows[i].uniform_ms, rows[i].share);
        assert_near(
            "dedicated", simulate(scenario, "nona:drift=0", dedicated, rate_per_s, 100000),
            rows[i].dedicated_ms, rows[i].share);
        assert_near("solved", solved_ms, rows[i].dedicated_ms, rows[i].share);
        mixture_destroy(uniform);
        mixture_destroy(dedicated);
    }
    scenario_destroy(scenario);
}

/* The mean time of jobs: in the first second all servers are there, and then twelve fewer. */
static double simulate_loss(
    const struct scenario *scenario, const char *policy, const struct mixture *mixture)
{
    enum { FIRST = 10, LOST = 12 }; /* Of those for middle tasks. */
    struct fault faults[LOST];
    for (uint32_t i = 0; i < LOST; i++) {
        faults[i] = (struct fault){.at_ns = 1000000000, .kind = FAULT_CRASH, .victim = FIRST + i};
    }
    const struct sim_options options = {
        .mixture = mixture,
        .faults = faults,
        .fault_count = LOST,
        .jobs = 60000,
    };
    return run(scenario, policy, /* rate_per_s */ 5000, options).latency_ms.mean;
}

/* With the plan for all servers the queues of those that are left for middle tasks grow for ever.
 */
static void lost_servers_are_planned_without(ATTR_UNUSED void **state)
{
    struct scenario *scenario = load("sizes");
    struct mixture *mixture = sizes(/* dedicated */ true, /* rate_per_s */ 5000);
    const double mean_ms = simulate_loss(scenario, "nona", mixture);
    const double without_ms = simulate_loss(scenario, "nona:drift=0", mixture);
    print_message("[lost] %g ms, %g with the plan of the start\n", mean_ms, without_ms);
    assert_true(mean_ms > 15 && mean_ms < 60); /* A second of loss and verdict is in it. */
    assert_true(without_ms > 2 * mean_ms);
    mixture_destroy(mixture);
    scenario_destroy(scenario);
}

/* Section 5: no policy is below 22 - 8 min(1, 1 / (2 lambda)), whatever it looks at. */
static void no_policy_is_below_the_bound(ATTR_UNUSED void **state)
{
    static const char *const policies[] = {
        "nona", "expert", "expert:split=2", "fair", "fifo",    "opportunistic",
        "po2",  "hash",   "least-work",     "heft", "compass",
    };
    struct scenario *scenario = load("one-link");
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        for (double rate_per_ms = 0.05; rate_per_ms < 0.7; rate_per_ms += 0.55) {
            const double split = 1 / (2 * rate_per_ms) < 1 ? 1 / (2 * rate_per_ms) : 1;
            const double bound_ms = 22 - 8 * split;
            const double mean_ms = simulate(scenario, policies[i], NULL, 1000 * rate_per_ms, 2000);
            if (mean_ms < bound_ms) {
                fail_msg("%s: %g is below %g", policies[i], mean_ms, bound_ms);
            }
        }
    }
    scenario_destroy(scenario);
}

/* The five networks, at a load at which waiting counts. */
static void networks_take_what_was_predicted(ATTR_UNUSED void **state)
{
    struct scenario *scenario = load("nona");
    const double mean_ms = simulate(scenario, "nona:drift=0", NULL, 2121, 20000);
    assert_near("at a load of 0.7", mean_ms, 54.9, 0.1);
    scenario_destroy(scenario);
}

/* Combs with their trunks on every server alike, and the branches on the next three. */
static struct mixture *combs(double rate_per_s)
{
    enum { COMB_TASKS = 10, COMB_SERVERS = 8 };
    struct mixture *mixture = mixture_create(1, COMB_SERVERS, 2 * COMB_SERVERS);
    mixture_set_workflow(mixture, 0, COMB_TASKS, rate_per_s);
    for (uint32_t i = 0; i < COMB_SERVERS; i++) {
        uint16_t workers[COMB_TASKS];
        for (uint32_t task = 0; task < COMB_TASKS; task++) {
            const uint32_t away = task % 3 == 2 ? task / 3 + 1 : 0;
            workers[task] = (uint16_t)((i + away) % COMB_SERVERS);
        }
        add(mixture, 0, workers, 1);
    }
    seal(mixture);
    return mixture;
}

/* A job comes back to its server three times: late or not, ahead of those who wait. */
static void who_comes_back_goes_ahead_as_predicted(ATTR_UNUSED void **state)
{
    static const struct {
        double load;
        double share;
    } rows[] = {{0.3, 0.05}, {0.5, 0.1}, {0.7, 0.1}, {0.85, 0.2}};
    struct scenario *scenario = load("comb");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const double rate_per_s = rows[i].load * 8 / 0.057;
        const struct program_input input = {
            .catalogue = scenario->catalogue,
            .profile = scenario->profile,
            .fleet = scenario->fleet,
            .rates_per_s = &rate_per_s,
        };
        const struct program_options options = {0};
        struct program_report report;
        struct mixture *mixture = combs(rate_per_s);
        assert_int_equal(program_predict(&input, &options, mixture, &report, NULL), WEFT_OK);
        const double mean_ms = simulate(scenario, "nona:drift=0", mixture, rate_per_s, 20000);
        print_message(
            "[comb] %g: %g ms, predicted %g\n", rows[i].load, mean_ms, report.mean_ns / 1e6);
        assert_near("comb", report.mean_ns / 1e6, mean_ms, rows[i].share);
        mixture_destroy(mixture);
    }
    scenario_destroy(scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_diamond_takes_22_32_or_14_ms),
        cmocka_unit_test(tasks_that_stay_together_wait_once),
        cmocka_unit_test(the_optimum_lies_between_the_placements),
        cmocka_unit_test(short_tasks_are_kept_from_long_ones),
        cmocka_unit_test(lost_servers_are_planned_without),
        cmocka_unit_test(no_policy_is_below_the_bound),
        cmocka_unit_test(who_comes_back_goes_ahead_as_predicted),
        cmocka_unit_test(networks_take_what_was_predicted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
