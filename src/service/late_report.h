/*
 * late_report.h - why jobs were late, as a table: where their time went, by workflow.
 */
#ifndef SERVICE_LATE_REPORT_H
#define SERVICE_LATE_REPORT_H

#include <stdio.h>

#include "model/catalogue.h"
#include "trace/latency_parts.h"

/* Of one workflow. */
struct late_figures {
    uint64_t done;
    uint64_t late;             /* Of these: after the SLO. */
    int64_t ns[LATENCY_PARTS]; /* Where the time of the late ones went. */
};

/* Print the workflows of @figures that had late jobs; nothing if none had. */
void late_report_print(
    const struct catalogue *catalogue, const struct late_figures *figures, FILE *file);

#endif /* SERVICE_LATE_REPORT_H */
