#include "view/reservations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"

enum { CAPACITY = 32, OTHER = 3 + RESERVATION_BUCKETS }; /* 3 and OTHER share a bucket. */

static struct pool pool;
static struct reservations reservations;

static int set_up(ATTR_UNUSED void **state)
{
    pool_init(&pool, sizeof(struct reservation), CAPACITY, CAPACITY);
    reservations_init(&reservations, &pool);
    return 0;
}

static int tear_down(ATTR_UNUSED void **state)
{
    pool_deinit(&pool);
    return 0;
}

static int64_t noted_ns(uint32_t worker, uint64_t row_sequence)
{
    return reservations_run_ns(&reservations, worker, row_sequence);
}

static void what_is_noted_for_a_worker_adds_up(ATTR_UNUSED void **state)
{
    assert_int_equal(reservations_add(&reservations, 3, 100), 1);
    assert_int_equal(reservations_add(&reservations, OTHER, 1000), 2);
    assert_int_equal(reservations_add(&reservations, 3, 20), 3);

    assert_int_equal(noted_ns(3, 0), 120);
    assert_int_equal(noted_ns(OTHER, 0), 1000);
    assert_int_equal(noted_ns(4, 0), 0);
    assert_int_equal(reservations.count, 3);
}

static void a_reservation_is_taken_back_once(ATTR_UNUSED void **state)
{
    const uint64_t first = reservations_add(&reservations, 3, 100);
    const uint64_t second = reservations_add(&reservations, 3, 20);
    const uint64_t other = reservations_add(&reservations, OTHER, 7);

    assert_false(reservations_remove(&reservations, 3, other));
    assert_true(reservations_remove(&reservations, 3, first));
    assert_false(reservations_remove(&reservations, 3, first));
    assert_int_equal(noted_ns(3, 0), 20);
    assert_true(reservations_remove(&reservations, 3, second));
    assert_int_equal(noted_ns(OTHER, 0), 7);
    assert_int_equal(reservations.count, 1);
    assert_int_equal(pool.used, 1);
}

static void an_acknowledged_one_counts_until_its_row_is_seen(ATTR_UNUSED void **state)
{
    const uint64_t first = reservations_add(&reservations, 3, 100);
    (void)reservations_add(&reservations, 3, 20);
    (void)reservations_add(&reservations, OTHER, 7);

    reservations_acknowledge(&reservations, 3, first, /* row_sequence */ 9);

    assert_int_equal(noted_ns(3, 8), 120);
    assert_int_equal(noted_ns(3, 9), 20);
    assert_int_equal(reservations_settle(&reservations, 3, 8), 0);
    assert_int_equal(reservations_settle(&reservations, 3, 9), 1);
    assert_int_equal(noted_ns(3, 8), 20);
    assert_int_equal(reservations.count, 2);
    assert_int_equal(reservations_settle(&reservations, 3, UINT64_MAX), 0);
}

static void an_acknowledgement_covers_everything_before_it(ATTR_UNUSED void **state)
{
    (void)reservations_add(&reservations, 3, 1);
    (void)reservations_add(&reservations, OTHER, 2);
    const uint64_t last = reservations_add(&reservations, 3, 4);
    (void)reservations_add(&reservations, 3, 8);

    reservations_acknowledge(&reservations, 3, last, /* row_sequence */ 5);

    assert_int_equal(noted_ns(3, 5), 8);
    assert_int_equal(noted_ns(OTHER, 5), 2);
    assert_int_equal(reservations_settle(&reservations, 3, 5), 2);
}

static void the_first_row_that_counts_it_stays_the_first(ATTR_UNUSED void **state)
{
    const uint64_t sequence = reservations_add(&reservations, 3, 1);

    reservations_acknowledge(&reservations, 3, sequence, /* row_sequence */ 5);
    reservations_acknowledge(&reservations, 3, sequence, /* row_sequence */ 8);

    assert_int_equal(noted_ns(3, 5), 0);
}

static void a_worker_is_forgotten_with_all_it_had(ATTR_UNUSED void **state)
{
    (void)reservations_add(&reservations, 3, 1);
    (void)reservations_add(&reservations, OTHER, 2);
    (void)reservations_add(&reservations, 3, 4);
    (void)reservations_add(&reservations, 3, 8);

    reservations_forget(&reservations, 3);

    assert_int_equal(noted_ns(3, 0), 0);
    assert_int_equal(noted_ns(OTHER, 0), 2);
    assert_int_equal(reservations.count, 1);
    assert_int_equal(pool.used, 1);
}

static void without_room_nothing_is_noted(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < CAPACITY; i++) {
        assert_int_equal(reservations_add(&reservations, i, 1), i + 1);
    }
    assert_int_equal(reservations_add(&reservations, 3, 1), 0);
    assert_int_equal(reservations.count, CAPACITY);
    assert_true(reservations_remove(&reservations, 0, 1));
    assert_int_equal(reservations_add(&reservations, 3, 1), CAPACITY + 1);
}

