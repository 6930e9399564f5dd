#include "protocol/json_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "engine/bundle.h"
#include "engine/half.h"
#include "protocol/json_number.h"
#include "protocol/json_text.h"

/* A reader of one array. */
struct reader {
    const char *at;
    const char *end;
    const struct weft_tensor *tensor;
    uint64_t elements; /* That the shape wants. */
    uint64_t count;    /* That there are so far. */
    uint8_t *out;
    const char *cause;
};

static bool fail(struct reader *reader, const char *cause)
{
    reader->cause = cause;
    return false;
}

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' ||
                                        *reader->at == '\r' || *reader->at == '\t')) {
        reader->at++;
    }
}

/* The number at the reader's place. */
static bool read_number(struct reader *reader, struct json_number *number)
{
    const char *behind = json_number_read(reader->at, reader->end, number, &reader->cause);
    reader->at = behind == NULL ? reader->at : behind;
    return behind != NULL;
}

/* What is larger than the type can hold would become infinite. */
static bool is_too_large(enum weft_dtype dtype, double value)
{
    if (dtype == WEFT_FP16) {
        return fabs(value) >= HALF_END;
    }
    if (dtype == WEFT_BF16) {
        return fabs(value) >= BF16_END;
    }
    return dtype == WEFT_FP32 ? isinf((float)value) : isinf(value);
}

static bool store_float(struct reader *reader, const struct json_number *number)
{
    const double value = json_number_double(number);
    if (number->length >= JSON_NUMBER_BYTES_MAX) {
        return fail(reader, "is too long");
    }
    if (is_too_large(reader->tensor->dtype, value)) {
        return fail(reader, "is out of range");
    }
    if (reader->tensor->dtype == WEFT_FP64) {
        (void)memcpy(reader->out, &value, sizeof(value));
        reader->out += sizeof(value);
    } else if (reader->tensor->dtype == WEFT_FP32) {
        const float single = (float)value;
        (void)memcpy(reader->out, &single, sizeof(single));
        reader->out += sizeof(single);
    } else {
        const uint16_t bits =
            reader->tensor->dtype == WEFT_FP16 ? half_from_double(value) : bf16_from_double(value);
        (void)memcpy(reader->out, &bits, sizeof(bits));
        reader->out += sizeof(bits);
    }
    return true;
}

/* The largest values of whole types, and of their negatives. */
static const struct {
    uint64_t high;
    uint64_t low;
    uint32_t bytes;
} ranges[WEFT_DTYPES] = {
    [WEFT_UINT8] = {UINT8_MAX, 0, 1},
    [WEFT_UINT16] = {UINT16_MAX, 0, 2},
    [WEFT_UINT32] = {UINT32_MAX, 0, 4},
    [WEFT_UINT64] = {UINT64_MAX, 0, 8},
    [WEFT_INT8] = {INT8_MAX, UINT64_C(1) << 7, 1},
    [WEFT_INT16] = {INT16_MAX, UINT64_C(1) << 15, 2},
    [WEFT_INT32] = {INT32_MAX, UINT64_C(1) << 31, 4},
    [WEFT_INT64] = {INT64_MAX, UINT64_C(1) << 63, 8},
};

static bool store_whole(struct reader *reader, const struct json_number *number)
{
    const enum weft_dtype dtype = reader->tensor->dtype;
    if (!number->is_whole) {
        return fail(reader, "is not a whole number");
    }
    const uint64_t most = number->is_negative ? ranges[dtype].low : ranges[dtype].high;
    if (!number->is_exact || number->mantissa > most) {
        return fail(reader, "is out of range");
    }
    const uint64_t bits = number->is_negative ? -number->mantissa : number->mantissa;
    (void)memcpy(reader->out, &bits, ranges[dtype].bytes); /* Little-endian. */
    reader->out += ranges[dtype].bytes;
    return true;
}

static bool store_bool(struct reader *reader)
{
    const size_t left = (size_t)(reader->end - reader->at);
    if (left >= 4 && memcmp(reader->at, "true", 4) == 0) {
        *reader->out++ = 1;
        reader->at += 4;
        return true;
    }
    if (left >= 5 && memcmp(reader->at, "false", 5) == 0) {
        *reader->out++ = 0;
        reader->at += 5;
        return true;
    }
    struct json_number number;
    if (!read_number(reader, &number)) {
        return false;
    }
    if (!number.is_whole || number.is_negative || number.mantissa > 1) {
        return fail(reader, "is neither true nor false");
    }
    *reader->out++ = (uint8_t)number.mantissa;
    return true;
}

static bool store_text(struct reader *reader)
{
    uint64_t length = 0;
    const char *behind =
        json_text_decode(reader->at, reader->end, reader->out + sizeof(uint32_t), &length);
    if (behind == NULL) {
        return fail(reader, "is not a string of UTF-8");
    }
    const uint32_t prefix = (uint32_t)length;
    (void)memcpy(reader->out, &prefix, sizeof(prefix));
    reader->out += sizeof(prefix) + length;
    reader->at = behind;
    return true;
}

