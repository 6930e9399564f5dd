/*
 * esg_search.c - targets of a queue's head, and what to do when none can be met.
 */
#include "policy/esg_search.h"

#include "base/assert.h"
#include "base/numbers.h"

/* Longer than any deadline, with room to add to it. */
#define ANY_TIME_NS (INT64_MAX / 8)

/* An estimate that is missed by less than this share may still turn out to be met. */
enum { GRACE_DIVISOR = 10 };

const struct esg_queue *esg_queue(
    const struct policy_input *input, uint32_t workflow, uint32_t task)
{
    const struct esg_plan *plan = input->plan;
    return &plan->queues[input->catalogue->workflows[workflow]->queue_first + task];
}

/* How long the head of @queue may still take until its group ends. INT64_MAX / 8: any time. */
static int64_t target_ns_of(
    const struct policy_input *input, const struct queue_facts *queue,
    const struct esg_queue *known)
{
    if (queue->head_deadline_ns == INT64_MAX) {
        return ANY_TIME_NS;
    }
    const int64_t whole_ns = queue->head_deadline_ns - queue->head_arrived_ns;
    return queue->head_arrived_ns + esg_scaled(whole_ns, known->group_end_ns) - input->view->now_ns;
}

/* Search for paths within @target_ns; with no choice of that size, one for more items. */
static void ask(
    const struct esg_queue *known, const struct queue_facts *queue, struct search_query query,
    struct search_answer *answer_out)
{
    const uint32_t head = queue->head_items;
    query.batch_min = min_u32(head, known->batch_max);
    search_best(&known->stage, &known->rest, &query, answer_out);
    if (answer_out->count == 0) {
        query.batch_max = UINT32_MAX;
        search_best(&known->stage, &known->rest, &query, answer_out);
    }
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
    const struct policy_input *input, const struct queue_facts *queue, uint32_t batch_max,
    uint32_t path_count, struct esg_found *found_out)
{
    const struct esg_queue *known = esg_queue(input, queue->workflow, queue->task);
    struct search_query query = {
        .target_ns = target_ns_of(input, queue, known),
        .batch_max = batch_max,
        .path_count = path_count,
    };
    found_out->target_ns = query.target_ns;
    if (input->options[ESG_ADAPT] == 0) {
        take_planned(known, found_out);
        return;
    }
    found_out->rule = ESG_ON_TIME;
    ask(known, queue, query, &found_out->answer);
    if (found_out->answer.rule == SEARCH_MET) {
        return;
    }
    const int64_t left_ns = queue->head_deadline_ns - input->view->now_ns;
    query.target_ns = left_ns - known->after_ns;
    found_out->target_ns = query.target_ns;
    if (query.target_ns > 0) {
        ask(known, queue, query, &found_out->answer);
        found_out->rule = found_out->answer.rule == SEARCH_MET ? ESG_BORROWED : ESG_HURRIED;
    }
    if (query.target_ns > 0 && left_ns >= known->tail_ns - known->tail_ns / GRACE_DIVISOR) {
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
