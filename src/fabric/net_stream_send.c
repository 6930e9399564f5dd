/* net_stream_send.c - one connection to every peer: greeting, rows, messages, tensors in pieces. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/units.h"
#include "fabric/local_socket.h"
#include "fabric/net_stream_inside.h"
#include "fabric/net_stream_told.h"
#include "fabric/stream.h"
#include "wire/bytes.h"
#include "wire/row.h"

#define PAUSE_FIRST_NS (20 * NS_PER_MS)
#define PAUSE_MAX_NS   NS_PER_S
#define TRIP_NS        NS_PER_S

enum {
    EARLY_MAX = 5, /* Refusals before it is said: for more than a second. */
};

static void release(struct net_stream *net, uint64_t tensor)
{
    if (tensor != 0) {
        net->host.release(net->host.context, tensor);
    }
}

static void append(struct waiting_list *list, struct waiting *waiting)
{
    if (list->last == NULL) {
        list->first = waiting;
    } else {
        list->last->next = waiting;
    }
    list->last = waiting;
}

static struct waiting *take_first(struct waiting_list *list)
{
    struct waiting *first = list->first;
    if (first != NULL) {
        list->first = first->next;
        list->last = list->first == NULL ? NULL : list->last;
    }
    return first;
}

/* @waiting, which is in no list, has left or never will. */
static void forget(struct peer *peer, struct waiting *waiting)
{
    peer->waiting_bytes -= waiting->bytes;
    peer->waiting_count--;
    release(peer->net, waiting->tensor);
    free(waiting);
}

void net_stream_drop(struct peer *peer)
{
    struct waiting *waiting;
    while ((waiting = take_first(&peer->messages)) != NULL) {
        forget(peer, waiting);
    }
    while ((waiting = take_first(&peer->tensors)) != NULL) {
        forget(peer, waiting);
    }
    ASSERT(peer->sending == NULL && peer->waiting_count == 0);
}

uint64_t net_stream_tensor_bytes(const struct net_stream *net, uint64_t tensor)
{
    struct net_part part;
    uint64_t bytes = 0;
    for (uint32_t i = 0; tensor != 0 && net->host.tensor_part(net->host.context, tensor, i, &part);
         i++) {
        bytes += part.bytes;
    }
    return bytes;
}

static bool is_too_much(const struct peer *peer)
{
    return peer->waiting_bytes > (uint64_t)WAITING_FACTOR_MAX * WAITING_BYTES_HIGH ||
           peer->waiting_count > WAITING_FACTOR_MAX * WAITING_COUNT_HIGH;
}

void net_stream_send(struct net *base, uint32_t to, const struct message *message, uint64_t tensor)
{
    struct net_stream *net = net_stream_from(base);
    ASSERT(to < net->options.fleet->node_count && to != net->options.node);
    struct peer *peer = &net->peers[to];
    if (!peer->is_member || is_too_much(peer)) {
        release(net, tensor);
        return;
    }
    struct waiting *waiting = memory_zeroed(1, sizeof(*waiting) + message_borrowed_bytes(message));
    *waiting = (struct waiting){
        .since_ns = net_stream_now_ns(),
        .tensor = tensor,
        .bytes = net_stream_tensor_bytes(net, tensor),
        .message = *message,
    };
    message_keep(&waiting->message, waiting->borrowed);
    append(waiting->bytes > INLINE_BYTES_MAX ? &peer->tensors : &peer->messages, waiting);
    peer->waiting_bytes += waiting->bytes;
    peer->waiting_count++;
    if (!peer->is_blocked && net_stream_is_much(peer)) {
        net_stream_look(net);
    }
    if (message->can_wait) {
        net_stream_hurry(net);
    } else {
        net_stream_show(peer);
    }
}

static bool list_carries(const struct waiting *waiting, struct job_id job)
{
    while (waiting != NULL && (waiting->tensor == 0 || !job_equal(waiting->message.job, job))) {
        waiting = waiting->next;
    }
    return waiting != NULL;
}

