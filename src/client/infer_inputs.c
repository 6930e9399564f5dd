#include "client/infer_inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/assert.h"
#include "base/error.h"
#include "document/bytes.h"
#include "engine/bundle.h"
#include "protocol/buffer.h"
#include "protocol/json_data.h"
#include "protocol/oip_request.h"

enum {
    FILE_BYTES_MAX = 1 << 30,
    ANSWER_S = 30,
    METADATA_BYTES_MAX = 16 << 20,
    ZEROS_BYTES_MAX = 1 << 30, /* Of all inputs that are made up. */
    NAMES_SHOWN_BYTES = 240,   /* As long as an error can be. */
};

/* One input while the request is built. */
struct given {
    const char *name;
    const char *value; /* NULL: zeros. */
    bool is_declared;
    struct weft_tensor tensor; /* Extents of -1 are chosen by the value. */
};

/* The request while it is built. */
struct building {
    struct buffer inputs; /* JSON of the inputs, separated by commas. */
    struct buffer data;   /* What follows the JSON. */
    uint64_t zeros_left;  /* Bytes that may still be made up. */
    struct weft_error *error;
};

static enum weft_status read_token(
    struct infer_target *target, const char *path, struct weft_error *error)
{
    char *bytes = NULL;
    size_t size = 0;
    const enum weft_status status =
        bytes_load_large(path, HTTP_TOKEN_BYTES - 1, &bytes, &size, error);
    if (status == WEFT_OK) {
        while (size > 0 && (bytes[size - 1] == '\n' || bytes[size - 1] == '\r')) {
            size--;
        }
        (void)snprintf(
            target->headers, sizeof(target->headers), "Authorization: Bearer %.*s\r\n", (int)size,
            bytes);
    }
    free(bytes);
    return status;
}

enum weft_status infer_target_init(
    struct infer_target *target, const struct infer_where *where, const char *workflow,
    struct weft_error *error)
{
    ASSERT(workflow != NULL);
    *target = (struct infer_target){.workflow = workflow, .ca_file = where->ca_file};
    if (workflow[0] == '\0' || strpbrk(workflow, "/?#% \r\n") != NULL) {
        return error_set(error, WEFT_INVALID, "'%s' is not the name of a workflow", workflow);
    }
    enum weft_status status = http_urls_parse(
        where->url == NULL ? "http://127.0.0.1:8000" : where->url, INFER_URLS_MAX, target->urls,
        &target->url_count, error);
    target->url = target->urls[0];
    if (status == WEFT_OK && where->token_file != NULL) {
        status = read_token(target, where->token_file, error);
    }
    return status;
}

enum weft_status infer_explain(const struct http_reply *reply, struct weft_error *error)
{
    json_error_t wrong;
    json_t *body = json_loadb(reply->body, reply->body_bytes, 0, &wrong);
    const char *cause = json_string_value(json_object_get(body, "error"));
    (void)error_set(
        error, WEFT_FAILED, "%" PRIu32 ": %s", reply->status,
        cause == NULL ? "the server gave no reason" : cause);
    json_decref(body);
    return WEFT_FAILED;
}

enum weft_status infer_get(
    const struct infer_target *target, const char *path, uint64_t bytes_max,
    struct http_reply *reply_out, struct weft_error *error)
{
    const struct http_call call = {
        .url = &target->url,
        .method = "GET",
        .path = path,
        .headers = target->headers,
        .ca_file = target->ca_file,
        .timeout_s = ANSWER_S,
        .answer_bytes_max = bytes_max,
    };
    enum weft_status status = http_call(&call, reply_out, error);
    if (status == WEFT_OK && reply_out->status != 200) {
        status = infer_explain(reply_out, error);
        status = reply_out->status == HTTP_NOT_FOUND ? WEFT_NOT_FOUND : status;
        free(reply_out->body);
    }
    return status;
}

static enum weft_status fail_declared(struct building *building, const char *name)
{
    return error_set(
        building->error, WEFT_INVALID,
        "input '%.80s': the server declares a type or a shape that does not exist", name);
}

/* The extents that the server declares; -1 is open. False if they cannot be. */
static bool read_shape(const json_t *shape, struct weft_tensor *tensor)
{
    if (!json_is_array(shape) || json_array_size(shape) > WEFT_RANK_MAX) {
        return false;
    }
    tensor->rank = (uint32_t)json_array_size(shape);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        const json_t *extent = json_array_get(shape, i);
        tensor->shape[i] = json_integer_value(extent);
        if (!json_is_integer(extent) || tensor->shape[i] < -1) {
            return false;
        }
    }
    return true;
}

