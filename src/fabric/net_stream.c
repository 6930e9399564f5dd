#include "fabric/net_stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/units.h"
#include "fabric/local_socket.h"
#include "fabric/net_stream_inside.h"
#include "fabric/net_stream_told.h"
#include "fabric/trust.h"

#define GREETING_NS (5 * NS_PER_S)

enum {
    BACKLOG = 128,
    ACCEPTS_MAX = 16,
    USER_TIMEOUT_MS = 10000, /* What was sent and is not acknowledged for so long is lost. */
    /* A link that is back is not noticed before something is sent again. The kernel doubles the
     * pauses without end: after a cut of three seconds it may be silent for six. */
    RESEND_PAUSE_MS = 1000,
};

enum weft_status net_carrier_parse(
    const char *text, enum net_carrier *carrier_out, struct weft_error *error)
{
    static const char *const names[] = {
        [NET_CARRIER_AUTO] = "auto",
        [NET_CARRIER_TCP] = "tcp",
        [NET_CARRIER_SHM] = "shm",
        [NET_CARRIER_UCX] = "ucx",
    };
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *carrier_out = (enum net_carrier)i;
            return WEFT_OK;
        }
    }
    return error_set(error, WEFT_INVALID, "'%.40s' is not a net; use auto, tcp, shm or ucx", text);
}

static bool is_reachable(const struct peer *peer, int64_t at_ns)
{
    return peer->is_welcome && peer->in != NULL && at_ns - peer->heard_ns < NET_STREAM_SILENCE_NS;
}

/* Tell the host what has changed about @peer. It may send meanwhile. */
static void judge(struct peer *peer, int64_t at_ns)
{
    struct net_stream *net = peer->net;
    const bool is_broken = peer->is_member && !is_reachable(peer, at_ns);
    const bool is_little =
        peer->waiting_bytes <= WAITING_BYTES_LOW && peer->waiting_count <= WAITING_COUNT_HIGH / 2;
    const bool is_blocked = peer->is_blocked ? !is_little : net_stream_is_much(peer);
    if (is_broken != peer->is_broken) {
        peer->is_broken = is_broken;
        const enum net_peer_state broken = peer->is_met ? NET_PEER_BROKEN : NET_PEER_UNMET;
        peer->is_met = peer->is_met || !is_broken;
        net->host.on_peer(net->host.context, peer->node, is_broken ? broken : NET_PEER_RESTORED);
    }
    if (is_blocked != peer->is_blocked) {
        peer->is_blocked = is_blocked;
        net->host.on_peer(
            net->host.context, peer->node, is_blocked ? NET_PEER_BLOCKED : NET_PEER_READY);
    }
}

static void judge_all(struct net_stream *net)
{
    const int64_t at_ns = net_stream_now_ns();
    for (uint32_t node = 0; node < net->options.fleet->node_count; node++) {
        judge(&net->peers[node], at_ns);
    }
}

static void on_looking(uv_idle_t *looking)
{
    (void)uv_idle_stop(looking); /* Never fails. */
    judge_all(looking->data);
}

void net_stream_look(struct net_stream *net)
{
    if (!net->is_closing) {
        (void)uv_idle_start(&net->looking, on_looking); /* Never fails. */
    }
}

/*
 * This process has not run for a while, stopped or starved: that nothing was heard meanwhile says
 * nothing about the others.
 */
static void forgive(struct net_stream *net, int64_t stood_ns)
{
    for (uint32_t node = 0; node < net->options.fleet->node_count; node++) {
        net->peers[node].heard_ns += stood_ns;
    }
}

static void on_sweep(uv_timer_t *timer);

static void sweep_at(struct net_stream *net, int64_t due_ns, int64_t at_ns)
{
    const int64_t wait_ns = max_i64(due_ns - at_ns, 0);
    net->sweep_at_ns = at_ns + wait_ns;
    (void)uv_timer_start(
        &net->sweep, on_sweep, (uint64_t)((wait_ns + 999999) / 1000000), /* repeat */ 0);
}

