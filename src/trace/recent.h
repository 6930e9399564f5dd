/*
 * recent.h - the last records of a cluster that runs on, to be asked about one of its jobs.
 *
 * A ring in memory: what is older than its size is forgotten.
 */
#ifndef TRACE_RECENT_H
#define TRACE_RECENT_H

#include "node/record.h"

struct recent;

/* For servers: 3.5 MiB, some hundred jobs of the demo's size per megabyte. */
enum { RECENT_RECORDS = 1 << 16 };

enum recent_answer {
    RECENT_FOUND,
    RECENT_FORGOTTEN, /* There was such a job, and its first records are no longer kept. */
    RECENT_UNKNOWN,   /* No record has mentioned it yet. */
};

/* The caller owns it. */
struct recent *recent_create(uint32_t capacity);

/* NULL is allowed. */
void recent_destroy(struct recent *recent);

/* Take the next record. */
void recent_add(struct recent *recent, const struct record *record);

/*
 * Give all that is known of job number @number of node @node to @take, in order: its records, the
 * starts of other jobs in its batches, and the loads of models on workers that its tasks were on.
 */
enum recent_answer recent_job(
    const struct recent *recent, uint32_t node, uint64_t number,
    void (*take)(void *context, const struct record *record), void *context);

#endif /* TRACE_RECENT_H */