/* What the server declares about the input called @given->name, if it does. */
static enum weft_status look_up(
    struct building *building, const json_t *metadata, struct given *given)
{
    const json_t *inputs = json_object_get(metadata, "inputs");
    for (size_t i = 0; i < json_array_size(inputs); i++) {
        const json_t *input = json_array_get(inputs, i);
        const char *name = json_string_value(json_object_get(input, "name"));
        const char *type = json_string_value(json_object_get(input, "datatype"));
        if (name == NULL || strcmp(name, given->name) != 0) {
            continue;
        }
        given->is_declared = true;
        given->tensor.dtype = type == NULL ? WEFT_DTYPES : dtype_parse(type);
        if (given->tensor.dtype == WEFT_DTYPES ||
            !read_shape(json_object_get(input, "shape"), &given->tensor)) {
            return fail_declared(building, given->name);
        }
        return WEFT_OK;
    }
    return WEFT_OK;
}

/* Undeclared: a type that fits how the value looks. */
static void guess(struct given *given)
{
    const char *value = given->value;
    struct weft_tensor *tensor = &given->tensor;
    tensor->rank = 1;
    tensor->shape[0] = -1;
    if (value[0] == '@') {
        tensor->dtype = WEFT_UINT8;
    } else if (value[0] != '\0' && value[strspn(value, "0123456789,-")] == '\0') {
        tensor->dtype = WEFT_INT64;
    } else if (value[0] != '\0' && value[strspn(value, "0123456789,-+.eE")] == '\0') {
        tensor->dtype = WEFT_FP32;
    } else {
        tensor->dtype = WEFT_BYTES;
    }
}

/* Choose the unknown extents for @elements: all are 1 but the last. */
static enum weft_status fit_shape(
    struct weft_tensor *tensor, uint64_t elements, struct weft_error *error)
{
    uint64_t known = 1;
    bool is_possible = true;
    uint32_t last = UINT32_MAX;
    char shape[OIP_SHAPE_BYTES];
    (void)oip_shape_text(shape, tensor->rank, tensor->shape);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] < 0) {
            tensor->shape[i] = 1;
            last = i;
        } else {
            is_possible =
                is_possible && !__builtin_mul_overflow(known, (uint64_t)tensor->shape[i], &known);
        }
    }
    is_possible = is_possible &&
                  (last == UINT32_MAX ? known == elements : known > 0 && elements % known == 0);
    if (!is_possible) {
        return error_set(
            error, WEFT_INVALID, "input '%s': %" PRIu64 " elements do not fit its shape %.80s",
            tensor->name, elements, shape);
    }
    if (last != UINT32_MAX) {
        tensor->shape[last] = (int64_t)(elements / known);
    }
    return WEFT_OK;
}

static bool add_bytes(struct buffer *buffer, const void *bytes, size_t count)
{
    char *room = buffer_room(buffer, count);
    if (room != NULL && count > 0) {
        (void)memcpy(room, bytes, count);
        buffer->length += count;
    }
    return room != NULL || count == 0;
}

/* The tensor as JSON, its @bytes behind. */
static enum weft_status add_tensor(
    struct building *building, const struct weft_tensor *tensor, const void *bytes, size_t count)
{
    char shape[OIP_SHAPE_BYTES];
    const bool is_good =
        (building->inputs.length == 0 || buffer_add(&building->inputs, ",")) &&
        buffer_add(&building->inputs, "{\"name\":") &&
        buffer_add_quoted(&building->inputs, tensor->name) &&
        buffer_add(
            &building->inputs,
            ",\"datatype\":\"%s\",\"shape\":%s,\"parameters\":{\"binary_data_size\":%zu}}",
            dtype_name(tensor->dtype), oip_shape_text(shape, tensor->rank, tensor->shape), count) &&
        add_bytes(&building->data, bytes, count);
    return is_good ? WEFT_OK : error_set(building->error, WEFT_NO_MEMORY, "out of memory");
}

/* One text, with its length before it. */
static enum weft_status add_text(
    struct building *building, struct weft_tensor *tensor, const char *bytes, size_t count)
{
    const uint32_t prefix = (uint32_t)count;
    char *text = malloc(sizeof(prefix) + count);
    if (text == NULL) {
        return error_set(building->error, WEFT_NO_MEMORY, "out of memory");
    }
    enum weft_status status = fit_shape(tensor, 1, building->error);
    if (status == WEFT_OK) {
        (void)memcpy(text, &prefix, sizeof(prefix));
        if (count > 0) {
            (void)memcpy(text + sizeof(prefix), bytes, count);
        }
        status = add_tensor(building, tensor, text, sizeof(prefix) + count);
    }
    free(text);
    return status;
}

