#include "node/node.h"

#include "base/numbers.h"
#include "node/access.h"
#include "node/audit.h"
#include "node/bank.h"
#include "node/batches.h"
#include "node/dispatch.h"
#include "node/drain.h"
#include "node/early.h"
#include "node/gather.h"
#include "node/home.h"
#include "node/inbox.h"
#include "node/jobs.h"
#include "node/keep_alive.h"
#include "node/keys.h"
#include "node/members.h"
#include "node/model_cache.h"
#include "node/outbox.h"
#include "node/routing.h"
#include "node/rows.h"
#include "node/steal.h"
#include "view/cells.h"

static void init_worker(struct node *node, struct arena *arena, uint32_t index)
{
    struct worker *worker = &node->workers[index];
    const uint32_t model_count = node->catalogue->model_count;
    worker->id = node->view.worker_first + index;
    worker->spec = &node->fleet->workers[worker->id];
    ASSERT(worker->spec->gpu_units >= 1);
    ASSERT(worker->spec->gpu_units <= GPU_UNITS_MAX);
    worker->queues = arena_alloc(arena, node->catalogue->queue_count * sizeof(struct queue));
    worker->active = arena_alloc(arena, node->catalogue->queue_count * sizeof(uint32_t));
    worker->models = arena_alloc(arena, model_count * sizeof(struct model_slot));
    worker->shares = sharing_idle(worker->spec);
    bank_join(node, worker, arena);
    node->unit_count += worker->spec->gpu_units;
    worker->batches = POOL_NONE;
    worker->grants = POOL_NONE;
    worker->loading = MODEL_NONE;
    worker->warm = MODEL_NONE;
    worker->notices = POOL_NONE;
    worker->wake_ns = INT64_MAX;
    worker->slowness = SLOWNESS_ONE;
    worker->load_published_ns = -node->view.row_load_ns; /* The first change is shown at once. */
    worker->cache_published_ns = -node->row_cache_ns;
    for (uint32_t i = 0; i < node->catalogue->queue_count; i++) {
        worker->queues[i].head = POOL_NONE;
        worker->queues[i].tail = POOL_NONE;
    }
    for (uint32_t i = 0; i < model_count; i++) {
        worker->models[i].bytes = node->profile->models[i].resident_bytes;
        cache_learn(node, worker, i);
    }
    struct board_entry *entry = &node->board->entries[worker->id];
    entry->live = (struct row){.worker = worker->id};
    entry->live.load.accepting = 1;
    entry->live.load.gpu_free = (uint8_t)worker->shares.free;
    entry->live.load.layout = worker->shares.layout;
    entry->live.load.cpu_free = (uint16_t)(min_u32(node->cpu_free, UINT16_MAX));
    entry->live.cache.free_bytes = worker->spec->memory_bytes;
}

/* What only a policy that binds needs. */
static void init_home(struct node *node, struct arena *arena)
{
    struct home *home = &node->home;
    const uint32_t queue_count = node->catalogue->queue_count;
    slot_list_init(&home->claim_list);
    home->wake_ns = INT64_MAX;
    home->any_key = INT64_MAX;
    home->any_at_ns = INT64_MIN / 2;
    if (!node->seat.binds) {
        return;
    }
    map_init(&home->tickets, 16);
    map_init(&home->claims, 16);
    home->queues = arena_alloc(arena, queue_count * sizeof(*home->queues));
    home->active = arena_alloc(arena, queue_count * sizeof(*home->active));
    home->homes = arena_alloc(arena, queue_count * sizeof(*home->homes));
    for (uint32_t i = 0; i < queue_count; i++) {
        slot_list_init(&home->queues[i].list);
        home->homes[i] = NODE_NONE;
    }
}

/* Sinks of the workflow that has most of them. */
static uint32_t most_sinks(const struct catalogue *catalogue)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const uint32_t count = catalogue->workflows[i]->sink_count;
        most = max_u32(count, most);
    }
    return most;
}

/* Room for what is known of each of @node_count nodes. */
static void know_peers(struct node *node, struct arena *arena, uint32_t node_count)
{
    const size_t set_bytes = bitset_words(node_count) * sizeof(uint64_t);
    node->view.suspects.bits = arena_alloc(arena, set_bytes);
    node->view.far.bits = arena_alloc(arena, set_bytes);
    node->blocked.bits = arena_alloc(arena, set_bytes);
    node->unmet.bits = arena_alloc(arena, set_bytes);
    node->broken_ns = arena_alloc(arena, node_count * sizeof(*node->broken_ns));
}

