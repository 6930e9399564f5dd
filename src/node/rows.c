#include "node/rows.h"

#include "base/numbers.h"
#include "node/access.h"
#include "node/bank.h"
#include "node/outbox.h"
#include "node/pressing.h"

static int64_t at_least_zero(int64_t ns)
{
    return max_i64(ns, 0);
}

int64_t rows_running_ns(const struct node *node, const struct worker *worker)
{
    int64_t until_ns = now_ns(node);
    for (uint32_t slot = worker->batches; slot != POOL_NONE; slot = batch_at(node, slot)->next) {
        const int64_t ends_at_ns = batch_at(node, slot)->ends_at_ns;
        until_ns = max_i64(ends_at_ns, until_ns);
    }
    return until_ns - now_ns(node);
}

/* @ns from @since_ns on, which is not negative, in steps. */
static int32_t steps(int64_t ns, int64_t since_ns)
{
    const int64_t count = max_i64(ns, INT64_MIN + since_ns) - since_ns;
    return (int32_t)max_i64(min_i64(count / ROW_STEP_NS, INT32_MAX), INT32_MIN);
}

/* How much waits at @worker, and between which keys. */
static void show_waiting(
    const struct node *node, const struct worker *worker, struct row_load *load_out)
{
    int64_t first_ns = INT64_MAX;
    int64_t last_ns = INT64_MIN;
    for (uint32_t i = 0; i < worker->active_count; i++) {
        const struct queue *queue = &worker->queues[worker->active[i]];
        first_ns = min_i64(first_ns, queue->key);
        last_ns = max_i64(last_ns, task_at(node, queue->tail)->key);
    }
    const bool waits = worker->active_count > 0;
    load_out->waits_steps = (uint32_t)steps(slowed_ns(worker, worker->queue_ns), 0);
    load_out->first_steps = waits ? steps(first_ns, now_ns(node)) : 0;
    load_out->last_steps = waits ? steps(last_ns, now_ns(node)) : 0;
}

void rows_load_changed(struct node *node, struct worker *worker)
{
    struct row_load *live = &node->board->entries[worker->id].live.load;
    const int64_t run_ns = rows_running_ns(node, worker);
    int64_t load_ns = worker->missing_ns;
    if (worker->loading != MODEL_NONE && worker->models[worker->loading].wanted > 0) {
        load_ns += at_least_zero(worker->loading_until_ns - now_ns(node));
    }
    live->at_ns = now_ns(node);
    live->run_ns = run_ns + slowed_ns(worker, worker->queue_ns);
    live->queued_ns = live->run_ns + slowed_ns(worker, worker->reserved_ns);
    live->queued_ns += at_least_zero(load_ns - run_ns);         /* Loads hide behind what runs, */
    live->queued_ns += slowed_ns(worker, worker->first_run_ns); /* and longer first runs do not. */
    live->queued_items = (uint16_t)min_u32(worker->queued_items, UINT16_MAX);
    show_waiting(node, worker, live);
    live->gpu_free = (uint8_t)worker->shares.free;
    live->layout = worker->shares.layout;
    live->cpu_free = node->cpu_free < UINT16_MAX ? (uint16_t)node->cpu_free : UINT16_MAX;
    const uint32_t slower = (worker->slowness - SLOWNESS_ONE) * ROW_SLOWNESS_PARTS / SLOWNESS_ONE;
    live->accepting = (uint8_t)(node->draining || worker->lost ? 0 : ROW_ACCEPTING + slower);
    pressing_show(node, live);
    live->incarnation = node->incarnation;
    worker->load_changed = true;
    worker->touched = true;
}

/* What the bank of @worker has, it will have as soon as a task needs it. */
static void refresh_cache(struct node *node, struct worker *worker)
{
    struct row_cache *live = &node->board->entries[worker->id].live.cache;
    live->at_ns = now_ns(node);
    live->incarnation = node->incarnation;
    live->resident = (struct model_set){{0}};
    live->loading = (struct model_set){{0}};
    for (uint32_t model = 0; model < node->catalogue->model_count; model++) {
        if (worker->models[model].state == MODEL_RESIDENT) {
            model_set_add(&live->resident, model);
        } else if (
            worker->models[model].state == MODEL_LOADING ||
            (worker->bank->worker_count > 1 && bank_has(node, worker, model))) {
            model_set_add(&live->loading, model);
        }
    }
    live->free_bytes = bank_free_bytes(worker->bank);
    worker->cache_changed = true;
    worker->touched = true;
}

