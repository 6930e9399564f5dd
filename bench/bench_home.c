/*
 * What home queues cost: decisions and tasks per second of a simulation whose policy binds last,
 * over those of the same jobs under least-work, in turn with it.
 *
 *     bench_home [workers] [jobs]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ten_tasks.h"

enum { ROUNDS = 5, POLICIES = 3 };

/* What one run did, and how fast. */
struct pace {
    double decisions_per_s;
    double tasks_per_s;
    double decisions_per_task;
    double events_per_task;
};

/* Of this process on a processor: others on the machine do not count. */
static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct pace run(uint32_t workers, uint64_t jobs, const char *policy)
{
    struct ten_tasks ten;
    struct sim_counters counters;
    struct report report;
    ten_tasks_open(&ten, workers, jobs, /* load */ 0.7, policy);
    struct sim *sim = sim_create(&ten.options);
    const double start = seconds();
    sim_run(sim);
    const double taken = seconds() - start;
    sim_counters(sim, &counters);
    sim_report(sim, &report);
    sim_destroy(sim);
    ten_tasks_close(&ten);
    return (struct pace){
        .decisions_per_s = (double)counters.decisions / taken,
        .tasks_per_s = (double)report.tasks / taken,
        .decisions_per_task = (double)counters.decisions / (double)report.tasks,
        .events_per_task = (double)counters.steps / (double)report.tasks,
    };
}

int main(int argc, char **argv)
{
    static const char *const policies[POLICIES] = {"least-work", "first-fit", "esg"};
    const uint32_t workers = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 80;
    const uint64_t jobs = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000;
    struct pace best[POLICIES] = {{0}};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < POLICIES; i++) {
            const struct pace pace = run(workers, jobs, policies[i]);
            best[i] = pace.tasks_per_s > best[i].tasks_per_s ? pace : best[i];
        }
    }
    (void)printf(
        "%u workers, %" PRIu64 " jobs of 10 tasks, best of %d in turn\n", workers, jobs, ROUNDS);
    for (uint32_t i = 0; i < POLICIES; i++) {
        (void)printf(
            "  %-10s %.3f M decisions/s, ratio %.2f; %.3f M tasks/s, ratio %.2f; "
            "%.2f decisions and %.1f events per task\n",
            policies[i], best[i].decisions_per_s / 1e6,
            best[i].decisions_per_s / best[0].decisions_per_s, best[i].tasks_per_s / 1e6,
            best[i].tasks_per_s / best[0].tasks_per_s, best[i].decisions_per_task,
            best[i].events_per_task);
    }
    return EXIT_SUCCESS;
}