bool net_stream_carries(const struct net *base, uint32_t from, struct job_id job)
{
    const struct net_stream *net = (const struct net_stream *)base; /* As in net_stream_from(). */
    ASSERT(from == net->options.node);
    for (uint32_t node = 0; node < net->options.fleet->node_count; node++) {
        const struct peer *peer = &net->peers[node];
        if (list_carries(peer->messages.first, job) || list_carries(peer->tensors.first, job) ||
            list_carries(peer->sending, job)) {
            return true;
        }
    }
    return false;
}

/*
 *   count  message  tensor  bytes  head count  head        data
 *   2      count    1       8      4           head count  of a small tensor
 *
 * tensor: enum tensor_kind.
 */
static size_t encode(struct peer *peer, struct waiting *waiting, bool with_data)
{
    struct net_stream *net = peer->net;
    struct bytes_writer writer = {.bytes = net->frame, .count_max = sizeof(net->frame)};
    struct message message = waiting->message;
    uint8_t bytes[MESSAGE_BYTES_MAX];
    message_add_age(&message, net_stream_now_ns() - waiting->since_ns + peer->trip_ns / 2);
    const size_t count = message_encode(&message, bytes, sizeof(bytes));
    size_t head_bytes = 0;
    enum tensor_kind kind = TENSOR_NONE;
    if (waiting->tensor != 0) {
        head_bytes = net->host.tensor_head(net->host.context, waiting->tensor, net->head);
        kind = head_bytes == 0 ? TENSOR_PRETENDED : TENSOR_THERE;
    }
    bytes_put(&writer, count, 2);
    bytes_copy(&writer, bytes, count);
    bytes_put(&writer, kind, 1);
    bytes_put(&writer, waiting->bytes, 8);
    bytes_put(&writer, head_bytes, 4);
    bytes_copy(&writer, net->head, head_bytes);
    struct net_part part;
    for (uint32_t i = 0; with_data && waiting->tensor != 0 &&
                         net->host.tensor_part(net->host.context, waiting->tensor, i, &part);
         i++) {
        bytes_copy(&writer, part.data, (size_t)part.bytes);
    }
    ASSERT(!writer.is_short);
    return writer.count;
}

/* Put all rows that have not left. False if there was no room for one. */
static bool put_rows(struct peer *peer)
{
    struct net_stream *net = peer->net;
    for (uint32_t i = 0; i < net->worker_count; i++) {
        if (peer->rows[i] == 0) {
            continue;
        }
        struct row row = net->rows[i];
        uint8_t bytes[ROW_BYTES_MAX];
        row.parts = peer->rows[i];
        const size_t count = row_encode(&row, bytes, sizeof(bytes));
        if (!framed_put(peer->out, FRAME_ROW, bytes, count)) {
            return false;
        }
        peer->rows[i] = 0;
    }
    return true;
}

/* Put messages until none are left. False if there was no room for one. */
static bool put_messages(struct peer *peer)
{
    const uint8_t *frame = peer->net->frame;
    while (peer->messages.first != NULL) {
        const size_t count = encode(peer, peer->messages.first, /* with_data */ true);
        const bool is_put = peer->messages.first->message.is_quiet
                                ? framed_put_quietly(peer->out, FRAME_MESSAGE, frame, count)
                                : framed_put(peer->out, FRAME_MESSAGE, frame, count);
        if (!is_put) {
            return false;
        }
        peer->net->sent_bytes += peer->messages.first->bytes;
        forget(peer, take_first(&peer->messages));
    }
    return true;
}

/* The next piece of the tensor that leaves; true if one was put. */
static bool put_piece(struct peer *peer)
{
    struct net_stream *net = peer->net;
    struct passage *at = &peer->out_at;
    struct net_part part;
    while (at->left > 0 && net->host.tensor_part(net->host.context, at->tensor, at->part, &part)) {
        const uint64_t rest = part.bytes - at->offset;
        if (rest == 0) {
            at->part++;
            at->offset = 0;
            continue;
        }
        const size_t count = (size_t)min_u64(rest, CHUNK_BYTES);
        if (!framed_put_data(peer->out, (const uint8_t *)part.data + at->offset, count)) {
            return false;
        }
        at->offset += count;
        at->left -= count;
        net->sent_bytes += count;
        return true;
    }
    ASSERT(at->left == 0);
    return false;
}

