/*
 * Every place, signature and value of onnx/ort_abi.h is that of the library's own header.
 *
 * Covers: src/onnx/ort_abi.h
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/attributes.h"

/* The library's own header, as tools/fetch.sh leaves it. It declares the same structs. */
#if __has_include("onnxruntime_c_api.h")
#define HAS_HEADER 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include "onnxruntime_c_api.h"
#pragma GCC diagnostic pop
#else
#define HAS_HEADER 0
#endif

#if HAS_HEADER

/* Its own struct has members that are added later; ours is compared by hand below. */
#define OrtAllocator our_allocator
#include "onnx/ort_abi.h"
#undef OrtAllocator

struct comparison {
    const char *name;
    size_t our_place;
    size_t their_place;
    bool same;
};

/* Allocators are the one struct that both define. */
#define our_allocator OrtAllocator

static const struct comparison comparisons[] = {
#define X(place, result, name, parameters)                                                         \
    {#name, (place), offsetof(OrtApi, name) / sizeof(void *),                                      \
     __builtin_types_compatible_p(__typeof__(((OrtApi *)0)->name), result(*) parameters)},
    ORT_ABI_MAP(X)
#undef X
};

#undef our_allocator

static void every_place_is_that_of_the_header(ATTR_UNUSED void **state)
{
    for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++) {
        const struct comparison *at = &comparisons[i];
        if (at->our_place != at->their_place) {
            fail_msg("%s is at place %zu, not %zu", at->name, at->their_place, at->our_place);
        }
    }
}

static void every_signature_is_that_of_the_header(ATTR_UNUSED void **state)
{
    for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++) {
        if (!comparisons[i].same) {
            fail_msg("%s has other parameters in the header", comparisons[i].name);
        }
    }
}

static void an_allocator_is_laid_out_alike(ATTR_UNUSED void **state)
{
    assert_int_equal(offsetof(struct our_allocator, Alloc), offsetof(OrtAllocator, Alloc));
    assert_int_equal(offsetof(struct our_allocator, Free), offsetof(OrtAllocator, Free));
    assert_int_equal(offsetof(struct our_allocator, Info), offsetof(OrtAllocator, Info));
}

static void values_are_those_of_the_header(ATTR_UNUSED void **state)
{
    assert_true(ORT_API_VERSION >= ORT_ABI_VERSION);
    assert_int_equal(ORT_LOG_FATAL, ORT_LOGGING_LEVEL_FATAL);
    assert_int_equal(ORT_OPTIMISE_NOTHING, ORT_DISABLE_ALL);
    assert_int_equal(ORT_OPTIMISE_ALL, ORT_ENABLE_ALL);
    assert_int_equal(ORT_ALLOCATOR_DEVICE, OrtDeviceAllocator);
    assert_int_equal(ORT_MEMORY_DEFAULT, OrtMemTypeDefault);
#define X(ours, number, theirs) assert_int_equal(number, ONNX_TENSOR_ELEMENT_DATA_TYPE_##theirs);
    ORT_ABI_DTYPE_MAP(X)
#undef X
}

#endif

int main(void)
{
#if HAS_HEADER
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_place_is_that_of_the_header),
        cmocka_unit_test(every_signature_is_that_of_the_header),
        cmocka_unit_test(an_allocator_is_laid_out_alike),
        cmocka_unit_test(values_are_those_of_the_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
#else
    (void)puts("skipped: tools/fetch.sh has not brought the header");
    return 0;
#endif
}
