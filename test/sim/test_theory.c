/*
 * The simulator against queueing theory: what is known in closed form must come out.
 *
 * Every mean has intervals from batch means. None of the intervals of 99.9 % may miss, and of
 * those of 95 % no more than chance explains: with other seeds a right simulator fails the
 * first once in twenty runs of this test, the second once in a hundred. Where there is a
 * recursion for the same arrivals, it has to agree to the nanosecond, whatever the seed.
 * Lines with [theory] show all comparisons.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "profile/draw.h"
#include "theory.h"

#define SERVICE_NS  MS(10)
#define SERVICE_MS  10.0
#define WARMUP_PART 10 /* One in so many jobs is left out: the first ones find no queue. */

static uint32_t comparisons;
static uint32_t misses; /* Of intervals of 95 %. */

static void compare(const char *what, double load, double theory, struct interval interval)
{
    const double off = fabs(interval.mean - theory);
    print_message(
        "[theory] %-26s load %.2f: %9.4f, simulated %9.4f +- %.4f\n", what, load, theory,
        interval.mean, interval.half_95);
    comparisons++;
    misses += off > interval.half_95 ? 1 : 0;
    assert_true(off <= interval.half_999);
}

/* Pollaczek and Khinchine: the mean wait where run times have this variation. */
static double wait_ms(double load, double service_ms, double variation)
{
    return load * service_ms * (1 + variation * variation) / (2 * (1 - load));
}

/*
 * The standard error of the mean wait of @count jobs. For M/M/1 it is known exactly
 * (Whitt 1989, Planning queueing simulations); elsewhere its square goes with 1 + variation^2,
 * within a tenth. A run that has met no long queue knows neither the mean nor how far it is
 * from it: intervals from batches alone would miss 14 times in 100 at a load of 0.95.
 */
static double wait_error_ms(double load, double variation, uint64_t count)
{
    const double numerator = 2 + load * (5 - load * (4 - load));
    const double relative = numerator / (load * (1 - load) * (1 - load)) / (double)count;
    const double expected_ms = wait_ms(load, SERVICE_MS, variation);
    return expected_ms * sqrt(relative * (1 + variation * variation) / 2);
}

/* Waits after the warm-up, in milliseconds. The caller frees them. */
static double *waits_of(const struct theory *theory, uint64_t *count_out)
{
    const uint64_t first = theory->arrived / WARMUP_PART;
    double *waits = calloc(theory->arrived, sizeof(double));
    for (uint64_t i = first; i < theory->arrived; i++) {
        waits[i - first] = (double)(theory->latencies_ns[i] - theory->runs_ns[i]) / 1e6;
    }
    *count_out = theory->arrived - first;
    return waits;
}

/* Lindley: each job finds what the one before it left, less what was done until it came. */
static void expect_lindley(const struct theory *theory)
{
    int64_t free_at_ns = 0;
    for (uint64_t i = 0; i < theory->arrived; i++) {
        const int64_t at_ns = theory->arrived_ns[i];
        free_at_ns = (free_at_ns > at_ns ? free_at_ns : at_ns) + theory->runs_ns[i];
        assert_int_equal(theory->latencies_ns[i], free_at_ns - at_ns);
    }
}

/*
 * The same recursion far beyond what was simulated, on the same streams: the start must be
 * the simulated run, to the nanosecond. Long queues need it: at a load of 0.95 a hundred
 * thousand jobs see the queue fill and empty only a few dozen times.
 */
static struct interval long_waits(const struct theory *theory, uint64_t jobs)
{
    struct rng services = rng_stream(theory->options.seed, RNG_SERVICE, 0);
    const struct config whole = {.batch = 1};
    const struct estimate estimate = profile_run(theory->profile, 0, 0, 1, whole);
    struct arrival_stream stream;
    struct arrival arrival;
    int64_t free_at_ns = 0;
    double *waits = calloc(jobs, sizeof(double));
    arrival_stream_init(&stream, &theory->arrivals, theory->catalogue, theory->options.seed);
    for (uint64_t i = 0; i < jobs; i++) {
        assert_true(arrival_stream_next(&stream, &arrival));
        const int64_t run_ns = (int64_t)profile_draw_ns(&estimate, /* noise */ 0, &services);
        const int64_t start_ns = free_at_ns > arrival.at_ns ? free_at_ns : arrival.at_ns;
        free_at_ns = start_ns + run_ns;
        waits[i] = (double)(start_ns - arrival.at_ns) / 1e6;
        if (i < theory->arrived) {
            assert_int_equal(theory->latencies_ns[i], free_at_ns - arrival.at_ns);
        }
    }
    const uint64_t first = jobs / WARMUP_PART;
    const struct interval interval = theory_mean(waits + first, jobs - first);
    free(waits);
    return interval;
}

