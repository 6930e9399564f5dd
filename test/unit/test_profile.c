#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"

enum { MODEL = 1, DEVICE = 2 };

static struct profile *profile;

static int set_up(ATTR_UNUSED void **state)
{
    profile = profile_create(/* model_count */ 3);
    return 0;
}

static int tear_down(ATTR_UNUSED void **state)
{
    profile_destroy(profile);
    return 0;
}

static void add(uint32_t gpu, uint32_t cpu, uint32_t items, int64_t run_ns)
{
    const struct profile_point point = {
        .items = items,
        .cpu = cpu,
        .gpu = gpu,
        .run_ns = run_ns,
        .sd_ns = run_ns / 10,
    };
    assert_int_equal(profile_add_point(profile, MODEL, DEVICE, &point), WEFT_OK);
}

static void expect(
    uint32_t gpu, uint32_t cpu, uint32_t items, int64_t run_ns, enum estimate_source source)
{
    const struct config config = {.batch = items, .cpu = cpu, .gpu = gpu};
    const struct estimate estimate = profile_run(profile, MODEL, DEVICE, items, config);
    assert_int_equal(estimate.run_ns, run_ns);
    assert_int_equal(estimate.source, source);
}

static void an_empty_profile_knows_nothing(ATTR_UNUSED void **state)
{
    expect(0, 0, 1, 0, ESTIMATE_MISSING);
    expect(3, 2, 9, 0, ESTIMATE_MISSING);
    assert_false(profile_is_measured(profile, MODEL, DEVICE));
    assert_int_equal(profile_run_one_ns(profile, MODEL, DEVICE), 0);
    profile_destroy(profile_create(0));
    profile_destroy(NULL);
}

static void measured_points_are_given_back_as_they_are(ATTR_UNUSED void **state)
{
    add(0, 0, 8, 500);
    add(0, 0, 1, 100);
    add(0, 0, 4, 300);

    expect(0, 0, 1, 100, ESTIMATE_MEASURED);
    expect(0, 0, 4, 300, ESTIMATE_MEASURED);
    expect(0, 0, 8, 500, ESTIMATE_MEASURED);
    assert_true(profile_is_measured(profile, MODEL, DEVICE));
    assert_int_equal(profile_kinds(profile, MODEL), UINT32_C(1) << DEVICE);
    assert_int_equal(profile_kinds(profile, MODEL + 1), UINT32_MAX);
    assert_false(profile_is_measured(profile, MODEL, DEVICE + 1));
    assert_false(profile_is_measured(profile, MODEL + 1, DEVICE));
}

static void between_two_points_the_line_is_rounded(ATTR_UNUSED void **state)
{
    add(0, 0, 1, 100);
    add(0, 0, 4, 300);
    add(0, 0, 7, 100);

    expect(0, 0, 2, 167, ESTIMATE_INTERPOLATED);
    expect(0, 0, 3, 233, ESTIMATE_INTERPOLATED);
    expect(0, 0, 5, 233, ESTIMATE_INTERPOLATED);
    expect(0, 0, 6, 167, ESTIMATE_INTERPOLATED);

    const struct config whole = {0};
    assert_int_equal(profile_run(profile, MODEL, DEVICE, 2, whole).sd_ns, 17);
    assert_int_equal(profile_run(profile, MODEL, DEVICE, 4, whole).sd_ns, 30);
}

static void fewer_items_than_measured_take_as_long_as_the_fewest(ATTR_UNUSED void **state)
{
    add(0, 0, 4, 300);
    add(0, 0, 8, 500);

    expect(0, 0, 1, 300, ESTIMATE_EXTRAPOLATED);
    expect(0, 0, 3, 300, ESTIMATE_EXTRAPOLATED);
    expect(0, 0, 0, 300, ESTIMATE_EXTRAPOLATED);
}

static void more_items_than_measured_take_several_batches(ATTR_UNUSED void **state)
{
    add(0, 0, 2, 200);
    add(0, 0, 4, 300);

    expect(0, 0, 8, 600, ESTIMATE_EXTRAPOLATED);
    expect(0, 0, 10, 800, ESTIMATE_EXTRAPOLATED); /* 300 + 300 + 200 */
    expect(0, 0, 11, 850, ESTIMATE_EXTRAPOLATED); /* and between 200 and 300 */
    expect(0, 0, 9, 800, ESTIMATE_EXTRAPOLATED);  /* and 200 for fewer */

    const struct config whole = {0};
    assert_int_equal(profile_run(profile, MODEL, DEVICE, 10, whole).sd_ns, 80);
}

