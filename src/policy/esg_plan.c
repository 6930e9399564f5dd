/*
 * esg_plan.c - configs, fronts and budgets of every queue, made before the first job.
 */
#include "policy/esg_plan.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/numbers.h"
#include "configs/budget.h"
#include "policy/fit.h"

__extension__ typedef __int128 esg_product;

int64_t esg_scaled(int64_t time_ns, int64_t part_ns)
{
    return (int64_t)((esg_product)time_ns * part_ns / ESG_WHOLE_NS);
}

/* What one stage waits for beside its run: its ticket to the home, and the order back. */
static int64_t overhead_ns(const struct fleet *fleet)
{
    return 2 * fleet->network.latency_ns;
}

/* The smallest batch of @stage above @batch; UINT32_MAX: none. */
static uint32_t next_batch(const struct search_stage *stage, uint32_t batch)
{
    uint32_t next = UINT32_MAX;
    for (uint32_t i = 0; i < stage->count; i++) {
        const uint32_t other = stage->choices[i].batch;
        next = other > batch ? min_u32(other, next) : next;
    }
    return next;
}

/* The level of @batch; @choices_out, unless it is NULL, has room for its choices. */
static uint32_t cut_level(
    const struct search_stage *stage, uint32_t batch, struct search_choice *choices_out)
{
    int64_t cost = INT64_MAX; /* Of the last one that stayed: the next ones are slower. */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < stage->count; i++) {
        const struct search_choice *choice = &stage->choices[i];
        if (choice->batch <= batch && choice->cost < cost) {
            cost = choice->cost;
            if (choices_out != NULL) {
                choices_out[kept] = *choice;
            }
            kept++;
        }
    }
    return kept;
}

/* Choices for @batch items are followed by what follows @level. */
static void number_fronts(struct esg_queue *queue, uint32_t batch, uint32_t level)
{
    for (uint32_t i = 0; i < queue->configs.count; i++) {
        struct search_choice *choice = &queue->configs.weights[i];
        choice->front = choice->batch == batch ? level : choice->front;
    }
}

static void prepare_levels(struct arena *arena, struct esg_queue *queue, bool is_together)
{
    const struct search_stage *stage = &queue->stage;
    uint32_t count = 0;
    for (uint32_t at = next_batch(stage, 0); at != UINT32_MAX; at = next_batch(stage, at)) {
        count++;
    }
    queue->levels = arena_alloc(arena, count * sizeof(*queue->levels));
    queue->level_count = count;
    uint32_t batch = 0;
    for (uint32_t i = 0; i < count; i++) {
        batch = next_batch(stage, batch);
        if (is_together) {
            number_fronts(queue, batch, i);
        }
        const uint32_t kept = cut_level(stage, batch, NULL);
        struct search_choice *choices = arena_alloc(arena, kept * sizeof(*choices));
        (void)cut_level(stage, batch, choices);
        queue->levels[i] = (struct esg_level){
            .batch = batch,
            .stage = {.count = kept, .choices = choices, .extra_ns = stage->extra_ns},
        };
    }
}

static void collect(
    struct arena *arena, const struct plan_input *input, const struct workflow *workflow,
    struct esg_queue *queues, struct configs *tables)
{
    const struct configs_rules rules = {
        .whole = input->options[ESG_SHARE] == 0,
        .single = input->options[ESG_BATCH] == 0,
        .margin = input->options[ESG_MARGIN],
    };
    for (uint32_t task = 0; task < workflow->task_count; task++) {
        struct esg_queue *queue = &queues[task];
        configs_collect(
            arena, input->fleet, input->profile, &workflow->tasks[task], &rules, &queue->configs);
        queue->bytes_per_item = fit_bytes_per_item(workflow, task);
        if (input->options[ESG_TRANSFERS] != 0) {
            queue->transfer_ns = fleet_transfer_ns(
                input->fleet, 0, input->fleet->node_count - 1, queue->bytes_per_item);
        }
        queue->stage = (struct search_stage){
            .count = queue->configs.count,
            .choices = queue->configs.weights,
            .extra_ns = overhead_ns(input->fleet) + queue->transfer_ns,
        };
        for (uint32_t i = 0; i < queue->configs.count; i++) {
            const uint32_t batch = queue->configs.weights[i].batch;
            queue->batch_max = max_u32(batch, queue->batch_max);
        }
        prepare_levels(arena, queue, input->options[ESG_TOGETHER] != 0);
        tables[task] = queue->configs;
    }
}

/* The longest way from each task on, all as fast as can be. */
static void measure_tails(const struct workflow *workflow, struct esg_queue *queues)
{
    for (uint32_t i = workflow->task_count; i-- > 0;) {
        const uint32_t task = workflow->order[i];
        int64_t after_ns = 0;
        for (uint32_t out = 0; out < workflow->tasks[task].out_count; out++) {
            const uint32_t to = workflow_out(workflow, task, out)->to;
            after_ns = max_i64(queues[to].tail_ns, after_ns);
        }
        queues[task].after_ns = after_ns;
        queues[task].tail_ns =
            after_ns + queues[task].configs.weights[0].time_ns + queues[task].stage.extra_ns;
    }
}

