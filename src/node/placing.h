/*
 * placing.h - choosing workers for the tasks of a job, at its owner: the first time,
 * and again for what was lost.
 */
#ifndef NODE_PLACING_H
#define NODE_PLACING_H

#include "node/inside.h"

/* Place job @slot, reserve, and send its inputs off. REASON_NONE, or why no worker can run it. */
enum reason placing_first(struct node *node, uint32_t slot, const struct job_facts *facts);

/*
 * Find other workers for tasks of job @slot that were on nodes which are gone, and for
 * @failed if it is a task, and run the job again from its inputs, under a new attempt.
 * What still waits or runs where it was, and is where the new placement wants it, is not
 * run twice. Returns whether anything had been lost. Ends the job after too many attempts.
 * A job with a deputy waits until that knows of the failed attempt.
 */
bool placing_again(struct node *node, uint32_t slot, uint32_t failed);

/* Job @slot waits for its deputy no longer. */
void placing_go_on(struct node *node, uint32_t slot);

/* Nothing of job @slot can be found anywhere: run it again where it was placed. */
void placing_silent(struct node *node, uint32_t slot);

/* What policies are told of @job. */
struct job_facts job_facts(const struct node *node, const struct job *job);

#endif /* NODE_PLACING_H */
