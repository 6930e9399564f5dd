#include "node/model_cache.h"

#include "base/numbers.h"
#include "base/units.h"
#include "node/access.h"
#include "node/bank.h"
#include "node/dispatch.h"
#include "node/fail_waiting.h"
#include "node/grants.h"
#include "node/keep_alive.h"
#include "node/room.h"
#include "node/rows.h"
#include "node/visits.h"

/* Keep the sums that the row needs: what queued tasks still have to load. */
static void count_missing(struct worker *worker, const struct model_slot *slot, int32_t sign)
{
    if (slot->wanted == 0 || slot->state == MODEL_RESIDENT) {
        return;
    }
    worker->missing = sign > 0 ? worker->missing + 1 : worker->missing - 1;
    worker->first_run_ns += sign * slot->first_run_ns;
    if (slot->state != MODEL_LOADING) {
        worker->missing_ns += sign * slot->load_ns;
    }
}

/* What @model takes is read again when nothing is counted by it: profiles learn. */
static void move_model(
    const struct node *node, struct worker *worker, uint32_t model, enum model_state to)
{
    struct model_slot *slot = &worker->models[model];
    struct bank *bank = worker->bank;
    count_missing(worker, slot, -1);
    bank->used_bytes -= bank_model_bytes(node, bank, model);
    bank->unloading -= slot->state == MODEL_UNLOADING ? 1 : 0;
    model_state_move(&slot->state, to);
    bank->unloading += slot->state == MODEL_UNLOADING ? 1 : 0;
    bank->used_bytes += bank_model_bytes(node, bank, model);
    cache_learn(node, worker, model);
    count_missing(worker, slot, +1);
    worker->cache_changed = true;
    worker->touched = true;
}

void cache_want(struct worker *worker, const struct workflow_task *kind, int32_t by)
{
    for (uint32_t i = 0; i < kind->model_count; i++) {
        struct model_slot *slot = &worker->models[kind->models[i]];
        ASSERT(by > 0 || slot->wanted > 0);
        count_missing(worker, slot, -1);
        slot->wanted = by > 0 ? slot->wanted + 1 : slot->wanted - 1;
        count_missing(worker, slot, +1);
    }
}

enum reason cache_obstacle(
    const struct node *node, const struct worker *worker, const struct workflow_task *kind,
    uint32_t items)
{
    uint64_t bytes = profile_workspace_bytes(node->profile, kind->run, items);
    if (worker->lost) {
        return REASON_DEVICE_LOST;
    }
    for (uint32_t i = 0; i < kind->model_count; i++) {
        const struct model_slot *slot = &worker->models[kind->models[i]];
        if (slot->withdrawn) {
            return REASON_UNAVAILABLE;
        }
        bytes += slot->bytes;
    }
    return bytes > worker->spec->memory_bytes ? REASON_TOO_LARGE : REASON_NONE;
}

bool cache_is_ready(const struct worker *worker, const struct workflow_task *kind)
{
    for (uint32_t i = 0; i < kind->model_count; i++) {
        const struct model_slot *slot = &worker->models[kind->models[i]];
        if (slot->state != MODEL_RESIDENT || slot->stale) {
            return false;
        }
    }
    return true;
}

/* What a use counts as by the clock of a bank, so that means are whole numbers. */
enum { USE = 1024 };

/* @model was in use until now, or has come. */
static void touch(struct bank *bank, uint32_t model, int64_t now_ns)
{
    bank->models[model].used_ns = now_ns;
    bank->models[model].used = bank->clock;
}

/* Move @mean of the last @count gaps towards @gap. A long pause counts as a few. */
static void follow_gap(int64_t *mean, int64_t gap, uint32_t count)
{
    enum { PAUSE_GAPS_MAX = 8 };
    *mean += *mean == 0 ? gap : (min_i64(gap, PAUSE_GAPS_MAX * *mean) - *mean) / (int64_t)count;
}