void rows_cache_changed(struct node *node, const struct worker *worker)
{
    for (uint32_t i = 0; i < node->worker_count; i++) {
        if (node->workers[i].bank == worker->bank) {
            refresh_cache(node, &node->workers[i]);
        }
    }
}

static void acknowledge(struct node *node, struct worker *worker)
{
    uint32_t slot = worker->notices;
    worker->notices = POOL_NONE;
    worker->noticed = 0;
    while (slot != POOL_NONE) {
        const struct notice notice = *(struct notice *)pool_at(&node->pools->notices, slot);
        const struct message message = {
            .kind = MESSAGE_ACKNOWLEDGE,
            .to_incarnation = notice.incarnation,
            .job = {.node = node->id},
            .worker = worker->id,
            .sequence = notice.sequence,
            .row_sequence = worker->row_sequence,
        };
        pool_give(&node->pools->notices, slot);
        outbox_send(node, notice.node, &message); /* Also to one that the list does not know yet. */
        slot = notice.next;
    }
}

/* Whether @row is to be shown in this step already: a worker may be looked at twice. */
static bool is_shown(const struct node *node, const struct row *row)
{
    for (uint32_t i = 0; i < node->effects->row_count; i++) {
        if (node->effects->rows[i] == row) {
            return true;
        }
    }
    return false;
}

static void show(struct node *node, struct worker *worker, uint32_t parts)
{
    struct row *live = &node->board->entries[worker->id].live;
    const bool shown = is_shown(node, live);
    worker->row_sequence++;
    live->worker = worker->id;
    live->parts = shown ? live->parts | parts : parts;
    if ((parts & ROW_LOAD) != 0) {
        rows_load_changed(node, worker); /* As of now, not of the change that asked for it. */
        live->load.sequence = worker->row_sequence;
        worker->load_changed = false;
        worker->load_published_ns = now_ns(node);
    }
    if ((parts & ROW_CACHE) != 0) {
        live->cache.at_ns = now_ns(node);
        live->cache.sequence = worker->row_sequence;
        worker->cache_changed = false;
        worker->cache_published_ns = now_ns(node);
    }
    if (!shown) {
        ASSERT(node->effects->row_count < node->effects->capacity);
        node->effects->rows[node->effects->row_count] = live;
        node->effects->row_count++;
    }
    if ((parts & ROW_LOAD) != 0) {
        acknowledge(node, worker);
    }
}

void rows_publish(struct node *node, struct worker *worker)
{
    const int64_t load_due_ns = worker->load_published_ns + node->view.row_load_ns;
    const int64_t cache_due_ns = worker->cache_published_ns + node->row_cache_ns;
    uint32_t parts = 0;
    if (worker->load_changed && load_due_ns <= now_ns(node)) {
        parts |= ROW_LOAD;
    }
    if (worker->cache_changed && cache_due_ns <= now_ns(node)) {
        parts |= ROW_CACHE;
    }
    if (parts != 0) {
        show(node, worker, parts);
    }
    if (worker->publish_timer || (!worker->load_changed && !worker->cache_changed)) {
        return;
    }
    int64_t due_ns = worker->load_changed ? load_due_ns : cache_due_ns;
    if (worker->cache_changed && cache_due_ns < due_ns) {
        due_ns = cache_due_ns;
    }
    worker->publish_timer = true;
    wake_at(node, due_ns, TIMER_PUBLISH, worker->id);
}

/* The notice of node @from for @worker, or NULL. */
static struct notice *find_notice(
    const struct node *node, const struct worker *worker, uint32_t from)
{
    if ((worker->noticed >> (from % 64) & 1) == 0) {
        return NULL; /* Nearly always: most peers send one thing between two rows. */
    }
    for (uint32_t slot = worker->notices; slot != POOL_NONE;) {
        struct notice *notice = pool_at(&node->pools->notices, slot);
        if (notice->node == from) {
            return notice;
        }
        slot = notice->next;
    }
    return NULL;
}

