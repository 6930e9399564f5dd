/* Searches over made-up systems whose limit is known: sharp, blurred, or absent. */
#include "lab/saturation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"

/* Stable below @limit; within @blur of it, relative, by chance. */
struct system {
    double limit;
    double blur;
    struct rng rng;
};

static bool is_stable_at(struct system *system, double rate)
{
    const double distance = (rate - system->limit) / system->limit;
    if (distance < -system->blur || distance > system->blur) {
        return distance <= 0;
    }
    return 2 * system->blur * rng_unit(&system->rng) > distance + system->blur;
}

static struct saturation search_in(struct system *system, double first, double precision)
{
    struct saturation search;
    saturation_init(&search, first, precision);
    while (search.verdict == SATURATION_OPEN) {
        assert_true(search.rate_next > 0);
        assert_true(search.try_count < SATURATION_TRIES_MAX);
        saturation_tell(&search, is_stable_at(system, search.rate_next));
    }
    assert_int_equal(saturation_tries_left(&search), 0);
    return search;
}

static void sharp_limits_are_bracketed_from_anywhere(ATTR_UNUSED void **state)
{
    static const double limits[] = {0.02, 0.7, 1, 1.9999, 12, 333.3, 5000};
    static const double firsts[] = {0.3, 1, 2, 12.5};
    static const double precisions[] = {0.001, 0.01, 0.05, 0.5, 1};
    for (uint32_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        for (uint32_t k = 0; k < sizeof(firsts) / sizeof(firsts[0]); k++) {
            for (uint32_t p = 0; p < sizeof(precisions) / sizeof(precisions[0]); p++) {
                struct system system = {.limit = limits[i]};
                const struct saturation search = search_in(&system, firsts[k], precisions[p]);
                assert_int_equal(search.verdict, SATURATION_FOUND);
                assert_true(search.rate_low <= limits[i]);
                assert_true(search.rate_high >= limits[i]);
                assert_true(search.rate_high <= search.rate_low * (1 + precisions[p]) * 1.000001);
            }
        }
    }
}

static void few_tries_are_enough_near_the_limit(ATTR_UNUSED void **state)
{
    struct system system = {.limit = 3};
    struct saturation search;
    saturation_init(&search, 2, 0.05);
    const uint32_t expected = saturation_tries_left(&search);
    search = search_in(&system, 2, 0.05);
    assert_int_equal(expected, 7); /* 2, 4, and five halvings of what is between. */
    assert_in_range(search.try_count, expected - 1, expected);
}

/* Where chance decides, the bracket is still narrow, and near the limit. */
static void noise_moves_the_bracket_by_no_more_than_itself(ATTR_UNUSED void **state)
{
    double sum = 0;
    enum { SEEDS = 200 };
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        struct system system = {
            .limit = 10,
            .blur = 0.1,
            .rng = rng_stream(seed, RNG_TEST, 0),
        };
        const struct saturation search = search_in(&system, 1, 0.02);
        assert_int_equal(search.verdict, SATURATION_FOUND);
        assert_true(search.rate_low >= 10 * 0.9 / 1.02);
        assert_true(search.rate_low <= 10 * 1.1);
        assert_true(search.rate_high <= search.rate_low * 1.02 * 1.000001);
        sum += (search.rate_low + search.rate_high) / 2;
    }
    assert_true(sum / SEEDS > 9.8);
    assert_true(sum / SEEDS < 10.2);
}

static void nonsense_comes_to_an_end_too(ATTR_UNUSED void **state)
{
    for (uint32_t seed = 0; seed < 1000; seed++) {
        struct rng rng = rng_stream(seed, RNG_TEST, 1);
        struct saturation search;
        saturation_init(&search, 7, SATURATION_PRECISION_MIN);
        while (search.verdict == SATURATION_OPEN) {
            saturation_tell(&search, rng_below(&rng, 2) == 0);
        }
        assert_in_range(search.try_count, 2, SATURATION_TRIES_MAX);
    }
}

static void there_may_be_no_limit(ATTR_UNUSED void **state)
{
    struct system endless = {.limit = 1e9};
    struct saturation search = search_in(&endless, 1, 0.05);
    assert_int_equal(search.verdict, SATURATION_ALWAYS);
    assert_true(search.rate_low > 65000);
    assert_true(search.rate_high <= 0);
    assert_int_equal(search.try_count, 1 + SATURATION_DOUBLINGS_MAX);

    struct system broken = {.limit = 1e-9};
    search = search_in(&broken, 1, 0.05);
    assert_int_equal(search.verdict, SATURATION_NEVER);
    assert_true(search.rate_low <= 0);
    assert_true(search.rate_high < 0.001);
    assert_int_equal(search.try_count, 1 + SATURATION_HALVINGS_MAX);
}

static void three_quarters_are_a_majority(ATTR_UNUSED void **state)
{
    static const struct {
        uint32_t stable;
        uint32_t count;
        bool is_enough;
    } rows[] = {
        {1, 1, true}, {0, 1, false}, {1, 2, false}, {2, 2, true},   {2, 3, false}, {3, 3, true},
        {3, 4, true}, {2, 4, false}, {8, 10, true}, {7, 10, false}, {0, 0, false},
    };
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(saturation_is_majority(rows[i].stable, rows[i].count), rows[i].is_enough);
    }
}

static void rates_have_five_digits(ATTR_UNUSED void **state)
{
    assert_true(saturation_round(12) == 12);
    assert_true(saturation_round(1.0 / 3) == 0.33333);
    assert_true(saturation_round(123456) == 123460);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sharp_limits_are_bracketed_from_anywhere),
        cmocka_unit_test(few_tries_are_enough_near_the_limit),
        cmocka_unit_test(noise_moves_the_bracket_by_no_more_than_itself),
        cmocka_unit_test(nonsense_comes_to_an_end_too),
        cmocka_unit_test(there_may_be_no_limit),
        cmocka_unit_test(three_quarters_are_a_majority),
        cmocka_unit_test(rates_have_five_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
