/*
 * fake_package.c - a package as AOTInductor makes them: y = x * scale + shift, in floats.
 *
 * A row that begins with 666 makes its kernel use an illegal address; 777 makes it hang; 555
 * makes it take long. With "big" in the name of its folder, a run needs 64 MiB.
 *
 * Where x is in halves or words, as in the models that are measured on a real card, y has the first
 * few elements of each row, in halves. A word that no embedding has is an illegal address.
 *
 * tidy: foreign interface
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/half.h"
#include "fakes/aoti_package.h"
#include "fakes/fake_cuda.h"
#include "fakes/fake_torch.h"

enum { CONSTANTS = 2, HALVES_OUT = 64, WORDS = 1 << 20 };

/* As PyTorch numbers them. */
enum { TYPE_WORD = 4, TYPE_HALF = 5, TYPE_FLOAT = 6 };

struct container {
    uint64_t magic;
    bool is_big;
    const float *constants[CONSTANTS];
};

struct arguments {
    const void *x;
    void *y;
    int64_t count;
    int64_t extent; /* Of a row. */
    int64_t type;   /* Of x. */
    const float *scale;
    const float *shift;
};

static const char *const names[CONSTANTS] = {"layer.scale", "layer.shift"};
static const char *const inner[CONSTANTS] = {"layer_scale", "layer_shift"};

extern fake_cuda_enqueue_function fake_cuda_enqueue;
extern fake_cuda_touch_function fake_cuda_touch;
extern fake_cuda_hang_function fake_cuda_hang;
extern fake_cuda_linger_function fake_cuda_linger;

extern int32_t aoti_torch_get_data_ptr(struct AtenTensorOpaque *tensor, void **out);
extern int32_t aoti_torch_delete_tensor_object(struct AtenTensorOpaque *tensor);

static struct container *check(void *handle)
{
    struct container *container = handle;
    if (container == NULL || container->magic != FAKE_TENSOR) {
        (void)fputs("fake package: not a container, or deleted\n", stderr);
        abort();
    }
    return container;
}

int32_t AOTInductorModelContainerCreateWithDevice(
    void **out, size_t runners, const char *device, const char *folder)
{
    struct container *container = calloc(1, sizeof(*container));
    const char *path = getenv(FAKE_PACKAGES);
    FILE *file = path == NULL ? NULL : fopen(path, "a");
    if (file != NULL) {
        (void)fprintf(file, "%s\n", folder);
        (void)fclose(file);
    }
    if (container == NULL || runners != 1 || strcmp(device, "cuda") != 0) {
        abort();
    }
    container->magic = FAKE_TENSOR;
    container->is_big = strstr(folder, "big") != NULL;
    *out = container;
    return 0;
}

int32_t AOTInductorModelContainerDelete(void *handle)
{
    check(handle)->magic = 0;
    free(handle);
    return 0;
}

int32_t AOTInductorModelContainerGetNumConstants(void *handle, size_t *out)
{
    (void)check(handle);
    *out = CONSTANTS;
    return 0;
}

int32_t AOTInductorModelContainerGetConstantOriginalFQN(
    void *handle, size_t index, const char **out)
{
    (void)check(handle);
    *out = names[index];
    return 0;
}

int32_t AOTInductorModelContainerGetConstantName(void *handle, size_t index, const char **out)
{
    (void)check(handle);
    *out = inner[index];
    return 0;
}

int32_t AOTInductorModelContainerUpdateUserManagedConstantBufferPairs(
    void *handle, const struct pair *pairs, size_t count, bool use_inactive, bool check_all)
{
    struct container *container = check(handle);
    if (use_inactive || !check_all || count != CONSTANTS) {
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        void *data;
        if (strcmp(pairs[i].name, inner[i]) != 0) {
            return 1;
        }
        (void)aoti_torch_get_data_ptr(pairs[i].tensor, &data);
        container->constants[i] = data;
    }
    return 0;
}

static bool touch(const void *at, size_t bytes)
{
    return fake_cuda_touch((uint64_t)(uintptr_t)at, bytes) == 0;
}

