#include "server/http.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/resource.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "server/http_inside.h"

enum {
    LISTEN_BACKLOG = 1024,
    READ_BYTES_MAX = 1 << 18, /* Of a body, at once. */
    DESCRIPTORS_KEPT = 32,    /* For files, engines and connections above the limits. */
};

static void handle_closed(struct http_server *server)
{
    server->handles--;
    if (server->handles == 0) {
        http_clients_destroy(server->clients);
        free(server->cipher);
        free(server);
    }
}

static void on_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;
    struct http_server *server = connection->server;
    outgoing_release(connection);
    tls_session_destroy(connection->tls);
    free(connection->in);
    free(connection);
    handle_closed(server);
}

void connection_close(struct connection *connection)
{
    struct http_server *server = connection->server;
    if (connection->state == CONNECTION_CLOSED) {
        return;
    }
    ASSERT(server->counts.open > 0);
    connection->state = CONNECTION_CLOSED;
    http_turn_leave(connection);
    list_remove(&server->connections, &connection->link);
    server->counts.open--;
    http_client_leave(connection->client, connection->admission);
    connection->client = NULL;
    uv_close((uv_handle_t *)&connection->tcp, on_closed);
    if (connection->exchange.is_open) {
        connection->exchange.is_open = false;
        if (connection->exchange.receiver != NULL) {
            connection->exchange.receiver->gone(connection->exchange.request);
        }
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct connection *connection = handle->data;
    struct http_exchange *exchange = &connection->exchange;
    (void)suggested;
    if (connection->tls != NULL) {
        *buffer = uv_buf_init((char *)connection->server->cipher, CIPHER_BYTES);
        return;
    }
    if (connection->state == CONNECTION_BODY && !exchange->is_chunked && !exchange->is_skipped &&
        connection->in_bytes == 0) {
        size_t room = 0;
        uint8_t *bytes = exchange->receiver->room(exchange->request, &room);
        const size_t most = exchange->body_left < room ? (size_t)exchange->body_left : room;
        *buffer = uv_buf_init(
            (char *)bytes, (unsigned int)(most > READ_BYTES_MAX ? READ_BYTES_MAX : most));
        return;
    }
    *buffer = uv_buf_init(
        connection->in + connection->in_bytes,
        (unsigned int)(connection->in_max - connection->in_bytes));
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer);

static void set_reading(struct connection *connection, bool is_reading)
{
    if (connection->state == CONNECTION_CLOSED || connection->is_reading == is_reading) {
        return;
    }
    connection->is_reading = is_reading;
    uv_stream_t *stream = (uv_stream_t *)&connection->tcp;
    const int failed = is_reading ? uv_read_start(stream, on_alloc, on_read) : uv_read_stop(stream);
    ASSERT(failed == 0);
}

/* Room for more in the buffer, as long as a head may be that long. */
static void make_room(struct connection *connection)
{
    if (connection->state == CONNECTION_CLOSED || connection->in_bytes < connection->in_max) {
        return;
    }
    if (connection->in_max < HTTP_HEAD_BYTES_MAX && connection->state == CONNECTION_HEAD) {
        const size_t larger = 2 * connection->in_max;
        char *in = realloc(connection->in, larger);
        if (in == NULL) {
            connection_close(connection);
            return;
        }
        connection->in = in;
        connection->in_max = larger;
        return;
    }
    set_reading(connection, false); /* Sent ahead: until it has been answered. */
}

/* The client has sent all it will. */
static void ended(struct connection *connection)
{
    connection->has_ended = true;
    set_reading(connection, false);
    if (connection->state != CONNECTION_WRITE && !connection->is_waiting) {
        connection_close(connection); /* A client that waits does not hang up. */
    }
}

static void take_plain(struct connection *connection)
{
    connection_process(connection);
    make_room(connection);
}

/* Decrypt into the buffer, or where the body goes, until more must come. */
static void take_tls(struct connection *connection, const char *cipher, size_t count)
{
    if (count > 0 && !tls_receive(connection->tls, cipher, count)) {
        connection_close(connection);
        return;
    }
    while (connection->state != CONNECTION_CLOSED) {
        if (connection->in_bytes == connection->in_max) {
            make_room(connection);
            if (!connection->is_reading || connection->state == CONNECTION_CLOSED) {
                break; /* The session keeps the rest. */
            }
        }
        const int got = tls_read(
            connection->tls, connection->in + connection->in_bytes,
            connection->in_max - connection->in_bytes);
        connection_flush_tls(connection);
        if (got < 0) {
            ended(connection);
            return;
        }
        if (got == 0 || connection->state == CONNECTION_CLOSED) {
            break;
        }
        connection->in_bytes += (size_t)got;
        connection_process(connection);
    }
    make_room(connection);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    struct connection *connection = stream->data;
    if (got < 0) {
        ended(connection);
        return;
    }
    if (got == 0) {
        return;
    }
    connection->server->counts.bytes_in += (uint64_t)got;
    if (!http_turn_took(connection, (size_t)got)) {
        set_reading(connection, false);
    }
    if (connection->tls != NULL) {
        take_tls(connection, buffer->base, (size_t)got);
        return;
    }
    if (buffer->base == connection->in + connection->in_bytes) {
        connection->in_bytes += (size_t)got;
        take_plain(connection);
    } else {
        connection_took(connection, (size_t)got);
        take_plain(connection);
    }
}

/* What was sent ahead, and what the session has kept, comes now. */
void connection_answered(struct connection *connection)
{
    if (connection->state == CONNECTION_CLOSED) {
        return;
    }
    if (!connection->is_processing) {
        connection_process(connection);
        make_room(connection);
    }
    if (connection->has_ended) {
        if (!connection->is_processing && connection->state != CONNECTION_WRITE &&
            !connection->is_waiting) {
            connection_close(connection); /* All that it had sent ahead is answered. */
        }
        return;
    }
    if (connection->in_bytes < connection->in_max && !connection->is_waiting) {
        set_reading(connection, true);
        if (connection->tls != NULL && !connection->is_processing &&
            connection->state != CONNECTION_CLOSED) {
            take_tls(connection, NULL, 0);
        }
    }
}

static void link_connection(struct http_server *server, struct connection *connection)
{
    list_push_front(&server->connections, &connection->link);
    server->counts.open++;
}

static void turn_away(struct connection *connection)
{
    static const char full[] = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n"
                               "Content-Length: 0\r\nConnection: close\r\n\r\n";
    uv_buf_t buffer = uv_buf_init((char *)(uintptr_t)full, sizeof(full) - 1);
    if (connection->tls == NULL) {
        (void)uv_try_write((uv_stream_t *)&connection->tcp, &buffer, 1); /* A courtesy. */
    }
    connection_close(connection);
}

/* Whose connection it is, and what it may do. */
static void enter(struct connection *connection)
{
    struct sockaddr_storage name = {.ss_family = AF_UNSPEC};
    int bytes = sizeof(name);
    /* A client that has left already has no name, and counts with others like it. */
    (void)uv_tcp_getpeername(&connection->tcp, (struct sockaddr *)&name, &bytes);
    connection->is_local = http_client_is_local((const struct sockaddr *)&name);
    connection->admission = http_clients_enter(
        connection->server->clients, (const struct sockaddr *)&name, &connection->client);
}

static struct connection *connection_create(struct http_server *server)
{
    struct connection *connection = calloc(1, sizeof(*connection));
    char *in = malloc(IN_BYTES_FIRST);
    if (connection == NULL || in == NULL) {
        free(connection);
        free(in);
        return NULL;
    }
    *connection = (struct connection){
        .server = server, .admission = HTTP_FULL, .in = in, .in_max = IN_BYTES_FIRST};
    connection->exchange.connection = connection;
    const int failed = uv_tcp_init(server->loop, &connection->tcp);
    ASSERT(failed == 0);
    connection->tcp.data = connection;
    connection->since_ms = uv_now(server->loop);
    server->handles++;
    link_connection(server, connection);
    return connection;
}

/*
 * Take the connection that the listener offers. libuv listens on only when it has been taken:
 * if there is no memory for it now, http_server_sweep() tries again.
 */
static void accept_one(struct http_server *server)
{
    struct connection *connection = connection_create(server);
    server->is_offered = connection == NULL;
    if (connection == NULL) {
        return;
    }
    if (uv_accept((uv_stream_t *)&server->tcp, (uv_stream_t *)&connection->tcp) != 0) {
        connection_close(connection);
        return;
    }
    server->counts.accepted++;
    (void)uv_tcp_nodelay(&connection->tcp, 1); /* Only speed. */
    enter(connection);
    server->counts.refused += connection->admission == HTTP_ADMITTED ? 0 : 1;
    if (connection->admission == HTTP_FULL) {
        turn_away(connection);
        return;
    }
    if (server->tls != NULL) {
        connection->tls = tls_session_create(server->tls);
        if (connection->tls == NULL) {
            connection_close(connection);
            return;
        }
    }
    set_reading(connection, true);
}

void http_accept_again(struct http_server *server)
{
    if (server->is_offered && !server->is_stopped) {
        accept_one(server);
    }
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct http_server *server = listener->data;
    if (status == 0 && !server->is_stopped) {
        accept_one(server);
    }
}

/* Split "host:port"; the host may be in brackets, or empty for all. */
static enum weft_status parse_address(
    const char *address, char host[HTTP_ADDRESS_BYTES], char port[8], struct weft_error *error)
{
    const char *colon = strrchr(address, ':');
    const char *first = address;
    size_t length = colon == NULL ? 0 : (size_t)(colon - address);
    if (length >= 2 && first[0] == '[' && first[length - 1] == ']') {
        first++;
        length -= 2;
    }
    uint64_t number = 0;
    const bool is_port =
        colon != NULL && strlen(colon + 1) < 6 &&
        http_span_number((struct http_span){colon + 1, strlen(colon + 1)}, &number);
    if (!is_port || number > UINT16_MAX || length + 1 > HTTP_ADDRESS_BYTES) {
        return error_set(error, WEFT_INVALID, "'%s' is not an address: say HOST:PORT", address);
    }
    (void)snprintf(host, HTTP_ADDRESS_BYTES, "%.*s", (int)length, first);
    (void)snprintf(port, 8, "%s", colon + 1);
    return WEFT_OK;
}

static int bind_first(struct http_server *server, const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    uv_getaddrinfo_t request;
    int code =
        uv_getaddrinfo(server->loop, &request, NULL, host[0] == '\0' ? NULL : host, port, &hints);
    if (code != 0) {
        return code;
    }
    code = uv_tcp_bind(&server->tcp, request.addrinfo->ai_addr, 0);
    uv_freeaddrinfo(request.addrinfo);
    return code;
}

static void note_address(struct http_server *server)
{
    struct sockaddr_storage name;
    int bytes = sizeof(name);
    char host[64] = "?";
    uint16_t port = 0;
    if (uv_tcp_getsockname(&server->tcp, (struct sockaddr *)&name, &bytes) != 0) {
        return;
    }
    if (name.ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&name;
        (void)uv_ip6_name(six, host, sizeof(host));
        port = ntohs(six->sin6_port);
    } else {
        const struct sockaddr_in *four = (const struct sockaddr_in *)&name;
        (void)uv_ip4_name(four, host, sizeof(host));
        port = ntohs(four->sin_port);
    }
    const bool is_six = name.ss_family == AF_INET6;
    (void)snprintf(
        server->address, sizeof(server->address), "%s%s%s:%u", is_six ? "[" : "", host,
        is_six ? "]" : "", port);
}

/*
 * A descriptor a connection: as many as the system lets us have. If that is less than the
 * limit of connections, so is this: who meets it is told, and the rest of the process, and
 * connections above it, still get theirs.
 */
static void fit_descriptors(struct http_limits *limits)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return;
    }
    if (limit.rlim_cur < limit.rlim_max) {
        const struct rlimit raised = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
        limit.rlim_cur = setrlimit(RLIMIT_NOFILE, &raised) == 0 ? limit.rlim_max : limit.rlim_cur;
    }
    if (limit.rlim_cur == RLIM_INFINITY) {
        return;
    }
    const rlim_t kept = DESCRIPTORS_KEPT + limit.rlim_cur / 8;
    const rlim_t most = limit.rlim_cur > kept ? limit.rlim_cur - kept : 1;
    limits->connections_max =
        limits->connections_max > most ? (uint32_t)most : limits->connections_max;
}

