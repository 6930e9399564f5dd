#include "protocol/oip_response.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/half.h"
#include "protocol/buffer.h"
#include "protocol/json_data.h"
#include "protocol/json_text.h"

enum { NUMBER_BYTES = 32 }; /* Of any number as it is written here, with a comma. */

const struct weft_tensor *oip_answer_tensor(const struct oip_answer *answer, uint32_t result)
{
    const struct workflow_result *wanted = &answer->workflow->results[result];
    const uint32_t sink = answer->workflow->tasks[wanted->task].sink;
    if (sink == TASK_NONE || sink >= answer->bundle_count || answer->bundles[sink] == NULL) {
        return NULL;
    }
    return bundle_find(answer->bundles[sink], wanted->output);
}

/* Whether no engine made anything: then there is nothing to show, which is not a failure. */
static bool is_pretended(const struct oip_answer *answer)
{
    for (uint32_t i = 0; i < answer->bundle_count; i++) {
        if (answer->bundles[i] != NULL) {
            return false;
        }
    }
    return true;
}

/* The most characters that an element takes, and its comma. */
static const uint8_t element_chars[WEFT_DTYPES] = {
    [WEFT_BOOL] = 6,    [WEFT_UINT8] = 4, [WEFT_UINT16] = 6, [WEFT_UINT32] = 11,
    [WEFT_UINT64] = 21, [WEFT_INT8] = 5,  [WEFT_INT16] = 7,  [WEFT_INT32] = 12,
    [WEFT_INT64] = 21,  [WEFT_FP16] = 12, [WEFT_FP32] = 17, /* A whole number of 15 digits, and its
                                                               sign. */
    [WEFT_FP64] = 25,   [WEFT_BF16] = 17,
};

static uint64_t estimate(const struct weft_tensor *tensor, bool is_binary)
{
    const uint64_t beside = NAME_BYTES_MAX * 6 + OIP_SHAPE_BYTES + 128;
    if (tensor == NULL || is_binary) {
        return beside;
    }
    if (tensor->dtype == WEFT_BYTES) { /* Quotes and a comma for a length, and escapes. */
        return beside + 6 * tensor->bytes;
    }
    const uint64_t elements = tensor->bytes / tensor_bytes(tensor->dtype, 0, NULL);
    return beside + elements * element_chars[tensor->dtype];
}

uint64_t oip_response_estimate(const struct oip_answer *answer)
{
    const struct oip_request *request = answer->request;
    uint64_t bytes = 6 * (NAME_BYTES_MAX + OIP_ID_BYTES_MAX) + 256;
    for (uint32_t i = 0; i < request->output_count; i++) {
        const struct oip_output *output = &request->outputs[i];
        bytes += estimate(oip_answer_tensor(answer, output->result), output->is_binary);
    }
    for (uint32_t i = 0; request->output_count == 0 && i < answer->bundle_count; i++) {
        const struct bundle *bundle = answer->bundles[i];
        for (uint32_t k = 0; bundle != NULL && k < bundle->count; k++) {
            bytes += estimate(&bundle->tensors[k], request->is_binary);
        }
    }
    return bytes;
}

static uint32_t write_whole(char *out, uint64_t value, bool is_negative)
{
    uint32_t length = 0;
    if (is_negative) {
        out[length++] = '-';
    }
    return length + (uint32_t)text_decimals(out + length, value);
}

/* JSON has neither infinities nor NaN: null stands for them. */
static uint32_t write_float(char *out, double value, int digits)
{
    static const char none[4] = {'n', 'u', 'l', 'l'};
    if (!isfinite(value)) {
        (void)memcpy(out, none, sizeof(none));
        return sizeof(none);
    }
    if (value == rint(value) && fabs(value) < 1e15 && !(value == 0 && signbit(value))) {
        return write_whole(out, (uint64_t)fabs(value), value < 0);
    }
    return (uint32_t)snprintf(out, NUMBER_BYTES - 1, "%.*g", digits, value);
}

