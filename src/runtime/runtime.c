#include "runtime/runtime.h"

#include <stdlib.h>

#include "base/memory.h"
#include "model/catalogue.h"
#include "runtime/inside.h"
#include "runtime/remote.h"

enum {
    CLIENTS_FIRST = 64,
    TURN_DUES_MAX = 1024, /* Then the loop looks at its descriptors again. */
};

/* A new epoch: every node that is left hears of it at once. */
static void on_members(void *context, const struct members *members)
{
    struct runtime *runtime = context;
    for (uint32_t node = 0; node < runtime->options.fleet->node_count; node++) {
        struct event event = {.kind = EVENT_MEMBERS};
        event.members = members;
        runtime_step(runtime, node, &event);
    }
}

static void boot(struct runtime *runtime, uint32_t number)
{
    struct hosted *hosted = &runtime->nodes[number];
    const struct runtime_options *given = &runtime->options;
    arena_init(&hosted->arena);
    board_init(&hosted->board, &hosted->arena, given->fleet->worker_count, /* delay_ns */ 0);
    node_pools_init(&hosted->pools, given->catalogue, given->jobs_max);
    const struct node_options options = {
        .node = number,
        .incarnation = given->remote == NULL ? 0 : given->remote->incarnation,
        .fleet = given->fleet,
        .catalogue = given->catalogue,
        .profile = given->profile,
        .policies = given->policies,
        .members = roster_members(runtime->roster),
        .board = &hosted->board,
        .pools = &hosted->pools,
        .meter = &runtime->meter,
        .seed = given->seed,
        .row_load_ns = given->row_load_ns,
        .row_cache_ns = given->row_cache_ns,
        .has_deputies = given->has_deputies,
    };
    hosted->node = node_create(&hosted->arena, &options);
    arena_seal(&hosted->arena);
}

/* All are there before the first says anything: its row reaches every one of them. */
static void start(struct runtime *runtime, uint32_t number)
{
    runtime->stepping = true;
    node_prepare(runtime->nodes[number].node);
    node_start(runtime->nodes[number].node, runtime->clock.now_ns, &runtime->effects);
    runtime_perform(runtime, number);
    runtime->stepping = false;
    while (runtime->rows_ready) {
        runtime->rows_ready = false;
        net_flush_rows(runtime->net);
    }
}

static struct engine *make_engine(struct runtime *runtime, struct weft_error *error)
{
    const struct runtime_options *options = &runtime->options;
    const struct engine_host host = runtime_engine_host(runtime);
    const struct engine_emulated_options emulated = {
        .fleet = options->fleet,
        .catalogue = options->catalogue,
        .profile = options->profile,
        .seed = options->seed,
        .noise = options->noise,
        .host = host,
    };
    if (options->engine.make == NULL) {
        return engine_emulated_create(&emulated);
    }
    return options->engine.make(options->engine.context, &host, loop_uv(runtime->loop), error);
}

/* What policies compute ahead, before there is any node. */
static void plan(struct runtime *runtime)
{
    const struct runtime_options *options = &runtime->options;
    runtime->known = (struct plan_input){
        .fleet = options->fleet,
        .catalogue = options->catalogue,
        .profile = options->profile,
        .mixture = options->mixture,
        .rates = options->rates,
        .seed = options->seed,
    };
    runtime->policies = *options->policies;
    policy_set_plan(&runtime->policies, &runtime->arena, &runtime->known);
    runtime->options.policies = &runtime->policies;
}

static bool is_up(const void *host, uint32_t node)
{
    return ((const struct runtime *)host)->nodes[node].node != NULL;
}

static enum weft_status make_net(struct runtime *runtime, struct weft_error *error)
{
    const struct runtime_options *options = &runtime->options;
    if (options->remote != NULL) {
        return runtime_make_remote_net(runtime, error);
    }
    const struct net_inproc_options net = {
        .node_count = options->fleet->node_count,
        .worker_count = options->fleet->worker_count,
        .network = options->pretend_network ? &options->fleet->network : NULL,
        .host = runtime_net_host(runtime),
    };
    runtime->net = net_inproc_create(&net);
    return WEFT_OK;
}

static void make_parts(struct runtime *runtime)
{
    const struct runtime_options *options = &runtime->options;
    clock_init(&runtime->clock, options->clock);
    timeline_init(&runtime->timeline);
    tensors_init(&runtime->tensors);
    causes_init(&runtime->causes, options->catalogue);
    runtime_devices_init(runtime);
    arena_init(&runtime->arena);
    node_effects_init(&runtime->effects, &runtime->arena, options->catalogue);
    plan(runtime);
    runtime->ingress = (struct ingress){
        .rng = arrival_ingress_stream(options->seed),
        .node_count = options->fleet->node_count,
        .is_up = is_up,
        .host = runtime,
    };
    pool_init(&runtime->clients, sizeof(struct client), CLIENTS_FIRST, UINT32_MAX - 1);
    runtime->roster = roster_create(options->fleet->node_count, on_members, runtime);
    runtime->nodes = memory_zeroed(options->fleet->node_count, sizeof(*runtime->nodes));
    for (uint32_t node = 0; node < options->fleet->node_count; node++) {
        if (!runtime_hosts(runtime, node)) { /* Until it is said to be a member. */
            roster_announce(runtime->roster, node, /* up */ false);
        }
    }
}

