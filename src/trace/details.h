/*
 * details.h - a run in rows: by workflow, task, model and worker, and where the time went.
 *
 * Made by a summary that was asked for it. Rows of workflows are about the jobs that the report
 * counts; the others about everything that happened, as loads and busy time of the report are.
 */
#ifndef TRACE_DETAILS_H
#define TRACE_DETAILS_H

#include <stdint.h>

#include "model/catalogue.h"
#include "model/fleet.h"
#include "node/record.h"
#include "trace/latency_parts.h"
#include "trace/quantiles.h"

struct tally;

struct details_workflow {
    uint64_t jobs; /* Arrived or refused. */
    uint64_t completed;
    uint64_t refused;
    uint64_t failed;
    uint64_t cancelled;
    uint64_t counted; /* Completed after the warm-up: what the rest is about. */
    struct quantiles latency_ms;
    double slo_hit_rate;           /* FIGURE_NONE without an SLO or such jobs. */
    double part_ms[LATENCY_PARTS]; /* The mean: they add up to that of the latency. */
};

struct details_task {
    uint64_t started;   /* Runs of the task, also those that failed. */
    double batches;     /* In which they ran. */
    double items;       /* That they had. */
    int64_t queued_ns;  /* How long they waited for a worker. */
    int64_t loading_ns; /* How long they waited for their models. */
    int64_t running_ns; /* How long they ran, with those of their batch. */
};

struct details_model {
    uint64_t needed; /* By tasks that started. */
    uint64_t loads;
    uint64_t loaded; /* Loads that have ended well. */
    uint64_t evictions;
    int64_t loading_ns; /* All loads that have ended. */
};

struct details_worker {
    uint64_t started; /* Tasks. */
    double batches;
    uint64_t loads;
    uint64_t evictions;
    int64_t loading_ns;
    double busy_ns; /* Run time weighted by the share held. */
    double busy;    /* As a part of the run, from the first arrival to the last answer. */
};

struct details {
    struct details_workflow total;
    uint32_t workflow_count;
    struct details_workflow *workflows;
    uint32_t task_count; /* Of all workflows: by the numbers of their queues. */
    struct details_task *tasks;
    uint32_t model_count;
    struct details_model *models;
    uint32_t worker_count;
    struct details_worker *workers;
};

/* Rows without any figures for what @fleet and @catalogue have. The caller owns them. */
struct details *details_create(const struct fleet *fleet, const struct catalogue *catalogue);

/* A copy, which the caller owns. */
struct details *details_copy(const struct details *details);

/* NULL is allowed. */
void details_destroy(struct details *details);

/* Count what @record says of tasks, models and workers; @tally, which follows jobs, has it. */
void details_add(struct details *details, const struct tally *tally, const struct record *record);

#endif /* TRACE_DETAILS_H */
