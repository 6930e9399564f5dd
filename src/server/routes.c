/* routes.c - which target means what. One function per resource; everything else is 404. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/text.h"
#include "server/server_inside.h"

enum { CAUSE_BYTES = 240 };

/* A request whose path is understood. */
struct routed {
    struct server *server;
    struct http_exchange *exchange;
    const struct http_head *head;
    struct http_path path;
};

/* Whether the method is one of "GET", which includes HEAD, or "POST"; answers if not. */
static bool wants(const struct routed *routed, enum http_method method)
{
    const enum http_method given = routed->head->method;
    const char *allow =
        method == HTTP_GET ? "Allow: GET, HEAD, OPTIONS\r\n" : "Allow: POST, OPTIONS\r\n";
    if (given == method || (given == HTTP_HEAD && method == HTTP_GET)) {
        return true;
    }
    if (given == HTTP_OPTIONS) {
        const struct http_response response = {.status = 204, .extra = allow};
        http_respond(routed->exchange, &response);
    } else {
        http_respond_error(routed->exchange, 405, "the method is not allowed here", allow);
    }
    return false;
}

static void not_found(const struct routed *routed, const char *cause)
{
    http_respond_error(routed->exchange, 404, cause, /* extra */ NULL);
}

static void health(const struct routed *routed)
{
    const bool is_live = strcmp(routed->path.segments[2], "live") == 0;
    if (!is_live && strcmp(routed->path.segments[2], "ready") != 0) {
        not_found(routed, "not found: health is 'live' or 'ready'");
        return;
    }
    if (!wants(routed, HTTP_GET)) {
        return;
    }
    if (is_live) {
        http_respond_json(routed->exchange, 200, "{\"live\":true}", /* extra */ NULL);
    } else if (routed->server->is_draining) {
        http_respond_json(
            routed->exchange, 503, "{\"ready\":false,\"error\":\"draining\"}",
            "Retry-After: 5\r\n");
    } else {
        http_respond_json(routed->exchange, 200, "{\"ready\":true}", /* extra */ NULL);
    }
}

/* What is asked of workflow @workflow: @verb, or nothing for its metadata. */
static void workflow_verb(const struct routed *routed, uint32_t workflow, const char *verb)
{
    static const struct {
        const char *verb;
        void (*answer)(struct server *server, struct http_exchange *exchange, uint32_t workflow);
    } verbs[] = {
        {"", models_metadata},
        {"config", models_config},
        {"ready", models_ready},
        {"stats", models_stats},
    };
    if (strcmp(verb, "infer") == 0) {
        if (wants(routed, HTTP_POST)) {
            infer_begin(routed->server, routed->exchange, routed->head, workflow);
        }
        return;
    }
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verb, verbs[i].verb) == 0) {
            if (wants(routed, HTTP_GET)) {
                verbs[i].answer(routed->server, routed->exchange, workflow);
            }
            return;
        }
    }
    not_found(routed, "not found: a model has 'infer', 'ready', 'stats' and 'config'");
}

/* No workflow or model is called @name: name the one that was meant, or some of those there are. */
static void say_unknown(const struct routed *routed, const char *name)
{
    const struct catalogue *catalogue = routed->server->catalogue;
    struct suggestion meant = suggest_for(name);
    char cause[CAUSE_BYTES];
    struct text text;
    text_init(&text, cause, sizeof(cause));
    text_add(&text, "there is no model '%.64s'", name);
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        suggest_consider(&meant, catalogue->workflows[i]->name);
    }
    if (meant.name != NULL) {
        text_add(&text, "; did you mean '%s'?", meant.name);
    }
    for (uint32_t i = 0; i < catalogue->workflow_count && meant.name == NULL; i++) {
        const char *known = catalogue->workflows[i]->name;
        if (text.length + strlen(known) + sizeof("; there are ''") >
            CAUSE_BYTES - sizeof(", ...")) {
            text_add(&text, ", ...");
            break;
        }
        text_add(&text, "%s'%s'", i == 0 ? "; there are " : ", ", known);
    }
    not_found(routed, cause);
}

