#include "server/server.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/memory.h"
#include "server/infer.h"
#include "server/server_inside.h"
#include "trace/recent.h"

#define SWEEP_NS 250000000

static void on_sweep(void *context)
{
    struct server *server = context;
    http_server_sweep(server->http);
    if (server->metrics_http != NULL) {
        http_server_sweep(server->metrics_http);
    }
    runtime_call_at(
        server->runtime, runtime_now_ns(server->runtime) + SWEEP_NS, /* background */ true,
        on_sweep, server);
}

static enum weft_status read_files(struct server *server, struct weft_error *error)
{
    const struct server_options *options = &server->options;
    enum weft_status status = WEFT_OK;
    if ((options->tls_certificate == NULL) != (options->tls_key == NULL)) {
        return error_set(error, WEFT_INVALID, "TLS needs both a certificate and a key");
    }
    if (options->tls_certificate != NULL) {
        status =
            tls_context_create(options->tls_certificate, options->tls_key, &server->tls, error);
    }
    return status == WEFT_OK ? access_open(&options->access, &server->access, error) : status;
}

static enum weft_status listen_on(
    struct server *server, const char *address, int socket, http_begin begin,
    struct http_server **http_out, struct weft_error *error)
{
    const struct http_options options = {
        .loop = runtime_loop(server->runtime),
        .address = address,
        .socket = socket,
        .tls = server->tls,
        .begin = begin,
        .context = server,
        .limits = server->options.limits,
    };
    return http_server_start(&options, http_out, error);
}

static void make_learned(struct server *server)
{
    const struct catalogue *catalogue = server->catalogue;
    server->learned = memory_zeroed(catalogue->workflow_count + 1, sizeof(void *));
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        server->learned[i] =
            memory_zeroed(WORKFLOW_PORTS_MAX, sizeof(**server->learned)); /* Results may come. */
    }
}

static void make_versions(struct server *server)
{
    const uint32_t count = server->catalogue->workflow_count;
    server->versions = memory_zeroed(count + 1, sizeof(*server->versions));
    for (uint32_t i = 0; i < count; i++) {
        struct server_entry entry;
        repository_entry(server, i, &entry);
        (void)memcpy(server->versions[i], entry.version, sizeof(entry.version));
    }
}

void server_release(struct server *server)
{
    if (server->works > 0 || server->infers.first != NULL) {
        return; /* They come back here. */
    }
    for (uint32_t i = 0; server->learned != NULL && i < server->catalogue->workflow_count; i++) {
        free(server->learned[i]);
    }
    for (uint32_t i = 0; i < server->spare_count; i++) {
        free(server->spares[i]);
    }
    free(server->learned);
    free(server->versions);
    metrics_destroy(server->metrics);
    recent_destroy(server->recent);
    tls_context_destroy(server->tls);
    free(server);
    memory_drop_reserve();
}

enum weft_status server_start(
    const struct server_options *options, struct server **server_out, struct weft_error *error)
{
    struct server *server = memory_zeroed(1, sizeof(*server));
    memory_keep_reserve();
    json_set_alloc_funcs(memory_block, free); /* Without memory it writes anywhere. */
    server->options = *options;
    server->runtime = options->runtime;
    server->catalogue = options->catalogue;
    enum weft_status status = read_files(server, error);
    if (status == WEFT_OK) {
        status = listen_on(
            server, options->http, options->sockets.http, route_begin, &server->http, error);
    }
    if (status == WEFT_OK && options->metrics != NULL) {
        status = listen_on(
            server, options->metrics, options->sockets.metrics, route_metrics,
            &server->metrics_http, error);
    }
    if (status != WEFT_OK) {
        http_server_stop(server->http);
        server_release(server);
        return status;
    }
    server->metrics = metrics_create(options->fleet, options->catalogue);
    server->recent = recent_create(RECENT_RECORDS);
    make_learned(server);
    make_versions(server);
    infer_work_start(server);
    runtime_call_at(
        server->runtime, runtime_now_ns(server->runtime) + SWEEP_NS, /* background */ true,
        on_sweep, server);
    *server_out = server;
    return WEFT_OK;
}

void server_stop(struct server *server)
{
    if (server == NULL) {
        return;
    }
    http_server_stop(server->http);
    http_server_stop(server->metrics_http);
    infer_forget(server);
    server->is_stopped = true; /* From here on what ends last releases it. */
    server_release(server);
}

void server_record(struct server *server, const struct record *record)
{
    if (server != NULL) {
        metrics_add(server->metrics, record);
        recent_add(server->recent, record);
    }
}

const char *server_http_address(const struct server *server)
{
    return http_server_address(server->http);
}

const char *server_metrics_address(const struct server *server)
{
    return server->metrics_http == NULL ? NULL : http_server_address(server->metrics_http);
}

uint32_t server_open_count(const struct server *server)
{
    return server->open;
}

void server_check_drained(struct server *server)
{
    if (server->is_draining && !server->is_drained && server->infers.first == NULL) {
        server->is_drained = true;
        if (server->options.drained != NULL) {
            server->options.drained(server->options.context);
        }
    }
}

bool server_is_drained(const struct server *server)
{
    return server == NULL || server->infers.first == NULL;
}

void server_drain(struct server *server)
{
    if (!server->is_draining) {
        server->is_draining = true;
        http_server_drain(server->http);
        server_check_drained(server);
    }
}

uint32_t server_abandon(struct server *server)
{
    const uint32_t count =
        server == NULL ? 0 : http_server_abandon(server->http, "refused: the server ended first");
    if (server != NULL) {
        server->answers[5] += count;
    }
    return count;
}

bool server_is_alone(const struct server *server)
{
    return server == NULL || http_server_counts(server->http).open == 0;
}
