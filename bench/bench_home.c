/*
 * What deciding costs: tasks per second of a simulation and the time of its decisions, of every
 * policy that binds, over those of the same jobs under least-work, in turn with it. Once on whole
 * devices, and once on devices of two units, where weft keeps home queues as well.
 *
 *     bench_home [workers] [jobs] [policy beside least-work; all that bind]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ten_tasks.h"

enum { ROUNDS = 5, POLICIES = 8 };

/* What one run did, and how fast. */
struct speed {
    double tasks_per_s;
    double decisions_per_task;
    double events_per_task;
    double decision_mean_ns;
    double decision_p99_ns;
};

/* Of this process on a processor: others on the machine do not count. */
static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t stopwatch_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Devices of two units, of which a task can run on one and takes 1.6 times as long there. */
static void share(struct ten_tasks *ten)
{
    for (uint32_t i = 0; i < ten->fleet->worker_count; i++) {
        ten->fleet->workers[i].gpu_units = 2;
    }
    for (uint32_t model = 0; model < ten->catalogue->model_count; model++) {
        const int64_t whole_ns = ten->profile->models[model].curves[0].points[0].run_ns;
        const struct profile_point half = {
            .items = 1, .cpu = 1, .gpu = 1, .run_ns = whole_ns / 5 * 8};
        ten_tasks_need(profile_add_point(ten->profile, model, 0, &half));
    }
}

static struct speed run(
    uint32_t workers, uint64_t jobs, const char *policy, bool shares, bool is_timed)
{
    struct ten_tasks ten;
    struct sim_counters counters;
    struct report report;
    ten_tasks_open(&ten, workers, jobs, /* load */ 0.7, policy);
    if (shares) {
        share(&ten);
    }
    ten.options.stopwatch_ns = is_timed ? stopwatch_ns : NULL;
    struct sim *sim = sim_create(&ten.options);
    const double start = seconds();
    sim_run(sim);
    const double taken = seconds() - start;
    sim_counters(sim, &counters);
    sim_report(sim, &report);
    sim_destroy(sim);
    ten_tasks_close(&ten);
    return (struct speed){
        .tasks_per_s = (double)report.tasks / taken,
        .decisions_per_task = (double)counters.decisions / (double)report.tasks,
        .events_per_task = (double)counters.steps / (double)report.tasks,
        .decision_mean_ns = counters.decision_mean_ns,
        .decision_p99_ns = counters.decision_p99_ns,
    };
}

static void measure(
    uint32_t workers, uint64_t jobs, bool shares, const char *const *policies, uint32_t count)
{
    struct speed best[POLICIES] = {{0}};
    struct speed timed[POLICIES] = {{0}};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < count; i++) {
            const struct speed plain =
                run(workers, jobs, policies[i], shares, /* is_timed */ false);
            const struct speed watched = run(workers, jobs, policies[i], shares, true);
            best[i] = plain.tasks_per_s > best[i].tasks_per_s ? plain : best[i];
            if (round == 0 || watched.decision_p99_ns < timed[i].decision_p99_ns) {
                timed[i] = watched;
            }
        }
    }
    (void)printf(
        "%u workers, %s, %" PRIu64 " jobs of 10 tasks, best of %d in turn\n", workers,
        shares ? "two units each" : "whole devices", jobs, ROUNDS);
    for (uint32_t i = 0; i < count; i++) {
        (void)printf(
            "  %-11s %6.1f k tasks/s, ratio %.2f; %5.2f decisions of %.2f us (p99 %.1f) and "
            "%.1f events per task\n",
            policies[i], best[i].tasks_per_s / 1e3, best[i].tasks_per_s / best[0].tasks_per_s,
            best[i].decisions_per_task, timed[i].decision_mean_ns / 1e3,
            timed[i].decision_p99_ns / 1e3, best[i].events_per_task);
    }
}

int main(int argc, char **argv)
{
    static const char *const binding[POLICIES] = {"least-work", "first-fit",   "esg",   "weft",
                                                  "infless",    "fast-gshare", "orion", "aquatope"};
    const char *const pair[] = {binding[0], argc > 3 ? argv[3] : NULL};
    const uint32_t workers = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 80;
    const uint64_t jobs = argc > 2 ? strtoull(argv[2], NULL, 10) : 3000;
    const char *const *policies = argc > 3 ? pair : binding;
    const uint32_t count = argc > 3 ? 2 : POLICIES;
    measure(workers, jobs, /* shares */ false, policies, count);
    measure(workers, jobs, /* shares */ true, policies, count);
    return EXIT_SUCCESS;
}
