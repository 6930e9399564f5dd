#include "profile/refine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/limits.h"
#include "base/rng.h"

#define MS INT64_C(1000000)

static int64_t run_ns(const struct profile *profile, uint32_t items)
{
    const struct config whole = {.batch = items};
    return profile_run(profile, /* model */ 0, /* device */ 0, items, whole).run_ns;
}

static void run(struct refine *refine, uint32_t items, int64_t run_ns)
{
    const struct refine_ran ran = {.items = items, .run_ns = run_ns};
    refine_run(refine, &ran);
}

static void a_model_that_was_never_measured_is_learnt(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(1);
    struct refine *refine = refine_create(profile);

    run(refine, 1, 10 * MS);
    assert_int_equal(run_ns(profile, 1), 10 * MS);
    assert_int_equal(profile_run_one_ns(profile, 0, 0), 10 * MS);
    run(refine, 1, 20 * MS);
    assert_int_equal(run_ns(profile, 1), 15 * MS);
    assert_int_equal(refine_count(refine), 2);
    refine_destroy(refine);
    profile_destroy(profile);
}

static void one_slow_run_changes_little(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(1);
    const struct profile_point measured = {.items = 1, .run_ns = 10 * MS};
    assert_int_equal(profile_add_point(profile, 0, 0, &measured), WEFT_OK);
    struct refine *refine = refine_create(profile);

    run(refine, 1, 100 * MS);
    /* The ninth of nine, and it counts as 20 ms: four times a quarter above the mean. */
    assert_in_range(run_ns(profile, 1), 11 * MS, 11 * MS + MS / 8);
    for (int i = 0; i < 1000; i++) {
        run(refine, 1, 10 * MS);
    }
    assert_in_range(run_ns(profile, 1), 10 * MS, 10 * MS + 64);
    refine_destroy(refine);
    profile_destroy(profile);
}

/* Of 4 us, every @period th 1,000 times as long. What is learnt in the end, in us. */
static int64_t learnt_us(uint32_t period)
{
    struct profile *profile = profile_create(1);
    struct refine *refine = refine_create(profile);
    int64_t sum_ns = 0;

    run(refine, 1, 4000);
    for (uint32_t i = 1; i <= 20000; i++) {
        run(refine, 1, i % period == 0 ? 4 * MS : 4000);
        sum_ns += i > 10000 ? run_ns(profile, 1) : 0;
    }
    refine_destroy(refine);
    profile_destroy(profile);
    return sum_ns / 10000 / 1000;
}

static void rare_outliers_are_ignored_and_frequent_ones_learnt(ATTR_UNUSED void **state)
{
    assert_in_range(learnt_us(/* period */ 50), 3, 5);
    assert_in_range(learnt_us(/* period */ 4), 800, 1200);
}

static struct profile *two_points(int64_t one_ns, int64_t eight_ns)
{
    struct profile *profile = profile_create(1);
    const struct profile_point points[] = {
        {.items = 1, .run_ns = one_ns}, {.items = 8, .run_ns = eight_ns}};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(profile_add_point(profile, 0, 0, &points[i]), WEFT_OK);
    }
    return profile;
}

/* Both were learnt in a busy hour; since then eight seem too slow to be tried. */
static void a_batch_size_that_is_not_tried_follows(ATTR_UNUSED void **state)
{
    struct profile *profile = two_points(300 * 1000, 3 * MS);
    struct refine *refine = refine_create(profile);

    for (int i = 0; i < 1000; i++) {
        run(refine, 1, 5000);
    }
    assert_in_range(run_ns(profile, 1), 4900, 5100);
    assert_in_range(run_ns(profile, 8), 5000, 8 * 5100);
    refine_destroy(refine);
    profile_destroy(profile);
}