/*
 * Learn how often a model is used, compared with others: the clock of a bank counts its uses, which
 * a busier or quieter hour does not change. A few gaps say little, so many are remembered, unless
 * the last ones differ from them twofold: then the model is used as those say.
 */
static void note_use(struct bank *bank, uint32_t number, int64_t now_ns)
{
    enum { GAPS = 64, GAPS_RECENT = 8, APART = 2 };
    struct bank_model *model = &bank->models[number];
    bank->clock += USE;
    const int64_t gap = bank->clock - model->began;
    model->began = bank->clock;
    touch(bank, number, now_ns);
    model->uses += model->uses < GAPS ? 1 : 0;
    if (model->uses == 1) {
        return;
    }
    follow_gap(&model->recent, gap, min_u32(model->uses, GAPS_RECENT));
    follow_gap(&model->gap, gap, model->uses);
    if (model->recent > APART * model->gap || model->gap > APART * model->recent) {
        model->gap = model->recent;
    }
}

void cache_use(struct node *node, struct worker *worker, const struct workflow_task *kind)
{
    for (uint32_t i = 0; i < kind->model_count; i++) {
        struct model_slot *slot = &worker->models[kind->models[i]];
        ASSERT(slot->state == MODEL_RESIDENT);
        slot->users++;
        note_use(worker->bank, kind->models[i], now_ns(node));
    }
}

/* Unload what @worker has of @model, which no batch of it runs with. */
static void evict_copy(struct node *node, struct worker *worker, uint32_t model, enum reason reason)
{
    ASSERT(worker->models[model].users == 0);
    move_model(node, worker, model, MODEL_UNLOADING);
    worker->models[model].stale = false;
    struct record *record = trace(node, RECORD_EVICTED, reason);
    record->worker = worker->id;
    record->model = (uint16_t)model;
    struct effect *effect = effect_add(node, EFFECT_UNLOAD);
    effect->load.worker = worker->id;
    effect->load.model = model;
    effect->load.bytes = worker->models[model].bytes;
    rows_cache_changed(node, worker);
}

void cache_evict_copy(struct node *node, struct worker *worker, uint32_t model)
{
    evict_copy(node, worker, model, REASON_ROOM);
}

void cache_evict(struct node *node, const struct worker *worker, uint32_t model, enum reason reason)
{
    ASSERT(bank_can_spare(node, worker->bank, model));
    for (uint32_t i = 0; i < node->worker_count; i++) {
        struct worker *holder = &node->workers[i];
        if (holder->bank == worker->bank && holder->models[model].state == MODEL_RESIDENT) {
            evict_copy(node, holder, model, reason);
        }
    }
}

void cache_unuse(struct node *node, struct worker *worker, const struct workflow_task *kind)
{
    for (uint32_t i = 0; i < kind->model_count; i++) {
        struct model_slot *slot = &worker->models[kind->models[i]];
        ASSERT(slot->users > 0);
        slot->users--;
        touch(worker->bank, kind->models[i], now_ns(node));
        if (slot->users == 0 && slot->stale) {
            evict_copy(node, worker, kind->models[i], REASON_WITHDRAWN);
        }
    }
    keep_alive_note(node, worker);
    room_freed(node, worker);
}

uint32_t cache_items_max(
    const struct node *node, const struct worker *worker, const struct workflow_task *kind)
{
    const uint64_t each = node->profile->models[kind->run].workspace_bytes_per_item;
    uint64_t bytes = profile_workspace_bytes(node->profile, kind->run, /* items */ 0);
    for (uint32_t i = 0; i < kind->model_count; i++) {
        bytes += worker->models[kind->models[i]].bytes;
    }
    const uint64_t all = worker->spec->memory_bytes;
    const uint64_t items = each == 0 ? UINT32_MAX : (bytes < all ? all - bytes : 0) / each;
    return items < UINT32_MAX ? (uint32_t)items : UINT32_MAX;
}

