#include "lone_node.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"
#include "policy/choose.h"
#include "wire/row.h"

static uint16_t plan[4];

void lone_plan(uint16_t a, uint16_t b, uint16_t c, uint16_t d)
{
    plan[0] = a;
    plan[1] = b;
    plan[2] = c;
    plan[3] = d;
}

static void place_as_planned(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out)
{
    const uint32_t worker_count = input->view->fleet->worker_count;
    for (uint32_t i = 0; i < job->graph->task_count; i++) {
        const struct need need = choose_plan_need(input, job, i);
        uint32_t worker = plan[i];
        uint32_t tries = 0;
        while (worker != PLACEMENT_UNBOUND && !choose_can_use(input->view, worker, need)) {
            worker = ++tries == worker_count ? PLACEMENT_UNBOUND : (worker + 1) % worker_count;
        }
        placement_out[i] = (uint16_t)worker;
    }
}

static const struct policy planned = {.name = "planned", .place_job = place_as_planned};

static void add_model(struct lone *lone, const char *name, uint64_t bytes, int64_t run_ns)
{
    const uint32_t model = catalogue_model(lone->catalogue, name);
    const struct profile_point point = {.items = 1, .run_ns = run_ns};
    lone->profile->models[model].load_bytes = bytes;
    lone->profile->models[model].resident_bytes = bytes;
    ASSERT(profile_add_point(lone->profile, model, 0, &point) == WEFT_OK);
}

static void add_task(struct workflow *workflow, enum lone_model model)
{
    struct workflow_task task = {.run = model, .models = {model}};
    uint32_t number;
    (void)snprintf(task.name, sizeof(task.name), "t%u", workflow->task_count);
    task.model_count = model == MODEL_F ? 0 : 1;
    ASSERT(workflow_add_task(workflow, &task, &number) == WEFT_OK);
}

static void add_edge(struct workflow *workflow, uint32_t from, uint32_t to)
{
    const struct workflow_edge edge = {.from = from, .to = to, .bytes = MB(1)};
    ASSERT(workflow_add_edge(workflow, &edge) == WEFT_OK);
}

static void add_workflow(struct lone *lone, struct workflow *workflow)
{
    ASSERT(workflow_seal(workflow, NULL) == WEFT_OK);
    ASSERT(catalogue_add_workflow(lone->catalogue, workflow) == WEFT_OK);
}

static void add_single(struct lone *lone, const char *name, enum lone_model model)
{
    struct workflow *workflow = workflow_create(name);
    add_task(workflow, model);
    add_workflow(lone, workflow);
}

static void add_chain(struct lone *lone)
{
    struct workflow *workflow = workflow_create("chain");
    add_task(workflow, MODEL_A);
    add_task(workflow, MODEL_B);
    add_edge(workflow, 0, 1);
    add_workflow(lone, workflow);
}

static void add_diamond(struct lone *lone)
{
    struct workflow *workflow = workflow_create("diamond");
    add_task(workflow, MODEL_F);
    add_task(workflow, MODEL_A);
    add_task(workflow, MODEL_B);
    add_task(workflow, MODEL_F);
    add_edge(workflow, 0, 1);
    add_edge(workflow, 0, 2);
    add_edge(workflow, 1, 3);
    add_edge(workflow, 2, 3);
    add_workflow(lone, workflow);
}

static void add_pair(struct lone *lone, const char *name, enum lone_model first)
{
    struct workflow *workflow = workflow_create(name);
    add_task(workflow, first);
    add_task(workflow, MODEL_F);
    add_task(workflow, MODEL_F);
    add_edge(workflow, 0, 2);
    add_edge(workflow, 1, 2);
    add_workflow(lone, workflow);
}

static void add_split(struct lone *lone)
{
    struct workflow *workflow = workflow_create("split");
    add_task(workflow, MODEL_F);
    add_task(workflow, MODEL_F);
    add_task(workflow, MODEL_F);
    add_edge(workflow, 0, 1);
    add_edge(workflow, 0, 2);
    add_workflow(lone, workflow);
}