/* However often one size is seen, and however it scatters, the others stay where they were. */
static void sizes_do_not_drift(ATTR_UNUSED void **state)
{
    struct profile *profile = two_points(4 * 1000, 9 * 1000);
    struct refine *refine = refine_create(profile);
    struct rng rng = rng_stream(1, RNG_SERVICE, 0);

    for (int i = 0; i < 200000; i++) {
        run(refine, 1, 2000 + (int64_t)(rng_next(&rng) % 4001));
    }
    assert_int_equal(run_ns(profile, 8), 9 * 1000);
    for (int i = 0; i < 1000; i++) {
        run(refine, 8, 0);
        run(refine, 1, 0);
    }
    assert_in_range(run_ns(profile, 1), 1, 64); /* Never 0, which no document may say. */
    assert_in_range(run_ns(profile, 8), 1, 64);
    refine_destroy(refine);
    profile_destroy(profile);
}

static void proportions_are_learnt_all_the_same(ATTR_UNUSED void **state)
{
    struct profile *profile = two_points(10 * MS, 80 * MS);
    struct refine *refine = refine_create(profile);

    for (int i = 0; i < 4000; i++) {
        run(refine, 1, 10 * MS);
        run(refine, 8, 20 * MS);
    }
    assert_in_range(run_ns(profile, 1), 9 * MS, 11 * MS);
    assert_in_range(run_ns(profile, 8), 18 * MS, 22 * MS);
    refine_destroy(refine);
    profile_destroy(profile);
}

static void handoffs_are_learnt_by_their_median(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(1);
    struct refine *refine = refine_create(profile);
    struct refine_ran ran = {.items = 1, .run_ns = MS};

    for (int i = 0; i < 1000; i++) {
        ran.handoff_ns = i % 5 == 4 ? 10 * MS : (40 + i % 5) * 1000;
        refine_run(refine, &ran);
    }
    const int64_t handoff_ns = profile->models[0].curves[0].handoff_ns;
    assert_in_range(handoff_ns, 38 * 1000, 48 * 1000);
    assert_int_equal(run_ns(profile, 1), MS + handoff_ns);
    assert_int_equal(profile_run_one_ns(profile, 0, 0), MS + handoff_ns);
    assert_int_equal(profile->models[0].curves[0].points[0].run_ns, MS);
    ran.is_shared = true; /* What others may have slowed is not learnt. */
    ran.run_ns = 5 * MS;
    ran.handoff_ns = handoff_ns;
    for (uint32_t i = 0; i < 20; i++) {
        refine_run(refine, &ran);
    }
    assert_int_equal(run_ns(profile, 1), MS + handoff_ns);
    ran.is_shared = false;
    ran.run_ns = MS;
    ran.handoff_ns = -1;
    refine_run(refine, &ran);
    assert_int_equal(profile->models[0].curves[0].handoff_ns, handoff_ns);
    refine_destroy(refine);
    profile_destroy(profile);
}

/* Points stay what runs took; what they met says what they would have taken alone. */
static void what_others_did_to_runs_is_told_apart(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(1);
    struct refine *refine = refine_create(profile);
    const struct profile_curve *curve = &profile->models[0].curves[0];

    for (int i = 0; i < 1000; i++) {
        const bool is_beside = i % 4 != 0;
        const struct refine_ran ran = {
            .items = 1,
            .run_ns = is_beside ? 14 * MS : 10 * MS,
            .slowing = {.beside = is_beside ? 1 : 0},
        };
        refine_run(refine, &ran);
    }
    assert_in_range(run_ns(profile, 1), 13 * MS - MS / 8, 13 * MS + MS / 8);
    assert_true(curve->points[0].slowing.beside > 0.7 && curve->points[0].slowing.beside < 0.8);
    assert_true(curve->interference > 0.36 && curve->interference < 0.44);
    const double factor = slowing_factor(&curve->points[0].slowing, curve->interference);
    assert_in_range((int64_t)((double)run_ns(profile, 1) / factor), 9.8 * MS, 10.2 * MS);
    assert_true(curve->quantiles[0] > 0.9);
    assert_true(curve->quantiles[PROFILE_QUANTILES - 1] < 1.1);
    refine_destroy(refine);
    profile_destroy(profile);
}

