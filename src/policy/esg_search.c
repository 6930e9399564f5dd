/*
 * esg_search.c - targets of a queue's head, and what to do when none can be met.
 */
#include "policy/esg_search.h"

#include "base/assert.h"
#include "base/numbers.h"

/* An estimate that is missed by less than this share may still turn out to be met. */
enum { GRACE_DIVISOR = 10 };

const struct esg_queue *esg_queue(
    const struct policy_input *input, uint32_t workflow, uint32_t task)
{
    const struct esg_plan *plan = input->plan;
    return &plan->queues[input->catalogue->workflows[workflow]->queue_first + task];
}

int64_t esg_target_ns(const struct policy_input *input, const struct queue_facts *queue)
{
    const struct esg_queue *known = esg_queue(input, queue->workflow, queue->task);
    if (queue->head_deadline_ns == INT64_MAX) {
        return ESG_ANY_TIME_NS;
    }
    const int64_t whole_ns = queue->head_deadline_ns - queue->head_arrived_ns;
    return queue->head_arrived_ns + esg_scaled(whole_ns, known->group_end_ns) - input->view->now_ns;
}

uint32_t esg_most_items(const struct esg_queue *known, const struct queue_facts *queue)
{
    const uint32_t head = min_u32(queue->head_items, known->batch_max);
    uint32_t level = 0;
    while (known->levels[level].batch < head) {
        level++;
    }
    return max_u32(queue->items, known->levels[level].batch);
}

/* Search for paths within @target_ns; with no choice of that size, one for more items. */
static void ask(
    const struct esg_queue *known, const struct queue_facts *queue, struct search_query query,
    struct search_answer *answer_out)
{
    const uint32_t head = queue->head_items;
    query.batch_min = min_u32(head, known->batch_max);
    search_best(&known->stage, known->rests, &query, answer_out);
    if (answer_out->count == 0) {
        query.batch_max = UINT32_MAX;
        search_best(&known->stage, known->rests, &query, answer_out);
    }
}

/* Search for paths within @wish_ns that run what waits. False: there are none. */
static bool grant(
    const struct esg_queue *known, const struct queue_facts *queue,
    const struct search_query *query, int64_t wish_ns, struct search_answer *answer_out)
{
    struct search_query wish = *query;
    wish.target_ns = wish_ns;
    wish.batch_max = esg_most_items(known, queue);
    wish.batch_min = min_u32(queue->head_items, known->batch_max);
    search_best(&known->stage, known->rests, &wish, answer_out);
    return answer_out->count > 0 && answer_out->rule == SEARCH_MET;
}

/* The one config of a plan that is made once. */
static void take_planned(const struct esg_queue *known, struct esg_found *found_out)
{
    const struct search_choice *choice = &known->configs.weights[known->planned];
    found_out->rule = ESG_ON_TIME;
    found_out->answer.rule = SEARCH_MET;
    found_out->answer.count = 1;
    found_out->answer.paths[0] = (struct search_path){
        .first = known->planned,
        .rest = UINT32_MAX,
        .time_ns = choice->time_ns + known->stage.extra_ns,
        .cost = choice->cost,
    };
}

void esg_search(
    const struct policy_input *input, const struct queue_facts *queue, const struct esg_wish *wish,
    struct esg_found *found_out)
{
    const struct esg_queue *known = esg_queue(input, queue->workflow, queue->task);
    struct search_query query = {
        .target_ns = wish->target_ns,
        .batch_max = queue->items,
        .path_count = wish->path_count,
        .rest = wish->rest,
    };
    found_out->rest = wish->rest;
    found_out->target_ns = query.target_ns;
    found_out->wish_ns = query.target_ns;
    if (input->options[ESG_ADAPT] == 0) {
        take_planned(known, found_out);
        return;
    }
    found_out->rule = ESG_ON_TIME;
    if (wish->end_ns < query.target_ns &&
        grant(known, queue, &query, wish->end_ns, &found_out->answer)) {
        found_out->wish_ns = wish->end_ns;
        return;
    }
    ask(known, queue, query, &found_out->answer);
    if (found_out->answer.rule == SEARCH_MET) {
        return;
    }
    const int64_t left_ns = queue->head_deadline_ns - input->view->now_ns;
    query.target_ns = max_i64(left_ns - known->after_ns, wish->hurries ? 1 : INT64_MIN);
    found_out->target_ns = query.target_ns;
    if (query.target_ns > 0) {
        ask(known, queue, query, &found_out->answer);
        found_out->rule = found_out->answer.rule == SEARCH_MET ? ESG_BORROWED : ESG_HURRIED;
    }
    if (query.target_ns > 0 &&
        (wish->hurries || left_ns >= known->tail_ns - known->tail_ns / GRACE_DIVISOR)) {
        return;
    }
    /* Its speed helps no job: it runs as one that is on time, and is late. */
    const int64_t whole_ns = queue->head_deadline_ns - queue->head_arrived_ns;
    query.target_ns = esg_scaled(whole_ns, known->group_end_ns - known->group_start_ns);
    found_out->rule = ESG_GIVEN_UP;
    ask(known, queue, query, &found_out->answer);
    if (found_out->answer.rule != SEARCH_MET) {
        query.target_ns = 0;
        ask(known, queue, query, &found_out->answer);
    }
    ASSERT(found_out->answer.count > 0);
}
