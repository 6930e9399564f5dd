/* compare_table.h - the results of one group of runs as a table, one row per policy. */
#ifndef CLI_COMPARE_TABLE_H
#define CLI_COMPARE_TABLE_H

#include <stdio.h>

#include "lab/compare_plan.h"

/* Print @group of @plan. Runs without a result are left out, from pairs as well. */
void compare_table_print(
    const struct compare_plan *plan, const struct compare_group *group, FILE *file);

#endif /* CLI_COMPARE_TABLE_H */
