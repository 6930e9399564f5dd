/* compare_fairness.h - how each workflow fares under each policy, as a table. */
#ifndef CLI_COMPARE_FAIRNESS_H
#define CLI_COMPARE_FAIRNESS_H

#include <stdio.h>

#include "lab/compare_plan.h"

/* Print @group of @plan: means over the runs that have a result. */
void compare_fairness_print(
    const struct compare_plan *plan, const struct compare_group *group, FILE *file);

#endif /* CLI_COMPARE_FAIRNESS_H */