static void fill_catalogue(struct lone *lone)
{
    lone->catalogue = catalogue_create();
    lone->profile = profile_create(LONE_MODELS);
    add_model(lone, "f", 0, MS(2));
    add_model(lone, "a", MB(50), MS(10));
    add_model(lone, "b", MB(30), MS(20));
    add_model(lone, "c", MB(160), MS(10));
    add_model(lone, "huge", MB(500), MS(10));
    add_model(lone, "work", MB(60), MS(10));
    lone->profile->models[MODEL_WORK].workspace_bytes_per_item = MB(40);
    add_single(lone, "f", MODEL_F);
    add_single(lone, "a", MODEL_A);
    add_single(lone, "b", MODEL_B);
    add_single(lone, "c", MODEL_C);
    add_chain(lone);
    add_diamond(lone);
    add_single(lone, "huge", MODEL_HUGE);
    add_single(lone, "work", MODEL_WORK);
    add_pair(lone, "pair", MODEL_A);
    add_pair(lone, "bad-pair", MODEL_HUGE);
    add_split(lone);
    ASSERT(lone->catalogue->model_count == LONE_MODELS);
    ASSERT(lone->catalogue->workflow_count == LONE_WORKFLOWS);
}

static void fill_fleet(struct lone *lone, const struct lone_options *options)
{
    const uint32_t worker_count = options->worker_count == 0 ? 1 : options->worker_count;
    lone->fleet = fleet_create();
    const struct fleet_worker device = {
        .device = fleet_device(lone->fleet, "gpu"),
        .memory_bytes = MB(200),
        .bus_bytes_per_s = MB(1000),
        .gpu_units = options->gpu_units == 0 ? 1 : options->gpu_units,
        .reshape_ns = options->reshape_ns,
        .shares_memory = options->shares_memory,
    };
    for (uint32_t i = 0; i < LONE_NODES; i++) {
        ASSERT(fleet_add_machine(lone->fleet, &device, worker_count, /* cpu_units */ 8));
    }
    lone->id = options->node;
    lone->worker = options->node * worker_count;
}

/* The plan answers where the policy under test has nothing to say. */
static void choose_policy(struct lone *lone, const struct policy *policy)
{
    struct policy_set base;
    policy_set_single(&planned, &base);
    policy_set_single(policy == NULL ? &planned : policy, &lone->policies);
    if (lone->policies.roles[ROLE_PLACE].policy == NULL && (policy == NULL || !policy->binds)) {
        lone->policies.roles[ROLE_PLACE] = base.roles[ROLE_PLACE];
    }
    const uint16_t own = (uint16_t)lone->worker;
    lone_plan(own, own, own, own);
}

static void remember(struct lone *lone, const struct effect *effect)
{
    ASSERT(lone->asked_count < LONE_ASKED_MAX);
    lone->asked[lone->asked_count] = *effect;
    lone->asked_count++;
}

static void forget(struct lone *lone, uint32_t index)
{
    ASSERT(index < lone->asked_count);
    lone->asked_count--;
    for (uint32_t i = index; i < lone->asked_count; i++) {
        lone->asked[i] = lone->asked[i + 1];
    }
}

/* A new tensor, which the node holds from now on. */
static struct handle give_handle(struct lone *lone)
{
    lone->handles++;
    ASSERT(lone->handles < LONE_HANDLES_MAX);
    lone->is_held[lone->handles / 8] |= (uint8_t)(1u << (lone->handles % 8));
    lone->held++;
    return (struct handle){lone->handles};
}

static void take_handle(struct lone *lone, struct handle handle)
{
    ASSERT(handle.id > 0 && handle.id <= lone->handles);
    uint8_t *byte = &lone->is_held[handle.id / 8];
    const uint8_t bit = (uint8_t)(1u << (handle.id % 8));
    ASSERT((*byte & bit) != 0); /* Given back once, and not used after that. */
    *byte &= (uint8_t)~bit;
    lone->held--;
}

static void expect_held(const struct lone *lone, struct handle handle)
{
    ASSERT(handle.id > 0 && handle.id <= lone->handles);
    ASSERT((lone->is_held[handle.id / 8] >> (handle.id % 8) & 1) != 0);
}

/* The load or batch that @effect cancels was asked for, and is so no more. */
static void withdraw(struct lone *lone, const struct effect *effect)
{
    uint32_t i = 0;
    for (;; i++) {
        ASSERT(i < lone->asked_count);
        const struct effect *asked = &lone->asked[i];
        if (effect->kind == EFFECT_CANCEL_BATCH && asked->kind == EFFECT_LAUNCH &&
            asked->launch.batch == effect->batch) {
            break;
        }
        if (effect->kind == EFFECT_CANCEL_LOAD && asked->kind == EFFECT_LOAD &&
            asked->load.worker == effect->load.worker && asked->load.model == effect->load.model) {
            break;
        }
    }
    forget(lone, i);
}

