/* infer.c - `weft infer`: one request to a server, and what it answers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/command.h"
#include "client/attempts.h"
#include "client/infer_inputs.h"
#include "console/whole_file.h"
#include "document/quantity.h"

#define ANSWER_BYTES_MAX 1e12

enum {
    SHOWN_MAX = 16,
    TIMEOUT_S_MAX = 1000000,
    SILENCE_MS = 4000, /* By then a node that stands still is no member any more. */
};

struct values {
    struct infer_where where;
    struct argument_list outs;
    struct argument_count slo;
    struct argument_count timeout;
    const char *answer_max;
    uint64_t answer_bytes_max; /* What that says. */
    char key[HTTP_KEY_BYTES];  /* Of the request; "": it has none. */
    uint32_t attempt;          /* From 1. */
    bool json;
};

/* One element of an output, as people read it. */
static void print_element(const json_t *element)
{
    if (json_is_string(element)) {
        char *text = json_dumps(element, JSON_ENCODE_ANY);
        (void)fputs(text == NULL ? "?" : text, stdout);
        free(text);
    } else if (json_is_integer(element)) {
        (void)printf("%" JSON_INTEGER_FORMAT, json_integer_value(element));
    } else if (json_is_real(element)) {
        (void)printf("%.9g", json_real_value(element));
    } else {
        (void)fputs(
            json_is_true(element)    ? "true"
            : json_is_false(element) ? "false"
                                     : "not finite",
            stdout);
    }
}

static void print_name(const json_t *name)
{
    command_print_text(stdout, json_is_string(name) ? json_string_value(name) : "?");
}

static void print_output(const json_t *output)
{
    const json_t *shape = json_object_get(output, "shape");
    const json_t *data = json_object_get(output, "data");
    const size_t count = json_array_size(data);
    print_name(json_object_get(output, "name"));
    (void)printf("  ");
    print_name(json_object_get(output, "datatype"));
    (void)printf(" [");
    for (size_t i = 0; i < json_array_size(shape); i++) {
        (void)printf(
            "%s%" JSON_INTEGER_FORMAT, i == 0 ? "" : ",",
            json_integer_value(json_array_get(shape, i)));
    }
    (void)printf("]  ");
    for (size_t i = 0; i < count && i < SHOWN_MAX; i++) {
        (void)fputs(i == 0 ? "" : ", ", stdout);
        print_element(json_array_get(data, i));
    }
    if (count > SHOWN_MAX) {
        (void)printf(", ... (%zu in all)", count);
    }
    (void)printf("\n");
}

static void print_reply(const json_t *reply)
{
    const json_t *outputs = json_object_get(reply, "outputs");
    if (json_is_true(json_object_get(json_object_get(reply, "parameters"), "emulated"))) {
        (void)printf("done; emulated workers make no outputs\n");
    }
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        print_output(json_array_get(outputs, i));
    }
}

/* Write the tensors behind the JSON, which were asked for in the order of --out. */
static enum weft_status write_files(
    const struct http_reply *reply, const json_t *object, const struct argument_list *outs,
    struct weft_error *error)
{
    const json_t *outputs = json_object_get(object, "outputs");
    size_t at = reply->json_bytes;
    if (json_array_size(outputs) != outs->count) {
        return error_set(error, WEFT_FAILED, "the server made no outputs");
    }
    for (uint32_t i = 0; i < outs->count; i++) {
        const json_t *output = json_array_get(outputs, i);
        const json_t *size =
            json_object_get(json_object_get(output, "parameters"), "binary_data_size");
        const size_t bytes = (size_t)json_integer_value(size);
        struct whole_file file;
        if (!json_is_integer(size) || bytes > reply->body_bytes - at) {
            return error_set(error, WEFT_FAILED, "the answer is shorter than it says");
        }
        enum weft_status status = whole_file_open(&file, strchr(outs->items[i], '=') + 1, error);
        if (status == WEFT_OK) {
            whole_file_write(&file, reply->body + at, bytes);
            status = whole_file_commit(&file, error);
        }
        if (status != WEFT_OK) {
            return status;
        }
        at += bytes;
    }
    return WEFT_OK;
}

/* The names before the '=' of --out; owned by the caller. */
static enum weft_status out_names(
    const struct argument_list *outs, char **names, struct weft_error *error)
{
    for (uint32_t i = 0; i < outs->count; i++) {
        const char *equals = strchr(outs->items[i], '=');
        if (equals == NULL || equals == outs->items[i] || equals[1] == '\0') {
            return error_set(
                error, WEFT_INVALID, "--out takes NAME=FILE, not '%s'", outs->items[i]);
        }
        names[i] = strndup(outs->items[i], (size_t)(equals - outs->items[i]));
        if (names[i] == NULL) {
            return error_set(error, WEFT_NO_MEMORY, "out of memory");
        }
    }
    return WEFT_OK;
}

