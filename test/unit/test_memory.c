#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "dies.h"

static void zeroed_memory_is_zero_throughout(ATTR_UNUSED void **state)
{
    for (size_t count = 1; count < 3000; count += 37) {
        uint64_t *words = memory_zeroed(count, sizeof(*words));
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(words[i], 0);
        }
        memset(words, 0xff, count * sizeof(*words)); /* So that reuse would show. */
        free(words);
    }
}

static void lines_start_on_a_cache_line_and_have_room_for_all(ATTR_UNUSED void **state)
{
    for (size_t count = 1; count < 300; count++) {
        uint8_t *bytes = memory_lines(count, 3);
        assert_int_equal((uintptr_t)bytes % CACHE_LINE_BYTES, 0);
        for (size_t i = 0; i < count * 3; i++) {
            bytes[i] = (uint8_t)i;
        }
        for (size_t i = 0; i < count * 3; i++) { /* The address sanitizer knows where it ends. */
            assert_int_equal(bytes[i], (uint8_t)i);
        }
        free(bytes);
    }
}

static void take_zeroed(void *argument)
{
    free(memory_zeroed(*(size_t *)argument, 1 << 20));
}

static void take_lines(void *argument)
{
    free(memory_lines(*(size_t *)argument, 1 << 20));
}

static void asking_for_more_than_there_is_stops_the_program(ATTR_UNUSED void **state)
{
    size_t overflowing = SIZE_MAX / 1000;
    size_t nothing = 0;

    assert_true(dies(take_zeroed, &overflowing));
    assert_true(dies(take_lines, &overflowing));
    assert_true(dies(take_zeroed, &nothing));
    assert_true(dies(take_lines, &nothing));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeroed_memory_is_zero_throughout),
        cmocka_unit_test(lines_start_on_a_cache_line_and_have_room_for_all),
        cmocka_unit_test(asking_for_more_than_there_is_stops_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