/* What leaves can be written, and is of a kind that the receiver takes. */
static void expect_sendable(const struct effect *effect)
{
    uint8_t bytes[MESSAGE_BYTES_MAX];
    ASSERT(message_encode(&effect->send.message, bytes, sizeof(bytes)) > 0);
    ASSERT((effect->kind == EFFECT_MOVE) == message_has_tensor(effect->send.message.kind));
    ASSERT(effect->send.node < LONE_NODES);
}

static void keep_books(struct lone *lone, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_LOAD:
    case EFFECT_UNLOAD:
    case EFFECT_RESHAPE:
    case EFFECT_LAUNCH:
    case EFFECT_WAKE_AT:
        remember(lone, effect);
        return;
    case EFFECT_CANCEL_LOAD:
    case EFFECT_CANCEL_BATCH:
        withdraw(lone, effect);
        return;
    case EFFECT_RELEASE:
        take_handle(lone, effect->release);
        return;
    case EFFECT_SEND:
        expect_sendable(effect);
        return;
    case EFFECT_MOVE:
        expect_sendable(effect);
        expect_held(lone, effect->send.tensor);
        return;
    case EFFECT_REFUSE:
    case EFFECT_ANSWER:
        lone->answers++;
        for (uint32_t i = 0; i < effect->answer.output_count && !effect->answer.is_kept; i++) {
            take_handle(lone, effect->answer.outputs[i]);
        }
        return;
    case EFFECT_ACCEPT:
    case EFFECT_SOLVE:
    case EFFECT_FIND:
        return;
    case EFFECT_KINDS:
        break;
    }
    ASSERT(false);
}

static void keep_all_books(struct lone *lone)
{
    uint8_t bytes[ROW_BYTES_MAX];
    for (uint32_t i = 0; i < lone->effects.row_count; i++) {
        ASSERT(row_encode(lone->effects.rows[i], bytes, sizeof(bytes)) > 0);
    }
    for (uint32_t i = 0; i < lone->effects.count; i++) {
        keep_books(lone, &lone->effects.items[i]);
    }
}

void lone_open(struct lone *lone, const struct lone_options *options)
{
    memset(lone, 0, sizeof(*lone));
    arena_init(&lone->arena);
    lone->incarnation = options->incarnation;
    fill_fleet(lone, options);
    fill_catalogue(lone);
    choose_policy(lone, options->policy);
    board_init(&lone->board, &lone->arena, lone->fleet->worker_count, /* delay_ns */ 0);
    node_pools_init(&lone->pools, lone->catalogue, options->jobs_max);
    node_effects_init(&lone->effects, &lone->arena, lone->catalogue);
    for (uint32_t i = 0; i < 2; i++) {
        lone->members[i] = (struct members){
            .epoch = 1,
            .node_count = LONE_NODES,
            .up_count = LONE_NODES,
            .up = &lone->up[i],
            .since = lone->since[i],
            .incarnations = lone->lives[i],
        };
        lone->up[i] = (1 << LONE_NODES) - 1;
    }
    const struct node_options node = {
        .node = options->node,
        .incarnation = options->incarnation,
        .fleet = lone->fleet,
        .catalogue = lone->catalogue,
        .profile = lone->profile,
        .policies = &lone->policies,
        .members = &lone->members[0],
        .board = &lone->board,
        .pools = &lone->pools,
        .meter = &lone->meter,
        .seed = options->seed,
        .row_load_ns = MS(10),
        .row_cache_ns = MS(20),
        .has_deputies = options->has_deputies,
    };
    lone->node = node_create(&lone->arena, &node);
    node_start(lone->node, 0, &lone->effects);
    keep_all_books(lone);
}

static uint32_t slots_used(const struct lone *lone)
{
    return lone_used(lone) + lone->pools.reservations.used + lone->pools.notices.used;
}

void lone_close(struct lone *lone)
{
    node_destroy(lone->node);
    ASSERT(slots_used(lone) == 0);
    node_pools_deinit(&lone->pools);
    profile_destroy(lone->profile);
    catalogue_destroy(lone->catalogue);
    fleet_destroy(lone->fleet);
    arena_deinit(&lone->arena);
}