/* The choices of @stage for at most @batch items; all of them if there are none. */
static struct search_stage cut_batches(
    struct arena *arena, const struct search_stage *stage, uint32_t batch)
{
    struct search_choice *choices = arena_alloc(arena, stage->count * sizeof(*choices));
    uint32_t kept = 0;
    for (uint32_t i = 0; i < stage->count; i++) {
        choices[kept] = stage->choices[i];
        kept += stage->choices[i].batch <= batch ? 1 : 0;
    }
    const struct search_stage cut = {
        .count = kept, .choices = choices, .extra_ns = stage->extra_ns};
    return kept > 0 ? cut : *stage;
}

/*
 * What follows each level of @queue, which @count @stages do: what runs together stays together, so
 * that later batches are not larger.
 */
static void prepare_rests(
    struct arena *arena, struct esg_queue *queue, const struct search_stage *stages, uint32_t count)
{
    struct search_stage cut[SEARCH_STAGES_MAX] = {{0}};
    struct search_chain chain;
    queue->rests = arena_alloc(arena, queue->level_count * sizeof(*queue->rests));
    for (uint32_t level = 0; level < queue->level_count; level++) {
        const uint32_t batch = queue->levels[level].batch;
        for (uint32_t i = 0; i < count; i++) {
            cut[i] = cut_batches(arena, &stages[i], batch);
        }
        search_prepare(arena, cut, count, /* horizon_ns */ INT64_MAX / 4, &chain);
        queue->rests[level] = chain.fronts[0];
    }
}

/* Sum up the group that begins with @task, for each of its members. */
static void prepare_group(
    struct arena *arena, const struct budget_task *budgets, struct esg_queue *queues, uint32_t task,
    bool is_together)
{
    struct search_stage stages[SEARCH_STAGES_MAX] = {{0}};
    struct search_chain chain;
    uint32_t members[SEARCH_STAGES_MAX];
    uint32_t count = 0;
    for (uint32_t at = task; at != TASK_NONE; at = budgets[at].next) {
        members[count] = at;
        stages[count++] = queues[at].stage;
    }
    ASSERT(count > 0);
    const uint32_t last = members[count - 1];
    search_prepare(arena, stages, count, /* horizon_ns */ INT64_MAX / 4, &chain);
    for (uint32_t i = 0; i < count; i++) {
        struct esg_queue *queue = &queues[members[i]];
        if (is_together) {
            prepare_rests(arena, queue, stages + i + 1, count - i - 1);
        } else {
            queue->rests = arena_alloc(arena, sizeof(*queue->rests));
            queue->rests[0] = chain.fronts[i + 1];
        }
        queue->next = budgets[members[i]].next;
        queue->group_start_ns = budgets[members[i]].start_ns;
        queue->end_ns = budgets[members[i]].end_ns;
        queue->group_end_ns = budgets[last].end_ns;
        queue->after_ns = queues[last].after_ns;
    }
}

/* A plan made once: of each group the cheapest path within its share of the SLO. */
static void plan_once(
    const struct workflow *workflow, const struct budget_task *budgets, struct esg_queue *queues,
    uint32_t task)
{
    const int64_t slo_ns = workflow->slo_ns == 0 ? INT64_MAX / 8 : workflow->slo_ns;
    int64_t left_ns = esg_scaled(slo_ns, queues[task].group_end_ns - queues[task].group_start_ns);
    for (uint32_t at = task; at != TASK_NONE; at = budgets[at].next) {
        const struct search_query query = {
            .target_ns = max_i64(left_ns, 1), .batch_max = UINT32_MAX, .path_count = 1};
        struct search_answer answer;
        search_best(&queues[at].stage, queues[at].rests, &query, &answer);
        queues[at].planned = answer.paths[0].first;
        left_ns -= queues[at].configs.weights[queues[at].planned].time_ns;
        left_ns -= queues[at].stage.extra_ns;
    }
}

static void plan_workflow(
    struct arena *arena, const struct plan_input *input, const struct workflow *workflow,
    struct esg_queue *queues)
{
    const uint32_t count = workflow->task_count;
    struct configs *tables = arena_alloc(arena, count * sizeof(*tables));
    struct budget_task *budgets = arena_alloc(arena, count * sizeof(*budgets));
    int64_t *lengths = arena_alloc(arena, count * sizeof(*lengths));
    const uint32_t group_max = (uint32_t)input->options[ESG_GROUP];
    collect(arena, input, workflow, queues, tables);
    configs_lengths(tables, count, lengths);
    for (uint32_t task = 0; task < count && input->options[ESG_SPLIT] == 0; task++) {
        lengths[task] = 1;
    }
    budget_split(workflow, lengths, ESG_WHOLE_NS, group_max, budgets);
    measure_tails(workflow, queues);
    for (uint32_t i = count; i-- > 0;) { /* Heads of groups: they reach all the others. */
        const uint32_t task = workflow->order[i];
        bool is_head = true;
        for (uint32_t in = 0; in < workflow->tasks[task].in_count; in++) {
            is_head &= budgets[workflow_in(workflow, task, in)->from].next != task;
        }
        if (is_head) {
            prepare_group(arena, budgets, queues, task, input->options[ESG_TOGETHER] != 0);
            plan_once(workflow, budgets, queues, task);
        }
    }
}

const void *esg_plan(struct arena *arena, const struct plan_input *input)
{
    const struct catalogue *catalogue = input->catalogue;
    struct esg_plan *plan = arena_alloc(arena, sizeof(*plan));
    plan->queues = arena_alloc(arena, catalogue->queue_count * sizeof(*plan->queues));
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        plan_workflow(arena, input, workflow, plan->queues + workflow->queue_first);
    }
    return plan;
}
