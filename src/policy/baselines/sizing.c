/*
 * sizing.c - a best-first search over the sizes of all tasks of a workflow.
 */
#include "policy/baselines/sizing.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/memory.h"
#include "model/workflow.h"
#include "policy/baselines/latency.h"

/* States that are kept; a power of two. */
enum { STATES_MAX = 8192, TABLE_SLOTS = 2 * STATES_MAX };

struct state {
    struct sizing sizing;
    bool open; /* Its neighbours have not been looked at. */
};

struct sizing_work {
    const struct sizing_problem *problem;
    uint32_t task_count;
    uint32_t work; /* Convolutions done. */
    uint32_t state_count;
    struct state *states;
    struct grid_point *points; /* Of each state, a row with one per task. */
    uint32_t *slots;           /* Numbers of states by hash, plus one. */
    struct latency *times;     /* By task: when it ends. */
    uint32_t *choices;
};

/* When @task ends: its inputs, the last of them, and its own time. */
static void end_of(
    const struct sizing_problem *problem, const uint32_t *choices, uint32_t task, int64_t bin_ns,
    struct latency *times)
{
    const struct workflow *workflow = problem->workflow;
    const struct configs_choice *choice = &problem->tables[task].choices[choices[task]];
    const int64_t sd_ns =
        choice->sd_ns > 0 ? choice->sd_ns : (int64_t)((double)choice->run_ns * problem->spread);
    struct latency ready;
    struct latency own;
    latency_zero(&ready);
    for (uint32_t in = 0; in < workflow->tasks[task].in_count; in++) {
        latency_later(&ready, &times[workflow_in(workflow, task, in)->from]);
    }
    const int64_t fill_ns = (int64_t)(choice->config.batch - 1) * problem->gap_ns;
    latency_normal(choice->run_ns + fill_ns, sd_ns, bin_ns, &own);
    latency_add(&own, &ready, &times[task]);
}

static struct sizing measure(
    const struct sizing_problem *problem, const uint32_t *choices, struct latency *times)
{
    const struct workflow *workflow = problem->workflow;
    const int64_t bin_ns = problem->target_ns / (LATENCY_BINS / 2) + 1;
    struct sizing sizing = {.cost = 0};
    struct latency last;
    latency_zero(&last);
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        const uint32_t task = workflow->order[i];
        end_of(problem, choices, task, bin_ns, times);
        sizing.cost += problem->tables[task].weights[choices[task]].cost;
        if (workflow->tasks[task].sink != TASK_NONE) {
            latency_later(&last, &times[task]);
        }
    }
    sizing.latency_ns = latency_quantile(&last, problem->share, bin_ns);
    sizing.in_time = sizing.latency_ns <= problem->target_ns;
    return sizing;
}

struct sizing sizing_measure(const struct sizing_problem *problem, const uint32_t *choices)
{
    struct latency *times = memory_lines(problem->workflow->task_count, sizeof(*times));
    const struct sizing sizing = measure(problem, choices, times);
    free(times);
    return sizing;
}

static struct grid_point *point_row(const struct sizing_work *work, uint32_t state)
{
    return work->points + (size_t)state * work->task_count;
}

/* The slot of the row just behind the last state: of an equal one, or an empty one. */
static uint32_t *find_slot(struct sizing_work *work, const struct grid_point *row)
{
    const size_t bytes = work->task_count * sizeof(*row);
    uint64_t hash = 0;
    for (uint32_t task = 0; task < work->task_count; task++) {
        for (uint32_t axis = 0; axis < GRID_AXES; axis++) {
            hash = hash_mix(hash, row[task].steps[axis]);
        }
    }
    uint32_t at = (uint32_t)(hash % TABLE_SLOTS);
    while (work->slots[at] != 0 && memcmp(point_row(work, work->slots[at] - 1), row, bytes) != 0) {
        at = (at + 1) % TABLE_SLOTS;
    }
    return &work->slots[at];
}