void lone_step(struct lone *lone, struct event *event)
{
    event->at_ns = lone->now_ns;
    node_prepare(lone->node);
    node_step(lone->node, event, &lone->effects);
    keep_all_books(lone);
}

struct job_id lone_request(struct lone *lone, enum lone_workflow workflow)
{
    struct event event = {.kind = EVENT_REQUEST};
    event.request.client = ++lone->clients;
    event.request.workflow = workflow;
    event.request.items = 1;
    event.request.slo_ns = lone->slo_ns;
    event.request.key = lone->key;
    event.request.inputs_hash = lone->inputs_hash;
    event.request.is_retry = lone->is_retry;
    event.request.edition = lone->edition;
    event.request.inputs = give_handle(lone);
    event.request.bytes = lone->input_bytes == 0 ? MB(1) : lone->input_bytes;
    lone_step(lone, &event);
    const struct effect *accepted = lone_find(lone, EFFECT_ACCEPT);
    return accepted == NULL ? (struct job_id){0} : accepted->accept.job;
}

void lone_cancel(struct lone *lone, struct job_id job)
{
    struct event event = {.kind = EVENT_CANCEL};
    event.cancel = job;
    lone_step(lone, &event);
}

struct job_id lone_open_placed(struct lone *lone, enum lone_workflow workflow, uint16_t worker)
{
    lone_open(lone, &(struct lone_options){0});
    lone_plan(worker, worker, worker, worker);
    return lone_request(lone, workflow);
}

struct message lone_message(
    struct lone *lone, enum message_kind kind, struct job_id job, enum lone_workflow workflow,
    uint32_t task)
{
    struct message message = {
        .kind = kind,
        .from = job.node,
        .from_incarnation = job.incarnation,
        .to_incarnation = lone->incarnation,
        .job = job,
        .workflow = workflow,
        .task = task,
        .worker = lone->worker,
        .work = {0},
    };
    memcpy(lone->placement, plan, sizeof(plan));
    if (message_has_placement(kind) || kind == MESSAGE_OFFER) {
        message.work.items = 1;
        message.work.left_ns = INT64_MAX;
    }
    if (message_has_placement(kind)) {
        message.work.bytes = MB(1);
        message.work.placement_count = (uint16_t)lone->catalogue->workflows[workflow]->task_count;
        message.work.placement = lone->placement;
    }
    return message;
}

struct message lone_moved(
    struct lone *lone, struct job_id job, enum lone_workflow workflow, uint32_t task, uint32_t from,
    uint32_t worker)
{
    struct message moved = lone_message(lone, MESSAGE_MOVED, job, workflow, task);
    moved.from = from;
    moved.worker = worker;
    return moved;
}

void lone_deliver(struct lone *lone, const struct message *message)
{
    struct event event = {.kind = EVENT_MESSAGE};
    event.message.message = message;
    if (message_has_tensor(message->kind)) {
        event.kind = EVENT_TENSOR_ARRIVED;
        event.message.tensor = give_handle(lone);
    }
    lone_step(lone, &event);
}

struct message lone_task(struct lone *lone, uint64_t number, enum lone_workflow workflow)
{
    const struct job_id job = {.node = 1, .number = number};
    return lone_message(lone, MESSAGE_INPUT, job, workflow, /* task */ 0);
}

void lone_deliver_task(struct lone *lone, uint64_t number, enum lone_workflow workflow)
{
    const struct message input = lone_task(lone, number, workflow);
    lone_deliver(lone, &input);
}

void lone_deliver_tasks(struct lone *lone, uint32_t count, enum lone_workflow workflow)
{
    for (uint32_t i = 0; i < count; i++) {
        lone_deliver_task(lone, i + 1, workflow);
    }
}

void lone_answer(struct lone *lone, struct job_id job, uint32_t sink)
{
    const struct message answer = {
        .kind = MESSAGE_INPUT,
        .from = (lone->id + 1) % LONE_NODES,
        .to_incarnation = lone->incarnation,
        .job = job,
        .task = TASK_ANSWER,
        .work = {.input = sink, .items = 1, .left_ns = INT64_MAX},
    };
    lone_deliver(lone, &answer);
}

