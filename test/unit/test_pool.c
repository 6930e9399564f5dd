#include "base/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"
#include "dies.h"

enum { SLOT_BYTES = 40, SLOTS_MAX = 500 };

static void a_full_pool_gives_none_and_a_returned_slot_comes_first(ATTR_UNUSED void **state)
{
    struct pool pool;
    pool_init(&pool, SLOT_BYTES, /* capacity */ 3, /* capacity_max */ 3);

    assert_int_equal(pool_take(&pool), 0);
    assert_int_equal(pool_take(&pool), 1);
    assert_int_equal(pool_take(&pool), 2);
    assert_int_equal(pool_take(&pool), POOL_NONE);
    assert_int_equal(pool.used, 3);

    pool_give(&pool, 0);
    pool_give(&pool, 2);
    assert_int_equal(pool.used, 1);
    assert_int_equal(pool.fresh, 3);
    assert_int_equal(pool_take(&pool), 2);
    assert_int_equal(pool_take(&pool), 0);
    assert_int_equal(pool_take(&pool), POOL_NONE);
    pool_deinit(&pool);
}

static void an_old_id_stays_dead_when_its_slot_is_taken_again(ATTR_UNUSED void **state)
{
    struct pool pool;
    pool_init(&pool, SLOT_BYTES, 1, 1);
    assert_false(pool_is_live(&pool, 0, pool_generation(&pool, 0)));

    const uint32_t slot = pool_take(&pool);
    const uint32_t first = pool_generation(&pool, slot);
    assert_true(pool_is_live(&pool, slot, first));
    const uint64_t name = pool_name(&pool, slot);
    assert_int_equal(pool_slot(name), slot);
    assert_true(pool_has(&pool, name));
    assert_false(pool_has(&pool, 0));
    pool_give(&pool, slot);
    assert_false(pool_has(&pool, name));
    assert_false(pool_is_live(&pool, slot, first));
    assert_false(pool_is_live(&pool, slot, pool_generation(&pool, slot)));

    assert_int_equal(pool_take(&pool), slot);
    assert_false(pool_is_live(&pool, slot, first));
    assert_false(pool_has(&pool, name));
    assert_true(pool_has(&pool, pool_name(&pool, slot)));
    assert_true(pool_is_live(&pool, slot, pool_generation(&pool, slot)));
    assert_false(pool_is_live(&pool, 1, 1));
    assert_false(pool_is_live(&pool, POOL_NONE, 1));
    pool_deinit(&pool);
}

static void slots_are_zeroed_aligned_and_apart(ATTR_UNUSED void **state)
{
    struct pool pool;
    pool_init(&pool, SLOT_BYTES, 8, 8);

    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 8; i++) {
            uint8_t *contents = pool_at(&pool, pool_take(&pool));
            assert_int_equal((uintptr_t)contents % 8, 0);
            for (uint32_t j = 0; j < SLOT_BYTES; j++) {
                assert_int_equal(contents[j], 0);
            }
            memset(contents, 0xee, SLOT_BYTES);
        }
        for (uint32_t i = 0; i < 8; i++) {
            pool_give(&pool, i);
        }
    }
    pool_deinit(&pool);
}

static void reserve_doubles_up_to_the_maximum(ATTR_UNUSED void **state)
{
    struct pool pool;
    pool_init(&pool, 1, /* capacity */ 4, /* capacity_max */ 20);
    assert_true(pool_reserve(&pool, 4));
    assert_int_equal(pool.capacity, 4);

    assert_true(pool_reserve(&pool, 5));
    assert_int_equal(pool.capacity, 8);
    for (uint32_t i = 0; i < 8; i++) {
        (void)pool_take(&pool);
    }
    assert_true(pool_reserve(&pool, 12));
    assert_int_equal(pool.capacity, 20);
    assert_true(pool_reserve(&pool, 12));
    assert_false(pool_reserve(&pool, 13));
    assert_false(pool_reserve(&pool, UINT32_MAX));
    assert_int_equal(pool.capacity, 20);
    pool_deinit(&pool);
}

