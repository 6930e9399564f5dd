#include "policy/weft_split.h"

#include "policy/weft_home.h"
#include "policy/weft_options.h"

/* What some tasks of a workflow take together. */
struct span {
    int64_t planned; /* In WEFT_LEARN_ONE parts of ESG_WHOLE_NS. */
    int64_t learnt;
};

int64_t weft_split_model(const struct policy_input *input, uint32_t model)
{
    const struct weft_state *state = input->state;
    return input->options[WEFT_LEARN] != 0 ? weft_learnt_model(&state->learn, model)
                                           : WEFT_LEARN_ONE;
}

/* Whether the time is divided as was planned. */
static bool is_as_planned(const struct policy_input *input)
{
    const struct weft_state *state = input->state;
    return input->options[WEFT_LEARN] == 0 || weft_learnt_models_are_right(&state->learn);
}

static const struct esg_queue *queues_of(
    const struct policy_input *input, const struct workflow *workflow)
{
    const struct weft_plan *plan = input->plan;
    return &plan->esg->queues[workflow->queue_first];
}

static void add(
    const struct policy_input *input, const struct workflow *workflow, uint32_t task,
    struct span *span)
{
    const struct esg_queue *known = &queues_of(input, workflow)[task];
    const int64_t share_ns = known->end_ns - known->group_start_ns;
    span->planned += share_ns * WEFT_LEARN_ONE;
    span->learnt += share_ns * weft_split_model(input, workflow->tasks[task].run);
}

/* The tasks of the group of @task from it on. */
static struct span span_from(
    const struct policy_input *input, const struct workflow *workflow, uint32_t task)
{
    struct span span = {0};
    for (; task != TASK_NONE; task = queues_of(input, workflow)[task].next) {
        add(input, workflow, task, &span);
    }
    return span;
}

static double ratio_of(const struct span *span)
{
    return span->planned == 0 ? 1 : (double)span->learnt / (double)span->planned;
}

/* Where the group of @task ends, of ESG_WHOLE_NS: what was planned to come before and after it. */
static int64_t end_of(
    const struct policy_input *input, const struct workflow *workflow, uint32_t task)
{
    const struct esg_queue *queues = queues_of(input, workflow);
    const int64_t start_ns = queues[task].group_start_ns;
    const int64_t end_ns = queues[task].group_end_ns;
    const struct span within = span_from(input, workflow, task);
    struct span before = {0};
    struct span after = {0};
    for (uint32_t other = 0; other < workflow->task_count; other++) {
        if (queues[other].end_ns <= start_ns) {
            add(input, workflow, other, &before);
        } else if (queues[other].group_start_ns >= end_ns) {
            add(input, workflow, other, &after);
        }
    }
    const double until =
        (double)start_ns * ratio_of(&before) + (double)(end_ns - start_ns) * ratio_of(&within);
    const double whole = until + (double)(ESG_WHOLE_NS - end_ns) * ratio_of(&after);
    return (int64_t)(until / whole * (double)ESG_WHOLE_NS);
}

int64_t weft_split_target_ns(const struct policy_input *input, const struct queue_facts *queue)
{
    if (queue->head_deadline_ns == INT64_MAX) {
        return ESG_ANY_TIME_NS;
    }
    const struct workflow *workflow = input->catalogue->workflows[queue->workflow];
    const int64_t whole_ns = queue->head_deadline_ns - queue->head_arrived_ns;
    const int64_t end_ns = is_as_planned(input)
                               ? queues_of(input, workflow)[queue->task].group_end_ns
                               : end_of(input, workflow, queue->task);
    return queue->head_arrived_ns + esg_scaled(whole_ns, end_ns) - input->view->now_ns;
}

int64_t weft_split_rest(const struct policy_input *input, const struct queue_facts *queue)
{
    if (is_as_planned(input)) {
        return SEARCH_REST_ONE;
    }
    const struct workflow *workflow = input->catalogue->workflows[queue->workflow];
    const uint32_t next = queues_of(input, workflow)[queue->task].next;
    const struct span rest = span_from(input, workflow, next);
    const int64_t head = weft_split_model(input, workflow->tasks[queue->task].run);
    return (int64_t)(ratio_of(&rest) * SEARCH_REST_ONE * WEFT_LEARN_ONE / (double)head);
}
