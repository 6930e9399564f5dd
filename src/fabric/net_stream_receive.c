/* net_stream_receive.c - connections that come: who is it, and what has it to say. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "fabric/net_stream_inside.h"
#include "fabric/net_stream_told.h"
#include "fabric/stream.h"
#include "wire/bytes.h"
#include "wire/row.h"

/* A message as it came, in pieces of its frame. */
struct letter {
    enum tensor_kind kind;
    uint64_t bytes; /* Of the tensor. */
    const uint8_t *head;
    size_t head_bytes;
    const uint8_t *data; /* What follows: of a small tensor. */
    size_t data_bytes;
    struct message message;
    uint16_t placement[WORKFLOW_TASKS_MAX]; /* Of the message. */
};

static void forget_tensor(struct arrival *arrival)
{
    struct net_stream *net = arrival->net;
    if (arrival->is_receiving && arrival->at.tensor != 0) {
        net->host.release(net->host.context, arrival->at.tensor);
    }
    arrival->is_receiving = false;
}

void net_stream_dismiss(struct arrival *arrival, const char *cause)
{
    struct net_stream *net = arrival->net;
    struct arrival **link = &net->arrivals;
    while (*link != arrival) {
        link = &(*link)->next;
    }
    *link = arrival->next;
    forget_tensor(arrival);
    if (arrival->peer == NULL) {
        net->stranger_count--;
        if (!net->is_closing && !arrival->is_refused) {
            net_stream_turn_away(net, arrival->from, cause);
        }
    } else if (arrival->peer->in == arrival) {
        arrival->peer->in = NULL;
        net_stream_look(net);
    }
    framed_close(arrival->connection);
    free(arrival);
}

/* Say why, and let the other side close. */
static void tell_why(struct arrival *arrival, const char *cause)
{
    (void)framed_put(/* If it does not fit, they hear nothing. */
                     arrival->connection, FRAME_REFUSED, (const uint8_t *)cause, strlen(cause));
    arrival->is_refused = true;
    framed_flush(arrival->connection);
}

static bool refuse(struct arrival *arrival, const char *cause)
{
    if (strcmp(cause, NET_STREAM_TOO_EARLY) != 0) {
        net_stream_log(arrival->net, "peer refused", arrival->hello.from, cause);
    }
    tell_why(arrival, cause);
    return true;
}

/* Refuse a hello of @version, which is another: who it is from cannot be read. */
static bool refuse_version(struct arrival *arrival, uint16_t version)
{
    char cause[128];
    (void)snprintf(
        cause, sizeof(cause),
        "it speaks version %d.%d between nodes, this one %d.%d: all need the same Weft",
        version % GREETING_FRAMES, version / GREETING_FRAMES, FRAME_VERSION, WIRE_VERSION);
    net_stream_turn_away(arrival->net, arrival->from, cause);
    tell_why(arrival, cause);
    return true;
}

/* Why @arrival, which has said hello, is not a member that means us; NULL if it is. */
static const char *objection(const struct arrival *arrival)
{
    const struct net_stream *net = arrival->net;
    const struct net_stream_options *options = &net->options;
    const struct hello *hello = &arrival->hello;
    if (hello->to != options->node || hello->to_incarnation != options->incarnation) {
        return "this is another node, or another life of it";
    }
    if (hello->from >= options->fleet->node_count || hello->from == options->node) {
        return "no node of this cluster has that number";
    }
    if (hello->agreement != options->agreement) {
        return "the cluster or the repository is not the same here and there";
    }
    const struct peer *peer = &net->peers[hello->from];
    if (!peer->is_member || peer->incarnation != hello->from_incarnation) {
        return NET_STREAM_TOO_EARLY;
    }
    if (!stream_is_from(framed_stream(arrival->connection), peer->name)) {
        return "the certificate is another node's";
    }
    return NULL;
}

