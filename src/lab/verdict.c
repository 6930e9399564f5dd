#include "lab/verdict.h"

#include <math.h>
#include <stdio.h>

void verdict_record(void *context, const struct record *record)
{
    struct verdict *verdict = context;
    if (record->kind == RECORD_ANSWERED) {
        verdict->latency_sum_ns += (double)record->value;
    }
    if (verdict->on_record != NULL) {
        verdict->on_record(verdict->context, record);
    }
}

void verdict_judge(
    const struct verdict *verdict, const struct report *report, char out[VERDICT_BYTES_MAX])
{
    /* Little's law: jobs in the system over all time are the times of all jobs in it. */
    const double area_ns = report->in_system_mean * report->duration_s * 1e9;
    const char *wrong = "";
    if (report->completed + report->refused + report->failed + report->cancelled != report->jobs) {
        wrong = "not every job has one answer";
    } else if (fabs(area_ns - verdict->latency_sum_ns) > 1 + 1e-9 * area_ns) {
        wrong = "jobs in the system and their latencies contradict Little's law";
    }
    (void)snprintf(out, VERDICT_BYTES_MAX, "%s", wrong);
}