void lone_members(struct lone *lone, uint64_t epoch, uint64_t up, uint64_t fresh)
{
    const uint32_t next = 1 - lone->members_known; /* The one that the node reads stays. */
    struct members *members = &lone->members[next];
    const uint64_t *since = lone->since[lone->members_known];
    members->epoch = epoch;
    members->up_count = 0;
    lone->up[next] = up;
    for (uint32_t i = 0; i < LONE_NODES; i++) {
        members->up_count += (uint32_t)(up >> i & 1);
        lone->since[next][i] = (fresh >> i & 1) != 0 ? epoch : since[i];
        lone->lives[next][i] = lone->incarnations[i];
    }
    struct event event = {.kind = EVENT_MEMBERS};
    event.members = members;
    lone_step(lone, &event);
    lone->members_known = epoch > lone->members[1 - next].epoch ? next : 1 - next;
}

void lone_hint(struct lone *lone, uint32_t node, enum peer_hint hint)
{
    struct event event = {.kind = EVENT_PEER_HINT};
    event.peer.node = node;
    event.peer.hint = hint;
    lone_step(lone, &event);
}

void lone_repository(struct lone *lone, enum lone_model model, bool available)
{
    struct event event = {.kind = EVENT_REPOSITORY_CHANGED};
    event.repository.model = model;
    event.repository.available = available;
    lone_step(lone, &event);
}

void lone_editions(struct lone *lone, uint32_t a, uint32_t b)
{
    const uint32_t held[] = {a, b};
    struct event event = {.kind = EVENT_EDITIONS};
    event.held.count = 2;
    event.held.editions = held;
    lone_step(lone, &event);
}

static uint32_t find_asked(const struct lone *lone, enum effect_kind kind)
{
    uint32_t i = 0;
    while (i < lone->asked_count && lone->asked[i].kind != kind) {
        i++;
    }
    return i;
}

bool lone_is_asked(const struct lone *lone, enum effect_kind kind)
{
    return find_asked(lone, kind) < lone->asked_count;
}

static void fulfil_batch(
    struct lone *lone, const struct effect_launch *launch, enum weft_status status)
{
    struct output outputs[BATCH_TASKS_MAX];
    struct event event = {.kind = EVENT_BATCH_DONE};
    event.batch.batch = launch->batch;
    event.batch.status = status;
    event.batch.run_ns = MS(1);
    if (status == WEFT_OK) {
        for (uint32_t i = 0; i < launch->task_count; i++) {
            const struct batch_task task = node_batch_task(lone->node, launch->batch, i);
            if (i + 1 == lone->bad_task) {
                outputs[i] = (struct output){.status = WEFT_FAILED};
                continue;
            }
            const uint32_t items = lone->gives_none ? 0 : task.items;
            outputs[i] =
                (struct output){.tensor = give_handle(lone), .bytes = MB(1), .items = items};
        }
        lone->bad_task = 0;
        event.batch.output_count = launch->task_count;
        event.batch.outputs = outputs;
    }
    lone_step(lone, &event);
}

void lone_fulfil(struct lone *lone, uint32_t index, enum weft_status status)
{
    ASSERT(index < lone->asked_count);
    const struct effect asked = lone->asked[index];
    struct event event = {.kind = EVENT_SHARE_READY};
    forget(lone, index);
    if (asked.kind == EFFECT_LAUNCH) {
        fulfil_batch(lone, &asked.launch, status);
        return;
    }
    if (asked.kind == EFFECT_RESHAPE) {
        event.share.worker = asked.reshape.worker;
        event.share.name = asked.reshape.share;
    } else {
        ASSERT(asked.kind == EFFECT_LOAD || asked.kind == EFFECT_UNLOAD);
        event.kind = asked.kind == EFFECT_LOAD ? EVENT_LOAD_DONE : EVENT_UNLOAD_DONE;
        event.load.worker = asked.load.worker;
        event.load.model = asked.load.model;
        event.load.status = status;
        event.load.own_bytes = lone->own_bytes;
        event.load.bytes =
            lone->own_bytes == 0 ? 0 : lone->profile->models[asked.load.model].resident_bytes;
    }
    lone_step(lone, &event);
}

void lone_load_done(struct lone *lone, enum weft_status status)
{
    lone_fulfil(lone, find_asked(lone, EFFECT_LOAD), status);
}