static void start_load(struct node *node, struct worker *worker, uint32_t model, enum reason reason)
{
    const int64_t load_ns = bank_has(node, worker, model)
                                ? profile_follow_ns(node->profile, model, worker->spec)
                                : worker->models[model].load_ns;
    move_model(node, worker, model, MODEL_LOADING);
    worker->loading = model;
    worker->loading_until_ns = now_ns(node) + load_ns;
    const uint64_t bytes = node->profile->models[model].load_bytes;
    struct record *record = trace(node, RECORD_LOADING, reason);
    record->worker = worker->id;
    record->model = (uint16_t)model;
    record->value = (int64_t)bytes;
    struct effect *effect = effect_add(node, EFFECT_LOAD);
    effect->load.worker = worker->id;
    effect->load.model = model;
    effect->load.bytes = bytes;
    rows_cache_changed(node, worker);
    rows_load_changed(node, worker);
}

/* The first model of @kind that is absent and may be loaded now, or MODEL_NONE. */
static uint32_t first_absent(
    const struct node *node, const struct worker *worker, const struct workflow_task *kind,
    int64_t *retry_at_ns)
{
    for (uint32_t i = 0; i < kind->model_count; i++) {
        const struct model_slot *slot = &worker->models[kind->models[i]];
        if (slot->state != MODEL_ABSENT || bank_moves(node, worker, kind->models[i])) {
            continue;
        }
        if (slot->retry_at_ns <= now_ns(node)) {
            return kind->models[i];
        }
        if (slot->retry_at_ns < *retry_at_ns) {
            *retry_at_ns = slot->retry_at_ns;
        }
    }
    return MODEL_NONE;
}

static void load_ahead(
    struct node *node, struct worker *worker, const struct cache_entry *wanted, uint32_t count)
{
    const struct cache_facts facts = {
        .worker = worker->id,
        .free_bytes = bank_free_bytes(worker->bank),
        .count = count,
        .entries = wanted,
    };
    const uint32_t chosen = policy_prefetch(&node->seat, &facts);
    if (chosen != UINT32_MAX && wanted[chosen].bytes <= facts.free_bytes &&
        !room_is_owed(node, worker)) {
        start_load(node, worker, wanted[chosen].model, REASON_PREFETCH);
    }
}

/*
 * Load what the first batch that gathers still needs: each holds its units already, so none
 * of them is ahead of need. False if none needs anything.
 */
static bool load_for_grants(struct node *node, struct worker *worker, int64_t *retry_at_ns)
{
    for (uint32_t slot = worker->grants; slot != POOL_NONE; slot = grant_at(node, slot)->next) {
        const struct workflow_task *kind = grants_kind(node, slot);
        const uint32_t model =
            kind == NULL ? MODEL_NONE : first_absent(node, worker, kind, retry_at_ns);
        if (model == MODEL_NONE) {
            continue;
        }
        if (room_make(node, worker, bank_more_bytes(node, worker, model), kind)) {
            start_load(node, worker, model, REASON_DEMAND);
        }
        return true;
    }
    return false;
}

int64_t cache_advance(struct node *node, struct worker *worker)
{
    int64_t retry_at_ns = INT64_MAX;
    struct cache_entry ahead[16]; /* There is no need to look further ahead. */
    struct model_set seen = {{0}};
    uint32_t count = 0;
    bool first = true;
    if (worker->loading != MODEL_NONE || worker->bank->unloading > 0 ||
        load_for_grants(node, worker, &retry_at_ns)) {
        return retry_at_ns;
    }
    uint32_t number = dispatch_next_queue(worker, QUEUE_NONE);
    while (number != QUEUE_NONE && count < ARRAY_COUNT(ahead)) {
        uint32_t workflow;
        uint32_t task;
        const struct workflow_task *kind = dispatch_queue_task(node, number, &workflow, &task);
        const uint32_t model = first_absent(node, worker, kind, &retry_at_ns);
        if (model != MODEL_NONE && first) {
            if (room_make(node, worker, bank_more_bytes(node, worker, model), kind)) {
                start_load(node, worker, model, REASON_DEMAND);
            }
            return retry_at_ns;
        }
        if (model != MODEL_NONE && !model_set_has(&seen, model)) {
            model_set_add(&seen, model);
            ahead[count] = room_entry(node, worker, model, bank_more_bytes(node, worker, model));
            count++;
        }
        first = false;
        number = dispatch_next_queue(worker, number);
    }
    if (count > 0) {
        load_ahead(node, worker, ahead, count);
    }
    return retry_at_ns;
}