/* Whether the rows of floats in @a can be used; if not, something happens on @stream. */
static bool mind_rows(void *stream, const struct arguments *a)
{
    const float *x = a->x;
    for (int64_t i = 0; i < a->count; i += a->extent) {
        if (x[i] > 665.5F && x[i] < 666.5F) {
            (void)fake_cuda_touch(/* address */ 16, /* bytes */ 4);
            return false;
        }
        if (x[i] > 776.5F && x[i] < 777.5F) {
            fake_cuda_hang(stream);
            return false;
        }
        if (x[i] > 554.5F && x[i] < 555.5F) {
            fake_cuda_linger(stream, /* questions */ 2000, (uint64_t)(uintptr_t)a->scale);
        }
    }
    return true;
}

static void run(void *stream, const void *given)
{
    struct arguments a;
    memcpy(&a, given, sizeof(a));
    const size_t bytes = (size_t)a.count * sizeof(float);
    const float *x = a.x;
    float *y = a.y;
    if (!touch(x, bytes) || !touch(y, bytes) || !touch(a.scale, sizeof(float)) ||
        !touch(a.shift, sizeof(float)) || !mind_rows(stream, &a)) {
        return;
    }
    for (int64_t i = 0; i < a.count; i++) {
        y[i] = x[i] * *a.scale + *a.shift;
    }
}

/* Element @index of @a, whose elements are no floats. */
static double element(const struct arguments *a, int64_t index)
{
    return a->type == TYPE_HALF ? half_to_double(((const uint16_t *)a->x)[index])
                                : (double)((const int64_t *)a->x)[index];
}

static void run_halves(void *stream, const void *given)
{
    struct arguments a;
    memcpy(&a, given, sizeof(a));
    const size_t each = a.type == TYPE_HALF ? sizeof(uint16_t) : sizeof(int64_t);
    const int64_t rows = a.count / a.extent;
    uint16_t *y = a.y;
    (void)stream;
    if (!touch(a.x, (size_t)a.count * each) ||
        !touch(y, (size_t)(rows * HALVES_OUT) * sizeof(*y)) || !touch(a.scale, sizeof(float)) ||
        !touch(a.shift, sizeof(float))) {
        return;
    }
    for (int64_t i = 0; i < rows * HALVES_OUT; i++) {
        const double x = element(&a, i / HALVES_OUT * a.extent + i % HALVES_OUT);
        if (a.type == TYPE_WORD && (x < 0 || x >= WORDS)) {
            (void)fake_cuda_touch(/* address */ 16, /* bytes */ 4);
            return;
        }
        y[i] = half_from_double(x * (double)*a.scale + (double)*a.shift);
    }
}

/* The elements of a row of @tensor. */
static int64_t extent_of(const struct AtenTensorOpaque *tensor)
{
    int64_t extent = 1;
    for (int64_t i = 1; i < tensor->rank; i++) {
        extent *= tensor->shape[i];
    }
    return extent;
}

int32_t AOTInductorModelContainerRunSingleThreaded(
    void *handle, struct AtenTensorOpaque **inputs, size_t input_count,
    struct AtenTensorOpaque **outputs, size_t output_count, void *stream, void *executor)
{
    const struct container *container = check(handle);
    struct arguments a = {.extent = extent_of(inputs[0]), .type = inputs[0]->type};
    const bool is_float = a.type == TYPE_FLOAT;
    const int64_t rows = inputs[0]->shape[0];
    void *x;
    if (input_count != 1 || output_count != 1 || executor != NULL || inputs[0]->rank < 2 ||
        (!is_float && ((a.type != TYPE_HALF && a.type != TYPE_WORD) || a.extent < HALVES_OUT))) {
        abort();
    }
    a.count = rows * a.extent;
    struct AtenTensorOpaque *work =
        container->is_big ? fake_torch_empty(stream, INT64_C(16) << 20) : NULL;
    struct AtenTensorOpaque *y = fake_torch_empty(stream, is_float ? a.count : rows * HALVES_OUT);
    (void)aoti_torch_get_data_ptr(inputs[0], &x);
    (void)aoti_torch_delete_tensor_object(inputs[0]); /* They are the run's. */
    if (work != NULL) {
        (void)aoti_torch_delete_tensor_object(work);
    }
    if (y == NULL || (container->is_big && work == NULL)) {
        if (y != NULL) {
            (void)aoti_torch_delete_tensor_object(y);
        }
        return 1;
    }
    a.x = x;
    a.y = y->data;
    a.scale = container->constants[0];
    a.shift = container->constants[1];
    outputs[0] = y;
    return fake_cuda_enqueue(stream, is_float ? run : run_halves, &a, sizeof(a));
}