enum weft_status runtime_create(
    const struct runtime_options *options, struct runtime **runtime_out, struct weft_error *error)
{
    struct loop *loop;
    enum weft_status status = loop_create(&loop, error);
    if (status != WEFT_OK) {
        return status;
    }
    struct runtime *runtime = memory_zeroed(1, sizeof(*runtime));
    runtime->options = *options;
    runtime->loop = loop;
    if (options->weighs) {
        runtime->meter.weighed = memory_zeroed(1, sizeof(*runtime->meter.weighed));
    }
    make_parts(runtime);
    status = make_net(runtime, error);
    if (status != WEFT_OK) {
        runtime_destroy(runtime);
        return status;
    }
    runtime->engine = make_engine(runtime, error);
    if (runtime->engine == NULL) {
        runtime_destroy(runtime);
        return error == NULL || error->status == WEFT_OK ? WEFT_FAILED : error->status;
    }
    for (uint32_t node = 0; node < options->fleet->node_count; node++) {
        if (runtime_hosts(runtime, node)) {
            boot(runtime, node);
        }
    }
    for (uint32_t node = 0; node < options->fleet->node_count; node++) {
        if (runtime_hosts(runtime, node)) {
            start(runtime, node);
        }
    }
    *runtime_out = runtime;
    return WEFT_OK;
}

static void drop_dues(struct runtime *runtime)
{
    while (timeline_next_ns(&runtime->timeline) != INT64_MAX) {
        const struct due due = timeline_take(&runtime->timeline);
        if (due.kind == DUE_SOLVED) {
            free(due.context);
        }
    }
}

void runtime_destroy(struct runtime *runtime)
{
    if (runtime == NULL) {
        return;
    }
    const bool is_booted = runtime->engine != NULL;
    engine_destroy(runtime->engine); /* Its threads end, and its handles are being closed. */
    net_destroy(runtime->net);       /* The same. */
    loop_destroy(runtime->loop);     /* They are closed; searches that still run end here. */
    drop_dues(runtime);
    for (uint32_t node = 0; is_booted && node < runtime->options.fleet->node_count; node++) {
        struct hosted *hosted = &runtime->nodes[node];
        if (!runtime_hosts(runtime, node)) {
            continue;
        }
        node_destroy(hosted->node);
        node_pools_deinit(&hosted->pools);
        arena_deinit(&hosted->arena);
        free(hosted->solved);
        tensors_forget(&runtime->tensors, node);
    }
    roster_destroy(runtime->roster);
    tensors_forget(&runtime->tensors, NODE_HOST);
    tensors_deinit(&runtime->tensors);
    timeline_deinit(&runtime->timeline);
    arena_deinit(&runtime->arena);
    pool_deinit(&runtime->clients);
    runtime_devices_deinit(runtime);
    causes_deinit(&runtime->causes);
    free(runtime->meter.weighed);
    free(runtime->nodes);
    free(runtime);
}

int64_t runtime_now_ns(const struct runtime *runtime)
{
    return runtime->clock.now_ns;
}

int64_t runtime_wall_ns(const struct runtime *runtime, int64_t at_ns)
{
    return clock_wall_ns(&runtime->clock, at_ns);
}

struct uv_loop_s *runtime_loop(struct runtime *runtime)
{
    return loop_uv(runtime->loop);
}

void runtime_refresh(struct runtime *runtime)
{
    if (runtime->waiting) {
        (void)clock_read(&runtime->clock);
    }
}

uint64_t runtime_request(
    struct runtime *runtime, uint32_t node, const struct runtime_request *request)
{
    ASSERT(node < runtime->options.fleet->node_count || node == NODE_NONE);
    ASSERT(request->workflow < runtime->options.catalogue->workflow_count);

