#include "lone_script.h"

#include "base/assert.h"
#include "base/hash.h"
#include "node/access.h"
#include "wire/row.h"

static void batch_by_load(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    const int64_t wake_at_ns = queue->head_ready_ns + MS(5);
    if (queue->items < 3 && input->view->now_ns < wake_at_ns) {
        *answer_out = (struct dispatch_answer){.wake_at_ns = wake_at_ns};
        return;
    }
    *answer_out = (struct dispatch_answer){
        .count = 2, .configs = {{.batch = 8, .cpu = 5, .gpu = 1}, {.batch = 1, .cpu = 3}}};
}

static uint32_t steal_from_next(const struct policy_input *input, uint32_t worker)
{
    const uint32_t next = (worker + 1) % input->view->fleet->worker_count;
    return next == worker ? WORKER_NONE : next;
}

static struct admission admit_few(const struct policy_input *input, const struct job_facts *job)
{
    (void)input;
    return (struct admission){.admitted = job->id.number % 8 != 7, .retry_after_ns = MS(1)};
}

static void tick(const struct policy_input *input, struct tick_answer *answer_out)
{
    *answer_out = (struct tick_answer){.solve = true, .problem = (uint64_t)input->view->now_ns};
}

static bool always(const double *options)
{
    (void)options;
    return true;
}

static const struct policy busy = {
    .name = "busy",
    .pools = always,
    .admit = admit_few,
    .dispatch = batch_by_load,
    .steal = steal_from_next,
    .tick_ns = MS(50),
    .tick = tick,
};

static uint32_t take(struct lone_script *script)
{
    if (script->left == 0) {
        return 0;
    }
    script->left--;
    return *script->bytes++;
}

/* What holds after every step. */
static void check_workers(const struct lone *lone)
{
    for (uint32_t i = 0; i < lone->node->worker_count; i++) {
        const struct worker *worker = &lone->node->workers[i];
        ASSERT(worker->bank->used_bytes <= worker->spec->memory_bytes);
        ASSERT(worker->shares.free <= worker->spec->gpu_units);
        ASSERT(worker->queue_ns >= 0 && worker->reserved_ns >= 0 && worker->missing_ns >= 0);
        ASSERT((worker->queued == 0) == (worker->active_count == 0));
        ASSERT(worker->running == 0 || worker->batches != POOL_NONE);
        ASSERT(worker->running > 0 || worker->batches == POOL_NONE || worker->grants != POOL_NONE);
    }
    ASSERT(lone->node->cpu_free <= lone->fleet->nodes[lone->id].cpu_units);
}

/* The last step counts; what it asked for must not pile up without end. */
static void count_step(struct lone_script *script, struct lone *lone)
{
    check_workers(lone);
    script->steps++;
    script->hash = hash_mix(script->hash, lone_hash(lone));
    for (uint32_t kind = 0; kind <= TIMER_IDLE && lone->asked_count > LONE_ASKED_MAX / 2;) {
        if (lone_timer(lone, (enum timer_kind)kind)) {
            script->hash = hash_mix(script->hash, lone_hash(lone));
        } else {
            kind++;
        }
    }
}

void lone_script_open(
    struct lone_script *script, struct lone *lone, const uint8_t *bytes, size_t count)
{
    static const char *const names[] = {"least-work", "heft", "jit", "hash", "first-fit", "fifo"};
    *script = (struct lone_script){.bytes = bytes, .left = count, .epoch = 1};
    const uint32_t policy = take(script) % 8;
    const uint32_t shape = take(script);
    const struct lone_options options = {
        .node = shape % LONE_NODES,
        .incarnation = shape >> 2 & 3,
        .worker_count = 1 + (shape >> 4 & 1),
        .gpu_units = 1 + (shape >> 5 & 1),
        .reshape_ns = shape >> 6 & 1,
        .jobs_max = (shape >> 7) != 0 ? 5 : 0,
        .policy = policy < 6    ? policy_find(names[policy])
                  : policy == 6 ? &busy
                                : NULL,
    };
    lone_open(lone, &options);
}

/* Two bits a task: one of three workers, or none. */
static void act_plan(struct lone_script *script, struct lone *lone)
{
    const uint32_t bits = take(script);
    uint16_t entries[4];
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t choice = bits >> (2 * i) & 3;
        const uint32_t worker_count = lone->fleet->worker_count;
        entries[i] =
            choice == 3 ? PLACEMENT_UNBOUND : (uint16_t)(choice * (worker_count / LONE_NODES));
    }
    lone_plan(entries[0], entries[1], entries[2], entries[3]);
}

static void act_request(struct lone_script *script, struct lone *lone)
{
    const uint32_t choice = take(script);
    (void)lone_request(lone, (enum lone_workflow)(choice % LONE_WORKFLOWS));
}