static bool on_hello(struct arrival *arrival, const uint8_t *body, size_t count)
{
    struct net_stream *net = arrival->net;
    uint8_t bytes[WELCOME_BYTES];
    const uint16_t version = hello_version(body, count);
    if (arrival->has_hello || arrival->is_refused || version == 0) {
        return false;
    }
    if (version != GREETING_VERSION) {
        return refuse_version(arrival, version);
    }
    if (!hello_decode(body, count, &arrival->hello)) {
        return false;
    }
    arrival->has_hello = true;
    const char *why = objection(arrival);
    if (why != NULL) {
        return refuse(arrival, why);
    }
    arrival->welcome = (struct welcome){.incarnation = net->options.incarnation};
    if (!trust_nonce(arrival->welcome.nonce)) {
        return false;
    }
    greeting_prove(
        net->options.trust, &arrival->hello, &arrival->welcome, /* is_dialer */ false,
        arrival->welcome.proof);
    welcome_encode(&arrival->welcome, bytes);
    framed_flush(arrival->connection);
    return framed_put(arrival->connection, FRAME_WELCOME, bytes, sizeof(bytes));
}

/* Tell the other side where it reaches this one by UCX; nothing else comes any more. */
static bool offer_lane(struct arrival *arrival)
{
    uint8_t body[UCX_TOKEN_BYTES + UCX_ADDRESS_BYTES_MAX];
    struct ucx *ucx = arrival->net->ucx;
    const size_t address_bytes = ucx_address(ucx, body + UCX_TOKEN_BYTES);
    const uint8_t *token = address_bytes == 0 ? NULL : framed_open_inlet(arrival->connection, ucx);
    if (token == NULL) {
        net_stream_log(arrival->net, "no lane for peer", arrival->peer->node, "UCX has no address");
        return false;
    }
    memcpy(body, token, UCX_TOKEN_BYTES);
    framed_flush(arrival->connection);
    return framed_put(arrival->connection, FRAME_LANE, body, UCX_TOKEN_BYTES + address_bytes);
}

static bool on_proof(struct arrival *arrival, const uint8_t *body, size_t count)
{
    struct net_stream *net = arrival->net;
    if (!arrival->has_hello || arrival->peer != NULL || count != TRUST_PROOF_BYTES ||
        objection(arrival) != NULL) {
        return false;
    }
    if (!greeting_is_proven(
            net->options.trust, &arrival->hello, &arrival->welcome, /* is_dialer */ true, body)) {
        return refuse(arrival, "it does not know the secret");
    }
    if (!framed_widen(arrival->connection)) {
        return false;
    }
    struct peer *peer = &net->peers[arrival->hello.from];
    struct arrival *before = peer->in;
    arrival->peer = peer;
    net->stranger_count--;
    peer->in = arrival;
    if (before != NULL) { /* It has begun again: what was left of the last is of no use. */
        net_stream_dismiss(before, "replaced");
    }
    framed_attend(arrival->connection, net->attends);
    net_stream_look(net);
    return net->ucx == NULL || offer_lane(arrival);
}

static bool on_row(struct arrival *arrival, const uint8_t *body, size_t count)
{
    struct net_stream *net = arrival->net;
    const struct fleet_node *sender = &net->options.fleet->nodes[arrival->peer->node];
    struct row row;
    if (row_decode(body, count, &row) != WEFT_OK ||
        row.worker - sender->worker_first >= sender->worker_count) {
        return false;
    }
    net->host.on_row(net->host.context, net->options.node, &row);
    return true;
}

