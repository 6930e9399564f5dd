/*
 * row.h - what a worker tells the others.
 *
 * A row has two parts with their own intervals: load changes with every task, the
 * cache seldom. Times in a row are durations; at_ns is written by the node that keeps the
 * row, from its own clock, when the part reaches it.
 */
#ifndef VIEW_ROW_H
#define VIEW_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"

/* No worker is wanted: see struct row_load. */
#define ROW_WANTED_NONE ((uint16_t)UINT16_MAX)

/* A worker accepts work, and its runs take as long as expected: one more for each part longer. */
enum { ROW_ACCEPTING = 1, ROW_SLOWNESS_PARTS = 16 };

/* Rows say in such steps how much waits and when it is due: finer would be longer. */
enum { ROW_STEP_NS = 65536 };

struct row_load {
    int64_t at_ns;         /* When this node got it. */
    int64_t queued_ns;     /* Running batch, queue, loads that no work hides, reservations. */
    int64_t run_ns;        /* Of it: run times of what runs and waits, loads and promises apart. */
    uint64_t sequence;     /* Grows with every publication in this life of the worker's node. */
    uint32_t incarnation;  /* Of that node. */
    uint32_t layout;       /* How units are divided, where that matters: model/sharing.h. */
    uint32_t waits_steps;  /* Run times of what waits, in steps. */
    int32_t first_steps;   /* The key of the first that waits, from at_ns on. */
    int32_t last_steps;    /* Likewise, of the last one. */
    uint16_t queued_items; /* That wait, or as many as can be said. */
    uint16_t cpu_free; /* Units of the machine that no batch holds: all its rows say the same. */
    uint16_t urgency;  /* Of what waits for room in home queues of that node; 0: nothing does. */
    uint16_t wanted;   /* The worker that this waits for, if others shall leave it alone. */
    uint8_t gpu_free;  /* Units of the device that no batch holds. */
    uint8_t put_off;   /* Of later tasks in home queues, the share put off, in 255ths. */
    uint8_t accepting; /* 0 while the worker drains, or if its device is lost. Else as above. */
};
_Static_assert(sizeof(struct row_load) == 64, "policies read many of them: a cache line each");

struct row_cache {
    int64_t at_ns;
    uint64_t sequence;
    uint64_t free_bytes;
    uint32_t incarnation;
    struct model_set resident;
    struct model_set loading;
};

/* Which parts of a row a publication carries. */
enum row_parts { ROW_LOAD = 1, ROW_CACHE = 2, ROW_BOTH = 3 };

struct row {
    uint32_t worker;
    uint32_t parts; /* Of enum row_parts. */
    struct row_load load;
    struct row_cache cache;
};

#endif /* VIEW_ROW_H */