void rows_notice(struct node *node, const struct message *message)
{
    struct worker *worker = own_worker(node, message->worker);
    if (message->sequence == 0 || message->from == node->id || worker == NULL) {
        return;
    }
    worker->load_changed = true; /* The sender waits for the next row. */
    worker->touched = true;
    struct notice *known = find_notice(node, worker, message->from);
    if (known != NULL && known->incarnation == message->from_incarnation) {
        /*
         * One number covers all before it, also the few that a large tensor still holds up
         * behind smaller messages: those are forgotten a little early.
         */
        known->sequence = max_u64(message->sequence, known->sequence);
        return;
    }
    if (known != NULL) { /* An earlier life does not wait any more. */
        known->incarnation = message->from_incarnation;
        known->sequence = message->sequence;
        return;
    }
    const uint32_t slot = pool_take_raw(&node->pools->notices);
    ASSERT(slot != POOL_NONE);
    *(struct notice *)pool_at(&node->pools->notices, slot) = (struct notice){
        .next = worker->notices,
        .node = message->from,
        .incarnation = message->from_incarnation,
        .sequence = message->sequence,
    };
    worker->notices = slot;
    worker->noticed |= UINT64_C(1) << (message->from % 64);
}

/* The notice of node @from as of @incarnation is not needed any more. Returns what it counts. */
static uint64_t drop_notice(
    struct node *node, struct worker *worker, uint32_t from, uint32_t incarnation)
{
    uint32_t *link = &worker->notices;
    while (*link != POOL_NONE) {
        const uint32_t slot = *link;
        struct notice *notice = pool_at(&node->pools->notices, slot);
        if (notice->node == from && notice->incarnation == incarnation) {
            const uint64_t sequence = notice->sequence;
            *link = notice->next;
            pool_give(&node->pools->notices, slot);
            return sequence;
        }
        link = &notice->next;
    }
    return 0;
}

uint64_t rows_say(
    struct node *node, struct worker *worker, uint32_t peer, uint32_t incarnation,
    struct message_units *units_out)
{
    *units_out = (struct message_units){
        .row_sequence = worker->row_sequence + 1,
        .layout = worker->shares.layout,
        .cpu = node->cpu_free,
        .gpu = worker->shares.free,
    };
    return find_notice(node, worker, peer) == NULL ? 0
                                                   : drop_notice(node, worker, peer, incarnation);
}

void rows_said(struct node *node, const struct message *message, struct message_units free)
{
    struct view *view = &node->view;
    if (view_is_own(view, message->worker)) {
        return; /* Own rows are fresh. */
    }
    const struct news_entry *before = news_since(&view->news, message->worker, 0);
    const struct news_entry said = {
        .row_sequence = free.row_sequence,
        .counted = max_u64(before != NULL ? before->counted : 0, message->sequence),
        .at_ns = now_ns(node),
        .worker = message->worker,
        .layout = free.layout,
        .cpu = free.cpu,
        .gpu = min_u32(free.gpu, node->fleet->workers[message->worker].gpu_units),
    };
    news_note(&view->news, &said);
    if (message->sequence != 0) {
        reservations_acknowledge(
            &view->reservations, message->worker, message->sequence, free.row_sequence);
    }
    (void)reservations_settle(
        &view->reservations, message->worker, view_load(view, message->worker)->sequence);
}

void rows_acknowledged(struct node *node, const struct message *message)
{
    struct record *record = trace(node, RECORD_ACKNOWLEDGED, REASON_NONE);
    record->worker = message->worker;
    record->value = (int64_t)message->sequence;
    reservations_acknowledge(
        &node->view.reservations, message->worker, message->sequence, message->row_sequence);
    /* Those acknowledged earlier may have been waiting for the row that is visible now. */
    (void)reservations_settle(
        &node->view.reservations, message->worker,
        view_load(&node->view, message->worker)->sequence);
}

void rows_receive(struct node *node, const struct row *row)
{
    if (row->worker >= node->fleet->worker_count || view_is_own(&node->view, row->worker)) {
        return;
    }
    struct row received = *row;
    if (received.load.queued_ns > DURATION_NS_MAX) { /* Or it could not be added to a time. */
        received.load.queued_ns = DURATION_NS_MAX;
    }
    received.load.at_ns = now_ns(node);
    received.cache.at_ns = now_ns(node);
    if (board_publish(node->board, &received)) {
        (void)reservations_settle(
            &node->view.reservations, row->worker, view_load(&node->view, row->worker)->sequence);
    }
}