/* Make a state of the row just behind the last one, unless there is one like it. */
static void add_state(struct sizing_work *work)
{
    const struct grid_point *row = point_row(work, work->state_count);
    uint32_t *slot = find_slot(work, row);
    if (*slot != 0) {
        return;
    }
    for (uint32_t task = 0; task < work->task_count; task++) {
        work->choices[task] = grid_choice(&work->problem->grids[task], row[task]);
    }
    work->states[work->state_count] = (struct state){
        .sizing = measure(work->problem, work->choices, work->times),
        .open = true,
    };
    work->work += work->task_count;
    *slot = ++work->state_count;
}

/* Whether @a is to be looked at before @b. */
static bool is_before(const struct sizing *a, const struct sizing *b)
{
    if (a->in_time != b->in_time) {
        return a->in_time;
    }
    const int64_t first_a = a->in_time ? a->cost : a->latency_ns;
    const int64_t first_b = b->in_time ? b->cost : b->latency_ns;
    if (first_a != first_b) {
        return first_a < first_b;
    }
    return a->in_time ? a->latency_ns < b->latency_ns : a->cost < b->cost;
}

/* The best state; only open ones, if wanted. UINT32_MAX if there is none. */
static uint32_t best_state(const struct sizing_work *work, bool only_open)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < work->state_count; i++) {
        if ((!only_open || work->states[i].open) &&
            (best == UINT32_MAX ||
             is_before(&work->states[i].sizing, &work->states[best].sizing))) {
            best = i;
        }
    }
    return best;
}

/* Add all states that are one step from @state. */
static void expand(struct sizing_work *work, uint32_t state)
{
    work->states[state].open = false;
    for (uint32_t i = 0; i < work->task_count * GRID_AXES * 2; i++) {
        const uint32_t task = i / (GRID_AXES * 2);
        const uint32_t axis = i / 2 % GRID_AXES;
        if (work->state_count == STATES_MAX || work->work >= work->problem->work_max) {
            return;
        }
        struct grid_point *row = point_row(work, work->state_count);
        memcpy(row, point_row(work, state), work->task_count * sizeof(*row));
        uint16_t *step = &row[task].steps[axis];
        if (i % 2 == 0 && *step + 1U < work->problem->grids[task].counts[axis]) {
            (*step)++;
        } else if (i % 2 == 1 && *step > 0) {
            (*step)--;
        } else {
            continue;
        }
        add_state(work);
    }
}

void sizing_search(
    const struct sizing_problem *problem, uint32_t *choices_out, struct sizing *sizing_out)
{
    const uint32_t task_count = problem->workflow->task_count;
    struct sizing_work work = {
        .problem = problem,
        .task_count = task_count,
        .states = memory_zeroed(STATES_MAX, sizeof(*work.states)),
        .points = memory_zeroed((size_t)(STATES_MAX + 1) * task_count, sizeof(*work.points)),
        .slots = memory_zeroed(TABLE_SLOTS, sizeof(*work.slots)),
        .times = memory_lines(task_count, sizeof(*work.times)),
        .choices = memory_zeroed(task_count, sizeof(*work.choices)),
    };
    add_state(&work); /* All zero: the smallest of everything. */
    while (work.work < problem->work_max && work.state_count < STATES_MAX) {
        const uint32_t state = best_state(&work, /* only_open */ true);
        if (state == UINT32_MAX) {
            break;
        }
        expand(&work, state);
    }
    const uint32_t best = best_state(&work, /* only_open */ false);
    ASSERT(best != UINT32_MAX);
    for (uint32_t task = 0; task < task_count; task++) {
        choices_out[task] = grid_choice(&problem->grids[task], point_row(&work, best)[task]);
    }
    *sizing_out = work.states[best].sizing;
    free(work.choices);
    free(work.times);
    free(work.slots);
    free(work.points);
    free(work.states);
}
