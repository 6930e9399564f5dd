/*
 * summary.h - what a run was worth, read from its trace records and nothing else.
 *
 * Both hosts feed it: a simulated and a served run are summed up by the same code. Jobs
 * that arrive within the warm-up are run but not counted in latencies; loads, busy time
 * and the trace hash count everything. Where no job was counted a figure is FIGURE_NONE.
 */
#ifndef TRACE_SUMMARY_H
#define TRACE_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "model/catalogue.h"
#include "node/record.h"
#include "profile/profile.h"
#include "trace/details.h"
#include "trace/fairness.h"
#include "trace/quantiles.h"

struct summary; /* Opaque: it keeps a latency for every counted job, unless it is bounded. */

struct summary_options {
    const struct fleet *fleet;
    const struct catalogue *catalogue;
    const struct profile *profile;
    uint64_t jobs_expected; /* 0: unknown; then nothing is left out as warm-up. */
    double warmup;          /* Fraction of them. */
    bool warmup_auto;       /* As found by trace/warmup.h instead, when a report is asked for. */
    bool bounded;           /* Memory does not grow: quantiles to within 1/64. Not with the last. */
    bool detailed;          /* Follow jobs and tasks, for summary_details(). */
};

struct report {
    uint64_t jobs;      /* Arrived or refused. */
    uint64_t completed; /* Answered well. */
    uint64_t refused;
    uint64_t failed;
    uint64_t cancelled;
    uint64_t repeated; /* Attempts after the first, of all jobs: their tasks may have run twice. */
    uint64_t warmup_jobs; /* Arrivals that are left out as warm-up. */
    uint64_t counted;     /* Completed after the warm-up: what the next three are about. */
    struct quantiles latency_ms;
    struct quantiles slowdown; /* Latency over the critical path on the fastest device. */
    double slo_hit_rate;       /* Answered in time, of all such jobs of workflows with an SLO. */
    struct fairness fairness;
    uint64_t slo_hung_up;     /* Of those not in time: clients that left before the SLO. */
    double cost_per_job;      /* Device seconds: run time weighted by the share held. */
    double price_per_job;     /* At the fleet's prices, while batches ran. */
    double price_reserved;    /* The same from grant to release, where homes claim units. */
    uint64_t cold_starts;     /* Loads that a batch or a queue had to wait for. */
    uint64_t claims_declined; /* By rows that were out of date, mostly. */
    uint64_t plan_misses;     /* Tasks claimed with other configs than their policy had planned. */
    double cache_hit_rate;    /* 1 - loads / models needed by started tasks. */
    uint64_t loads;
    uint64_t evictions;
    uint64_t tasks; /* Ended. */
    uint64_t moved; /* Placed again on the way: adjusted, forwarded or stolen. */
    uint32_t workers_used;
    double utilisation; /* Busy share of all devices from the first arrival to the last answer. */
    double in_system_mean; /* Jobs in the system, over that time: rate x latency (Little). */
    bool stable; /* The backlog kept coming back, and some job was counted: trace/stability.h. */
    double duration_s; /* From the first arrival to the last answer. */
    uint64_t trace_hash;
};

/* The caller owns it. */
struct summary *summary_create(const struct summary_options *options);
void summary_destroy(struct summary *summary);

/* Take the next record; in the order in which they were made. */
void summary_add(struct summary *summary, const struct record *record);

/* What is known so far. */
void summary_report(const struct summary *summary, struct report *report_out);

/* The same in rows, of a summary that is detailed. The caller owns them. */
struct details *summary_details(const struct summary *summary);

/* Hash of all records so far: equal if and only if the traces are. */
uint64_t summary_trace_hash(const struct summary *summary);

#endif /* TRACE_SUMMARY_H */
