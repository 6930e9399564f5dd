/* http_write.c - responses on their way to the client, plain or encrypted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/text.h"
#include "protocol/json_text.h"
#include "server/cause.h"
#include "server/http_inside.h"

enum {
    SKIP_BYTES_MAX = 65536,   /* An unwanted body is read to its end if no more is left. */
    QUEUE_BYTES_MAX = 262144, /* Beside responses: a client that asks for more must read. */
};

struct loose_write {
    uv_write_t request;
    struct connection *connection;
    char bytes[];
};

static void on_loose_written(uv_write_t *request, int status)
{
    struct loose_write *loose = request->data;
    if (status < 0 && status != UV_ECANCELED) {
        connection_close(loose->connection);
    }
    free(loose);
}

static void send_raw(struct connection *connection, const char *bytes, size_t count)
{
    uv_stream_t *stream = (uv_stream_t *)&connection->tcp;
    uv_buf_t buffer = uv_buf_init((char *)(uintptr_t)bytes, (unsigned int)count);
    const int wrote = uv_try_write(stream, &buffer, 1);
    const size_t done = wrote > 0 ? (size_t)wrote : 0;
    connection->server->counts.bytes_out += count;
    if (done == count) {
        return;
    }
    struct loose_write *loose = malloc(sizeof(*loose) + count - done);
    if (loose == NULL || uv_stream_get_write_queue_size(stream) > QUEUE_BYTES_MAX ||
        (wrote < 0 && wrote != UV_EAGAIN)) {
        free(loose);
        connection_close(connection);
        return;
    }
    loose->request.data = loose;
    loose->connection = connection;
    (void)memcpy(loose->bytes, bytes + done, count - done);
    buffer = uv_buf_init(loose->bytes, (unsigned int)(count - done));
    if (uv_write(&loose->request, stream, &buffer, 1, on_loose_written) != 0) {
        free(loose);
        connection_close(connection);
    }
}

void connection_flush_tls(struct connection *connection)
{
    char cipher[4096];
    size_t count = tls_pending(connection->tls, cipher, sizeof(cipher));
    while (count > 0 && connection->state != CONNECTION_CLOSED) {
        send_raw(connection, cipher, count);
        count = tls_pending(connection->tls, cipher, sizeof(cipher));
    }
}

void connection_send(struct connection *connection, const char *bytes, size_t count)
{
    if (connection->tls == NULL) {
        send_raw(connection, bytes, count);
    } else if (tls_write(connection->tls, bytes, count)) {
        connection_flush_tls(connection);
    } else {
        connection_close(connection);
    }
}

void outgoing_release(struct connection *connection)
{
    struct outgoing *out = &connection->out;
    if (out->is_writing) {
        return; /* The socket still reads it; its end comes before that of the connection. */
    }
    void (*release)(void *context) = out->release;
    out->release = NULL;
    free(out->copied);
    out->copied = NULL;
    free(out->cipher);
    out->cipher = NULL;
    if (release != NULL) {
        release(out->context);
    }
}

static void on_shut(uv_shutdown_t *request, int status)
{
    (void)status;
    struct connection *connection = request->data;
    if (connection->has_ended) {
        connection_close(connection);
    }
}

/* The response has left. */
static void sent(struct connection *connection)
{
    struct http_exchange *exchange = &connection->exchange;
    outgoing_release(connection);
    if (connection->state == CONNECTION_CLOSED) {
        return;
    }
    connection->since_ms = uv_now(connection->server->loop);
    if (exchange->keep_alive) {
        const bool is_left = exchange->has_body && exchange->body_left > 0;
        exchange->is_skipped = is_left;
        connection->state = is_left ? CONNECTION_BODY : CONNECTION_HEAD;
        connection->is_idle = !is_left;
        connection_answered(connection);
        return;
    }
    connection->state = CONNECTION_LINGER; /* What has come is thrown away where it is read. */
    connection->shutdown.data = connection;
    if (uv_shutdown(&connection->shutdown, (uv_stream_t *)&connection->tcp, on_shut) != 0) {
        connection_close(connection);
        return;
    }
    connection_answered(connection);
}

static void on_written(uv_write_t *request, int status)
{
    struct connection *connection = request->data;
    connection->out.is_writing = false;
    if (connection->state == CONNECTION_CLOSED) {
        outgoing_release(connection);
    } else if (status < 0) {
        connection_close(connection);
    } else {
        outgoing_push(connection);
    }
}

static void write_all(struct connection *connection, uv_buf_t *buffers, uint32_t count)
{
    struct outgoing *out = &connection->out;
    out->request.data = connection;
    out->is_writing = true;
    if (uv_write(&out->request, (uv_stream_t *)&connection->tcp, buffers, count, on_written) != 0) {
        out->is_writing = false;
        connection_close(connection);
    }
}

