#include "node/room.h"

#include "base/units.h"
#include "node/access.h"
#include "node/bank.h"
#include "node/dispatch.h"
#include "node/grants.h"
#include "node/model_cache.h"

/* Tasks that wait at a worker: those of a batch that gathers, or of a queue. */
struct waiting {
    struct turn turn;
    const struct workflow_task *kind;
    uint32_t count;
};

/* A walk through all that waits at the workers of a bank, in no order. */
struct walk {
    const struct node *node;
    const struct bank *bank;
    uint32_t worker; /* The next one. */
    uint32_t grant;  /* Of the one before it. */
    uint32_t index;
    uint32_t active; /* How many of its queues are left. */
};

static struct walk walk_begin(const struct node *node, const struct bank *bank)
{
    return (struct walk){.node = node, .bank = bank, .grant = POOL_NONE};
}

static bool is_before(const struct turn *a, const struct turn *b)
{
    if (a->key != b->key || a->arrival != b->arrival) {
        return a->key < b->key || (a->key == b->key && a->arrival < b->arrival);
    }
    return a->worker < b->worker || (a->worker == b->worker && a->index < b->index);
}

static void give_grant(struct walk *walk, struct waiting *out)
{
    const struct grant *grant = grant_at(walk->node, walk->grant);
    *out = (struct waiting){
        .turn =
            {
                .key = INT64_MIN,
                .arrival = (uint64_t)grant->granted_ns,
                .worker = walk->worker - 1,
                .index = walk->index,
            },
        .kind = grants_kind(walk->node, walk->grant),
        .count = grant->count,
    };
    walk->index++;
    walk->grant = grant->next;
}

static void give_queue(struct walk *walk, struct waiting *out)
{
    const struct worker *worker = &walk->node->workers[walk->worker - 1];
    const uint32_t number = worker->active[--walk->active];
    const struct queue *queue = &worker->queues[number];
    uint32_t workflow;
    uint32_t task;
    *out = (struct waiting){
        .turn = {.key = queue->key, .arrival = queue->arrival, .worker = walk->worker - 1},
        .kind = dispatch_queue_task(walk->node, number, &workflow, &task),
        .count = queue->count,
    };
}

static bool walk_next(struct walk *walk, struct waiting *out)
{
    for (;;) {
        if (walk->grant != POOL_NONE) {
            give_grant(walk, out);
            if (out->kind != NULL) {
                return true;
            }
        } else if (walk->active > 0) {
            give_queue(walk, out);
            return true;
        } else if (walk->worker == walk->node->worker_count) {
            return false;
        } else {
            const struct worker *worker = &walk->node->workers[walk->worker++];
            const bool is_in = worker->bank == walk->bank;
            walk->grant = is_in ? worker->grants : POOL_NONE;
            walk->active = is_in ? worker->active_count : 0;
            walk->index = 0;
        }
    }
}

/* After all others. */
static const struct turn turn_never = {.key = INT64_MAX, .arrival = UINT64_MAX};

/* The first turn of what needs @model at any worker of @bank. */
static struct turn first_turn(const struct node *node, const struct bank *bank, uint32_t model)
{
    struct walk walk = walk_begin(node, bank);
    struct waiting waiting;
    struct turn first = turn_never;
    while (walk_next(&walk, &waiting)) {
        if (workflow_task_needs(waiting.kind, model) && is_before(&waiting.turn, &first)) {
            first = waiting.turn;
        }
    }
    return first;
}

/* The turn of @kind, which waits at @worker. */
static struct turn turn_of(
    const struct node *node, const struct worker *worker, const struct workflow_task *kind)
{
    struct walk walk = walk_begin(node, worker->bank);
    struct waiting waiting;
    struct turn turn = turn_never;
    while (walk_next(&walk, &waiting)) {
        if (&node->workers[waiting.turn.worker] == worker && waiting.kind == kind &&
            is_before(&waiting.turn, &turn)) {
            turn = waiting.turn;
        }
    }
    return turn;
}

/* Models that are needed before @turn, as marks. */
static void mark_needed(
    const struct node *node, const struct bank *bank, const struct turn *turn,
    struct model_set *needed)
{
    struct walk walk = walk_begin(node, bank);
    struct waiting waiting;
    while (walk_next(&walk, &waiting)) {
        if (is_before(&waiting.turn, turn)) {
            workflow_task_add_models(waiting.kind, needed);
        }
    }
}

