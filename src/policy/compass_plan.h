/*
 * compass_plan.h - the plan of a whole job: tasks by upward rank, each where it costs least.
 */
#ifndef POLICY_COMPASS_PLAN_H
#define POLICY_COMPASS_PLAN_H

#include "policy/compass_cost.h"

/* Choose a worker for every task of @job; leave all unbound if no worker is usable. */
void compass_plan(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out);

#endif /* POLICY_COMPASS_PLAN_H */
