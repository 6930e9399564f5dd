/*
 * routing.h - where a task goes when it becomes ready, and how its inputs get there.
 *
 * For a task with one input the node that made the input decides, just before it
 * leaves. The inputs of a join meet at one place that every sender knows without
 * asking: its planned worker, or while it is unbound the worker of its immediate
 * dominator, which every path to it has passed. It may be forwarded once from there.
 */
#ifndef NODE_ROUTING_H
#define NODE_ROUTING_H

#include "node/access.h"

/*
 * Whether the worker of task @task of @workflow is chosen last, by its home: then it is not placed
 * on its way, and when it is ready it stays where its inputs are.
 */
static inline bool routing_waits(const struct node *node, uint32_t workflow, uint32_t task)
{
    return node->seat.binds &&
           policy_waits(&node->seat, workflow_at(node, workflow)->queue_first + task);
}

/* All inputs of task @slot are here: queue it, or forward it once. */
void routing_gathered(struct node *node, uint32_t slot);

/* Send @tensor, made by @task of @visit, to all successors, or to the owner. */
void routing_output(
    struct node *node, struct visit *visit, const struct task *task, uint32_t tensor);

/* Send the inputs of @task to @worker of another node, which is to run it. */
void routing_forward(
    struct node *node, struct visit *visit, const struct task *task, uint32_t worker);

/*
 * Ask the policy for the worker of a task with at most one input, and trace what it
 * says. WORKER_NONE if no worker is usable.
 */
uint32_t routing_place(struct node *node, const struct task_facts *facts);

/*
 * Ask the policy for a worker of another node for task @slot, which waits here, and trace what it
 * says. WORKER_NONE if there is none.
 */
uint32_t routing_elsewhere(struct node *node, uint32_t slot);

/* Task @slot runs on its worker, of this node: the owner, and who waits for it, must know. */
void routing_bind(struct node *node, uint32_t slot);

/*
 * Tell the worker of @input, if the policy announces tasks, that its task is on the way: its row
 * shows the work before a large input has arrived.
 */
void routing_tell(struct node *node, struct message *input);

/* Note work that @worker's row does not show yet. Returns its sequence, 0 for own workers. */
uint64_t routing_note(struct node *node, uint32_t worker, int64_t run_ns);

#endif /* NODE_ROUTING_H */
