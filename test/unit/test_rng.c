#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dies.h"

static void a_seed_gives_the_published_sequence(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(1234567);

    /* The reference output of splitmix64. */
    assert_true(rng_next(&rng) == UINT64_C(6457827717110365317));
    assert_true(rng_next(&rng) == UINT64_C(3203168211198807973));
    assert_true(rng_next(&rng) == UINT64_C(9817491932198370423));
}

static void streams_never_change(ATTR_UNUSED void **state)
{
    struct rng arrivals = rng_stream(1, RNG_ARRIVALS, 0);
    struct rng network = rng_stream(42, RNG_NETWORK, 7);

    assert_int_equal(rng_next(&arrivals), UINT64_C(0xe28195ddd9ee4956));
    assert_int_equal(rng_next(&network), UINT64_C(0xd8fef487b85c48dc));
}

static void neighbouring_streams_share_nothing(ATTR_UNUSED void **state)
{
    enum { SEEDS = 6, PURPOSES = 8, INDICES = 40, STREAMS = SEEDS * PURPOSES * INDICES };
    static uint64_t first[STREAMS];
    uint32_t count = 0;
    uint64_t agreeing_bits = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        for (uint32_t purpose = 0; purpose < PURPOSES; purpose++) {
            for (uint32_t index = 0; index < INDICES; index++) {
                struct rng rng = rng_stream(seed, purpose, index);
                first[count] = rng_next(&rng);
                count++;
            }
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            const uint32_t agree = 64 - (uint32_t)__builtin_popcountll(first[i] ^ first[j]);
            assert_true(agree < 62);
            agreeing_bits += agree;
        }
    }
    const double mean = (double)agreeing_bits / ((double)count * (count - 1) / 2);
    assert_true(mean > 31.9);
    assert_true(mean < 32.1);
}

static void a_range_holds_both_ends_and_nothing_beyond(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(1);
    uint32_t hits[5] = {0};

    for (uint32_t i = 0; i < 50000; i++) {
        const uint64_t drawn = rng_range(&rng, 10, 14);
        assert_in_range(drawn, 10, 14);
        hits[drawn - 10]++;
    }
    for (uint32_t i = 0; i < 5; i++) {
        assert_in_range(hits[i], 9500, 10500);
    }
    assert_int_equal(rng_range(&rng, 7, 7), 7);
    assert_true(rng_range(&rng, UINT64_MAX, UINT64_MAX) == UINT64_MAX);
}

static void the_full_range_is_every_number(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(1);
    struct rng same = rng_from_seed(1);

    for (uint32_t i = 0; i < 100; i++) {
        const uint64_t drawn = rng_range(&rng, 0, UINT64_MAX);
        assert_true(drawn == rng_next(&same));
    }
}

static void below_is_even_over_its_numbers(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(2);
    uint32_t hits[7] = {0};

    for (uint32_t i = 0; i < 70000; i++) {
        const uint32_t drawn = rng_below(&rng, 7);
        assert_true(drawn < 7);
        hits[drawn]++;
    }
    for (uint32_t i = 0; i < 7; i++) {
        assert_in_range(hits[i], 9500, 10500);
    }
    assert_int_equal(rng_below(&rng, 1), 0);
    uint32_t upper_half = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        upper_half += rng_below(&rng, UINT32_MAX) >> 31;
    }
    assert_in_range(upper_half, 400, 600);
}

static void a_unit_is_even_over_zero_to_one(ATTR_UNUSED void **state)
{
    enum { DRAWS = 100000 };
    struct rng rng = rng_from_seed(3);
    uint32_t hits[10] = {0};
    bool lowest_bit_seen = false;

    for (uint32_t i = 0; i < DRAWS; i++) {
        const double unit = rng_unit(&rng);
        assert_true(unit >= 0.0);
        assert_true(unit < 1.0);
        hits[(uint32_t)(unit * 10)]++;
        const uint64_t scaled = (uint64_t)(unit * 0x1p53);
        lowest_bit_seen = lowest_bit_seen || (scaled & 1) != 0;
    }
    for (uint32_t i = 0; i < 10; i++) {
        assert_in_range(hits[i], DRAWS / 10 - 500, DRAWS / 10 + 500);
    }
    assert_true(lowest_bit_seen);
}

static void draw_below_zero(void *argument)
{
    (void)rng_below(argument, 0);
}

static void draw_from_a_reversed_range(void *argument)
{
    (void)rng_range(argument, 2, 1);
}

static void an_empty_range_stops_the_program(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(1);
    assert_true(dies(draw_below_zero, &rng));
    assert_true(dies(draw_from_a_reversed_range, &rng));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_gives_the_published_sequence),
        cmocka_unit_test(streams_never_change),
        cmocka_unit_test(neighbouring_streams_share_nothing),
        cmocka_unit_test(a_range_holds_both_ends_and_nothing_beyond),
        cmocka_unit_test(the_full_range_is_every_number),
        cmocka_unit_test(below_is_even_over_its_numbers),
        cmocka_unit_test(a_unit_is_even_over_zero_to_one),
        cmocka_unit_test(an_empty_range_stops_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
