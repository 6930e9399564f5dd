/*
 * run_invariants.h - whether a checked run was right as a whole: what no single event shows.
 */
#ifndef LAB_RUN_INVARIANTS_H
#define LAB_RUN_INVARIANTS_H

#include "node/record.h"
#include "trace/summary.h"

enum { RUN_INVARIANTS_BYTES_MAX = 96 };

struct run_invariants {
    double latency_sum_ns; /* Of all jobs, however they ended. */
    uint64_t silences;     /* Jobs that ran again because nothing was heard of them. */
    bool may_be_silent;    /* Messages may be lost, and no node is told. */

    /* Gets every record. May be NULL. */
    void (*on_record)(void *context, const struct record *record);
    void *context;
};

/* For sim_options.on_record; @context is the struct. */
void run_invariants_record(void *context, const struct record *record);

/* What is wrong with @report of a run that has ended; "" if nothing is. */
void run_invariants_check(
    const struct run_invariants *invariants, const struct report *report,
    char out[RUN_INVARIANTS_BYTES_MAX]);

#endif /* LAB_RUN_INVARIANTS_H */
