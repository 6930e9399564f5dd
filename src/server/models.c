/* models.c - what the server and its workflows say about themselves. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/bundle.h"
#include "protocol/oip_request.h"
#include "server/server_inside.h"

static void release(void *context)
{
    free(context);
}

void respond_buffer(
    struct http_exchange *exchange, struct buffer *buffer, const char *type, bool is_good)
{
    if (!is_good) {
        free(buffer->bytes);
        http_respond_error(exchange, 503, "no memory", /* extra */ NULL);
        return;
    }
    const struct http_part part = {buffer->bytes, buffer->length};
    const struct http_response response = {
        .status = 200,
        .type = type,
        .part_count = 1,
        .parts = &part,
        .release = release,
        .context = buffer->bytes,
    };
    http_respond(exchange, &response);
}

void models_respond(struct http_exchange *exchange, struct buffer *buffer, bool is_good)
{
    respond_buffer(exchange, buffer, "application/json", is_good);
}

void models_server(struct server *server, struct http_exchange *exchange)
{
    (void)server;
    http_respond_json(
        exchange, 200,
        "{\"name\":\"weft\",\"version\":\"" WEFT_VERSION "\",\"extensions\":["
        "\"binary_tensor_data\",\"model_configuration\",\"model_repository\","
        "\"schedule_policy\",\"statistics\"]}",
        /* extra */ NULL);
}

/* Whether workflow number @workflow can be used now. */
static bool is_ready(const struct server *server, uint32_t workflow)
{
    const struct server_repository *repository = &server->options.repository;
    if (server->is_draining) {
        return false;
    }
    return repository->is_ready == NULL || repository->is_ready(repository->context, workflow);
}

const char *models_obstacle(
    const struct server *server, uint32_t workflow, char text[static MODELS_OBSTACLE_BYTES])
{
    const struct server_repository *repository = &server->options.repository;
    struct server_entry entry = {.reason = ""};
    if (is_ready(server, workflow)) {
        return NULL;
    }
    if (!server->is_draining && repository->entry != NULL) { /* Those of workflows come first. */
        (void)repository->entry(repository->context, workflow, &entry);
    }
    (void)snprintf(
        text, MODELS_OBSTACLE_BYTES, "refused: %s",
        server->is_draining       ? "draining"
        : entry.reason[0] == '\0' ? "the model is not ready"
                                  : entry.reason);
    return text;
}

void models_ready(struct server *server, struct http_exchange *exchange, uint32_t workflow)
{
    char text[MODELS_OBSTACLE_BYTES];
    const char *obstacle = models_obstacle(server, workflow, text);
    struct buffer json = {.length = 0};
    const bool is_good = buffer_add(&json, "{\"name\":") &&
                         buffer_add_quoted(&json, server->catalogue->workflows[workflow]->name) &&
                         buffer_add(&json, ",\"ready\":%s", obstacle == NULL ? "true" : "false") &&
                         (obstacle == NULL || (buffer_add(&json, ",\"error\":") &&
                                               buffer_add_quoted(&json, obstacle))) &&
                         buffer_add(&json, "}");
    if (is_good) {
        http_respond_json(
            exchange, obstacle == NULL ? 200 : 503, json.bytes,
            obstacle == NULL ? NULL : "Retry-After: 5\r\n");
    } else {
        http_respond_error(exchange, 503, "no memory", /* extra */ NULL);
    }
    free(json.bytes);
}

/* What is known of a result: from its document, from the repository, or from answers. */
static void describe(
    const struct server *server, uint32_t workflow, uint32_t result, struct learned *learned_out)
{
    const struct server_repository *repository = &server->options.repository;
    const struct workflow_result *declared =
        &server->catalogue->workflows[workflow]->results[result];
    struct weft_tensor tensor = {.rank = 0};
    *learned_out = server->learned[workflow][result];
    if (declared->is_declared) {
        *learned_out =
            (struct learned){.is_known = true, .dtype = declared->dtype, .rank = declared->rank};
        (void)memcpy(learned_out->shape, declared->shape, sizeof(declared->shape));
    } else if (
        repository->describe != NULL &&
        repository->describe(repository->context, workflow, result, &tensor)) {
        learned_out->is_known = true;
        learned_out->dtype = tensor.dtype;
        learned_out->rank = tensor.rank;
        (void)memcpy(learned_out->shape, tensor.shape, sizeof(tensor.shape));
    }
}

