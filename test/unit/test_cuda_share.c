/* Shares: any units combine, the same ones come again, and no two in use overlap. */
#include "cuda/share.h"

#include "unit/cuda_fixture.h"

static struct cuda_world world;
static struct cuda_shares shares;

static int set_up(ATTR_UNUSED void **state)
{
    struct weft_error error;
    cuda_world_open(&world);
    return cuda_shares_open(&world.device, &shares, &error) == WEFT_OK ? 0 : -1;
}

static int tear_down(ATTR_UNUSED void **state)
{
    cuda_shares_close(&shares);
    cuda_world_close(&world);
    return 0;
}

static struct cuda_share *take(uint32_t units)
{
    struct cuda_share *share;
    struct weft_error error;
    assert_int_equal(cuda_shares_take(&shares, UINT32_MAX, units, &share, &error), WEFT_OK);
    return share;
}

static void units_combine(ATTR_UNUSED void **state)
{
    assert_int_equal(shares.unit_count, FAKE_UNITS);
    struct cuda_share *a = take(4);
    struct cuda_share *b = take(1);
    struct cuda_share *c = take(4);
    assert_int_equal(shares.rest, 0x8000);
    assert_int_equal(a->units, 0x000f);
    assert_int_equal(b->units, 0x4000); /* Beside the rest, which it cannot be. */
    assert_int_equal(c->units, 0x00f0); /* From a multiple of four on. */
    struct cuda_share *d = take(7);     /* No seven neighbours: any. */
    assert_int_equal(d->units, 0xbf00);
    assert_null(take(1));
    cuda_shares_give(&shares, a);
    cuda_shares_give(&shares, c);
    assert_ptr_equal(take(4), a);
    assert_null(take(16));
}

/* What begins at a multiple of its number takes the least room from what is larger, or waits. */
static void shares_are_few(ATTR_UNUSED void **state)
{
    struct cuda_share *held[4] = {take(4), take(4), take(4), take(4)};
    assert_int_equal(held[0]->units, 0x000f);
    assert_int_equal(held[1]->units, 0x00f0);
    assert_int_equal(held[2]->units, 0x0f00);
    assert_int_equal(held[3]->units, 0xf000); /* With the rest. */
    cuda_shares_give(&shares, held[0]);
    cuda_shares_give(&shares, held[2]);
    assert_null(take(8)); /* Eight are free, but not from a multiple of eight on. */
    struct cuda_share *one = take(1);
    assert_int_equal(one->units, 0x0001);
    assert_int_equal(take(2)->units, 0x000c); /* Four neighbours are left. */
    assert_ptr_equal(take(4), held[2]);
}

static void the_whole_is_no_green_context(ATTR_UNUSED void **state)
{
    struct cuda_share *whole = take(UINT32_MAX);
    assert_int_equal(whole->units, 0xffff);
    assert_null(whole->green);
    assert_null(take(1));
    cuda_shares_give(&shares, whole);
    assert_non_null(take(0)->green); /* At least one. */
}

static void shares_may_be_streams(ATTR_UNUSED void **state)
{
    shares.are_streams = true;
    struct cuda_share *held[2] = {take(4), take(4)};
    for (uint32_t i = 0; i < 2; i++) {
        assert_null(held[i]->green);
        assert_non_null(held[i]->stream);
    }
    assert_ptr_not_equal(held[0]->stream, held[1]->stream);
    assert_null(take(12)); /* As many at a time as if they were processors. */
    struct cuda_share *beside = take(0);
    assert_non_null(beside);
    assert_int_equal(beside->units, 0);
    cuda_shares_give(&shares, held[0]);
    assert_ptr_equal(take(12), held[0]); /* The first that is free, whatever its units were. */
    assert_null(take(1));
    assert_int_equal(shares.share_count, 3);
}

