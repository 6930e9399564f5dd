#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "dies.h"

/* Under the names that the linker gives to what it has replaced: see test/CMakeLists.txt. */
void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

static uint32_t failures; /* That are still to come. */

static bool fails(void)
{
    if (failures == 0) {
        return false;
    }
    failures--;
    return true;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return fails() ? NULL : __real_realloc(memory, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}

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

static void more_zeroed_memory_keeps_what_was_used(ATTR_UNUSED void **state)
{
    uint32_t *words = memory_zeroed_more(NULL, 0, 5, sizeof(*words));
    uint32_t used = 0;
    for (uint32_t count = 5; count < 2000; count = 2 * count + 1) {
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(words[i], i < used ? i : 0);
            words[i] = i;
        }
        used = count - 2;
        words = memory_zeroed_more(words, used, 2 * count + 1, sizeof(*words));
    }
    free(words);
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

static void aligned_memory_says_which_block_it_lies_in(ATTR_UNUSED void **state)
{
    for (size_t alignment = 1; alignment <= 4096; alignment *= 4) {
        void *blocks[64];
        for (size_t i = 0; i < 64; i++) {
            uint8_t *bytes = memory_aligned(i, alignment, &blocks[i]);
            assert_non_null(bytes);
            assert_int_equal((uintptr_t)bytes % alignment, 0);
            memset(bytes, 0xff, i); /* The address sanitizer knows where it ends. */
        }
        for (size_t i = 0; i < 64; i++) {
            free(blocks[i]);
        }
    }
    void *block = &block;
    failures = 1;
    assert_null(memory_aligned(1, CACHE_LINE_BYTES, &block));
    assert_null(block);
}

/* Small blocks and such as the system maps, which it moves without a copy. */
static void more_lines_keep_what_there_was(ATTR_UNUSED void **state)
{
    enum { BYTES_MAX = 1 << 22 };
    for (uint32_t first = 3; first < 300000; first = first * 3 + 1) {
        size_t count = first;
        uint32_t *words = memory_lines(count, sizeof(*words));
        for (uint32_t i = 0; i < count; i++) {
            words[i] = i ^ first;
        }
        while (count * sizeof(*words) < BYTES_MAX) {
            const size_t before = count;
            count += count / 2 + 1;
            words = memory_lines_more(words, before, count, sizeof(*words));
            assert_int_equal((uintptr_t)words % CACHE_LINE_BYTES, 0);
            for (uint32_t i = 0; i < before; i++) {
                assert_int_equal(words[i], i ^ first);
            }
            for (uint32_t i = (uint32_t)before; i < count; i++) {
                words[i] = i ^ first;
            }
        }
        free(words);
    }
}

static void take_more(void *argument)
{
    void *memory = memory_lines(1, 1 << 20);
    free(memory_lines_more(memory, 1, *(size_t *)argument, 1 << 20));
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
    assert_true(dies(take_more, &overflowing));
    assert_true(dies(take_zeroed, &nothing));
    assert_true(dies(take_lines, &nothing));
    assert_true(dies(take_more, &nothing));
}

static void take_and_return(void *(*take)(size_t count, size_t bytes))
{
    failures = 1;
    void *memory = take(3, 5);
    assert_non_null(memory);
    assert_int_equal(failures, 0);
    free(memory);
}

static void *take_large(size_t count, size_t bytes)
{
    return memory_reserved_zeroed(count << 20, bytes);
}

static void a_reserve_is_used_once_and_filled_again(ATTR_UNUSED void **state)
{
    memory_keep_reserve();
    assert_true(memory_has_reserve());
    take_and_return(memory_zeroed);
    failures = 1; /* It cannot be filled yet. */
    assert_false(memory_has_reserve());
    assert_true(memory_has_reserve());
    take_and_return(memory_lines);
    assert_true(memory_has_reserve());
    take_and_return(memory_reserved_zeroed);
    assert_true(memory_has_reserve());
    take_and_return(take_large);
    failures = 1;
    assert_null(memory_reserved_zeroed(3, 5)); /* Nothing is left to give up. */
    assert_true(memory_has_reserve());
    memory_drop_reserve();
    failures = 1;
    assert_null(memory_reserved_zeroed(3, 5));
    assert_true(memory_has_reserve()); /* None is wanted. */
}

static void what_can_be_refused_leaves_the_reserve(ATTR_UNUSED void **state)
{
    memory_keep_reserve();
    assert_true(memory_is_free(0));
    assert_true(memory_is_free(1 << 20));
    assert_false(memory_is_free(SIZE_MAX));
    failures = 1;
    assert_false(memory_is_free(1));
    take_and_return(memory_zeroed); /* It was there. */
    memory_drop_reserve();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeroed_memory_is_zero_throughout),
        cmocka_unit_test(more_zeroed_memory_keeps_what_was_used),
        cmocka_unit_test(lines_start_on_a_cache_line_and_have_room_for_all),
        cmocka_unit_test(aligned_memory_says_which_block_it_lies_in),
        cmocka_unit_test(more_lines_keep_what_there_was),
        cmocka_unit_test(a_reserve_is_used_once_and_filled_again),
        cmocka_unit_test(what_can_be_refused_leaves_the_reserve),
        cmocka_unit_test(asking_for_more_than_there_is_stops_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
