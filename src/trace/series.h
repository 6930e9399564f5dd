/*
 * series.h - numbers in the order in which they came.
 *
 * All of them; or, with a bound, every n-th alone: when there are too many every second one is
 * dropped, and n doubles. All zero is an empty series that keeps everything.
 */
#ifndef TRACE_SERIES_H
#define TRACE_SERIES_H

#include <stdint.h>

struct series {
    int64_t *values;
    uint64_t count;
    uint64_t capacity;
    uint64_t count_max; /* An even number; 0: no bound. */
    uint64_t skip;      /* Values left out between two that are kept. */
    uint64_t skipped;   /* Values left out since the last. */
};

void series_push(struct series *series, int64_t value);

/* Release the values. */
void series_deinit(struct series *series);

#endif /* TRACE_SERIES_H */