void net_stream_hurry(struct net_stream *net)
{
    const int64_t at_ns = net_stream_now_ns();
    if (!net->is_closing && net->sweep_at_ns > at_ns + NET_STREAM_SOON_NS) {
        sweep_at(net, at_ns + NET_STREAM_SOON_NS, at_ns);
    }
}

/*
 * When there is something to do next. Where all is well, nodes of one machine sweep at the same
 * times, so that one that wakes to say something finds what all others have said: one wake-up for
 * all, not one for each.
 */
static int64_t next_sweep_ns(const struct net_stream *net, int64_t at_ns)
{
    const int64_t early_ns =
        NET_STREAM_CALM_NS / 4; /* A timer may come a little before its time. */
    int64_t due_ns = ((at_ns + early_ns) / NET_STREAM_CALM_NS + 1) * NET_STREAM_CALM_NS;
    for (uint32_t node = 0; node < net->options.fleet->node_count; node++) {
        const struct peer *peer = &net->peers[node];
        const bool is_well = peer->is_welcome && peer->in != NULL && peer->waiting_count == 0;
        if (peer->is_member && !is_well) {
            due_ns = min_i64(due_ns, at_ns + NET_STREAM_SOON_NS);
        } else if (peer->is_member && !peer->is_broken) {
            due_ns = min_i64(due_ns, peer->heard_ns + NET_STREAM_SILENCE_NS);
        }
    }
    return due_ns;
}

static void on_sweep(uv_timer_t *timer)
{
    struct net_stream *net = timer->data;
    const int64_t at_ns = net_stream_now_ns();
    if (at_ns - net->sweep_at_ns > NET_STREAM_SOON_NS) {
        forgive(net, at_ns - net->sweep_at_ns);
    }
    for (uint32_t node = 0; node < net->options.fleet->node_count; node++) {
        struct peer *peer = &net->peers[node];
        if (peer->out != NULL && !peer->is_welcome && at_ns - peer->dialled_ns > GREETING_NS) {
            net_stream_hang_up(peer, "no answer");
        }
        net_stream_dial(peer, at_ns);
        net_stream_ping(peer, at_ns);
        net_stream_tell(peer, at_ns);
        if (peer->waiting_count > 0) { /* What could wait has waited. */
            net_stream_show(peer);
        }
    }
    for (struct arrival *arrival = net->arrivals, *next = NULL; arrival != NULL; arrival = next) {
        next = arrival->next;
        if (arrival->peer == NULL && at_ns - arrival->since_ns > GREETING_NS) {
            net_stream_dismiss(arrival, "no greeting");
        }
    }
    judge_all(net);
    sweep_at(net, next_sweep_ns(net, at_ns), at_ns);
}

/* What woke the loop may be what a quiet message was to wait for. */
static void on_glance(uv_check_t *glance)
{
    const struct net_stream *net = glance->data;
    for (struct arrival *arrival = net->arrivals, *next = NULL; arrival != NULL; arrival = next) {
        next = arrival->next;
        if (arrival->peer != NULL) {
            framed_glance(arrival->connection);
        }
    }
}

static void attend(struct net *base, bool attends)
{
    struct net_stream *net = net_stream_from(base);
    if (net->attends == attends) {
        return;
    }
    net->attends = attends;
    for (const struct arrival *arrival = net->arrivals; arrival != NULL; arrival = arrival->next) {
        if (arrival->peer != NULL) {
            framed_attend(arrival->connection, attends);
        }
    }
}

/* Whether all that was sent to @peer has come there, or never can. If not, it is asked. */
static bool is_clear_of(struct peer *peer)
{
    if (!peer->is_member || peer->is_broken || !peer->is_welcome) {
        return true;
    }
    if (peer->waiting_count > 0 || peer->sending != NULL) {
        return false;
    }
    if (peer->asked_ns <= peer->put_ns) {
        net_stream_ask(peer, net_stream_now_ns());
    }
    return peer->echo_ns > peer->put_ns;
}

static bool is_clear(struct net *base)
{
    struct net_stream *net = net_stream_from(base);
    bool all = true;
    for (uint32_t node = 0; node < net->options.fleet->node_count; node++) {
        all = is_clear_of(&net->peers[node]) && all;
    }
    return all;
}