static uint32_t write_signed(char *out, int64_t value)
{
    return write_whole(out, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0);
}

/* The element at @data, of a type other than text. Returns the bytes written. */
static uint32_t write_element(char *out, enum weft_dtype dtype, const uint8_t *data)
{
    union {
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        float f32;
        double f64;
    } value;
    (void)memcpy(&value, data, tensor_bytes(dtype, 0, NULL));
    switch (dtype) {
    case WEFT_BOOL:
        (void)memcpy(out, data[0] != 0 ? "true" : "false", 5);
        return data[0] != 0 ? 4 : 5;
    case WEFT_UINT8:
        return write_whole(out, data[0], false);
    case WEFT_UINT16:
        return write_whole(out, value.u16, false);
    case WEFT_UINT32:
        return write_whole(out, value.u32, false);
    case WEFT_UINT64:
        return write_whole(out, value.u64, false);
    case WEFT_INT8:
        return write_signed(out, (int8_t)data[0]);
    case WEFT_INT16:
        return write_signed(out, value.i16);
    case WEFT_INT32:
        return write_signed(out, value.i32);
    case WEFT_INT64:
        return write_signed(out, value.i64);
    case WEFT_FP16:
        return write_float(out, half_to_double(value.u16), 5);
    case WEFT_BF16:
        return write_float(out, bf16_to_double(value.u16), 4);
    case WEFT_FP32:
        return write_float(out, (double)value.f32, 9);
    case WEFT_FP64:
        return write_float(out, value.f64, 17);
    case WEFT_BYTES:
    case WEFT_DTYPES:
        break;
    }
    return 0;
}

static bool write_numbers(struct buffer *json, const struct weft_tensor *tensor)
{
    const uint64_t width = tensor_bytes(tensor->dtype, 0, NULL);
    const uint8_t *data = tensor->data;
    for (uint64_t at = 0; at < tensor->bytes; at += width) {
        char *out = buffer_room(json, NUMBER_BYTES);
        if (out == NULL) {
            return false;
        }
        uint32_t length = 0;
        if (at > 0) {
            out[length++] = ',';
        }
        length += write_element(out + length, tensor->dtype, data + at);
        json->length += length;
    }
    return true;
}

static bool write_texts(struct buffer *json, const struct weft_tensor *tensor)
{
    const uint8_t *data = tensor->data;
    uint64_t at = 0;
    while (at + sizeof(uint32_t) <= tensor->bytes) {
        uint32_t length;
        (void)memcpy(&length, data + at, sizeof(length));
        at += sizeof(length);
        if (length > tensor->bytes - at) {
            return true; /* An engine made this; what cannot be read is left out. */
        }
        char *out = buffer_room(json, JSON_TEXT_ROOM(length) + 1);
        if (out == NULL) {
            return false;
        }
        if (at > sizeof(length)) {
            *out++ = ',';
            json->length++;
        }
        json->length += json_text_encode(data + at, length, out);
        at += length;
    }
    return true;
}

static bool write_output(
    struct buffer *json, const char *name, const struct weft_tensor *tensor, bool is_binary)
{
    char shape[OIP_SHAPE_BYTES];
    bool is_good = buffer_put(json, "{\"name\":") && buffer_add_quoted(json, name) &&
                   buffer_put(json, ",\"datatype\":\"") &&
                   buffer_put(json, dtype_name(tensor->dtype)) &&
                   buffer_put(json, "\",\"shape\":") &&
                   buffer_put(json, oip_shape_text(shape, tensor->rank, tensor->shape));
    if (is_binary) {
        return is_good && buffer_put(json, ",\"parameters\":{\"binary_data_size\":") &&
               buffer_put_number(json, tensor->bytes) && buffer_put(json, "}}");
    }
    is_good = is_good && buffer_put(json, ",\"data\":[");
    if (is_good) {
        is_good =
            tensor->dtype == WEFT_BYTES ? write_texts(json, tensor) : write_numbers(json, tensor);
    }
    return is_good && buffer_put(json, "]}");
}