/* Read a frame with a message. False if it is none of the peer's. */
static bool read_letter(
    const struct arrival *arrival, const uint8_t *body, size_t count, struct letter *letter_out)
{
    struct bytes_reader reader = {.bytes = body, .count = count};
    const size_t message_bytes = (size_t)bytes_take(&reader, 2);
    const uint8_t *message = bytes_skip(&reader, message_bytes);
    const uint64_t kind = bytes_take(&reader, 1);
    letter_out->kind = (enum tensor_kind)kind;
    letter_out->bytes = bytes_take(&reader, 8);
    letter_out->head_bytes = (size_t)bytes_take(&reader, 4);
    letter_out->head = bytes_skip(&reader, letter_out->head_bytes);
    letter_out->data = reader.bytes;
    letter_out->data_bytes = reader.count;
    if (reader.is_short || kind > TENSOR_THERE ||
        message_decode(message, message_bytes, letter_out->placement, &letter_out->message) !=
            WEFT_OK) {
        return false;
    }
    const bool may_have_tensor = message_has_tensor(letter_out->message.kind);
    return letter_out->message.from == arrival->peer->node &&
           (may_have_tensor || letter_out->kind == TENSOR_NONE) &&
           (letter_out->kind == TENSOR_THERE || letter_out->data_bytes == 0);
}

/* Make the tensor of @letter. False if the two sides do not agree about its size. */
static bool make_tensor(
    const struct net_stream *net, const struct letter *letter, uint64_t *tensor_out)
{
    *tensor_out = 0;
    if (letter->kind == TENSOR_NONE) {
        return true;
    }
    const uint64_t tensor = net->host.tensor_make(
        net->host.context, letter->kind == TENSOR_THERE ? letter->head : NULL, letter->head_bytes,
        letter->bytes);
    if (tensor != 0 && letter->kind == TENSOR_THERE &&
        net_stream_tensor_bytes(net, tensor) != letter->bytes) {
        net->host.release(net->host.context, tensor);
        return false;
    }
    *tensor_out = tensor;
    return true;
}

/* Fill @tensor with what came in the same frame. */
static void fill(const struct net_stream *net, uint64_t tensor, const uint8_t *data)
{
    struct net_part part;
    for (uint32_t i = 0; net->host.tensor_part(net->host.context, tensor, i, &part); i++) {
        if (part.bytes > 0) {
            memcpy(part.data, data, (size_t)part.bytes);
        }
        data += part.bytes;
    }
}

/* Hand over @message, with @tensor. False if that is not what it should be. */
static bool deliver(const struct net_stream *net, const struct message *message, uint64_t tensor)
{
    if (tensor != 0 && !net->host.tensor_check(net->host.context, tensor)) {
        net->host.release(net->host.context, tensor);
        return false;
    }
    net->host.on_message(net->host.context, net->options.node, message, tensor);
    return true;
}

static bool on_message(struct arrival *arrival, const uint8_t *body, size_t count)
{
    struct letter letter;
    uint64_t tensor = 0;
    if (!read_letter(arrival, body, count, &letter) ||
        (letter.kind == TENSOR_THERE && letter.data_bytes != letter.bytes) ||
        !make_tensor(arrival->net, &letter, &tensor)) {
        return false;
    }
    if (letter.kind != TENSOR_NONE && tensor == 0) {
        net_stream_log(arrival->net, "tensor dropped", arrival->peer->node, "no memory for it");
        return true; /* The owner asks after it. */
    }
    if (letter.kind == TENSOR_THERE) {
        fill(arrival->net, tensor, letter.data);
    }
    return deliver(arrival->net, &letter.message, tensor);
}

static bool on_tensor(struct arrival *arrival, const uint8_t *body, size_t count)
{
    struct letter letter;
    uint64_t tensor = 0;
    if (arrival->is_receiving || !read_letter(arrival, body, count, &letter) ||
        letter.kind != TENSOR_THERE || letter.data_bytes != 0 || letter.bytes == 0 ||
        !make_tensor(arrival->net, &letter, &tensor)) {
        return false;
    }
    if (tensor == 0) {
        net_stream_log(arrival->net, "tensor dropped", arrival->peer->node, "no memory for it");
    }
    memcpy(arrival->placement, letter.placement, sizeof(arrival->placement));
    arrival->message = letter.message;
    arrival->message.work.placement = arrival->placement;
    arrival->is_receiving = true;
    arrival->at = (struct passage){.tensor = tensor, .left = letter.bytes};
    arrival->begun_ns = net_stream_now_ns();
    return true;
}

