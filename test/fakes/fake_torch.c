/*
 * fake_torch.c - a libtorch of a few functions, with an allocator that behaves like the real one:
 * memory is cached by stream, and given back, of all streams, when there is no more.
 *
 * tidy: foreign interface
 */
#include "fakes/fake_torch.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { BLOCKS_MAX = 1024 };

struct block {
    void *memory;
    void *stream;
    size_t bytes;
    bool is_used;
};

static struct block blocks[BLOCKS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Of the program, which comes first. */
extern int cudaMalloc(void **out, size_t bytes);
extern int cudaFree(void *memory);

EXPORT int32_t aoti_torch_create_tensor_from_blob(
    void *data, int64_t rank, const int64_t *shape, const int64_t *strides, int64_t offset,
    int32_t type, int32_t device_type, int32_t device, struct AtenTensorOpaque **out);
EXPORT int32_t aoti_torch_get_data_ptr(struct AtenTensorOpaque *tensor, void **out);
EXPORT int32_t aoti_torch_get_numel(struct AtenTensorOpaque *tensor, int64_t *out);
EXPORT int32_t aoti_torch_delete_tensor_object(struct AtenTensorOpaque *tensor);

static void check(const struct AtenTensorOpaque *tensor)
{
    if (tensor == NULL || tensor->magic != FAKE_TENSOR) {
        (void)fputs("fake libtorch: not a tensor, or deleted\n", stderr);
        abort();
    }
}

int32_t aoti_torch_create_tensor_from_blob(
    void *data, int64_t rank, const int64_t *shape, const int64_t *strides, int64_t offset,
    int32_t type, int32_t device_type, int32_t device, struct AtenTensorOpaque **out)
{
    struct AtenTensorOpaque *tensor = calloc(1, sizeof(*tensor));
    if (tensor == NULL || rank > FAKE_RANK_MAX || offset != 0 || device_type != 1 || device != 0 ||
        (rank > 0 && strides == NULL)) {
        free(tensor);
        return 1;
    }
    *tensor =
        (struct AtenTensorOpaque){.magic = FAKE_TENSOR, .data = data, .rank = rank, .type = type};
    memcpy(tensor->shape, shape, (size_t)rank * sizeof(*shape));
    *out = tensor;
    return 0;
}

int32_t aoti_torch_get_data_ptr(struct AtenTensorOpaque *tensor, void **out)
{
    check(tensor);
    *out = tensor->data;
    return 0;
}

int32_t aoti_torch_get_numel(struct AtenTensorOpaque *tensor, int64_t *out)
{
    check(tensor);
    *out = 1;
    for (int64_t i = 0; i < tensor->rank; i++) {
        *out *= tensor->shape[i];
    }
    return 0;
}

int32_t aoti_torch_delete_tensor_object(struct AtenTensorOpaque *tensor)
{
    check(tensor);
    (void)pthread_mutex_lock(&lock);
    if (tensor->block != NULL) {
        ((struct block *)tensor->block)->is_used = false;
    }
    (void)pthread_mutex_unlock(&lock);
    tensor->magic = 0;
    free(tensor);
    return 0;
}

void fake_torch_forget(void)
{
    (void)pthread_mutex_lock(&lock);
    memset(blocks, 0, sizeof(blocks));
    (void)pthread_mutex_unlock(&lock);
}

static struct block *find_cached(void *stream, size_t bytes)
{
    for (uint32_t i = 0; i < BLOCKS_MAX; i++) {
        if (blocks[i].memory != NULL && !blocks[i].is_used && blocks[i].stream == stream &&
            blocks[i].bytes >= bytes) {
            return &blocks[i];
        }
    }
    return NULL;
}

/* Give back whatever is not in use, of all streams. */
static void empty_cache(void)
{
    for (uint32_t i = 0; i < BLOCKS_MAX; i++) {
        if (blocks[i].memory != NULL && !blocks[i].is_used) {
            (void)cudaFree(blocks[i].memory);
            blocks[i].memory = NULL;
        }
    }
}

static struct block *take_fresh(void *stream, size_t bytes)
{
    void *memory = NULL;
    if (cudaMalloc(&memory, bytes) != 0) {
        empty_cache();
        if (cudaMalloc(&memory, bytes) != 0) {
            (void)fputs("fake libtorch: out of memory\n", stderr);
            return NULL;
        }
    }
    for (uint32_t i = 0; i < BLOCKS_MAX; i++) {
        if (blocks[i].memory == NULL) {
            blocks[i] = (struct block){.memory = memory, .stream = stream, .bytes = bytes};
            return &blocks[i];
        }
    }
    abort();
}

struct AtenTensorOpaque *fake_torch_empty(void *stream, int64_t count)
{
    struct AtenTensorOpaque *tensor = calloc(1, sizeof(*tensor));
    (void)pthread_mutex_lock(&lock);
    struct block *block = find_cached(stream, (size_t)count * sizeof(float));
    if (block == NULL) {
        block = take_fresh(stream, (size_t)count * sizeof(float));
    }
    if (block != NULL) {
        block->is_used = true;
    }
    (void)pthread_mutex_unlock(&lock);
    if (block == NULL || tensor == NULL) {
        free(tensor);
        return NULL;
    }
    *tensor = (struct AtenTensorOpaque){
        .magic = FAKE_TENSOR, .data = block->memory, .rank = 1, .shape = {count}, .type = 6};
    tensor->block = block;
    return tensor;
}