void lone_unload_done(struct lone *lone)
{
    lone_fulfil(lone, find_asked(lone, EFFECT_UNLOAD), WEFT_OK);
}

void lone_share_ready(struct lone *lone)
{
    lone_fulfil(lone, find_asked(lone, EFFECT_RESHAPE), WEFT_OK);
}

void lone_batch_done(struct lone *lone, enum weft_status status)
{
    lone_fulfil(lone, find_asked(lone, EFFECT_LAUNCH), status);
}

bool lone_timer(struct lone *lone, enum timer_kind kind)
{
    uint32_t earliest = LONE_ASKED_MAX;
    for (uint32_t i = 0; i < lone->asked_count; i++) {
        const struct effect *asked = &lone->asked[i];
        if (asked->kind == EFFECT_WAKE_AT && asked->wake.timer.kind == kind &&
            (earliest == LONE_ASKED_MAX || asked->wake.at_ns < lone->asked[earliest].wake.at_ns)) {
            earliest = i;
        }
    }
    if (earliest == LONE_ASKED_MAX) {
        return false;
    }
    struct event event = {.kind = EVENT_TIMER, .timer = lone->asked[earliest].wake.timer};
    if (lone->asked[earliest].wake.at_ns > lone->now_ns) {
        lone->now_ns = lone->asked[earliest].wake.at_ns;
    }
    forget(lone, earliest);
    lone_step(lone, &event);
    return true;
}

void lone_settle(struct lone *lone)
{
    static const enum effect_kind order[] = {
        EFFECT_UNLOAD, EFFECT_LOAD, EFFECT_RESHAPE, EFFECT_LAUNCH};
    uint32_t i = 0;
    while (i < sizeof(order) / sizeof(order[0])) {
        const uint32_t index = find_asked(lone, order[i]);
        if (index == lone->asked_count) {
            i++;
            continue;
        }
        lone_fulfil(lone, index, WEFT_OK);
        i = 0; /* It may have asked for more. */
    }
}

uint32_t lone_count(const struct lone *lone, enum effect_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < lone->effects.count; i++) {
        count += lone->effects.items[i].kind == kind ? 1 : 0;
    }
    return count;
}

const struct effect *lone_find(const struct lone *lone, enum effect_kind kind)
{
    for (uint32_t i = lone->effects.count; i > 0; i--) {
        if (lone->effects.items[i - 1].kind == kind) {
            return &lone->effects.items[i - 1];
        }
    }
    return NULL;
}

uint32_t lone_records(const struct lone *lone, enum record_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < lone->effects.record_count; i++) {
        count += lone->effects.records[i].kind == kind ? 1 : 0;
    }
    return count;
}

const struct record *lone_record(const struct lone *lone, enum record_kind kind)
{
    for (uint32_t i = lone->effects.record_count; i > 0; i--) {
        if (lone->effects.records[i - 1].kind == kind) {
            return &lone->effects.records[i - 1];
        }
    }
    return NULL;
}

static bool is_message(const struct effect *effect, uint32_t node, enum message_kind kind)
{
    return (effect->kind == EFFECT_SEND || effect->kind == EFFECT_MOVE) &&
           effect->send.node == node && effect->send.message.kind == kind;
}

uint32_t lone_sent_count(const struct lone *lone, uint32_t node, enum message_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < lone->effects.count; i++) {
        count += is_message(&lone->effects.items[i], node, kind) ? 1 : 0;
    }
    return count;
}

const struct message *lone_sent(const struct lone *lone, uint32_t node, enum message_kind kind)
{
    for (uint32_t i = lone->effects.count; i > 0; i--) {
        if (is_message(&lone->effects.items[i - 1], node, kind)) {
            return &lone->effects.items[i - 1].send.message;
        }
    }
    return NULL;
}

static uint64_t hash_bytes(uint64_t hash, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hash = hash_mix(hash, bytes[i]);
    }
    return hash;
}