static bool on_ping(struct arrival *arrival, const uint8_t *body, size_t count)
{
    if (count == 0) {
        return true; /* That it came says all. */
    }
    if (count != 8) {
        return false;
    }
    framed_flush(arrival->connection);
    (void)framed_put(arrival->connection, FRAME_PONG, body, count); /* Or there is no pong. */
    return true;
}

static bool on_frame(void *context, uint8_t kind, const uint8_t *body, size_t count)
{
    struct arrival *arrival = context;
    if (kind == FRAME_HELLO) {
        return on_hello(arrival, body, count);
    }
    if (kind == FRAME_PROOF) {
        return on_proof(arrival, body, count);
    }
    if (arrival->peer == NULL) {
        return false;
    }
    arrival->peer->heard_ns = net_stream_now_ns();
    switch (kind) {
    case FRAME_ROW:
        return on_row(arrival, body, count);
    case FRAME_MESSAGE:
        return on_message(arrival, body, count);
    case FRAME_TENSOR:
        return on_tensor(arrival, body, count);
    case FRAME_PING:
        return on_ping(arrival, body, count);
    default:
        return false;
    }
}

static void *data_room(void *context, size_t *room_out)
{
    struct arrival *arrival = context;
    struct net_stream *net = arrival->net;
    struct passage *at = &arrival->at;
    struct net_part part;
    if (!arrival->is_receiving) {
        return NULL;
    }
    if (at->tensor == 0) { /* There was no memory for it: it is read and forgotten. */
        *room_out = (size_t)min_u64(at->left, sizeof(net->frame));
        return net->frame;
    }
    while (net->host.tensor_part(net->host.context, at->tensor, at->part, &part)) {
        if (part.bytes > at->offset) {
            *room_out = (size_t)(part.bytes - at->offset);
            return (uint8_t *)part.data + at->offset;
        }
        at->part++;
        at->offset = 0;
    }
    return NULL;
}

static bool on_data(void *context, size_t count)
{
    struct arrival *arrival = context;
    arrival->peer->heard_ns = net_stream_now_ns();
    arrival->at.offset += count;
    arrival->at.left -= count;
    if (arrival->at.left > 0) {
        return true;
    }
    const uint64_t tensor = arrival->at.tensor;
    arrival->is_receiving = false;
    if (tensor == 0) {
        return true;
    }
    message_add_age(&arrival->message, net_stream_now_ns() - arrival->begun_ns);
    return deliver(arrival->net, &arrival->message, tensor);
}

static void on_drained(void *context)
{
    (void)context; /* Nothing waits here: answers are put as questions come. */
}

static void on_over(void *context, const char *cause)
{
    net_stream_dismiss(context, cause);
}

void net_stream_arrived(struct net_stream *net, int socket, bool is_shared)
{
    if (net->stranger_count >= STRANGERS_MAX) {
        (void)close(socket);
        return;
    }
    struct arrival *arrival = memory_reserved_zeroed(1, sizeof(*arrival));
    const struct framed_owner owner = {
        .context = arrival,
        .on_frame = on_frame,
        .data_room = data_room,
        .on_data = on_data,
        .on_drained = on_drained,
        .on_over = on_over,
    };
    const struct trust *trust = net->options.trust;
    struct stream *stream = NULL;
    if (arrival != NULL && is_shared) {
        stream = stream_create_shared(trust, socket, /* is_dialer */ false);
    } else if (arrival != NULL) {
        net_stream_tune(socket);
        stream = stream_create(trust, socket, /* is_dialer */ false);
    }
    if (stream == NULL) {
        (void)close(socket);
        free(arrival);
        return;
    }
    arrival->connection = framed_create(net->options.loop, stream, socket, &owner);
    if (arrival->connection == NULL) {
        free(arrival);
        return;
    }
    net_stream_origin(socket, arrival->from);
    arrival->net = net;
    arrival->since_ns = net_stream_now_ns();
    arrival->next = net->arrivals;
    net->arrivals = arrival;
    net->stranger_count++;
}
