/*
 * What a simulation keeps in memory, beside what it may.
 *
 * First an overloaded cluster: jobs of ten tasks come four times as fast as they are served,
 * and the memory that the process has gained is divided by the jobs that wait, at every
 * quarter of a doubling, in the middle of the run and not at its end. Everything counts: jobs,
 * visits, tasks, inputs, tensors, tickets, messages under way, the event queue, maps, and room
 * that pools hold ready. Then a large cluster that keeps up, and the most that the process had.
 * Each in a process of its own: what one has freed would serve the next, and not be counted.
 *
 *     bench_memory [pending jobs] [workers] [jobs]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ten_tasks.h"

#define JOB_BYTES_MAX 1024.0
#define PEAK_GIB_MAX  4.0
#define GIB           (1024.0 * 1024 * 1024)

enum { CROWD_WORKERS = 80, STEPS_A_LOOK = 10000, PENDING_FIRST = 20000 };

/* Of this process now. */
static double resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*u %lu", &pages) != 1) {
        exit(EXIT_FAILURE);
    }
    (void)fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double peak_bytes(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024;
}

static void print_against(const char *what, double value, double limit, const char *unit)
{
    (void)printf(
        "  %s: %.4g %s of %.4g, %s\n", what, value, unit, limit,
        value <= limit ? "within the limit" : "MORE than the limit");
}

/* A backlog under @policy that grows to @pending jobs. */
static void crowd(uint64_t pending, const char *policy)
{
    struct ten_tasks ten;
    struct sim_counters counters = {0};
    ten_tasks_open(&ten, CROWD_WORKERS, 2 * pending, /* load */ 4, policy);
    struct sim *sim = sim_create(&ten.options);
    const double before = resident_bytes();
    double worst = 0;
    double waiting = 0;
    double next = PENDING_FIRST;
    while (waiting < (double)pending && sim_run_some(sim, STEPS_A_LOOK)) {
        sim_counters(sim, &counters);
        waiting = (double)(counters.arrived - counters.answered);
        if (waiting >= next) {
            const double each = (resident_bytes() - before) / waiting;
            worst = each > worst ? each : worst;
            next *= 1.19;
        }
    }
    const double gained = resident_bytes() - before;
    (void)printf(
        "%d workers at four times their capacity, %s: %.0f jobs of 10 tasks wait\n", CROWD_WORKERS,
        policy, waiting);
    print_against("a waiting job, now", gained / waiting, JOB_BYTES_MAX, "B");
    print_against("a waiting job, at the worst time", worst, JOB_BYTES_MAX, "B");
    sim_destroy(sim);
    ten_tasks_close(&ten);
}

static void large(uint32_t workers, uint64_t jobs)
{
    struct ten_tasks ten;
    struct sim_counters counters;
    ten_tasks_open(&ten, workers, jobs, /* load */ 0.7, "least-work");
    struct sim *sim = sim_create(&ten.options);
    sim_run(sim);
    sim_counters(sim, &counters);
    (void)printf(
        "%u workers, %" PRIu64 " jobs of 10 tasks at load 0.7: %" PRIu64 " events\n", workers, jobs,
        counters.steps);
    print_against("the process at its peak", peak_bytes() / GIB, PEAK_GIB_MAX, "GiB");
    sim_destroy(sim);
    ten_tasks_close(&ten);
}

/* Whether this is the process for the next case; the other one has waited for it to end. */
static bool is_child(void)
{
    int status;
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) {
        exit(EXIT_FAILURE);
    }
    if (child < 0) {
        exit(EXIT_FAILURE);
    }
    return child == 0;
}

int main(int argc, char **argv)
{
    const uint64_t pending = argc > 1 ? strtoull(argv[1], NULL, 10) : 300000;
    const uint32_t workers = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 10000;
    const uint64_t jobs = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000000;
    if (is_child()) {
        crowd(pending, "least-work");
        return EXIT_SUCCESS;
    }
    if (is_child()) {
        crowd(pending / 4, "heft"); /* All of a job is planned when it comes. */
        return EXIT_SUCCESS;
    }
    large(workers, jobs);
    return EXIT_SUCCESS;
}