/* Mean and spread come out as they were drawn, and follow when they change. */
static void mean_and_spread_are_followed(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(1);
    struct refine *refine = refine_create(profile);
    struct rng rng = rng_stream(1, RNG_SERVICE, 0);

    for (int64_t centre = 100; centre <= 300; centre += 200) {
        double mean = 0;
        double sd = 0;
        for (int i = 0; i < 4000; i++) {
            const int64_t off = (int64_t)(rng_next(&rng) % 61) - 30; /* Spread 17.6. */
            run(refine, 1, (centre + off) * MS);
            if (i >= 1000) { /* A running mean of 64 is itself noisy: look at many of them. */
                mean += (double)run_ns(profile, 1) / 3000;
                sd += (double)profile->models[0].curves[0].points[0].sd_ns / 3000;
            }
        }
        assert_in_range((int64_t)mean, (centre - 2) * MS, (centre + 2) * MS);
        assert_in_range((int64_t)sd, 16 * MS, 19 * MS);
    }
    refine_destroy(refine);
    profile_destroy(profile);
}

static void new_numbers_of_items_begin_with_the_estimate(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(1);
    const struct profile_point points[] = {
        {.items = 1, .run_ns = 10 * MS}, {.items = 4, .run_ns = 40 * MS}};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(profile_add_point(profile, 0, 0, &points[i]), WEFT_OK);
    }
    struct refine *refine = refine_create(profile);

    run(refine, 2, 50 * MS); /* It was 20 ms, and that counts two. */
    assert_int_equal(run_ns(profile, 2), 30 * MS);
    assert_int_equal(run_ns(profile, 1), 10 * MS);
    assert_int_equal(run_ns(profile, 4), 40 * MS);
    refine_destroy(refine);
    profile_destroy(profile);
}

/* Of packages for GPUs: a batch takes as long as the package that it is padded to. */
static void padded_runs_are_learnt_where_they_are_measured(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(1);
    const struct profile_point points[] = {
        {.items = 1, .run_ns = 10 * MS},
        {.items = 8, .run_ns = 20 * MS},
        {.items = 1, .gpu = 2, .run_ns = 30 * MS},
        {.items = 8, .gpu = 2, .run_ns = 80 * MS},
    };
    for (int i = 0; i < 4; i++) {
        assert_int_equal(profile_add_point(profile, 0, 0, &points[i]), WEFT_OK);
    }
    struct refine *refine = refine_create(profile);
    struct refine_ran ran = {.items = 3, .gpu = 2, .run_ns = 98 * MS};
    const struct profile_curve *curve = &profile->models[0].curves[0];

    refine_run(refine, &ran);
    assert_int_equal(curve->point_count, 4);
    assert_int_equal(curve->points[3].run_ns, 82 * MS); /* A ninth of the way. */
    ran.gpu = REFINE_ALL_UNITS;
    ran.run_ns = 11 * MS;
    for (int i = 0; i < 1000; i++) {
        refine_run(refine, &ran);
    }
    assert_in_range(curve->points[1].run_ns, 11 * MS, 11 * MS + 64);
    ran.items = 9; /* Several runs: nothing is known of one. */
    ran.gpu = 1;   /* Nor is anything of this share. */
    refine_run(refine, &ran);
    ran.gpu = 2;
    refine_run(refine, &ran);
    assert_int_equal(curve->points[0].run_ns, 10 * MS);
    assert_int_equal(curve->points[2].run_ns, 30 * MS);
    assert_int_equal(curve->points[3].run_ns, 82 * MS);
    assert_int_equal(curve->point_count, 4);
    refine_destroy(refine);
    profile_destroy(profile);
}