static void on_arrivals(uv_poll_t *poll, int status, int events)
{
    const struct listener *listener = poll->data;
    const bool is_local = listener == &listener->net->listeners[LISTENER_LOCAL];
    (void)status;
    (void)events;
    for (uint32_t i = 0; i < ACCEPTS_MAX; i++) {
        const int socket = accept4(listener->socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0) {
            return; /* None is left, or there is no descriptor for it: the next may have luck. */
        }
        if (is_local && !local_socket_is_own(socket)) {
            (void)close(socket); /* It may use TCP. */
        } else {
            net_stream_arrived(listener->net, socket, is_local);
        }
    }
}

void net_stream_set_peer(struct net *base, const struct net_stream_peer *given)
{
    struct net_stream *net = net_stream_from(base);
    ASSERT(given->node < net->options.fleet->node_count && given->node != net->options.node);
    ASSERT(strlen(given->address) < NET_ADDRESS_BYTES_MAX && strchr(given->address, ':') != NULL);
    ASSERT(strlen(given->name) < NET_NAME_BYTES_MAX);
    struct peer *peer = &net->peers[given->node];
    if (peer->is_member && peer->incarnation == given->incarnation &&
        strcmp(peer->address, given->address) == 0) {
        return;
    }
    if (peer->is_member) {
        net_stream_remove_peer(base, given->node);
    }
    peer->is_member = true;
    peer->is_met = false;
    peer->incarnation = given->incarnation;
    memcpy(peer->address, given->address, strlen(given->address) + 1);
    memcpy(peer->name, given->name, strlen(given->name) + 1);
    peer->dial_at_ns = 0;
    peer->pause_ns = NET_STREAM_SOON_NS / 2;
    peer->trip_ns = 0;
    net_stream_dial(peer, net_stream_now_ns());
    net_stream_look(net);
    net_stream_hurry(net);
}

void net_stream_remove_peer(struct net *base, uint32_t node)
{
    struct net_stream *net = net_stream_from(base);
    struct peer *peer = &net->peers[node];
    if (!peer->is_member) {
        return;
    }
    peer->is_member = false;
    net_stream_hang_up(peer, "no longer a member");
    net_stream_drop(peer);
    if (peer->in != NULL) {
        net_stream_dismiss(peer->in, "no longer a member");
    }
}

static void publish(struct net *base, uint32_t from, const struct row *row)
{
    struct net_stream *net = net_stream_from(base);
    const uint32_t index = row->worker - net->worker_first;
    ASSERT(from == net->options.node && index < net->worker_count);
    struct row *kept = &net->rows[index];
    kept->worker = row->worker;
    if ((row->parts & ROW_LOAD) != 0) {
        kept->load = row->load;
    }
    if ((row->parts & ROW_CACHE) != 0) {
        kept->cache = row->cache;
    }
    net->published[index] |= (uint8_t)row->parts;
    for (uint32_t node = 0; node < net->options.fleet->node_count; node++) {
        if (net->peers[node].is_welcome && net_shows(&net->host, from, node)) {
            net->peers[node].rows[index] |= (uint8_t)row->parts;
            net_stream_show(&net->peers[node]);
        }
    }
}

void net_stream_ended(struct net_stream *net)
{
    net->handles_open--;
    if (net->handles_open > 0) {
        return;
    }
    for (uint32_t node = 0; node < net->options.fleet->node_count; node++) {
        free(net->peers[node].rows);
    }
    free(net->peers);
    free(net->rows);
    free(net->published);
    free(net);
}

static void on_closed(uv_handle_t *handle)
{
    net_stream_ended(handle->data);
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct listener *listener = handle->data;
    (void)close(listener->socket); /* No peer connects any more. */
    net_stream_ended(listener->net);
}

static void destroy(struct net *base)
{
    struct net_stream *net = net_stream_from(base);
    net->is_closing = true;
    for (uint32_t node = 0; node < net->options.fleet->node_count; node++) {
        net_stream_remove_peer(base, node);
    }
    while (net->arrivals != NULL) {
        net_stream_dismiss(net->arrivals, "end");
    }
    ucx_destroy(net->ucx);
    for (uint32_t i = 0; i < LISTENERS; i++) {
        if (net->listeners[i].socket >= 0) {
            uv_close((uv_handle_t *)&net->listeners[i].poll, on_listener_closed);
        }
    }
    uv_close((uv_handle_t *)&net->sweep, on_closed);
    uv_close((uv_handle_t *)&net->looking, on_closed);
    uv_close((uv_handle_t *)&net->glance, on_closed);
}

