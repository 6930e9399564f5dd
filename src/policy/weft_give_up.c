#include "policy/weft_give_up.h"

#include "base/numbers.h"
#include "policy/weft_home.h"
#include "policy/weft_options.h"

/* The estimate is halved by every so many jobs that were given up in a row, so often at most. */
enum { DOUBT = 16, DOUBTS_MAX = 16 };

struct admission weft_admit(const struct policy_input *input, const struct job_facts *job)
{
    (void)input;
    (void)job;
    return (struct admission){.admitted = true};
}

void weft_answered(const struct policy_input *input, const struct answered_facts *job)
{
    struct weft_state *state = input->state;
    uint32_t *lost = &state->lost[job->job->workflow];
    *lost = job->completed ? 0 : *lost + (job->late ? 1 : 0);
}

/* Whether even the fastest rest of the job would be late. */
static bool is_late(const struct policy_input *input, const struct ready_facts *task)
{
    const struct job_facts *job = task->job;
    const struct weft_plan *plan = input->plan;
    const struct weft_state *state = input->state;
    const int64_t now_ns = input->view->now_ns;
    if (job->deadline_ns < now_ns || task->ready_ns == now_ns) {
        return job->deadline_ns < now_ns; /* What need not wait may prove us wrong. */
    }
    const int64_t rest_ns = plan->ranks_ns[job->graph->queue_first + task->task];
    const uint32_t doubts = min_u32(state->lost[job->workflow] / DOUBT, DOUBTS_MAX);
    return (rest_ns >> doubts) > job->deadline_ns - now_ns;
}

enum hope weft_hope(const struct policy_input *input, const struct ready_facts *task)
{
    if (input->options[WEFT_GIVE_UP] == 0 || !is_late(input, task)) {
        return HOPE_GOOD;
    }
    return task->job->firm || input->options[WEFT_STRICT] != 0 ? HOPE_NONE : HOPE_LATE;
}