static const double loads[] = {0.3, 0.5, 0.7, 0.8, 0.9, 0.95};
static const uint64_t load_jobs[] = {10000, 10000, 20000, 30000, 40000, 40000};
static const uint64_t long_jobs[] = {200000, 200000, 200000, 200000, 500000, 500000};

enum { LOADS = sizeof(loads) / sizeof(loads[0]) };

/* One worker whose run times are of @distribution with @variation. */
static void check_single(
    const char *name, enum profile_distribution distribution, double variation, uint64_t seed)
{
    for (uint32_t i = 0; i < LOADS; i++) {
        struct theory theory;
        struct weft_error error;
        uint64_t count;
        theory_open(&theory, /* node_count */ 1, /* worker_count */ 1);
        struct profile_curve *curve = theory_model(&theory, "a", SERVICE_NS);
        curve->distribution = distribution;
        curve->points[0].sd_ns = (int64_t)(variation * (double)SERVICE_NS);
        theory_single(&theory, "a");
        assert_int_equal(policy_set_parse("least-work", &theory.policies, &error), WEFT_OK);
        theory_run(&theory, loads[i] * 1e3 / SERVICE_MS, load_jobs[i], seed + i);
        assert_true(theory.report.stable);
        expect_lindley(&theory);
        double *waits = waits_of(&theory, &count);
        const double expected_ms = wait_ms(loads[i], SERVICE_MS, variation);
        const double error_ms = wait_error_ms(loads[i], variation, count);
        compare(name, loads[i], expected_ms, theory_at_least(theory_mean(waits, count), error_ms));
        const double long_error_ms = wait_error_ms(loads[i], variation, long_jobs[i]);
        const struct interval longer =
            theory_at_least(long_waits(&theory, long_jobs[i]), long_error_ms);
        compare("  the same recursion, long", loads[i], expected_ms, longer);
        assert_true(longer.half_95 < expected_ms / 3); /* It says something. */
        free(waits);
        theory_close(&theory);
    }
}

static void one_worker_waits_as_pollaczek_and_khinchine_say(ATTR_UNUSED void **state)
{
    check_single("M/M/1", DISTRIBUTION_EXPONENTIAL, 1, /* seed */ 100);
    check_single("M/D/1", DISTRIBUTION_DETERMINISTIC, 0, /* seed */ 200);
    check_single("M/G/1, gamma of 0.5", DISTRIBUTION_GAMMA, 0.5, /* seed */ 300);
    check_single("M/G/1, gamma of 2", DISTRIBUTION_GAMMA, 2, /* seed */ 400);
}

#define PATIENCE_NS MS(30)

/*
 * The share of clients that hang up in M/M/1, where each one waits or is served for an
 * exponential time at most: with n of them there, one leaves by itself at n times the rate.
 */
static double share_of_leavers(double load)
{
    const double rate = load / SERVICE_MS;
    const double leaving = 1e6 / (double)PATIENCE_NS;
    double weight = 1;
    double weights = 1;
    double present = 0;
    for (uint32_t n = 1; n < 10000; n++) {
        weight *= rate / (1 / SERVICE_MS + n * leaving);
        weights += weight;
        present += n * weight;
    }
    return leaving * present / weights / rate;
}

/*
 * Lindley with clients that leave: who would be served too late is not there any more, who is
 * served for too long leaves in between. Returns 1 for each that left; the caller frees them.
 */
static double *expect_leavers(const struct theory *theory)
{
    struct rng services = rng_stream(theory->options.seed, RNG_SERVICE, 0);
    struct rng patience = rng_stream(theory->options.seed, RNG_PATIENCE, 0);
    const struct config whole = {.batch = 1};
    const struct estimate estimate = profile_run(theory->profile, 0, 0, 1, whole);
    double *leavers = calloc(theory->arrived, sizeof(double));
    int64_t free_at_ns = 0;
    for (uint64_t i = 0; i < theory->arrived; i++) {
        const int64_t at_ns = theory->arrived_ns[i];
        const int64_t leaves_at_ns =
            at_ns + arrivals_draw_patience_ns(&theory->arrivals, &patience);
        const int64_t start_ns = free_at_ns > at_ns ? free_at_ns : at_ns;
        int64_t end_ns = leaves_at_ns;
        if (start_ns < leaves_at_ns) {
            end_ns = start_ns + (int64_t)profile_draw_ns(&estimate, /* noise */ 0, &services);
            end_ns = end_ns < leaves_at_ns ? end_ns : leaves_at_ns;
            free_at_ns = end_ns;
        }
        leavers[i] = end_ns == leaves_at_ns ? 1 : 0;
        assert_int_equal(theory->latencies_ns[i], end_ns - at_ns);
    }
    return leavers;
}

