/*
 * weft_haste.h - how much sooner than they must batches of home queues shall end.
 *
 * What is idle may as well be used: the more of it there is, the sooner a batch shall end, so that
 * there is time for what goes wrong. Where units have a price, only part of the time is bought, and
 * less of it the closer batches keep to their plans and the fewer jobs are late. Where they cost
 * nothing, all of it is taken while half of them are idle, and the more of a device for each batch,
 * the more are idle.
 */
#ifndef POLICY_WEFT_HASTE_H
#define POLICY_WEFT_HASTE_H

#include "policy/esg_search.h"

/* All units of devices are idle. */
enum { WEFT_IDLE_ONE = 1024 };

/* Units of devices that are free, of all, in 1024ths: as of up to 100 µs for each worker ago. */
int64_t weft_idle_share(const struct policy_input *input);

/* The same, on average over some starts: what a load that lasts leaves idle. */
int64_t weft_idle_mean(const struct policy_input *input);

/*
 * Whether the head of @queue, which will hardly be in time, may take what ends first: while much is
 * idle it is in nothing's way, and what was expected of it may be wrong.
 */
bool weft_may_rush(const struct policy_input *input, const struct queue_facts *queue);

/* By how much longer than expected workers take by their rows, on average, as of then as well. */
int64_t weft_slower(const struct policy_input *input);

/*
 * What a batch of @queue, of which @known is known, shall end within, where @target_ns is enough.
 */
int64_t weft_haste_ns(
    const struct policy_input *input, const struct queue_facts *queue,
    const struct esg_queue *known, int64_t target_ns);

/*
 * A job of this node has ended. If it was late while half of all units or more were idle, its
 * batches could have ended sooner.
 */
void weft_haste_note_job(const struct policy_input *input, bool is_late);

/* Which share of the jobs of this node with an SLO ended late of late, of WEFT_IDLE_ONE. */
int64_t weft_haste_missed(const struct policy_input *input);

/* A batch that shall end within @target_ns is off its plan by @off_ns: loads, links, slowness. */
void weft_haste_note(const struct policy_input *input, int64_t off_ns, int64_t target_ns);

#endif /* POLICY_WEFT_HASTE_H */
