/*
 * esg_warm.c - how fast queues fill, and what follows from it.
 */
#include "policy/esg_warm.h"

#include "base/assert.h"
#include "base/numbers.h"
#include "policy/choose.h"
#include "policy/fit.h"

/* A new gap counts one part in this many. */
enum { GAP_WEIGHT = 8 };

/* A cost that is less than 19 parts in 20 of the other is worth waiting for. */
enum { WORTH_OF = 20 };

/* In one case of so many nothing comes in the time that was waited for it: in e by mere chance. */
enum { NEVER_OF = 4 };

void esg_pace_note(struct esg_pace *pace, uint32_t items, int64_t now_ns)
{
    if (pace->last_ns != 0) {
        const int64_t gap_ns = (now_ns - pace->last_ns) / items;
        pace->gap_ns += (gap_ns - pace->gap_ns) / (pace->gap_ns == 0 ? 1 : GAP_WEIGHT);
    }
    pace->last_ns = now_ns;
}

void esg_warm_note(const struct policy_input *input, uint32_t number, uint32_t items)
{
    struct esg_state *state = input->state;
    if (number < ESG_QUEUES_MAX && items > 0) {
        esg_pace_note(&state->paces[number], items, input->view->now_ns);
    }
}

/*
 * The time to the next item, if it is known. A silence stretches it: two items that came at once
 * are not a reason to look for a third one every few nanoseconds, for as long as none comes.
 */
static int64_t gap_of(const struct policy_input *input, uint32_t number)
{
    const struct esg_state *state = input->state;
    if (number >= ESG_QUEUES_MAX || state->paces[number].gap_ns == 0) {
        return 0;
    }
    const struct esg_pace *pace = &state->paces[number];
    const int64_t silence_ns = (input->view->now_ns - pace->last_ns) / GAP_WEIGHT;
    return max_i64(silence_ns, pace->gap_ns);
}

/* What the head of @queue may run with if there are @items. */
static struct search_stage stage_for(
    const struct esg_queue *known, const struct queue_facts *queue, uint32_t items)
{
    if (queue->head_items > known->levels[0].batch) {
        return known->stage; /* It needs a larger batch than a level may be left with. */
    }
    uint32_t level = 0;
    while (level + 1 < known->level_count && known->levels[level + 1].batch <= items) {
        level++;
    }
    return known->levels[level].stage;
}

/* The cost of the cheapest path in time; INT64_MAX if there is none. */
static int64_t least_cost(
    const struct search_stage *stage, const struct search_front *rests,
    const struct search_query *query)
{
    struct search_answer answer;
    search_best(stage, rests, query, &answer);
    return answer.count > 0 && answer.rule == SEARCH_MET ? answer.paths[0].cost : INT64_MAX;
}

int64_t esg_warm_wait(
    const struct policy_input *input, const struct queue_facts *queue,
    const struct esg_found *found)
{
    const struct esg_queue *known = esg_queue(input, queue->workflow, queue->task);
    const uint32_t first = input->catalogue->workflows[queue->workflow]->queue_first;
    const int64_t gap_ns = gap_of(input, first + queue->task);
    if (gap_ns == 0 || found->rule != ESG_ON_TIME || queue->head_deadline_ns == INT64_MAX) {
        return 0;
    }
    int64_t best = found->answer.paths[0].cost;
    best -= best / WORTH_OF;
    int64_t best_ns = 0;
    const struct search_stage now = stage_for(known, queue, queue->items);
    for (uint32_t more = 1; queue->items + more <= known->batch_max; more *= 2) {
        const int64_t wait_ns = gap_ns * more;
        struct search_query query = {
            .target_ns = found->wish_ns - wait_ns - known->transfer_ns * more,
            .batch_min = min_u32(queue->head_items, known->batch_max),
            .batch_max = queue->items,
            .path_count = 1,
            .rest = found->rest,
        };
        if (query.target_ns <= 0 || !search_is_met(&now, known->rests, &query)) {
            break; /* What is there would not be in time if nothing came. */
        }
        query.batch_max = queue->items + more;
        const struct search_stage then = stage_for(known, queue, query.batch_max);
        int64_t cost = least_cost(&then, known->rests, &query);
        if (input->options[ESG_TOGETHER] != 0 && cost != INT64_MAX) {
            query.batch_max = queue->items;
            const int64_t alone = least_cost(&now, known->rests, &query);
            cost += (alone - cost) / NEVER_OF;
        }
        if (cost < best) {
            best = cost;
            best_ns = wait_ns;
        }
    }
    return best_ns == 0 ? 0 : input->view->now_ns + best_ns;
}

/* How many workers hold the models of @task, and which of the others has most room. */
static uint32_t count_ready(
    const struct policy_input *input, const struct workflow_task *task, uint32_t *roomiest_out)
{
    const struct view *view = input->view;
    uint32_t ready = 0;
    uint64_t most_bytes = 0;
    const struct need need = need_of(input->profile, task, /* items */ 1);
    *roomiest_out = WORKER_NONE;
    for (uint32_t worker = 0; worker < view->fleet->worker_count; worker++) {
        if (!choose_can_use(view, worker, need)) {
            continue;
        }
        if (fit_load_ns(input, task, worker) == 0) {
            ready++;
        } else if (view_cache(view, worker)->free_bytes > most_bytes) {
            most_bytes = view_cache(view, worker)->free_bytes;
            *roomiest_out = worker;
        }
    }
    return ready;
}

/* How many devices the queue keeps busy if each batch has its planned config. */
static uint32_t devices_busy(const struct esg_queue *known, int64_t gap_ns)
{
    const struct configs_choice *choice = &known->configs.choices[known->planned];
    const int64_t per_item_ns = choice->run_ns / choice->config.batch + 1;
    return 1 + (uint32_t)(per_item_ns / gap_ns);
}

static void warm_queue(
    const struct policy_input *input, const struct workflow *workflow, uint32_t task,
    struct tick_answer *answer)
{
    const struct workflow_task *vertex = &workflow->tasks[task];
    const struct esg_state *state = input->state;
    const uint32_t number = workflow->queue_first + task;
    const struct esg_pace *pace = &state->paces[number];
    const int64_t idle_ns = input->view->now_ns - pace->last_ns;
    if (pace->gap_ns == 0 || vertex->model_count == 0 || idle_ns > 32 * pace->gap_ns) {
        return; /* Nothing is known of it, or it has run dry. */
    }
    uint32_t roomiest;
    const struct esg_plan *plan = input->plan;
    const struct esg_queue *known = &plan->queues[number];
    const uint32_t wanted = devices_busy(known, pace->gap_ns);
    if (count_ready(input, vertex, &roomiest) >= wanted || roomiest == WORKER_NONE) {
        return;
    }
    for (uint32_t i = 0; i < vertex->model_count && answer->warm_count < TICK_WARMS_MAX; i++) {
        if (!view_holds_model(input->view, roomiest, vertex->models[i])) {
            answer->warms[answer->warm_count++] =
                (struct warm){.worker = roomiest, .model = vertex->models[i]};
        }
    }
}

void esg_warm_tick(const struct policy_input *input, struct tick_answer *answer_out)
{
    if (input->options[ESG_PREWARM] == 0) {
        return;
    }
    for (uint32_t i = 0; i < input->catalogue->workflow_count; i++) {
        const struct workflow *workflow = input->catalogue->workflows[i];
        for (uint32_t task = 0; task < workflow->task_count; task++) {
            if (workflow->queue_first + task < ESG_QUEUES_MAX) {
                warm_queue(input, workflow, task, answer_out);
            }
        }
    }
}