static void each_share_has_its_own_points(ATTR_UNUSED void **state)
{
    add(2, 1, 1, 400);
    add(2, 3, 1, 350);
    add(4, 1, 1, 200);
    add(0, 1, 1, 100);

    expect(2, 1, 1, 400, ESTIMATE_MEASURED);
    expect(2, 3, 1, 350, ESTIMATE_MEASURED);
    expect(4, 1, 1, 200, ESTIMATE_MEASURED);
    expect(0, 1, 1, 100, ESTIMATE_MEASURED);
    expect(2, 0, 1, 400, ESTIMATE_MEASURED); /* Any cpu: the first. */
    expect(0, 0, 1, 100, ESTIMATE_MEASURED);
}

static void a_point_for_any_cpu_fits_every_cpu(ATTR_UNUSED void **state)
{
    add(0, 0, 1, 100);
    add(0, 4, 1, 90);

    expect(0, 0, 1, 100, ESTIMATE_MEASURED);
    expect(0, 4, 1, 90, ESTIMATE_MEASURED);
    expect(0, 5, 1, 100, ESTIMATE_MEASURED);
}

static void an_unknown_cpu_share_takes_the_nearest(ATTR_UNUSED void **state)
{
    add(1, 9, 1, 900);
    add(2, 2, 1, 80);
    add(2, 6, 1, 60);
    add(3, 1, 1, 10);

    expect(2, 1, 1, 80, ESTIMATE_EXTRAPOLATED);
    expect(2, 3, 1, 80, ESTIMATE_EXTRAPOLATED);
    expect(2, 4, 1, 80, ESTIMATE_EXTRAPOLATED); /* The smaller one on ties. */
    expect(2, 5, 1, 60, ESTIMATE_EXTRAPOLATED);
    expect(2, UINT32_MAX, 1, 60, ESTIMATE_EXTRAPOLATED);
}

static void an_unknown_gpu_share_is_never_faster_than_the_nearest(ATTR_UNUSED void **state)
{
    add(2, 0, 1, 400);
    add(6, 0, 1, 101);

    expect(1, 0, 1, 800, ESTIMATE_EXTRAPOLATED); /* Half of what was measured. */
    expect(3, 0, 1, 400, ESTIMATE_EXTRAPOLATED);
    expect(4, 0, 1, 400, ESTIMATE_EXTRAPOLATED); /* The smaller one on ties. */
    expect(5, 0, 1, 122, ESTIMATE_EXTRAPOLATED); /* 101 * 6 / 5, rounded up. */
    expect(7, 0, 1, 101, ESTIMATE_EXTRAPOLATED);
    expect(0, 0, 1, 101, ESTIMATE_EXTRAPOLATED); /* The whole: the largest share. */
}

static void the_whole_device_stands_in_only_for_want_of_shares(ATTR_UNUSED void **state)
{
    add(0, 0, 1, 50);
    expect(3, 0, 1, 50, ESTIMATE_EXTRAPOLATED);

    add(1, 0, 1, 400);
    expect(3, 0, 1, 400, ESTIMATE_EXTRAPOLATED);
    expect(0, 0, 1, 50, ESTIMATE_MEASURED);

    add(9, 0, 1, 100);
    expect(6, 0, 1, 150, ESTIMATE_EXTRAPOLATED);
}

static void the_whole_device_is_not_a_small_share(ATTR_UNUSED void **state)
{
    add(0, 0, 1, 50);
    add(5, 0, 1, 100);

    expect(2, 0, 1, 250, ESTIMATE_EXTRAPOLATED);
    expect(1, 0, 1, 500, ESTIMATE_EXTRAPOLATED);
}

static void the_time_of_one_item_follows_every_new_point(ATTR_UNUSED void **state)
{
    add(0, 0, 4, 300);
    assert_int_equal(profile_run_one_ns(profile, MODEL, DEVICE), 300);
    add(0, 0, 1, 100);
    assert_int_equal(profile_run_one_ns(profile, MODEL, DEVICE), 100);
    add(3, 0, 1, 700);
    assert_int_equal(profile_run_one_ns(profile, MODEL, DEVICE), 100);
    assert_int_equal(profile_run_one_ns(profile, MODEL, DEVICE + 1), 0);
}

