#include "service/synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

static void open_extents_are_filled_in(ATTR_UNUSED void **state)
{
    const struct workflow_input inputs[] = {
        {.name = "x", .dtype = WEFT_FP32, .rank = 3, .shape = {-1, 3, -1}},
        {.name = "ids", .dtype = WEFT_INT64, .rank = 1, .shape = {7}},
        {.name = "t", .dtype = WEFT_BYTES, .rank = 1, .shape = {-1}},
        {.name = "h", .dtype = WEFT_FP16, .rank = 0},
    };
    struct bundle *bundle = synthetic_bundle(inputs, 4, /* items */ 5);
    float value;
    assert_non_null(bundle);
    assert_int_equal(bundle->items, 5);
    assert_int_equal(bundle->count, 4);
    const struct weft_tensor *x = bundle_find(bundle, "x");
    assert_int_equal(x->shape[0], 5);
    assert_int_equal(x->shape[1], 3);
    assert_int_equal(x->shape[2], SYNTHETIC_EXTENT);
    assert_int_equal(x->bytes, 5 * 3 * SYNTHETIC_EXTENT * 4);
    memcpy(&value, (const char *)x->data + x->bytes - sizeof(value), sizeof(value));
    assert_true(value == 0.5F);
    assert_int_equal(bundle_find(bundle, "ids")->bytes, 56);
    assert_int_equal(((const char *)bundle_find(bundle, "ids")->data)[55], 0);
    assert_true(tensor_texts_fit(bundle_find(bundle, "t")));
    assert_int_equal(bundle_find(bundle, "h")->bytes, 2);
    bundle_destroy(bundle);
}

static void what_is_too_large_is_not_made(ATTR_UNUSED void **state)
{
    struct workflow_input input = {
        .name = "x",
        .dtype = WEFT_FP32,
        .rank = 4,
        .shape = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX}};
    assert_null(synthetic_bundle(&input, 1, 1));
    input.shape[3] = 0; /* Nothing at all is not too large. */
    struct bundle *bundle = synthetic_bundle(&input, 1, 1);
    assert_non_null(bundle);
    bundle_destroy(bundle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_extents_are_filled_in),
        cmocka_unit_test(what_is_too_large_is_not_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
