#include "lab/run_invariants.h"

#include <math.h>
#include <stdio.h>

void run_invariants_record(void *context, const struct record *record)
{
    struct run_invariants *invariants = context;
    if (record->kind == RECORD_ANSWERED) {
        invariants->latency_sum_ns += (double)record->value;
    }
    if (record->kind == RECORD_REPEATED && record->reason == REASON_SILENCE) {
        invariants->silences++;
    }
    if (invariants->on_record != NULL) {
        invariants->on_record(invariants->context, record);
    }
}

void run_invariants_check(
    const struct run_invariants *invariants, const struct report *report,
    char out[RUN_INVARIANTS_BYTES_MAX])
{
    /* Little's law: jobs in the system over all time are the times of all jobs in it. */
    const double area_ns = report->in_system_mean * report->duration_s * 1e9;
    const char *wrong = "";
    if (report->completed + report->refused + report->failed + report->cancelled != report->jobs) {
        wrong = "not every job has one answer";
    } else if (fabs(area_ns - invariants->latency_sum_ns) > 1 + 1e-9 * area_ns) {
        wrong = "jobs in the system and their latencies contradict Little's law";
    } else if (invariants->silences > 0 && !invariants->may_be_silent) {
        wrong = "a job was lost, and found only because nothing was heard of it";
    }
    (void)snprintf(out, RUN_INVARIANTS_BYTES_MAX, "%s", wrong);
}
