/*
 * bench_halfmemory.c - models that take turns in memory, under different policies.
 *
 * Eight models, of which a worker can hold half, on two nodes of one worker each; some are
 * asked for more often than others, and two workflows use three of them in a row. The same
 * requests are served under each policy. Printed is the mean latency, and its ratio to that
 * of the reference: least-work with lru. A ratio below 1 is a gain. The simulator's mean for
 * the same requests and profile stands beside it: on a machine with other work to do, that is
 * the figure to go by.
 *
 * usage: bench_halfmemory [rounds [seconds]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "served.h"

enum { MODELS = 8, POLICIES = 3, ROUNDS_MAX = 32, WIDTH = 1024 };

static const char *const policies[POLICIES] = {
    "place=least-work,cache=lru", /* The reference. */
    SETTINGS_POLICY_DEFAULT,
    "place=least-work,cache=compass",
};

static const uint32_t widths[MODELS] = {WIDTH, WIDTH, WIDTH, WIDTH, WIDTH, WIDTH, WIDTH, WIDTH};

static const char *const documents[] = {
    "first.workflow.yaml",
    "workflow: first\n"
    "inputs: {x: {dtype: FP32, shape: [-1, 1024]}}\n"
    "tasks:\n"
    "  one: {model: a, in: {x: inputs.x}}\n"
    "  two: {model: b, in: {x: one.y}}\n"
    "  three: {model: c, in: {x: two.y}}\n"
    "outputs: {y: three.y}\n",
    "second.workflow.yaml",
    "workflow: second\n"
    "inputs: {x: {dtype: FP32, shape: [-1, 1024]}}\n"
    "tasks:\n"
    "  one: {model: d, in: {x: inputs.x}}\n"
    "  two: {model: e, in: {x: one.y}}\n"
    "  three: {model: f, in: {x: two.y}}\n"
    "outputs: {y: three.y}\n",
    "weft.yaml",
    "weft: half\nnodes: 2\nworkers: 1\nmemory: 150MB\n",
    NULL,
};

/* Two chains, then the models alone: each half as often as the one before. */
static void set_arrivals(struct served *served)
{
    const struct catalogue *catalogue = served->scenario.catalogue;
    struct arrivals *arrivals = &served->scenario.arrivals;
    const double run_ns =
        (double)profile_run_one_ns(served->scenario.profile, /* model */ 0, /* device */ 0);
    *arrivals = (struct arrivals){.kind = ARRIVALS_POISSON};
    double weight = 1;
    double tasks = 0;
    double weights = 0;
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        arrivals->mix[i] = weight;
        tasks += weight * catalogue->workflows[i]->task_count;
        weights += weight;
        weight *= i < 2 ? 1 : 0.7;
    }
    /* Both workers together are busy for 40 % of the time, loads aside. */
    arrivals->rate_per_s = 0.4 * 2 * 1e9 / (run_ns * tasks / weights);
}

int main(int argc, char **argv)
{
    const uint32_t wanted = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 3;
    const double seconds = argc > 2 ? strtod(argv[2], NULL) : 10;
    const uint32_t rounds = wanted < 1 ? 1 : wanted > ROUNDS_MAX ? ROUNDS_MAX : wanted;
    double sums[POLICIES] = {0};
    double predicted[POLICIES] = {0};
    struct served served;
    served_make(&served, widths, MODELS, documents);
    served_open(&served);
    set_arrivals(&served);
    const struct profile_model *known = &served.scenario.profile->models[0];
    (void)printf(
        "eight models of 32 MB (load %.2f ms, run %.2f ms), two workers of 150 MB, %.1f requests a "
        "second for %g s:\n",
        (double)known->load_fixed_ns / 1e6, (double)known->curves[0].run_one_ns / 1e6,
        served.scenario.arrivals.rate_per_s, seconds);
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < POLICIES; i++) {
            const struct report report = served_run(&served, policies[i], round + 1, seconds);
            const double mean_ms =
                served_predict(&served, policies[i], round + 1, report.completed).latency_ms.mean;
            (void)printf(
                "  %-32s %5" PRIu64 " jobs: mean %7.2f ms, simulated %7.2f; %5" PRIu64
                " loads, %.1f %% hits\n",
                policies[i], report.completed, report.latency_ms.mean, mean_ms, report.loads,
                100 * report.cache_hit_rate);
            sums[i] += report.latency_ms.mean;
            predicted[i] += mean_ms;
        }
    }
    for (uint32_t i = 1; i < POLICIES; i++) {
        (void)printf(
            "  %s: mean latency ratio %.3f, simulated ratio %.3f, of %s\n", policies[i],
            sums[i] / sums[0], predicted[i] / predicted[0], policies[0]);
    }
    served_close(&served);
    served_remove(&served);
    return 0;
}
