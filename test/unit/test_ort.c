/* What ONNX Runtime says, made short enough to be read. */
#include "onnx/ort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

static const struct {
    const char *said;
    const char *kept;
} cases[] = {
    {"", ""},
    {"Protobuf parsing failed.", "Protobuf parsing failed."},
    {"Non-zero status code returned while running Gather node. Name:'g' Status Message: "
     "indices element out of data bounds, idx=10 must be within the inclusive range [-3,2]",
     "Gather 'g': indices element out of data bounds, idx=10 must be within the inclusive range "
     "[-3,2]"},
    {"Non-zero status code returned while running Reshape node. Name:'' Status Message: "
     "/onnxruntime_src/onnxruntime/core/providers/cpu/tensor/reshape_helper.h:39 "
     "onnxruntime::ReshapeHelper::ReshapeHelper(const onnxruntime::TensorShape&, "
     "onnxruntime::TensorShapeVector&, bool) input_shape_size == size was false. The input "
     "tensor cannot be reshaped to the requested shape. Input shape:{7}, requested shape:{2,3}\n",
     "Reshape '': The input tensor cannot be reshaped to the requested shape. Input shape:{7}, "
     "requested shape:{2,3}"},
    {"/onnxruntime_src/core/a.cc:12 void f() x was false. ", "void f() x was false."},
    {"first\nsecond\nStacktrace:\nf\ng", "first second"},
    {"/no place", "/no place"},
};

static void the_point_of_it_is_kept(ATTR_UNUSED void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[ORT_SAID_BYTES];
        ort_shorten(cases[i].said, out);
        assert_string_equal(out, cases[i].kept);
    }
}

static void of_what_is_too_long_the_end_is_kept(ATTR_UNUSED void **state)
{
    char said[1024];
    char out[ORT_SAID_BYTES];
    (void)memset(said, 'a', sizeof(said));
    (void)memcpy(said + sizeof(said) - sizeof(" the point"), " the point", sizeof(" the point"));
    ort_shorten(said, out);
    assert_int_equal(strlen(out), ORT_SAID_BYTES - 1);
    assert_memory_equal(out, "...aaa", 6);
    assert_string_equal(out + strlen(out) - strlen("a the point"), "a the point");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_point_of_it_is_kept),
        cmocka_unit_test(of_what_is_too_long_the_end_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
