/*
 * verdict.h - whether a checked run was right as a whole: what no single event shows.
 */
#ifndef LAB_VERDICT_H
#define LAB_VERDICT_H

#include "node/record.h"
#include "trace/summary.h"

enum { VERDICT_BYTES_MAX = 96 };

struct verdict {
    double latency_sum_ns; /* Of all jobs, however they ended. */

    /* Whom every record is passed on to. NULL: nobody. */
    void (*on_record)(void *context, const struct record *record);
    void *context;
};

/* For sim_options.on_record; @context is the verdict. */
void verdict_record(void *context, const struct record *record);

/* What is wrong with @report of a run that has ended; "" if nothing is. */
void verdict_judge(
    const struct verdict *verdict, const struct report *report, char out[VERDICT_BYTES_MAX]);

#endif /* LAB_VERDICT_H */
