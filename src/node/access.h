/*
 * access.h - the short words of this layer: slots by number, effects, trace records.
 */
#ifndef NODE_ACCESS_H
#define NODE_ACCESS_H

#include "base/numbers.h"
#include "node/inside.h"
#include "profile/need.h"

/* The pools' contents by slot. */
static inline struct job *job_at(const struct node *node, uint32_t slot)
{
    return pool_at(&node->pools->jobs, slot);
}

static inline struct visit *visit_at(const struct node *node, uint32_t slot)
{
    return pool_at(&node->pools->visits, slot);
}

static inline struct task *task_at(const struct node *node, uint32_t slot)
{
    return pool_at(&node->pools->tasks, slot);
}

static inline struct input *input_at(const struct node *node, uint32_t slot)
{
    return pool_at(&node->pools->inputs, slot);
}

static inline struct tensor *tensor_at(const struct node *node, uint32_t slot)
{
    return pool_at(&node->pools->tensors, slot);
}

static inline struct batch *batch_at(const struct node *node, uint32_t slot)
{
    return pool_at(&node->pools->batches, slot);
}

static inline struct ticket *ticket_at(const struct node *node, uint32_t slot)
{
    return pool_at(&node->pools->tickets, slot);
}

static inline struct claim *claim_at(const struct node *node, uint32_t slot)
{
    return pool_at(&node->pools->claims, slot);
}

static inline struct grant *grant_at(const struct node *node, uint32_t slot)
{
    return pool_at(&node->pools->grants, slot);
}

/* Where the links of lists through these pools are. */
static inline struct slot_links job_links(const struct node *node)
{
    return (struct slot_links){&node->pools->jobs, offsetof(struct job, link)};
}

static inline struct slot_links visit_links(const struct node *node)
{
    return (struct slot_links){&node->pools->visits, offsetof(struct visit, link)};
}

static inline struct slot_links ticket_links(const struct node *node)
{
    return (struct slot_links){&node->pools->tickets, offsetof(struct ticket, link)};
}

static inline struct slot_links claim_links(const struct node *node)
{
    return (struct slot_links){&node->pools->claims, offsetof(struct claim, link)};
}

static inline const struct workflow *workflow_at(const struct node *node, uint32_t workflow)
{
    return node->catalogue->workflows[workflow];
}

/* By task of @job: the node that last moved it, plus 1; 0 if none has. It has its inputs. */
static inline uint16_t *job_movers(const struct node *node, struct job *job)
{
    return job->placement + node->catalogue->task_count_max;
}

static inline int64_t now_ns(const struct node *node)
{
    return node->view.now_ns;
}

/* Whether @ticket has given way to others. */
static inline bool is_put_off(const struct ticket *ticket)
{
    return ticket->hope != HOPE_GOOD;
}

/* Until @deadline_ns, as messages have it: INT64_MAX for none. */
static inline int64_t left_ns(const struct node *node, int64_t deadline_ns)
{
    return deadline_ns == INT64_MAX ? INT64_MAX : deadline_ns - now_ns(node);
}

/* @priority of a client or a message, as a node keeps it. */
static inline uint8_t priority_bounded(uint32_t priority)
{
    return (uint8_t)min_u32(priority, UINT8_MAX);
}

/* @items of a client or an engine: at least one, and so few that those of a batch can be added. */
static inline uint32_t items_bounded(uint32_t items)
{
    return max_u32(min_u32(items, ITEMS_MAX), 1);
}

/* Whether workers of this node can run @job as it names it. */
static inline bool can_run_edition(const struct node *node, struct job_id job)
{
    bool is_held = node->edition_count == 0;
    for (uint32_t i = 0; i < node->edition_count; i++) {
        is_held = is_held || node->editions[i] == job_edition(job);
    }
    return is_held;
}

/* NULL if @worker is not one of this node's. */
static inline struct worker *own_worker(struct node *node, uint32_t worker)
{
    return view_is_own(&node->view, worker) ? &node->workers[worker - node->view.worker_first]
                                            : NULL;
}