/* Leave out the first @count bytes of what is to be written. */
static void advance(struct outgoing *out, size_t count)
{
    while (out->buffer_next < out->buffer_count) {
        uv_buf_t *buffer = &out->buffers[out->buffer_next];
        if (count < buffer->len) {
            buffer->base += count;
            buffer->len -= count;
            return;
        }
        count -= buffer->len;
        out->buffer_next++;
    }
}

static void push_plain(struct connection *connection)
{
    struct outgoing *out = &connection->out;
    const uint32_t count = out->buffer_count - out->buffer_next;
    const int wrote =
        uv_try_write((uv_stream_t *)&connection->tcp, out->buffers + out->buffer_next, count);
    if (wrote < 0 && wrote != UV_EAGAIN) {
        connection_close(connection);
        return;
    }
    advance(out, wrote > 0 ? (size_t)wrote : 0);
    out->sent = out->bytes;
    if (out->buffer_next < out->buffer_count) {
        const uint32_t first = out->buffer_next;
        out->buffer_next = out->buffer_count;
        write_all(connection, out->buffers + first, out->buffer_count - first);
    }
}

/* Encrypt the next piece and write it; the rest when that has left. */
static void push_tls(struct connection *connection)
{
    struct outgoing *out = &connection->out;
    size_t plain = 0;
    if (out->cipher == NULL) {
        out->cipher = malloc(2 * (size_t)CIPHER_BYTES);
    }
    while (out->cipher != NULL && plain < CIPHER_BYTES && out->buffer_next < out->buffer_count) {
        const uv_buf_t *buffer = &out->buffers[out->buffer_next];
        const size_t most = CIPHER_BYTES - plain;
        const size_t count = buffer->len < most ? buffer->len : most;
        if (count > 0 && !tls_write(connection->tls, buffer->base, count)) {
            connection_close(connection);
            return;
        }
        plain += count;
        advance(out, count);
    }
    const size_t cipher = out->cipher == NULL
                              ? 0
                              : tls_pending(connection->tls, out->cipher, 2 * (size_t)CIPHER_BYTES);
    if (cipher == 0) {
        connection_close(connection);
        return;
    }
    out->sent += plain;
    uv_buf_t buffer = uv_buf_init((char *)out->cipher, (unsigned int)cipher);
    write_all(connection, &buffer, 1);
}

void outgoing_push(struct connection *connection)
{
    struct outgoing *out = &connection->out;
    if (out->buffer_next < out->buffer_count) {
        if (connection->tls == NULL) {
            push_plain(connection);
        } else {
            push_tls(connection);
        }
    }
    if (connection->state == CONNECTION_WRITE && !out->is_writing) {
        sent(connection);
    }
}

/* Whether the connection can be used again: little or nothing of the body is left. */
static bool can_keep(const struct connection *connection)
{
    const struct http_exchange *exchange = &connection->exchange;
    if (!exchange->keep_alive || connection->server->is_draining ||
        connection->admission != HTTP_ADMITTED) {
        return false;
    }
    const bool is_complete = !exchange->has_body || connection->state == CONNECTION_WAIT;
    return is_complete || (!exchange->is_chunked && exchange->body_left <= SKIP_BYTES_MAX);
}

/* The time as HTTP writes it (RFC 9110, 5.6.7), made once per second. */
static const char *date_now(struct http_server *server)
{
    static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    uv_timeval64_t now = {.tv_sec = 0};
    struct tm parts;
    (void)uv_gettimeofday(&now); /* Cannot fail. */
    const time_t seconds = (time_t)now.tv_sec;
    if (server->date[0] != '\0' && server->date_s == now.tv_sec) {
        return server->date;
    }
    if (gmtime_r(&seconds, &parts) == NULL) {
        return "Thu, 01 Jan 1970 00:00:00 GMT"; /* The clock is far out of range. */
    }
    server->date_s = now.tv_sec;
    (void)snprintf(
        server->date, sizeof(server->date), "%s, %02d %s %04d %02d:%02d:%02d GMT",
        days[parts.tm_wday], parts.tm_mday, months[parts.tm_mon], parts.tm_year + 1900,
        parts.tm_hour, parts.tm_min, parts.tm_sec);
    return server->date;
}

