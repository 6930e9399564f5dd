/* compare_fairness.h - how each workflow fares under each policy, as a table. */
#ifndef CLI_COMPARE_FAIRNESS_H
#define CLI_COMPARE_FAIRNESS_H

#include <stdio.h>

#include "lab/compare_plan.h"

/* How workflows fare under @policy of @group: means, and sums of counts, over its runs. */
void compare_fairness_of(
    const struct compare_plan *plan, const struct compare_group *group, uint32_t policy,
    struct fairness *fairness_out);

/* Say what share of SLOs was met by priority, if workflows differ in it. */
void compare_fairness_note(const struct fairness *fairness, const char *policy, FILE *file);

/* Print @group of @plan: means over the runs that have a result. */
void compare_fairness_print(
    const struct compare_plan *plan, const struct compare_group *group, FILE *file);

#endif /* CLI_COMPARE_FAIRNESS_H */
