#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"
#include "dies.h"

static void pieces_are_aligned_zeroed_and_do_not_overlap(ATTR_UNUSED void **state)
{
    enum { PIECES = 3000 };
    static uint8_t *pieces[PIECES];
    static size_t sizes[PIECES];
    struct rng rng = rng_from_seed(1);
    struct arena arena;

    arena_init(&arena);
    for (uint32_t i = 0; i < PIECES; i++) {
        const uint32_t class = rng_below(&rng, 50);
        sizes[i] = class == 0 ? rng_below(&rng, 200000) : rng_below(&rng, 300);
        pieces[i] = arena_alloc(&arena, sizes[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        for (size_t j = 0; j < sizes[i]; j++) {
            assert_int_equal(pieces[i][j], 0);
        }
        memset(pieces[i], (int)(i % 251 + 1), sizes[i]);
    }
    for (uint32_t i = 0; i < PIECES; i++) {
        for (size_t j = 0; j < sizes[i]; j++) {
            assert_int_equal(pieces[i][j], i % 251 + 1);
        }
    }
    arena_deinit(&arena);
}

static void pieces_of_no_bytes_are_still_distinct(ATTR_UNUSED void **state)
{
    struct arena arena;
    arena_init(&arena);

    const void *first = arena_alloc(&arena, 0);
    const void *second = arena_alloc(&arena, 0);

    assert_non_null(first);
    assert_ptr_not_equal(first, second);
    arena_deinit(&arena);
}

static void a_text_is_copied(ATTR_UNUSED void **state)
{
    char source[] = "detector";
    struct arena arena;
    arena_init(&arena);

    const char *copy = arena_text(&arena, source);
    source[0] = 'x';

    assert_string_equal(copy, "detector");
    assert_string_equal(arena_text(&arena, ""), "");
    arena_deinit(&arena);
}

static void held_bytes_cover_what_was_asked_for_and_little_more(ATTR_UNUSED void **state)
{
    struct arena arena;
    arena_init(&arena);
    assert_int_equal(arena_bytes(&arena), 0);

    (void)arena_alloc(&arena, 10);
    assert_true(arena_bytes(&arena) <= 4096);
    size_t asked = 16;
    for (uint32_t i = 0; i < 10000; i++) { /* Up to the last byte of every chunk. */
        memset(arena_alloc(&arena, 16), 0xff, 16);
        asked += 16;
        assert_true(arena_bytes(&arena) > asked);
    }
    for (uint32_t i = 0; i < 10000; i++) {
        (void)arena_alloc(&arena, 1000);
        asked += 1000;
        assert_true(arena_bytes(&arena) > asked);
    }
    assert_true(arena_bytes(&arena) < asked + asked / 10 + (1 << 20));

    arena_deinit(&arena);
    assert_int_equal(arena_bytes(&arena), 0);
}

static void alloc_one(void *argument)
{
    (void)arena_alloc(argument, 1);
}

static void alloc_absurdly(void *argument)
{
    (void)arena_alloc(argument, SIZE_MAX - 3);
}

static void a_sealed_arena_hands_out_nothing(ATTR_UNUSED void **state)
{
    struct arena arena;
    arena_init(&arena);
    (void)arena_alloc(&arena, 1);
    assert_false(dies(alloc_one, &arena));
    assert_true(dies(alloc_absurdly, &arena));

    arena_seal(&arena);
    assert_true(dies(alloc_one, &arena));

    arena_deinit(&arena);
    assert_non_null(arena_alloc(&arena, 1));
    arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_zeroed_and_do_not_overlap),
        cmocka_unit_test(pieces_of_no_bytes_are_still_distinct),
        cmocka_unit_test(a_text_is_copied),
        cmocka_unit_test(held_bytes_cover_what_was_asked_for_and_little_more),
        cmocka_unit_test(a_sealed_arena_hands_out_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
