#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"
#include "dies.h"

static void what_was_put_is_found_and_nothing_else(ATTR_UNUSED void **state)
{
    struct map map;
    map_init(&map, 3);

    map_put(&map, 0, 10); /* Zero is a key like any other. */
    map_put(&map, UINT64_MAX, 0);
    map_put(&map, UINT64_C(1) << 32, MAP_NONE - 1);

    assert_int_equal(map_get(&map, 0), 10);
    assert_int_equal(map_get(&map, UINT64_MAX), 0);
    assert_int_equal(map_get(&map, UINT64_C(1) << 32), MAP_NONE - 1);
    assert_int_equal(map_get(&map, 1), MAP_NONE);
    assert_int_equal(map_count(&map), 3);
    map_deinit(&map);
}

static void a_removed_key_may_be_put_again(ATTR_UNUSED void **state)
{
    struct map map;
    map_init(&map, 0);
    assert_false(map_remove(&map, 0));

    map_put(&map, 0, 1);
    assert_true(map_remove(&map, 0));
    assert_int_equal(map_get(&map, 0), MAP_NONE);
    assert_false(map_remove(&map, 0));
    map_put(&map, 0, 2);
    assert_int_equal(map_get(&map, 0), 2);
    assert_int_equal(map_count(&map), 1);
    map_deinit(&map);
}

static void use_without_end_needs_no_room_beyond_the_capacity(ATTR_UNUSED void **state)
{
    enum { CAPACITY = 1000, STEPS = 100000 };
    struct map map;
    map_init(&map, CAPACITY);
    const uint32_t places = map.mask + 1;

    for (uint64_t i = 0; i < STEPS; i++) { /* A window of keys moves on, as of open jobs. */
        if (i >= CAPACITY) {
            assert_true(map_remove(&map, i - CAPACITY));
        }
        map_put(&map, i, (uint32_t)i);
    }
    assert_int_equal(map_count(&map), CAPACITY);
    for (uint64_t i = STEPS - CAPACITY; i < STEPS; i++) {
        assert_int_equal(map_get(&map, i), i);
    }
    assert_int_equal(map.mask + 1, places);
    map_deinit(&map);
}

enum { KEYS = 600 };

/* Keys that a node makes: counters in the low half, in the high half, in both, and noise. */
static uint64_t make_key(uint32_t i, struct rng *rng)
{
    switch (i % 4) {
    case 0:
        return i;
    case 1:
        return (uint64_t)i << 32;
    case 2:
        return (uint64_t)i << 32 | i;
    default:
        return rng_next(rng);
    }
}

static void compare_with_table(uint64_t seed, uint32_t put_percent)
{
    struct rng rng = rng_from_seed(seed);
    uint64_t keys[KEYS];
    uint32_t values[KEYS];
    uint32_t count = 0;
    struct map map;

    for (uint32_t i = 0; i < KEYS; i++) {
        keys[i] = make_key(i, &rng);
        values[i] = MAP_NONE;
    }
    map_init(&map, 4);
    for (uint32_t step = 0; step < 5000; step++) {
        const uint32_t i = rng_below(&rng, KEYS);
        const uint32_t choice = rng_below(&rng, 100);
        if (choice < put_percent && values[i] == MAP_NONE) {
            assert_true(map_reserve(&map, 1));
            values[i] = step;
            map_put(&map, keys[i], step);
            count++;
        } else if (choice >= put_percent) {
            assert_int_equal(map_remove(&map, keys[i]), values[i] != MAP_NONE);
            count -= values[i] != MAP_NONE ? 1 : 0;
            values[i] = MAP_NONE;
        }
        assert_int_equal(map_count(&map), count);
        for (uint32_t j = 0; j < KEYS; j++) {
            if (map_get(&map, keys[j]) != values[j]) {
                fail_msg("seed %u, step %u, key %u", (uint32_t)seed, step, j);
            }
        }
    }
    map_deinit(&map);
}

