#include "server/lobby.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "server/http.h"
#include "server/server_inside.h"
#include "server/tls.h"

enum {
    SWEEP_MS = 250,
    LEAVE_LOOK_MS = 5, /* How often to look whether all clients have gone. */
    LEAVE_MS = 500,    /* Then those who still talk are cut off. */
};

#define STARTING "starting: models are being measured"

struct lobby {
    uv_loop_t loop;
    uv_async_t leave;
    uv_timer_t timer;
    uint64_t leave_ms; /* When lobby_leave() was called, on the loop's clock. 0: not yet. */
    struct http_server *http;
    struct http_server *metrics;
    struct tls_context *tls;
    struct access access;
    struct http_limits limits;
    struct lobby_sockets sockets; /* Once it has left. */
    pthread_t thread;
    bool is_running;
};

static void answer(struct http_exchange *exchange, const struct http_path *path)
{
    const bool is_v2 = strcmp(path->segments[0], "v2") == 0;
    const bool is_health = is_v2 && path->count == 3 && strcmp(path->segments[1], "health") == 0;
    if (is_health && strcmp(path->segments[2], "live") == 0) {
        http_respond_json(exchange, 200, "{\"live\":true}", /* extra */ NULL);
    } else if (is_health && strcmp(path->segments[2], "ready") == 0) {
        http_respond_json(
            exchange, 503, "{\"ready\":false,\"error\":\"" STARTING "\"}", "Retry-After: 1\r\n");
    } else {
        http_respond_error(exchange, 503, STARTING, "Retry-After: 1\r\n");
    }
}

/* False if @exchange has been answered: the path is wrong, or the client unknown. */
static bool admit(
    const struct lobby *lobby, struct http_exchange *exchange, const struct http_head *head,
    struct http_path *path_out)
{
    struct http_fault fault;
    if (http_path_read(head->target, path_out, &fault) != HTTP_DONE) {
        http_respond_error(exchange, fault.status, fault.cause, /* extra */ NULL);
        return false;
    }
    const bool is_health = path_out->count == 3 && strcmp(path_out->segments[1], "health") == 0;
    if (!is_health && !access_is_client(&lobby->access, head)) {
        http_respond_error(
            exchange, 401, "the bearer token is missing or wrong", "WWW-Authenticate: Bearer\r\n");
        return false;
    }
    return true;
}

static void begin(void *context, struct http_exchange *exchange, const struct http_head *head)
{
    struct http_path path;
    if (admit(context, exchange, head, &path)) {
        answer(exchange, &path);
    }
}

/* What there is to say of the process alone. */
static void begin_metrics(
    void *context, struct http_exchange *exchange, const struct http_head *head)
{
    struct http_path path;
    struct buffer buffer = {.length = 0};
    if (!admit(context, exchange, head, &path)) {
        return;
    }
    if (path.count != 1 || strcmp(path.segments[0], "metrics") != 0) {
        http_respond_error(exchange, 404, "not found: there is only /metrics", /* extra */ NULL);
        return;
    }
    metrics_respond(
        exchange, &buffer,
        metrics_write_ready(&buffer, /* is_ready */ false) && metrics_write_process(&buffer));
}

static enum weft_status listen_on(
    struct lobby *lobby, const char *address, http_begin handler, struct http_server **http_out,
    struct weft_error *error)
{
    const struct http_options options = {
        .loop = &lobby->loop, /* Every request is answered at once. */
        .address = address,
        .tls = lobby->tls,
        .limits = lobby->limits,
        .begin = handler,
        .context = lobby,
    };
    const enum weft_status status = http_server_start(&options, http_out, error);
    if (status == WEFT_OK) {
        http_server_drain(*http_out); /* The next request goes to the server that follows. */
    }
    return status;
}

static bool is_empty(const struct http_server *http)
{
    return http == NULL || http_server_counts(http).open == 0;
}

static void close_all(struct lobby *lobby)
{
    http_server_stop(lobby->http);
    http_server_stop(lobby->metrics);
    lobby->http = NULL;
    lobby->metrics = NULL;
    uv_close((uv_handle_t *)&lobby->timer, NULL);
    uv_close((uv_handle_t *)&lobby->leave, NULL);
}

static void on_timer(uv_timer_t *timer)
{
    struct lobby *lobby = timer->data;
    http_server_sweep(lobby->http);
    if (lobby->metrics != NULL) {
        http_server_sweep(lobby->metrics);
    }
    const bool is_late = uv_now(&lobby->loop) - lobby->leave_ms > LEAVE_MS;
    if (lobby->leave_ms > 0 && (is_late || (is_empty(lobby->http) && is_empty(lobby->metrics)))) {
        close_all(lobby); /* Nothing is left in the loop, which ends. */
    }
}