static void nonsense_and_repetition_are_refused(ATTR_UNUSED void **state)
{
    static const struct profile_point nonsense[] = {
        {.items = 0, .run_ns = 1},
        {.items = 1, .run_ns = -1},
        {.items = 1, .run_ns = 1, .sd_ns = -1},
        {.items = 1, .run_ns = DURATION_NS_MAX + 1},
        {.items = 1, .run_ns = 1, .sd_ns = INT64_MAX},
    };
    const struct profile_point twin = {.items = 5, .cpu = 2, .gpu = 3, .run_ns = 77};

    add(3, 2, 5, 100);
    for (uint32_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
        assert_int_equal(profile_add_point(profile, MODEL, DEVICE, &nonsense[i]), WEFT_INVALID);
    }
    assert_int_equal(profile_add_point(profile, MODEL, DEVICE, &twin), WEFT_EXISTS);
    expect(3, 2, 5, 100, ESTIMATE_MEASURED);
    assert_int_equal(profile->models[MODEL].curves[DEVICE].point_count, 1);
}

static void points_are_sorted_however_they_come(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(41);
    uint32_t added = 0;

    for (uint32_t i = 0; i < 3000; i++) {
        struct profile_point point = {.run_ns = i};
        point.gpu = rng_below(&rng, 8);
        point.cpu = rng_below(&rng, 6);
        point.items = 1 + rng_below(&rng, 20);
        added += profile_add_point(profile, MODEL, DEVICE, &point) == WEFT_OK;
    }
    const struct profile_curve *curve = &profile->models[MODEL].curves[DEVICE];
    assert_int_equal(curve->point_count, added);
    assert_in_range(added, 850, 8 * 6 * 20);
    for (uint32_t i = 1; i < curve->point_count; i++) {
        const struct profile_point *a = &curve->points[i - 1];
        const struct profile_point *b = &curve->points[i];
        assert_true(
            (a->gpu * 6 + a->cpu) * 100 + a->items < (b->gpu * 6 + b->cpu) * 100 + b->items);
    }
    for (uint32_t i = 0; i < curve->point_count; i++) {
        const struct profile_point *point = &curve->points[i];
        if (point->cpu == 0) {
            continue;
        }
        expect(point->gpu, point->cpu, point->items, point->run_ns, ESTIMATE_MEASURED);
    }
}

static void interpolation_stays_within_half_of_the_line(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(42);

    for (uint32_t i = 0; i < 20000; i++) {
        struct profile *drawn = profile_create(1);
        const uint32_t low = 1 + rng_below(&rng, 1000);
        const uint32_t high = low + 2 + rng_below(&rng, 1000);
        const int64_t low_ns = rng_below(&rng, 1000000);
        const int64_t high_ns = rng_below(&rng, 1000000);
        const uint32_t items = low + 1 + rng_below(&rng, high - low - 1);
        const struct profile_point first = {.items = low, .run_ns = low_ns};
        const struct profile_point second = {.items = high, .run_ns = high_ns};
        assert_int_equal(profile_add_point(drawn, 0, 0, &second), WEFT_OK);
        assert_int_equal(profile_add_point(drawn, 0, 0, &first), WEFT_OK);

        const struct estimate estimate =
            profile_run(drawn, 0, 0, items, (struct config){.batch = items});

        /* Twice the distance to the line, times the width: no more than the width. */
        const int64_t width = high - low;
        const int64_t above =
            estimate.run_ns * width - low_ns * (high - items) - high_ns * (int64_t)(items - low);
        assert_int_equal(estimate.source, ESTIMATE_INTERPOLATED);
        assert_true(2 * above <= width && -2 * above <= width);
        profile_destroy(drawn);
    }
}

