#include "service/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/units.h"
#include "trace/quantiles.h"

enum { ANSWERS_KEPT = 512 };

#define QUANTILES_NS (10 * NS_PER_S)

struct second {
    double lines[HISTORY_LINES];
};

struct seen {
    uint16_t work;
    uint8_t busy_percent;
};

struct answer {
    int64_t at_ns;
    int64_t latency_ns;
};

struct history {
    uint32_t worker_count;
    uint32_t work_count;
    uint64_t closed;     /* Seconds since the start. */
    struct second open;  /* The one after those. */
    uint32_t *open_seen; /* How often each worker was seen at what, in that. */
    struct second seconds[HISTORY_SECONDS];
    struct seen *seen; /* By second, then worker. */
    uint64_t answer_count;
    struct answer answers[ANSWERS_KEPT];
};

struct history *history_create(uint32_t worker_count, uint32_t workflow_count)
{
    struct history *history = memory_zeroed(1, sizeof(*history));
    ASSERT(HISTORY_RUNS + workflow_count <= UINT16_MAX);
    history->worker_count = worker_count;
    history->work_count = HISTORY_RUNS + workflow_count;
    history->open_seen =
        memory_zeroed((size_t)worker_count * history->work_count + 1, sizeof(uint32_t));
    history->seen =
        memory_zeroed((size_t)worker_count * HISTORY_SECONDS + 1, sizeof(*history->seen));
    return history;
}

void history_destroy(struct history *history)
{
    if (history != NULL) {
        free(history->open_seen);
        free(history->seen);
    }
    free(history);
}

void history_add(struct history *history, const struct record *record, enum outcome outcome)
{
    double *lines = history->open.lines;
    lines[HISTORY_ASKED] += record->kind == RECORD_ARRIVED || outcome == OUTCOME_REFUSED ? 1 : 0;
    lines[HISTORY_REFUSED] += outcome == OUTCOME_REFUSED ? 1 : 0;
    if (outcome == OUTCOME_GOOD || outcome == OUTCOME_SLOW) {
        lines[HISTORY_ANSWERED] += 1;
        history->answers[history->answer_count % ANSWERS_KEPT] =
            (struct answer){.at_ns = record->at_ns, .latency_ns = record->value};
        history->answer_count++;
    }
}

/* Of the answers before @end_ns, as far as they are kept and not too old. */
static void close_quantiles(struct history *history, int64_t end_ns)
{
    double latencies_s[ANSWERS_KEPT];
    uint32_t count = 0;
    const uint64_t kept =
        history->answer_count < ANSWERS_KEPT ? history->answer_count : ANSWERS_KEPT;
    for (uint64_t i = 0; i < kept; i++) {
        const struct answer *answer = &history->answers[i];
        if (answer->at_ns > end_ns - QUANTILES_NS) {
            latencies_s[count++] = (double)answer->latency_ns / 1e9;
        }
    }
    const struct quantiles quantiles = quantiles_of(latencies_s, count);
    history->open.lines[HISTORY_P50_S] = quantiles.p50;
    history->open.lines[HISTORY_P99_S] = quantiles.p99;
}

/* What @worker was seen at most often; idle if it was not seen. Ties go to work. */
static struct seen close_worker(const struct history *history, uint32_t worker)
{
    const uint32_t *counts = &history->open_seen[(size_t)worker * history->work_count];
    uint32_t most = HISTORY_IDLE;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < history->work_count; i++) {
        most = counts[i] > 0 && counts[i] >= counts[most] ? i : most;
        sum += counts[i];
    }
    const uint32_t busy = sum - counts[HISTORY_IDLE];
    return (struct seen){
        .work = (uint16_t)most, .busy_percent = (uint8_t)(sum == 0 ? 0 : 100 * busy / sum)};
}

static void close_second(struct history *history, uint32_t open)
{
    const uint64_t place = history->closed % HISTORY_SECONDS;
    history->open.lines[HISTORY_OPEN] = open;
    close_quantiles(history, (int64_t)(history->closed + 1) * NS_PER_S);
    history->seconds[place] = history->open;
    for (uint32_t i = 0; i < history->worker_count; i++) {
        history->seen[place * history->worker_count + i] = close_worker(history, i);
    }
    history->open = (struct second){.lines = {0}};
    memset(
        history->open_seen, 0,
        (size_t)history->worker_count * history->work_count * sizeof(*history->open_seen));
    history->closed++;
}

void history_pass(struct history *history, int64_t now_ns, uint32_t open)
{
    while ((int64_t)history->closed < now_ns / NS_PER_S) {
        close_second(history, open);
    }
}

void history_see(struct history *history, uint32_t worker, uint32_t work)
{
    ASSERT(worker < history->worker_count && work < history->work_count);
    history->open_seen[(size_t)worker * history->work_count + work]++;
}

uint32_t history_count(const struct history *history)
{
    return history->closed < HISTORY_SECONDS ? (uint32_t)history->closed : HISTORY_SECONDS;
}

static uint64_t place_of(const struct history *history, uint32_t index)
{
    ASSERT(index < history_count(history));
    return (history->closed - 1 - index) % HISTORY_SECONDS;
}

double history_figure(const struct history *history, enum history_line line, uint32_t index)
{
    return history->seconds[place_of(history, index)].lines[line];
}

uint32_t history_work(const struct history *history, uint32_t worker, uint32_t index)
{
    ASSERT(worker < history->worker_count);
    return history->seen[place_of(history, index) * history->worker_count + worker].work;
}

double history_busy(const struct history *history, uint32_t worker, uint32_t seconds)
{
    const uint32_t count = history_count(history) < seconds ? history_count(history) : seconds;
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += history->seen[place_of(history, i) * history->worker_count + worker].busy_percent;
    }
    return count == 0 ? 0 : sum / (100.0 * count);
}