static void set_limits(struct http_limits *limits)
{
    static const struct http_limits defaults = {
        .connections_max = 8192,
        .body_bytes_max = UINT64_C(1) << 30,
        .held_bytes_max = UINT64_C(1) << 32,
        .head_ms = 10000,
        .idle_ms = 75000,
        .grace_ms = 30000,
        .bytes_per_s_min = 1024,
        .answer_ms = 900000,
    };
#define USE_DEFAULT(field) limits->field = limits->field == 0 ? defaults.field : limits->field
    USE_DEFAULT(connections_max);
    USE_DEFAULT(body_bytes_max);
    USE_DEFAULT(head_ms);
    USE_DEFAULT(idle_ms);
    USE_DEFAULT(grace_ms);
    USE_DEFAULT(bytes_per_s_min);
    USE_DEFAULT(answer_ms);
    USE_DEFAULT(held_bytes_max);
#undef USE_DEFAULT
    fit_descriptors(limits);
    if (limits->address_connections_max == 0) {
        limits->address_connections_max = (limits->connections_max + 3) / 4;
    }
    if (limits->address_held_bytes_max == 0) {
        limits->address_held_bytes_max = limits->held_bytes_max / 2;
    }
}

static void on_listener_closed(uv_handle_t *handle)
{
    handle_closed(handle->data);
}

