/* Covers: src/engine/bundle.c. */
#include "engine/bundle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

static struct weft_tensor named(const char *name, uint64_t bytes)
{
    struct weft_tensor tensor = {.dtype = WEFT_UINT8, .rank = 1, .bytes = bytes};
    memcpy(tensor.name, name, strlen(name) + 1);
    tensor.shape[0] = (int64_t)bytes;
    return tensor;
}

static void names_are_unique_and_data_is_aligned(ATTR_UNUSED void **state)
{
    struct bundle *bundle = bundle_create();
    const struct weft_tensor first = named("x", 3);
    const struct weft_tensor second = named("y", 0);

    void *data = bundle_add(bundle, &first);
    assert_non_null(data);
    assert_int_equal((uintptr_t)data % 64, 0);
    assert_non_null(bundle_add(bundle, &second));
    assert_null(bundle_add(bundle, &first));
    assert_int_equal(bundle->count, 2);
    assert_int_equal(bundle->bytes, 3);
    assert_ptr_equal(bundle_find(bundle, "x")->data, data);
    assert_null(bundle_find(bundle, "z"));
    bundle_destroy(bundle);
    bundle_destroy(NULL);
}

static void the_last_reference_releases_a_bundle(ATTR_UNUSED void **state)
{
    struct bundle *bundle = bundle_create();
    const struct weft_tensor tensor = named("x", 3);
    memset(bundle_add(bundle, &tensor), 7, 3);
    struct bundle *shared = bundle_share(bundle);
    assert_ptr_equal(shared, bundle);
    bundle_destroy(bundle);
    assert_int_equal(((const uint8_t *)shared->tensors[0].data)[2], 7);
    bundle_destroy(shared); /* The leak sanitizer sees whether this was the last. */
}

static void a_part_shares_the_memory_of_its_whole(ATTR_UNUSED void **state)
{
    struct bundle *whole = bundle_create();
    const struct weft_tensor tensors[] = {named("x", 3), named("y", 5), named("z", 7)};
    for (uint32_t i = 0; i < 3; i++) {
        memset(bundle_add(whole, &tensors[i]), (int)i, tensors[i].bytes);
    }
    whole->items = 4;
    struct bundle *part = bundle_part(whole, (const bool[]){true, false, true});
    struct bundle *less = bundle_part(part, (const bool[]){false, true});
    assert_int_equal(part->count, 2);
    assert_int_equal(part->bytes, 10);
    assert_int_equal(part->items, 4);
    assert_ptr_equal(bundle_find(part, "z")->data, whole->tensors[2].data);
    bundle_destroy(whole);
    bundle_destroy(part);
    assert_int_equal(less->count, 1);
    assert_int_equal(((const uint8_t *)less->tensors[0].data)[6], 2);
    bundle_destroy(less); /* The leak sanitizer sees whether all of it has gone. */
}

static void a_full_bundle_takes_no_more(ATTR_UNUSED void **state)
{
    struct bundle *bundle = bundle_create();
    for (uint32_t i = 0; i <= BUNDLE_TENSORS_MAX; i++) {
        char name[2] = {(char)('!' + i), '\0'};
        const struct weft_tensor tensor = named(name, 1);
        if (i < BUNDLE_TENSORS_MAX) {
            assert_non_null(bundle_add(bundle, &tensor));
        } else {
            assert_null(bundle_add(bundle, &tensor));
        }
    }
    bundle_destroy(bundle);
}

static void bytes_of_shapes(ATTR_UNUSED void **state)
{
    const int64_t plain[] = {2, 3, 4};
    const int64_t empty[] = {INT64_MAX, INT64_MAX, 0};
    const int64_t huge[] = {INT64_MAX, 2, 2};
    const int64_t negative[] = {2, -1};

    assert_int_equal(tensor_bytes(WEFT_FP32, 3, plain), 96);
    assert_int_equal(tensor_bytes(WEFT_FP16, 0, plain), 2);
    assert_int_equal(tensor_bytes(WEFT_INT64, 2, empty + 1), 0);
    assert_int_equal(tensor_bytes(WEFT_UINT8, 3, huge), UINT64_MAX);
    assert_int_equal(tensor_bytes(WEFT_UINT8, 2, negative), UINT64_MAX);
    assert_int_equal(tensor_bytes(WEFT_BYTES, 1, plain), UINT64_MAX);
}

static void texts_are_checked(ATTR_UNUSED void **state)
{
    uint8_t data[] = {2, 0, 0, 0, 'h', 'i', 0, 0, 0, 0};
    struct weft_tensor tensor = {.dtype = WEFT_BYTES, .rank = 1, .shape = {2}, .data = data};

    tensor.bytes = sizeof(data);
    assert_true(tensor_texts_fit(&tensor));
    tensor.shape[0] = 1;
    assert_false(tensor_texts_fit(&tensor)); /* Something is left. */
    tensor.shape[0] = 3;
    assert_false(tensor_texts_fit(&tensor)); /* A length is missing. */
    tensor.shape[0] = 2;
    data[0] = 7;
    assert_false(tensor_texts_fit(&tensor)); /* A text is too long. */
    tensor.bytes = 3;
    assert_false(tensor_texts_fit(&tensor));
    tensor.shape[0] = 0;
    tensor.bytes = 0;
    assert_true(tensor_texts_fit(&tensor));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique_and_data_is_aligned),
        cmocka_unit_test(the_last_reference_releases_a_bundle),
        cmocka_unit_test(a_part_shares_the_memory_of_its_whole),
        cmocka_unit_test(a_full_bundle_takes_no_more),
        cmocka_unit_test(bytes_of_shapes),
        cmocka_unit_test(texts_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