/* The next number of the head of a PPM file; 0 if there is none. */
static uint64_t ppm_number(const char **at, const char *end)
{
    uint64_t number = 0;
    while (*at < end && (**at == ' ' || **at == '\n' || **at == '\t' || **at == '\r')) {
        (*at)++;
    }
    while (*at < end && **at >= '0' && **at <= '9' && number < 100000) {
        number = number * 10 + (uint64_t)(**at - '0');
        (*at)++;
    }
    return number;
}

/* Pixels of a binary PPM file, for an input [height, width, 3]. NULL if it is none. */
static const char *ppm_pixels(const char *bytes, size_t *count, struct weft_tensor *tensor)
{
    const char *at = bytes + 2;
    const char *end = bytes + *count;
    if (tensor->rank != 3 || tensor->shape[2] != 3 || *count < 8 || memcmp(bytes, "P6", 2) != 0) {
        return NULL;
    }
    const uint64_t width = ppm_number(&at, end);
    const uint64_t height = ppm_number(&at, end);
    const uint64_t most = ppm_number(&at, end);
    at++;
    if (most != 255 || at > end || width * height * 3 != (uint64_t)(end - at)) {
        return NULL;
    }
    tensor->shape[0] = (int64_t)height;
    tensor->shape[1] = (int64_t)width;
    *count = (size_t)(end - at);
    return at;
}

/* The bytes at @path: a file, a pipe, or standard input, which is called "-". */
static enum weft_status load_file(
    const char *path, char **bytes_out, size_t *count_out, struct weft_error *error)
{
    struct stat facts;
    if (strcmp(path, "-") == 0) {
        return bytes_load_stream(
            stdin, "standard input", FILE_BYTES_MAX, bytes_out, count_out, error);
    }
    if (stat(path, &facts) != 0 || S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode)) {
        return bytes_load_large(path, FILE_BYTES_MAX, bytes_out, count_out, error);
    }
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return error_set(error, WEFT_IO, "%s: cannot be opened: %s", path, strerror(errno));
    }
    const enum weft_status status =
        bytes_load_stream(file, path, FILE_BYTES_MAX, bytes_out, count_out, error);
    (void)fclose(file); /* Opened for reading: nothing can be lost. */
    return status;
}

static enum weft_status add_file(
    struct building *building, struct weft_tensor *tensor, const char *path)
{
    char *bytes = NULL;
    size_t count = 0;
    enum weft_status status = load_file(path, &bytes, &count, building->error);
    if (status != WEFT_OK) {
        return status;
    }
    if (tensor->dtype == WEFT_BYTES) {
        status = add_text(building, tensor, bytes, count);
    } else {
        const uint64_t width = tensor_bytes(tensor->dtype, 0, NULL);
        const char *pixels = tensor->dtype == WEFT_UINT8 ? ppm_pixels(bytes, &count, tensor) : NULL;
        if (count % width != 0) {
            status = error_set(
                building->error, WEFT_INVALID, "%s: %zu bytes are not a whole number of %s", path,
                count, dtype_name(tensor->dtype));
        } else if (pixels == NULL) {
            status = fit_shape(tensor, count / width, building->error);
        }
        if (status == WEFT_OK) {
            status = add_tensor(building, tensor, pixels == NULL ? bytes : pixels, count);
        }
    }
    free(bytes);
    return status;
}

/* A text where numbers are wanted is often the name of a file. */
static enum weft_status hint_at_files(
    struct building *building, const struct weft_tensor *tensor, enum weft_status status)
{
    struct weft_error *error = building->error;
    const size_t length = strlen(error->message);
    (void)snprintf(
        error->message + length, sizeof(error->message) - length,
        "; use %s=@FILE to send the bytes of a file", tensor->name);
    return status;
}

