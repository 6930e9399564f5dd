#include "profile/scatter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"
#include "profile/draw.h"

struct seen {
    struct scatter scatter;
    double interference;
    double quantiles[PROFILE_QUANTILES];
};

static void begin(struct seen *seen, double interference)
{
    *seen = (struct seen){.interference = interference};
    scatter_init(&seen->scatter, interference);
}

static void add(struct seen *seen, double ratio, double beside, double crowded)
{
    const struct slowing slowing = {.beside = beside, .crowded = crowded};
    scatter_add(&seen->scatter, ratio, &slowing, &seen->interference, seen->quantiles);
}

static void runs_beside_others_tell_the_interference(ATTR_UNUSED void **state)
{
    struct seen seen;
    struct rng rng = rng_stream(1, RNG_TEST, 0);
    begin(&seen, 0);
    for (uint32_t i = 0; i < 2000; i++) {
        const double beside = rng_unit(&rng);
        const double chance = 0.8 + 0.4 * rng_unit(&rng);
        const double crowded = i % 3 == 0 ? 0.5 : 0; /* That is known, and taken off. */
        add(&seen, 2 * chance * (1 + 0.5 * beside) * (1 + crowded), beside, crowded);
    }
    assert_true(seen.interference > 0.42 && seen.interference < 0.58);
}

/* Without runs that met less there is nothing to compare with. */
static void what_is_known_stays_where_nothing_tells(ATTR_UNUSED void **state)
{
    struct seen seen;
    begin(&seen, 0.3);
    for (uint32_t i = 0; i < 50; i++) {
        add(&seen, 1.3, 1, 0);
    }
    assert_true(seen.interference > 0.29 && seen.interference < 0.31);
}

static void interference_has_bounds(ATTR_UNUSED void **state)
{
    struct seen seen;
    begin(&seen, 0);
    for (uint32_t i = 0; i < 2000; i++) { /* The busier, the faster. */
        add(&seen, i % 2 == 0 ? 1 : 0.5, i % 2, 0);
    }
    assert_true(seen.interference == 0);
    for (uint32_t i = 0; i < 2000; i++) {
        add(&seen, i % 2 == 0 ? 0.1 : 7, i % 2, 0);
    }
    assert_true(seen.interference <= SCATTER_INTERFERENCE_MAX);
    assert_true(seen.interference > 3);
}

/* One run in 50 takes five times as long: draws have that mean and that tail. */
static void quantiles_keep_the_tail(ATTR_UNUSED void **state)
{
    struct seen seen;
    struct rng rng = rng_stream(1, RNG_TEST, 0);
    double mean = 0;
    uint32_t late = 0;
    begin(&seen, 0);
    for (uint32_t i = 1; i < SCATTER_LEAST; i++) {
        add(&seen, 1, 0.5, 0);
    }
    assert_true(seen.quantiles[PROFILE_QUANTILES - 1] == 0); /* Too few to tell. */
    for (uint32_t i = 0; i < SCATTER_KEPT; i++) {
        add(&seen, i % 50 == 0 ? 5 : 0.9 + 0.2 * rng_unit(&rng), 0.5, 0);
    }
    for (uint32_t i = 1; i < PROFILE_QUANTILES; i++) {
        assert_true(seen.quantiles[i] >= seen.quantiles[i - 1]);
    }
    const struct estimate estimate = {.run_ns = 1000000, .quantiles = seen.quantiles};
    for (uint32_t i = 0; i < 20000; i++) {
        const double drawn = profile_draw_ns(&estimate, /* noise */ 0, &rng) / 1e6;
        mean += drawn / 20000;
        late += drawn > 3 ? 1 : 0;
    }
    assert_true(mean > 1.04 && mean < 1.12); /* It was 1.08. */
    assert_in_range(late, 200, 600);         /* Of 400. */
}

/* Sorting what is kept takes longer than a short run. */
static void quantiles_follow_slowly_once_all_are_kept(ATTR_UNUSED void **state)
{
    struct seen seen;
    begin(&seen, 0);
    for (uint32_t i = 0; i < SCATTER_KEPT; i++) {
        add(&seen, 1, 0.5, 0);
    }
    const double before = seen.quantiles[0];
    for (uint32_t i = 1; i < SCATTER_LATER; i++) {
        add(&seen, 0.5, 0.5, 0);
        assert_true(seen.quantiles[0] == before);
    }
    add(&seen, 0.5, 0.5, 0);
    assert_true(seen.quantiles[0] < before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_beside_others_tell_the_interference),
        cmocka_unit_test(what_is_known_stays_where_nothing_tells),
        cmocka_unit_test(interference_has_bounds),
        cmocka_unit_test(quantiles_keep_the_tail),
        cmocka_unit_test(quantiles_follow_slowly_once_all_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
