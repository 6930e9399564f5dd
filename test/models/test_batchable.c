/*
 * What tools/batchable.py makes of a model that takes one item at a time: three items together
 * give what each of them gives the model as published.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"
#include "onnx/ort.h"
#include "onnx/run.h"

enum { ITEMS = 3, WIDTH = 608, HEIGHT = 800, FLOATS = 3 * WIDTH * HEIGHT };

#define PUBLISHED "build/models/as-published/page-layout.onnx"
#define BATCHABLE "build/models/page-layout/1/model.onnx"

static struct onnx_model *load(const struct ort *ort, const char *path)
{
    struct weft_error error;
    struct onnx_model *model = NULL;
    const struct onnx_options options = {.path = path, .name = "page-layout"};
    if (onnx_model_load(ort, &options, &model, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    return model;
}

/* Run all of @tasks and say in how many runs. */
static uint32_t run(
    const struct ort *ort, struct onnx_model *model, struct onnx_task *tasks, uint32_t count)
{
    struct onnx_usage usage = {0};
    struct OrtRunOptions *options = NULL;
    assert_null(ort->api.CreateRunOptions(&options));
    onnx_run(model, options, tasks, count, &usage);
    ort->api.ReleaseRunOptions(options);
    for (uint32_t i = 0; i < count; i++) {
        if (tasks[i].output == NULL) {
            fail_msg("%s", tasks[i].error.message);
        }
    }
    return usage.run_count;
}

static void compare(const struct bundle *alone, const struct bundle *together)
{
    assert_int_equal(alone->count, 8);
    assert_int_equal(together->count, alone->count);
    for (uint32_t i = 0; i < alone->count; i++) {
        const struct weft_tensor *a = &alone->tensors[i];
        const struct weft_tensor *b = bundle_find(together, a->name);
        assert_non_null(b);
        assert_memory_equal(a->shape, b->shape, a->rank * sizeof(a->shape[0]));
        assert_memory_equal(a->data, b->data, (size_t)a->bytes);
    }
}

static void three_together_are_three_alone(ATTR_UNUSED void **state)
{
    struct weft_error error;
    const struct ort *ort = NULL;
    if (access(BATCHABLE, R_OK) != 0 || ort_open(&ort, &error) != WEFT_OK) {
        print_message("skipped: no models; tools/setup.sh fetches them\n");
        skip();
    }
    struct weft_tensor inputs[ITEMS];
    struct onnx_task together[ITEMS] = {0};
    struct rng rng = rng_stream(1, RNG_TEST, 0);
    for (uint32_t i = 0; i < ITEMS; i++) {
        inputs[i] = (struct weft_tensor){
            .name = "image",
            .dtype = WEFT_FP32,
            .rank = 4,
            .shape = {1, 3, HEIGHT, WIDTH},
            .bytes = FLOATS * sizeof(float),
            .data = malloc(FLOATS * sizeof(float)),
        };
        float *values = inputs[i].data;
        assert_non_null(values);
        for (uint32_t k = 0; k < FLOATS; k++) {
            values[k] = (float)(rng_unit(&rng) * 4 - 2);
        }
        together[i] = (struct onnx_task){.inputs = &inputs[i], .input_count = 1};
    }
    struct onnx_model *published = load(ort, PUBLISHED);
    struct onnx_model *batchable = load(ort, BATCHABLE);
    /* The first time the first and the last are run alone as well, and must agree. */
    assert_int_equal(run(ort, batchable, together, ITEMS), 3);
    assert_int_equal(atomic_load(&batchable->rows->rows), ROWS_APART);
    for (uint32_t i = 0; i < ITEMS; i++) {
        struct onnx_task alone = {.inputs = &inputs[i], .input_count = 1};
        assert_int_equal(run(ort, published, &alone, 1), 1);
        compare(alone.output, together[i].output);
        bundle_destroy(alone.output);
        bundle_destroy(together[i].output);
        free(inputs[i].data);
    }
    onnx_model_unload(published);
    onnx_model_unload(batchable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_together_are_three_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