    runtime_refresh(runtime);
    (void)pool_reserve(&runtime->clients, 1);
    const uint32_t slot = pool_take(&runtime->clients);
    ASSERT(slot != POOL_NONE);
    *(struct client *)pool_at(&runtime->clients, slot) = (struct client){
        .node = node == NODE_NONE ? ingress_draw(&runtime->ingress) : node,
        .deputy = NODE_NONE,
        .arrived_ns = runtime->clock.now_ns,
        .request = *request,
    };
    const uint64_t client = pool_name(&runtime->clients, slot);
    runtime->requested++;
    const struct due due = {.kind = DUE_REQUEST, .token = client};
    /*
     * Between steps it is taken before all that is due, as the simulator takes an arrival. What
     * an answer leads to waits for its turn: a client that is refused and asks again at once
     * must not keep the timers waiting.
     */
    if (runtime->stepping) {
        runtime_add_due(runtime, runtime->clock.now_ns, &due);
    } else {
        timeline_add_first(&runtime->timeline, &due);
    }
    return client;
}

void runtime_cancel(struct runtime *runtime, uint64_t client)
{
    runtime_refresh(runtime);
    const struct due due = {.kind = DUE_CANCEL, .token = client};
    runtime_add_due(runtime, runtime->clock.now_ns, &due);
}

const char *runtime_cause(
    const struct runtime *runtime, struct job_id job, uint32_t workflow, enum reason reason)
{
    return causes_find(&runtime->causes, job, workflow, reason);
}

void runtime_drain(struct runtime *runtime)
{
    for (uint32_t node = 0; node < runtime->options.fleet->node_count; node++) {
        const struct due due = {.kind = DUE_DRAIN, .node = node};
        runtime_add_due(runtime, runtime->clock.now_ns, &due);
    }
}

bool runtime_is_free(struct runtime *runtime)
{
    bool is_free = net_is_clear(runtime->net);
    for (uint32_t node = 0; node < runtime->options.fleet->node_count && is_free; node++) {
        is_free = runtime->nodes[node].node == NULL || node_is_free(runtime->nodes[node].node);
    }
    return is_free;
}

void runtime_set_available(struct runtime *runtime, uint32_t model, bool is_available)
{
    ASSERT(model < runtime->options.catalogue->model_count);
    runtime_refresh(runtime);
    for (uint32_t node = 0; node < runtime->options.fleet->node_count; node++) {
        const struct due due = {
            .kind = DUE_MODEL,
            .node = node,
            .token = (uint64_t)model << 1 | (is_available ? 1 : 0),
        };
        runtime_add_due(runtime, runtime->clock.now_ns, &due);
    }
}

/* The record that the owner itself can no longer make. */
static void record_loss(struct runtime *runtime, const struct client *client)
{
    const struct record record = {
        .at_ns = runtime->clock.now_ns,
        .job = client->job,
        .value = runtime->clock.now_ns - client->arrived_ns,
        .node = client->node,
        .task = TASK_NONE,
        .worker = WORKER_NONE,
        .workflow = (uint16_t)client->request.workflow,
        .model = RECORD_NONE,
        .kind = RECORD_ANSWERED,
        .reason = REASON_OWNER_LOST,
    };
    if (runtime->options.on_record != NULL) {
        runtime->options.on_record(runtime->options.context, &record);
    }
}

/* Clients of a lost owner get no answer from it: their jobs have failed. */
static void fail_tickets(struct runtime *runtime, uint32_t node)
{
    for (uint32_t slot = 0; slot < runtime->clients.capacity; slot++) {
        if (!pool_is_taken(&runtime->clients, slot)) {
            continue;
        }
        const struct client *client = pool_at(&runtime->clients, slot);
        if (client->node != node || client->job.number == 0) {
            continue; /* A request that has not been stepped goes to another node. */
        }
        record_loss(runtime, client);
        struct runtime_answer answer = {
            .client = pool_name(&runtime->clients, slot),
            .job = client->job,
            .status = WEFT_FAILED,
            .reason = REASON_OWNER_LOST,
        };
        runtime_finish(runtime, slot, &answer);
    }
}

void runtime_lose_node(struct runtime *runtime, uint32_t node)
{
    struct hosted *hosted = &runtime->nodes[node];
    ASSERT(!runtime->stepping);
    if (hosted->node == NULL) {
        return;
    }
    node_destroy(hosted->node);
    hosted->node = NULL;
    tensors_forget(&runtime->tensors, node);
    runtime->stepping = true; /* What clients ask for now waits until all have been told. */
    fail_tickets(runtime, node);
    runtime->stepping = false;
    const struct due hint = {.kind = DUE_HINT, .node = node};
    const struct due verdict = {.kind = DUE_VERDICT, .node = node};
    runtime_add_due(runtime, runtime->clock.now_ns + runtime->options.hint_ns, &hint);
    runtime_add_due(runtime, runtime->clock.now_ns + runtime->options.verdict_ns, &verdict);
}

void runtime_call_at(
    struct runtime *runtime, int64_t at_ns, bool background, void (*call)(void *context),
    void *context)
{
    const struct due due = {
        .kind = DUE_CALL, .background = background, .call = call, .context = context};
    runtime_add_due(runtime, at_ns, &due);
}