/* Go on with the tensor that leaves, or begin with the next. */
static void put_tensor(struct peer *peer)
{
    if (peer->sending != NULL && peer->out_at.left == 0) {
        struct waiting *sent = peer->sending; /* Its last piece has left. */
        peer->sending = NULL;
        forget(peer, sent);
    }
    if (peer->sending == NULL && peer->tensors.first != NULL) {
        const size_t count = encode(peer, peer->tensors.first, /* with_data */ false);
        if (!framed_put(peer->out, FRAME_TENSOR, peer->net->frame, count)) {
            return;
        }
        peer->sending = take_first(&peer->tensors);
        peer->sending->next = NULL;
        peer->out_at =
            (struct passage){.tensor = peer->sending->tensor, .left = peer->sending->bytes};
    }
    if (peer->sending != NULL) {
        (void)put_piece(peer);
    }
}

static void on_drained(void *context)
{
    struct peer *peer = context;
    if (!peer->is_welcome) {
        return;
    }
    const bool has_some = peer->waiting_count > 0;
    if (put_rows(peer) && put_messages(peer)) {
        put_tensor(peer);
    }
    peer->said_ns = net_stream_now_ns();
    peer->put_ns = has_some ? peer->said_ns : peer->put_ns;
    if (peer->is_blocked) {
        net_stream_look(peer->net);
    }
}

static void say_reached(const struct peer *peer)
{
    const char *by = peer->is_shared ? "shm" : peer->net->ucx != NULL ? "ucx" : "tcp";
    const struct log_field fields[] = {log_number("node", peer->node), log_text("by", by)};
    log_say(peer->net->options.log, LOG_INFO, "peer reached", 2, fields);
}

static void greeted(struct peer *peer)
{
    say_reached(peer);
    memcpy(peer->rows, peer->net->published, peer->net->worker_count);
    peer->is_welcome = true;
    peer->pause_ns = PAUSE_FIRST_NS;
    peer->refusals = 0;
    net_stream_look(peer->net);
    framed_flush(peer->out);
}

static bool on_welcome(struct peer *peer, const uint8_t *body, size_t count)
{
    const struct net_stream_options *options = &peer->net->options;
    struct welcome welcome;
    uint8_t proof[TRUST_PROOF_BYTES];
    if (peer->is_welcome || !welcome_decode(body, count, &welcome) ||
        welcome.incarnation != peer->incarnation) {
        return false;
    }
    if (!stream_is_from(framed_stream(peer->out), peer->name)) {
        net_stream_distrust(peer, "its certificate is another's");
        return false;
    }
    if (!greeting_is_proven(
            options->trust, &peer->hello, &welcome, /* is_dialer */ false, welcome.proof)) {
        net_stream_distrust(peer, "it does not know the secret");
        return false;
    }
    greeting_prove(options->trust, &peer->hello, &welcome, /* is_dialer */ true, proof);
    if (!framed_put(peer->out, FRAME_PROOF, proof, sizeof(proof))) {
        return false;
    }
    if (peer->net->ucx == NULL) {
        greeted(peer);
    } else {
        peer->awaits_lane = true;
        framed_flush(peer->out);
    }
    return true;
}

/* @peer, which has proven who it is, says where it is reached by UCX. */
static bool on_lane(struct peer *peer, const uint8_t *body, size_t count)
{
    uint8_t address[UCX_ADDRESS_BYTES_MAX] = {0};
    if (!peer->awaits_lane || count <= UCX_TOKEN_BYTES ||
        count - UCX_TOKEN_BYTES > sizeof(address)) {
        return false;
    }
    peer->awaits_lane = false;
    memcpy(address, body + UCX_TOKEN_BYTES, count - UCX_TOKEN_BYTES);
    if (!framed_open_outlet(peer->out, peer->net->ucx, address, body)) {
        return false;
    }
    greeted(peer);
    return true;
}

