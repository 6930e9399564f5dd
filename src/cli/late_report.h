/*
 * late_report.h - why jobs were late, as a table: where their time went, by workflow.
 */
#ifndef CLI_LATE_REPORT_H
#define CLI_LATE_REPORT_H

#include <stdio.h>

#include "cli/spent.h"
#include "model/catalogue.h"

/* Of one workflow. */
struct late_figures {
    uint64_t done;
    uint64_t late;           /* Of these, after the SLO; */
    int64_t ns[SPENT_PARTS]; /* and where the time of the late ones went. */
};

/* Print the workflows of @figures that had late jobs; nothing if none had. */
void late_report_print(
    const struct catalogue *catalogue, const struct late_figures *figures, FILE *file);

#endif /* CLI_LATE_REPORT_H */
