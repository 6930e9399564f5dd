/* due.c - what is due becomes an event of a node; what the net and the engine say, too. */
#include <stdlib.h>

#include "model/catalogue.h"
#include "runtime/inside.h"

void runtime_add_due(struct runtime *runtime, int64_t at_ns, const struct due *due)
{
    const int64_t now_ns = runtime->clock.now_ns;
    timeline_add(&runtime->timeline, at_ns > now_ns ? at_ns : now_ns, due);
}

/* Rows are state and wait for nothing: they are seen before the next event of any node. */
static void flush_rows(struct runtime *runtime)
{
    if (runtime->rows_flow) {
        return; /* A row is being received: the call further up goes on. */
    }
    runtime->rows_flow = true;
    while (runtime->rows_ready) {
        runtime->rows_ready = false;
        net_flush_rows(runtime->net);
    }
    runtime->rows_flow = false;
}

void runtime_step(struct runtime *runtime, uint32_t node, struct event *event)
{
    ASSERT(node < runtime->options.fleet->node_count);
    ASSERT(!runtime->stepping);
    struct node *stepped = runtime->nodes[node].node;
    if (stepped == NULL) {
        return;
    }
    runtime->stepping = true;
    runtime->steps++;
    event->at_ns = runtime->clock.now_ns;
    node_prepare(stepped);
    node_step(stepped, event, &runtime->effects);
    runtime_perform(runtime, node);
    runtime->stepping = false;
    flush_rows(runtime);
}

static void net_on_row(void *context, uint32_t to, const struct row *row)
{
    struct event event = {.kind = EVENT_ROW};
    event.row = row;
    runtime_refresh(context);
    runtime_step(context, to, &event);
}

static void net_release(void *context, uint64_t tensor)
{
    struct runtime *runtime = context;
    tensors_release(&runtime->tensors, (struct handle){tensor});
}

static void net_on_message(
    void *context, uint32_t to, const struct message *message, uint64_t tensor)
{
    struct runtime *runtime = context;
    struct event event = {.kind = EVENT_MESSAGE};
    runtime_refresh(runtime);
    if (runtime->nodes[to].node == NULL) {
        if (tensor != 0) {
            net_release(runtime, tensor);
        }
        return;
    }
    if (runtime->options.remote != NULL && runtime_heard(runtime, message)) {
        return;
    }
    event.message.message = message;
    if (message_has_tensor(message->kind)) {
        event.kind = EVENT_TENSOR_ARRIVED;
        event.message.tensor.id = tensor;
        if (tensor != 0) {
            tensors_pass(&runtime->tensors, event.message.tensor, to);
        }
    }
    runtime_step(runtime, to, &event);
}

/* Rows of nodes that have not started are for all. */
static bool net_shows_to(void *context, uint32_t from, uint32_t to)
{
    const struct node *node = ((const struct runtime *)context)->nodes[from].node;
    return node == NULL || node_shows(node, to);
}

static int64_t host_now_ns(void *context)
{
    return ((struct runtime *)context)->clock.now_ns;
}

static void net_wake_at(void *context, int64_t at_ns, uint64_t token)
{
    const struct due due = {.kind = DUE_NET, .token = token};
    runtime_add_due(context, at_ns, &due);
}

static void net_wake_first_at(void *context, int64_t at_ns, uint64_t token)
{
    struct runtime *runtime = context;
    const struct due due = {.kind = DUE_NET, .token = token};
    ASSERT(at_ns >= runtime->clock.now_ns);
    timeline_add_early(&runtime->timeline, at_ns, &due);
}

static void net_rows_ready(void *context)
{
    ((struct runtime *)context)->rows_ready = true;
}

struct net_host runtime_net_host(struct runtime *runtime)
{
    return (struct net_host){
        .context = runtime,
        .on_row = net_on_row,
        .shows = net_shows_to,
        .on_message = net_on_message,
        .release = net_release,
        .now_ns = host_now_ns,
        .wake_at = net_wake_at,
        .wake_first_at = net_wake_first_at,
        .rows_ready = net_rows_ready,
    };
}

/* Whether all requests are for one node: those that came together then start together. */
static bool is_alone(const struct runtime *runtime)
{
    const bool is_one = runtime->options.fleet->node_count == 1 || runtime->options.remote != NULL;
    return is_one && runtime->clock.kind == CLOCK_KIND_REAL;
}

