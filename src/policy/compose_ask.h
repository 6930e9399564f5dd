/*
 * compose_ask.h - the questions to a composition; policy.h says what each is.
 */
#ifndef POLICY_COMPOSE_ASK_H
#define POLICY_COMPOSE_ASK_H

#include "policy/facts.h"

struct policy_seat;

struct admission policy_admit(struct policy_seat *seat, const struct job_facts *job);
void policy_arrived(struct policy_seat *seat, const struct job_facts *job);
void policy_answered(struct policy_seat *seat, const struct answered_facts *job);
enum hope policy_hope(struct policy_seat *seat, const struct ready_facts *task);
void policy_place_job(
    struct policy_seat *seat, const struct job_facts *job, uint16_t *placement_out);
/* WORKER_NONE if no worker is usable. */
uint32_t policy_place_task(struct policy_seat *seat, const struct task_facts *task);

/* A task joins a queue. */
void policy_queued(struct policy_seat *seat, const struct ready_facts *task);

/* The key of a task that is ready. */
int64_t policy_order(struct policy_seat *seat, const struct ready_facts *task);

void policy_dispatch(
    struct policy_seat *seat, const struct queue_facts *queue, struct dispatch_answer *answer_out);
int64_t policy_eviction_ns(
    const struct policy_seat *seat, const struct workflow_task *task, uint32_t worker,
    int64_t absent_ns);
uint32_t policy_steal(struct policy_seat *seat, uint32_t worker);
uint32_t policy_victim(struct policy_seat *seat, const struct cache_facts *cache);
uint32_t policy_prefetch(struct policy_seat *seat, const struct cache_facts *cache);
/* 0 if the composition does not tick. */
int64_t policy_tick_ns(const struct policy_seat *seat);
struct tick_answer policy_tick(struct policy_seat *seat);
void policy_solved(struct policy_seat *seat, uint64_t problem, const void *result);

/* Write what a search that tick asked for has to know: policy_set_question_bytes() of it. */
void policy_question(struct policy_seat *seat, uint64_t problem, void *question_out);

/* Count a batch of a home queue that has ended. */
void policy_ended(struct policy_seat *seat, const struct ended_facts *batch);

/* Count a batch that has run on a worker of this node. */
void policy_ran(struct policy_seat *seat, const struct ended_facts *batch);

#endif /* POLICY_COMPOSE_ASK_H */