static const struct net_ops stream_ops = {
    .name = "stream",
    .publish = publish,
    .send = net_stream_send,
    .carries = net_stream_carries,
    .attend = attend,
    .is_clear = is_clear,
    .destroy = destroy,
};

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44 /* Linux 6.15 and later; others refuse it. */
#endif

void net_stream_tune(int socket)
{
    const int yes = 1;
    const unsigned timeout_ms = USER_TIMEOUT_MS;
    const unsigned pause_ms = RESEND_PAUSE_MS;
    (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)); /* Slower without. */
    (void)setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
    (void)setsockopt(socket, IPPROTO_TCP, TCP_RTO_MAX_MS, &pause_ms, sizeof(pause_ms));
}

/* A socket that listens on @address, or -1. */
static int listen_on(const struct sockaddr *address, socklen_t length)
{
    const int yes = 1;
    const int made = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made < 0) {
        return -1;
    }
    (void)setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(made, address, length) != 0 || listen(made, BACKLOG) != 0) {
        const int cause = errno;
        (void)close(made);
        errno = cause;
        return -1;
    }
    return made;
}

static enum weft_status open_tcp_listener(struct net_stream *net, struct weft_error *error)
{
    const char *given = net->options.listen;
    const char *colon = strrchr(given, ':');
    char host[NET_ADDRESS_BYTES_MAX];
    const size_t length = colon == NULL ? sizeof(host) : (size_t)(colon - given);
    if (length == 0 || length >= sizeof(host)) {
        return error_set(error, WEFT_INVALID, "'%s' is not an address; use HOST:PORT", given);
    }
    memcpy(host, given, length);
    host[length] = '\0';
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    const int trouble = getaddrinfo(host, colon + 1, &wanted, &found);
    if (trouble != 0) {
        return error_set(error, WEFT_INVALID, "'%s': %s", given, gai_strerror(trouble));
    }
    const int made = listen_on(found->ai_addr, found->ai_addrlen);
    net->listeners[LISTENER_TCP].socket = made;
    freeaddrinfo(found);
    if (made < 0) {
        return error_set(error, WEFT_IO, "cannot listen on %s: %s", given, strerror(errno));
    }
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } bound = {.six = {.sin6_family = AF_UNSPEC}};
    socklen_t bound_length = sizeof(bound);
    (void)getsockname(made, &bound.any, &bound_length);
    net->port = ntohs(bound.any.sa_family == AF_INET6 ? bound.six.sin6_port : bound.four.sin_port);
    (void)snprintf(net->address, sizeof(net->address), "%s:%u", host, net->port);
    return WEFT_OK;
}

/* Peers on this machine find the net by its address, too. */
static enum weft_status open_local_listener(struct net_stream *net, struct weft_error *error)
{
    struct listener *local = &net->listeners[LISTENER_LOCAL];
    if (net->options.carrier != NET_CARRIER_AUTO && net->options.carrier != NET_CARRIER_SHM) {
        return WEFT_OK;
    }
    local->socket = local_socket_listen(net->address);
    if (local->socket >= 0) {
        return WEFT_OK;
    }
    if (net->options.carrier == NET_CARRIER_AUTO) {
        net_stream_log(net, "no shared memory", net->options.node, strerror(errno));
        return WEFT_OK;
    }
    return error_set(
        error, WEFT_IO, "cannot listen for processes of this machine as %s: %s", net->address,
        strerror(errno));
}

static enum weft_status open_ucx(struct net_stream *net, struct weft_error *error)
{
    char host[sizeof(net->address)];
    if (net->options.carrier != NET_CARRIER_UCX) {
        return WEFT_OK;
    }
    memcpy(host, net->address, sizeof(host));
    *strrchr(host, ':') = '\0';
    return ucx_create(net->options.loop, host, &net->ucx, error);
}

