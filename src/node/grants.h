/*
 * grants.h - claims of homes, at the worker that they are for.
 *
 * This node alone knows what is free: it grants a claim or declines it. A grant is a batch
 * that holds its units from then on, has its models loaded, and pulls its tasks from where
 * they wait. It runs when all of them are here, less those that turned out to be gone.
 */
#ifndef NODE_GRANTS_H
#define NODE_GRANTS_H

#include "node/inside.h"

/* A home claims a batch: one message for each of its tasks. */
void grants_claim(struct node *node, const struct message *message);

/* Task @slot is here with its inputs. True if a batch of its worker has waited for it. */
bool grants_take(struct node *node, uint32_t slot);

/* CLAIMED task @slot leaves its batch. */
void grants_leave(struct node *node, uint32_t slot);

/* The task that @message names will not come. */
void grants_miss(struct node *node, const struct message *message);

/* Nothing of @job will come. */
void grants_forget(struct node *node, struct job_id job);

/* Start the batches of @worker that are complete, as far as models and memory allow. */
void grants_start(struct node *node, struct worker *worker);

/* The batch of @grant has ended: tell the home, and forget it. */
void grants_ended(struct node *node, uint32_t grant, int64_t run_ns, bool completed);

/* What was sought is still under way from the sender of @message: go on waiting. */
void grants_alive(struct node *node, const struct message *message);

/* A home asks after a claim. */
void grants_asked(struct node *node, const struct message *message);

/* A CLAIMED task of @worker that needs @model and came up to @arrival, or POOL_NONE. */
uint32_t grants_find(
    const struct node *node, const struct worker *worker, uint32_t model, uint64_t arrival);

/* The device is gone: its batches wait no longer for what has not come. */
void grants_abandon(struct node *node, struct worker *worker);

/* Members were lost: stop waiting for tasks that they held. */
void grants_repair(struct node *node);

/* Nothing has come for a long time: ask the holders, and stop waiting for what is not in flight. */
void grants_audit(struct node *node);

/* The task that the batch of @grant is of; NULL if it gathers no more. */
const struct workflow_task *grants_kind(const struct node *node, uint32_t grant);

#endif /* NODE_GRANTS_H */