/* How many queued tasks run before the first that wants @model, by the order of queue heads. */
static uint32_t next_use(const struct node *node, const struct bank *bank, uint32_t model)
{
    struct walk walk = walk_begin(node, bank);
    struct waiting waiting;
    uint32_t before = 0;
    if (bank_wanted(node, bank, model) == 0) {
        return NEXT_USE_NEVER;
    }
    const struct turn first = first_turn(node, bank, model);
    if (!is_before(&first, &turn_never)) {
        return NEXT_USE_NEVER;
    }
    while (walk_next(&walk, &waiting)) {
        before += is_before(&waiting.turn, &first) ? waiting.count : 0;
    }
    return before;
}

/*
 * What a miss costs where workers share memory, beside the load: each of them is told to unload one
 * model and to load another. Loads that only map take less than that, and what is learnt of them
 * differs by chance; it must not decide which model leaves.
 */
#define MISS_NS (2 * NS_PER_MS)

struct cache_entry room_entry(
    const struct node *node, const struct worker *worker, uint32_t model, uint64_t bytes)
{
    const struct model_slot *slot = &worker->models[model];
    const struct bank_model *use = &worker->bank->models[model];
    return (struct cache_entry){
        .model = model,
        .next_use = next_use(node, worker->bank, model),
        .bytes = bytes,
        .used_ns = use->used_ns,
        .idle = worker->bank->clock - use->used,
        .gap = use->gap,
        .load_ns =
            slot->load_ns + slot->first_run_ns + (worker->bank->worker_count > 1 ? MISS_NS : 0),
    };
}

static uint64_t leaving_bytes(const struct node *node, const struct bank *bank)
{
    uint64_t bytes = 0;
    for (uint32_t model = 0; bank->unloading > 0 && model < node->catalogue->model_count; model++) {
        bytes += bank_loses(node, bank, model) ? bank_model_bytes(node, bank, model) : 0;
    }
    return bytes;
}

/*
 * List what may leave the bank of @worker: resident, idle, and not @needed; pinned models only with
 * @even_pinned. Returns the bytes of all of it.
 */
