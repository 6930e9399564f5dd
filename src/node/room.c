#include "node/room.h"

#include "node/access.h"
#include "node/dispatch.h"
#include "node/grants.h"
#include "node/model_cache.h"

uint64_t room_free_bytes(const struct worker *worker)
{
    const uint64_t all = worker->spec->memory_bytes;
    return worker->memory_used_bytes < all ? all - worker->memory_used_bytes : 0;
}

static void add_models(const struct workflow_task *kind, struct model_set *models)
{
    for (uint32_t i = 0; i < kind->model_count; i++) {
        model_set_add(models, kind->models[i]);
    }
}

/*
 * Models that batches which gather, and then queues, need, up to and including those of
 * @kind, as marks.
 */
static void mark_needed(
    const struct node *node, const struct worker *worker, const struct workflow_task *kind,
    struct model_set *needed)
{
    uint32_t number = dispatch_next_queue(worker, QUEUE_NONE);
    add_models(kind, needed);
    for (uint32_t slot = worker->grants; slot != POOL_NONE; slot = grant_at(node, slot)->next) {
        const struct workflow_task *other = grants_kind(node, slot);
        if (other == kind) {
            return;
        }
        if (other != NULL) {
            add_models(other, needed);
        }
    }
    while (number != QUEUE_NONE) {
        uint32_t workflow;
        uint32_t task;
        const struct workflow_task *other = dispatch_queue_task(node, number, &workflow, &task);
        if (other == kind) {
            return;
        }
        add_models(other, needed);
        number = dispatch_next_queue(worker, number);
    }
}

/* How many queued tasks run before the first that wants @model, by the order of queue heads. */
static uint32_t next_use(const struct node *node, const struct worker *worker, uint32_t model)
{
    if (worker->models[model].wanted == 0) {
        return NEXT_USE_NEVER;
    }
    uint32_t before = 0;
    for (uint32_t slot = worker->grants; slot != POOL_NONE; slot = grant_at(node, slot)->next) {
        const struct workflow_task *kind = grants_kind(node, slot);
        if (kind != NULL && workflow_task_needs(kind, model)) {
            return before;
        }
        before += kind != NULL ? grant_at(node, slot)->count : 0;
    }
    uint32_t number = dispatch_next_queue(worker, QUEUE_NONE);
    while (number != QUEUE_NONE) {
        uint32_t workflow;
        uint32_t task;
        if (workflow_task_needs(dispatch_queue_task(node, number, &workflow, &task), model)) {
            return before;
        }
        before += worker->queues[number].count;
        number = dispatch_next_queue(worker, number);
    }
    return NEXT_USE_NEVER;
}

struct cache_entry room_entry(const struct node *node, const struct worker *worker, uint32_t model)
{
    const struct model_slot *slot = &worker->models[model];
    return (struct cache_entry){
        .model = model,
        .next_use = next_use(node, worker, model),
        .bytes = slot->bytes,
        .used_ns = slot->used_ns,
        .gap_ns = slot->gap_ns,
        .load_ns = slot->load_ns + slot->first_run_ns,
    };
}

static uint64_t leaving_bytes(const struct node *node, const struct worker *worker)
{
    uint64_t bytes = 0;
    for (uint32_t model = 0; model < node->catalogue->model_count; model++) {
        if (worker->models[model].state == MODEL_UNLOADING) {
            bytes += worker->models[model].bytes;
        }
    }
    return bytes;
}

/*
 * List what may leave: resident, idle, and not @needed; pinned models only with
 * @even_pinned. Returns the bytes of all of it.
 */
static uint64_t list_idle(
    const struct node *node, const struct worker *worker, const struct model_set *needed,
    bool even_pinned, struct cache_entry *entries_out, uint32_t *count_out)
{
    uint64_t bytes = 0;
    *count_out = 0;
    for (uint32_t model = 0; model < node->catalogue->model_count; model++) {
        const struct model_slot *slot = &worker->models[model];
        if (slot->state == MODEL_RESIDENT && slot->users == 0 && slot->bytes > 0 &&
            !model_set_has(needed, model) &&
            (even_pinned || !node->profile->models[model].pinned)) {
            entries_out[*count_out] = room_entry(node, worker, model);
            (*count_out)++;
            bytes += slot->bytes;
        }
    }
    return bytes;
}

/* Let the policy choose among @entries, which are enough, until @bytes will be free. */
static void evict_victims(
    struct node *node, struct worker *worker, int64_t bytes, struct cache_entry *entries,
    uint32_t count)
{
    while (bytes > 0) {
        const struct cache_facts facts = {
            .worker = worker->id,
            .free_bytes = room_free_bytes(worker),
            .wanted_bytes = (uint64_t)bytes,
            .count = count,
            .entries = entries,
        };
        const uint32_t victim = policy_victim(&node->seat, &facts);
        bytes -= (int64_t)entries[victim].bytes;
        cache_evict(node, worker, entries[victim].model, REASON_ROOM);
        count--;
        entries[victim] = entries[count];
    }
}

bool room_make(
    struct node *node, struct worker *worker, uint64_t bytes, const struct workflow_task *kind)
{
    if (bytes <= room_free_bytes(worker)) {
        return true;
    }
    struct cache_entry entries[MODELS_MAX];
    struct model_set needed = {{0}};
    uint64_t promised = room_free_bytes(worker) + leaving_bytes(node, worker);
    uint32_t count = 0;
    mark_needed(node, worker, kind, &needed);
    if (promised + list_idle(node, worker, &needed, false, entries, &count) < bytes &&
        promised + list_idle(node, worker, &needed, true, entries, &count) < bytes) {
        return false; /* Evicting would not help yet: running batches must end first. */
    }
    evict_victims(node, worker, (int64_t)(bytes - promised), entries, count);
    return false; /* The room is there when the unloads have ended. */
}

bool room_make_way(struct node *node, struct worker *worker, uint64_t bytes)
{
    struct cache_entry entries[MODELS_MAX];
    struct model_set wanted = {{0}};
    uint64_t promised = room_free_bytes(worker);
    uint32_t count = 0;
    for (uint32_t model = 0; model < node->catalogue->model_count; model++) {
        if (worker->models[model].wanted > 0) {
            model_set_add(&wanted, model);
        }
    }
    const uint64_t idle =
        list_idle(node, worker, &wanted, /* even_pinned */ false, entries, &count);
    if (promised + idle < bytes) {
        return false;
    }
    evict_victims(node, worker, (int64_t)(bytes - promised), entries, count);
    return true;
}
