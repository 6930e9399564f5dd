#include "policy/weft_begin.h"

#include "base/hash.h"
#include "base/numbers.h"
#include "policy/weft_haste.h"
#include "policy/weft_home.h"
#include "policy/weft_options.h"

/* All jobs. */
enum { ALL = 1 << 20 };

/* Rows are looked at so often, and a new value counts one part in so many. */
#define LOOK_NS INT64_C(50000000)
enum { WEIGHT = 16 };

/* Of the jobs that come, a new one counts one part in so many. */
enum { MIX_WEIGHT = 64 };

/* If few jobs are late, all begin while one unit in so many is idle. */
enum { IDLE_ENOUGH = 12 };

/* The largest share of later tasks that a home puts off. */
static int64_t put_off_later(const struct view *view)
{
    uint32_t most = 0;
    for (uint32_t worker = 0; worker < view->fleet->worker_count; worker++) {
        if (view_is_usable(view, worker)) {
            most = max_u32(most, view_load(view, worker)->put_off);
        }
    }
    return (int64_t)most * ALL / UINT8_MAX;
}

/*
 * Of the jobs that do not end in time, the part that option `begin` says is put off at once. If it
 * were all, nothing would show any more when fewer are too many.
 */
static void look(const struct policy_input *input, struct weft_begin *begin)
{
    if (begin->at_ns != 0 && input->view->now_ns - begin->at_ns < LOOK_NS) {
        return;
    }
    const int64_t later = put_off_later(input->view);
    const int64_t lost = ALL - (ALL - begin->share) * (ALL - later) / ALL;
    const int64_t wanted = (int64_t)((double)lost * input->options[WEFT_BEGIN]);
    begin->at_ns = input->view->now_ns;
    begin->share += (wanted - begin->share) / WEIGHT;
}

void weft_begin_note(const struct policy_input *input, const struct job_facts *job)
{
    struct weft_state *state = input->state;
    for (uint32_t level = 0; level <= PRIORITY_MAX; level++) {
        int64_t *part = &state->begin.jobs[level];
        const int64_t now = level == min_u32(job->priority, PRIORITY_MAX) ? ALL : 0;
        *part += (now - *part) / MIX_WEIGHT;
    }
}

/*
 * The share of jobs of @priority that do not begin: those of lower priorities come first, and only
 * what is left of the share is theirs.
 */
static int64_t share_of(const struct weft_begin *begin, uint32_t priority)
{
    int64_t lower = 0;
    int64_t all = 0;
    for (uint32_t level = 0; level <= PRIORITY_MAX; level++) {
        lower += level < priority ? begin->jobs[level] : 0;
        all += begin->jobs[level];
    }
    const int64_t alike = begin->jobs[min_u32(priority, PRIORITY_MAX)];
    if (alike == 0) {
        return priority == 0 ? begin->share : 0; /* None of them has come to this node. */
    }
    const int64_t share = (begin->share * all - lower * ALL) / alike;
    return min_i64(max_i64(share, 0), ALL);
}

bool weft_begin_not(const struct policy_input *input, const struct ready_facts *task)
{
    struct weft_state *state = input->state;
    const struct job_facts *job = task->job;
    if (input->options[WEFT_BEGIN] == 0 || job->graph->tasks[task->task].in_count > 0) {
        return false;
    }
    look(input, &state->begin);
    const int64_t share = share_of(&state->begin, job->priority);
    const int64_t idle = weft_idle_share(input) * IDLE_ENOUGH * (ALL - share) / ALL;
    const int64_t busy = max_i64(WEFT_IDLE_ONE - idle, 0);
    return (int64_t)(hash_mix(job->id.node, job->id.number) % ALL) < share * busy / WEFT_IDLE_ONE;
}
