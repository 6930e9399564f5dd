/*
 * planned.c - configs that were chosen before the first job.
 */
#include "policy/baselines/planned.h"

#include "base/arena.h"
#include "base/numbers.h"
#include "base/units.h"

/* Without an SLO, a workflow may take this long. */
#define SLO_DEFAULT_NS (10 * NS_PER_S)

/* After so many rounds without room, the fewest units are tried. */
enum { RECHECKS_MAX = 3 };

int64_t planned_fill_ns(const struct configs_choice *choice, int64_t gap_ns)
{
    return (int64_t)(choice->config.batch - 1) * gap_ns;
}

static uint32_t smallest(const struct configs *configs)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < configs->count; i++) {
        const struct config *a = &configs->choices[i].config;
        const struct config *b = &configs->choices[best].config;
        const uint64_t size_a = (uint64_t)a->gpu << 40 | (uint64_t)a->cpu << 20 | a->batch;
        const uint64_t size_b = (uint64_t)b->gpu << 40 | (uint64_t)b->cpu << 20 | b->batch;
        best = size_a < size_b ? i : best;
    }
    return best;
}

static void plan_workflow(
    struct arena *arena, const struct plan_input *input, uint32_t number, planned_rule *rule,
    struct planned_queue *queues)
{
    static const struct configs_rules rules = {.whole = false};
    const struct workflow *workflow = input->catalogue->workflows[number];
    const uint32_t count = workflow->task_count;
    const double rate = input->rates == NULL ? 0 : input->rates[number];
    struct configs *tables = arena_alloc(arena, count * sizeof(*tables));
    struct grid *grids = arena_alloc(arena, count * sizeof(*grids));
    uint32_t *choices = arena_alloc(arena, count * sizeof(*choices));
    for (uint32_t task = 0; task < count; task++) {
        configs_collect(
            arena, input->fleet, input->profile, &workflow->tasks[task], &rules, &tables[task]);
        grid_make(arena, &tables[task], &grids[task]);
    }
    const struct planned_problem problem = {
        .input = input,
        .workflow = workflow,
        .number = number,
        .tables = tables,
        .grids = grids,
        .slo_ns = workflow->slo_ns == 0 ? SLO_DEFAULT_NS : workflow->slo_ns,
        .gap_ns = rate > 0 ? (int64_t)(1e9 / rate) : 0,
    };
    rule(&problem, choices);
    for (uint32_t task = 0; task < count; task++) {
        const struct workflow_task *vertex = &workflow->tasks[task];
        queues[task] = (struct planned_queue){
            .configs = tables[task],
            .choice = choices[task],
            .least = smallest(&tables[task]),
            .timeout_ns = planned_fill_ns(&tables[task].choices[choices[task]], problem.gap_ns),
            .bytes_per_item = fit_bytes_per_item(workflow, task),
            .next = vertex->out_count == 0
                        ? UINT32_MAX
                        : workflow->queue_first + workflow_out(workflow, task, 0)->to,
        };
    }
}

const void *planned_make(struct arena *arena, const struct plan_input *input, planned_rule *rule)
{
    const struct catalogue *catalogue = input->catalogue;
    struct planned *plan = arena_alloc(arena, sizeof(*plan));
    plan->queue_count = catalogue->queue_count;
    plan->queues = arena_alloc(arena, catalogue->queue_count * sizeof(*plan->queues));
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        plan_workflow(arena, input, i, rule, plan->queues + catalogue->workflows[i]->queue_first);
    }
    return plan;
}

void planned_dispatch(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    const struct planned *plan = input->plan;
    const struct workflow *workflow = input->catalogue->workflows[queue->workflow];
    const struct planned_queue *known = &plan->queues[workflow->queue_first + queue->task];
    const struct fit_ask ask = {
        .input = input,
        .queue = queue,
        .task = &workflow->tasks[queue->task],
        .bytes_per_item = known->bytes_per_item,
    };
    const bool small = queue->rechecks > RECHECKS_MAX;
    const struct configs_choice *choice =
        &known->configs.choices[small ? known->least : known->choice];
    struct config config = choice->config;
    const int64_t full_ns = queue->head_ready_ns + known->timeout_ns;
    if (queue->items < config.batch && full_ns > input->view->now_ns) {
        answer_out->wake_at_ns = full_ns;
        return;
    }
    const struct config *planned = &known->configs.choices[known->choice].config;
    config.batch = min_u32(config.batch, queue->items);
    answer_out->unplanned =
        config.batch != planned->batch || config.cpu != planned->cpu || config.gpu != planned->gpu;
    if (queue->worker != WORKER_NONE) {
        answer_out->configs[answer_out->count++] = fit_own(input->view, queue->worker, config);
        return;
    }
    const struct fit_choice found = fit_find_one(&ask, &config, choice->device);
    if (found.worker != WORKER_NONE) {
        answer_out->configs[0] = config;
        answer_out->workers[0] = found.worker;
        answer_out->count = 1;
    }
}