static void points_are_bounded(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(1);
    struct refine *refine = refine_create(profile);

    for (uint32_t items = 1; items <= 1000; items++) {
        run(refine, items, (int64_t)items * MS);
    }
    assert_int_equal(profile->models[0].curves[0].point_count, REFINE_POINTS_MAX);
    run(refine, 1, -1); /* Clocks that lie are not listened to. */
    assert_int_equal(run_ns(profile, 1), MS);
    refine_destroy(refine);
    profile_destroy(profile);
}

static void loads_are_learnt_too(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(2);
    struct refine *refine = refine_create(profile);

    refine_load(refine, 1, 30 * MS, 1000);
    assert_int_equal(profile->models[1].load_fixed_ns, 30 * MS);
    for (int64_t i = 1; i <= 3; i++) {
        refine_load(refine, 1, i * MS, 0);
        assert_int_equal(profile->models[1].load_fixed_ns, 30 * MS);
    }
    refine_load(refine, 1, 4 * MS, 0);
    assert_int_equal(profile->models[1].load_fixed_ns, 4 * MS);
    refine_load(refine, 1, 500 * MS, 0);
    refine_load(refine, 1, 5 * MS, 0);
    refine_load(refine, 1, 6 * MS, 0); /* Forgets the first. */
    assert_int_equal(profile->models[1].load_fixed_ns, 4 * MS);
    refine_load(refine, 1, -1, 0);
    assert_int_equal(refine_count(refine), 8);
    assert_int_equal(profile->models[1].resident_bytes, 1000);
    assert_int_equal(profile->models[1].load_bytes, 1000);
    assert_int_equal(profile->models[0].load_fixed_ns, 0);
    refine_destroy(refine);
    profile_destroy(profile);
}

/* In whatever order runs come, what is learnt covers all of them and is no more than that. */
static void workspaces_grow_to_what_runs_need(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(2);
    struct refine *refine = refine_create(profile);

    refine_learn_workspaces(refine);
    assert_int_equal(profile_workspace_bytes(profile, 0, 1), 0);
    refine_workspace(refine, 0, /* items */ 2, 120);
    refine_workspace(refine, 0, /* items */ 2, 100);
    refine_learn_workspaces(refine);
    assert_int_equal(profile_workspace_bytes(profile, 0, 1), 120);
    assert_int_equal(profile_workspace_bytes(profile, 0, 2), 120);
    refine_workspace(refine, 0, /* items */ 1, 60);
    refine_workspace(refine, 0, /* items */ 4, 240);
    refine_learn_workspaces(refine);
    assert_int_equal(profile_workspace_bytes(profile, 0, 1), 60);
    assert_int_equal(profile_workspace_bytes(profile, 0, 2), 120);
    assert_int_equal(profile_workspace_bytes(profile, 0, 4), 240);
    refine_workspace(refine, 0, /* items */ 1, 10); /* Less is no news. */
    refine_learn_workspaces(refine);
    assert_int_equal(profile_workspace_bytes(profile, 0, 1), 60);
    assert_int_equal(profile_workspace_bytes(profile, 1, 1), 0);
    for (uint32_t items = 10; items < 100; items++) {
        refine_workspace(refine, 1, items, items);
    }
    refine_learn_workspaces(refine);
    assert_int_equal(profile_workspace_bytes(profile, 1, 10), 10);
    refine_destroy(refine);
    profile_destroy(profile);
}

static struct learnt news_of(uint32_t items, int64_t run_ns)
{
    return (struct learnt){
        .items = items,
        .runs = 1,
        .run_ns = run_ns,
        .sd_ns = MS / 10,
        .handoff_ns = MS / 2,
        .load_ns = MS,
        .first_run_ns = 3 * MS,
    };
}

/* Runs of one item, as @model alone was loaded before each. */
static void run_fresh(struct refine *refine, uint32_t model, int64_t run_ns, uint32_t times)
{
    const struct refine_ran ran = {.items = 1, .run_ns = run_ns, .fresh_count = 1, .fresh = model};
    for (uint32_t i = 0; i < times; i++) {
        refine_run(refine, &ran);
    }
}