static enum weft_status open_listeners(struct net_stream *net, struct weft_error *error)
{
    struct listener *tcp = &net->listeners[LISTENER_TCP];
    struct listener *local = &net->listeners[LISTENER_LOCAL];
    for (uint32_t i = 0; i < LISTENERS; i++) {
        net->listeners[i].net = net;
        net->listeners[i].socket = -1;
        net->listeners[i].poll.data = &net->listeners[i];
    }
    enum weft_status status = open_tcp_listener(net, error);
    if (status == WEFT_OK) {
        status = open_local_listener(net, error);
    }
    if (status == WEFT_OK) {
        status = open_ucx(net, error);
    }
    if (status == WEFT_OK && uv_poll_init(net->options.loop, &tcp->poll, tcp->socket) != 0) {
        status =
            error_set(error, WEFT_IO, "cannot wait for connections on %s", net->options.listen);
    }
    if (status == WEFT_OK && local->socket >= 0 &&
        uv_poll_init(net->options.loop, &local->poll, local->socket) != 0) {
        net_stream_log(net, "no shared memory", net->options.node, "no descriptor");
        (void)close(local->socket);
        local->socket = -1;
    }
    return status;
}

static void close_listeners(struct net_stream *net)
{
    for (uint32_t i = 0; i < LISTENERS; i++) {
        if (net->listeners[i].socket >= 0) {
            (void)close(net->listeners[i].socket);
        }
    }
}

static void open_handles(struct net_stream *net)
{
    struct uv_loop_s *loop = net->options.loop;
    (void)uv_timer_init(loop, &net->sweep); /* None ever fails. */
    (void)uv_idle_init(loop, &net->looking);
    (void)uv_check_init(loop, &net->glance);
    (void)uv_check_start(&net->glance, on_glance);
    net->sweep.data = net;
    net->looking.data = net;
    net->glance.data = net;
    net->attends = true;
    net->handles_open = 3;
    for (uint32_t i = 0; i < LISTENERS; i++) {
        struct listener *listener = &net->listeners[i];
        if (listener->socket >= 0) {
            (void)uv_poll_start(&listener->poll, UV_READABLE, on_arrivals);
            net->handles_open++;
        }
    }
    const int64_t at_ns = net_stream_now_ns();
    sweep_at(net, at_ns + NET_STREAM_SOON_NS, at_ns);
}

static void make_peers(struct net_stream *net)
{
    const struct net_stream_options *options = &net->options;
    const struct fleet_node *own = &options->fleet->nodes[options->node];
    net->worker_first = own->worker_first;
    net->worker_count = own->worker_count;
    net->rows = memory_zeroed(net->worker_count, sizeof(*net->rows));
    net->published = memory_zeroed(net->worker_count, sizeof(*net->published));
    net->peers = memory_zeroed(options->fleet->node_count, sizeof(*net->peers));
    for (uint32_t node = 0; node < options->fleet->node_count; node++) {
        net->peers[node].net = net;
        net->peers[node].node = node;
        net->peers[node].rows = memory_zeroed(net->worker_count, sizeof(*net->peers[node].rows));
    }
}

enum weft_status net_stream_create(
    const struct net_stream_options *options, struct net **net_out, struct weft_error *error)
{
    ASSERT(options->node < options->fleet->node_count);
    ASSERT(options->host.on_peer != NULL && options->host.release != NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* TLS writes to sockets that peers have closed. */
    struct net_stream *net = memory_zeroed(1, sizeof(*net));
    net->base.ops = &stream_ops;
    net->options = *options;
    net->host = options->host;
    enum weft_status status = open_listeners(net, error);
    if (status != WEFT_OK) {
        ucx_destroy(net->ucx);
        close_listeners(net);
        free(net);
        return status;
    }
    make_peers(net);
    open_handles(net);
    *net_out = &net->base;
    return WEFT_OK;
}

uint16_t net_stream_port(const struct net *base)
{
    return ((const struct net_stream *)base)->port; /* As in net_stream_from(). */
}

uint64_t net_stream_sent_bytes(const struct net *base)
{
    return ((const struct net_stream *)base)->sent_bytes; /* As in net_stream_from(). */
}
