/*
 * fifo.c - the oldest job first, and a worker stays in the job that has released it.
 *
 * Rule: of the tasks that become ready on a worker, the first goes on there at once, before
 * all that waits. Others, and tasks without predecessors, go to an idle worker, drawn
 * evenly, or if there is none to the one that is free first. Queues are in the order in which the
 * jobs arrived. One job may hold all workers. Source: spark_fifo of Decima's simulator, a baseline
 * of Nona (papers: Nona, section 4.1): executors stay in the job that releases them, else serve the
 * oldest job, up to a cap that is the number of executors. Ignores: models in memory, transfers,
 * run times, deadlines. Decima's executors are alike and its jobs have neither models nor data.
 * There they wait in one queue for the executor that is free next; here a task waits bound to a
 * worker. Not for: mixed loads of short and long jobs, where the short ones wait for the long.
 */
#include "policy/executors.h"
#include "policy/registry.h"

static uint32_t place_task(const struct policy_input *input, const struct task_facts *task)
{
    return executors_place(input, task, /* cap */ UINT32_MAX);
}

static int64_t order(ATTR_UNUSED const struct policy_input *input, const struct ready_facts *task)
{
    return executors_order(task);
}

const struct policy policy_fifo = {
    .name = "fifo",
    .summary = "oldest job first; a worker stays with the job that released it",
    .source = "spark_fifo of Decima's simulator; a baseline of Nona",
    .ignores = "models in memory, transfers, run times, deadlines",
    .state_bytes = sizeof(struct executors_state),
    .place_task = place_task,
    .order = order,
};
