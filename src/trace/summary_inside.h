/*
 * summary_inside.h - what a summary is made of: for summary.c, which reads records, and
 * summary_report.c, which makes reports of what was read.
 */
#ifndef TRACE_SUMMARY_INSIDE_H
#define TRACE_SUMMARY_INSIDE_H

#include "base/histogram.h"
#include "trace/series.h"
#include "trace/summary.h"
#include "trace/tally.h"

enum { SLOWDOWN_STEPS = 1024 }; /* Of a histogram, in a slowdown of 1. */

struct workflow_sum {
    struct series latencies_ns; /* Of counted jobs. */
    struct series arrivals_ns;  /* Of the same; only if the warm-up is to be found. */
    int64_t critical_ns;        /* Its longest path on the fastest devices. */
    int64_t slo_ns;
    uint32_t priority;       /* As in struct workflow. */
    uint64_t slo_jobs;       /* Counted ones, if it has an SLO. */
    uint64_t slo_hits;       /* Those of them that met it. */
    struct series misses_ns; /* Arrivals of those without a latency; only to find the warm-up. */

    /* Only if it is detailed. */
    struct histogram *histogram;           /* Of latencies, if memory is bounded. */
    int64_t part_ns[LATENCY_PARTS];        /* Of counted jobs. */
    struct series parts_ns[LATENCY_PARTS]; /* Of each; only if the warm-up is to be found. */
};

struct summary {
    uint64_t hash;
    bool warmup_auto;
    struct histogram *latencies; /* If memory is bounded, in nanoseconds; NULL: all are kept. */
    struct histogram *slowdowns; /* Beside them, in steps. */
    uint64_t warmup_jobs;        /* So many arrivals are not counted. */
    int64_t counted_first_ns;    /* When the first counted job arrived; INT64_MAX until then. */
    struct tally *tally;
    uint64_t slo_hung_up;
    uint64_t loads;
    uint64_t evictions;
    uint64_t models_needed;
    uint64_t tasks;
    uint64_t moved;
    uint32_t workers_used;
    uint32_t worker_count;
    double busy_ns;    /* Run time of ended tasks, weighted by the share they held. */
    double late_ns;    /* The part of busy_ns that came after the last answer so far. */
    double busy_price; /* What busy_ns costs at the prices below. */
    double idle_price; /* What units cost that were held and did not run. */
    double cpu_price;  /* Of a unit for a nanosecond. */
    double gpu_price;  /* The same. */
    uint64_t cold_starts;
    uint64_t declined;
    uint64_t repeated;
    uint64_t unplanned;
    struct series
        requests_ns; /* When each came; only if the warm-up is to be found, like the next. */
    struct series hung_up_ns; /* Arrivals of those that count in slo_hung_up. */
    struct series backlogs;   /* Jobs in the system, as each arrival finds it. */
    double backlog_area_ns;   /* Their integral over time. */
    int64_t first_ns;         /* The first arrival; INT64_MAX until then. */
    int64_t last_ns;          /* The last arrival or answer. */
    uint32_t workflow_count;
    struct workflow_sum *workflows;
    uint32_t *queue_models;  /* By queue: how many models its task needs. */
    uint32_t *queue_first;   /* By workflow. */
    double *worker_share;    /* By worker: one unit as a part of the device. */
    uint64_t *workers;       /* Bit set: those that started a task. */
    struct details *details; /* Of tasks, models and workers. NULL: they are not asked for. */
};

/* Requests so far, whatever became of them. */
static inline uint64_t summary_request_count(const struct summary *summary)
{
    const struct tally_counts *total = tally_total(summary->tally);
    return total->arrived + total->ended[OUTCOME_REFUSED];
}

#endif /* TRACE_SUMMARY_INSIDE_H */
