/*
 * visits.h - jobs at a node that works for them: tasks that are planned here, gather
 * their inputs, and pass their outputs on.
 */
#ifndef NODE_VISITS_H
#define NODE_VISITS_H

#include "node/inside.h"

/* Count the tasks that @message plans for one of this node's workers. */
void visits_reserve(struct node *node, const struct message *message);

/* The visit of @job, or MAP_NONE. */
uint32_t visits_of(const struct node *node, struct job_id job);

/*
 * The task of @message will not come, or not stay. Its reservation may still be under way, since
 * another node has sent that: it is ignored then.
 */
void visits_unreserve(struct node *node, const struct message *message);

/* An input has come. Takes over one reference to @tensor. */
void visits_input(struct node *node, const struct message *message, uint32_t tensor);

/* Drop everything of @job, and recognise what still comes of it for a while. */
void visits_cancel(struct node *node, struct job_id job, enum reason reason);

/* Task @slot has run: send @tensor, its output, to its successors or the owner. */
void visits_complete(struct node *node, uint32_t slot, uint32_t tensor);

/* Task @slot cannot be run here: tell the owner why. */
void visits_fail(struct node *node, uint32_t slot, enum reason reason);

/* Forget task @slot, which was in a batch that will not end. */
void visits_discard(struct node *node, uint32_t slot);

/* Send queued or gathered task @slot with its inputs to @worker, elsewhere. */
void visits_forward(struct node *node, uint32_t slot, uint32_t worker);

/* The slot of task @number of visit @visit; POOL_NONE if it has none. */
uint32_t visits_find(const struct node *node, uint32_t visit, uint32_t number);

/*
 * Offer tasks of visit @visit that wait for a home again: all, or those whose home is gone.
 * Returns how many.
 */
uint32_t visits_offer_again(struct node *node, uint32_t visit, bool all);

/* Drop visits whose owner is gone: a few per call. False when all have been looked at. */
bool visits_repair(struct node *node);

/* What policies may know of the job of @visit. */
struct job_facts visit_facts(const struct node *node, const struct visit *visit);

/* What policies may know of @task, whose job they know as @job. */
struct ready_facts visit_ready(const struct task *task, const struct job_facts *job);

/* Others may claim any duration: @ns, cut to what can be added to a time. */
int64_t duration_bounded(int64_t ns);

/* The run time of @task alone on @worker, as the profile says. */
int64_t task_run_ns(
    const struct node *node, uint32_t workflow, uint32_t task, uint32_t worker, uint32_t items);

/* A message about task @task of @visit and @worker; its work. */
struct message visit_message(
    const struct visit *visit, enum message_kind kind, uint32_t task, uint32_t worker);
struct message_work visit_work(const struct node *node, const struct visit *visit, uint32_t items);

#endif /* NODE_VISITS_H */
