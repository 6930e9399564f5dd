/*
 * bench_fidelity.c - how well the simulator predicts what real models then take.
 *
 * Models are measured alone, as `weft profile` does. Requests then come at random, so that
 * the worker is busy for a third of the time; mean and 99th percentile of their latency stand
 * beside what the simulator makes of the same arrivals: with that profile, and with what the
 * profile has learnt by the end. The claim is that both are within 10 %. One round is noisy:
 * the middle one of all counts.
 *
 * usage: bench_fidelity [rounds [seconds]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "served.h"

#define POLICY "least-work"

enum { MODELS = 3, ROUNDS_MAX = 32 };

static const uint32_t widths[MODELS] = {1024, 1536, 768};

/* A chain; every model is also asked alone. */
static const char *const documents[] = {
    "chain.workflow.yaml",
    "workflow: chain\n"
    "inputs: {x: {dtype: FP32, shape: [-1, 1024]}}\n"
    "tasks:\n"
    "  first: {model: a, in: {x: inputs.x}}\n"
    "  second: {model: a, in: {x: first.y}}\n"
    "outputs: {y: second.y}\n",
    "weft.yaml",
    "weft: fidelity\nworkers: 1\nmemory: 1GB\n",
    NULL,
};

/* Predicted over served. */
struct round {
    double mean;
    double p99;
    double learnt_mean;
    double learnt_p99;
};

static int by_size(const void *left, const void *right)
{
    const double *a = left;
    const double *b = right;
    return (*a > *b) - (*a < *b);
}

/* The middle one of @count ratios, of which the first is @first. */
static double middle(const double *first, uint32_t count)
{
    double sorted[ROUNDS_MAX];
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = first[i * (sizeof(struct round) / sizeof(double))];
    }
    qsort(sorted, count, sizeof(*sorted), by_size);
    return sorted[count / 2];
}

/* Arrivals that keep the worker busy for a third of the time, by the profile. */
static double rate_for(const struct served *served)
{
    const struct catalogue *catalogue = served->scenario.catalogue;
    double work_ns = 0;
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        for (uint32_t k = 0; k < workflow->task_count; k++) {
            work_ns += (double)profile_run_one_ns(
                           served->scenario.profile, workflow->tasks[k].run, /* device */ 0) /
                       catalogue->workflow_count;
        }
    }
    return 0.33 * 1e9 / work_ns;
}

/* How many requests come within @seconds. */
static uint64_t count_jobs(const struct served *served, uint64_t seed, double seconds)
{
    struct arrival_stream stream;
    struct arrival arrival;
    uint64_t count = 0;
    arrival_stream_init(&stream, &served->scenario.arrivals, served->scenario.catalogue, seed);
    while (arrival_stream_next(&stream, &arrival) && (double)arrival.at_ns <= seconds * 1e9) {
        count++;
    }
    return count;
}

static struct round run_round(struct served *served, uint64_t seed, double seconds)
{
    const double rate = rate_for(served);
    served->scenario.arrivals = (struct arrivals){.kind = ARRIVALS_POISSON, .rate_per_s = rate};
    const uint64_t jobs = count_jobs(served, seed, seconds);
    const struct quantiles before = served_predict(served, POLICY, seed, jobs).latency_ms;
    const struct report report = served_run(served, POLICY, seed, seconds);
    const struct quantiles after = served_predict(served, POLICY, seed, jobs).latency_ms;
    const struct quantiles *real = &report.latency_ms;
    (void)printf(
        "  %5.1f/s %5" PRIu64 " jobs: mean %6.2f ms, predicted %6.2f (%6.2f learnt); "
        "p99 %6.2f ms, predicted %6.2f (%6.2f)\n",
        rate, report.completed, real->mean, before.mean, after.mean, real->p99, before.p99,
        after.p99);
    return (struct round){
        .mean = before.mean / real->mean,
        .p99 = before.p99 / real->p99,
        .learnt_mean = after.mean / real->mean,
        .learnt_p99 = after.p99 / real->p99,
    };
}

int main(int argc, char **argv)
{
    const uint32_t wanted = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 3;
    const double seconds = argc > 2 ? strtod(argv[2], NULL) : 20;
    const uint32_t rounds = wanted < 1 ? 1 : wanted > ROUNDS_MAX ? ROUNDS_MAX : wanted;
    struct round results[ROUNDS_MAX];
    struct served served;
    served_make(&served, widths, MODELS, documents);
    (void)printf("one worker, three models alone and a chain of two, %g s a round:\n", seconds);
    for (uint32_t i = 0; i < rounds; i++) {
        served_forget(&served); /* Every round is measured separately. */
        served_open(&served);
        results[i] = run_round(&served, i + 1, seconds);
        served_close(&served);
    }
    (void)printf(
        "  predicted over served, the middle of %" PRIu32 " rounds: mean ratio %.3f, p99 ratio "
        "%.3f; learnt: mean ratio %.3f, p99 ratio %.3f\n",
        rounds, middle(&results->mean, rounds), middle(&results->p99, rounds),
        middle(&results->learnt_mean, rounds), middle(&results->learnt_p99, rounds));
    served_remove(&served);
    return 0;
}