static void clients_hang_up_as_often_as_theory_says(ATTR_UNUSED void **state)
{
    static const double busy[] = {0.5, 0.9, 1.5}; /* Too many come, and nothing grows. */
    for (uint32_t i = 0; i < 2 * sizeof(busy) / sizeof(busy[0]); i++) {
        const double load = busy[i / 2];
        const uint64_t jobs = 20000;
        struct theory theory;
        struct weft_error error;
        theory_open(&theory, /* node_count */ 1, /* worker_count */ 1);
        theory_model(&theory, "a", SERVICE_NS)->distribution = DISTRIBUTION_EXPONENTIAL;
        theory_single(&theory, "a");
        theory.arrivals.patience_ns = PATIENCE_NS;
        theory.arrivals.patience_is_mean = i % 2 == 0;
        assert_int_equal(policy_set_parse("least-work", &theory.policies, &error), WEFT_OK);
        theory_run(&theory, load * 1e3 / SERVICE_MS, jobs, /* seed */ 900 + i);
        double *leavers = expect_leavers(&theory);
        const struct interval share = theory_mean(leavers, jobs);
        assert_true(fabs(share.mean * (double)jobs - (double)theory.report.cancelled) < 0.5);
        if (theory.arrivals.patience_is_mean) {
            compare("share that hangs up", load, share_of_leavers(load), share);
        }
        free(leavers);
        theory_close(&theory);
    }
}

/*
 * The mean wait in M/D/c, in services: Crommelin 1932. With a = offered load,
 * sum over i of  P(Poisson(ia) >= ic)  -  (c / a) P(Poisson(ia) > ic).
 */
static double crommelin(double load, uint32_t servers)
{
    const double offered = load * servers;
    double sum = 0;
    for (uint32_t i = 1; i < 20000; i++) {
        const double mean = i * offered;
        const uint32_t from = i * servers;
        double term = exp(from * log(mean) - mean - lgamma(from + 1.0)); /* Of exactly from. */
        const double at = term;
        double above = 0;
        for (uint32_t k = from + 1; term > 1e-18 * (at + above); k++) {
            term *= mean / k;
            above += term;
        }
        const double part = at + above - above / load;
        sum += part;
        if (part < 1e-13 * sum) {
            break;
        }
    }
    return sum;
}

/* The wait before the least loaded of @count workers: Kiefer and Wolfowitz. */
static void expect_kiefer_wolfowitz(const struct theory *theory, uint32_t count)
{
    int64_t free_at_ns[8] = {0};
    for (uint64_t i = 0; i < theory->arrived; i++) {
        const int64_t at_ns = theory->arrived_ns[i];
        uint32_t best = 0;
        for (uint32_t k = 1; k < count; k++) {
            best = free_at_ns[k] < free_at_ns[best] ? k : best;
        }
        const int64_t start_ns = free_at_ns[best] > at_ns ? free_at_ns[best] : at_ns;
        free_at_ns[best] = start_ns + theory->runs_ns[i];
        assert_int_equal(theory->latencies_ns[i], free_at_ns[best] - at_ns);
    }
}

/* Rows of a node's own workers are fresh: least-work is then one queue before all of them. */
static void several_workers_of_one_node_are_one_queue(ATTR_UNUSED void **state)
{
    static const uint64_t jobs[] = {0, 20000, 0, 30000, 40000, 0};
    for (uint32_t i = 0; i < LOADS; i++) {
        assert_true(fabs(crommelin(loads[i], 1) - wait_ms(loads[i], 1, 0)) < 1e-9);
        for (uint32_t workers = 2; workers <= 8 && jobs[i] > 0; workers *= 2) {
            static const char *const names[] = {"", "", "M/D/2", "", "M/D/4", "", "", "", "M/D/8"};
            struct theory theory;
            struct weft_error error;
            uint64_t count;
            theory_open(&theory, /* node_count */ 1, workers);
            (void)theory_model(&theory, "a", SERVICE_NS);
            theory_single(&theory, "a");
            assert_int_equal(policy_set_parse("least-work", &theory.policies, &error), WEFT_OK);
            theory_run(&theory, loads[i] * workers * 1e3 / SERVICE_MS, jobs[i], 500 + workers + i);
            expect_kiefer_wolfowitz(&theory, workers);
            double *waits = waits_of(&theory, &count);
            compare(
                names[workers], loads[i], SERVICE_MS * crommelin(loads[i], workers),
                theory_mean(waits, count));
            free(waits);
            theory_close(&theory);
        }
    }
}