static void set_head(
    struct connection *connection, const struct http_response *response, uint64_t body_bytes)
{
    struct outgoing *out = &connection->out;
    const char *type = response->type;
    const struct http_exchange *exchange = &connection->exchange;
    const char *kept = exchange->is_old ? "Connection: keep-alive\r\n" : "";
    const char *ending = exchange->keep_alive ? kept : "Connection: close\r\n";
    struct text head;
    text_init(&head, out->head, sizeof(out->head));
    text_put(&head, "HTTP/1.1 ");
    text_put_number(&head, response->status);
    text_put(&head, " ");
    text_put(&head, http_status_text(response->status));
    text_put(&head, "\r\nDate: ");
    text_put(&head, date_now(connection->server));
    text_put(&head, type == NULL ? "" : "\r\nContent-Type: ");
    text_put(&head, type == NULL ? "" : type);
    if (response->status != 204) { /* There is no body: it must not have a length (RFC 9110). */
        text_put(&head, "\r\nContent-Length: ");
        text_put_number(&head, body_bytes);
    }
    text_put(&head, "\r\n");
    text_put(&head, response->extra == NULL ? "" : response->extra);
    text_put(&head, ending);
    text_put(&head, "\r\n");
    ASSERT(!head.cut);
    out->buffers[0] = uv_buf_init(out->head, (unsigned int)head.length);
    out->buffer_count = 1;
}

void http_respond(struct http_exchange *exchange, const struct http_response *response)
{
    struct connection *connection = exchange->connection;
    struct outgoing *out = &connection->out;
    ASSERT(exchange->is_open);
    ASSERT(!out->is_writing);
    ASSERT(response->status >= 200 && response->status < 600);
    ASSERT(response->extra == NULL || strlen(response->extra) < HTTP_EXTRA_BYTES);
    ASSERT(response->part_count <= HTTP_PARTS_MAX);
    exchange->is_open = false;
    exchange->receiver = NULL;
    exchange->keep_alive = can_keep(connection);
    out->release = response->release;
    out->context = response->context;
    out->buffer_next = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < response->part_count; i++) {
        bytes += response->parts[i].length;
    }
    set_head(connection, response, bytes);
    for (uint32_t i = 0; i < response->part_count && !exchange->is_head; i++) {
        const struct http_part *part = &response->parts[i];
        out->buffers[out->buffer_count] =
            (uv_buf_t){.base = (char *)(uintptr_t)part->bytes, .len = part->length};
        out->buffer_count += part->length > 0 ? 1 : 0;
    }
    out->bytes = bytes + out->buffers[0].len;
    out->sent = 0;
    connection->server->counts.bytes_out += out->bytes;
    connection->state = CONNECTION_WRITE;
    connection->since_ms = uv_now(connection->server->loop);
    outgoing_push(connection);
}

static void respond_copy(
    struct http_exchange *exchange, struct http_response *response, const char *text)
{
    const struct http_part part = {text, strlen(text)};
    char *copy = malloc(part.length + 1);
    if (copy == NULL) {
        exchange->is_open = false;
        connection_close(exchange->connection);
        return;
    }
    (void)memcpy(copy, text, part.length);
    const struct http_part copied = {copy, part.length};
    exchange->connection->out.copied = copy;
    response->part_count = 1;
    response->parts = &copied;
    http_respond(exchange, response);
    response->parts = NULL;
}

void http_respond_json(
    struct http_exchange *exchange, uint32_t status, const char *json, const char *extra)
{
    struct http_response response = {.status = status, .type = "application/json", .extra = extra};
    respond_copy(exchange, &response, json);
}

void http_respond_error(
    struct http_exchange *exchange, uint32_t status, const char *cause, const char *extra)
{
    static const char before[] = "{\"error\":";
    char clean[CAUSE_BYTES_MAX];
    char json[sizeof(before) + JSON_TEXT_ROOM(CAUSE_BYTES_MAX) + 1];
    cause_write(cause, clean);
    (void)memcpy(json, before, sizeof(before) - 1);
    size_t length = sizeof(before) - 1;
    length += json_text_encode(clean, strlen(clean), json + length);
    json[length++] = '}';
    json[length] = '\0';
    http_respond_json(exchange, status, json, extra);
}

void http_exchange_set(
    struct http_exchange *exchange, const struct http_receiver *receiver, void *request)
{
    ASSERT(exchange->is_open);
    ASSERT(exchange->receiver == NULL);
    exchange->receiver = receiver;
    exchange->request = request;
}

bool http_exchange_is_spare(const struct http_exchange *exchange)
{
    return exchange->connection->admission == HTTP_SPARE;
}

bool http_exchange_is_local(const struct http_exchange *exchange)
{
    return exchange->connection->is_local;
}

uint64_t http_exchange_body_bytes(const struct http_exchange *exchange)
{
    return exchange->is_chunked ? UINT64_MAX : exchange->body_left;
}
