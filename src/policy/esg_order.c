/*
 * esg_order.c - keys of tasks, and configs for a worker's own queue.
 */
#include "policy/esg_order.h"

#include "policy/esg_search.h"
#include "policy/esg_warm.h"
#include "policy/fit.h"

/* Keys from here on belong to jobs without a deadline. 2^62 ns are 146 years. */
#define KEY_NO_DEADLINE (INT64_C(1) << 62)

int64_t esg_order(const struct policy_input *input, const struct ready_facts *task)
{
    const struct job_facts *job = task->job;
    const struct esg_plan *plan = input->plan;
    const uint32_t number = job->graph->queue_first + task->task;
    const struct esg_queue *known = &plan->queues[number];
    if (job->deadline_ns >= KEY_NO_DEADLINE) {
        return KEY_NO_DEADLINE + job->arrived_ns;
    }
    const int64_t whole_ns = job->deadline_ns - job->arrived_ns;
    const int64_t due_ns = job->arrived_ns + esg_scaled(whole_ns, known->group_end_ns);
    const bool is_late = input->view->now_ns + known->tail_ns > job->deadline_ns;
    return is_late ? due_ns + whole_ns : due_ns;
}

struct queue_facts esg_with_inputs(const struct queue_facts *queue, const struct esg_queue *known)
{
    struct queue_facts facts = *queue;
    if (queue->head_deadline_ns != INT64_MAX) {
        facts.head_arrived_ns += known->transfer_ns;
        facts.head_deadline_ns += known->transfer_ns;
    }
    return facts;
}

void esg_dispatch_own(
    const struct policy_input *input, const struct queue_facts *queue, int64_t end_ns, bool hurries,
    struct dispatch_answer *answer_out)
{
    const struct fleet_worker *worker = &input->view->fleet->workers[queue->worker];
    const struct esg_queue *known = esg_queue(input, queue->workflow, queue->task);
    struct esg_found found;
    const struct esg_wish wish = {
        .path_count = (uint32_t)input->options[ESG_K],
        .target_ns = esg_target_ns(input, queue),
        .end_ns = end_ns,
        .hurries = hurries,
    };
    esg_search(input, queue, &wish, &found);
    if (input->options[ESG_WAIT] != 0) {
        answer_out->wake_at_ns = esg_warm_wait(input, queue, &found);
        if (answer_out->wake_at_ns != 0) {
            return;
        }
    }
    for (uint32_t i = 0; i < found.answer.count; i++) {
        const struct configs_choice *choice = &known->configs.choices[found.answer.paths[i].first];
        if (choice->device == worker->device && answer_out->count < DISPATCH_CANDIDATES_MAX) {
            const struct config config = esg_cut(choice->config, queue->items);
            answer_out->configs[answer_out->count++] = fit_own(input->view, queue->worker, config);
        }
    }
    if (answer_out->count == 0) { /* The search prefers another kind of device. */
        answer_out->configs[answer_out->count++] = (struct config){.batch = queue->head_items};
    }
}