struct node *node_create(struct arena *arena, const struct node_options *options)
{
    const struct fleet_node *spec = &options->fleet->nodes[options->node];
    ASSERT(options->node < options->fleet->node_count);
    ASSERT(spec->worker_count > 0);

    struct node *node = arena_alloc_lines(arena, sizeof(*node));
    node->id = options->node;
    node->incarnation = options->incarnation;
    node->fleet = options->fleet;
    node->catalogue = options->catalogue;
    node->profile = options->profile;
    node->pools = options->pools;
    node->board = options->board;
    node->row_cache_ns = options->row_cache_ns;
    node->cpu_free = spec->cpu_units;
    slot_list_init(&node->job_list);
    slot_list_init(&node->visit_list);
    node->deadlines = (struct deadlines){.first = POOL_NONE, .timer_ns = INT64_MAX};
    node->repair_job = POOL_NONE;
    node->repair_visit = POOL_NONE;
    node->parked_first = POOL_NONE;
    node->parked_last = POOL_NONE;
    node->view = (struct view){
        .node = options->node,
        .worker_first = spec->worker_first,
        .worker_count = spec->worker_count,
        .fleet = options->fleet,
        .board = options->board,
        .members = options->members,
    };
    know_peers(node, arena, options->fleet->node_count);
    node->view.row_load_ns = options->row_load_ns;
    node->view.cell_nodes = options->cell_nodes == 0 ? CELL_NODES : options->cell_nodes;
    if (!cells_are_alike(options->fleet)) {
        node->view.cell_nodes = UINT32_MAX;
    }
    (void)members_divide(node); /* No row has been shown yet. */
    reservations_init(&node->view.reservations, &options->pools->reservations);
    keys_init(node, options->has_deputies);
    map_init(&node->jobs, 16);
    map_init(&node->visits, 16);
    node->outputs_max = BATCH_TASKS_MAX * most_sinks(options->catalogue);
    node->outputs = arena_alloc(arena, node->outputs_max * sizeof(struct handle));
    node->worker_count = spec->worker_count;
    node->workers = arena_alloc_lines(arena, node->worker_count * sizeof(struct worker));
    for (uint32_t i = 0; i < node->worker_count; i++) {
        init_worker(node, arena, i);
    }
    if (node->unit_count > node->pools->units_max) {
        node->pools->units_max = node->unit_count;
        node->pools->steps_ready = 0; /* What is ready was for smaller nodes. */
    }
    const struct policy_input input = {
        .view = &node->view,
        .profile = options->profile,
        .catalogue = options->catalogue,
    };
    void *state = arena_alloc(arena, policy_set_state_bytes(options->policies) + 1);
    node->question = arena_alloc(arena, policy_set_question_bytes(options->policies) + 1);
    const struct rng rng = rng_stream(options->seed, RNG_POLICY, options->node);
    policy_seat_init(&node->seat, options->policies, &input, state, rng, options->meter);
    init_home(node, arena);
    early_init(node, arena);
    return node;
}

/* Whether nothing of any job is here, nor kept for one elsewhere. */
static bool is_idle(const struct node *node)
{
    return drain_is_over(node) && node->home.ticket_count == 0 && node->home.claims.count == 0;
}

/* Something happened to @worker: start what can be started, and show what has changed. */
static void finish_worker(struct node *node, struct worker *worker)
{
    (void)steal_near(node, worker); /* It may have something that is due sooner. */
    gather_near(node, worker);
    dispatch_worker(node, worker);
    steal_try(node, worker);
    worker->touched = false;
    rows_publish(node, worker);
    worker->touched = false; /* Publishing refreshes the row: no news. */
}

/* Look at every worker that something happened to. */
static void finish_workers(struct node *node)
{
    home_serve(node);
    for (uint32_t i = 0; i < node->worker_count; i++) {
        struct worker *worker = &node->workers[i];
        if (!worker->touched) {
            steal_try(node, worker); /* Whatever happened here, it may know more now. */
            continue;
        }
        finish_worker(node, worker);
    }
    for (uint32_t i = 0; i < node->worker_count;) { /* One may have touched one before it. */
        if (node->workers[i].touched || steal_near(node, &node->workers[i])) {
            finish_worker(node, &node->workers[i]);
            i = 0;
        } else {
            i++;
        }
    }
    home_linger(node);
}

