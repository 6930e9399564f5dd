/* perform.c - effects become calls of the net, the engine and clients. Nothing decides here. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "runtime/inside.h"

struct search {
    struct runtime *runtime;
    uint32_t node;
    uint64_t problem;
    struct profile *profile; /* As it was when it was asked: the host may change its own. */
    void *result;
    unsigned char question[];
};

void runtime_finish(struct runtime *runtime, uint32_t slot, struct runtime_answer *answer)
{
    /* A copy: the client may make another request, which moves the clients. */
    const struct client client = *(struct client *)pool_at(&runtime->clients, slot);
    ASSERT(runtime->answered < runtime->requested);
    answer->latency_ns = runtime->clock.now_ns - client.arrived_ns;
    pool_give(&runtime->clients, slot);
    runtime->answered++;
    for (uint32_t i = 0; i < answer->output_count; i++) {
        if (client.request.answered == NULL) {
            tensors_release(&runtime->tensors, answer->outputs[i]);
        } else {
            tensors_pass(&runtime->tensors, answer->outputs[i], NODE_HOST);
        }
    }
    if (client.request.answered != NULL) {
        client.request.answered(client.request.context, answer);
    }
}

static void accept(struct runtime *runtime, const struct effect *effect)
{
    ASSERT(pool_has(&runtime->clients, effect->accept.client));
    struct client *client = pool_at(&runtime->clients, pool_slot(effect->accept.client));
    client->job = effect->accept.job;
    client->deputy = effect->accept.deputy;
}

/* How a request ended. */
struct end {
    enum weft_status status;
    enum reason reason;
};

/*
 * What an engine said of @job, which answers the request with @key, here or at another node. A
 * refusal is of now, whatever was said before.
 */
static const char *find_cause(
    const struct runtime *runtime, struct job_id job, struct request_key key, uint32_t workflow,
    struct end end)
{
    const char *text = causes_find(&runtime->causes, job, workflow, end.reason);
    const bool is_final = end.status != WEFT_REFUSED && end.status != WEFT_CANCELLED;
    return text[0] != '\0' || !is_final ? text : causes_find_request(&runtime->causes, key);
}

static void answer(struct runtime *runtime, const struct effect_answer *effect)
{
    const uint32_t slot = pool_slot(effect->client);
    ASSERT(pool_has(&runtime->clients, effect->client));
    struct handle shared[WORKFLOW_TASKS_MAX]; /* A sink is a task. */
    for (uint32_t i = 0; i < effect->output_count && effect->is_kept; i++) {
        shared[i] = tensors_share(&runtime->tensors, effect->outputs[i], NODE_HOST);
    }
    const struct client *client = pool_at(&runtime->clients, slot);
    struct runtime_answer given = {
        .client = effect->client,
        .job = effect->job,
        .status = effect->status,
        .reason = effect->reason,
        .retry_after_ns = effect->retry_after_ns,
        .output_count = effect->output_count,
        .outputs = effect->is_kept ? shared : effect->outputs,
        .deputy = client->deputy,
    };
    if (effect->status != WEFT_OK) {
        const struct runtime_request *request = &client->request;
        given.message = find_cause(
            runtime, effect->job, request->key, request->workflow,
            (struct end){effect->status, effect->reason});
    }
    runtime_finish(runtime, slot, &given);
}

/* The tensor of @effect, whose message is @message, for the net, which owns it. */
static struct handle take_tensor(
    struct runtime *runtime, const struct effect *effect, struct message *message)
{
    if (effect->kind != EFFECT_MOVE || effect->send.tensor.id == 0) {
        return (struct handle){0};
    }
    if (runtime->options.remote == NULL) { /* Contents are lent: the consumer takes its part. */
        return tensors_share(&runtime->tensors, effect->send.tensor, NODE_HOST);
    }
    return runtime_take_part(runtime, effect->send.tensor, message);
}

/* What an engine said of the end that @message tells of. */
static const char *find_told(const struct runtime *runtime, const struct message *message)
{
    const struct causes *causes = &runtime->causes;
    if (!message_is_end(message->kind)) {
        return causes_find(causes, message->job, message->workflow, (enum reason)message->reason);
    }
    const struct message_deputy *deputy = &message->deputy;
    const struct end end = {(enum weft_status)(-(int)deputy->status), (enum reason)deputy->reason};
    return end.status == WEFT_OK
               ? ""
               : find_cause(runtime, message->job, deputy->key, message->workflow, end);
}

static void send(struct runtime *runtime, const struct effect *effect)
{
    char cause[MESSAGE_CAUSE_BYTES_MAX + 1];
    struct message message = effect->send.message;
    const struct handle tensor = take_tensor(runtime, effect, &message);
    if (message_has_cause(message.kind)) { /* The core knows reasons, engines know causes. */
        const char *text = find_told(runtime, &message);
        const struct message_cause found = {
            .bytes = (uint16_t)utf8_write_plain(text, cause, sizeof(cause)), .text = cause};
        message_set_cause(&message, &found);
    }
    net_send(runtime->net, effect->send.node, &message, tensor.id);
}

