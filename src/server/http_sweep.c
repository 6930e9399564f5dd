/* http_sweep.c - what nothing announces: clients that are slow, that have left, that wait. */
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "server/http_inside.h"

/*
 * Bytes of the response that the client's machine has: neither in our queue nor in that of the
 * kernel, which buffers megabytes for a client that reads nothing.
 */
static uint64_t bytes_received(const struct connection *connection)
{
    const uint64_t queued = uv_stream_get_write_queue_size((const uv_stream_t *)&connection->tcp);
    uv_os_fd_t descriptor = -1;
    int unsent = 0;
    if (uv_fileno((const uv_handle_t *)&connection->tcp, &descriptor) != 0 ||
        ioctl(descriptor, SIOCOUTQ, &unsent) != 0 || unsent < 0) {
        unsent = 0;
    }
    const uint64_t left = queued + (uint64_t)unsent;
    return connection->out.sent > left ? connection->out.sent - left : 0;
}

/* Whether @connection may not go on: what it does has taken too long. */
static bool is_too_slow(const struct connection *connection, uint64_t now_ms)
{
    const struct http_limits *limits = &connection->server->limits;
    const uint64_t taken_ms = now_ms - connection->since_ms;
    switch (connection->state) {
    case CONNECTION_HEAD:
        if (connection->is_idle) {
            return connection->server->is_draining || taken_ms > limits->idle_ms;
        }
        return taken_ms > limits->head_ms ||
               (connection->admission == HTTP_SPARE && taken_ms > HTTP_SPARE_MS);
    case CONNECTION_BODY:
        return taken_ms >
               limits->grace_ms + connection->exchange.body_took * 1000 / limits->bytes_per_s_min;
    case CONNECTION_WRITE:
        if (taken_ms <= limits->grace_ms) {
            return false;
        }
        return taken_ms > limits->answer_ms ||
               taken_ms >
                   limits->grace_ms + bytes_received(connection) * 1000 / limits->bytes_per_s_min;
    case CONNECTION_LINGER:
        return taken_ms > HTTP_LINGER_MS;
    case CONNECTION_WAIT:
    case CONNECTION_CLOSED:
        return false;
    }
    return false;
}

/*
 * Whether the client of @connection, which waits for its answer, has left. Where reading is
 * under way the loop says so; where it rests, because so much was sent ahead that the buffer
 * is full, the end of it waits in the kernel behind the rest.
 */
static bool has_left(const struct connection *connection)
{
    struct pollfd polled = {.fd = -1, .events = POLLRDHUP};
    if (connection->state != CONNECTION_WAIT || connection->is_reading ||
        uv_fileno((const uv_handle_t *)&connection->tcp, &polled.fd) != 0) {
        return false;
    }
    return poll(&polled, 1, /* timeout */ 0) > 0 &&
           (polled.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

static void sweep_one(struct connection *connection, uint64_t now_ms)
{
    struct http_server *server = connection->server;
    if (has_left(connection)) {
        connection_close(connection);
        return;
    }
    if (!is_too_slow(connection, now_ms)) {
        return;
    }
    server->counts.slow += connection->state == CONNECTION_LINGER ? 0 : 1;
    if (connection->state == CONNECTION_HEAD && connection->in_bytes > 0) {
        const struct http_fault fault = {408, "the head took too long"};
        connection_refuse(connection, &fault);
    } else {
        connection_close(connection);
    }
}

void http_server_sweep(struct http_server *server)
{
    const uint64_t now_ms = uv_now(server->loop);
    struct list_link *next;
    for (struct list_link *at = server->connections.first; at != NULL; at = next) {
        next = at->next;
        sweep_one(LIST_ITEM(at, struct connection, link), now_ms);
    }
    http_accept_again(server);
}
