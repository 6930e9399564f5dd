/*
 * samples_report.h - how right the answers to samples were, as a table.
 */
#ifndef CLI_SAMPLES_REPORT_H
#define CLI_SAMPLES_REPORT_H

#include <stdio.h>

#include "service/samples.h"

/* One line per workflow: files, answers, how many were right, and error rates; then causes. */
void samples_print(const struct samples *samples, const struct catalogue *catalogue, FILE *file);

#endif /* CLI_SAMPLES_REPORT_H */
