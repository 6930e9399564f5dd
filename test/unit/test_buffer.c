#include "protocol/buffer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

static void it_grows_with_what_is_added(ATTR_UNUSED void **state)
{
    struct buffer buffer = {.length = 0};
    assert_non_null(buffer_room(&buffer, 0));
    for (int i = 0; i < 1000; i++) {
        assert_true(buffer_add(&buffer, "%04d", i));
    }
    assert_int_equal(buffer.length, 4000);
    assert_memory_equal(buffer.bytes + 3996, "0999", 4);
    assert_non_null(buffer_room(&buffer, 100000));
    assert_true(buffer.capacity >= 104000);
    assert_memory_equal(buffer.bytes + 3996, "0999", 4);
    free(buffer.bytes);
}

static void what_is_put_grows_it_as_well(ATTR_UNUSED void **state)
{
    struct buffer buffer = {.length = 0};
    for (int i = 0; i < 1000; i++) {
        assert_true(buffer_put(&buffer, "n="));
        assert_true(buffer_put_number(&buffer, UINT64_MAX));
    }
    assert_int_equal(buffer.length, 22000);
    assert_memory_equal(buffer.bytes, "n=18446744073709551615n=", 24);
    assert_memory_equal(buffer.bytes + 21978, "n=18446744073709551615", 22);
    free(buffer.bytes);
}

static void texts_are_quoted(ATTR_UNUSED void **state)
{
    struct buffer buffer = {.length = 0};
    assert_true(buffer_add_quoted(&buffer, "a\"b"));
    assert_int_equal(buffer.length, strlen("\"a\\\"b\""));
    assert_memory_equal(buffer.bytes, "\"a\\\"b\"", buffer.length);
    free(buffer.bytes);
}

static void what_cannot_be_is_refused(ATTR_UNUSED void **state)
{
    struct buffer buffer = {.length = 0};
    assert_true(buffer_add(&buffer, "kept"));
    const size_t sizes[] = {SIZE_MAX,         SIZE_MAX - 3, SIZE_MAX - 4,
                            SIZE_MAX / 2 + 1, SIZE_MAX / 2, SIZE_MAX / 2 - 3};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_null(buffer_room(&buffer, sizes[i]));
        assert_int_equal(buffer.length, 4);
        assert_memory_equal(buffer.bytes, "kept", 4);
    }
    assert_true(buffer_add(&buffer, ", and added to"));
    free(buffer.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_grows_with_what_is_added),
        cmocka_unit_test(what_is_put_grows_it_as_well),
        cmocka_unit_test(texts_are_quoted),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