/* The parts that @effect's kind has; the rest of the union means nothing. */
static uint64_t hash_effect(uint64_t hash, const struct effect *effect)
{
    uint8_t bytes[MESSAGE_BYTES_MAX];
    size_t count;
    switch (effect->kind) {
    case EFFECT_ACCEPT:
        return hash_mix(hash_mix(hash, effect->accept.client), job_key(effect->accept.job));
    case EFFECT_REFUSE:
    case EFFECT_ANSWER:
        hash = hash_mix(hash_mix(hash, effect->answer.client), effect->answer.reason);
        for (uint32_t i = 0; i < effect->answer.output_count; i++) {
            hash = hash_mix(hash, effect->answer.outputs[i].id);
        }
        return hash_mix(hash, (uint64_t)(int64_t)effect->answer.status);
    case EFFECT_SEND:
    case EFFECT_MOVE:
        count = message_encode(&effect->send.message, bytes, sizeof(bytes));
        hash = hash_mix(hash_bytes(hash, bytes, count), effect->send.node);
        return hash_mix(hash, effect->send.tensor.id);
    case EFFECT_RELEASE:
        return hash_mix(hash, effect->release.id);
    case EFFECT_LOAD:
    case EFFECT_CANCEL_LOAD:
    case EFFECT_UNLOAD:
        hash = hash_mix(hash_mix(hash, effect->load.worker), effect->load.model);
        return hash_mix(hash, effect->load.bytes);
    case EFFECT_RESHAPE:
        return hash_mix(hash_mix(hash, effect->reshape.worker), effect->reshape.share);
    case EFFECT_LAUNCH: /* No padding: numbers of 32 bits throughout. */
        memcpy(bytes, &effect->launch, sizeof(effect->launch));
        return hash_bytes(hash, bytes, sizeof(effect->launch));
    case EFFECT_CANCEL_BATCH:
        return hash_mix(hash, effect->batch);
    case EFFECT_WAKE_AT:
        hash = hash_mix(hash_mix(hash, (uint64_t)effect->wake.at_ns), effect->wake.timer.kind);
        return hash_mix(hash, effect->wake.timer.worker);
    case EFFECT_SOLVE:
        return hash_mix(hash, effect->solve.problem);
    case EFFECT_FIND:
        return hash_mix(hash_mix(hash, job_key(effect->find.job)), effect->find.asker);
    case EFFECT_KINDS:
        break;
    }
    ASSERT(false);
    return hash;
}

uint64_t lone_hash(const struct lone *lone)
{
    uint64_t hash = lone->effects.count;
    for (uint32_t i = 0; i < lone->effects.count; i++) {
        const struct effect *effect = &lone->effects.items[i];
        hash = hash_effect(hash_mix(hash, effect->kind), effect);
    }
    for (uint32_t i = 0; i < lone->effects.row_count; i++) {
        uint8_t bytes[ROW_BYTES_MAX];
        hash = hash_bytes(hash, bytes, row_encode(lone->effects.rows[i], bytes, sizeof(bytes)));
    }
    for (uint32_t i = 0; i < lone->effects.record_count; i++) {
        uint8_t bytes[sizeof(struct record)];
        memcpy(bytes, &lone->effects.records[i], sizeof(bytes));
        hash = hash_bytes(hash, bytes, sizeof(bytes));
    }
    return hash;
}

uint32_t lone_used(const struct lone *lone)
{
    const struct node_pools *pools = &lone->pools;
    return pools->jobs.used + pools->visits.used + pools->tasks.used + pools->inputs.used +
           pools->tensors.used + pools->batches.used + pools->tickets.used + pools->claims.used +
           pools->grants.used + pools->parked.used + pools->keyed.used;
}

bool lone_is_empty(const struct lone *lone)
{
    const struct node_counts counts = node_counts(lone->node);
    uint64_t bytes = 0;
    uint64_t resident = 0;
    for (uint32_t i = 0; i < lone->fleet->nodes[lone->id].worker_count; i++) {
        const uint32_t first = fleet_first_sharer(lone->fleet, lone->worker + i);
        const struct worker_counts worker = node_worker_counts(lone->node, lone->worker + i);
        const struct worker_counts sharer = node_worker_counts(lone->node, first);
        bytes += first == lone->worker + i ? worker.memory_used_bytes : 0;
        for (uint32_t model = 0; model < LONE_MODELS; model++) {
            const bool is_counted =
                first != lone->worker + i && model_set_has(&sharer.resident, model);
            resident += model_set_has(&worker.resident, model) && !is_counted
                            ? lone->profile->models[model].resident_bytes
                            : 0;
        }
    }
    return counts.jobs == 0 && counts.visits == 0 && counts.queued == 0 && counts.running == 0 &&
           lone_used(lone) == 0 && lone->held == 0 && bytes == resident;
}
