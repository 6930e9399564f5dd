/* repository.c - Triton's repository extension: index, load and unload. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/memory.h"
#include "server/cause.h"
#include "server/server_inside.h"

/* A request whose body is small and waited for. */
struct call {
    struct server *server;
    struct http_exchange *exchange;
    enum repository_verb verb;
    char name[NAME_BYTES_MAX];
    size_t length;
    bool is_too_long;
    bool is_asked; /* The repository has been, and has not answered. */
    char body[SMALL_BODY_BYTES_MAX + 1];
};

static uint8_t *call_room(void *request, size_t *room_out)
{
    struct call *call = request;
    if (call->length == SMALL_BODY_BYTES_MAX) {
        call->is_too_long = true;
        call->length = 0; /* The rest is thrown away. */
    }
    *room_out = SMALL_BODY_BYTES_MAX - call->length;
    return (uint8_t *)call->body + call->length;
}

static void call_took(void *request, size_t count)
{
    ((struct call *)request)->length += count;
}

static void call_gone(void *request)
{
    struct call *call = request;
    call->exchange = NULL;
    if (!call->is_asked) {
        free(call);
    }
}

/* The entries of a server without a repository: the workflows of the catalogue. */
static bool catalogue_entry(
    const struct server *server, uint32_t index, struct server_entry *entry_out)
{
    if (index >= server->catalogue->workflow_count) {
        return false;
    }
    *entry_out =
        (struct server_entry){.version = "1", .state = "READY", .platform = "weft_workflow"};
    (void)snprintf(
        entry_out->name, sizeof(entry_out->name), "%s", server->catalogue->workflows[index]->name);
    return true;
}

static bool next_entry(const struct server *server, uint32_t index, struct server_entry *entry_out)
{
    const struct server_repository *repository = &server->options.repository;
    return repository->entry == NULL ? catalogue_entry(server, index, entry_out)
                                     : repository->entry(repository->context, index, entry_out);
}

void repository_entry(
    const struct server *server, uint32_t workflow, struct server_entry *entry_out)
{
    if (!next_entry(server, workflow, entry_out)) {
        ASSERT(catalogue_entry(server, workflow, entry_out));
    }
}

static bool write_entry(struct buffer *json, const struct server_entry *entry)
{
    char reason[CAUSE_BYTES_MAX];
    cause_write(entry->reason, reason);
    return buffer_add(json, "{\"name\":") && buffer_add_quoted(json, entry->name) &&
           buffer_add(json, ",\"version\":") && buffer_add_quoted(json, entry->version) &&
           buffer_add(json, ",\"state\":") && buffer_add_quoted(json, entry->state) &&
           buffer_add(json, ",\"reason\":") && buffer_add_quoted(json, reason) &&
           buffer_add(json, "}");
}

static void answer_index(struct call *call, const json_t *body)
{
    const bool only_ready = json_is_true(json_object_get(body, "ready"));
    struct buffer json = {.length = 0};
    struct server_entry entry = {.version = ""};
    bool is_good = buffer_add(&json, "[");
    bool is_first = true;
    for (uint32_t i = 0; is_good && next_entry(call->server, i, &entry); i++) {
        if (only_ready && strcmp(entry.state, "READY") != 0) {
            continue;
        }
        is_good = (is_first || buffer_add(&json, ",")) && write_entry(&json, &entry);
        is_first = false;
    }
    models_respond(call->exchange, &json, is_good && buffer_add(&json, "]"));
}

/* What became of a change; the call ends with it. */
static void on_changed(void *asker, enum weft_status status, const char *message)
{
    struct call *call = asker;
    if (call->exchange != NULL && status == WEFT_OK && message[0] != '\0') {
        struct buffer json = {.length = 0}; /* What members of a cluster did. */
        models_respond(call->exchange, &json, buffer_add(&json, "%s", message));
    } else if (call->exchange != NULL && status == WEFT_OK) {
        const struct http_response response = {.status = 200};
        http_respond(call->exchange, &response);
    } else if (call->exchange != NULL) {
        http_respond_error(
            call->exchange, status == WEFT_NOT_FOUND ? 404 : 400, message, /* extra */ NULL);
    }
    free(call);
}

static void change(struct call *call)
{
    const struct server_repository *repository = &call->server->options.repository;
    struct weft_error error = {.status = WEFT_OK};
    if (call->verb == REPOSITORY_LOAD ? repository->load == NULL : repository->unload == NULL) {
        on_changed(call, WEFT_INVALID, "this server has no repository to load from");
        return;
    }
    if (call->verb == REPOSITORY_LOAD) {
        call->is_asked = true;
        repository->load(repository->context, call->name, on_changed, call);
        return;
    }
    const enum weft_status status = repository->unload(repository->context, call->name, &error);
    on_changed(call, status, error.message);
}

static void call_end(void *request)
{
    struct call *call = request;
    call->body[call->length] = '\0';
    json_error_t wrong;
    errno = 0; /* jansson does not always tell that it had no memory; malloc() does. */
    json_t *body = call->length == 0 || call->is_too_long
                       ? NULL
                       : json_loadb(call->body, call->length, JSON_REJECT_DUPLICATES, &wrong);
    if (call->is_too_long) {
        http_respond_error(call->exchange, 413, "the body is too large", /* extra */ NULL);
    } else if (call->length > 0 && body == NULL && errno == ENOMEM) {
        http_respond_error(call->exchange, 503, "no memory", "Retry-After: 1\r\n");
    } else if (call->length > 0 && !json_is_object(body)) {
        http_respond_error(call->exchange, 400, "the body is not a JSON object", /* extra */ NULL);
    } else if (call->verb == REPOSITORY_INDEX) {
        answer_index(call, body);
    } else if (
        call->verb == REPOSITORY_LOAD &&
        json_object_size(json_object_get(body, "parameters")) > 0) {
        http_respond_error(
            call->exchange, 400, "models are loaded without parameters",
            /* extra */ NULL);
    } else {
        json_decref(body);
        change(call);
        return; /* It is released when the change has been made. */
    }
    json_decref(body);
    free(call);
}

void repository_begin(
    struct server *server, struct http_exchange *exchange, enum repository_verb verb,
    const char *name)
{
    static const struct http_receiver receiver = {call_room, call_took, call_end, call_gone};
    struct call *call = malloc(sizeof(*call));
    if (call == NULL || strlen(name) >= sizeof(call->name)) {
        http_respond_error(
            exchange, call == NULL ? 503 : 404, call == NULL ? "no memory" : "no such model",
            /* extra */ NULL);
        free(call);
        return;
    }
    call->server = server;
    call->exchange = exchange;
    call->verb = verb;
    call->length = 0;
    call->is_too_long = false;
    call->is_asked = false;
    (void)snprintf(call->name, sizeof(call->name), "%s", name);
    http_exchange_set(exchange, &receiver, call);
}
