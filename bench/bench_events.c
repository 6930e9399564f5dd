/*
 * How many steps of nodes a simulation makes a second, beside a bare hold loop (take the
 * earliest, put one back) on the same event queue.
 *
 *     bench_events [workers] [jobs]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/event_queue.h"
#include "ten_tasks.h"

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

int main(int argc, char **argv)
{
    const uint32_t workers = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 80;
    const uint64_t jobs = argc > 2 ? strtoull(argv[2], NULL, 10) : 100000;
    struct ten_tasks ten;
    ten_tasks_open(&ten, workers, jobs, /* load */ 0.7, "least-work");
    struct sim *sim = sim_create(&ten.options);
    const double start = seconds();
    sim_run(sim);
    const double taken = seconds() - start;
    struct sim_counters counters;
    struct report report;
    sim_counters(sim, &counters);
    sim_report(sim, &report);
    const double rate = (double)counters.events / taken;
    const double reference = hold(workers * 3);
    (void)printf(
        "%u workers, %" PRIu64 " jobs of 10 tasks, FIFO links, least-work\n"
        "  %.2f M events/s, %.2f M tasks/s, %.1f events a job, %.0f ns an event\n"
        "  mean latency %.2f ms, utilisation %.2f\n"
        "  bare hold loop on the same queue: %.1f M operations/s; ratio %.3f\n",
        workers, jobs, rate / 1e6, (double)report.tasks / taken / 1e6,
        (double)counters.events / (double)jobs, 1e9 / rate, report.latency_ms.mean,
        report.utilisation, reference / 1e6, rate / reference);
    sim_destroy(sim);
    ten_tasks_close(&ten);
    return EXIT_SUCCESS;
}
