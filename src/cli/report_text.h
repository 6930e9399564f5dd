/* report_text.h - one run as text for people, at most 80 columns wide. */
#ifndef CLI_REPORT_TEXT_H
#define CLI_REPORT_TEXT_H

#include <stdio.h>

#include "document/scenario.h"
#include "lab/run.h"
#include "trace/details.h"

enum { REPORT_BOUND_BYTES = 32 };

/*
 * "> 12 s": what @latency_ms of a run whose backlog grows says of it. A longer run would have had
 * more.
 */
const char *report_text_bound(double latency_ms, char text[static REPORT_BOUND_BYTES]);

/* Print the figures of @result and, unless it is NULL, where the time of @details went. */
void report_text_print(const struct run_result *result, const struct details *details, FILE *file);

/* Print @details of a run of @scenario, which was @stable or not, as tables. */
void report_rows_print(
    const struct details *details, const struct scenario *scenario, bool stable, FILE *file);

#endif /* CLI_REPORT_TEXT_H */
