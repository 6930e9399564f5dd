#include "runtime/remote.h"

#include "engine/edge_part.h"
#include "runtime/bundle_wire.h"
#include "runtime/inside.h"

static const struct bundle *bundle_of(const struct runtime *runtime, uint64_t tensor)
{
    uint64_t bytes;
    return tensors_contents(&runtime->tensors, (struct handle){tensor}, &bytes);
}

static size_t tensor_head(void *context, uint64_t tensor, uint8_t *head)
{
    const struct bundle *bundle = bundle_of(context, tensor);
    return bundle == NULL ? 0 : bundle_head_encode(bundle, head);
}

static bool tensor_part(void *context, uint64_t tensor, uint32_t index, struct net_part *part_out)
{
    const struct bundle *bundle = bundle_of(context, tensor);
    if (bundle == NULL || index >= bundle->count) {
        return false;
    }
    *part_out = (struct net_part){
        .data = bundle->tensors[index].data, .bytes = bundle->tensors[index].bytes};
    return true;
}

/* The task whose outputs are number @sink of the answer. */
static uint32_t task_of_sink(const struct workflow *workflow, uint32_t sink)
{
    uint32_t task = 0;
    while (task < workflow->task_count && workflow->tasks[task].sink != sink) {
        task++;
    }
    ASSERT(task < workflow->task_count);
    return task;
}

/* The edge that @input crosses. */
static struct edge_part edge_of(const struct runtime *runtime, const struct message *input)
{
    const struct workflow *workflow = runtime->options.catalogue->workflows[input->workflow];
    struct edge_part edge = {
        .workflow = workflow, .from = TASK_NONE, .to = input->task, .pass = runtime->pass};
    if (input->task == TASK_ANSWER) {
        edge.from = task_of_sink(workflow, input->work.input);
        edge.to = TASK_NONE;
    } else if (workflow->tasks[input->task].in_count > 0) {
        edge.from = workflow_in(workflow, input->task, input->work.input)->from;
    }
    return edge;
}

struct handle runtime_take_part(
    struct runtime *runtime, struct handle tensor, struct message *message)
{
    const struct bundle *bundle = bundle_of(runtime, tensor.id);
    if (bundle == NULL || message->kind != MESSAGE_INPUT) { /* Deputies and clients need it all. */
        return tensors_share(&runtime->tensors, tensor, NODE_HOST);
    }
    const struct edge_part edge = edge_of(runtime, message);
    struct bundle *part = edge_part_take(&edge, bundle);
    message->work.bytes = part->bytes; /* Documents only say how much to expect. */
    if (part == bundle) {
        bundle_destroy(part);
        return tensors_share(&runtime->tensors, tensor, NODE_HOST);
    }
    return tensors_add(&runtime->tensors, NODE_HOST, part, part->bytes, bundle_destroy);
}

static uint64_t tensor_make(void *context, const uint8_t *head, size_t head_bytes, uint64_t bytes)
{
    struct runtime *runtime = context;
    struct bundle *bundle = NULL;
    if (head != NULL && bundle_head_decode(
                            head, head_bytes, runtime->options.remote->tensor_bytes_max, &bundle,
                            NULL) != WEFT_OK) {
        return 0;
    }
    return tensors_add(
               &runtime->tensors, NODE_HOST, bundle, bundle == NULL ? bytes : bundle->bytes,
               bundle_destroy)
        .id;
}

static bool tensor_check(void *context, uint64_t tensor)
{
    const struct bundle *bundle = bundle_of(context, tensor);
    return bundle == NULL || bundle_check_texts(bundle, NULL) == WEFT_OK;
}

static void on_peer(void *context, uint32_t peer, enum net_peer_state state)
{
    static const enum peer_hint hints[] = {
        [NET_PEER_BROKEN] = PEER_BROKEN,
        [NET_PEER_RESTORED] = PEER_RESTORED,
        [NET_PEER_BLOCKED] = PEER_BLOCKED,
        [NET_PEER_UNMET] = PEER_UNMET,
    };
    struct runtime *runtime = context;
    struct event event = {.kind = EVENT_PEER_HINT};
    event.peer.node = peer;
    if (state == NET_PEER_READY) {
        event.kind = EVENT_SEND_READY;
    } else {
        event.peer.hint = hints[state];
    }
    runtime_refresh(runtime);
    runtime_step(runtime, runtime->options.remote->node, &event);
}

bool runtime_heard(struct runtime *runtime, const struct message *message)
{
    const struct runtime_hearing *hearing = &runtime->hearing;
    if (message->kind == MESSAGE_LEARNT) {
        if (hearing->on_learnt != NULL) {
            hearing->on_learnt(hearing->context, message->from, &message->learnt);
        }
        return true;
    }
    const struct message_cause *cause = message_cause(message);
    if (cause != NULL && cause->bytes > 0) {
        causes_note_told(&runtime->causes, message, cause);
    }
    return false;
}

void runtime_hear(struct runtime *runtime, const struct runtime_hearing *hearing)
{
    runtime->hearing = hearing == NULL ? (struct runtime_hearing){0} : *hearing;
}

void runtime_tell_learnt(struct runtime *runtime, const struct learnt *learnt)
{
    const struct runtime_remote *remote = runtime->options.remote;
    if (remote == NULL) {
        return; /* All nodes have one profile. */
    }
    const struct message message = {
        .kind = MESSAGE_LEARNT,
        .from = remote->node,
        .from_incarnation = remote->incarnation,
        .learnt = *learnt,
    };
    for (uint32_t node = 0; node < runtime->options.fleet->node_count; node++) {
        if (node != remote->node) {
            net_send(runtime->net, node, &message, /* tensor */ 0);
        }
    }
}

enum weft_status runtime_make_remote_net(struct runtime *runtime, struct weft_error *error)
{
    const struct runtime_remote *remote = runtime->options.remote;
    struct net_stream_options options = {
        .node = remote->node,
        .incarnation = remote->incarnation,
        .fleet = runtime->options.fleet,
        .trust = remote->trust,
        .log = remote->log,
        .listen = remote->listen,
        .carrier = remote->carrier,
        .agreement = remote->agreement,
        .loop = loop_uv(runtime->loop),
        .host = runtime_net_host(runtime),
    };
    options.host.on_peer = on_peer;
    options.host.tensor_head = tensor_head;
    options.host.tensor_part = tensor_part;
    options.host.tensor_make = tensor_make;
    options.host.tensor_check = tensor_check;
    return net_stream_create(&options, &runtime->net, error);
}

void runtime_set_member(struct runtime *runtime, const struct net_stream_peer *member)
{
    ASSERT(runtime->options.remote != NULL && !runtime->stepping);
    ASSERT(member->incarnation <= UINT32_MAX);
    runtime_refresh(runtime);
    net_stream_set_peer(runtime->net, member); /* First: nodes may have waited to send to it. */
    roster_join(runtime->roster, member->node, (uint32_t)member->incarnation);
    if (runtime->hearing.on_joined != NULL) {
        runtime->hearing.on_joined(runtime->hearing.context);
    }
}

void runtime_remove_member(struct runtime *runtime, uint32_t node)
{
    ASSERT(runtime->options.remote != NULL && !runtime->stepping);
    runtime_refresh(runtime);
    net_stream_remove_peer(runtime->net, node);
    roster_announce(runtime->roster, node, /* up */ false);
}

uint16_t runtime_port(const struct runtime *runtime)
{
    ASSERT(runtime->options.remote != NULL);
    return net_stream_port(runtime->net);
}