static void a_first_run_after_a_load_is_learnt_apart(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(2);
    const struct profile_point measured = {.items = 1, .run_ns = 10 * MS};
    assert_int_equal(profile_add_point(profile, 0, 0, &measured), WEFT_OK);
    struct refine *refine = refine_create(profile);
    const struct profile_curve *weights = &profile->models[1].curves[0];

    run_fresh(refine, /* model */ 1, 14 * MS, 200); /* The task runs 0, with the weights of 1. */
    assert_in_range(weights->first_run_ns, 4 * MS - MS / 8, 4 * MS);
    assert_int_equal(run_ns(profile, 1), 10 * MS); /* Later runs take no longer for it. */
    assert_int_equal(profile->models[0].curves[0].first_run_ns, 0);

    struct refine_ran several = {.items = 1, .run_ns = 90 * MS, .fresh_count = 2, .fresh = 1};
    refine_run(refine, &several); /* Of which one that was is not known. */
    assert_in_range(weights->first_run_ns, 4 * MS - MS / 8, 4 * MS);
    run_fresh(refine, /* model */ 1, 9 * MS, 1000);
    assert_int_equal(weights->first_run_ns, 0); /* None is faster than others for long. */
    assert_int_equal(run_ns(profile, 1), 10 * MS);
    refine_destroy(refine);
    profile_destroy(profile);
}

/* There is nothing to compare with: what was seen is better than nothing. */
static void a_first_run_of_what_was_never_measured_counts_as_any(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(1);
    struct refine *refine = refine_create(profile);

    run_fresh(refine, /* model */ 0, 10 * MS, 1);
    assert_int_equal(run_ns(profile, 1), 10 * MS);
    run_fresh(refine, /* model */ 0, 12 * MS, 1);
    assert_int_equal(run_ns(profile, 1), 10 * MS);
    assert_true(profile->models[0].curves[0].first_run_ns > 0);
    refine_destroy(refine);
    profile_destroy(profile);
}

/* On a GPU fewer items take as long as the next point: a first run is compared with that. */
static void a_first_run_on_a_gpu_is_compared_with_its_point(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(1);
    const struct profile_point points[] = {
        {.items = 1, .run_ns = 10 * MS}, {.items = 8, .run_ns = 20 * MS}};
    assert_int_equal(profile_add_point(profile, 0, 0, &points[0]), WEFT_OK);
    assert_int_equal(profile_add_point(profile, 0, 0, &points[1]), WEFT_OK);
    struct refine *refine = refine_create(profile);
    struct refine_ran ran = {
        .items = 2, .gpu = REFINE_ALL_UNITS, .run_ns = 20 * MS, .fresh_count = 1};

    refine_run(refine, &ran);
    assert_int_equal(profile->models[0].curves[0].first_run_ns, 0);
    ran.run_ns = 23 * MS;
    for (uint32_t i = 0; i < 200; i++) {
        refine_run(refine, &ran);
    }
    assert_in_range(profile->models[0].curves[0].first_run_ns, 3 * MS - MS / 8, 3 * MS);
    ran.gpu = 1; /* Nothing is known of this share. */
    ran.run_ns = 90 * MS;
    refine_run(refine, &ran);
    assert_in_range(profile->models[0].curves[0].first_run_ns, 3 * MS - MS / 8, 3 * MS);
    refine_destroy(refine);
    profile_destroy(profile);
}

