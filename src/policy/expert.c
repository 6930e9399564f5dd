/*
 * expert.c - the placement that an expert on the workflows writes down by hand.
 *
 * Rule: whole jobs go to one worker after the other, in turn. With split=N a job gets N
 * workers in a row: a task runs with the producer of its largest input, if it is the
 * consumer of that one's largest output; every other task opens the next of the N workers,
 * and from the last the first again. So what is costly to move stays, and light branches
 * leave. It is the same for every job of a workflow. What a worker of the job cannot run goes
 * to another of its rack that can, and these take turns.
 * Source: the baseline "Expert" of Nona, which is not published: a fixed placement for
 * each model, on one server or split (papers: Nona, section 3.1).
 * Ignores: queues, run times, how busy links are, models in memory, deadlines.
 * Not for: loads that change, or workers that are not equally fast.
 */
#include "base/numbers.h"
#include "policy/choose.h"
#include "policy/registry.h"

enum { OPTION_SPLIT };

struct expert_state {
    uint32_t turn; /* Jobs placed here so far. */
};

/* The first of the largest inputs of @task; it has some. */
static const struct workflow_edge *largest_in(const struct workflow *graph, uint32_t task)
{
    const struct workflow_edge *largest = workflow_in(graph, task, 0);
    for (uint32_t i = 1; i < graph->tasks[task].in_count; i++) {
        const struct workflow_edge *edge = workflow_in(graph, task, i);
        largest = edge->bytes > largest->bytes ? edge : largest;
    }
    return largest;
}

static const struct workflow_edge *largest_out(const struct workflow *graph, uint32_t task)
{
    const struct workflow_edge *largest = workflow_out(graph, task, 0);
    for (uint32_t i = 1; i < graph->tasks[task].out_count; i++) {
        const struct workflow_edge *edge = workflow_out(graph, task, i);
        largest = edge->bytes > largest->bytes ? edge : largest;
    }
    return largest;
}

/* Which of the workers of its job each task runs on, counted from 0. */
static void split(const struct workflow *graph, uint32_t parts, uint16_t *part_out)
{
    uint32_t next = 0;
    ASSERT(parts > 0);
    for (uint32_t i = 0; i < graph->task_count; i++) {
        const uint32_t task = graph->order[i];
        if (graph->tasks[task].in_count > 0) {
            const struct workflow_edge *edge = largest_in(graph, task);
            const bool is_join = workflow_is_join(graph, task);
            if (is_join || largest_out(graph, edge->from) == edge) {
                part_out[task] = part_out[edge->from];
                continue;
            }
        }
        part_out[task] = (uint16_t)(next % parts);
        next++;
    }
}

static uint32_t parts_of(const struct policy_input *input, uint32_t usable_count)
{
    const uint32_t parts = (uint32_t)input->options[OPTION_SPLIT];
    return min_u32(parts, usable_count);
}

static uint32_t rack_of(const struct view *view, uint32_t worker)
{
    return fleet_rack(view->fleet, view->fleet->workers[worker].node);
}

/* Of the usable workers in the rack of one that cannot run a task. */
struct rack {
    uint32_t able;   /* Those that can. */
    uint32_t before; /* Those that cannot either, and stand before it. */
};

static struct rack count_rack(const struct view *view, uint32_t worker, struct need need)
{
    struct rack rack = {0};
    for (uint32_t i = 0; i < view->fleet->worker_count; i++) {
        if (view_is_usable(view, i) && rack_of(view, i) == rack_of(view, worker)) {
            const bool can_run = choose_can_run(view, i, need);
            rack.able += can_run ? 1 : 0;
            rack.before += !can_run && i < worker ? 1 : 0;
        }
    }
    return rack;
}

/*
 * Who runs what @worker cannot, in round @round over all workers: those who can take turns,
 * so that in as many rounds each of them has stood in for it once.
 */
static uint32_t stand_in(const struct view *view, uint32_t worker, struct need need, uint32_t round)
{
    const struct rack rack = count_rack(view, worker, need);
    if (rack.able == 0) { /* None of the rack: any. */
        const uint32_t count = choose_usable_count(view, need);
        return count == 0 ? WORKER_NONE : choose_usable_at(view, need, (worker + round) % count);
    }
    uint32_t left = (rack.before + round) % rack.able;
    for (uint32_t i = 0; i < view->fleet->worker_count; i++) {
        if (choose_can_use(view, i, need) && rack_of(view, i) == rack_of(view, worker) &&
            left-- == 0) {
            return i;
        }
    }
    return WORKER_NONE;
}

static void place_job(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out)
{
    struct expert_state *state = input->state;
    const struct view *view = input->view;
    const uint32_t usable_count = choose_usable_count(view, NEED_NOTHING);
    uint16_t workers[WORKFLOW_TASKS_MAX];
    if (usable_count == 0) {
        return;
    }
    uint32_t parts = parts_of(input, usable_count);
    parts = min_u32(parts, job->graph->task_count);
    /* Every node begins with its own workers: all begin with different ones. */
    const uint32_t first = view->worker_first + state->turn * parts;
    state->turn++;
    for (uint32_t i = 0; i < parts; i++) {
        workers[i] = (uint16_t)choose_usable_at(view, NEED_NOTHING, (first + i) % usable_count);
    }
    split(job->graph, parts, placement_out);
    for (uint32_t task = 0; task < job->graph->task_count; task++) {
        const uint32_t part = placement_out[task];
        const struct need need = choose_plan_need(input, job, task);
        const uint32_t worker = workers[part];
        const uint32_t round = (first + part) / usable_count;
        const uint32_t able =
            choose_can_run(view, worker, need) ? worker : stand_in(view, worker, need, round);
        placement_out[task] = able == WORKER_NONE ? PLACEMENT_UNBOUND : (uint16_t)able;
    }
}

static const struct policy_option options[] = {
    [OPTION_SPLIT] =
        {"split", 1, 1, WORKFLOW_TASKS_MAX, true, "how many workers a job is spread over"},
    {.name = NULL},
};

const struct policy policy_expert = {
    .name = "expert",
    .summary = "jobs to workers in turn, whole or split where little data moves",
    .source = "a baseline of Nona",
    .ignores = "queues, run times, links, models in memory, deadlines",
    .state_bytes = sizeof(struct expert_state),
    .options = options,
    .place_job = place_job,
};
