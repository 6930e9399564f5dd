/*
 * journal.h - which records are worth a line in the log of a server.
 *
 * Jobs and loads that fail, one by one; refused requests, and those that were not valid, in sum
 * every ten seconds. What a client does wrong is told to the client.
 */
#ifndef SERVICE_JOURNAL_H
#define SERVICE_JOURNAL_H

#include "base/log.h"
#include "engine/engine.h"
#include "model/catalogue.h"
#include "node/record.h"

struct runtime;

enum { JOURNAL_TASKS = 64 };

/* A task that failed, of a job that may not have been answered yet. */
struct journal_task {
    struct job_id job;
    uint32_t task;
};

struct journal {
    struct log *log; /* Borrowed, like the next two. NULL: nothing is written. */
    const struct catalogue *catalogue;
    const struct runtime *runtime;
    uint64_t failed_count;
    struct journal_task failed[JOURNAL_TASKS]; /* A ring. */
    uint64_t refused[REASON_COUNT];            /* Since they were last told, by reason. */
    struct engine_counts engine;               /* As they were last told. */
    int64_t told_ns;
};

/* Take the next record. */
void journal_add(struct journal *journal, const struct record *record);

/* Time has passed: to be called about once per second, and at the end. */
void journal_tick(struct journal *journal, int64_t now_ns, bool is_end);

#endif /* SERVICE_JOURNAL_H */
