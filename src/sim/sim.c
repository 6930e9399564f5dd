#include "sim/sim.h"

#include <stdlib.h>

#include "base/memory.h"
#include "sim/editions.h"
#include "sim/inside.h"
#include "sim/retries.h"

enum { SLOTS_FIRST = 64 };

static void init_pools(struct sim *sim)
{
    const size_t placement_bytes = sim->options.catalogue->task_count_max * sizeof(uint16_t);
    node_pools_init(&sim->pools, sim->options.catalogue, /* jobs_max */ 0);
    pool_init(&sim->runs, sizeof(struct run), SLOTS_FIRST, UINT32_MAX - 1);
    pool_init(&sim->crossings, sizeof(struct crossing), SLOTS_FIRST, UINT32_MAX - 1);
    pool_init(&sim->parcels, sizeof(struct parcel) + placement_bytes, SLOTS_FIRST, UINT32_MAX - 1);
    const size_t client_bytes =
        sim->options.has_deputies ? sizeof(struct keyed_client) : sizeof(struct client);
    pool_init(&sim->clients, client_bytes, SLOTS_FIRST, UINT32_MAX - 1);
    pool_init(&sim->open_jobs, sizeof(struct open_job), SLOTS_FIRST, UINT32_MAX - 1);
    map_init(&sim->open_slots, 16);
    pool_init(&sim->scripted, sizeof(struct scripted), SLOTS_FIRST, UINT32_MAX - 1);
}

static void schedule_arrival(struct sim *sim)
{
    sim->has_next_arrival = sim->streamed < sim->options.jobs &&
                            arrival_stream_next(&sim->arrivals, &sim->next_arrival);
    if (sim->has_next_arrival) {
        schedule(sim, sim->next_arrival.at_ns, payload_of(TIMED_ARRIVAL, 0, 0, 0));
    }
}

/* What policies compute ahead, before there is any node. */
static void plan(struct sim *sim)
{
    const struct sim_options *options = &sim->options;
    double *rates = arena_alloc(&sim->arena, options->catalogue->workflow_count * sizeof(*rates));
    sim->known = (struct plan_input){
        .fleet = options->fleet,
        .catalogue = options->catalogue,
        .profile = options->profile,
        .mixture = options->mixture,
        .seed = options->seed,
    };
    if (arrivals_rates(options->arrivals, options->catalogue, rates)) {
        sim->known.rates = rates;
    }
    sim->policies = *options->policies;
    policy_set_plan(&sim->policies, &sim->arena, &sim->known);
    sim->options.policies = &sim->policies;
}

static bool is_up(const void *host, uint32_t node)
{
    return ((const struct sim *)host)->nodes[node].node != NULL;
}

struct sim *sim_create(const struct sim_options *options)
{
    const struct fleet *fleet = options->fleet;
    struct sim *sim = memory_zeroed(1, sizeof(*sim));
    sim->options = *options;
    arena_init(&sim->arena);
    event_queue_init(&sim->queue);
    init_pools(sim);
    map_init(&sim->tensors, 16);
    board_init(&sim->board, &sim->arena, fleet->worker_count, fleet->network.latency_ns);
    node_effects_init(&sim->effects, &sim->arena, options->catalogue);
    histogram_init(&sim->decision_times);
    sim->meter.stopwatch_ns = options->stopwatch_ns;
    sim->meter.times = &sim->decision_times;
    if (options->weighs) {
        sim->meter.weighed = arena_alloc(&sim->arena, sizeof(*sim->meter.weighed));
        sim->meter.weighed->count = 0;
        sim->meter.weighed->first = 0;
    }
    const struct summary_options summary = {
        .fleet = fleet,
        .catalogue = options->catalogue,
        .profile = options->truth != NULL ? options->truth : options->profile,
        .jobs_expected = options->jobs,
        .warmup = options->warmup,
        .warmup_auto = options->warmup_auto,
        .detailed = options->detailed,
    };
    sim->summary = summary_create(&summary);
    plan(sim);
    sim->nodes = arena_alloc_lines(&sim->arena, fleet->node_count * sizeof(*sim->nodes));
    sim->workers = arena_alloc(&sim->arena, fleet->worker_count * sizeof(*sim->workers));
    for (uint32_t i = 0; i < fleet->worker_count; i++) {
        device_init(sim, i);
    }
    network_init(sim);
    sim->ingress = (struct ingress){
        .rng = arrival_ingress_stream(options->seed),
        .node_count = options->fleet->node_count,
        .is_up = is_up,
        .host = sim,
    };
    sim->patience = rng_stream(options->seed, RNG_PATIENCE, 0);
    sim->retries = rng_stream(options->seed, RNG_PATIENCE, 1);
    sim->faults = rng_stream(options->seed, RNG_FAULTS, 0);
    sim->news = rng_stream(options->seed, RNG_FAULTS, 1);
    sim->members = nodes_members(sim, /* before */ NULL);
    for (uint32_t i = 0; i < fleet->node_count; i++) {
        nodes_boot(sim, i);
    }
    faults_start(sim);
    arrival_stream_init(&sim->arrivals, options->arrivals, options->catalogue, options->seed);
    schedule_arrival(sim);
    network_background_start(sim);
    return sim;
}