enum weft_status http_server_start(
    const struct http_options *options, struct http_server **server_out, struct weft_error *error)
{
    char host[HTTP_ADDRESS_BYTES] = "";
    char port[8] = "";
    const enum weft_status status = parse_address(options->address, host, port, error);
    if (status != WEFT_OK) {
        return status;
    }
    struct http_server *server = memory_zeroed(1, sizeof(*server));
    server->loop = options->loop;
    server->tls = options->tls;
    server->begin = options->begin;
    server->context = options->context;
    server->limits = options->limits;
    server->handles = 1;
    set_limits(&server->limits);
    server->clients = http_clients_create(&server->limits);
    if (server->tls != NULL) {
        server->cipher = memory_zeroed(1, CIPHER_BYTES);
    }
    int code = uv_tcp_init(server->loop, &server->tcp);
    ASSERT(code == 0);
    server->tcp.data = server;
    code = options->socket > 0 ? uv_tcp_open(&server->tcp, options->socket)
                               : bind_first(server, host, port);
    if (code == 0) {
        code = uv_listen((uv_stream_t *)&server->tcp, LISTEN_BACKLOG, on_connection);
    }
    if (code != 0) {
        uv_close((uv_handle_t *)&server->tcp, on_listener_closed);
        return error_set(
            error, WEFT_IO, "cannot listen on %s: %s", options->address, uv_strerror(code));
    }
    http_turns_start(server);
    note_address(server);
    *server_out = server;
    return WEFT_OK;
}