static enum weft_status ask(
    const struct infer_target *target, const struct infer_body *body, const struct values *values,
    struct http_reply *reply_out, struct weft_error *error)
{
    char path[256];
    char headers[sizeof(target->headers) + 256];
    char slo[48] = "";
    char key[96] = "";
    if (values->slo.value > 0) {
        (void)snprintf(slo, sizeof(slo), "x-slo-ms: %" PRIu64 "\r\n", values->slo.value);
    }
    if (values->key[0] != '\0') {
        (void)snprintf(
            key, sizeof(key), "Idempotency-Key: %s\r\nweft-attempt: %" PRIu32 "\r\n", values->key,
            values->attempt);
    }
    (void)snprintf(path, sizeof(path), "/v2/models/%.100s/infer", target->workflow);
    (void)snprintf(
        headers, sizeof(headers), "%sInference-Header-Content-Length: %zu\r\n%s%s", target->headers,
        body->json_bytes, slo, key);
    const struct http_call call = {
        .url = &target->url,
        .method = "POST",
        .path = path,
        .headers = headers,
        .body = body->bytes,
        .body_bytes = body->length,
        .ca_file = target->ca_file,
        .timeout_s = (uint32_t)values->timeout.value,
        .answer_bytes_max = values->answer_bytes_max,
    };
    const enum weft_status status = http_call(&call, reply_out, error);
    if (status == WEFT_LIMIT) {
        const size_t length = strlen(error->message);
        (void)snprintf(
            error->message + length, sizeof(error->message) - length,
            "; --answer-max takes another limit");
    }
    if (status == WEFT_OK && reply_out->status != 200) {
        (void)infer_explain(reply_out, error); /* It fails, whatever it says. */
        free(reply_out->body);
        return reply_out->status == HTTP_UNAVAILABLE ? WEFT_BUSY
               : reply_out->status == HTTP_NOT_FOUND ? WEFT_NOT_FOUND
                                                     : WEFT_FAILED;
    }
    return status;
}

static enum weft_status show(
    const struct http_reply *reply, const struct values *values, struct weft_error *error)
{
    json_error_t wrong;
    enum weft_status status = WEFT_OK;
    json_t *object = json_loadb(reply->body, reply->json_bytes, 0, &wrong);
    if (object == NULL) {
        return error_set(error, WEFT_FAILED, "the answer is not JSON: %s", wrong.text);
    }
    if (values->outs.count > 0) {
        status = write_files(reply, object, &values->outs, error);
    }
    if (status == WEFT_OK && values->json) {
        (void)fwrite(reply->body, 1, reply->json_bytes, stdout); /* Flushing checks it. */
        (void)fputc('\n', stdout);
    } else if (status == WEFT_OK && values->outs.count == 0) {
        print_reply(object);
    }
    json_decref(object);
    return status;
}

/* "2GB", of memory that there can be. */
static enum weft_status read_limits(struct values *values, struct weft_error *error)
{
    double bytes = HTTP_ANSWER_BYTES;
    if (values->answer_max != NULL &&
        (!quantity_parse(QUANTITY_BYTES, values->answer_max, &bytes) || bytes < 1 ||
         bytes > ANSWER_BYTES_MAX)) {
        return error_set(
            error, WEFT_INVALID, "--answer-max takes a size from 1 byte to 1TB, not '%s'",
            values->answer_max);
    }
    if (values->timeout.value < 1 || values->timeout.value > TIMEOUT_S_MAX) {
        return error_set(
            error, WEFT_INVALID, "--timeout takes seconds, from 1 to %d", TIMEOUT_S_MAX);
    }
    values->answer_bytes_max = (uint64_t)bytes;
    return WEFT_OK;
}

/* What all attempts need, also those that outlive the others. */
struct asking {
    struct values values;
    struct infer_target target;
    struct infer_values given;
    char *names[ARGUMENT_LIST_MAX]; /* Of outputs. Owned. */
};

static void release(void *context)
{
    struct asking *asking = context;
    for (uint32_t i = 0; i < ARGUMENT_LIST_MAX; i++) {
        free(asking->names[i]);
    }
    free(asking);
}