/* If each of the intervals misses in one of twenty cases, this many have a chance of 1 %. */
static void no_more_intervals_miss_than_chance_explains(ATTR_UNUSED void **state)
{
    double below = 0;
    double term = pow(0.95, comparisons);
    uint32_t allowed = 0;
    while (below + term < 0.99) {
        below += term;
        allowed++;
        term *= (double)(comparisons - allowed + 1) / allowed * 0.05 / 0.95;
    }
    print_message(
        "[theory] %u of %u intervals of 95 %% miss; %u may\n", misses, comparisons, allowed);
    assert_true(comparisons > 30);
    assert_true(misses <= allowed);
}

/*
 * A diamond whose jobs are placed by hand: a, c and d of a job, or all of it, where it
 * arrives; b, or c, on another machine. A job that arrives comes to a machine at random.
 */
enum remote { REMOTE_NONE, REMOTE_B = 1, REMOTE_C = 2 }; /* The number of the task. */

enum { SERVERS = 80 };

static struct hand {
    enum remote remote;
    int64_t free_at_ns[SERVERS]; /* If each machine ran what it was given, as it came. */
    uint64_t placed;
    double *controls; /* By arrival: the waits of a job if it were so. May be NULL. */
} hand;

/* How long a job of @work_ns that comes to @worker now would wait, if that were all there is. */
static double wait_at(uint32_t worker, int64_t now_ns, int64_t work_ns)
{
    int64_t *free_at_ns = &hand.free_at_ns[worker];
    const int64_t start_ns = *free_at_ns > now_ns ? *free_at_ns : now_ns;
    *free_at_ns = start_ns + work_ns;
    return (double)(start_ns - now_ns) / 1e6;
}

static void place_by_hand(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out)
{
    const uint32_t worker_count = input->view->fleet->worker_count;
    const uint32_t home = job->ingress;
    uint32_t away = rng_below(input->rng, worker_count - 1);
    away += away >= home ? 1 : 0;
    for (uint32_t i = 0; i < job->graph->task_count; i++) {
        placement_out[i] = (uint16_t)home;
    }
    if (hand.remote != REMOTE_NONE) {
        placement_out[hand.remote] = (uint16_t)away;
    }
    if (hand.controls == NULL) {
        return;
    }
    const bool split = hand.remote == REMOTE_B;
    double waits_ms = wait_at(home, input->view->now_ns, split ? MS(14) : MS(22));
    if (split) {
        waits_ms += wait_at(away, input->view->now_ns, MS(8));
    }
    hand.controls[hand.placed] = waits_ms;
    hand.placed++;
}

/* What goes on with a job of this worker is not queued again. Jobs that come are. */
static int64_t order_merged(const struct policy_input *input, const struct ready_facts *task)
{
    return task->continues ? 0 : input->view->now_ns;
}

static const struct policy by_hand = {.name = "by-hand", .place_job = place_by_hand};
static const struct policy by_hand_merged = {
    .name = "by-hand-merged",
    .place_job = place_by_hand,
    .order = order_merged,
};

/* Compute 2, 8, 10 and 2 ms; transfers of 1, 9, 1 and 9 ms times @scale, on one link for all. */
static void open_diamond(struct theory *theory, uint32_t node_count, double scale)
{
    const uint64_t light = (uint64_t)(1e6 * scale);
    const uint64_t bytes[4] = {light, 9 * light, light, 9 * light};
    theory_open(theory, node_count, /* worker_count */ 1);
    theory->fleet->network.kind = NETWORK_BOTTLENECK;
    theory->fleet->network.core_bytes_per_s = 1000000000;
    (void)theory_model(theory, "a", MS(2));
    (void)theory_model(theory, "b", MS(8));
    (void)theory_model(theory, "c", MS(10));
    (void)theory_model(theory, "d", MS(2));
    theory_diamond(theory, bytes);
}

