/* The functions that docs/FUNCTIONS.md shows do what it says. */
#include "function/function.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/error.h"

#define TILES WEFT_TEST_FUNCTIONS "/tiles.so"

static struct bundle *call(
    const char *name, const struct function_host *host, const struct weft_tensor *input)
{
    struct function function;
    struct function_task task = {.inputs = input, .input_count = 1, .items = 1};
    if (function_open(TILES, name, &function, &task.error) == WEFT_OK) {
        function_run(&function, host, &task);
    }
    if (task.error.status != WEFT_OK) {
        fail_msg("%s", task.error.message);
    }
    return task.output;
}

static void a_picture_is_cut_and_labelled(ATTR_UNUSED void **state)
{
    static uint8_t pixels[17][24];
    const struct function_host host = {.context = NULL};
    const struct weft_tensor image = {
        .name = "image",
        .dtype = WEFT_UINT8,
        .rank = 2,
        .shape = {17, 24},
        .bytes = sizeof(pixels),
        .data = pixels};
    pixels[9][18] = 255; /* In tile 5: the second row, the third column; there (1, 2). */
    struct bundle *tiles = call("cut", &host, &image);
    const struct weft_tensor *cut = bundle_find(tiles, "tiles");
    assert_int_equal(tiles->items, 6);
    assert_int_equal(cut->shape[0], 6);
    for (uint32_t i = 0; i < 6 * 64; i++) {
        assert_true(((const float *)cut->data)[i] == (i == 5 * 64 + 8 + 2 ? 1.0F : 0.0F));
    }
    struct bundle *label = call("label", &host, cut);
    const struct weft_tensor *text = bundle_find(label, "label");
    assert_int_equal(text->bytes, 4 + 7);
    assert_memory_equal((const uint8_t *)text->data + 4, "6 tiles", 7);
    bundle_destroy(label);
    bundle_destroy(tiles);
}

/* A model that halves. */
static enum weft_status halve(
    void *context, const char *model, const struct weft_tensor *inputs, uint32_t input_count,
    struct bundle **output_out, struct weft_error *error)
{
    uint32_t *runs = context;
    if (strcmp(model, "smooth") != 0 || input_count != 1 || strcmp(inputs[0].name, "x") != 0) {
        return error_set(error, WEFT_INVALID, "not what the model takes");
    }
    struct weft_tensor y = inputs[0];
    memcpy(y.name, "y", 2);
    *output_out = bundle_create();
    float *data = bundle_add(*output_out, &y);
    data[0] = ((const float *)inputs[0].data)[0] / 2;
    (*runs)++;
    return WEFT_OK;
}

static void a_model_is_run_ten_times(ATTR_UNUSED void **state)
{
    uint32_t runs = 0;
    float value = 1024;
    const struct function_host host = {.context = &runs, .run = halve};
    const struct weft_tensor x = {
        .name = "x", .dtype = WEFT_FP32, .rank = 1, .shape = {1}, .bytes = 4, .data = &value};
    struct bundle *settled = call("settle", &host, &x);
    assert_true(*(const float *)bundle_find(settled, "x")->data == 1);
    assert_int_equal(runs, 10);
    bundle_destroy(settled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_picture_is_cut_and_labelled),
        cmocka_unit_test(a_model_is_run_ten_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