void sim_destroy(struct sim *sim)
{
    if (sim == NULL) {
        return;
    }
    for (uint32_t i = 0; i < sim->options.fleet->node_count; i++) {
        node_destroy(sim->nodes[i].node);
    }
    summary_destroy(sim->summary);
    node_pools_deinit(&sim->pools);
    pool_deinit(&sim->runs);
    pool_deinit(&sim->crossings);
    pool_deinit(&sim->parcels);
    pool_deinit(&sim->clients);
    pool_deinit(&sim->open_jobs);
    map_deinit(&sim->open_slots);
    pool_deinit(&sim->scripted);
    network_deinit(sim);
    map_deinit(&sim->tensors);
    editions_deinit(sim);
    event_queue_deinit(&sim->queue);
    searches_deinit(sim);
    free(sim->run_of_batch);
    arena_deinit(&sim->arena);
    free(sim);
}

void sim_record(struct sim *sim, const struct record *record)
{
    /* Nodes here are honest, and known to owners unless the news of them was lost in a fault. */
    ASSERT(record->kind != RECORD_IGNORED || sim->fault_count > 0);
    if (sim->options.has_deputies) {
        retries_note(sim, record);
    }
    summary_add(sim->summary, record);
    if (sim->options.on_record != NULL) {
        sim->options.on_record(sim->options.context, record);
    }
}

struct handle sim_new_tensor(struct sim *sim, uint32_t node)
{
    sim->handle++;
    sim->nodes[node].handles++;
    if (sim->options.check) {
        (void)map_reserve(&sim->tensors, 1);
        map_put(&sim->tensors, sim->handle, node);
    }
    return (struct handle){.id = sim->handle};
}

void sim_drop_tensor(struct sim *sim, uint32_t node, struct handle tensor)
{
    ASSERT(sim->nodes[node].handles > 0);
    sim->nodes[node].handles--;
    if (sim->options.check) {
        ASSERT(map_get(&sim->tensors, tensor.id) == node); /* It is there, and once. */
        (void)map_remove(&sim->tensors, tensor.id);
        editions_forget(sim, tensor);
    }
}

void sim_take_step(struct sim *sim, uint32_t node, struct event *event)
{
    event->at_ns = sim->now_ns;
    sim->steps++;
    node_prepare(sim->nodes[node].node);
    node_step(sim->nodes[node].node, event, &sim->effects);
}

void sim_end_step(struct sim *sim, uint32_t node)
{
    sim_perform(sim, node);
    if (sim->options.check) {
        checkers_step(sim, node);
    }
}

void sim_step(struct sim *sim, uint32_t node, struct event *event)
{
    sim_take_step(sim, node, event);
    sim_end_step(sim, node);
}

/* Client @slot will have waited for long enough at @at_ns. */
static void hang_up_at(struct sim *sim, uint32_t slot, int64_t at_ns)
{
    ((struct client *)pool_at(&sim->clients, slot))->hangs_up_ns = at_ns;
    schedule(sim, at_ns, payload_of(TIMED_HANG_UP, 0, 0, slot));
}