static void an_idle_diamond_takes_22_32_or_14_ms(ATTR_UNUSED void **state)
{
    static const int64_t expected_ns[] = {
        [REMOTE_NONE] = MS(22), [REMOTE_B] = MS(14), [REMOTE_C] = MS(32)};
    for (uint32_t i = 0; i < 6; i++) {
        const uint32_t remote = i / 2;
        struct theory theory;
        open_diamond(&theory, /* node_count */ 2, /* scale */ 1);
        if (i % 2 == 1) { /* A link for each machine makes no difference to a job alone. */
            theory.fleet->network.kind = NETWORK_STAR;
            theory.fleet->network.link_bytes_per_s = theory.fleet->network.core_bytes_per_s;
        }
        hand = (struct hand){.remote = (enum remote)remote};
        policy_set_single(&by_hand, &theory.policies);
        theory_run(&theory, /* rate_per_s */ 0.01, /* jobs */ 20, /* seed */ 1);
        for (uint64_t job = 0; job < theory.arrived; job++) {
            assert_int_equal(theory.latencies_ns[job], expected_ns[remote]);
        }
        theory_close(&theory);
    }
}

struct measured {
    double load;
    uint64_t jobs;
    double local_ms;  /* Every task queues again, */
    double merged_ms; /* or none that goes on where it was; */
    double split_ms;  /* or b runs elsewhere. */
};

/* Measured with a simulator of its own: 80 servers, one link, transfers of 2 % of those above. */
static const struct measured rows[] = {
    {0.1, 6000, 23.6, 23.2, 15.6},  {0.3, 6000, 28.6, 26.7, 20.1},
    {0.5, 10000, 37.7, 33.0, 27.9}, {0.7, 20000, 59.7, 47.7, 45.3},
    {0.8, 20000, 87.4, 66.2, 66.6}, {0.9, 25000, 168.9, 120.6, 129.6},
};

static void check_row(const char *name, const struct measured *row, double expected_ms)
{
    const bool split = hand.remote == REMOTE_B;
    const struct policy *policy = strcmp(name, "merged") == 0 ? &by_hand_merged : &by_hand;
    const double mean_wait_ms =
        split ? 2 * row->load * 130 / (22 * (1 - row->load)) : wait_ms(row->load, 22, 0);
    struct theory theory;
    open_diamond(&theory, SERVERS, /* scale */ 0.02);
    hand = (struct hand){.remote = hand.remote, .controls = calloc(row->jobs, sizeof(double))};
    policy_set_single(policy, &theory.policies);
    theory_run(&theory, row->load * SERVERS * 1e3 / 22, row->jobs, /* seed */ 7);
    const uint64_t first = row->jobs / WARMUP_PART;
    double *latencies_ms = calloc(row->jobs, sizeof(double));
    for (uint64_t i = 0; i < row->jobs; i++) {
        latencies_ms[i] = (double)theory.latencies_ns[i] / 1e6;
        /* A merged job is one visit to its machine: it waits like a single task of 22 ms. */
        assert_true(
            policy != &by_hand_merged || fabs(latencies_ms[i] - 22 - hand.controls[i]) < 1e-6);
    }
    const struct interval interval = theory_corrected_mean(
        latencies_ms + first, hand.controls + first, row->jobs - first, mean_wait_ms);
    print_message(
        "[theory] diamond, %-16s load %.2f: %9.4f ms, simulated %9.4f +- %.4f (%+.2f %%)\n", name,
        row->load, expected_ms, interval.mean, interval.half_95,
        100 * (interval.mean / expected_ms - 1));
    assert_true(fabs(interval.mean - expected_ms) <= 0.02 * expected_ms);
    free(latencies_ms);
    free(hand.controls);
    theory_close(&theory);
}

static void loaded_diamonds_take_what_another_simulator_measured(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        hand.remote = REMOTE_NONE;
        check_row("local", &rows[i], rows[i].local_ms);
        check_row("merged", &rows[i], rows[i].merged_ms);
        hand.remote = REMOTE_B;
        check_row("split", &rows[i], rows[i].split_ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_diamond_takes_22_32_or_14_ms),
        cmocka_unit_test(loaded_diamonds_take_what_another_simulator_measured),
        cmocka_unit_test(one_worker_waits_as_pollaczek_and_khinchine_say),
        cmocka_unit_test(several_workers_of_one_node_are_one_queue),
        cmocka_unit_test(clients_hang_up_as_often_as_theory_says),
        cmocka_unit_test(no_more_intervals_miss_than_chance_explains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