static struct job_id take_job(struct lone_script *script, struct lone *lone)
{
    const uint32_t choice = take(script);
    const uint32_t node = choice & 3; /* One of them does not exist. */
    return (struct job_id){
        .node = node,
        .incarnation = node == lone->id ? lone->incarnation : 0,
        .number = choice >> 2,
    };
}

static void act_cancel(struct lone_script *script, struct lone *lone)
{
    lone_cancel(lone, take_job(script, lone));
}

/* What a message says beyond what it is about, drawn from @where and @more. */
static void fill_body(struct message *message, uint32_t where, uint32_t more)
{
    const uint32_t reason = more % (REASON_COUNT + 1);
    const uint32_t claim = 1 + (more & 3);
    if (message->kind == MESSAGE_CLAIM) {
        message->claim = (struct message_claim){
            .number = claim,
            .index = more >> 2 & 1,
            .count = 1 + (more >> 3 & 1),
            .items = more >> 4 & 3,
            .batch = more >> 4,
            .cpu = more & 7,
            .gpu = more >> 6,
            .holder = where & 7,
        };
    } else if (message->kind == MESSAGE_DECLINE || message->kind == MESSAGE_ENDED) {
        message->outcome = (struct message_outcome){.number = claim, .reason = reason};
        message->outcome.free.row_sequence = more;
        message->outcome.free.gpu = where & 3;
        message->outcome.free.cpu = more & 7;
    } else if (message_has_placement(message->kind) || message->kind == MESSAGE_OFFER) {
        message->work.input = more & 3;
        message->work.items = more >> 4 & 3;
        message->work.settled = (more >> 6 & 1) != 0;
    } else if (message->kind == MESSAGE_FAILED || message->kind == MESSAGE_UNFIT) {
        message->reason = reason;
    } else if (message->kind == MESSAGE_ACKNOWLEDGE) {
        message->row_sequence = more;
    } else if (message->kind == MESSAGE_ASK) {
        message->asked = claim;
    } else if (message->kind == MESSAGE_STEAL) {
        message->victim = more & 3;
    }
}

/* A message field by field: mostly about what exists, with room for what does not. */
static void act_message(struct lone_script *script, struct lone *lone)
{
    const enum message_kind kind = (enum message_kind)(take(script) % MESSAGE_KINDS);
    const struct job_id job = take_job(script, lone);
    const uint32_t what = take(script);
    const uint32_t where = take(script);
    const uint32_t more = take(script);
    struct message message = lone_message(
        lone, kind, job, (enum lone_workflow)(what % LONE_WORKFLOWS), /* task */ where & 7);
    message.task = message.task < 5 ? message.task : TASK_NONE - (message.task & 1);
    message.from = (where >> 3 & 3) == 3 ? job.node : where >> 3 & 3;
    message.worker = (where >> 5) == 7 ? lone->worker : where >> 5;
    message.attempt = more >> 2 & 3;
    message.sequence = more >> 7;
    fill_body(&message, where, more);
    lone_deliver(lone, &message);
}

static void act_wire(struct lone_script *script, struct lone *lone)
{
    uint16_t placement[WORKFLOW_TASKS_MAX];
    struct message message;
    size_t count = take(script);
    count = count < script->left ? count : script->left;
    const enum weft_status status = message_decode(script->bytes, count, placement, &message);
    script->bytes += count;
    script->left -= count;
    if (status == WEFT_OK) {
        lone_deliver(lone, &message);
    }
}

static void act_row(struct lone_script *script, struct lone *lone)
{
    struct row row;
    struct event event = {.kind = EVENT_ROW};
    size_t count = take(script) % (ROW_BYTES_MAX + 1);
    count = count < script->left ? count : script->left;
    const enum weft_status status = row_decode(script->bytes, count, &row);
    script->bytes += count;
    script->left -= count;
    if (status == WEFT_OK) {
        event.row = &row;
        lone_step(lone, &event);
    }
}

/* Something that was asked for happens, well or not; a timer only well. */
static void act_fulfil(struct lone_script *script, struct lone *lone)
{
    const uint32_t choice = take(script);
    if (lone->asked_count == 0) {
        return;
    }
    const uint32_t index = (choice & 127) % lone->asked_count;
    if (lone->asked[index].kind == EFFECT_WAKE_AT) {
        (void)lone_timer(lone, lone->asked[index].wake.timer.kind);
        return;
    }
    lone_fulfil(lone, index, choice > 127 ? WEFT_FAILED : WEFT_OK);
}

static void act_members(struct lone_script *script, struct lone *lone)
{
    const uint32_t choice = take(script);
    script->epoch += choice >> 6; /* Or not: a stale list. */
    lone_members(lone, script->epoch, (choice & 7) | 1u << lone->id, choice >> 3 & 7);
}

