/*
 * esg_warm.h - how fast queues fill: what to load ahead, and whether more items are worth
 * waiting for.
 *
 * A node sees what joins its own queues. The time between two items is averaged with weights
 * that fall off exponentially.
 */
#ifndef POLICY_ESG_WARM_H
#define POLICY_ESG_WARM_H

#include "base/units.h"
#include "policy/esg_search.h"

enum { ESG_QUEUES_MAX = 1024 }; /* Of others, no rate is kept. */

#define ESG_TICK_NS (50 * NS_PER_MS)

struct esg_pace {
    int64_t last_ns; /* When something last joined the queue; 0: never. */
    int64_t gap_ns;  /* Between two items; 0: not known yet. */
};

struct esg_state {
    struct esg_pace paces[ESG_QUEUES_MAX];
};

/* @items have come, at least one. */
void esg_pace_note(struct esg_pace *pace, uint32_t items, int64_t now_ns);

/* @items have joined queue @number. */
void esg_warm_note(const struct policy_input *input, uint32_t number, uint32_t items);

/*
 * Until when the head of @queue should wait for more items, given what was found for those
 * that are there: 0 if not at all. What is there stays in time.
 */
int64_t esg_warm_wait(
    const struct policy_input *input, const struct queue_facts *queue,
    const struct esg_found *found);

/* Load models of queues that will soon need them, where no worker is ready for them. */
void esg_warm_tick(const struct policy_input *input, struct tick_answer *answer_out);

#endif /* POLICY_ESG_WARM_H */