static enum weft_status write_outputs(
    const struct oip_answer *answer, struct buffer *json, struct oip_response *response,
    struct weft_error *error)
{
    const struct oip_request *request = answer->request;
    for (uint32_t i = 0; i < request->output_count; i++) {
        const struct oip_output *output = &request->outputs[i];
        const char *name = answer->workflow->results[output->result].name;
        const struct weft_tensor *tensor = oip_answer_tensor(answer, output->result);
        if (tensor == NULL) {
            return error_set(error, WEFT_FAILED, "output '%s' was not made", name);
        }
        if ((i > 0 && !buffer_put(json, ",")) ||
            !write_output(json, name, tensor, output->is_binary)) {
            return error_set(error, WEFT_NO_MEMORY, "no memory for the answer");
        }
        if (output->is_binary) {
            response->parts[response->part_count++] = tensor;
        }
    }
    return WEFT_OK;
}

/* All that was made, for a workflow that does not say what it gives. */
static enum weft_status write_everything(
    const struct oip_answer *answer, struct buffer *json, struct oip_response *response,
    struct weft_error *error)
{
    const bool is_binary = answer->request->is_binary;
    bool is_first = true;
    for (uint32_t i = 0; i < answer->bundle_count; i++) {
        const struct bundle *bundle = answer->bundles[i];
        for (uint32_t k = 0; bundle != NULL && k < bundle->count; k++) {
            const struct weft_tensor *tensor = &bundle->tensors[k];
            if (is_binary && response->part_count == OIP_OUTPUTS_MAX) {
                return error_set(error, WEFT_FAILED, "too many outputs");
            }
            if ((!is_first && !buffer_put(json, ",")) ||
                !write_output(json, tensor->name, tensor, is_binary)) {
                return error_set(error, WEFT_NO_MEMORY, "no memory for the answer");
            }
            is_first = false;
            if (is_binary) {
                response->parts[response->part_count++] = tensor;
            }
        }
    }
    return WEFT_OK;
}

void oip_response_init(struct oip_response *response)
{
    response->json = NULL;
    response->length = 0;
    response->part_count = 0;
}

enum weft_status oip_response_write(
    const struct oip_answer *answer, struct oip_response *response_out, struct weft_error *error)
{
    struct buffer json = {.length = 0};
    struct oip_response response;
    oip_response_init(&response);
    const bool pretended = is_pretended(answer);
    enum weft_status status = WEFT_OK;
    bool is_good = buffer_put(&json, "{\"model_name\":") &&
                   buffer_add_quoted(&json, answer->workflow->name) &&
                   buffer_put(&json, ",\"model_version\":\"") &&
                   buffer_put(&json, answer->version == NULL ? "1" : answer->version) &&
                   buffer_put(&json, "\"");
    if (is_good && answer->request->id[0] != '\0') {
        is_good = buffer_put(&json, ",\"id\":") && buffer_add_quoted(&json, answer->request->id);
    }
    is_good = is_good &&
              buffer_put(&json, pretended ? ",\"parameters\":{\"emulated\":true}" : "") &&
              buffer_put(&json, ",\"outputs\":[");
    if (is_good && !pretended) {
        status = answer->workflow->result_count == 0
                     ? write_everything(answer, &json, &response, error)
                     : write_outputs(answer, &json, &response, error);
    }
    is_good = is_good && buffer_put(&json, "]}");
    if (!is_good && status == WEFT_OK) {
        status = error_set(error, WEFT_NO_MEMORY, "no memory for the answer");
    }
    if (status != WEFT_OK) {
        free(json.bytes);
        return status;
    }
    response_out->json = json.bytes;
    response_out->length = json.length;
    response_out->part_count = response.part_count;
    memcpy(response_out->parts, response.parts, response.part_count * sizeof(struct weft_tensor *));
    return WEFT_OK;
}

void oip_response_deinit(struct oip_response *response)
{
    free(response->json);
    response->json = NULL;
}