static void sequences_do_not_wrap_around(ATTR_UNUSED void **state)
{
    reservations.sequence = UINT32_MAX - 1;
    assert_int_equal(reservations_add(&reservations, 3, 1), UINT32_MAX);
    const uint64_t next = reservations_add(&reservations, 3, 2);
    assert_int_equal(next, UINT64_C(1) << 32);
    assert_int_equal(reservations_add(&reservations, 3, 4), next + 1);

    reservations_acknowledge(&reservations, 3, next, /* row_sequence */ 7);

    assert_int_equal(noted_ns(3, 7), 4);
}

/* The same as a plain list in the order of addition. */
struct listed {
    uint32_t worker;
    uint64_t sequence;
    int64_t run_ns;
    uint64_t row_sequence;
    bool gone;
};

enum { STEPS = 20000 };

static struct listed list[STEPS];
static uint32_t listed_count;

static void add_both(uint32_t worker, int64_t run_ns)
{
    const uint64_t sequence = reservations_add(&reservations, worker, run_ns);
    if (sequence != 0) {
        list[listed_count++] =
            (struct listed){.worker = worker, .sequence = sequence, .run_ns = run_ns};
    }
}

static void remove_both(struct listed *entry)
{
    const bool removed = reservations_remove(&reservations, entry->worker, entry->sequence);
    assert_int_equal(removed, !entry->gone);
    entry->gone = true;
}

static void acknowledge_both(uint32_t worker, uint64_t sequence, uint64_t row_sequence)
{
    reservations_acknowledge(&reservations, worker, sequence, row_sequence);
    for (uint32_t i = 0; i < listed_count; i++) {
        if (list[i].worker == worker && list[i].sequence <= sequence && list[i].row_sequence == 0) {
            list[i].row_sequence = row_sequence;
        }
    }
}

static void settle_both(uint32_t worker, uint64_t row_sequence)
{
    uint32_t settled = 0;
    for (uint32_t i = 0; i < listed_count; i++) {
        if (list[i].worker == worker && !list[i].gone && list[i].row_sequence != 0 &&
            list[i].row_sequence <= row_sequence) {
            list[i].gone = true;
            settled++;
        }
    }
    assert_int_equal(reservations_settle(&reservations, worker, row_sequence), settled);
}

static void forget_both(uint32_t worker)
{
    reservations_forget(&reservations, worker);
    for (uint32_t i = 0; i < listed_count; i++) {
        list[i].gone |= list[i].worker == worker;
    }
}

static void compare_both(uint32_t worker, uint64_t row_sequence)
{
    int64_t run_ns = 0;
    uint32_t live = 0;
    for (uint32_t i = 0; i < listed_count; i++) {
        const bool is_counted = list[i].row_sequence != 0 && list[i].row_sequence <= row_sequence;
        live += !list[i].gone;
        run_ns += list[i].gone || list[i].worker != worker || is_counted ? 0 : list[i].run_ns;
    }
    assert_int_equal(reservations.count, live);
    assert_int_equal(pool.used, live);
    assert_int_equal(noted_ns(worker, row_sequence), run_ns);
}

static void many_random_calls_agree_with_a_list(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(61);

    listed_count = 0;
    for (uint32_t step = 100; step < STEPS; step++) {
        const uint32_t group = rng_below(&rng, 4);
        const uint32_t worker = group * RESERVATION_BUCKETS + rng_below(&rng, 2);
        const uint32_t pick = rng_below(&rng, listed_count + 1);
        const uint32_t call = rng_below(&rng, 40);
        if (call < 20) {
            add_both(worker, step);
        } else if (call < 30) {
            if (pick < listed_count) {
                remove_both(&list[pick]);
            }
        } else if (call < 35) {
            acknowledge_both(worker, pick, step);
        } else if (call < 39) {
            settle_both(worker, step - 50);
        } else {
            forget_both(worker);
        }
        compare_both(worker, step - 20);
    }
    assert_true(listed_count > STEPS / 10);
}

#define RESERVATIONS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RESERVATIONS_TEST(what_is_noted_for_a_worker_adds_up),
        RESERVATIONS_TEST(a_reservation_is_taken_back_once),
        RESERVATIONS_TEST(an_acknowledged_one_counts_until_its_row_is_seen),
        RESERVATIONS_TEST(an_acknowledgement_covers_everything_before_it),
        RESERVATIONS_TEST(the_first_row_that_counts_it_stays_the_first),
        RESERVATIONS_TEST(a_worker_is_forgotten_with_all_it_had),
        RESERVATIONS_TEST(without_room_nothing_is_noted),
        RESERVATIONS_TEST(sequences_do_not_wrap_around),
        RESERVATIONS_TEST(many_random_calls_agree_with_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