static void reserve_that_fails_still_grows_as_far_as_it_may(ATTR_UNUSED void **state)
{
    struct pool pool;
    pool_init(&pool, 8, /* capacity */ 0, /* capacity_max */ 5);
    assert_int_equal(pool_take(&pool), POOL_NONE);

    assert_false(pool_reserve(&pool, 6));
    assert_int_equal(pool.capacity, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(pool_take(&pool), i);
    }
    assert_int_equal(pool_take(&pool), POOL_NONE);
    pool_deinit(&pool);
}

static void ask_for_a_generation(void *pool)
{
    (void)pool_generation(pool, 0);
}

static void ask_for_life(void *pool)
{
    (void)pool_is_live(pool, 0, 1);
}

static void give_first(void *pool)
{
    pool_give(pool, 0);
}

static void a_plain_pool_has_no_generations(ATTR_UNUSED void **state)
{
    struct pool pool;
    pool_init_plain(&pool, SLOT_BYTES, /* capacity */ 0, /* capacity_max */ 40);
    assert_true(pool_reserve(&pool, 1));
    assert_true(pool.generations == NULL);
    assert_false(pool_is_taken(&pool, 0));
    assert_true(dies(give_first, &pool));
    assert_int_equal(pool_take(&pool), 0);
    assert_true(pool_is_taken(&pool, 0));
    assert_false(pool_is_taken(&pool, 1));
    assert_true(dies(ask_for_a_generation, &pool));
    assert_true(dies(ask_for_life, &pool));
    assert_true(pool_reserve(&pool, 30)); /* It stays one, and what is taken stays taken. */
    assert_true(pool.generations == NULL);
    assert_true(pool_is_taken(&pool, 0));
    pool_give(&pool, 0);
    assert_false(pool_is_taken(&pool, 0));
    assert_true(dies(give_first, &pool));
    assert_int_equal(pool_take_raw(&pool), 0);
    pool_deinit(&pool);
}

/* Past where blocks are mapped by the system. */
static void a_pool_that_grows_large_keeps_its_slots(ATTR_UNUSED void **state)
{
    enum { MANY = 20000 };
    struct pool pool;
    pool_init(&pool, SLOT_BYTES, /* capacity */ 1, /* capacity_max */ MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_true(pool_reserve(&pool, 1));
        const uint32_t slot = pool_take(&pool);
        assert_int_equal(slot, i);
        memcpy(pool_at(&pool, slot), &i, sizeof(i));
    }
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t kept;
        memcpy(&kept, pool_at(&pool, i), sizeof(kept));
        assert_int_equal(kept, i);
        assert_int_equal(pool_generation(&pool, i), 1);
    }
    pool_deinit(&pool);
}

/* What the pool should be: each taken slot with its tag, and every id ever given out. */
struct shadow {
    bool taken[SLOTS_MAX];
    uint32_t generations[SLOTS_MAX];
    uint64_t tags[SLOTS_MAX];
    uint32_t dead_slots[4096];
    uint32_t dead_generations[4096];
    uint32_t dead_count;
    uint32_t used;
};

static void take_one(struct pool *pool, struct shadow *shadow, uint64_t tag)
{
    const uint32_t slot = pool_take(pool);
    if (shadow->used == pool->capacity) {
        assert_int_equal(slot, POOL_NONE);
        return;
    }
    assert_true(slot < pool->capacity);
    assert_false(shadow->taken[slot]);
    uint64_t *contents = pool_at(pool, slot);
    assert_int_equal(contents[0], 0);
    contents[0] = tag;
    contents[4] = ~tag;
    shadow->taken[slot] = true;
    shadow->tags[slot] = tag;
    shadow->generations[slot] = pool_generation(pool, slot);
    shadow->used++;
}