/* Many a message changes what is known of a job and nothing that a worker could act on. */
static bool has_news(const struct node *node)
{
    if (home_is_due(node)) {
        return true;
    }
    for (uint32_t i = 0; i < node->worker_count; i++) {
        if (node->workers[i].touched || steal_is_due(node, &node->workers[i])) {
            return true;
        }
    }
    return false;
}

/* The policy does not rest any more: it ticks at the times at which it would have. */
static void tick_again(struct node *node)
{
    const int64_t tick_ns = policy_tick_ns(&node->seat);
    const int64_t missed = (now_ns(node) - node->ticked_ns) / tick_ns;
    node->is_resting = false;
    wake_at(node, node->ticked_ns + (missed + 1) * tick_ns, TIMER_TICK, WORKER_NONE);
}

/* Before a step ends, do what follows from it. */
static inline void finish_step(struct node *node)
{
    if (has_news(node)) {
        finish_workers(node);
    }
    if (node->is_resting && !node->seat.rests) {
        tick_again(node);
    }
    if (node->draining && !node->drained && is_idle(node)) {
        node->drained = true;
        trace(node, RECORD_DRAINED, REASON_NONE);
    }
}

static void ask_for_search(struct node *node, uint64_t problem)
{
    policy_question(&node->seat, problem, node->question);
    struct effect *effect = effect_add(node, EFFECT_SOLVE);
    effect->solve.problem = problem;
    effect->solve.question = node->question;
}

/* What a tick wants loaded anywhere, and unloaded here. */
ATTR_COLD static void warm_and_cool(struct node *node, const struct tick_answer *answer)
{
    ASSERT(answer->warm_count <= TICK_WARMS_MAX);
    ASSERT(answer->cool_count <= TICK_WARMS_MAX);
    for (uint32_t i = 0; i < answer->cool_count; i++) {
        ASSERT(view_is_own(&node->view, answer->cools[i].worker));
        keep_alive_cool(node, own_worker(node, answer->cools[i].worker), answer->cools[i].model);
    }
    for (uint32_t i = 0; i < answer->warm_count; i++) {
        const struct warm *warm = &answer->warms[i];
        ASSERT(warm->worker < node->fleet->worker_count);
        ASSERT(warm->model < node->catalogue->model_count);
        const struct message message = {
            .kind = MESSAGE_WARM,
            .job = {.node = node->id},
            .worker = warm->worker,
            .model = warm->model,
        };
        if (members_is_up(node->view.members, node_of_worker(node, warm->worker))) {
            outbox_send(node, node_of_worker(node, warm->worker), &message);
        }
    }
}

static void on_timer(struct node *node, const struct timer *timer)
{
    struct worker *worker = own_worker(node, timer->worker);
    switch (timer->kind) {
    case TIMER_PUBLISH:
        worker->publish_timer = false;
        worker->touched = true;
        return;
    case TIMER_DISPATCH:
        dispatch_timer(node, worker);
        return;
    case TIMER_TICK: {
        const struct tick_answer answer = policy_tick(&node->seat);
        if (answer.solve) {
            ask_for_search(node, answer.problem);
        }
        warm_and_cool(node, &answer);
        node->ticked_ns = now_ns(node);
        node->is_resting = answer.rests;
        if (!answer.rests) {
            wake_at(node, now_ns(node) + policy_tick_ns(&node->seat), TIMER_TICK, WORKER_NONE);
        }
        return;
    }
    case TIMER_REPAIR:
        members_repair(node);
        return;
    case TIMER_RETURN:
        members_returned(node);
        return;
    case TIMER_STALE:
        members_waited(node);
        return;
    case TIMER_SILENCE:
        members_listen(node);
        return;
    case TIMER_AUDIT:
        audit_run(node);
        return;
    case TIMER_HOME:
        home_timer(node);
        return;
    case TIMER_DEADLINE:
        deadlines_expire(node);
        return;
    case TIMER_IDLE:
        keep_alive_expire(node, worker);
        return;
    }
    ASSERT(false);
}

ATTR_COLD static void on_drain(struct node *node)
{
    if (!node->draining) {
        drain_begin(node);
    }
}