static inline uint32_t node_of_worker(const struct node *node, uint32_t worker)
{
    return node->fleet->workers[worker].node;
}

/* What task @task of @workflow needs of a worker, with @items. */
static inline struct need need_at(
    const struct node *node, uint32_t workflow, uint32_t task, uint32_t items)
{
    return need_of(node->profile, &workflow_at(node, workflow)->tasks[task], items);
}

/* Whether @worker meets @need, whether or not it is usable now. */
static inline bool can_run(const struct node *node, struct need need, uint32_t worker)
{
    return need_is_met(need, &node->fleet->workers[worker]);
}

/* Why no worker meets @need: none is left, or there never was one. */
static inline enum reason why_none(const struct node *node, struct need need)
{
    return need_is_met_by_any(need, node->fleet) ? REASON_NO_WORKER : REASON_TOO_LARGE;
}

/* Append an effect of @kind and give it to be filled in; its fields are not cleared. */
static inline struct effect *effect_add(struct node *node, enum effect_kind kind)
{
    struct effects *effects = node->effects;
    ASSERT(effects->count < effects->capacity);
    struct effect *effect = &effects->items[effects->count];
    effects->count++;
    effect->kind = kind;
    return effect;
}

/* Append a trace record with time, node, kind and reason filled in and the rest NONE. */
static inline struct record *trace(struct node *node, enum record_kind kind, enum reason reason)
{
    struct effects *effects = node->effects;
    ASSERT(effects->record_count < effects->capacity);
    struct record *record = &effects->records[effects->record_count];
    effects->record_count++;
    *record = (struct record){
        .at_ns = node->view.now_ns,
        .node = node->id,
        .task = TASK_NONE,
        .worker = WORKER_NONE,
        .workflow = RECORD_NONE,
        .model = RECORD_NONE,
        .kind = (uint8_t)kind,
        .reason = (uint8_t)reason,
    };
    return record;
}

/* What was weighed for @task of @job, if the host asks and there is room. Before what was chosen.
 */
static inline void trace_weighed(
    struct node *node, struct job_id job, uint32_t workflow, uint32_t task)
{
    const struct weighed *weighed = node->seat.meter->weighed;
    for (uint32_t i = 0; weighed != NULL && i < weighed->count; i++) {
        const struct weighed_worker *item = &weighed->items[i];
        if (item->task != task || node->effects->record_count >= node->effects->capacity / 2) {
            continue;
        }
        struct record *record = trace(node, RECORD_WEIGHED, REASON_NONE);
        record->job = job;
        record->workflow = (uint16_t)workflow;
        record->task = task;
        record->worker = item->worker;
        record->model = item->lacks;
        record->value = item->end_ns - node->view.now_ns;
        record->batch = (uint16_t)item->config.batch;
        record->gpu = (uint16_t)item->config.gpu;
        record->cpu = (uint16_t)item->config.cpu;
    }
}

/* The same about one task of a job. */
static inline struct record *trace_task(
    struct node *node, enum record_kind kind, const struct visit *visit, const struct task *task)
{
    struct record *record = trace(node, kind, REASON_NONE);
    record->job = visit->job;
    record->workflow = (uint16_t)visit->workflow;
    record->task = task->number;
    record->worker = task->worker;
    return record;
}

static inline void wake_at(struct node *node, int64_t at_ns, enum timer_kind kind, uint32_t worker)
{
    struct effect *effect = effect_add(node, EFFECT_WAKE_AT);
    effect->wake.at_ns = at_ns;
    effect->wake.timer.kind = kind;
    effect->wake.timer.worker = worker;
}

/* How long what should take @ns takes on @worker, as far as it has learnt. */
static inline int64_t slowed_ns(const struct worker *worker, int64_t ns)
{
    return ns + ns / SLOWNESS_ONE * (worker->slowness - SLOWNESS_ONE);
}

#endif /* NODE_ACCESS_H */
