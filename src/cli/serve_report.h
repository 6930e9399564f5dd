/* serve_report.h - what was served beside what had been predicted, as a table and as JSON. */
#ifndef CLI_SERVE_REPORT_H
#define CLI_SERVE_REPORT_H

#include "lab/run.h"

void serve_report_print(const struct run_result *served, const struct run_result *predicted);

/* @predicted may be NULL: there is no prediction. */
void serve_report_json(const struct run_result *served, const struct run_result *predicted);

#endif /* CLI_SERVE_REPORT_H */