static void random_use_agrees_with_a_plain_table(ATTR_UNUSED void **state)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        compare_with_table(seed, /* put_percent */ 50);
        compare_with_table(seed, /* put_percent */ 80);
    }
}

static void a_table_is_three_quarters_full_at_most(ATTR_UNUSED void **state)
{
    struct map map;
    map_init(&map, 12);
    assert_int_equal(map.mask + 1, 16);
    for (uint32_t i = 0; i < 11; i++) {
        map_put(&map, i, i);
    }
    assert_true(map_has_room(&map, 1));
    assert_false(map_has_room(&map, 2));
    assert_true(map_reserve(&map, 1));
    assert_int_equal(map.mask + 1, 16);
    assert_true(map_reserve(&map, 2));
    assert_int_equal(map.mask + 1, 32);
    assert_true(map_has_room(&map, 13));
    assert_false(map_has_room(&map, 14));
    assert_false(map_has_room(&map, UINT32_MAX));
    map_deinit(&map);
}

static void reserve_keeps_the_contents_and_makes_room(ATTR_UNUSED void **state)
{
    struct map map;
    map_init(&map, 10);
    for (uint32_t i = 0; i < 8; i++) {
        map_put(&map, i, i);
    }

    assert_true(map_reserve(&map, 5000));
    for (uint32_t i = 8; i < 5008; i++) {
        map_put(&map, i, i);
    }
    for (uint32_t i = 0; i < 5008; i++) {
        assert_int_equal(map_get(&map, i), i);
    }
    assert_false(map_reserve(&map, MAP_CAPACITY_MAX));
    assert_false(map_reserve(&map, UINT32_MAX));
    assert_int_equal(map_count(&map), 5008);
    map_deinit(&map);
}

/* The longest walk from a key's search to a free place, in a table as full as allowed. */
static uint32_t longest_run(const struct map *map)
{
    uint32_t longest = 0;
    uint32_t run = 0;
    for (uint32_t i = 0; i <= map->mask; i++) {
        run = map->values[i] == MAP_NONE ? 0 : run + 1;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static void regular_keys_do_not_pile_up(ATTR_UNUSED void **state)
{
    static const uint32_t shifts[] = {0, 4, 12, 20, 32, 44, 50};
    enum { CAPACITY = 3 << 12 };

    for (size_t s = 0; s < sizeof(shifts) / sizeof(shifts[0]); s++) {
        struct map map;
        map_init(&map, CAPACITY);
        for (uint64_t i = 0; i < CAPACITY; i++) {
            map_put(&map, i << shifts[s], (uint32_t)i);
        }
        assert_true(longest_run(&map) < 250);
        map_deinit(&map);
    }
}

static void put_one_twice(void *argument)
{
    map_put(argument, 1, 1);
    map_put(argument, 1, 2);
}

static void put_none(void *argument)
{
    map_put(argument, 1, MAP_NONE);
}

static void put_too_many(void *argument)
{
    for (uint32_t i = 0; i < 13; i++) {
        map_put(argument, i, i);
    }
}

static void misuse_stops_the_program(ATTR_UNUSED void **state)
{
    struct map map;
    map_init(&map, 12);
    assert_true(dies(put_one_twice, &map));
    assert_true(dies(put_none, &map));
    assert_true(dies(put_too_many, &map));
    map_deinit(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_found_and_nothing_else),
        cmocka_unit_test(a_removed_key_may_be_put_again),
        cmocka_unit_test(use_without_end_needs_no_room_beyond_the_capacity),
        cmocka_unit_test(random_use_agrees_with_a_plain_table),
        cmocka_unit_test(a_table_is_three_quarters_full_at_most),
        cmocka_unit_test(reserve_keeps_the_contents_and_makes_room),
        cmocka_unit_test(regular_keys_do_not_pile_up),
        cmocka_unit_test(misuse_stops_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
