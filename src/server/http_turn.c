/*
 * http_turn.c - how much one connection may have done in one turn of the loop.
 *
 * A client that sends many requests ahead, or a large body faster than others send theirs, waits
 * for the next turn after a few of them, so that the others are served in between.
 */
#include "base/assert.h"
#include "server/http_inside.h"

enum {
    TURN_REQUESTS_MAX = 4,
    TURN_BYTES_MAX = 1 << 20,
};

/* It is there: so the loop does not sleep. */
static void on_idle(uv_idle_t *idle)
{
    (void)idle;
}

/* The next turn begins: the connections that had to wait go on. */
static void on_prepare(uv_prepare_t *prepare)
{
    struct http_server *server = prepare->data;
    server->turn++;
    /* Those that must wait again are added behind the last. */
    for (uint32_t left = server->waiting_count; left > 0 && server->waiting != NULL; left--) {
        struct connection *connection = server->waiting;
        http_turn_leave(connection);
        connection_answered(connection);
    }
    if (server->waiting == NULL) {
        (void)uv_idle_stop(&server->idle);
    }
}

void http_turns_start(struct http_server *server)
{
    int failed = uv_prepare_init(server->loop, &server->prepare);
    ASSERT(failed == 0);
    failed = uv_idle_init(server->loop, &server->idle);
    ASSERT(failed == 0);
    server->prepare.data = server;
    server->idle.data = server;
    (void)uv_prepare_start(&server->prepare, on_prepare);
    uv_unref((uv_handle_t *)&server->prepare);
    server->handles += 2;
}

void http_turns_stop(struct http_server *server, uv_close_cb on_closed)
{
    uv_close((uv_handle_t *)&server->prepare, on_closed);
    uv_close((uv_handle_t *)&server->idle, on_closed);
}

/* Let @connection wait for the next turn. */
static void wait_for_turn(struct connection *connection)
{
    struct http_server *server = connection->server;
    struct connection **end = &server->waiting;
    if (connection->is_waiting) {
        return;
    }
    while (*end != NULL) {
        end = &(*end)->next_waiting;
    }
    *end = connection;
    connection->next_waiting = NULL;
    connection->is_waiting = true;
    server->waiting_count++;
    (void)uv_idle_start(&server->idle, on_idle);
}

void http_turn_leave(struct connection *connection)
{
    struct http_server *server = connection->server;
    if (!connection->is_waiting) {
        return;
    }
    struct connection **link = &server->waiting;
    while (*link != connection) {
        link = &(*link)->next_waiting;
    }
    *link = connection->next_waiting;
    connection->is_waiting = false;
    server->waiting_count--;
}

/* A new turn, a new account. */
static void look_at_turn(struct connection *connection)
{
    if (connection->turn != connection->server->turn) {
        connection->turn = connection->server->turn;
        connection->turn_requests = 0;
        connection->turn_bytes = 0;
    }
}

bool http_turn_may_begin(struct connection *connection)
{
    look_at_turn(connection);
    if (connection->turn_requests == TURN_REQUESTS_MAX) {
        wait_for_turn(connection);
        return false;
    }
    return true;
}

bool http_turn_took(struct connection *connection, size_t bytes)
{
    look_at_turn(connection);
    connection->turn_bytes += bytes;
    if (connection->turn_bytes < TURN_BYTES_MAX || connection->state == CONNECTION_CLOSED) {
        return true;
    }
    wait_for_turn(connection);
    return false;
}
