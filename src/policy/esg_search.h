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
    int64_t rest;      /* As it was asked for. */
    int64_t target_ns; /* What paths were to end within. */
    int64_t wish_ns;   /* What they do end within, if that is nearer. */
    struct search_answer answer;
};

/* How long the head of @queue may still take until its group ends; ESG_ANY_TIME_NS: any time. */
int64_t esg_target_ns(const struct policy_input *input, const struct queue_facts *queue);

/* What is asked for. */
struct esg_wish {
    uint32_t path_count;
    int64_t target_ns; /* Within which the group should end. */
    int64_t end_ns;    /* Paths that end within this come first, if any do. */
    int64_t rest;      /* What follows the head takes: search.h. */
    bool hurries;      /* Nothing is given up: what cannot be in time ends as soon as it can. */
};

/*
 * The items of the largest batch that @queue may run: as many as wait or, if its head has more than
 * were measured together until then, those of the next config.
 */
uint32_t esg_most_items(const struct esg_queue *known, const struct queue_facts *queue);

/* Longer than any deadline, with room to add to it. */
#define ESG_ANY_TIME_NS (INT64_MAX / 8)

/* The configs for a batch of what waits, the best first: at least one. */
void esg_search(
    const struct policy_input *input, const struct queue_facts *queue, const struct esg_wish *wish,
    struct esg_found *found_out);

/* The queue that @facts are about. */
const struct esg_queue *esg_queue(
    const struct policy_input *input, uint32_t workflow, uint32_t task);

#endif /* POLICY_ESG_SEARCH_H */
