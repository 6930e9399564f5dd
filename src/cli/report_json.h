/* report_json.h - a run as one JSON object, for programs. */
#ifndef CLI_REPORT_JSON_H
#define CLI_REPORT_JSON_H

#include <jansson.h>
#include <stdio.h>

#include "document/scenario.h"
#include "lab/run.h"

/* The caller owns the reference. What a run does not have, as SLOs or a rate, is null. */
json_t *report_json(const struct run_result *result);

/* Add how the workflows of @scenario fared to the object of the run that @report is of. */
void report_json_add_fairness(
    json_t *object, const struct report *report, const struct scenario *scenario);

/* Add the rows of @details, of a run of @scenario, to the object of that run. */
void report_json_add_rows(
    json_t *object, const struct details *details, const struct scenario *scenario);

/* Write @json, which is released, and a newline. */
void report_json_print(json_t *json, FILE *file);

#endif /* CLI_REPORT_JSON_H */
