/*
 * function_target.h - calls of the functions of a shared object with tensors made from any bytes.
 *
 * The first byte chooses the function. Then come up to INPUTS_MAX tensors, each as: the number of
 * its name, its type, its rank, a byte for each extent (from EXTENT_SMALL on, in steps of 32), the
 * number of bytes that follow, and these, which are repeated until the tensor is full. Every
 * tensor, in and out, has a block of its own size, so that a sanitizer sees one byte too many.
 */
#ifndef FUZZ_FUNCTION_TARGET_H
#define FUZZ_FUNCTION_TARGET_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/function.h>

#include "base/assert.h"

enum {
    INPUTS_MAX = 12,
    EXTENT_SMALL = 192,
    OUTPUTS_MAX = 64,
    ELEMENTS_MAX = 1 << 18,
    OUTPUT_BYTES_MAX = 64 << 20
};

extern const struct weft_function_table weft_functions;

struct fuzzed {
    const uint8_t *data;
    size_t left;
    uint32_t output_count;
    void *outputs[OUTPUTS_MAX];
    char message[256];
};

static uint8_t next_byte(struct fuzzed *fuzzed)
{
    if (fuzzed->left == 0) {
        return 0;
    }
    fuzzed->left--;
    return *fuzzed->data++;
}

static uint64_t size_of(enum weft_dtype dtype)
{
    static const uint64_t sizes[] = {
#define X(name, bytes, text) bytes,
        WEFT_DTYPE_MAP(X)
#undef X
    };
    return sizes[dtype];
}

static void *give_output(
    void *inside, const char *name, enum weft_dtype dtype, uint32_t rank, const int64_t *shape,
    uint64_t bytes)
{
    struct fuzzed *fuzzed = inside;
    ASSERT(name[0] != '\0' && fuzzed->output_count < OUTPUTS_MAX);
    uint64_t count = 1;
    for (uint32_t i = 0; i < rank; i++) {
        ASSERT(shape[i] >= 0);
        count *= (uint64_t)shape[i];
        if (count > OUTPUT_BYTES_MAX) {
            return NULL;
        }
    }
    const uint64_t size = dtype == WEFT_BYTES ? bytes : count * size_of(dtype);
    if (size > OUTPUT_BYTES_MAX) {
        return NULL;
    }
    return fuzzed->outputs[fuzzed->output_count++] = malloc(size + (size == 0 ? 1 : 0));
}

static void give_items(void *inside, uint32_t items)
{
    (void)inside;
    (void)items;
}

/* Models belong to the operator: what they give is not a client's. */
static enum weft_status run_model(
    void *inside, const char *model, const struct weft_tensor *inputs, uint32_t input_count,
    const struct weft_tensor **outputs_out, uint32_t *output_count_out)
{
    (void)inside;
    (void)model;
    (void)inputs;
    (void)input_count;
    *outputs_out = NULL;
    *output_count_out = 0;
    return WEFT_FAILED;
}

static void take_message(void *inside, const char *message)
{
    struct fuzzed *fuzzed = inside;
    strncpy(fuzzed->message, message, sizeof(fuzzed->message) - 1);
}

static int is_cancelled(void *inside)
{
    (void)inside;
    return 0;
}

static const char *folder(void *inside)
{
    (void)inside;
    return "/nonexistent";
}

static void read_tensor(
    struct fuzzed *fuzzed, const char *const *names, uint32_t name_count,
    struct weft_tensor *tensor)
{
    uint64_t count = 1;
    (void)snprintf(tensor->name, sizeof(tensor->name), "%s", names[next_byte(fuzzed) % name_count]);
    tensor->dtype = (enum weft_dtype)(next_byte(fuzzed) % WEFT_DTYPES);
    tensor->rank = next_byte(fuzzed) % 5;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        const uint8_t extent = next_byte(fuzzed);
        tensor->shape[i] = extent < EXTENT_SMALL ? extent : (extent - EXTENT_SMALL + 1) * 32;
        if (count * (uint64_t)tensor->shape[i] > ELEMENTS_MAX) {
            tensor->shape[i] = 1;
        }
        count *= (uint64_t)tensor->shape[i];
    }
    const uint8_t wanted = next_byte(fuzzed);
    const size_t given = wanted < fuzzed->left ? wanted : fuzzed->left;
    tensor->bytes = tensor->dtype == WEFT_BYTES ? given : count * size_of(tensor->dtype);
    uint8_t *data = malloc(tensor->bytes + (tensor->bytes == 0 ? 1 : 0));
    for (uint64_t i = 0; i < tensor->bytes; i++) {
        data[i] = given == 0 ? 0 : fuzzed->data[i % given];
    }
    tensor->data = data;
    fuzzed->data += given;
    fuzzed->left -= given;
}

/* Call a function of weft_functions with inputs called by @names. */
static void call_function(
    const char *const *names, uint32_t name_count, const uint8_t *data, size_t size)
{
    struct fuzzed fuzzed = {.data = data, .left = size};
    struct weft_tensor inputs[INPUTS_MAX] = {{.rank = 0}};
    struct weft_call call = {
        .inside = &fuzzed,
        .items = 1,
        .inputs = inputs,
        .output = give_output,
        .give_items = give_items,
        .run = run_model,
        .fail = take_message,
        .is_cancelled = is_cancelled,
        .folder = folder,
    };
    const uint32_t chosen = next_byte(&fuzzed) % weft_functions.count;
    while (call.input_count < INPUTS_MAX && fuzzed.left > 0) {
        read_tensor(&fuzzed, names, name_count, &inputs[call.input_count++]);
    }
    const enum weft_status status = weft_functions.entries[chosen].run(&call);
    ASSERT(status != WEFT_INVALID || fuzzed.message[0] != '\0'); /* It says why. */
    for (uint32_t i = 0; i < call.input_count; i++) {
        free(inputs[i].data);
    }
    for (uint32_t i = 0; i < fuzzed.output_count; i++) {
        free(fuzzed.outputs[i]);
    }
}

#endif /* FUZZ_FUNCTION_TARGET_H */
