/* Shares of devices: counted, as MIG instances, and of processors without isolation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "model/sharing.h"

static const struct fleet_worker mig = {.gpu_units = 7, .sharing = SHARES_MIG};
static const struct fleet_worker counted = {.gpu_units = 6, .interference = 0.5};
static const struct fleet_worker sm = {.gpu_units = 100, .interference = 0.5, .sharing = SHARES_SM};

static void instances_start_where_they_may(void **state)
{
    (void)state;
    /* By units: slices of memory, and the starts. */
    static const uint32_t expected[8][9] = {
        [1] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40},
        [2] = {0x03, 0, 0x0c, 0, 0x30},
        [3] = {0x0f, 0, 0, 0, 0xf0},
        [4] = {0x0f},
        [7] = {0xff},
    };
    for (uint32_t gpu = 0; gpu < 8; gpu++) {
        for (uint32_t slice = 0; slice < 9; slice++) {
            assert_int_equal(sharing_slices(gpu, slice), expected[gpu][slice]);
        }
    }
}

static void a_share_is_rounded_up_to_one_that_exists(void **state)
{
    (void)state;
    static const uint32_t expected[] = {7, 1, 2, 3, 4, 7, 7, 7, 7};
    for (uint32_t gpu = 0; gpu < 9; gpu++) {
        assert_int_equal(sharing_round(&mig, gpu), expected[gpu]);
    }
    assert_int_equal(sharing_round(&counted, 5), 5);
    assert_int_equal(sharing_round(&counted, 0), 6);
}

static void two_of_three_strand_the_seventh_unit(void **state)
{
    (void)state;
    struct shares shares = sharing_idle(&mig);
    const struct share high = sharing_take(&mig, &shares, 3);
    assert_int_equal(high.slice, 4); /* The lower half stays for one of four. */
    assert_true(high.is_new);
    assert_true(sharing_fits(&mig, &shares, 4));
    const struct share low = sharing_take(&mig, &shares, 3);
    assert_int_equal(low.slice, 0);
    assert_int_equal(shares.free, 1);
    assert_false(sharing_fits(&mig, &shares, 1)); /* It has no memory of its own. */
    sharing_give(&mig, &shares, &low, /* was_ready */ true);
    assert_false(sharing_take(&mig, &shares, 3).is_new); /* It is still there. */
}

static void four_two_and_one_fill_a_device(void **state)
{
    (void)state;
    struct shares shares = sharing_idle(&mig);
    assert_int_equal(sharing_take(&mig, &shares, 1).slice, 6);
    assert_int_equal(sharing_take(&mig, &shares, 2).slice, 4);
    assert_int_equal(sharing_take(&mig, &shares, 4).slice, 0);
    assert_int_equal(shares.free, 0);
    assert_false(sharing_fits(&mig, &shares, 1));
}

static void only_what_is_idle_makes_room(void **state)
{
    (void)state;
    struct shares shares = sharing_idle(&mig);
    const struct share small = sharing_take(&mig, &shares, 1);
    assert_false(sharing_fits(&mig, &shares, 7));
    sharing_give(&mig, &shares, &small, /* was_ready */ true);
    const struct share whole = sharing_take(&mig, &shares, 7);
    assert_true(whole.is_new);
    sharing_give(&mig, &shares, &whole, /* was_ready */ false);
    assert_true(sharing_take(&mig, &shares, 7).is_new); /* It was never made. */
}

/* Whatever is taken and given, instances in use do not overlap, and what fits can be had. */
static void layouts_stay_legal(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, 4, 7};
    struct rng rng = rng_from_seed(5);
    struct shares shares = sharing_idle(&mig);
    struct share held[7];
    uint32_t count = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        const uint32_t gpu = sizes[rng_below(&rng, 5)];
        uint32_t used = 0;
        uint32_t units = 0;
        for (uint32_t k = 0; k < count; k++) {
            const uint32_t slices = sharing_slices(held[k].gpu, held[k].slice);
            assert_int_not_equal(slices, 0);
            assert_int_equal(used & slices, 0);
            used |= slices;
            units += held[k].gpu;
        }
        assert_int_equal(shares.free, 7 - units);
        bool fits = false;
        for (uint32_t slice = 0; slice < MIG_SLICES; slice++) {
            const uint32_t slices = sharing_slices(gpu, slice);
            fits = fits || (slices != 0 && (slices & used) == 0);
        }
        assert_int_equal(sharing_fits(&mig, &shares, gpu), fits);
        if (fits) {
            held[count] = sharing_take(&mig, &shares, gpu);
            count++;
        } else {
            const uint32_t one = rng_below(&rng, count);
            sharing_give(&mig, &shares, &held[one], rng_below(&rng, 2) == 0);
            count--;
            held[one] = held[count];
        }
    }
}

static void units_are_counted_where_they_are_alike(void **state)
{
    (void)state;
    struct shares shares = sharing_idle(&counted);
    const struct share five = sharing_take(&counted, &shares, 5);
    assert_false(sharing_fits(&counted, &shares, 2));
    assert_true(sharing_fits(&counted, &shares, 1));
    sharing_give(&counted, &shares, &five, /* was_ready */ true);
    assert_int_equal(shares.free, 6);
    assert_int_equal(shares.layout, 0);
}

static void others_are_felt_by_number_by_units_or_not_at_all(void **state)
{
    (void)state;
    assert_true(sharing_stretch(&counted, 2, 5, 3) == 2.0);
    assert_true(sharing_stretch(&sm, 2, 50, 0) == 1.25);
    assert_true(sharing_stretch(&sm, 0, 0, 0) == 1.0);
    assert_true(sharing_stretch(&sm, 2, 50, 1) == 1.5); /* Such a batch suffers more. */
    struct fleet_worker apart = sm;
    apart.interference = 0;
    assert_true(sharing_stretch(&apart, 2, 50, 1) == 1.0);
    struct fleet_worker part = sm;
    part.gpu_units = 20;
    part.partitions = 5;
    assert_true(sharing_stretch(&part, 2, 50, 0) == 1.25); /* Of the whole device. */
    assert_true(sharing_stretch(&mig, 6, 6, 0) == 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instances_start_where_they_may),
        cmocka_unit_test(a_share_is_rounded_up_to_one_that_exists),
        cmocka_unit_test(two_of_three_strand_the_seventh_unit),
        cmocka_unit_test(four_two_and_one_fill_a_device),
        cmocka_unit_test(only_what_is_idle_makes_room),
        cmocka_unit_test(layouts_stay_legal),
        cmocka_unit_test(units_are_counted_where_they_are_alike),
        cmocka_unit_test(others_are_felt_by_number_by_units_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
