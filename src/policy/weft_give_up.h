/*
 * weft_give_up.h - which jobs weft gives up or puts off, because they can no longer be in time.
 *
 * All jobs are admitted: whether one will be in time is hard to say before it has begun, and a job
 * that is refused for nothing is lost. What has waited until even the fastest rest of its job
 * would be late costs others their time. If its client has named a deadline the job ends before
 * it runs; if only an SLO is missed it gives way to others, as if it had a lower priority.
 */
#ifndef POLICY_WEFT_GIVE_UP_H
#define POLICY_WEFT_GIVE_UP_H

#include "policy/policy.h"

struct admission weft_admit(const struct policy_input *input, const struct job_facts *job);
void weft_answered(const struct policy_input *input, const struct answered_facts *job);
enum hope weft_hope(const struct policy_input *input, const struct ready_facts *task);

#endif /* POLICY_WEFT_GIVE_UP_H */
