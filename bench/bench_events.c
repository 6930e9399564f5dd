/*
 * How many steps of nodes a simulation makes a second, beside a bare hold loop (take the
 * earliest, put one back) on the same event queue.
 *
 *     bench_events [workers] [jobs] [rounds]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/event_queue.h"
#include "read_count.h"
#include "ten_tasks.h"

#define USAGE "bench_events [workers] [jobs] [rounds]"

enum { ROUNDS_DEFAULT = 5 };

/* Of this process on a processor: others on the machine do not count. */
static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Operations a second of the queue alone, with @pending items in it. */
static double hold(uint32_t pending)
{
    enum { ROUNDS = 5000000 };
    struct event_queue queue;
    struct rng rng = rng_stream(1, RNG_TEST, 0);
    struct timed_item item;
    event_queue_init(&queue);
    for (uint32_t i = 0; i < pending; i++) {
        event_queue_push(&queue, (int64_t)rng_range(&rng, 0, 10000000), i);
    }
    const double start = seconds();
    for (uint32_t i = 0; i < ROUNDS && event_queue_pop(&queue, &item); i++) {
        const int64_t gap_ns = (int64_t)rng_range(&rng, 0, 10000000);
        event_queue_push(&queue, item.at_ns + gap_ns, item.payload);
    }
    const double taken = seconds() - start;
    event_queue_deinit(&queue);
    return ROUNDS / taken;
}

/* Events a second of one run. */
static double simulate(
    uint32_t workers, uint64_t jobs, struct sim_counters *counters, struct report *report)
{
    struct ten_tasks ten;
    ten_tasks_open(&ten, workers, jobs, /* load */ 0.7, "least-work");
    struct sim *sim = sim_create(&ten.options);
    const double start = seconds();
    sim_run(sim);
    const double taken = seconds() - start;
    sim_counters(sim, counters);
    sim_report(sim, report);
    sim_destroy(sim);
    ten_tasks_close(&ten);
    return (double)counters->steps / taken;
}

static double higher(double a, double b)
{
    return a > b ? a : b;
}

int main(int argc, char **argv)
{
    const uint32_t workers = argc > 1 ? (uint32_t)read_count(argv[1], 100000, USAGE) : 80;
    const uint64_t jobs = argc > 2 ? read_count(argv[2], 1000000000, USAGE) : 100000;
    const uint64_t rounds = argc > 3 ? read_count(argv[3], 1000, USAGE) : ROUNDS_DEFAULT;
    struct sim_counters counters;
    struct report report;
    double rate = 0;
    double reference = 0;
    for (uint64_t i = 0; i < rounds; i++) { /* In turn, so that both have quiet moments. */
        rate = higher(rate, simulate(workers, jobs, &counters, &report));
        reference = higher(reference, hold(workers * 3));
    }
    (void)printf(
        "%u workers, %" PRIu64 " jobs of 10 tasks, FIFO links, least-work, best of %" PRIu64 "\n"
        "  %.2f M events/s, %.2f M tasks/s, %.1f events per job, %.0f ns per event\n"
        "  mean latency %.2f ms, utilisation %.2f\n"
        "  bare hold loop on the same queue: %.1f M operations/s; ratio %.3f\n",
        workers, jobs, rounds, rate / 1e6,
        rate * (double)report.tasks / (double)counters.steps / 1e6,
        (double)counters.steps / (double)jobs, 1e9 / rate, report.latency_ms.mean,
        report.utilisation, reference / 1e6, rate / reference);
    return EXIT_SUCCESS;
}
