/*
 * history.h - the last minutes of a cluster, second by second, for screens.
 *
 * What was asked and how it ended comes with records; how many requests are open and what workers
 * do is seen from time to time, and of each second what was seen most often is kept. Quantiles of
 * latencies are those of the last ten seconds: one second has too few answers.
 */
#ifndef SERVICE_HISTORY_H
#define SERVICE_HISTORY_H

#include <stdint.h>

#include "node/record.h"
#include "trace/tally.h"

enum { HISTORY_SECONDS = 240 };

/* What a worker may be seen at; from HISTORY_RUNS on, it runs that workflow. */
enum history_work { HISTORY_IDLE, HISTORY_LOADS, HISTORY_RUNS };

/* Figures that are kept of each second. */
enum history_line {
    HISTORY_ASKED,
    HISTORY_REFUSED,
    HISTORY_ANSWERED, /* Well. */
    HISTORY_P50_S,
    HISTORY_P99_S,
    HISTORY_OPEN, /* Requests that were waited for, at the end of the second. */
    HISTORY_LINES
};

struct history;

/* The caller owns it. */
struct history *history_create(uint32_t worker_count, uint32_t workflow_count);

/* NULL is allowed. */
void history_destroy(struct history *history);

/* A request came, or ended as @outcome. */
void history_add(struct history *history, const struct record *record, enum outcome outcome);

/* It is @now_ns, and @open requests are waited for. Seconds that are over are closed. */
void history_pass(struct history *history, int64_t now_ns, uint32_t open);

/* This is what @worker does now. */
void history_see(struct history *history, uint32_t worker, uint32_t work);

/* How many whole seconds are kept. */
uint32_t history_count(const struct history *history);

/* The figure of a second; the newest has index 0. NAN: a latency, and there was no answer. */
double history_figure(const struct history *history, enum history_line line, uint32_t index);

/* What @worker was seen at in that second. */
uint32_t history_work(const struct history *history, uint32_t worker, uint32_t index);

/* How much of the last @seconds @worker was seen at work, from 0 to 1. */
double history_busy(const struct history *history, uint32_t worker, uint32_t seconds);

#endif /* SERVICE_HISTORY_H */
