/*
 * weft_ahead.h - how much of what waits at a worker comes after a task that joins it.
 *
 * Queues are in the order of keys, so a task need not wait for all that a worker has to do. Rows
 * say how much waits, and the first and the last key; what lies between them is taken to be spread
 * evenly. But whatever the task comes before has to wait for it: run time times tasks. So only what
 * runs for less long than those behind it gains by coming first, and the sum of all waits is least.
 */
#ifndef POLICY_WEFT_AHEAD_H
#define POLICY_WEFT_AHEAD_H

#include "view/view.h"

/*
 * By how much less than for all that @worker has to do a task with @key_ns, which runs for @run_ns,
 * waits there, less what it makes those behind it wait; at least 0.
 */
int64_t weft_ahead_ns(const struct view *view, uint32_t worker, int64_t key_ns, int64_t run_ns);

#endif /* POLICY_WEFT_AHEAD_H */