static uint64_t list_idle(
    const struct node *node, const struct worker *worker, const struct model_set *needed,
    bool even_pinned, struct cache_entry *entries_out, uint32_t *count_out)
{
    uint64_t bytes = 0;
    *count_out = 0;
    for (uint32_t model = 0; model < node->catalogue->model_count; model++) {
        if (bank_can_spare(node, worker->bank, model) && worker->models[model].bytes > 0 &&
            !model_set_has(needed, model) &&
            (even_pinned || !node->profile->models[model].pinned)) {
            const uint64_t each = bank_model_bytes(node, worker->bank, model);
            entries_out[*count_out] = room_entry(node, worker, model, each);
            (*count_out)++;
            bytes += each;
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
            .free_bytes = bank_free_bytes(worker->bank),
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

/* Whether anything that waits at @worker needs @model before @turn. */
static bool is_needed_at(
    const struct node *node, const struct worker *worker, uint32_t model, const struct turn *turn)
{
    struct walk walk = walk_begin(node, worker->bank);
    struct waiting waiting;
    while (walk_next(&walk, &waiting)) {
        if (&node->workers[waiting.turn.worker] == worker &&
            workflow_task_needs(waiting.kind, model) && is_before(&waiting.turn, turn)) {
            return true;
        }
    }
    return false;
}

/* What others of the bank keep for themselves of models of @kind, at @worker, can leave for it. */
static void evict_copies(
    struct node *node, const struct worker *worker, const struct workflow_task *kind,
    const struct turn *turn)
{
    for (uint32_t i = 0; i < node->worker_count; i++) {
        struct worker *other = &node->workers[i];
        for (uint32_t k = 0; other->bank == worker->bank && k < kind->model_count; k++) {
            const uint32_t model = kind->models[k];
            const struct model_slot *slot = &other->models[model];
            if (other != worker && worker->models[model].state == MODEL_RESIDENT &&
                slot->state == MODEL_RESIDENT && slot->users == 0 && slot->own_bytes > 0 &&
                !is_needed_at(node, other, model, turn)) {
                cache_evict_copy(node, other, model);
            }
        }
    }
}

/* Others of the bank may take room, for what comes later, so often before @worker has its own. */
enum { PASSES_MAX = 8 };

/* The next worker of the bank, from number *@at on, that waits for room, other than @worker. */
static struct worker *next_owed(const struct node *node, const struct worker *worker, uint32_t *at)
{
    while (worker->bank->worker_count > 1 && *at < node->worker_count) {
        struct worker *other = &node->workers[(*at)++];
        if (other != worker && other->bank == worker->bank && other->is_owed) {
            return other;
        }
    }
    return NULL;
}

/*
 * Whether what @kind at @worker needs has to wait, because another worker waits for room that comes
 * before it, and was passed often enough.
 */
static bool must_wait(
    const struct node *node, const struct worker *worker, const struct workflow_task *kind)
{
    uint32_t at = 0;
    for (const struct worker *other; (other = next_owed(node, worker, &at)) != NULL;) {
        if (other->passes >= PASSES_MAX) {
            const struct turn turn = turn_of(node, worker, kind);
            if (is_before(&other->owed, &turn)) {
                return true;
            }
        }
    }
    return false;
}

/* @worker takes room: what waits at others of its bank was passed. */
static void pass(const struct node *node, const struct worker *worker)
{
    uint32_t at = 0;
    for (struct worker *other; (other = next_owed(node, worker, &at)) != NULL;) {
        other->passes++;
    }
}

bool room_is_owed(const struct node *node, const struct worker *worker)
{
    uint32_t at = 0;
    return next_owed(node, worker, &at) != NULL;
}

/* @worker waits for room, for what has @turn. */
static void owe(struct worker *worker, const struct turn *turn)
{
    if (!worker->is_owed || is_before(turn, &worker->owed)) {
        worker->owed = *turn;
    }
    worker->is_owed = true;
}

bool room_make(
    struct node *node, struct worker *worker, uint64_t bytes, const struct workflow_task *kind)
{
    const bool has_to_wait = bytes > 0 && must_wait(node, worker, kind);
    if (bytes <= bank_free_bytes(worker->bank) && !has_to_wait) {
        pass(node, worker);
        return true;
    }
    struct cache_entry entries[MODELS_MAX];
    struct model_set needed = {{0}};
    const struct turn turn = turn_of(node, worker, kind);
    uint64_t promised = bank_free_bytes(worker->bank) + leaving_bytes(node, worker->bank);
    uint32_t count = 0;
    owe(worker, &turn);
    if (has_to_wait) {
        return false;
    }
    workflow_task_add_models(kind, &needed);
    mark_needed(node, worker->bank, &turn, &needed);
    if (promised + list_idle(node, worker, &needed, false, entries, &count) < bytes &&
        promised + list_idle(node, worker, &needed, true, entries, &count) < bytes) {
        evict_copies(node, worker, kind, &turn);
        return false; /* Evicting would not help yet: running batches must end first. */
    }
    evict_victims(node, worker, (int64_t)(bytes - promised), entries, count);
    return false; /* The room is there when the unloads have ended. */
}

bool room_make_way(struct node *node, struct worker *worker, uint64_t bytes)
{
    struct cache_entry entries[MODELS_MAX];
    struct model_set wanted = {{0}};
    uint64_t promised = bank_free_bytes(worker->bank);
    uint32_t count = 0;
    for (uint32_t model = 0; model < node->catalogue->model_count; model++) {
        if (bank_wanted(node, worker->bank, model) > 0) {
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

void room_freed(struct node *node, const struct worker *worker)
{
    for (uint32_t i = 0; worker->bank->worker_count > 1 && i < node->worker_count; i++) {
        struct worker *other = &node->workers[i];
        other->touched = other->touched || (other->bank == worker->bank && other->is_owed);
    }
}

void room_look(struct worker *worker)
{
    worker->owed_before = worker->owed;
    worker->is_owed = false;
}

void room_settle(struct node *node, struct worker *worker)
{
    const bool gives_way = !worker->is_owed || is_before(&worker->owed_before, &worker->owed);
    if (gives_way && worker->passes >= PASSES_MAX) {
        room_freed(node, worker);
    }
    worker->passes = worker->is_owed ? worker->passes : 0;
}
