#include "policy/weft_give_up.h"

#include "base/numbers.h"
#include "policy/choose.h"
#include "policy/weft_begin.h"
#include "policy/weft_haste.h"
#include "policy/weft_home.h"
#include "policy/weft_options.h"

/* The estimate is halved by every so many jobs that were given up in a row, so often at most. */
enum { DOUBT = 16, DOUBTS_MAX = 16 };

/* Nothing has to be left while one unit in so many is idle. */
enum { IDLE_ENOUGH = 4 };

struct admission weft_admit(const struct policy_input *input, const struct job_facts *job)
{
    weft_begin_note(input, job);
    return (struct admission){.admitted = true};
}

void weft_answered(const struct policy_input *input, const struct answered_facts *job)
{
    struct weft_state *state = input->state;
    uint32_t *lost = &state->lost[job->job->workflow];
    *lost = job->completed ? 0 : *lost + (job->late ? 1 : 0);
    if (job->job->deadline_ns != INT64_MAX) {
        const int64_t whole_ns = job->job->deadline_ns - job->job->arrived_ns;
        weft_haste_note_job(input, job->latency_ns > whole_ns);
    }
}

/*
 * What the fastest way takes that is @planned_ns long, if all takes less than the profile says. If
 * it takes more, that was learnt of configs that were chosen because they seemed fast; others may
 * be faster.
 */
static int64_t learnt_ns(const struct policy_input *input, int64_t planned_ns)
{
    const struct weft_state *state = input->state;
    const bool learns = input->options[WEFT_LEARN] != 0;
    const int64_t all = learns ? weft_learnt_all(&state->learn) : WEFT_LEARN_ONE;
    return all < WEFT_LEARN_ONE ? planned_ns / WEFT_LEARN_ONE * all : planned_ns;
}

/* The fastest rest of the job from @task on. */
static int64_t rest_ns(const struct policy_input *input, const struct ready_facts *task)
{
    const struct weft_plan *plan = input->plan;
    return learnt_ns(input, plan->ranks_ns[task->job->graph->queue_first + task->task]);
}

/* Whether even the fastest rest of the job would be late. */
static bool is_late(const struct policy_input *input, const struct ready_facts *task)
{
    const struct job_facts *job = task->job;
    const struct weft_state *state = input->state;
    const uint32_t doubts = min_u32(state->lost[job->workflow] / DOUBT, DOUBTS_MAX);
    return (rest_ns(input, task) >> doubts) > job->deadline_ns - input->view->now_ns;
}

/*
 * Whether the job will probably be late: while little is idle the rest of it has to wait in home
 * queues as well, for up to `reserve` of the time that it was given for that.
 */
static bool is_doubtful(const struct policy_input *input, const struct ready_facts *task)
{
    const struct job_facts *job = task->job;
    const struct weft_plan *plan = input->plan;
    const int64_t whole_ns = job->deadline_ns - job->arrived_ns;
    const int64_t path_ns = learnt_ns(input, plan->path_ns[job->workflow]);
    const int64_t spare_ns = max_i64(whole_ns - path_ns, 0);
    const bool is_at_home = plan->waits[job->graph->queue_first + task->task];
    const int64_t units = max_i64(weft_idle_share(input), weft_idle_mean(input));
    const int64_t idle = is_at_home ? units * IDLE_ENOUGH : WEFT_IDLE_ONE;
    const double busy = (double)max_i64(WEFT_IDLE_ONE - idle, 0) / WEFT_IDLE_ONE;
    const double share = (double)rest_ns(input, task) / (double)max_i64(path_ns, 1);
    const double wait_ns = input->options[WEFT_RESERVE] * busy * share * (double)spare_ns;
    return (double)rest_ns(input, task) + wait_ns >
           (double)(job->deadline_ns - input->view->now_ns);
}

/* Whether @task waits at a worker, not for its turn but for a model that comes for it. */
static bool is_loaded_for(const struct policy_input *input, const struct ready_facts *task)
{
    const struct weft_plan *plan = input->plan;
    const struct workflow *graph = task->job->graph;
    const struct workflow_task *kind = &graph->tasks[task->task];
    if (plan->waits[graph->queue_first + task->task] || task->worker == WORKER_NONE) {
        return false;
    }
    return !choose_has_models(input->view, task->worker, kind);
}

enum hope weft_hope(const struct policy_input *input, const struct ready_facts *task)
{
    const int64_t now_ns = input->view->now_ns;
    const bool is_over = task->job->deadline_ns < now_ns;
    if (input->options[WEFT_GIVE_UP] == 0 || (!is_over && task->ready_ns == now_ns)) {
        return HOPE_GOOD; /* What need not wait may prove us wrong. */
    }
    const bool is_worthless = task->job->firm || input->options[WEFT_STRICT] != 0;
    if (is_worthless && (is_over || is_late(input, task))) {
        return HOPE_NONE;
    }
    const struct weft_plan *plan = input->plan;
    const bool is_at_home = plan->waits[task->job->graph->queue_first + task->task];
    const enum hope late = plan->is_mixed && !is_over ? HOPE_DOUBTFUL : HOPE_LATE;
    if (is_over || is_doubtful(input, task)) {
        return is_loaded_for(input, task) ? HOPE_GOOD : late;
    }
    return is_at_home && weft_begin_not(input, task) ? late : HOPE_GOOD;
}
