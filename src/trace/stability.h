/*
 * stability.h - whether a run had reached a steady state, or only ended.
 *
 * A queue that is served fast enough keeps coming back to where it has been; one that is
 * not leaves every level for good. So the question is not whether the backlog is higher
 * towards the end, which in a busy but stable system it is half the time, but whether it
 * has returned. That needs no estimate of a variance, which for a long queue would itself
 * take longer than the run.
 */
#ifndef TRACE_STABILITY_H
#define TRACE_STABILITY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether the backlog stands still, from the number of jobs that each of @count arrivals
 * found in the system, in their order. It grows if one of these holds, by more than 8 jobs:
 *
 *   all of the last quarter found more than the mean over the first half had been,
 *   the first eighth left out because a system starts empty or cold;
 *
 *   all of the last eighth found more than any arrival of the first three quarters: what
 *   broke down late.
 *
 * At a load of r the backlog forgets in about 1 / (1 - r)^2 services. Runs much longer
 * than that are judged well on both sides of 1; shorter ones cannot be judged, and
 * their latencies do depend on how long they were.
 */
bool stability_of(const int64_t *backlogs, uint64_t count);

#endif /* TRACE_STABILITY_H */
