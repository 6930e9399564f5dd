/*
 * esg_search.h - which configs esg would run the head of a queue with, and by which rule.
 */
#ifndef POLICY_ESG_SEARCH_H
#define POLICY_ESG_SEARCH_H

#include "policy/esg_plan.h"

/* How the target of a search came about. */
enum esg_rule {
    ESG_ON_TIME,  /* Within the budget of the group. */
    ESG_BORROWED, /* Beyond it, but the deadline can be met if later groups are fast. */
    ESG_HURRIED,  /* It can hardly be met: as fast as possible. */
    ESG_GIVEN_UP, /* It cannot: as cheap as for a job that is on time. */
};

struct esg_found {
    enum esg_rule rule;
    int64_t target_ns; /* What paths were to end within. */
    struct search_answer answer;
};

/* The configs for a batch of at most @batch_max items, the best first: at least one. */
void esg_search(
    const struct policy_input *input, const struct queue_facts *queue, uint32_t batch_max,
    uint32_t path_count, struct esg_found *found_out);

/* The queue that @facts are about. */
const struct esg_queue *esg_queue(
    const struct policy_input *input, uint32_t workflow, uint32_t task);

#endif /* POLICY_ESG_SEARCH_H */
