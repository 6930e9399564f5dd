/*
 * weft_priced.h - which configs a batch may have where it has a price and is due at no time.
 *
 * Where no workflow has an SLO nothing says how long a job may take, and the cheapest configs take
 * long. So what is cheaper by a part may last longer by the same part: the smallest product counts,
 *
 *     price x (1 + run / time x held / items x busy / idle) x (time + score of the worker)
 *
 * with the price and the time of the config and of the rest of its group, what the batch holds of
 * devices of its kind, and what is then busy and idle of them: the fewer are idle, the more a
 * config counts that holds much (weft_quick.h).
 */
#ifndef POLICY_WEFT_PRICED_H
#define POLICY_WEFT_PRICED_H

#include "policy/esg_plan.h"
#include "policy/policy.h"

/* Whether it is so for the head of @queue, which was not put off. */
bool weft_priced_is_on(const struct policy_input *input, const struct queue_facts *queue);

/* The product for @path if what it takes is longer by @more_ns. */
double weft_priced_value(const struct search_path *path, int64_t more_ns);

/*
 * For a batch of @queue, of which @known is known: of each kind of device the configs with the
 * smallest products while nothing waits. Their costs are the first two factors.
 */
void weft_priced_find(
    const struct policy_input *input, const struct queue_facts *queue,
    const struct esg_queue *known, struct search_answer *answer_out);

#endif /* POLICY_WEFT_PRICED_H */
