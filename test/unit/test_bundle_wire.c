/* Covers: src/runtime/bundle_wire.c. */
#include "runtime/bundle_wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

enum { BYTES_MAX = 1000 };

static uint8_t head[BUNDLE_HEAD_BYTES_MAX];

static void add(
    struct bundle *bundle, const char *name, enum weft_dtype dtype, uint32_t rank,
    const int64_t *shape, uint64_t bytes)
{
    struct weft_tensor tensor = {.dtype = dtype, .rank = rank, .bytes = bytes};
    memcpy(tensor.name, name, strlen(name) + 1);
    for (uint32_t i = 0; i < rank; i++) {
        tensor.shape[i] = shape[i];
    }
    assert_non_null(bundle_add(bundle, &tensor));
}

static struct bundle *sample(void)
{
    struct bundle *bundle = bundle_create();
    bundle->items = 3;
    add(bundle, "picture", WEFT_FP32, 2, (const int64_t[]){3, 5}, 60);
    add(bundle, "texts", WEFT_BYTES, 1, (const int64_t[]){3}, 17);
    add(bundle, "none", WEFT_BF16, 3, (const int64_t[]){3, 0, 1LL << 40}, 0);
    add(bundle, "one", WEFT_INT64, 0, NULL, 8);
    return bundle;
}

static enum weft_status decode(size_t count, uint64_t bytes_max)
{
    struct bundle *bundle = NULL;
    struct weft_error error;
    const enum weft_status status = bundle_head_decode(head, count, bytes_max, &bundle, &error);
    assert_int_equal(bundle != NULL, status == WEFT_OK);
    bundle_destroy(bundle);
    return status;
}

static void a_head_describes_the_same_tensors(ATTR_UNUSED void **state)
{
    struct bundle *bundle = sample();
    struct bundle *made = NULL;
    const size_t count = bundle_head_encode(bundle, head);
    assert_int_equal(bundle_head_decode(head, count, BYTES_MAX, &made, NULL), WEFT_OK);
    assert_int_equal(made->items, 3);
    assert_int_equal(made->count, bundle->count);
    assert_int_equal(made->bytes, bundle->bytes);
    for (uint32_t i = 0; i < made->count; i++) {
        struct weft_tensor a = bundle->tensors[i];
        struct weft_tensor b = made->tensors[i];
        assert_string_equal(a.name, b.name);
        assert_int_equal(a.dtype, b.dtype);
        assert_int_equal(a.rank, b.rank);
        assert_memory_equal(a.shape, b.shape, sizeof(a.shape));
        assert_int_equal(a.bytes, b.bytes);
        memset(b.data, 1, b.bytes); /* There is room. */
    }
    bundle_destroy(bundle);
    bundle_destroy(made);
}

static void a_head_is_whole_or_nothing(ATTR_UNUSED void **state)
{
    struct bundle *bundle = sample();
    const size_t count = bundle_head_encode(bundle, head);
    bundle_destroy(bundle);
    for (size_t i = 0; i < count; i++) {
        assert_int_not_equal(decode(i, BYTES_MAX), WEFT_OK);
    }
    assert_int_equal(decode(count, BYTES_MAX), WEFT_OK);
    assert_int_not_equal(decode(count + 1, BYTES_MAX), WEFT_OK);
    assert_int_equal(decode(count, 85), WEFT_OK); /* 60 + 17 + 8 */
    assert_int_equal(decode(count, 84), WEFT_LIMIT);
}

/* What is wrong with a head of one tensor, of 4 bytes, after byte @at was changed. */
static enum weft_status changed(size_t at, uint8_t value)
{
    struct bundle *bundle = bundle_create();
    add(bundle, "ab", WEFT_UINT8, 1, (const int64_t[]){4}, 4);
    const size_t count = bundle_head_encode(bundle, head);
    bundle_destroy(bundle);
    head[at] = value;
    return decode(count, BYTES_MAX);
}

static void what_makes_no_sense_is_refused(ATTR_UNUSED void **state)
{
    assert_int_equal(changed(0, head[0]), WEFT_OK);
    assert_int_equal(changed(0, 99), WEFT_INVALID);          /* Version. */
    assert_int_equal(changed(5, 2), WEFT_INVALID);           /* Tensors. */
    assert_int_equal(changed(6, 2), WEFT_INVALID);           /* 513 of them. */
    assert_int_equal(changed(7, WEFT_DTYPES), WEFT_INVALID); /* Type. */
    assert_int_equal(changed(8, WEFT_RANK_MAX + 1), WEFT_INVALID);
    assert_int_equal(changed(9, 64), WEFT_INVALID);    /* Length of the name. */
    assert_int_equal(changed(10, 0), WEFT_INVALID);    /* A name that ends early. */
    assert_int_equal(changed(19, 0x80), WEFT_INVALID); /* A negative extent. */
    assert_int_equal(changed(12, 5), WEFT_INVALID);    /* One that needs other bytes. */
    assert_int_equal(changed(18, 1), WEFT_LIMIT);      /* One that is huge. */
}

static void a_name_comes_once(ATTR_UNUSED void **state)
{
    struct bundle *bundle = bundle_create();
    add(bundle, "a", WEFT_UINT8, 1, (const int64_t[]){1}, 1);
    add(bundle, "b", WEFT_UINT8, 1, (const int64_t[]){1}, 1);
    const size_t count = bundle_head_encode(bundle, head);
    bundle_destroy(bundle);
    const size_t one = (count - 7) / 2; /* Bytes of a tensor. */
    memcpy(head + 7 + one, head + 7, one);
    assert_int_equal(decode(count, BYTES_MAX), WEFT_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_describes_the_same_tensors),
        cmocka_unit_test(a_head_is_whole_or_nothing),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(a_name_comes_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