/* "/v2/models/NAME[/versions/VERSION][/VERB]" */
static void models(const struct routed *routed)
{
    const struct http_path *path = &routed->path;
    uint32_t at = 3;
    if (path->count == 3 && strcmp(path->segments[2], "stats") == 0) {
        if (wants(routed, HTTP_GET)) {
            models_stats(routed->server, routed->exchange, UINT32_MAX);
        }
        return;
    }
    const uint32_t workflow = catalogue_find_workflow(routed->server->catalogue, path->segments[2]);
    if (workflow == UINT32_MAX) {
        say_unknown(routed, path->segments[2]);
        return;
    }
    if (path->count >= at + 2 && strcmp(path->segments[at], "versions") == 0) {
        const char *version = routed->server->versions[workflow];
        if (strcmp(path->segments[at + 1], version) != 0) {
            char cause[64];
            (void)snprintf(cause, sizeof(cause), "there is only version %s", version);
            not_found(routed, cause);
            return;
        }
        at += 2;
    }
    if (path->count > at + 1 || (path->count == at + 1 && path->segments[at][0] == '\0')) {
        not_found(routed, "not found");
        return;
    }
    workflow_verb(routed, workflow, path->count == at ? "" : path->segments[at]);
}

/* Whether the client may manage the server; answers if not. */
static bool may_manage(const struct routed *routed)
{
    const char *cause = "";
    const uint32_t status = access_to_management(
        &routed->server->access, routed->head, http_exchange_is_local(routed->exchange), &cause);
    if (status != 200) {
        http_respond_error(
            routed->exchange, status, cause, status == 401 ? "WWW-Authenticate: Bearer\r\n" : NULL);
    }
    return status == 200;
}

/* "/v2/repository/index" and "/v2/repository/models/NAME/load" or "unload" */
static void repository(const struct routed *routed)
{
    const struct http_path *path = &routed->path;
    if (path->count == 3 && strcmp(path->segments[2], "index") == 0) {
        if (wants(routed, HTTP_POST)) {
            repository_begin(routed->server, routed->exchange, REPOSITORY_INDEX, "");
        }
        return;
    }
    if (path->count <= 5 && strcmp(path->segments[2], "files") == 0 &&
        routed->server->options.files.fetch != NULL) {
        if (wants(routed, HTTP_GET)) {
            files_begin(routed->server, routed->exchange, routed->head);
        }
        return;
    }
    const bool is_load = path->count == 5 && strcmp(path->segments[4], "load") == 0;
    const bool is_unload = path->count == 5 && strcmp(path->segments[4], "unload") == 0;
    if (strcmp(path->segments[2], "models") != 0 || !(is_load || is_unload)) {
        not_found(routed, "not found: a repository has 'index' and 'models/NAME/load' or 'unload'");
        return;
    }
    if (wants(routed, HTTP_POST) && may_manage(routed)) {
        repository_begin(
            routed->server, routed->exchange, is_load ? REPOSITORY_LOAD : REPOSITORY_UNLOAD,
            path->segments[3]);
    }
}

/* "/v2/jobs/NAME" */
static void jobs(const struct routed *routed)
{
    if (wants(routed, HTTP_GET) && may_manage(routed)) {
        jobs_respond(routed->server, routed->exchange, routed->path.segments[2]);
    }
}

static void route(const struct routed *routed)
{
    const struct http_path *path = &routed->path;
    if (strcmp(path->segments[0], "v2") != 0) {
        not_found(routed, "not found: the protocol is under /v2");
    } else if (path->count == 1 || (path->count == 2 && path->segments[1][0] == '\0')) {
        if (wants(routed, HTTP_GET)) {
            models_server(routed->server, routed->exchange);
        }
    } else if (path->count == 3 && strcmp(path->segments[1], "health") == 0) {
        health(routed);
    } else if (path->count == 2 && strcmp(path->segments[1], "cluster") == 0) {
        if (wants(routed, HTTP_GET)) {
            cluster_begin(routed->server, routed->exchange);
        }
    } else if (path->count >= 3 && strcmp(path->segments[1], "models") == 0) {
        models(routed);
    } else if (path->count >= 3 && strcmp(path->segments[1], "repository") == 0) {
        repository(routed);
    } else if (path->count == 3 && strcmp(path->segments[1], "jobs") == 0) {
        jobs(routed);
    } else {
        not_found(routed, "not found");
    }
}

/* The server as a whole: "OPTIONS *". */
static bool is_asterisk(const struct http_head *head)
{
    return head->method == HTTP_OPTIONS && http_span_is(head->target, "*");
}