static void give_one(struct pool *pool, struct shadow *shadow, uint32_t from)
{
    for (uint32_t i = 0; i < pool->capacity; i++) {
        const uint32_t slot = (from + i) % pool->capacity;
        if (shadow->taken[slot]) {
            pool_give(pool, slot);
            shadow->taken[slot] = false;
            shadow->used--;
            const uint32_t at = shadow->dead_count % 4096;
            shadow->dead_slots[at] = slot;
            shadow->dead_generations[at] = shadow->generations[slot];
            shadow->dead_count++;
            return;
        }
    }
}

static void check_all(const struct pool *pool, const struct shadow *shadow)
{
    assert_int_equal(pool->used, shadow->used);
    for (uint32_t slot = 0; slot < pool->capacity; slot++) {
        assert_int_equal(
            pool_is_live(pool, slot, pool_generation(pool, slot)), shadow->taken[slot]);
        if (shadow->taken[slot]) {
            const uint64_t *contents = pool_at(pool, slot);
            assert_true(pool_is_live(pool, slot, shadow->generations[slot]));
            assert_int_equal(contents[0], shadow->tags[slot]);
            assert_int_equal(contents[4], ~shadow->tags[slot]);
        }
    }
    const uint32_t dead = shadow->dead_count < 4096 ? shadow->dead_count : 4096;
    for (uint32_t i = 0; i < dead; i++) {
        assert_false(pool_is_live(pool, shadow->dead_slots[i], shadow->dead_generations[i]));
    }
}

static void random_use_agrees_with_a_plain_table(ATTR_UNUSED void **state)
{
    static struct shadow shadow;
    struct rng rng = rng_from_seed(2);
    struct pool pool;

    pool_init(&pool, SLOT_BYTES, /* capacity */ 2, SLOTS_MAX);
    for (uint32_t step = 0; step < 20000; step++) {
        const uint32_t choice = rng_below(&rng, 100);
        const uint32_t from = rng_below(&rng, pool.capacity);
        if (choice < 52) {
            take_one(&pool, &shadow, step + 1);
        } else if (choice < 99) {
            give_one(&pool, &shadow, from);
        } else {
            const uint32_t free_min = rng_below(&rng, 60);
            const bool fits = shadow.used + free_min <= SLOTS_MAX;
            assert_int_equal(pool_reserve(&pool, free_min), fits);
        }
        if (step % 50 == 0) {
            check_all(&pool, &shadow);
        }
    }
    assert_true(pool.capacity > 64);
    pool_deinit(&pool);
}

static void give_slot_zero(void *argument)
{
    pool_give(argument, 0);
}

static void look_past_the_end(void *argument)
{
    (void)pool_at(argument, 2);
}

static void giving_back_a_free_slot_stops_the_program(ATTR_UNUSED void **state)
{
    struct pool pool;
    pool_init(&pool, SLOT_BYTES, 2, 2);
    assert_true(dies(give_slot_zero, &pool));

    (void)pool_take(&pool);
    assert_false(dies(give_slot_zero, &pool));
    pool_give(&pool, 0);
    assert_true(dies(give_slot_zero, &pool));
    assert_true(dies(look_past_the_end, &pool));
    pool_deinit(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_pool_gives_none_and_a_returned_slot_comes_first),
        cmocka_unit_test(an_old_id_stays_dead_when_its_slot_is_taken_again),
        cmocka_unit_test(slots_are_zeroed_aligned_and_apart),
        cmocka_unit_test(reserve_doubles_up_to_the_maximum),
        cmocka_unit_test(reserve_that_fails_still_grows_as_far_as_it_may),
        cmocka_unit_test(a_plain_pool_has_no_generations),
        cmocka_unit_test(a_pool_that_grows_large_keeps_its_slots),
        cmocka_unit_test(random_use_agrees_with_a_plain_table),
        cmocka_unit_test(giving_back_a_free_slot_stops_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