static bool store(struct reader *reader)
{
    struct json_number number;
    if (reader->count == reader->elements) {
        return fail(reader, "is one too many");
    }
    switch (reader->tensor->dtype) {
    case WEFT_BOOL:
        return store_bool(reader);
    case WEFT_BYTES:
        return store_text(reader);
    case WEFT_FP16:
    case WEFT_FP32:
    case WEFT_FP64:
    case WEFT_BF16:
        return read_number(reader, &number) && store_float(reader, &number);
    case WEFT_UINT8:
    case WEFT_UINT16:
    case WEFT_UINT32:
    case WEFT_UINT64:
    case WEFT_INT8:
    case WEFT_INT16:
    case WEFT_INT32:
    case WEFT_INT64:
        return read_number(reader, &number) && store_whole(reader, &number);
    case WEFT_DTYPES:
        break;
    }
    return fail(reader, "is of no type");
}

/* Behind a value: whether another one follows in the array, or it ends. */
static bool read_separator(struct reader *reader, bool *is_over_out)
{
    skip_blanks(reader);
    if (reader->at == reader->end || (*reader->at != ',' && *reader->at != ']')) {
        return fail(reader, "is followed by neither ',' nor ']'");
    }
    *is_over_out = *reader->at == ']';
    reader->at++;
    skip_blanks(reader);
    return true;
}

/* The array at the reader's place, of dimension @depth. Recursion ends at the rank of the shape. */
static bool read_array(struct reader *reader, uint32_t depth)
{
    uint64_t members = 0;
    bool has_arrays = false;
    bool is_over = false;
    reader->at++;
    skip_blanks(reader);
    if (reader->at < reader->end && *reader->at == ']') {
        reader->at++;
        is_over = true;
    }
    while (!is_over) {
        const bool is_array = reader->at < reader->end && *reader->at == '[';
        if (members > 0 && is_array != has_arrays) {
            return fail(reader, "mixes values and arrays");
        }
        has_arrays = is_array;
        if (is_array) {
            if (depth + 1 >= reader->tensor->rank) {
                return fail(reader, "is nested deeper than its shape");
            }
            if (!read_array(reader, depth + 1)) {
                return false;
            }
        } else if (!store(reader)) {
            return false;
        } else {
            reader->count++;
        }
        members++;
        if (!read_separator(reader, &is_over)) {
            return false;
        }
    }
    const bool is_flat = depth == 0 && !has_arrays;
    if (!is_flat && members != (uint64_t)reader->tensor->shape[depth]) {
        return fail(reader, "ends an array of another length than the shape says");
    }
    if (!is_flat && !has_arrays && members > 0 && depth + 1 != reader->tensor->rank) {
        return fail(reader, "is nested less deeply than its shape");
    }
    return true;
}

static uint64_t elements_of(const struct weft_tensor *tensor)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        count *= (uint64_t)tensor->shape[i];
    }
    return count;
}

enum weft_status json_data_read(
    const char *text, size_t length, const struct weft_tensor *tensor, struct weft_error *error)
{
    struct reader reader = {
        .at = text,
        .end = text + length,
        .tensor = tensor,
        .elements = elements_of(tensor),
        .out = tensor->data,
    };
    if (length == 0 || text[0] != '[') {
        return error_set(error, WEFT_INVALID, "input '%s': data is not an array", tensor->name);
    }
    if (!read_array(&reader, 0) || reader.at != reader.end) {
        return error_set(
            error, WEFT_INVALID, "input '%s': element %llu of its data %s (%s)", tensor->name,
            (unsigned long long)reader.count, reader.cause == NULL ? "is wrong" : reader.cause,
            dtype_name(tensor->dtype));
    }
    if (reader.count != reader.elements) {
        return error_set(
            error, WEFT_INVALID, "input '%s': data has %llu elements, its shape %llu", tensor->name,
            (unsigned long long)reader.count, (unsigned long long)reader.elements);
    }
    return WEFT_OK;
}

enum weft_status json_texts_bytes(
    const char *text, size_t length, uint64_t *bytes_out, struct weft_error *error)
{
    const char *at = text;
    const char *end = text + length;
    uint64_t bytes = 0;
    while (at < end) {
        if (*at != '"') {
            at++; /* Whatever else stands there is found by json_data_read(). */
            continue;
        }
        uint64_t decoded = 0;
        at = json_text_decode(at, end, NULL, &decoded);
        if (at == NULL || decoded > UINT32_MAX) {
            return error_set(error, WEFT_INVALID, "a text of the data is not a string of UTF-8");
        }
        bytes += sizeof(uint32_t) + decoded;
    }
    *bytes_out = bytes;
    return WEFT_OK;
}
