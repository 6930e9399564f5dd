/* http_process.c - from bytes to requests: what a connection does with what has come. */
#include <string.h>

#include "base/assert.h"
#include "server/http_inside.h"

/* Forget the first @count bytes of the buffer. */
static void consume(struct connection *connection, size_t count)
{
    ASSERT(count <= connection->in_bytes);
    connection->in_bytes -= count;
    (void)memmove(connection->in, connection->in + count, connection->in_bytes);
}

void connection_refuse(struct connection *connection, const struct http_fault *fault)
{
    struct http_exchange *exchange = &connection->exchange;
    struct http_server *server = connection->server;
    server->counts.faults++;
    if (exchange->is_open && exchange->receiver != NULL) {
        exchange->receiver->gone(exchange->request);
    }
    *exchange = (struct http_exchange){.connection = connection, .is_open = true};
    http_respond_error(exchange, fault->status, fault->cause, /* extra */ NULL);
}

static void end_body(struct connection *connection)
{
    struct http_exchange *exchange = &connection->exchange;
    if (exchange->is_skipped) {
        connection->state = CONNECTION_HEAD;
        connection->is_idle = true;
        connection->since_ms = uv_now(connection->server->loop);
        return;
    }
    connection->state = CONNECTION_WAIT;
    exchange->receiver->end(exchange->request);
}

void connection_took(struct connection *connection, size_t count)
{
    struct http_exchange *exchange = &connection->exchange;
    ASSERT(exchange->is_open);
    exchange->body_took += count;
    if (!exchange->is_chunked) {
        ASSERT(count <= exchange->body_left);
        exchange->body_left -= count;
    }
    exchange->receiver->took(exchange->request, count);
    if (exchange->is_open && !exchange->is_chunked && exchange->body_left == 0) {
        end_body(connection);
    }
}

/*
 * Hand @data over, piece by piece, until the receiver answers. Returns how many bytes it took:
 * what is left of the body is still to be skipped.
 */
static size_t copy_body(struct connection *connection, struct http_span data)
{
    struct http_exchange *exchange = &connection->exchange;
    size_t taken = 0;
    while (taken < data.length && exchange->is_open) {
        size_t room = 0;
        uint8_t *bytes = exchange->receiver->room(exchange->request, &room);
        const size_t left = data.length - taken;
        const size_t count = room < left ? room : left;
        ASSERT(count > 0);
        (void)memcpy(bytes, data.bytes + taken, count);
        taken += count;
        connection_took(connection, count);
    }
    return taken;
}

static void take_length(struct connection *connection)
{
    struct http_exchange *exchange = &connection->exchange;
    const size_t count = exchange->body_left < connection->in_bytes ? (size_t)exchange->body_left
                                                                    : connection->in_bytes;
    if (exchange->is_skipped) {
        exchange->body_left -= count;
        exchange->body_took += count;
        consume(connection, count);
        if (exchange->body_left == 0) {
            end_body(connection);
        }
        return;
    }
    consume(connection, copy_body(connection, (struct http_span){connection->in, count}));
}

static void take_chunks(struct connection *connection)
{
    struct http_exchange *exchange = &connection->exchange;
    struct http_span data;
    struct http_fault fault;
    size_t used = 0;
    const enum http_got got = http_chunks_read(
        &exchange->chunks, (struct http_span){connection->in, connection->in_bytes}, &used, &data,
        &fault);
    if (got == HTTP_BAD) {
        connection_refuse(connection, &fault);
        return;
    }
    const uint64_t announced = exchange->body_took + data.length + exchange->chunks.left;
    if (announced > connection->server->limits.body_bytes_max) {
        fault = (struct http_fault){413, "the body is too large"};
        connection_refuse(connection, &fault);
        return;
    }
    (void)copy_body(connection, data); /* An answer before the end closes the connection. */
    consume(connection, used);
    if (got == HTTP_DONE && exchange->is_open) {
        end_body(connection);
    }
}

/* What can be said about a request by its head alone. */
static bool is_acceptable(
    const struct http_head *head, const struct http_limits *limits, struct http_fault *fault_out)
{
    if (head->has_length && head->length > limits->body_bytes_max) {
        *fault_out = (struct http_fault){413, "the body is too large"};
        return false;
    }
    return true;
}

static void begin(struct connection *connection, const struct http_head *head)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct http_exchange *exchange = &connection->exchange;
    struct http_server *server = connection->server;
    struct http_fault fault;
    server->counts.requests++;
    connection->turn_requests++;
    if (!is_acceptable(head, &server->limits, &fault)) {
        connection_refuse(connection, &fault);
        return;
    }
    *exchange = (struct http_exchange){
        .connection = connection,
        .is_open = true,
        .is_head = head->method == HTTP_HEAD,
        .keep_alive = head->keep_alive && !head->expects_continue,
        .is_old = head->minor == 0,
        .has_body = head->is_chunked || head->length > 0,
        .is_chunked = head->is_chunked,
        .body_left = head->length,
    };
    const size_t head_bytes = head->bytes;
    const bool is_awaited = head->expects_continue && connection->in_bytes == head_bytes;
    connection->state = exchange->has_body ? CONNECTION_BODY : CONNECTION_WAIT;
    connection->since_ms = uv_now(server->loop);
    server->begin(server->context, exchange, head);
    consume(connection, head_bytes);
    connection->scanned = 0;
    if (!exchange->is_open || connection->state == CONNECTION_CLOSED) {
        return;
    }
    ASSERT(exchange->receiver != NULL);
    exchange->keep_alive = head->keep_alive;
    if (is_awaited) {
        connection_send(connection, go_on, sizeof(go_on) - 1);
    }
    if (!exchange->has_body && connection->state == CONNECTION_WAIT) {
        exchange->receiver->end(exchange->request);
    }
}

static bool take_head(struct connection *connection)
{
    struct http_head head;
    struct http_fault fault;
    if (connection->is_idle) {
        connection->is_idle = false;
        connection->since_ms = uv_now(connection->server->loop);
    }
    const enum http_got got =
        http_head_read(connection->in, connection->in_bytes, &connection->scanned, &head, &fault);
    if (got == HTTP_BAD) {
        connection_refuse(connection, &fault);
    } else if (got == HTTP_DONE) {
        begin(connection, &head);
    }
    return got != HTTP_MORE;
}

void connection_process(struct connection *connection)
{
    bool is_moving = true;
    ASSERT(!connection->is_processing);
    connection->is_processing = true;
    while (is_moving && connection->in_bytes > 0) { /* Nothing else takes from the buffer. */
        switch (connection->state) {
        case CONNECTION_HEAD:
            is_moving = http_turn_may_begin(connection) && take_head(connection);
            break;
        case CONNECTION_BODY:
            if (connection->exchange.is_chunked) {
                take_chunks(connection);
            } else {
                take_length(connection);
            }
            break;
        case CONNECTION_LINGER:
            connection->in_bytes = 0;
            break;
        case CONNECTION_WAIT:
        case CONNECTION_WRITE:
        case CONNECTION_CLOSED:
            is_moving = false;
            break;
        }
    }
    connection->is_processing = false;
}