static void streams_have_priorities(ATTR_UNUSED void **state)
{
    shares.are_streams = true;
    struct cuda_share *share = take(1);
    assert_int_equal(shares.priorities, FAKE_PRIORITIES);
    struct CUstream_st *first = cuda_shares_stream(&shares, share, FAKE_PRIORITIES);
    assert_ptr_equal(cuda_shares_stream(&shares, share, 0), share->stream);
    assert_ptr_not_equal(first, share->stream);
    assert_ptr_not_equal(first, cuda_shares_stream(&shares, share, 1));
    assert_ptr_equal(cuda_shares_stream(&shares, share, 99), first);
}

static void a_device_can_be_cut(ATTR_UNUSED void **state)
{
    static const struct {
        uint32_t units;
        bool has_rest;
        uint32_t wanted;
        uint32_t count;
        uint32_t each;
    } cuts[] = {
        {16, true, 0, 1, 16}, {16, true, 1, 1, 16}, {16, true, 2, 2, 8},   {16, true, 3, 3, 5},
        {16, true, 5, 5, 3},  {16, true, 8, 8, 1},  {16, true, 99, 15, 1}, {14, false, 7, 7, 2},
        {1, false, 5, 1, 1},  {2, true, 5, 1, 2},
    };
    for (uint32_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        const struct cuda_parts parts = cuda_cut(cuts[i].units, cuts[i].has_rest, cuts[i].wanted);
        assert_int_equal(parts.count, cuts[i].count);
        assert_int_equal(parts.units, cuts[i].each);
    }
    assert_int_equal(cuda_shares_part(&shares, 0, 1), 0xffff);
    assert_int_equal(cuda_shares_part(&shares, 0, 5), 0x0007);
    assert_int_equal(cuda_shares_part(&shares, 4, 5), 0x7000);
}

/* Whatever is asked for within a part can be had if the part is idle, and nothing else of it. */
static void parts_keep_to_themselves(ATTR_UNUSED void **state)
{
    struct weft_error error;
    for (uint32_t parts = 2; parts <= 15; parts++) {
        const uint32_t all = cuda_cut(FAKE_UNITS, true, parts).units;
        for (uint32_t i = 0; i < parts; i++) {
            const uint32_t within = cuda_shares_part(&shares, i, parts);
            for (uint32_t units = 1; units <= all + 1; units++) {
                struct cuda_share *share;
                cuda_shares_close(&shares); /* There may be 64 only. */
                assert_int_equal(cuda_shares_take(&shares, within, units, &share, &error), WEFT_OK);
                assert_non_null(share);
                assert_int_equal(share->units & ~within, 0);
                cuda_shares_give(&shares, share);
            }
        }
    }
}

/* In a part of three units the first and the last make two. */
static void small_parts_leave_nothing_idle(ATTR_UNUSED void **state)
{
    struct cuda_share *held[3];
    struct weft_error error;
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(cuda_shares_take(&shares, 0x38, 1, &held[i], &error), WEFT_OK);
    }
    for (uint32_t i = 0; i < 3; i++) {
        if (held[i]->units != 0x10) {
            cuda_shares_give(&shares, held[i]);
        }
    }
    assert_int_equal(cuda_shares_take(&shares, 0x38, 2, &held[0], &error), WEFT_OK);
    assert_non_null(held[0]);
    assert_int_equal(held[0]->units, 0x28);
}

static void shares_are_not_without_end(ATTR_UNUSED void **state)
{
    uint32_t made = 0;
    for (uint32_t gap = 0; made < CUDA_SHARES_MAX && gap < FAKE_UNITS; gap++) {
        (void)take(1); /* It stays. */
        for (uint32_t units = 1; units < FAKE_UNITS - gap; units++) {
            struct cuda_share *share = take(units);
            if (share != NULL) { /* Of 2, 4 and 8 units, not everywhere. */
                assert_int_equal(share->units & shares.busy, share->units);
                cuda_shares_give(&shares, share);
            }
        }
        made = shares.share_count;
    }
    assert_int_equal(shares.share_count, CUDA_SHARES_MAX);
    shares.busy = 0;
    const uint32_t busy = take(4)->units;
    struct cuda_share *other = take(5); /* None of that kind can be made: a smaller one. */
    assert_non_null(other);
    assert_int_equal(other->units & busy, 0);
}

