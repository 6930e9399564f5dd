/*
 * model_cache.h - a worker's device memory as a cache of models.
 *
 * One load is on the bus at a time and overlaps execution; what other nodes see of it
 * is in the row. A load for the queue whose turn is next may evict; a load ahead of
 * need may not, so it never displaces an earlier need. Which model leaves, and which is
 * loaded ahead, the policy says. Memory counts resident, loading and leaving models and
 * the workspaces of running batches. Where workers share it (bank.h), what one has loaded
 * the others load after it, and it leaves all of them together.
 */
#ifndef NODE_MODEL_CACHE_H
#define NODE_MODEL_CACHE_H

#include "node/inside.h"
#include "profile/fresh.h"

/* Read from the profile what it takes to load @model, of which nothing is counted at @worker. */
static inline void cache_learn(const struct node *node, struct worker *worker, uint32_t model)
{
    struct model_slot *slot = &worker->models[model];
    slot->load_ns = profile_load_ns(node->profile, model, worker->spec);
    slot->first_run_ns = profile_first_run_ns(node->profile, model, worker->spec->device);
}

/* One more (+1) or one fewer (-1) task, or batch that gathers, of this kind waits at @worker. */
void cache_want(struct worker *worker, const struct workflow_task *kind, int32_t by);

/* Why a task of @kind with @items can never run on @worker; REASON_NONE if it can. */
enum reason cache_obstacle(
    const struct node *node, const struct worker *worker, const struct workflow_task *kind,
    uint32_t items);

/* Whether all models of @kind are resident. */
bool cache_is_ready(const struct worker *worker, const struct workflow_task *kind);

/* A batch of @kind runs; it ended. */
void cache_use(struct node *node, struct worker *worker, const struct workflow_task *kind);
void cache_unuse(struct node *node, struct worker *worker, const struct workflow_task *kind);

/* The most items of @kind that ever fit @worker together. */
uint32_t cache_items_max(
    const struct node *node, const struct worker *worker, const struct workflow_task *kind);

/* Start the next load, or the evictions it needs. Returns when to try a failed one again. */
int64_t cache_advance(struct node *node, struct worker *worker);

/*
 * The policy wants @model on @worker: load it when nothing that waits has to be loaded, into
 * free memory or in place of what nothing waits for. The last wish counts.
 */
void cache_warm(struct node *node, struct worker *worker, uint32_t model);

/* Unload @model, which the bank of @worker can spare, from all workers that have it there. */
void cache_evict(
    struct node *node, const struct worker *worker, uint32_t model, enum reason reason);

/* To make room, unload what @worker has of a model that no batch of it runs with. */
void cache_evict_copy(struct node *node, struct worker *worker, uint32_t model);

/* Load what other workers of the bank have. */
void cache_follow(struct node *node, struct worker *worker);

/* Bring in what the policy wants there. */
void cache_warm_up(struct node *node, struct worker *worker);

/* Stop loading a model that no queued task wants any more. */
void cache_drop_unwanted(struct node *node, struct worker *worker);

/* The device is gone, its node is not: what waits for it fails, nothing new is taken. */
void cache_device_lost(struct node *node, struct worker *worker);

/* What the host reports. */
void cache_loaded(
    struct node *node, struct worker *worker, uint32_t model, enum weft_status status,
    uint64_t bytes, uint64_t own_bytes);
void cache_unloaded(struct node *node, struct worker *worker, uint32_t model);
void cache_repository_changed(
    struct node *node, struct worker *worker, uint32_t model, bool available);

/* Load @model, which has just come, if it fits into free memory. False if it does not. */
bool cache_welcome(const struct node *node, struct worker *worker, uint32_t model);

#endif /* NODE_MODEL_CACHE_H */