ATTR_COLD static void on_repository_changed(
    struct node *node, uint32_t model, bool available, bool warm)
{
    ASSERT(model < node->catalogue->model_count);
    for (uint32_t i = 0; i < node->worker_count; i++) {
        cache_repository_changed(node, &node->workers[i], model, available);
    }
    for (uint32_t i = 0; warm && i < node->worker_count; i++) {
        if (profile_can_run(node->profile, model, node->workers[i].spec->device) &&
            cache_welcome(node, &node->workers[i], model)) {
            return; /* Once is enough before any task asks for it. */
        }
    }
}

ATTR_COLD static void on_editions(struct node *node, const uint32_t *editions, uint32_t count)
{
    ASSERT(count <= EDITIONS_MAX);
    node->edition_count = count;
    for (uint32_t i = 0; i < count; i++) {
        node->editions[i] = editions[i];
    }
}

static void on_tensor(struct node *node, const struct message *message, struct handle handle)
{
    const uint32_t tensor = tensor_take(node, handle, message->work.items, message->work.bytes);
    inbox_tensor(node, message, tensor);
}

static void begin(struct node *node, int64_t at_ns, struct effects *effects)
{
    ASSERT(at_ns >= node->view.now_ns);
    node->view.now_ns = at_ns;
    node->effects = effects;
    node->output_count = 0;
    node->given_up = 0;
    node->handed_on = 0;
    effects->count = 0;
    effects->record_count = 0;
    effects->row_count = 0;
    effects->placement_count = 0;
}

void node_start(struct node *node, int64_t start_ns, struct effects *effects)
{
    begin(node, start_ns, effects);
    if (policy_tick_ns(&node->seat) > 0) {
        wake_at(node, start_ns + policy_tick_ns(&node->seat), TIMER_TICK, WORKER_NONE);
    }
    for (uint32_t i = 0; i < node->worker_count; i++) {
        rows_load_changed(node, &node->workers[i]);
        rows_cache_changed(node, &node->workers[i]);
    }
    finish_step(node);
}

static void apply(struct node *node, const struct event *event)
{
    switch (event->kind) {
    case EVENT_REQUEST:
        jobs_request(node, &event->request);
        return;
    case EVENT_CANCEL:
        jobs_cancel(node, event->cancel);
        return;
    case EVENT_MESSAGE:
        inbox_message(node, event->message.message);
        return;
    case EVENT_TENSOR_ARRIVED:
        on_tensor(node, event->message.message, event->message.tensor);
        return;
    case EVENT_SEND_READY:
        members_ready(node, event->peer.node);
        return;
    case EVENT_LOAD_DONE:
        cache_loaded(
            node, own_worker(node, event->load.worker), event->load.model, event->load.status,
            event->load.bytes, event->load.own_bytes);
        return;
    case EVENT_UNLOAD_DONE:
        cache_unloaded(node, own_worker(node, event->load.worker), event->load.model);
        return;
    case EVENT_SHARE_READY:
        batches_share_ready(node, own_worker(node, event->share.worker), event->share.name);
        return;
    case EVENT_BATCH_DONE:
        dispatch_done(node, &event->batch);
        return;
    case EVENT_ROW:
        rows_receive(node, event->row);
        return;
    case EVENT_PEER_HINT:
        members_hint(node, event->peer.node, event->peer.hint);
        return;
    case EVENT_MEMBERS:
        members_changed(node, event->members);
        return;
    case EVENT_TIMER:
        on_timer(node, &event->timer);
        return;
    case EVENT_UNDER_WAY:
        audit_under_way(node, event->under_way.job, event->under_way.asker);
        return;
    case EVENT_SOLVED:
        trace(node, RECORD_SOLVED, REASON_NONE)->value = (int64_t)event->solved.problem;
        policy_solved(&node->seat, event->solved.problem, event->solved.result);
        return;
    case EVENT_REPOSITORY_CHANGED:
        on_repository_changed(
            node, event->repository.model, event->repository.available, event->repository.warm);
        return;
    case EVENT_DRAIN:
        on_drain(node);
        return;
    case EVENT_EDITIONS:
        on_editions(node, event->held.editions, event->held.count);
        return;
    case EVENT_KINDS:
        break;
    }
    ASSERT(false);
}

void node_step(struct node *node, const struct event *event, struct effects *effects)
{
    begin(node, event->at_ns, effects);
    apply(node, event);
    /* Rows are state: nodes that share a board get no events. */
    if (event->kind != EVENT_ROW && !event->is_followed) {
        finish_step(node);
    }
}