static void what_first_runs_take_is_told(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(1);
    struct refine *refine = refine_create(profile);
    struct learnt news;

    run(refine, 1, 10 * MS);
    assert_true(refine_tell(refine, &news));
    assert_int_equal(news.first_run_ns, 0);
    run_fresh(refine, /* model */ 0, 14 * MS, 200);
    assert_true(refine_tell(refine, &news));
    assert_in_range(news.first_run_ns, 3 * MS, 4 * MS);
    assert_false(refine_tell(refine, &news));
    news.first_run_ns = 9 * MS; /* What was seen here counts. */
    news.items = 2;
    assert_true(refine_hear(refine, &news));
    assert_in_range(profile->models[0].curves[0].first_run_ns, 3 * MS, 4 * MS);
    refine_destroy(refine);
    profile_destroy(profile);
}

static void what_moves_is_told_once(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(1);
    struct refine *refine = refine_create(profile);
    struct learnt news;

    assert_false(refine_tell(refine, &news));
    run(refine, 1, 10 * MS);
    run(refine, 8, 40 * MS);
    assert_true(refine_tell(refine, &news));
    assert_int_equal(news.items, 1);
    assert_int_equal(news.run_ns, 10 * MS);
    assert_true(refine_tell(refine, &news));
    assert_int_equal(news.items, 8);
    assert_int_equal(news.run_ns, run_ns(profile, 8));
    assert_false(refine_tell(refine, &news));
    for (int i = 0; i < 10; i++) {
        run(refine, 1, 10 * MS + MS / 5); /* By less than a sixteenth. */
    }
    assert_false(refine_tell(refine, &news));
    for (int i = 0; i < 10; i++) {
        run(refine, 1, 12 * MS);
    }
    assert_true(refine_tell(refine, &news));
    assert_int_equal(news.items, 1);
    assert_false(refine_tell(refine, &news));
    refine_tell_again(refine, /* kind_count */ 0);
    assert_true(refine_tell(refine, &news));
    assert_true(refine_tell(refine, &news));
    assert_false(refine_tell(refine, &news));
    refine_destroy(refine);
    profile_destroy(profile);
}

static void what_others_say_counts_until_it_is_seen(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(1);
    const struct profile_point measured = {.items = 1, .run_ns = 10 * MS};
    assert_int_equal(profile_add_point(profile, 0, 0, &measured), WEFT_OK);
    struct refine *refine = refine_create(profile);
    struct learnt news = news_of(1, 20 * MS);
    struct learnt told;

    assert_true(refine_hear(refine, &news));
    assert_int_equal(run_ns(profile, 1), 20 * MS + MS / 2); /* With the hand-off. */
    assert_int_equal(profile->models[0].load_fixed_ns, MS);
    assert_int_equal(profile->models[0].curves[0].first_run_ns, 3 * MS);
    assert_false(refine_tell(refine, &told)); /* Who said so knows it. */
    for (int i = 0; i < REFINE_OWN; i++) {
        run(refine, 1, 20 * MS);
    }
    const int64_t own_ns = run_ns(profile, 1);
    news.run_ns = 90 * MS;
    assert_false(refine_hear(refine, &news));
    assert_int_equal(run_ns(profile, 1), own_ns);
    news.items = 4; /* Of which nothing was seen here. */
    assert_true(refine_hear(refine, &news));
    assert_true(run_ns(profile, 4) > own_ns);
    assert_int_equal(refine_count(refine), REFINE_OWN + 2);
    refine_destroy(refine);
    profile_destroy(profile);
}

static void what_was_measured_is_told_to_those_who_know_nothing(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(1);
    struct profile *other = profile_create(1);
    const struct profile_point measured = {.items = 1, .run_ns = 10 * MS};
    struct learnt news;
    assert_int_equal(profile_add_point(profile, 0, 0, &measured), WEFT_OK);
    assert_int_equal(profile_add_point(profile, 0, 1, &measured), WEFT_OK);
    struct refine *refine = refine_create(profile);
    refine_tell_again(refine, /* kind_count */ 0);
    assert_false(refine_tell(refine, &news));
    refine_tell_again(refine, /* kind_count */ 1); /* The second kind is that of another. */
    assert_true(refine_tell(refine, &news));
    assert_int_equal(news.device, 0);
    assert_int_equal(news.runs, 0);
    assert_int_equal(news.run_ns, 10 * MS);
    struct learnt more;
    assert_false(refine_tell(refine, &more));

    struct refine *listener = refine_create(other);
    news.device = 3;
    other->models[0].kinds = 1; /* It knows the model, though not on that kind. */
    assert_true(refine_hear(listener, &news));
    assert_true(profile_can_run(other, 0, 3));
    news.run_ns = 90 * MS; /* A measurement of another machine does not count for more. */
    assert_false(refine_hear(listener, &news));
    assert_int_equal(profile_run_one_ns(other, 0, 3), 10 * MS);
    refine_destroy(listener);
    refine_destroy(refine);
    profile_destroy(other);
    profile_destroy(profile);
}

