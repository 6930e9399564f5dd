/*
 * onnx_fixture.h - a folder for models, and the library, for tests that run real models.
 *
 * Where tools/fetch.sh could not bring the library, a test says so and skips.
 */
#ifndef UNIT_ONNX_FIXTURE_H
#define UNIT_ONNX_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "onnx/run.h"
#include "unit/onnx_writer.h"

/* Code of the library is not instrumented: what it synchronises with is not seen. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "ignore_noninstrumented_modules=1";
}

static char fixture_folder[64];
static char fixture_paths[8][128];
static uint32_t fixture_path_count;

/* The path of @name in the folder; good for the next few calls. */
static inline const char *fixture_path(const char *name)
{
    char *path = fixture_paths[fixture_path_count++ % 8];
    (void)snprintf(path, sizeof(fixture_paths[0]), "%s/%s", fixture_folder, name);
    return path;
}

static inline int fixture_setup(void **state)
{
    (void)state;
    (void)snprintf(fixture_folder, sizeof(fixture_folder), "/tmp/weft-test-XXXXXX");
    if (mkdtemp(fixture_folder) == NULL) {
        return -1;
    }
    if (access("build/deps/onnxruntime/libonnxruntime.so", R_OK) == 0) {
        (void)setenv(
            "WEFT_ONNXRUNTIME", "build/deps/onnxruntime/libonnxruntime.so", /* overwrite */ 0);
    }
    return 0;
}

static inline int fixture_teardown(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", fixture_folder);
    return system(command);
}

/* The library, or the end of this test. */
static inline const struct ort *fixture_ort(void)
{
    const struct ort *ort;
    struct weft_error error;
    if (ort_open(&ort, &error) != WEFT_OK) {
        print_message("skipped: %s\n", error.message);
        skip();
    }
    return ort;
}

/* A loaded model of the folder, without cache; its rows are known not to change one another. */
static inline struct onnx_model *fixture_load(const char *file, uint32_t rows_max)
{
    struct onnx_model *model = NULL;
    struct weft_error error;
    const struct onnx_options options = {
        .path = fixture_path(file), .name = file, .rows_max = rows_max};
    if (onnx_model_load(fixture_ort(), &options, &model, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    atomic_store(&model->rows->rows, ROWS_APART);
    return model;
}

/* A tensor of floats over @data. */
static inline struct weft_tensor fixture_floats(
    const char *name, uint32_t rank, const int64_t *shape, const float *data)
{
    struct weft_tensor tensor = {.dtype = WEFT_FP32, .rank = rank};
    (void)snprintf(tensor.name, sizeof(tensor.name), "%s", name);
    memcpy(tensor.shape, shape, rank * sizeof(*shape));
    tensor.bytes = tensor_bytes(WEFT_FP32, rank, shape);
    tensor.data = (void *)(uintptr_t)data;
    return tensor;
}

#endif /* UNIT_ONNX_FIXTURE_H */