/* No node takes the connection of a client that went to @node. */
ATTR_COLD static void refuse(struct sim *sim, uint32_t node, const struct arrival *arrival)
{
    const struct record record = {
        .at_ns = sim->now_ns,
        .node = node,
        .task = TASK_NONE,
        .worker = WORKER_NONE,
        .workflow = (uint16_t)arrival->workflow,
        .model = RECORD_NONE,
        .kind = RECORD_REFUSED,
        .reason = REASON_NO_WORKER,
    };
    sim_record(sim, &record);
    sim->requests++;
    sim->arrived++;
    sim->answered++;
}

/* A client goes to @wanted, or if that is down to the next one that is up. */
static void submit(struct sim *sim, uint32_t wanted, const struct arrival *arrival)
{
    const uint32_t node = ingress_owner(&sim->ingress, wanted);
    if (node == NODE_NONE) {
        refuse(sim, wanted, arrival);
        return;
    }
    if (sim->nodes[node].stopped_until_ns > sim->now_ns) { /* The client waits, too. */
        sim_request(sim, sim->nodes[node].stopped_until_ns, node, arrival);
        return;
    }
    (void)pool_reserve(&sim->clients, 1);
    const uint32_t slot = pool_take_raw(&sim->clients);
    *(struct client *)pool_at(&sim->clients, slot) = (struct client){
        .job = {.node = node},
        .workflow = arrival->workflow,
        .arrived_ns = sim->now_ns,
        .number = (uint32_t)sim->requests,
    };
    if (sim->options.has_deputies) {
        retries_begin(sim, slot, arrival);
    }
    if (sim->options.arrivals->patience_ns > 0) {
        const int64_t patience_ns =
            arrivals_draw_patience_ns(sim->options.arrivals, &sim->patience);
        hang_up_at(sim, slot, sim->now_ns + patience_ns);
    }
    sim->requests++;
    sim->arrived++;
    sim_ask(sim, slot, node, arrival);
}

void sim_ask(struct sim *sim, uint32_t slot, uint32_t node, const struct arrival *arrival)
{
    struct client *client = pool_at(&sim->clients, slot);
    client->job = (struct job_id){.node = node};
    struct event event = {.kind = EVENT_REQUEST};
    event.request = (struct event_request){
        .client = slot,
        .workflow = arrival->workflow,
        .items = arrival->items,
        .slo_ns = arrival_deadline_ns(sim->options.arrivals, arrival),
        .inputs = sim_new_tensor(sim, node),
        .bytes = sim->options.catalogue->workflows[arrival->workflow]->input_bytes,
        .edition = editions_served(sim, node),
    };
    if (sim->options.has_deputies) {
        event.request.key = retries_key(sim, slot);
        event.request.inputs_hash = event.request.key.words[0];
        event.request.is_retry = retries_has_asked(sim, slot);
    }
    sim_step(sim, node, &event);
}

static void on_arrival(struct sim *sim)
{
    const struct arrival arrival = sim->next_arrival;
    sim->streamed++;
    submit(sim, ingress_draw(&sim->ingress), &arrival);
    schedule_arrival(sim);
}

/* A node that stands still hears of it later, if the client is still there then. */
static void hang_up(struct sim *sim, uint32_t slot)
{
    const struct client *client = pool_at(&sim->clients, slot);
    if (retries_is_away(sim, slot)) { /* No node waits for it. */
        pool_give(&sim->clients, slot);
        sim->answered++;
        return;
    }
    const int64_t stopped_until_ns = sim->nodes[client->job.node].stopped_until_ns;
    if (stopped_until_ns > sim->now_ns) {
        hang_up_at(sim, slot, stopped_until_ns);
        return;
    }
    struct event event = {.kind = EVENT_CANCEL, .cancel = client->job};
    sim_step(sim, client->job.node, &event);
}

/* Scripts are short: the request is looked for among those that are running. */
static void on_cancel(struct sim *sim, uint32_t number)
{
    for (uint32_t slot = 0; slot < sim->clients.capacity; slot++) {
        if (!pool_is_taken(&sim->clients, slot)) {
            continue;
        }
        const struct client *client = pool_at(&sim->clients, slot);
        if (client->number == number) {
            hang_up(sim, slot);
            return;
        }
    }
}