/* "1,2,3": read by the reader of JSON arrays. */
static enum weft_status add_numbers(
    struct building *building, struct weft_tensor *tensor, const char *value)
{
    struct buffer array = {.length = 0};
    uint64_t elements = value[0] == '\0' ? 0 : 1;
    for (const char *at = value; *at != '\0'; at++) {
        elements += *at == ',' ? 1 : 0;
    }
    const bool is_path = value[strspn(value, "0123456789,-+.eE ")] != '\0';
    if (is_path && access(value, F_OK) == 0) {
        return error_set(
            building->error, WEFT_INVALID, "input '%s': use %s=@%s to send the file", tensor->name,
            tensor->name, value);
    }
    enum weft_status status = fit_shape(tensor, elements, building->error);
    if (status == WEFT_OK && !buffer_add(&array, "[%s]", value)) {
        status = error_set(building->error, WEFT_NO_MEMORY, "out of memory");
    }
    if (status == WEFT_OK) {
        const uint64_t bytes = tensor_bytes(tensor->dtype, tensor->rank, tensor->shape);
        void *data = bytes > FILE_BYTES_MAX ? NULL : malloc(bytes + 1);
        struct weft_tensor filled = *tensor;
        filled.data = data;
        status = data == NULL ? error_set(building->error, WEFT_NO_MEMORY, "out of memory")
                              : json_data_read(array.bytes, array.length, &filled, building->error);
        if (status == WEFT_OK && data != NULL) {
            status = add_tensor(building, tensor, data, bytes);
        }
        free(data);
    }
    free(array.bytes);
    return status == WEFT_INVALID && is_path && tensor->dtype == WEFT_UINT8
               ? hint_at_files(building, tensor, status)
               : status;
}

/* An input that was not given: as small as the shape allows. */
static enum weft_status add_zeros(struct building *building, struct weft_tensor *tensor)
{
    if (tensor->dtype == WEFT_BYTES) {
        return add_text(building, tensor, "", 0);
    }
    for (uint32_t i = 0; i < tensor->rank; i++) {
        tensor->shape[i] = tensor->shape[i] < 0 ? 1 : tensor->shape[i];
    }
    const uint64_t bytes = tensor_bytes(tensor->dtype, tensor->rank, tensor->shape);
    if (bytes > building->zeros_left) {
        return error_set(
            building->error, WEFT_LIMIT, "input '%s' is too large to make up", tensor->name);
    }
    building->zeros_left -= bytes;
    void *zeros = calloc(1, bytes + 1);
    if (zeros == NULL) {
        return error_set(building->error, WEFT_NO_MEMORY, "out of memory");
    }
    const enum weft_status status = add_tensor(building, tensor, zeros, bytes);
    free(zeros);
    return status;
}

static enum weft_status add_given(struct building *building, struct given *given)
{
    struct weft_tensor *tensor = &given->tensor;
    if (strlen(given->name) >= sizeof(tensor->name)) {
        return error_set(building->error, WEFT_INVALID, "the name '%s' is too long", given->name);
    }
    (void)memcpy(tensor->name, given->name, strlen(given->name) + 1);
    if (given->value == NULL) {
        return add_zeros(building, tensor);
    }
    if (!given->is_declared) {
        guess(given);
    }
    if (given->value[0] == '@') {
        return add_file(building, tensor, given->value + 1);
    }
    return tensor->dtype == WEFT_BYTES
               ? add_text(building, tensor, given->value, strlen(given->value))
               : add_numbers(building, tensor, given->value);
}

/* No input is called @name: list those there are. */
static enum weft_status fail_unknown(
    struct building *building, const json_t *metadata, const char *name)
{
    const json_t *inputs = json_object_get(metadata, "inputs");
    struct buffer known = {.length = 0};
    for (size_t i = 0; i < json_array_size(inputs) && known.length < NAMES_SHOWN_BYTES; i++) {
        const char *other = json_string_value(json_object_get(json_array_get(inputs, i), "name"));
        (void)buffer_add(&known, "%s'%.80s'", i == 0 ? "" : ", ", other == NULL ? "?" : other);
    }
    (void)error_set(
        building->error, WEFT_INVALID, "no input is called '%s'; the inputs are %.*s", name,
        (int)known.length, known.length == 0 ? "" : known.bytes);
    free(known.bytes);
    return WEFT_INVALID;
}

static enum weft_status add_values(
    struct building *building, const json_t *metadata, char *const *values, uint32_t count)
{
    enum weft_status status = WEFT_OK;
    for (uint32_t i = 0; i < count && status == WEFT_OK; i++) {
        char name[WEFT_TENSOR_NAME_BYTES_MAX];
        const char *equals = strchr(values[i], '=');
        const size_t length = equals == NULL ? 0 : (size_t)(equals - values[i]);
        if (length == 0 || length >= sizeof(name)) {
            return error_set(
                building->error, WEFT_INVALID, "'%s' is not an input; use NAME=VALUE or NAME=@FILE",
                values[i]);
        }
        (void)snprintf(name, sizeof(name), "%.*s", (int)length, values[i]);
        struct given given = {.name = name, .value = equals + 1};
        status = look_up(building, metadata, &given);
        if (status != WEFT_OK) {
            return status;
        }
        if (!given.is_declared && json_array_size(json_object_get(metadata, "inputs")) > 0) {
            return fail_unknown(building, metadata, name);
        }
        status = add_given(building, &given);
    }
    return status;
}