static bool on_pong(struct peer *peer, const uint8_t *body, size_t count)
{
    struct bytes_reader reader = {.bytes = body, .count = count};
    const int64_t asked_ns = (int64_t)bytes_take(&reader, 8);
    const int64_t trip_ns = net_stream_now_ns() - asked_ns;
    if (!bytes_is_spent(&reader) || trip_ns < 0 || trip_ns > INT64_C(60000000000)) {
        return false;
    }
    peer->echo_ns = asked_ns;
    peer->trip_ns = peer->trip_ns == 0 ? trip_ns : peer->trip_ns + (trip_ns - peer->trip_ns) / 8;
    return true;
}

static bool on_frame(void *context, uint8_t kind, const uint8_t *body, size_t count)
{
    struct peer *peer = context;
    if (kind == FRAME_WELCOME) {
        return on_welcome(peer, body, count);
    }
    if (kind == FRAME_LANE) {
        return on_lane(peer, body, count);
    }
    if (kind == FRAME_PONG && peer->is_welcome) {
        return on_pong(peer, body, count);
    }
    if (kind == FRAME_REFUSED) {
        char cause[FRAME_FIRST_BYTES_MAX + 1];
        memcpy(cause, body, count);
        cause[count] = '\0';
        peer->refusals++;
        peer->was_refused = true;
        if (strcmp(cause, NET_STREAM_TOO_EARLY) != 0 || peer->refusals == EARLY_MAX) {
            net_stream_log(peer->net, "peer refuses", peer->node, cause);
        }
    }
    return false;
}

static void *data_room(void *context, size_t *room_out)
{
    (void)context;
    *room_out = 0;
    return NULL; /* Data goes the other way. */
}

static bool on_data(void *context, size_t count)
{
    (void)context;
    (void)count;
    return false;
}

static void on_over(void *context, const char *cause)
{
    net_stream_hang_up(context, cause);
}

void net_stream_hang_up(struct peer *peer, const char *cause)
{
    if (!peer->is_distrusted) {
        (void)snprintf(peer->failure, sizeof(peer->failure), "%s", cause);
    }
    if (peer->out != NULL) {
        framed_close(peer->out);
        if (peer->is_welcome) {
            net_stream_log(peer->net, "peer lost", peer->node, cause);
        }
    }
    peer->shuns_sharing = peer->is_shared && !peer->is_welcome && !peer->was_refused;
    peer->out = NULL;
    peer->is_welcome = false;
    if (peer->sending != NULL) { /* The receiver has forgotten what came of it. */
        peer->sending->next = peer->tensors.first;
        peer->tensors.first = peer->sending;
        peer->tensors.last = peer->tensors.last == NULL ? peer->sending : peer->tensors.last;
        peer->sending = NULL;
    }
    peer->dial_at_ns = net_stream_now_ns() + peer->pause_ns;
    peer->pause_ns = min_i64(2 * peer->pause_ns, PAUSE_MAX_NS);
    net_stream_look(peer->net);
    net_stream_hurry(peer->net);
}

static void say_hello(struct peer *peer)
{
    const struct net_stream_options *options = &peer->net->options;
    uint8_t bytes[HELLO_BYTES];
    peer->hello = (struct hello){
        .from = options->node,
        .to = peer->node,
        .from_incarnation = options->incarnation,
        .to_incarnation = peer->incarnation,
        .agreement = options->agreement,
    };
    if (!trust_nonce(peer->hello.nonce)) {
        net_stream_hang_up(peer, "no random bytes");
        return;
    }
    hello_encode(&peer->hello, bytes);
    (void)framed_put(peer->out, FRAME_HELLO, bytes, sizeof(bytes)); /* The first: it fits. */
}

/* Begin to speak over @stream, which sends by @socket. NULL, with the socket closed: no memory. */
static void begin(struct peer *peer, struct stream *stream, int socket)
{
    const struct framed_owner owner = {
        .context = peer,
        .on_frame = on_frame,
        .data_room = data_room,
        .on_data = on_data,
        .on_drained = on_drained,
        .on_over = on_over,
    };
    peer->was_refused = false;
    peer->is_distrusted = false;
    peer->awaits_lane = false;
    if (stream == NULL) {
        (void)close(socket);
    } else {
        peer->out = framed_create(peer->net->options.loop, stream, socket, &owner);
    }
    if (peer->out == NULL) {
        net_stream_hang_up(peer, "no memory");
        return;
    }
    peer->dialled_ns = net_stream_now_ns();
    say_hello(peer);
}