static bool prepare(
    struct routed *routed, struct server *server, struct http_exchange *exchange,
    const struct http_head *head)
{
    struct http_fault fault;
    routed->server = server; /* The path is long, and is not needed until it has been read. */
    routed->exchange = exchange;
    routed->head = head;
    if (is_asterisk(head)) {
        const struct http_response response = {
            .status = 204, .extra = "Allow: GET, HEAD, POST, OPTIONS\r\n"};
        http_respond(exchange, &response);
        return false;
    }
    if (head->method == HTTP_OTHER) {
        http_respond_error(
            exchange, 405, "the method is not allowed here", "Allow: GET, HEAD, POST, OPTIONS\r\n");
        return false;
    }
    if (http_path_read(head->target, &routed->path, &fault) != HTTP_DONE) {
        http_respond_error(exchange, fault.status, fault.cause, /* extra */ NULL);
        return false;
    }
    const bool is_health =
        routed->path.count == 3 && strcmp(routed->path.segments[1], "health") == 0;
    if (!is_health && !access_is_client(&server->access, head)) {
        http_respond_error(
            exchange, 401, "the bearer token is missing or wrong", "WWW-Authenticate: Bearer\r\n");
        return false;
    }
    if (!is_health && http_exchange_is_spare(exchange)) {
        http_respond_error(
            exchange, 503, "refused: too many connections, in all or from this address",
            "Retry-After: 1\r\n");
        return false;
    }
    return true;
}

void route_begin(void *context, struct http_exchange *exchange, const struct http_head *head)
{
    struct routed routed;
    if (prepare(&routed, context, exchange, head)) {
        route(&routed);
    }
}

static bool write_own(const struct server *server, struct buffer *buffer)
{
    const struct http_counts counts = http_server_counts(server->http);
    const struct runtime_counts runtime = runtime_counts(server->runtime);
    const struct {
        const char *name;
        const char *kind;
        const char *help;
        double value;
    } rows[] = {
        {"weft_scheduler_steps_total", "counter", "events that nodes handled",
         (double)runtime.steps},
        {"weft_scheduler_decisions_total", "counter", "questions that policies answered",
         (double)runtime.decisions},
        {"weft_members", "gauge", "nodes of the cluster, as far as known here",
         (double)runtime.members},
        {"weft_tensors", "gauge", "tensors in memory", (double)runtime.tensors},
        {"weft_tensor_sent_bytes_total", "counter", "bytes of tensors sent to other nodes",
         (double)runtime.sent_bytes},
        {"weft_http_connections", "gauge", "connections that are open", (double)counts.open},
        {"weft_http_connections_total", "counter", "connections accepted", (double)counts.accepted},
        {"weft_http_connections_refused_total", "counter", "connections above the limit",
         (double)counts.refused},
        {"weft_http_connections_slow_total", "counter", "connections closed for being too slow",
         (double)counts.slow},
        {"weft_http_requests_total", "counter", "requests whose head was read",
         (double)counts.requests},
        {"weft_http_faults_total", "counter", "malformed requests", (double)counts.faults},
        {"weft_http_received_bytes_total", "counter", "bytes from clients",
         (double)counts.bytes_in},
        {"weft_http_sent_bytes_total", "counter", "bytes to clients", (double)counts.bytes_out},
        {"weft_infer_open", "gauge", "inference requests without an answer", (double)server->open},
        {"weft_infer_responses_2xx_total", "counter", "successful inference responses",
         (double)server->answers[2]},
        {"weft_infer_responses_4xx_total", "counter", "inference requests with errors",
         (double)server->answers[4]},
        {"weft_infer_responses_5xx_total", "counter", "refused, late or failed",
         (double)server->answers[5]},
    };
    bool is_good = true;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && is_good; i++) {
        is_good =
            metrics_write_one(buffer, rows[i].name, rows[i].kind, rows[i].help, rows[i].value);
    }
    return is_good;
}

static bool write_gpus(const struct server_repository *repository, struct buffer *buffer)
{
    struct server_gpu gpus[SERVER_GPUS_MAX];
    const uint32_t count =
        repository->gpus == NULL ? 0 : repository->gpus(repository->context, gpus);
    return metrics_write_gpus(buffer, gpus, count);
}

void metrics_respond(struct http_exchange *exchange, struct buffer *buffer, bool is_good)
{
    respond_buffer(exchange, buffer, "text/plain; version=0.0.4; charset=utf-8", is_good);
}

void route_metrics(void *context, struct http_exchange *exchange, const struct http_head *head)
{
    struct routed routed;
    if (!prepare(&routed, context, exchange, head)) {
        return;
    }
    if (routed.path.count != 1 || strcmp(routed.path.segments[0], "metrics") != 0) {
        not_found(&routed, "not found: there is only /metrics");
        return;
    }
    if (!wants(&routed, HTTP_GET)) {
        return;
    }
    struct buffer buffer = {.length = 0};
    metrics_respond(
        exchange, &buffer,
        metrics_write(routed.server->metrics, &buffer) && write_own(routed.server, &buffer) &&
            metrics_write_devices(routed.server->metrics, routed.server->runtime, &buffer) &&
            write_gpus(&routed.server->options.repository, &buffer) &&
            metrics_write_ready(&buffer, !routed.server->is_draining) &&
            metrics_write_process(&buffer));
}