static void act_peer(struct lone_script *script, struct lone *lone)
{
    const uint32_t choice = take(script);
    const uint32_t node = (choice >> 2) % LONE_NODES;
    struct event event = {.kind = EVENT_SEND_READY};
    event.peer.node = node;
    if ((choice & 3) < 3) {
        lone_hint(lone, node, (enum peer_hint)(choice & 3));
    } else {
        lone_step(lone, &event);
    }
}

static void act_rarely(struct lone_script *script, struct lone *lone)
{
    const uint32_t choice = take(script);
    struct event event = {.kind = EVENT_SOLVED};
    if (choice < 100) {
        lone_repository(lone, (enum lone_model)(choice % LONE_MODELS), (choice & 64) != 0);
        return;
    }
    if (choice == 255) {
        event.kind = EVENT_DRAIN;
    } else if (choice >= 200) { /* Something of some job is in flight, and a node asked. */
        event.kind = EVENT_UNDER_WAY;
        event.under_way.job.node = choice % LONE_NODES;
        event.under_way.job.number = choice - 199;
        event.under_way.asker = choice / LONE_NODES % LONE_NODES;
    }
    lone_step(lone, &event);
}

bool lone_script_act(struct lone_script *script, struct lone *lone)
{
    static void (*const actions[])(struct lone_script *, struct lone *) = {
        act_request, act_fulfil, act_message, act_plan,   act_cancel, act_wire,
        act_row,     act_fulfil, act_members, act_fulfil, act_peer,   act_rarely,
    };
    enum { ACTIONS = sizeof(actions) / sizeof(actions[0]) };
    if (script->left == 0) {
        return false;
    }
    const uint32_t choice = take(script);
    lone->now_ns += MS(choice / ACTIONS);
    lone->effects.count = 0; /* An action may take no step. */
    lone->effects.row_count = 0;
    actions[choice % ACTIONS](script, lone);
    count_step(script, lone);
    return true;
}

static void cancel_jobs(struct lone *lone)
{
    while (lone->node->job_list.first != POOL_NONE) {
        lone_cancel(lone, job_at(lone->node, lone->node->job_list.first)->id);
    }
    while (lone->node->visit_list.first != POOL_NONE) {
        const struct job_id job = visit_at(lone->node, lone->node->visit_list.first)->job;
        const struct message cancel = {
            .kind = MESSAGE_CANCEL,
            .from = job.node,
            .to_incarnation = lone->incarnation,
            .job = job,
        };
        lone_deliver(lone, &cancel);
    }
}

/* The others are gone, and what is heard of no more is given up: home queues run dry. */
static void end_home(struct lone_script *script, struct lone *lone)
{
    script->epoch++;
    lone_members(lone, script->epoch, UINT64_C(1) << lone->id, /* fresh */ 0);
    while (lone_timer(lone, TIMER_REPAIR)) {
    }
    lone_settle(lone);
    const uint32_t turns = 64 + 2 * lone_used(lone); /* A turn may get rid of one alone. */
    for (uint32_t i = 0; i < turns && lone_used(lone) > 0; i++) {
        (void)lone_timer(lone, i % 8 == 7 ? TIMER_AUDIT : TIMER_HOME);
        lone_settle(lone);
    }
}

void lone_script_end(struct lone_script *script, struct lone *lone)
{
    cancel_jobs(lone);
    if (lone->node->seat.binds) {
        end_home(script, lone);
    }
    ASSERT(lone->answers == lone->clients); /* Exactly once each. */
    for (uint32_t i = 0; i < LONE_NODES; i++) {
        struct event event = {.kind = EVENT_SEND_READY};
        event.peer.node = i;
        lone_step(lone, &event);
    }
    lone_settle(lone);
    for (uint32_t i = 0; i < 2 && lone->pools.parked.used > 0; i++) {
        (void)lone_timer(lone, TIMER_AUDIT); /* Some is for a life that is never heard of. */
        lone_settle(lone);
    }
    ASSERT(lone_used(lone) == 0);
    ASSERT(lone->held == 0);
    const struct node_counts counts = node_counts(lone->node);
    ASSERT(counts.queued == 0 && counts.running == 0);
    ASSERT(lone->node->cpu_free == lone->fleet->nodes[lone->id].cpu_units);
    check_workers(lone);
    for (uint32_t i = 0; i < lone->node->worker_count; i++) {
        const struct worker *worker = &lone->node->workers[i];
        ASSERT(worker->queue_ns == 0 && worker->reserved_ns == 0 && worker->missing_ns == 0);
        ASSERT(worker->queued_items == 0 && worker->missing == 0 && worker->failing_models == 0);
        ASSERT(worker->shares.free == worker->spec->gpu_units);
        ASSERT(worker->batches == POOL_NONE && worker->loading == MODEL_NONE);
    }
    script->hash = hash_mix(script->hash, lone_hash(lone));
}