static void on_leave(uv_async_t *leave)
{
    struct lobby *lobby = leave->data;
    lobby->leave_ms = uv_now(&lobby->loop);
    lobby->sockets.http = http_server_leave(lobby->http);
    lobby->sockets.metrics = lobby->metrics == NULL ? 0 : http_server_leave(lobby->metrics);
    (void)uv_timer_start(&lobby->timer, on_timer, 0, LEAVE_LOOK_MS); /* The handle is open. */
}

static void *run(void *argument)
{
    struct lobby *lobby = argument;
    (void)uv_run(&lobby->loop, UV_RUN_DEFAULT);
    return NULL;
}

static void start_handles(struct lobby *lobby)
{
    int failed = uv_async_init(&lobby->loop, &lobby->leave, on_leave);
    ASSERT(failed == 0);
    failed = uv_timer_init(&lobby->loop, &lobby->timer);
    ASSERT(failed == 0);
    lobby->leave.data = lobby;
    lobby->timer.data = lobby;
    (void)uv_timer_start(&lobby->timer, on_timer, SWEEP_MS, SWEEP_MS); /* The same. */
}

static enum weft_status start(
    struct lobby *lobby, const struct lobby_options *options, struct weft_error *error)
{
    enum weft_status status = WEFT_OK;
    if (options->tls_certificate != NULL && options->tls_key != NULL) {
        status = tls_context_create(options->tls_certificate, options->tls_key, &lobby->tls, error);
    }
    if (status == WEFT_OK) {
        status = access_open(&options->access, &lobby->access, error);
    }
    if (status == WEFT_OK) {
        lobby->limits = options->limits;
        status = listen_on(lobby, options->http, begin, &lobby->http, error);
    }
    if (status == WEFT_OK && options->metrics != NULL) {
        status = listen_on(lobby, options->metrics, begin_metrics, &lobby->metrics, error);
    }
    if (status == WEFT_OK && pthread_create(&lobby->thread, NULL, run, lobby) != 0) {
        status = error_set(error, WEFT_IO, "cannot start a thread for clients during start-up");
    }
    return status;
}

enum weft_status lobby_open(
    const struct lobby_options *options, struct lobby **lobby_out, struct weft_error *error)
{
    struct lobby *lobby = memory_zeroed(1, sizeof(*lobby));
    const int code = uv_loop_init(&lobby->loop);
    if (code != 0) {
        free(lobby);
        return error_set(error, WEFT_IO, "cannot make an event loop: %s", uv_strerror(code));
    }
    start_handles(lobby);
    const enum weft_status status = start(lobby, options, error);
    lobby->is_running = status == WEFT_OK;
    if (status != WEFT_OK) {
        lobby_destroy(lobby);
        return status;
    }
    *lobby_out = lobby;
    return WEFT_OK;
}

const char *lobby_http_address(const struct lobby *lobby)
{
    return http_server_address(lobby->http);
}

const char *lobby_metrics_address(const struct lobby *lobby)
{
    return lobby->metrics == NULL ? NULL : http_server_address(lobby->metrics);
}

void lobby_leave(struct lobby *lobby, struct lobby_sockets *sockets_out)
{
    ASSERT(lobby->is_running);
    (void)uv_async_send(&lobby->leave); /* Fails only for a handle that is closing. */
    const int failed = pthread_join(lobby->thread, NULL);
    ASSERT(failed == 0);
    lobby->is_running = false;
    *sockets_out = lobby->sockets;
}

void lobby_destroy(struct lobby *lobby)
{
    struct lobby_sockets sockets = {.http = 0};
    if (lobby == NULL) {
        return;
    }
    if (lobby->is_running) {
        lobby_leave(lobby, &sockets);
        (void)close(sockets.http); /* Nothing was written to it, like the next. */
        (void)(sockets.metrics > 0 ? close(sockets.metrics) : 0);
    } else if (!uv_is_closing((uv_handle_t *)&lobby->timer)) { /* It never ran. */
        close_all(lobby);
        (void)uv_run(&lobby->loop, UV_RUN_DEFAULT);
    }
    const int failed = uv_loop_close(&lobby->loop);
    ASSERT(failed == 0);
    tls_context_destroy(lobby->tls);
    free(lobby);
}