void runtime_work(
    struct runtime *runtime, void (*work)(void *argument), void (*done)(void *argument),
    void *argument)
{
    loop_work(runtime->loop, work, done, argument);
}

void runtime_on_signal(
    struct runtime *runtime, void (*signalled)(void *context, int number), void *context)
{
    loop_on_signal(runtime->loop, signalled, context);
}

static bool is_idle(const struct runtime *runtime)
{
    return !runtime->options.stays && timeline_is_idle(&runtime->timeline) &&
           loop_work_count(runtime->loop) == 0 && runtime->engine_open == 0;
}

/* Whether the net must hand over at once what is quiet. */
static void attend(struct runtime *runtime)
{
    if (runtime->options.remote != NULL) {
        const struct node *node = runtime->nodes[runtime->options.remote->node].node;
        net_attend(runtime->net, node != NULL && node_attends(node));
    }
}

/* Wait for what comes next, unless the engine has something already. It may not go before
 * everything else twice in a row. */
static void wait(struct runtime *runtime)
{
    attend(runtime);
    runtime->waiting = true;
    runtime->has_looked = !runtime->has_looked && engine_look(runtime->engine);
    if (!runtime->has_looked) {
        loop_wait(runtime->loop, &runtime->clock, timeline_next_ns(&runtime->timeline));
    }
    runtime->waiting = false;
}

void runtime_run(struct runtime *runtime)
{
    ASSERT(runtime->clock.kind == CLOCK_KIND_REAL);
    while (!atomic_load(&runtime->stopped) && !is_idle(runtime)) {
        const int64_t now_ns = clock_read(&runtime->clock);
        for (uint32_t i = 0; i < TURN_DUES_MAX; i++) {
            if (timeline_next_ns(&runtime->timeline) > now_ns || atomic_load(&runtime->stopped)) {
                break;
            }
            const struct due due = timeline_take(&runtime->timeline);
            runtime_take_due(runtime, &due);
        }
        if (!atomic_load(&runtime->stopped) && !is_idle(runtime)) {
            wait(runtime);
        }
    }
    atomic_store(&runtime->stopped, false);
}

void runtime_run_manual(struct runtime *runtime)
{
    ASSERT(runtime->clock.kind == CLOCK_KIND_MANUAL);
    while (!atomic_load(&runtime->stopped) && !is_idle(runtime)) {
        if (loop_work_count(runtime->loop) > 0) {
            loop_wait_work(runtime->loop); /* Searches take no time on this clock. */
            continue;
        }
        const int64_t next_ns = timeline_next_ns(&runtime->timeline);
        if (next_ns > runtime->clock.now_ns) {
            clock_set(&runtime->clock, next_ns);
        }
        const struct due due = timeline_take(&runtime->timeline);
        runtime_take_due(runtime, &due);
    }
    atomic_store(&runtime->stopped, false);
}

void runtime_stop(struct runtime *runtime)
{
    atomic_store(&runtime->stopped, true);
    loop_interrupt(runtime->loop);
}

struct handle runtime_tensor(
    struct runtime *runtime, void *contents, uint64_t bytes, void (*give_back)(void *contents))
{
    return tensors_add(&runtime->tensors, NODE_HOST, contents, bytes, give_back);
}

const void *runtime_contents(
    const struct runtime *runtime, struct handle handle, uint64_t *bytes_out)
{
    return tensors_contents(&runtime->tensors, handle, bytes_out);
}

void runtime_release(struct runtime *runtime, struct handle handle)
{
    tensors_release(&runtime->tensors, handle);
}

bool runtime_hosts(const struct runtime *runtime, uint32_t node)
{
    const struct runtime_remote *remote = runtime->options.remote;
    return remote == NULL || remote->node == node;
}

bool runtime_has_worker(const struct runtime *runtime, uint32_t worker)
{
    const struct fleet_worker *spec = &runtime->options.fleet->workers[worker];
    return runtime_hosts(runtime, spec->node) && !spec->is_absent;
}

const struct node *runtime_node(const struct runtime *runtime, uint32_t node)
{
    return runtime->nodes[node].node;
}

struct runtime_counts runtime_counts(const struct runtime *runtime)
{
    return (struct runtime_counts){
        .requested = runtime->requested,
        .answered = runtime->answered,
        .tensors = tensors_count(&runtime->tensors),
        .members = roster_members(runtime->roster)->up_count,
        .steps = runtime->steps,
        .decisions = runtime->meter.decisions,
        .sent_bytes = runtime->options.remote == NULL ? 0 : net_stream_sent_bytes(runtime->net),
    };
}

void runtime_engine_counts(const struct runtime *runtime, struct engine_counts *counts_out)
{
    engine_get_counts(runtime->engine, counts_out);
}