/* The slot may be another client's by now, who waits until another time. */
static void on_hang_up(struct sim *sim, uint32_t slot)
{
    const struct client *client = pool_at(&sim->clients, slot);
    if (pool_is_taken(&sim->clients, slot) && client->hangs_up_ns == sim->now_ns) {
        hang_up(sim, slot);
    }
}

/*
 * Whether a timer of @kind is idle because no client waits for anything. Faults may have yet to
 * begin or end, for as long as the scenario says, and audits come ten seconds after the last job:
 * until then ticks, of all nodes, would be most of a short run.
 */
static bool is_pointless(const struct sim *sim, enum timer_kind kind)
{
    const bool may_stop = kind == TIMER_TICK || sim->fault_count > 0;
    return timer_is_background(kind) && may_stop && !sim_is_awaited(sim);
}

static void on_timer(struct sim *sim, uint32_t incarnation, uint32_t subject, uint32_t large)
{
    const uint32_t node = large >> 8;
    sim->ticks -= timer_is_background((enum timer_kind)(large & 0xff)) ? 1 : 0;
    if (sim->nodes[node].node == NULL ||
        (sim->nodes[node].incarnation & PAYLOAD_INCARNATION_MAX) != incarnation) {
        return;
    }
    ASSERT(sim->nodes[node].timers > 0); /* It was set by the node that it reaches. */
    sim->nodes[node].timers--;
    sim->nodes[node].idle_timers -= is_idle_timer((enum timer_kind)(large & 0xff)) ? 1 : 0;
    if (is_pointless(sim, (enum timer_kind)(large & 0xff))) {
        sim->has_stopped_ticks = true;
        return;
    }
    struct event event = {.kind = EVENT_TIMER};
    event.timer.kind = (enum timer_kind)(large & 0xff);
    event.timer.worker = subject == PAYLOAD_SMALL_MAX ? WORKER_NONE : subject;
    sim_step(sim, node, &event);
}

static void on_scripted(struct sim *sim, enum timed_kind kind, uint32_t slot)
{
    struct scripted scripted = *(struct scripted *)pool_at(&sim->scripted, slot);
    pool_give(&sim->scripted, slot);
    if (kind == TIMED_REQUEST) {
        submit(sim, scripted.node, &scripted.arrival);
    } else if (sim->nodes[scripted.node].node != NULL) {
        sim_step(sim, scripted.node, &scripted.event);
    }
}

/* Whether a worker's node is the one that asked. */
static bool is_current(const struct sim *sim, uint32_t worker, uint32_t incarnation)
{
    const struct sim_node *node = &sim->nodes[sim->options.fleet->workers[worker].node];
    return node->node != NULL && (node->incarnation & PAYLOAD_INCARNATION_MAX) == incarnation;
}

static void on_shaped(struct sim *sim, uint32_t worker, uint32_t gpu)
{
    struct event event = {.kind = EVENT_SHARE_READY, .share = {.worker = worker, .name = gpu}};
    sim_step(sim, sim->options.fleet->workers[worker].node, &event);
}

static void on_device(struct sim *sim, enum timed_kind kind, uint32_t worker, uint32_t large)
{
    if (kind == TIMED_CROSSED) {
        device_crossed(sim, worker, large);
    } else if (kind == TIMED_UNLOADED) {
        device_unloaded(sim, worker, large);
    } else {
        on_shaped(sim, worker, large);
    }
}

