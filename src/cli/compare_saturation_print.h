/* compare_saturation_print.h - what a search for saturation found, as tables and as JSON. */
#ifndef CLI_COMPARE_SATURATION_PRINT_H
#define CLI_COMPARE_SATURATION_PRINT_H

#include <stdio.h>

#include <jansson.h>

#include "lab/compare_saturation.h"

/* A table for every scenario. */
void compare_saturation_print(const struct compare_saturation *study, FILE *file);

/* {"saturation": [...], "runs": [...]}. The caller owns it. */
json_t *compare_saturation_json(const struct compare_saturation *study);

#endif /* CLI_COMPARE_SATURATION_PRINT_H */