static void what_makes_no_sense_is_not_believed(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(1);
    struct refine *refine = refine_create(profile);
    struct learnt wrong[] = {
        news_of(0, MS), news_of(1, 0),  news_of(1, -MS), news_of(ITEMS_MAX + 1, MS),
        news_of(1, MS), news_of(1, MS), news_of(1, MS),  news_of(1, DURATION_NS_MAX + 2),
        news_of(1, MS),
    };
    wrong[4].model = 1;
    wrong[5].device = DEVICE_KINDS_MAX;
    wrong[6].handoff_ns = INT64_MAX;
    wrong[8].first_run_ns = -1;
    for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(refine_hear(refine, &wrong[i]));
    }
    assert_false(profile_is_measured(profile, 0, 0));
    struct learnt barred = news_of(1, MS);
    profile->models[0].barred = 1;
    assert_false(refine_hear(refine, &barred));
    refine_destroy(refine);
    profile_destroy(profile);
}

static void what_others_say_is_bounded(ATTR_UNUSED void **state)
{
    struct profile *profile = profile_create(1);
    struct refine *refine = refine_create(profile);
    for (uint32_t items = 1; items <= 3 * REFINE_POINTS_MAX; items++) {
        const struct learnt news = news_of(items, items * MS);
        assert_int_equal(refine_hear(refine, &news), items <= REFINE_POINTS_MAX);
    }
    assert_int_equal(profile->models[0].curves[0].point_count, REFINE_POINTS_MAX);
    refine_destroy(refine);
    profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_that_was_never_measured_is_learnt),
        cmocka_unit_test(one_slow_run_changes_little),
        cmocka_unit_test(rare_outliers_are_ignored_and_frequent_ones_learnt),
        cmocka_unit_test(a_batch_size_that_is_not_tried_follows),
        cmocka_unit_test(sizes_do_not_drift),
        cmocka_unit_test(proportions_are_learnt_all_the_same),
        cmocka_unit_test(handoffs_are_learnt_by_their_median),
        cmocka_unit_test(what_others_did_to_runs_is_told_apart),
        cmocka_unit_test(mean_and_spread_are_followed),
        cmocka_unit_test(new_numbers_of_items_begin_with_the_estimate),
        cmocka_unit_test(padded_runs_are_learnt_where_they_are_measured),
        cmocka_unit_test(points_are_bounded),
        cmocka_unit_test(loads_are_learnt_too),
        cmocka_unit_test(workspaces_grow_to_what_runs_need),
        cmocka_unit_test(a_first_run_after_a_load_is_learnt_apart),
        cmocka_unit_test(a_first_run_of_what_was_never_measured_counts_as_any),
        cmocka_unit_test(a_first_run_on_a_gpu_is_compared_with_its_point),
        cmocka_unit_test(what_first_runs_take_is_told),
        cmocka_unit_test(what_moves_is_told_once),
        cmocka_unit_test(what_others_say_counts_until_it_is_seen),
        cmocka_unit_test(what_was_measured_is_told_to_those_who_know_nothing),
        cmocka_unit_test(what_makes_no_sense_is_not_believed),
        cmocka_unit_test(what_others_say_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