static void handle(struct sim *sim, uint64_t payload)
{
    const enum timed_kind kind = payload_kind(payload);
    const uint32_t incarnation = payload_incarnation(payload);
    const uint32_t small = payload_small(payload);
    const uint32_t large = payload_large(payload);
    switch (kind) {
    case TIMED_ARRIVAL:
        on_arrival(sim);
        return;
    case TIMED_REQUEST:
    case TIMED_SCRIPT:
        on_scripted(sim, kind, large);
        return;
    case TIMED_CANCEL:
        on_cancel(sim, large);
        return;
    case TIMED_HANG_UP:
        on_hang_up(sim, large);
        return;
    case TIMED_RETRY:
        retries_again(sim, large, small);
        return;
    case TIMED_EDITION:
        editions_look(sim, small);
        return;
    case TIMED_TIMER:
        on_timer(sim, incarnation, small, large);
        return;
    case TIMED_CROSSED:
    case TIMED_UNLOADED:
    case TIMED_SHAPED:
        if (is_current(sim, small, incarnation)) {
            on_device(sim, kind, small, large);
        }
        return;
    case TIMED_BATCH_DONE:
        device_done(sim, large, small);
        return;
    case TIMED_AT_SWITCH:
        network_at_switch(sim, large);
        return;
    case TIMED_DELIVERED:
        network_deliver(sim, large);
        return;
    case TIMED_PASSED:
        network_passed(sim);
        return;
    case TIMED_BACKGROUND:
        network_background_next(sim, large);
        return;
    case TIMED_FAULT:
        faults_begin(sim, large);
        return;
    case TIMED_FAULT_OVER:
        faults_over(sim, large);
        return;
    case TIMED_HINT:
        faults_hint(sim, small, large >> 1, (large & 1) != 0);
        return;
    case TIMED_VERDICT:
        faults_verdict(sim);
        return;
    case TIMED_MEMBERS:
        faults_tell(sim, small);
        return;
    }
    ASSERT(false);
}

bool sim_run_some(struct sim *sim, uint64_t events)
{
    const uint64_t until = sim->events + events;
    struct timed_item item;
    for (; sim->events < until; sim->events++) {
        /* Ticks come round for ever: with nothing else to wait for, they are the end. */
        const bool is_over = sim->ticks > 0 && sim->ticks == event_queue_count(&sim->queue);
        if (is_over || !event_queue_pop(&sim->queue, &item)) {
            if (sim->options.check) {
                checkers_end(sim);
            }
            return false;
        }
        ASSERT(item.at_ns >= sim->now_ns);
        sim->now_ns = item.at_ns;
        if (!sim->has_stops || !faults_defer(sim, item.payload)) {
            handle(sim, item.payload);
        }
    }
    return true;
}

void sim_run(struct sim *sim)
{
    while (sim_run_some(sim, /* events */ UINT64_C(1) << 32)) {
    }
}

static uint32_t add_scripted(struct sim *sim, uint32_t node)
{
    (void)pool_reserve(&sim->scripted, 1);
    const uint32_t slot = pool_take(&sim->scripted);
    struct scripted *scripted = pool_at(&sim->scripted, slot);
    scripted->node = node;
    return slot;
}

void sim_request(struct sim *sim, int64_t at_ns, uint32_t node, const struct arrival *arrival)
{
    const uint32_t slot = add_scripted(sim, node);
    ((struct scripted *)pool_at(&sim->scripted, slot))->arrival = *arrival;
    schedule(sim, at_ns, payload_of(TIMED_REQUEST, 0, 0, slot));
}

void sim_cancel(struct sim *sim, int64_t at_ns, uint64_t nth)
{
    schedule(sim, at_ns, payload_of(TIMED_CANCEL, 0, 0, (uint32_t)nth));
}

void sim_event(struct sim *sim, uint32_t node, const struct event *event)
{
    const uint32_t slot = add_scripted(sim, node);
    ((struct scripted *)pool_at(&sim->scripted, slot))->event = *event;
    schedule(sim, event->at_ns, payload_of(TIMED_SCRIPT, 0, 0, slot));
}

struct details *sim_details(const struct sim *sim)
{
    return summary_details(sim->summary);
}

void sim_report(const struct sim *sim, struct report *report_out)
{
    summary_report(sim->summary, report_out);
}

void sim_counters(const struct sim *sim, struct sim_counters *counters_out)
{
    *counters_out = (struct sim_counters){
        .events = sim->events,
        .steps = sim->steps,
        .decisions = sim->meter.decisions,
        .row_messages = sim->row_messages,
        .cache_messages = sim->cache_messages,
        .now_ns = sim->now_ns,
        .arrived = sim->arrived,
        .answered = sim->answered,
    };
    if (sim->meter.rows > 0) {
        counters_out->row_age_mean_ns = (double)sim->meter.row_age_ns / (double)sim->meter.rows;
    }
    if (histogram_count(&sim->decision_times) > 0) {
        counters_out->decision_mean_ns = histogram_mean(&sim->decision_times);
        counters_out->decision_p99_ns = (double)histogram_quantile(&sim->decision_times, 0.99);
    }
}