void http_server_stop(struct http_server *server)
{
    if (server == NULL) {
        return;
    }
    server->is_stopped = true;
    while (server->connections.first != NULL) {
        connection_close(LIST_ITEM(server->connections.first, struct connection, link));
    }
    http_turns_stop(server, on_listener_closed);
    if (uv_is_closing((uv_handle_t *)&server->tcp)) {
        handle_closed(server); /* It had left. */
    } else {
        uv_close((uv_handle_t *)&server->tcp, on_listener_closed);
    }
}

int http_server_leave(struct http_server *server)
{
    enum { SOCKET_MIN = 3 }; /* 0 stands for none, and the standard streams may be closed. */
    uv_os_fd_t socket = -1;
    (void)uv_fileno((const uv_handle_t *)&server->tcp, &socket); /* It is open. */
    const int copy = fcntl(socket, F_DUPFD_CLOEXEC, SOCKET_MIN);
    server->handles++; /* Until it is stopped. */
    uv_close((uv_handle_t *)&server->tcp, on_listener_closed);
    return copy > 0 ? copy : 0;
}

const char *http_server_address(const struct http_server *server)
{
    return server->address;
}

struct http_counts http_server_counts(const struct http_server *server)
{
    return server->counts;
}

void http_server_drain(struct http_server *server)
{
    server->is_draining = true;
}
