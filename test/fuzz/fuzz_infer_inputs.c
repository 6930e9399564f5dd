/*
 * fuzz_infer_inputs.c - any description of a workflow's inputs, for any values.
 *
 * Covers: src/client/infer_inputs.c. Values stand on lines of their own, up to an empty line; the
 * rest is what the server says. A request that is built is one that a reader of requests could
 * take apart: its parts add up.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/assert.h"
#include "base/memory.h"
#include "client/infer_inputs.h"
#include "fuzz/fuzz.h"

enum { VALUES_MAX = 8, ZEROS_BYTES_MAX = 1 << 16, INPUT_BYTES_MAX = 1 << 16 };

/* Cut the lines off the front of @text. No value is the name of a file. */
static uint32_t cut_values(char **text, char *values[VALUES_MAX])
{
    uint32_t count = 0;
    char *end = strchr(*text, '\n');
    while (end != NULL && end != *text && count < VALUES_MAX) {
        *end = '\0';
        for (char *at = *text; *at != '\0'; at++) {
            *at = (char)(*at == '@' ? 'a' : *at);
        }
        values[count++] = *text;
        *text = end + 1;
        end = strchr(*text, '\n');
    }
    *text += end == *text ? 1 : 0;
    return count;
}

/* The JSON of @body is JSON, and the sizes that it says are those of what follows. */
static void check_body(const struct infer_body *body)
{
    json_error_t wrong;
    ASSERT(body->json_bytes <= body->length);
    json_t *json = json_loadb(body->bytes, body->json_bytes, 0, &wrong);
    ASSERT(json != NULL);
    const json_t *inputs = json_object_get(json, "inputs");
    size_t bytes = 0;
    for (size_t i = 0; i < json_array_size(inputs); i++) {
        const json_t *parameters = json_object_get(json_array_get(inputs, i), "parameters");
        bytes += (size_t)json_integer_value(json_object_get(parameters, "binary_data_size"));
    }
    ASSERT(bytes == body->length - body->json_bytes);
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *values[VALUES_MAX];
    if (size > INPUT_BYTES_MAX) {
        return 0;
    }
    char *all = memory_zeroed(1, size + 1);
    (void)memcpy(all, data, size);
    char *rest = all;
    const uint32_t count = cut_values(&rest, values);
    const struct http_reply described = {
        .status = 200, .body = rest, .body_bytes = size - (size_t)(rest - all)};
    for (uint32_t fills = 0; fills < 2; fills++) {
        const struct infer_values given = {
            .items = values, .count = count, .fills = fills == 1, .zeros_max = ZEROS_BYTES_MAX};
        const struct infer_outputs outputs = {.is_binary = true};
        struct infer_body body = {.bytes = NULL};
        struct weft_error error = {.status = WEFT_OK};
        const enum weft_status status =
            infer_body_make(&described, &given, &outputs, &body, &error);
        ASSERT(status != WEFT_NO_MEMORY);
        ASSERT(status == error.status);
        if (status == WEFT_OK) {
            check_body(&body);
            free(body.bytes);
        }
    }
    free(all);
    return 0;
}
