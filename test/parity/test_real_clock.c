/*
 * What the simulator predicts is what a clock on the wall measures, within 5 %.
 *
 * Machines that run tests are busy: a try may fail because of the neighbours, three in a
 * row may not.
 */
#include <math.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "parity/workload.h"
#include "runtime/player.h"
#include "runtime/runtime.h"
#include "sim/sim.h"

enum { JOBS = 100, TRIES = 3 };

#define TOLERANCE 0.05
#define STARVED_MS_MAX                                                                             \
    100.0 /* More waiting for a processor than this decides how long jobs take. */

static const struct workload_options cluster = {
    .node_count = 3,
    .workers_per_node = 1,
    .run_ns = 10 * MS,
};

static const struct arrivals arrivals = {.rate_per_s = 20, .mix = {2, 1, 1}};

static double simulated_mean_ms(
    const struct workload *workload, const struct policy_set *policies, uint64_t seed)
{
    const struct sim_options options = {
        .fleet = workload->fleet,
        .catalogue = workload->catalogue,
        .profile = workload->profile,
        .policies = policies,
        .arrivals = &arrivals,
        .jobs = JOBS,
        .seed = seed,
        .row_load_ns = 10 * MS,
        .row_cache_ns = 50 * MS,
    };
    struct report report;
    struct sim *sim = sim_create(&options);
    sim_run(sim);
    sim_report(sim, &report);
    sim_destroy(sim);
    assert_int_equal(report.completed, JOBS);
    return report.latency_ms.mean;
}

static void add(void *context, const struct record *record)
{
    summary_add(context, record);
}

static void stop(void *context)
{
    runtime_stop(*(struct runtime **)context);
}

static double served_mean_ms(
    const struct workload *workload, const struct policy_set *policies, uint64_t seed)
{
    const struct summary_options summary_options = {
        .fleet = workload->fleet,
        .catalogue = workload->catalogue,
        .profile = workload->profile,
    };
    struct summary *summary = summary_create(&summary_options);
    const struct runtime_options options = {
        .fleet = workload->fleet,
        .catalogue = workload->catalogue,
        .profile = workload->profile,
        .policies = policies,
        .seed = seed,
        .row_load_ns = 10 * MS,
        .row_cache_ns = 50 * MS,
        .on_record = add,
        .context = summary,
    };
    struct runtime *runtime;
    assert_int_equal(runtime_create(&options, &runtime, NULL), WEFT_OK);
    const struct player_options player_options = {
        .runtime = runtime,
        .fleet = workload->fleet,
        .catalogue = workload->catalogue,
        .arrivals = &arrivals,
        .seed = seed,
        .jobs = JOBS,
        .ended = stop,
        .context = &runtime,
    };
    struct player *player = player_create(&player_options);
    runtime_run(runtime);
    assert_int_equal(player_counts(player).answered, JOBS);
    assert_int_equal(player_counts(player).failed, 0);
    player_destroy(player);
    runtime_destroy(runtime);

    struct report report;
    summary_report(summary, &report);
    summary_destroy(summary);
    assert_int_equal(report.completed, JOBS);
    return report.latency_ms.mean;
}

/* How long this thread has waited for a processor so far, in ms; 0 where the system does not say.
 */
static double starved_ms(void)
{
    unsigned long long ran_ns = 0;
    unsigned long long waited_ns = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (file != NULL) {
        if (fscanf(file, "%llu %llu", &ran_ns, &waited_ns) != 2) {
            waited_ns = 0;
        }
        (void)fclose(file);
    }
    return (double)waited_ns / 1e6;
}

static void the_prediction_holds_on_a_real_clock(ATTR_UNUSED void **state)
{
    struct workload workload;
    struct policy_set policies;
    double error = 1;
    double starved = 0;
    workload_init(&workload, &cluster);
    assert_int_equal(policy_set_parse("least-work", &policies, NULL), WEFT_OK);
    for (uint64_t seed = 1; seed <= TRIES && fabs(error) > TOLERANCE; seed++) {
        const double predicted_ms = simulated_mean_ms(&workload, &policies, seed);
        const double before_ms = starved_ms();
        const double measured_ms = served_mean_ms(&workload, &policies, seed);
        starved = starved_ms() - before_ms;
        error = measured_ms / predicted_ms - 1;
        print_message(
            "predicted %.2f ms, measured %.2f ms: %+.2f %%; waited %.0f ms for a processor\n",
            predicted_ms, measured_ms, 100 * error, starved);
    }
    workload_deinit(&workload);
    if (fabs(error) > TOLERANCE && starved > STARVED_MS_MAX) {
        print_message("the machine is too busy to tell\n");
        skip();
    }
    assert_true(fabs(error) <= TOLERANCE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_prediction_holds_on_a_real_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