void models_learn(
    struct server *server, uint32_t workflow, uint32_t result, const struct weft_tensor *tensor)
{
    struct learned *learned = &server->learned[workflow][result];
    if (!learned->is_known) {
        *learned = (struct learned){.is_known = true, .dtype = tensor->dtype, .rank = tensor->rank};
        for (uint32_t i = 0; i < WEFT_RANK_MAX; i++) {
            learned->shape[i] = -1;
        }
    } else if (learned->rank != tensor->rank) {
        learned->rank = 1; /* As good as any: it varies. */
    }
}

/* In which of its two forms a tensor is described. */
enum form {
    FORM_METADATA, /* "datatype", "shape" */
    FORM_CONFIG,   /* "data_type", "dims" */
    FORM_BATCHED,  /* The same without the first extent, which counts rows. */
};

static bool write_tensor(
    struct buffer *json, const char *name, const struct learned *learned, enum form form)
{
    const bool is_config = form != FORM_METADATA;
    const uint32_t first = form == FORM_BATCHED && learned->rank > 0 ? 1 : 0;
    char shape[OIP_SHAPE_BYTES];
    const char *type = learned->is_known ? dtype_name(learned->dtype) : "INVALID"; /* Triton's. */
    if (is_config && learned->is_known && learned->dtype == WEFT_BYTES) {
        type = "STRING"; /* Its name in configurations alone. */
    }
    if (learned->is_known) {
        (void)oip_shape_text(shape, learned->rank - first, learned->shape + first);
    }
    return buffer_add(json, "{\"name\":") && buffer_add_quoted(json, name) &&
           buffer_add(
               json, ",\"%s\":\"%s%s\",\"%s\":%s}", is_config ? "data_type" : "datatype",
               is_config ? "TYPE_" : "", type, is_config ? "dims" : "shape",
               learned->is_known ? shape : "[-1]");
}

static bool write_inputs(struct buffer *json, const struct workflow *workflow, enum form form)
{
    bool is_good = true;
    for (uint32_t i = 0; i < workflow->input_count && is_good; i++) {
        const struct workflow_input *input = &workflow->inputs[i];
        struct learned known = {.is_known = true, .dtype = input->dtype, .rank = input->rank};
        (void)memcpy(known.shape, input->shape, sizeof(known.shape));
        is_good =
            (i == 0 || buffer_add(json, ",")) && write_tensor(json, input->name, &known, form);
    }
    return is_good;
}

static bool write_results(
    struct buffer *json, const struct server *server, uint32_t number, enum form form)
{
    const struct workflow *workflow = server->catalogue->workflows[number];
    bool is_good = true;
    for (uint32_t i = 0; i < workflow->result_count && is_good; i++) {
        struct learned known;
        describe(server, number, i, &known);
        is_good = (i == 0 || buffer_add(json, ",")) &&
                  write_tensor(json, workflow->results[i].name, &known, form);
    }
    return is_good;
}

/* Why it is never batched, if so; in @form a value has a kind. */
static bool write_parameters(struct buffer *json, const struct server_entry *entry, enum form form)
{
    const bool has_kind = form != FORM_METADATA;
    return entry->alone == NULL ||
           (buffer_add(
                json, ",\"parameters\":{\"never_batched\":%s",
                has_kind ? "{\"string_value\":" : "") &&
            buffer_add_quoted(json, entry->alone) && buffer_add(json, has_kind ? "}}" : "}"));
}