/*
 * So many other workers of a bank load a model as soon as the first has it, since its weights are
 * in memory anyway. On large machines, the rest do so when a task needs it there.
 */
enum { FOLLOWERS_MAX = 3 };

/* A model has come to @worker, the first of its bank: some after it follow. */
static void let_follow(struct node *node, const struct worker *worker)
{
    const uint32_t first = worker->id - node->view.worker_first;
    uint32_t count = 0;
    for (uint32_t i = 1; i < node->worker_count && count < FOLLOWERS_MAX; i++) {
        struct worker *other = &node->workers[(first + i) % node->worker_count];
        if (other->bank == worker->bank) {
            other->lags = true;
            count++;
        }
    }
}

/* Whether another worker of the bank has @model, and @worker can load it into free memory. */
static bool can_follow(const struct node *node, const struct worker *worker, uint32_t model)
{
    const struct model_slot *slot = &worker->models[model];
    return slot->state == MODEL_ABSENT && !slot->withdrawn && slot->retry_at_ns <= now_ns(node) &&
           bank_has(node, worker, model) && !bank_moves(node, worker, model) &&
           bank_more_bytes(node, worker, model) <= bank_free_bytes(worker->bank);
}

void cache_follow(struct node *node, struct worker *worker)
{
    if (worker->loading != MODEL_NONE || worker->lost) {
        return;
    }
    for (uint32_t model = 0; model < node->catalogue->model_count; model++) {
        if (can_follow(node, worker, model)) {
            worker->models[model].warm = true;
            start_load(
                node, worker, model,
                worker->models[model].wanted > 0 ? REASON_DEMAND : REASON_SHARED);
            return;
        }
    }
    worker->lags = false;
}

/* The model on the bus leaves it without having become resident. */
static void stop_loading(struct node *node, struct worker *worker, uint32_t model)
{
    struct model_slot *slot = &worker->models[model];
    move_model(node, worker, model, MODEL_ABSENT);
    worker->loading = MODEL_NONE;
    slot->unwanted = false;
    slot->warm = false;
    rows_cache_changed(node, worker);
    rows_load_changed(node, worker);
}

void cache_warm(struct node *node, struct worker *worker, uint32_t model)
{
    const struct model_slot *slot = &worker->models[model];
    if (slot->state == MODEL_ABSENT && !slot->withdrawn && !worker->lost &&
        !bank_has(node, worker, model)) {
        worker->warm = model;
        worker->touched = true;
    }
}

void cache_warm_up(struct node *node, struct worker *worker)
{
    const uint32_t model = worker->warm;
    if (worker->loading != MODEL_NONE || worker->bank->unloading > 0 || worker->missing > 0 ||
        bank_moves(node, worker, model)) {
        return; /* What a task waits for comes first. */
    }
    struct model_slot *slot = &worker->models[model];
    const bool possible = slot->state == MODEL_ABSENT && !slot->withdrawn && !worker->lost &&
                          slot->retry_at_ns <= now_ns(node) &&
                          room_make_way(node, worker, bank_more_bytes(node, worker, model));
    if (possible && worker->bank->unloading > 0) {
        return; /* Until it is there. */
    }
    worker->warm = MODEL_NONE;
    if (possible) {
        slot->warm = true;
        start_load(node, worker, model, REASON_WARM);
    }
}

