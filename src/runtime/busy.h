/*
 * busy.h - how busy the processors of a node were while a batch ran.
 *
 * The processors are the workers that batches can be split over; each batch has as many threads as
 * parts. For runtimes.
 */
#ifndef RUNTIME_BUSY_H
#define RUNTIME_BUSY_H

#include <stdint.h>

#include "model/fleet.h"
#include "model/slowing.h"

/* Of one node. */
struct busy {
    uint32_t processors;
    uint32_t threads;
    int64_t since_ns;   /* They are so many since then. */
    struct slowing sum; /* What a thread has met since the start, times nanoseconds. */
};

/* Nothing runs on @node of @fleet yet. */
void busy_init(struct busy *busy, const struct fleet *fleet, uint32_t node);

/* A batch with @threads begins now. Gives what busy_end() wants to know. */
struct slowing busy_begin(struct busy *busy, int64_t now_ns, uint32_t threads);

/* It ends now, after @took_ns. Gives what it has met on average, from @begun on. */
struct slowing busy_end(
    struct busy *busy, int64_t now_ns, uint32_t threads, struct slowing begun, int64_t took_ns);

#endif /* RUNTIME_BUSY_H */