static void known_shares_come_before_others(ATTR_UNUSED void **state)
{
    struct cuda_share *two = take(2);
    struct cuda_share *four = take(4);
    struct cuda_share *eight = take(8);
    const uint64_t known =
        UINT64_C(1) << two->number | UINT64_C(1) << four->number | UINT64_C(1) << eight->number;
    assert_null(cuda_shares_take_known(&shares, UINT32_MAX, 4, /* least */ 1, known));
    assert_false(cuda_shares_is_free(&shares, two));
    cuda_shares_give(&shares, two);
    cuda_shares_give(&shares, eight);
    assert_ptr_equal(cuda_shares_take_known(&shares, UINT32_MAX, 4, /* least */ 4, known), eight);
    assert_null(cuda_shares_take_known(&shares, UINT32_MAX, 4, /* least */ 4, known));
    assert_ptr_equal(cuda_shares_take_known(&shares, UINT32_MAX, 4, /* least */ 1, known), two);
    cuda_shares_give(&shares, two);
    cuda_shares_give(&shares, four);
    cuda_shares_give(&shares, eight);
    assert_ptr_equal(cuda_shares_take_known(&shares, UINT32_MAX, 4, /* least */ 4, known), four);
    assert_null(cuda_shares_take_known(&shares, ~two->units, 1, /* least */ 1, 1U << two->number));
    assert_true(cuda_shares_is_free(&shares, two));
    cuda_shares_hold(&shares, two);
    assert_null(cuda_shares_take_known(&shares, UINT32_MAX, 1, /* least */ 1, 1U << two->number));
    cuda_shares_give(&shares, two);
}

static void known_streams_have_units_as_others(ATTR_UNUSED void **state)
{
    shares.are_streams = true;
    struct cuda_share *first = take(8);
    struct cuda_share *second = take(4);
    const uint64_t known = UINT64_C(1) << second->number;
    assert_null(cuda_shares_take_known(&shares, UINT32_MAX, 4, /* least */ 4, known));
    cuda_shares_give(&shares, second);
    assert_null(cuda_shares_take_known(&shares, UINT32_MAX, 9, /* least */ 1, known));
    assert_ptr_equal(cuda_shares_take_known(&shares, UINT32_MAX, 4, /* least */ 4, known), second);
    assert_int_equal(second->units, 0x0f00);
    cuda_shares_give(&shares, first);
    cuda_shares_hold(&shares, first); /* With no units: all others can be had. */
    assert_int_equal(take(12)->units, 0xf0ff);
}

static void a_device_that_cannot_be_split(ATTR_UNUSED void **state)
{
    struct weft_error error;
    cuda_shares_close(&shares);
    world.cause(FAKE_NO_SHARES, 0);
    assert_int_equal(cuda_shares_open(&world.device, &shares, &error), WEFT_OK);
    assert_int_equal(shares.unit_count, 1);
    assert_null(take(1)->green);
    world.cause(FAKE_NO_FAULT, 0);
}

static void a_lost_device_is_said(ATTR_UNUSED void **state)
{
    struct cuda_share *share;
    struct weft_error error;
    world.cause(FAKE_LOST, 0);
    assert_int_equal(cuda_shares_take(&shares, UINT32_MAX, 2, &share, &error), WEFT_LOST);
    assert_null(share);
    world.cause(FAKE_NO_FAULT, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(units_combine, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_whole_is_no_green_context, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shares_are_few, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shares_may_be_streams, set_up, tear_down),
        cmocka_unit_test_setup_teardown(streams_have_priorities, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_device_can_be_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parts_keep_to_themselves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(small_parts_leave_nothing_idle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shares_are_not_without_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(known_shares_come_before_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(known_streams_have_units_as_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_device_that_cannot_be_split, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lost_device_is_said, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