/* Give the request of client @slot to its node. */
static void submit(struct runtime *runtime, uint32_t slot)
{
    struct client *client = pool_at(&runtime->clients, slot);
    const struct runtime_request *request = &client->request;
    client->arrived_ns = runtime->clock.now_ns;
    client->node = ingress_owner(&runtime->ingress, client->node);
    if (client->node == NODE_NONE) {
        struct runtime_answer none = {
            .client = pool_name(&runtime->clients, slot),
            .status = WEFT_REFUSED,
            .reason = REASON_NO_WORKER};
        if (request->inputs.id != 0) {
            tensors_release(&runtime->tensors, request->inputs);
        }
        runtime_finish(runtime, slot, &none);
        return;
    }
    const uint32_t node = client->node;
    struct event event = {
        .kind = EVENT_REQUEST,
        .is_followed = is_alone(runtime) && timeline_has_first(&runtime->timeline),
    };
    event.request = (struct event_request){
        .client = pool_name(&runtime->clients, slot),
        .workflow = request->workflow,
        .items = request->items,
        .priority = request->priority,
        .slo_ns = request->slo_ns,
        .inputs = request->inputs,
        .bytes = runtime->options.catalogue->workflows[request->workflow]->input_bytes,
        .key = request->key,
        .inputs_hash = request->inputs_hash,
        .is_retry = request->is_retry,
        .edition = runtime->editions.serves,
    };
    if (request->inputs.id != 0) {
        (void)tensors_contents(&runtime->tensors, request->inputs, &event.request.bytes);
        tensors_pass(&runtime->tensors, request->inputs, node);
    }
    runtime_step(runtime, node, &event);
}

static void cancel(struct runtime *runtime, uint64_t number)
{
    if (!pool_has(&runtime->clients, number)) {
        return; /* It crossed the answer. */
    }
    const struct client *client = pool_at(&runtime->clients, pool_slot(number));
    struct event event = {.kind = EVENT_CANCEL};
    event.cancel = client->job;
    runtime_step(runtime, client->node, &event);
}

static void hint(struct runtime *runtime, uint32_t lost)
{
    for (uint32_t node = 0; node < runtime->options.fleet->node_count; node++) {
        struct event event = {.kind = EVENT_PEER_HINT};
        event.peer.node = lost;
        event.peer.hint = PEER_BROKEN;
        runtime_step(runtime, node, &event);
    }
}

static void solved(struct runtime *runtime, const struct due *due)
{
    struct event event = {.kind = EVENT_SOLVED};
    event.solved.problem = due->token;
    event.solved.result = due->context;
    runtime_step(runtime, due->node, &event);
    if (due->context != NULL) {
        struct hosted *hosted = &runtime->nodes[due->node];
        free(hosted->solved);
        hosted->solved = due->context;
    }
}

static void under_way(struct runtime *runtime, const struct due *due)
{
    struct event event = {.kind = EVENT_UNDER_WAY};
    event.under_way.job = due->job;
    event.under_way.asker = due->asker;
    runtime_step(runtime, due->node, &event);
}

static void timer(struct runtime *runtime, const struct due *due)
{
    struct event event = {.kind = EVENT_TIMER};
    event.timer = due->timer;
    runtime_step(runtime, due->node, &event);
}

static void drain(struct runtime *runtime, uint32_t node)
{
    struct event event = {.kind = EVENT_DRAIN};
    runtime_step(runtime, node, &event);
}

/* A model that has come is wanted in memory: it has just been asked for. */
static void set_available(struct runtime *runtime, uint32_t node, uint64_t token)
{
    struct event event = {.kind = EVENT_REPOSITORY_CHANGED};
    event.repository.model = (uint32_t)(token >> 1);
    event.repository.available = (token & 1) != 0;
    event.repository.warm = event.repository.available;
    runtime_step(runtime, node, &event);
}

void runtime_take_due(struct runtime *runtime, const struct due *due)
{
    switch (due->kind) {
    case DUE_NET:
        net_wake(runtime->net, due->token);
        return;
    case DUE_ENGINE:
        engine_wake(runtime->engine, due->token);
        return;
    case DUE_TIMER:
        timer(runtime, due);
        return;
    case DUE_CALL:
        due->call(due->context);
        return;
    case DUE_REQUEST:
        submit(runtime, pool_slot(due->token));
        return;
    case DUE_CANCEL:
        cancel(runtime, due->token);
        return;
    case DUE_DRAIN:
        drain(runtime, due->node);
        return;
    case DUE_MODEL:
        set_available(runtime, due->node, due->token);
        return;
    case DUE_EDITIONS:
        runtime_tell_editions(runtime, due->node);
        return;
    case DUE_HINT:
        hint(runtime, due->node);
        return;
    case DUE_VERDICT:
        roster_announce(runtime->roster, due->node, /* up */ false);
        return;
    case DUE_SOLVED:
        solved(runtime, due);
        return;
    case DUE_UNDER_WAY:
        under_way(runtime, due);
        return;
    case DUE_PASSED:
        runtime_passed(runtime, due->node, due->token);
        return;
    case DUE_NOT_TAKEN:
        runtime_not_taken(runtime, due->node, due->token);
        return;
    }
    ASSERT(false);
}