void models_metadata(struct server *server, struct http_exchange *exchange, uint32_t workflow)
{
    const struct workflow *described = server->catalogue->workflows[workflow];
    struct buffer json = {.length = 0};
    struct server_entry entry;
    repository_entry(server, workflow, &entry);
    const bool is_good =
        buffer_add(&json, "{\"name\":") && buffer_add_quoted(&json, described->name) &&
        buffer_add(
            &json, ",\"versions\":[\"%s\"],\"platform\":\"%s\",\"inputs\":[", entry.version,
            entry.platform) &&
        write_inputs(&json, described, FORM_METADATA) && buffer_add(&json, "],\"outputs\":[") &&
        write_results(&json, server, workflow, FORM_METADATA) && buffer_add(&json, "]") &&
        write_parameters(&json, &entry, FORM_METADATA) && buffer_add(&json, "}");
    models_respond(exchange, &json, is_good);
}

void models_config(struct server *server, struct http_exchange *exchange, uint32_t workflow)
{
    const struct workflow *described = server->catalogue->workflows[workflow];
    struct buffer json = {.length = 0};
    struct server_entry entry;
    repository_entry(server, workflow, &entry);
    const enum form form = entry.batch_max > 0 ? FORM_BATCHED : FORM_CONFIG;
    const bool is_good =
        buffer_add(&json, "{\"name\":") && buffer_add_quoted(&json, described->name) &&
        buffer_add(
            &json,
            ",\"platform\":\"%s\",\"backend\":\"weft\",\"max_batch_size\":%" PRIu32
            ",\"version_policy\":{\"latest\":{\"num_versions\":1}},\"input\":[",
            entry.platform, entry.batch_max) &&
        write_inputs(&json, described, form) && buffer_add(&json, "],\"output\":[") &&
        write_results(&json, server, workflow, form) && buffer_add(&json, "]") &&
        write_parameters(&json, &entry, form) && buffer_add(&json, "}");
    models_respond(exchange, &json, is_good);
}

static bool write_time(struct buffer *json, const char *name, uint64_t count, int64_t ns)
{
    return buffer_add(json, "\"%s\":{\"count\":%" PRIu64 ",\"ns\":%" PRId64 "}", name, count, ns);
}

static bool write_stats(struct buffer *json, const struct server *server, uint32_t number)
{
    const struct workflow *workflow = server->catalogue->workflows[number];
    const struct metrics_workflow *counts = metrics_workflow(server->metrics, number);
    const uint64_t failures = metrics_failures(counts);
    const uint64_t good = tally_completed(counts->tally);
    return buffer_add(json, "{\"name\":") && buffer_add_quoted(json, workflow->name) &&
           buffer_add(
               json,
               ",\"version\":\"%s\",\"last_inference\":%" PRId64 ",\"inference_count\":%" PRIu64
               ",\"execution_count\":%" PRIu64 ",\"inference_stats\":{",
               server->versions[number],
               counts->last_ns == 0 ? 0
                                    : runtime_wall_ns(server->runtime, counts->last_ns) / 1000000,
               counts->items, (uint64_t)(counts->batches + 0.5)) &&
           write_time(json, "success", good, counts->success_ns) && buffer_add(json, ",") &&
           write_time(json, "fail", failures, counts->fail_ns) && buffer_add(json, ",") &&
           write_time(json, "queue", good, counts->time.queue_ns) && buffer_add(json, ",") &&
           write_time(json, "compute_input", good, counts->time.other_ns) &&
           buffer_add(json, ",") && write_time(json, "compute_infer", good, counts->time.run_ns) &&
           buffer_add(json, ",") && write_time(json, "compute_output", good, 0) &&
           buffer_add(json, "},\"batch_stats\":[]}");
}

void models_stats(struct server *server, struct http_exchange *exchange, uint32_t workflow)
{
    struct buffer json = {.length = 0};
    const uint32_t first = workflow == UINT32_MAX ? 0 : workflow;
    const uint32_t end = workflow == UINT32_MAX ? server->catalogue->workflow_count : workflow + 1;
    bool is_good = buffer_add(&json, "{\"model_stats\":[");
    for (uint32_t i = first; i < end && is_good; i++) {
        is_good = (i == first || buffer_add(&json, ",")) && write_stats(&json, server, i);
    }
    models_respond(exchange, &json, is_good && buffer_add(&json, "]}"));
}