static bool has_value(char *const *values, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strncmp(values[i], name, strlen(name)) == 0 && values[i][strlen(name)] == '=') {
            return true;
        }
    }
    return false;
}

/* Declared inputs that @values leave out. */
static enum weft_status add_missing(
    struct building *building, const json_t *metadata, const struct infer_values *values)
{
    const json_t *inputs = json_object_get(metadata, "inputs");
    enum weft_status status = WEFT_OK;
    for (size_t i = 0; i < json_array_size(inputs) && status == WEFT_OK; i++) {
        const json_t *input = json_array_get(inputs, i);
        const char *name = json_string_value(json_object_get(input, "name"));
        if (name == NULL || has_value(values->items, values->count, name)) {
            continue;
        }
        struct given given = {.name = name};
        status = look_up(building, metadata, &given);
        if (status == WEFT_OK && !values->fills) {
            return error_set(
                building->error, WEFT_INVALID, "input '%.80s' is missing; use %.80s=%s", name, name,
                given.tensor.dtype == WEFT_UINT8 ? "@FILE" : "VALUE");
        }
        if (status == WEFT_OK) {
            status = add_given(building, &given);
        }
    }
    return status;
}

static bool add_outputs(struct buffer *json, const struct infer_outputs *outputs)
{
    bool is_good = true;
    for (uint32_t i = 0; i < outputs->count && is_good; i++) {
        is_good = buffer_add(json, "%s{\"name\":", i == 0 ? ",\"outputs\":[" : ",") &&
                  buffer_add_quoted(json, outputs->names[i]) && buffer_add(json, "}");
    }
    return is_good && (outputs->count == 0 || buffer_add(json, "]"));
}

static enum weft_status finish(
    struct building *building, const struct infer_outputs *outputs, struct infer_body *body_out)
{
    struct buffer whole = {.length = 0};
    bool is_good = buffer_add(
                       &whole, "{\"parameters\":{\"binary_data_output\":%s},\"inputs\":[",
                       outputs->is_binary ? "true" : "false") &&
                   add_bytes(&whole, building->inputs.bytes, building->inputs.length) &&
                   buffer_add(&whole, "]") && add_outputs(&whole, outputs) &&
                   buffer_add(&whole, "}");
    const size_t json_bytes = whole.length;
    is_good = is_good && add_bytes(&whole, building->data.bytes, building->data.length);
    if (!is_good) {
        free(whole.bytes);
        return error_set(building->error, WEFT_NO_MEMORY, "out of memory");
    }
    *body_out = (struct infer_body){whole.bytes, whole.length, json_bytes};
    return WEFT_OK;
}

static enum weft_status build(
    struct building *building, const json_t *metadata, const struct infer_values *values)
{
    if (json_array_size(json_object_get(metadata, "inputs")) > BUNDLE_TENSORS_MAX) {
        return error_set(
            building->error, WEFT_INVALID, "the server declares more than %d inputs",
            BUNDLE_TENSORS_MAX);
    }
    const enum weft_status status = add_values(building, metadata, values->items, values->count);
    return status == WEFT_OK ? add_missing(building, metadata, values) : status;
}

enum weft_status infer_body_make(
    const struct http_reply *described, const struct infer_values *values,
    const struct infer_outputs *outputs, struct infer_body *body_out, struct weft_error *error)
{
    struct building building = {
        .error = error,
        .zeros_left = values->zeros_max == 0 ? ZEROS_BYTES_MAX : values->zeros_max,
    };
    json_error_t wrong;
    json_t *metadata = json_loadb(described->body, described->body_bytes, 0, &wrong);
    if (metadata == NULL) {
        return error_set(
            error, WEFT_IO, "the server did not describe the workflow: %s", wrong.text);
    }
    enum weft_status status = build(&building, metadata, values);
    if (status == WEFT_OK) {
        status = finish(&building, outputs, body_out);
    }
    json_decref(metadata);
    free(building.inputs.bytes);
    free(building.data.bytes);
    return status;
}

enum weft_status infer_body_build(
    const struct infer_target *target, const struct infer_values *values,
    const struct infer_outputs *outputs, struct infer_body *body_out, struct weft_error *error)
{
    char path[NAME_BYTES_MAX + 128];
    struct http_reply described;
    (void)snprintf(path, sizeof(path), "/v2/models/%.100s", target->workflow);
    enum weft_status status = infer_get(target, path, METADATA_BYTES_MAX, &described, error);
    if (status == WEFT_OK) {
        status = infer_body_make(&described, values, outputs, body_out, error);
        free(described.body);
    }
    return status;
}
