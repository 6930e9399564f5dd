/*
 * weft_give_up.h - which jobs weft gives up or puts off, because they can no longer be in time.
 *
 * All jobs are admitted: whether one will be in time is hard to say before it has begun, and a job
 * that is refused for nothing is lost. What will probably be late costs others their time, so it
 * is put off: it waits behind what will not. If even the fastest rest of a job would be later than
 * a deadline that its client has named, it ends.
 */
#ifndef POLICY_WEFT_GIVE_UP_H
#define POLICY_WEFT_GIVE_UP_H

#include "policy/policy.h"

struct admission weft_admit(const struct policy_input *input, const struct job_facts *job);
void weft_answered(const struct policy_input *input, const struct answered_facts *job);
enum hope weft_hope(const struct policy_input *input, const struct ready_facts *task);

#endif /* POLICY_WEFT_GIVE_UP_H */