/* One that was lost may have begun: the key says that it is the same request. */
static enum weft_status ask_one(
    void *context, uint32_t number, struct http_reply *reply_out, struct weft_error *error)
{
    const struct asking *asking = context;
    struct infer_target target = asking->target;
    struct values values = asking->values;
    struct infer_body body = {.bytes = NULL};
    const struct infer_outputs outputs = {
        .is_binary = values.outs.count > 0,
        .count = values.outs.count,
        .names = (const char *const *)asking->names,
    };
    target.url = target.urls[number];
    values.attempt = number + 1;
    enum weft_status status = infer_body_build(&target, &asking->given, &outputs, &body, error);
    if (status == WEFT_OK) {
        status = ask(&target, &body, &values, reply_out, error);
    }
    free(body.bytes);
    return status;
}

static enum weft_status infer(
    const struct values *values, const struct operands *operands, struct weft_error *error)
{
    struct http_reply reply = {.body = NULL};
    struct asking *asking = memory_zeroed(1, sizeof(*asking));
    asking->values = *values;
    asking->given =
        (struct infer_values){.items = operands->items + 1, .count = operands->count - 1};
    enum weft_status status = out_names(&values->outs, asking->names, error);
    if (status == WEFT_OK) {
        status = infer_target_init(&asking->target, &values->where, operands->items[0], error);
    }
    if (status != WEFT_OK) {
        release(asking);
        return status;
    }
    if (asking->target.url_count > 1) {
        http_key_draw(asking->values.key);
    }
    const struct attempts attempts = {
        .count = asking->target.url_count,
        .silence_ms = SILENCE_MS,
        .ask = ask_one,
        .release = release,
        .context = asking,
    };
    status = attempts_run(&attempts, &reply, error);
    if (status == WEFT_OK) {
        status = show(&reply, values, error);
        free(reply.body);
    }
    return status;
}

static int run(const struct command *command, void *given, const struct operands *operands)
{
    struct values *values = given;
    struct weft_error error = {.status = WEFT_OK};
    enum weft_status status = read_limits(values, &error);
    if (status == WEFT_OK) {
        status = infer(values, operands, &error);
    }
    if (status != WEFT_OK) {
        return command_fail(
            command, &error, status == WEFT_INVALID ? COMMAND_WRONG : COMMAND_FAILED);
    }
    return command_flush(command);
}

static const struct argument rows[] = {
    {"--url", "URL[,URL]",
     "address of the server; default http://127.0.0.1:8000. Of several, each is asked if\n"
     "those before it cannot be reached, do not have it, take no more, or say nothing for 4 s",
     ARGUMENT_TEXT, offsetof(struct values, where.url)},
    {"--out", "NAME=FILE", "write the bytes of an output to a file; may be repeated", ARGUMENT_LIST,
     offsetof(struct values, outs)},
    {"--slo", "MS", "deadline in milliseconds", ARGUMENT_COUNT, offsetof(struct values, slo)},
    {"--timeout", "S", "give up after this many seconds; default 600", ARGUMENT_COUNT,
     offsetof(struct values, timeout)},
    {"--answer-max", "SIZE", "refuse longer answers; default 64MiB", ARGUMENT_TEXT,
     offsetof(struct values, answer_max)},
    {"--token-file", "FILE", "file with the bearer token", ARGUMENT_TEXT,
     offsetof(struct values, where.token_file)},
    {"--ca", "FILE", "certificates to trust, in PEM; default the system's", ARGUMENT_TEXT,
     offsetof(struct values, where.ca_file)},
    {"--json", NULL, "print the answer as the server sent it", ARGUMENT_FLAG,
     offsetof(struct values, json)},
    {.name = NULL},
};

const struct command command_infer = {
    .name = "infer",
    .summary = "ask a server to run a workflow once",
    .usage = "WORKFLOW [NAME=VALUE | NAME=@FILE]... [options]",
    .description =
        "A value is a list of numbers, \"1,2.5,-3\", or a text, as the workflow declares the\n"
        "input; @FILE sends the bytes of a file, @- those of standard input. Where pixels are\n"
        "declared, [-1,-1,3] of UINT8, a binary PPM file is unpacked; other pictures go to\n"
        "workflows that take their bytes. If a shape has open dimensions, the value decides the\n"
        "last of them and the others are 1.\n",
    .arguments = {.operand = "WORKFLOW", .operand_min = 1, .operand_max = UINT32_MAX, .rows = rows},
    .values_bytes = sizeof(struct values),
    .defaults = &(const struct values){.timeout = {.value = HTTP_CALL_SECONDS}},
    .run = run,
};