static void absurd_numbers_are_cut_off_and_do_not_overflow(ATTR_UNUSED void **state)
{
    add(1, 1, UINT32_MAX - 1, DURATION_NS_MAX);
    add(1, 1, 1, DURATION_NS_MAX - 1);
    add(UINT32_MAX, UINT32_MAX, 1, DURATION_NS_MAX);
    add(UINT32_MAX, UINT32_MAX, UINT32_MAX, 0);

    expect(1, 1, UINT32_MAX, DURATION_NS_MAX, ESTIMATE_EXTRAPOLATED);
    expect(1, 1, 1000, DURATION_NS_MAX - 1, ESTIMATE_INTERPOLATED);
    expect(UINT32_MAX, UINT32_MAX, UINT32_MAX, 0, ESTIMATE_MEASURED);
    expect(UINT32_MAX - 1, 0, 1, DURATION_NS_MAX, ESTIMATE_EXTRAPOLATED);
    expect(UINT32_MAX, 1, 1, DURATION_NS_MAX, ESTIMATE_EXTRAPOLATED);

    add(0, 0, 1, DURATION_NS_MAX);
    expect(0, 0, UINT32_MAX, DURATION_NS_MAX, ESTIMATE_EXTRAPOLATED);
    for (uint32_t shift = 0; shift < 32; shift++) {
        const struct config config = {.cpu = UINT32_MAX >> shift, .gpu = UINT32_MAX >> shift};
        const struct estimate estimate =
            profile_run(profile, MODEL, DEVICE, UINT32_MAX >> shift, config);
        assert_in_range(estimate.run_ns, 0, DURATION_NS_MAX);
        assert_in_range(estimate.sd_ns, 0, DURATION_NS_MAX);
    }
}

static void loading_takes_a_fixed_time_and_the_bus(ATTR_UNUSED void **state)
{
    const struct fleet_worker worker = {.bus_bytes_per_s = 2000000000};
    profile->models[MODEL].load_bytes = 1000;
    profile->models[MODEL].resident_bytes = 5000;
    profile->models[MODEL].load_fixed_ns = 70;
    profile->models[MODEL].workspace_bytes = 10;
    profile->models[MODEL].workspace_bytes_per_item = 3;

    assert_int_equal(profile_load_ns(profile, MODEL, &worker), 570);
    assert_int_equal(profile_follow_ns(profile, MODEL, &worker), 70); /* Without the bus. */
    assert_int_equal(profile_workspace_bytes(profile, MODEL, 4), 22);
}

/* A load that was measured on a kind of device says all: the bus is part of it. */
static void a_kind_of_device_may_have_its_own_loads(ATTR_UNUSED void **state)
{
    const struct fleet_worker other = {.device = 0};
    const struct fleet_worker worker = {.device = DEVICE, .bus_bytes_per_s = 1};
    profile->models[MODEL].load_bytes = 1000;
    profile->models[MODEL].load_fixed_ns = 70;
    profile->models[MODEL].curves[DEVICE].load_ns = 9;
    assert_int_equal(profile_load_ns(profile, MODEL, &worker), 9);
    assert_int_equal(profile_follow_ns(profile, MODEL, &worker), 9);
    assert_int_equal(profile_load_ns(profile, MODEL, &other), 70);
}

/* What a kind cannot run, it does not run, measured or not. */
static void kinds_can_be_barred(ATTR_UNUSED void **state)
{
    profile->models[MODEL].barred = 1U << DEVICE;
    assert_false(profile_can_run(profile, MODEL, DEVICE));
    assert_true(profile_can_run(profile, MODEL, 0));
    add(/* gpu */ 0, /* cpu */ 0, 1, 100);
    assert_false(profile_can_run(profile, MODEL, DEVICE));
    assert_int_equal(profile_kinds(profile, MODEL), 0);
    profile->models[MODEL].barred = 0;
    assert_int_equal(profile_kinds(profile, MODEL), 1U << DEVICE);
}

