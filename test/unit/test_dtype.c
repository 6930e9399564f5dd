#include "model/dtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"

static void types_have_names(ATTR_UNUSED void **state)
{
    for (enum weft_dtype dtype = WEFT_BOOL; dtype < WEFT_DTYPES; dtype++) {
        assert_int_equal(dtype_parse(dtype_name(dtype)), dtype);
    }
    assert_int_equal(dtype_parse("FP32"), WEFT_FP32);
    assert_int_equal(dtype_parse("fp32"), WEFT_DTYPES);
    assert_int_equal(dtype_parse(""), WEFT_DTYPES);
}

static void shapes_are_text(ATTR_UNUSED void **state)
{
    const int64_t shape[] = {-1, 3, 0};
    char text[DTYPE_SHAPE_BYTES];
    assert_string_equal(dtype_shape_text(text, WEFT_FP32, 2, shape), "FP32 [?,3]");
    assert_string_equal(dtype_shape_text(text, WEFT_BYTES, 1, shape + 2), "BYTES [0]");
    assert_string_equal(dtype_shape_text(text, WEFT_BOOL, 0, shape), "BOOL []");
    assert_int_equal(dtype_bytes(WEFT_FP16), 2);
    assert_int_equal(dtype_bytes(WEFT_BYTES), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_names),
        cmocka_unit_test(shapes_are_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