static void connect_to(struct peer *peer, const struct addrinfo *found)
{
    const int made = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made < 0) {
        net_stream_hang_up(peer, "no descriptor");
        return;
    }
    net_stream_tune(made);
    (void)connect(made, found->ai_addr, found->ai_addrlen); /* What comes of it the stream says. */
    peer->is_shared = false;
    begin(peer, stream_create(peer->net->options.trust, made, /* is_dialer */ true), made);
}

/* Share memory with @peer, if it is a process of this machine and user. False if it is not. */
static bool connect_locally(struct peer *peer)
{
    const struct net_stream_options *options = &peer->net->options;
    if (options->carrier != NET_CARRIER_SHM &&
        (options->carrier != NET_CARRIER_AUTO || peer->shuns_sharing)) {
        return false;
    }
    const int made = local_socket_dial(peer->address);
    if (made < 0) {
        return false;
    }
    peer->is_shared = true;
    begin(peer, stream_create_shared(options->trust, made, /* is_dialer */ true), made);
    return true;
}

static void on_found(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found)
{
    struct peer *peer = lookup->data;
    struct net_stream *net = peer->net;
    peer->is_resolving = false;
    if (!net->is_closing && peer->is_member && peer->out == NULL) {
        if (status == 0 && found != NULL) {
            connect_to(peer, found);
        } else {
            net_stream_log(net, "peer has no address", peer->node, uv_strerror(status));
            net_stream_hang_up(peer, "no address");
        }
    }
    uv_freeaddrinfo(found); /* NULL is allowed. */
    net_stream_ended(net);
}

void net_stream_dial(struct peer *peer, int64_t at_ns)
{
    struct net_stream *net = peer->net;
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    if (!peer->is_member || peer->out != NULL || peer->is_resolving || at_ns < peer->dial_at_ns) {
        return;
    }
    if (connect_locally(peer)) {
        return;
    }
    if (net->options.carrier == NET_CARRIER_SHM) {
        net_stream_hang_up(peer, "not on this machine");
        return;
    }
    char host[NET_ADDRESS_BYTES_MAX];
    const char *colon = strrchr(peer->address, ':');
    const size_t length = (size_t)(colon - peer->address);
    memcpy(host, peer->address, length);
    host[length] = '\0';
    peer->lookup.data = peer;
    if (uv_getaddrinfo(net->options.loop, &peer->lookup, on_found, host, colon + 1, &wanted) != 0) {
        net_stream_hang_up(peer, "no lookup");
        return;
    }
    peer->is_resolving = true;
    net->handles_open++;
}

void net_stream_show(struct peer *peer)
{
    if (peer->out != NULL && peer->is_welcome) {
        framed_flush(peer->out);
    }
}

/* Put a sign of life; with a time that comes back, if this @asks for it. */
static void put_ping(struct peer *peer, int64_t at_ns, bool asks)
{
    uint8_t bytes[8];
    struct bytes_writer writer = {.bytes = bytes, .count_max = sizeof(bytes)};
    bytes_put(&writer, (uint64_t)at_ns, 8);
    if (framed_put(peer->out, FRAME_PING, bytes, asks ? sizeof(bytes) : 0)) {
        peer->asked_ns = asks ? at_ns : peer->asked_ns;
        framed_flush(peer->out);
    }
}

void net_stream_ping(struct peer *peer, int64_t at_ns)
{
    if (peer->out != NULL && peer->is_welcome && at_ns - peer->said_ns >= NET_STREAM_CALM_NS / 2) {
        put_ping(peer, at_ns, peer->trip_ns == 0 || at_ns - peer->asked_ns >= TRIP_NS);
    }
}

void net_stream_ask(struct peer *peer, int64_t at_ns)
{
    put_ping(peer, at_ns, /* asks */ true);
}