static void wake_at(
    struct runtime *runtime, uint32_t node, int64_t at_ns, const struct timer *timer)
{
    const struct due due = {
        .kind = DUE_TIMER,
        .node = node,
        .timer = *timer,
        .background = timer_is_background(timer->kind),
    };
    runtime_add_due(runtime, at_ns, &due);
}

static void find(struct runtime *runtime, uint32_t node, struct job_id job, uint32_t asker)
{
    const struct due due = {
        .kind = DUE_UNDER_WAY,
        .node = node,
        .job = job,
        .asker = asker,
    };
    if (net_carries(runtime->net, node, job)) {
        runtime_add_due(runtime, runtime->clock.now_ns, &due);
    }
}

static void search_run(void *argument)
{
    struct search *search = argument;
    const struct runtime *runtime = search->runtime;
    struct plan_input known = runtime->known;
    known.profile = search->profile;
    search->result =
        policy_set_solve(&runtime->policies, &known, search->problem, search->question);
}

static void search_done(void *argument)
{
    struct search *search = argument;
    const struct due due = {
        .kind = DUE_SOLVED,
        .node = search->node,
        .token = search->problem,
        .context = search->result,
    };
    runtime_add_due(search->runtime, search->runtime->clock.now_ns, &due);
    profile_destroy(search->profile);
    free(search);
}

/* The question is the node's until its next step, the profile the host's: copies of both. */
static void solve(struct runtime *runtime, uint32_t node, uint64_t problem, const void *question)
{
    const size_t bytes = policy_set_question_bytes(&runtime->policies);
    struct search *search = memory_zeroed(1, sizeof(*search) + bytes);
    search->runtime = runtime;
    search->node = node;
    search->problem = problem;
    search->profile = profile_copy(runtime->known.profile);
    memcpy(search->question, question, bytes);
    loop_work(runtime->loop, search_run, search_done, search);
}

static void perform(struct runtime *runtime, uint32_t node, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_ACCEPT:
        accept(runtime, effect);
        return;
    case EFFECT_REFUSE:
    case EFFECT_ANSWER:
        answer(runtime, &effect->answer);
        return;
    case EFFECT_SEND:
    case EFFECT_MOVE:
        send(runtime, effect);
        return;
    case EFFECT_RELEASE:
        tensors_release(&runtime->tensors, effect->release);
        return;
    case EFFECT_LOAD:
        runtime_load(runtime, effect->load.worker, effect->load.model);
        return;
    case EFFECT_CANCEL_LOAD:
        runtime_cancel_load(runtime, effect->load.worker, effect->load.model);
        return;
    case EFFECT_UNLOAD:
        runtime_unload(runtime, effect->load.worker, effect->load.model);
        return;
    case EFFECT_RESHAPE:
        runtime_reshape(runtime, effect->reshape.worker, effect->reshape.share);
        return;
    case EFFECT_LAUNCH:
        runtime_launch(runtime, node, &effect->launch);
        return;
    case EFFECT_CANCEL_BATCH:
        runtime_cancel_batch(runtime, node, effect->batch);
        return;
    case EFFECT_WAKE_AT:
        wake_at(runtime, node, effect->wake.at_ns, &effect->wake.timer);
        return;
    case EFFECT_SOLVE:
        solve(runtime, node, effect->solve.problem, effect->solve.question);
        return;
    case EFFECT_FIND:
        find(runtime, node, effect->find.job, effect->find.asker);
        return;
    case EFFECT_KINDS:
        break;
    }
    ASSERT(false);
}

static bool is_order(enum effect_kind kind)
{
    return kind == EFFECT_LOAD || kind == EFFECT_CANCEL_LOAD || kind == EFFECT_UNLOAD ||
           kind == EFFECT_RESHAPE || kind == EFFECT_CANCEL_BATCH;
}

/*
 * Launch what comes before all other orders to the engine: it runs while clients are answered.
 * Returns behind which effect the next launch is. On a clock that stands still there is nothing to
 * gain, and everything is done in the order of the simulator.
 */
static uint32_t launch_first(struct runtime *runtime, uint32_t node)
{
    const struct effects *effects = &runtime->effects;
    uint32_t i = 0;
    if (runtime->clock.kind != CLOCK_KIND_REAL) {
        return 0;
    }
    while (i < effects->count && !is_order(effects->items[i].kind)) {
        if (effects->items[i].kind == EFFECT_LAUNCH) {
            perform(runtime, node, &effects->items[i]);
        }
        i++;
    }
    return i;
}

void runtime_perform(struct runtime *runtime, uint32_t node)
{
    if (runtime->options.on_record != NULL) {
        for (uint32_t i = 0; i < runtime->effects.record_count; i++) {
            runtime->options.on_record(runtime->options.context, &runtime->effects.records[i]);
        }
    }
    for (uint32_t i = 0; i < runtime->effects.row_count; i++) {
        net_publish(runtime->net, node, runtime->effects.rows[i]);
    }
    const uint32_t launched = launch_first(runtime, node);
    for (uint32_t i = 0; i < runtime->effects.count; i++) {
        if (i >= launched || runtime->effects.items[i].kind != EFFECT_LAUNCH) {
            perform(runtime, node, &runtime->effects.items[i]);
        }
    }
}