/* Of two kinds of devices: each has its runs and loads, and both the larger memory. */
static void a_profile_takes_over_one_kind_of_device(ATTR_UNUSED void **state)
{
    struct profile *own = profile;
    struct profile *other = profile_create(3);
    const struct profile_point point = {.items = 1, .run_ns = 5};
    add(0, 0, 1, 100);
    own->models[MODEL].resident_bytes = 40;
    own->models[MODEL].workspace_bytes = 1;
    own->models[MODEL].load_fixed_ns = 7;
    profile_put_point(other, MODEL, 0, &point);
    other->models[MODEL].resident_bytes = 30;
    other->models[MODEL].workspace_bytes = 2;
    other->models[MODEL].load_fixed_ns = 99;
    other->models[MODEL].curves[0].load_ns = 3;
    other->models[MODEL].curves[0].interference = 0.5;
    other->models[MODEL].curves[0].quantiles[PROFILE_QUANTILES - 1] = 2;
    profile_take(own, other, MODEL, 0);
    assert_int_equal(own->models[MODEL].kinds, 1U << DEVICE | 1);
    assert_int_equal(profile_run_one_ns(own, MODEL, 0), 5);
    assert_int_equal(profile_run_one_ns(own, MODEL, DEVICE), 100);
    assert_int_equal(own->models[MODEL].resident_bytes, 40);
    assert_int_equal(own->models[MODEL].workspace_bytes, 2);
    assert_int_equal(own->models[MODEL].load_fixed_ns, 7);
    assert_int_equal(own->models[MODEL].curves[0].load_ns, 3);
    assert_true(own->models[MODEL].curves[0].interference > 0);
    assert_true(own->models[MODEL].curves[0].quantiles[PROFILE_QUANTILES - 1] > 1);
    profile_take(other, own, MODEL, DEVICE); /* Of that kind loads are not told apart. */
    assert_int_equal(other->models[MODEL].load_fixed_ns, 7);
    profile_forget(other, MODEL, 0);
    profile_take(own, other, MODEL, 0);
    assert_int_equal(own->models[MODEL].kinds, 1U << DEVICE);
    profile_destroy(other);
}

/* It has its own points, and grows on its own. */
static void a_copy_keeps_what_was_known(ATTR_UNUSED void **state)
{
    struct profile *original = profile;
    for (uint32_t items = 1; items <= 8; items++) {
        add(/* gpu */ 0, /* cpu */ 0, items, 100 * items);
    }
    profile->models[MODEL].load_bytes = 1000;
    struct profile *copy = profile_copy(profile);
    profile_forget(profile, MODEL, DEVICE);
    assert_int_equal(profile->models[MODEL].kinds, 0);
    add(0, 0, 1, 7);
    profile = copy;
    expect(0, 0, 8, 800, ESTIMATE_MEASURED);
    assert_int_equal(profile_run_one_ns(profile, MODEL, DEVICE), 100);
    assert_int_equal(profile->models[MODEL].load_bytes, 1000);
    add(0, 0, 9, 900);
    expect(0, 0, 9, 900, ESTIMATE_MEASURED);
    profile_destroy(copy);
    profile = original;
    expect(0, 0, 1, 7, ESTIMATE_MEASURED);
}

#define PROFILE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROFILE_TEST(an_empty_profile_knows_nothing),
        PROFILE_TEST(measured_points_are_given_back_as_they_are),
        PROFILE_TEST(a_copy_keeps_what_was_known),
        PROFILE_TEST(a_kind_of_device_may_have_its_own_loads),
        PROFILE_TEST(kinds_can_be_barred),
        PROFILE_TEST(a_profile_takes_over_one_kind_of_device),
        PROFILE_TEST(between_two_points_the_line_is_rounded),
        PROFILE_TEST(fewer_items_than_measured_take_as_long_as_the_fewest),
        PROFILE_TEST(more_items_than_measured_take_several_batches),
        PROFILE_TEST(each_share_has_its_own_points),
        PROFILE_TEST(a_point_for_any_cpu_fits_every_cpu),
        PROFILE_TEST(an_unknown_cpu_share_takes_the_nearest),
        PROFILE_TEST(an_unknown_gpu_share_is_never_faster_than_the_nearest),
        PROFILE_TEST(the_whole_device_stands_in_only_for_want_of_shares),
        PROFILE_TEST(the_whole_device_is_not_a_small_share),
        PROFILE_TEST(the_time_of_one_item_follows_every_new_point),
        PROFILE_TEST(nonsense_and_repetition_are_refused),
        PROFILE_TEST(points_are_sorted_however_they_come),
        PROFILE_TEST(interpolation_stays_within_half_of_the_line),
        PROFILE_TEST(absurd_numbers_are_cut_off_and_do_not_overflow),
        PROFILE_TEST(loading_takes_a_fixed_time_and_the_bus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