void cache_drop_unwanted(struct node *node, struct worker *worker)
{
    const uint32_t model = worker->loading;
    if (model == MODEL_NONE || bank_wanted(node, worker->bank, model) > 0 ||
        worker->models[model].warm) {
        return;
    }
    stop_loading(node, worker, model);
    struct record *record = trace(node, RECORD_LOAD_DROPPED, REASON_NONE);
    record->worker = worker->id;
    record->model = (uint16_t)model;
    struct effect *effect = effect_add(node, EFFECT_CANCEL_LOAD);
    effect->load.worker = worker->id;
    effect->load.model = model;
    effect->load.bytes = 0;
}

static void load_failed(struct node *node, struct worker *worker, uint32_t model)
{
    struct model_slot *slot = &worker->models[model];
    const uint32_t shift = min_u32(slot->failures, LOAD_RETRIES_SHIFT_MAX);
    const int64_t pause_ns = LOAD_RETRY_FIRST_NS << shift;
    slot->failures++;
    slot->retry_at_ns = now_ns(node) + pause_ns;
    stop_loading(node, worker, model);
    struct record *record = trace(node, RECORD_LOAD_FAILED, REASON_NONE);
    record->worker = worker->id;
    record->model = (uint16_t)model;
    record->value = pause_ns;
    fail_waiting_for(node, worker, model, REASON_LOAD_FAILED);
}

void cache_device_lost(struct node *node, struct worker *worker)
{
    worker->lost = true;
    rows_load_changed(node, worker);
}

void cache_loaded(
    struct node *node, struct worker *worker, uint32_t model, enum weft_status status,
    uint64_t bytes, uint64_t own_bytes)
{
    struct model_slot *slot = &worker->models[model];
    ASSERT(worker->loading == model);
    if (status != WEFT_OK) {
        load_failed(node, worker, model);
        if (status == WEFT_LOST) {
            cache_device_lost(node, worker);
        }
        return;
    }
    move_model(node, worker, model, MODEL_RESIDENT);
    worker->loading = MODEL_NONE;
    slot->warm = false;
    model_set_add(&worker->fresh, model);
    if (!bank_has(node, worker, model)) {
        let_follow(node, worker);
    }
    if (bytes != 0) { /* Measured: it replaces what the profile promised. */
        bank_measured(node, worker, model, bytes, own_bytes);
        fail_waiting_for(node, worker, model, REASON_TOO_LARGE); /* Those that no longer fit. */
    }
    slot->failures = 0;
    touch(worker->bank, model, now_ns(node));
    keep_alive_note(node, worker);
    struct record *record = trace(node, RECORD_LOADED, REASON_NONE);
    record->worker = worker->id;
    record->model = (uint16_t)model;
    if (slot->unwanted) {
        slot->unwanted = false;
        evict_copy(node, worker, model, REASON_WITHDRAWN);
    }
    rows_cache_changed(node, worker);
    rows_load_changed(node, worker);
}

void cache_unloaded(struct node *node, struct worker *worker, uint32_t model)
{
    move_model(node, worker, model, MODEL_ABSENT);
    rows_cache_changed(node, worker);
    rows_load_changed(node, worker);
}

void cache_repository_changed(
    struct node *node, struct worker *worker, uint32_t model, bool available)
{
    struct model_slot *slot = &worker->models[model];
    slot->withdrawn = !available;
    slot->unwanted = slot->state == MODEL_LOADING;
    slot->stale = slot->state == MODEL_RESIDENT;
    slot->failures = 0;
    slot->retry_at_ns = 0;
    worker->touched = true;
    fail_waiting_stop(worker, model);
    if (slot->stale && slot->users == 0) {
        evict_copy(node, worker, model, REASON_WITHDRAWN);
    }
    if (!available) {
        fail_waiting_for(node, worker, model, REASON_UNAVAILABLE);
    }
}

bool cache_welcome(const struct node *node, struct worker *worker, uint32_t model)
{
    const struct bank *bank = worker->bank;
    const uint64_t leaving =
        bank_loses(node, bank, model) ? bank_model_bytes(node, bank, model) : 0;
    if (worker->lost || worker->models[model].bytes > bank_free_bytes(bank) + leaving) {
        return false;
    }
    worker->warm = model;
    return true;
}
