/*
 * compass_siblings.h - the other branches of a fork, while one of them is sent.
 *
 * Siblings are the tasks that wait for the same output alone. All of them are sent at the
 * same moment, one after the other, and each may be adjusted.
 */
#ifndef POLICY_COMPASS_SIBLINGS_H
#define POLICY_COMPASS_SIBLINGS_H

#include "policy/compass_cost.h"

/*
 * Take the siblings of @facts from what @rows, one per worker, have promised and put them to
 * what is there: in full if the fork has more branches than workers that can run them, else
 * @promised_64ths of each. A row that is not usable stays as it is.
 */
void compass_count_siblings(
    const struct policy_input *input, const struct task_facts *facts, int64_t promised_64ths,
    struct compass_row *rows);

#endif /* POLICY_COMPASS_SIBLINGS_H */
