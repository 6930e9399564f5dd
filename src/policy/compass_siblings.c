#include "policy/compass_siblings.h"

/*
 * Whether the branches of @producer, of which the task in question is one, are more than the
 * workers that can run it. Such a fork waits for itself: if its branches counted for less than
 * they are, it would gather where most of it is promised, as those workers would look the least
 * busy. A narrower one waits for the work of others, before which it comes.
 */
static bool is_wide(
    const struct policy_input *input, const struct task_facts *facts, uint32_t producer,
    const struct compass_row *rows)
{
    const struct fleet *fleet = input->view->fleet;
    const struct workflow *graph = facts->job->graph;
    const uint32_t kinds = profile_kinds(input->profile, graph->tasks[facts->task].run);
    uint32_t branches = 0;
    uint32_t able = 0;
    for (uint32_t i = 0; i < graph->tasks[producer].out_count; i++) {
        branches += workflow_is_join(graph, workflow_out(graph, producer, i)->to) ? 0 : 1;
    }
    for (uint32_t worker = 0; worker < fleet->worker_count && able < branches; worker++) {
        const bool can_run = rows[worker].free_ns != COMPASS_NOT_USABLE_NS &&
                             profile_kinds_have(kinds, fleet->workers[worker].device);
        able += can_run ? 1 : 0;
    }
    return branches > able;
}

/*
 * An old row has promises decay as if they had begun; nothing of a sibling has. What was sent
 * to an own worker is in its queue already, and in its row.
 */
void compass_count_siblings(
    const struct policy_input *input, const struct task_facts *facts, int64_t promised_64ths,
    struct compass_row *rows)
{
    const struct view *view = input->view;
    const struct workflow *graph = facts->job->graph;
    if (facts->placement == NULL || graph->tasks[facts->task].in_count != 1) {
        return;
    }
    const uint32_t producer = workflow_in(graph, facts->task, 0)->from;
    const int64_t part_64ths = is_wide(input, facts, producer, rows) ? 64 : promised_64ths;
    bool is_sent = true; /* In the order of the edges. */
    for (uint32_t i = 0; i < graph->tasks[producer].out_count; i++) {
        const uint32_t other = workflow_out(graph, producer, i)->to;
        const uint32_t worker = facts->placement[other];
        is_sent = is_sent && other != facts->task;
        if (other == facts->task || worker == PLACEMENT_UNBOUND || workflow_is_join(graph, other) ||
            rows[worker].free_ns == COMPASS_NOT_USABLE_NS ||
            (is_sent && view_is_own(view, worker))) {
            continue;
        }
        const uint32_t device = view->fleet->workers[worker].device;
        const uint32_t model = graph->tasks[other].run;
        const int64_t run_ns = profile_run_alone_ns(input->profile, model, device, facts->items);
        rows[worker].promised_ns = compass_later(rows[worker].promised_ns - run_ns, 0);
        rows[worker].free_ns += run_ns / 64 * part_64ths;
    }
}
