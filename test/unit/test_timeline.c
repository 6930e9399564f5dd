#include "runtime/timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "dies.h"

static void add(struct timeline *timeline, int64_t at_ns, uint64_t token, bool background)
{
    const struct due due = {.kind = DUE_NET, .token = token, .background = background};
    timeline_add(timeline, at_ns, &due);
}

static void what_is_due_comes_by_time_and_then_by_insertion(ATTR_UNUSED void **state)
{
    struct timeline timeline;
    timeline_init(&timeline);
    assert_int_equal(timeline_next_ns(&timeline), INT64_MAX);
    add(&timeline, 20, 0, false);
    add(&timeline, 10, 1, false);
    add(&timeline, 20, 2, false);
    add(&timeline, 10, 3, true);
    static const uint64_t order[] = {1, 3, 0, 2};
    static const int64_t times[] = {10, 10, 20, 20};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(timeline_next_ns(&timeline), times[i]);
        assert_int_equal(timeline_take(&timeline).token, order[i]);
    }
    assert_int_equal(timeline_next_ns(&timeline), INT64_MAX);
    timeline_deinit(&timeline);
}

static void what_is_added_first_comes_before_all_else_in_its_order(ATTR_UNUSED void **state)
{
    struct timeline timeline;
    const struct due first = {.kind = DUE_NET, .token = 1};
    const struct due second = {.kind = DUE_NET, .token = 2};
    timeline_init(&timeline);
    add(&timeline, 0, 3, false);
    add(&timeline, 9, 4, false);
    timeline_add_first(&timeline, &first);
    timeline_add_first(&timeline, &second);
    for (uint64_t token = 1; token <= 4; token++) {
        assert_int_equal(timeline_next_ns(&timeline), token == 4 ? 9 : 0);
        assert_int_equal(timeline_has_first(&timeline), token <= 2);
        assert_int_equal(timeline_take(&timeline).token, token);
    }
    timeline_deinit(&timeline);
}

static void what_is_early_comes_first_at_its_time(ATTR_UNUSED void **state)
{
    struct timeline timeline;
    const struct due early[] = {{.token = 1}, {.token = 2}, {.token = 4}};
    timeline_init(&timeline);
    add(&timeline, 9, 3, false);
    add(&timeline, 8, 0, false);
    timeline_add_early(&timeline, 9, &early[0]);
    timeline_add_early(&timeline, 9, &early[1]);
    timeline_add_early(&timeline, INT64_MAX - 1, &early[2]);
    for (uint64_t token = 0; token <= 4; token++) {
        const int64_t at_ns = timeline_next_ns(&timeline);
        assert_true(token == 4 ? at_ns > INT64_MAX / 4 : at_ns == (token == 0 ? 8 : 9));
        assert_int_equal(timeline_take(&timeline).token, token);
    }
    timeline_deinit(&timeline);
}

static void background_does_not_keep_it_busy(ATTR_UNUSED void **state)
{
    struct timeline timeline;
    timeline_init(&timeline);
    assert_true(timeline_is_idle(&timeline));
    add(&timeline, 5, 0, true);
    assert_true(timeline_is_idle(&timeline));
    add(&timeline, 7, 1, false);
    assert_false(timeline_is_idle(&timeline));
    assert_true(timeline_take(&timeline).background);
    assert_false(timeline_is_idle(&timeline));
    assert_false(timeline_take(&timeline).background);
    assert_true(timeline_is_idle(&timeline));
    timeline_deinit(&timeline);
}

static void many_are_kept_in_order(ATTR_UNUSED void **state)
{
    struct timeline timeline;
    timeline_init(&timeline);
    for (uint64_t i = 0; i < 10000; i++) {
        add(&timeline, (int64_t)(i % 7), i, false);
    }
    int64_t last_ns = 0;
    uint64_t last = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        const int64_t at_ns = timeline_next_ns(&timeline);
        const struct due due = timeline_take(&timeline);
        assert_int_equal(due.token % 7, at_ns);
        assert_true(at_ns > last_ns || (at_ns == last_ns && (i == 0 || due.token > last)));
        last_ns = at_ns;
        last = due.token;
    }
    timeline_deinit(&timeline);
}

static void take_one(void *timeline)
{
    (void)timeline_take(timeline);
}

static void nothing_can_be_taken_from_an_empty_one(ATTR_UNUSED void **state)
{
    struct timeline timeline;
    timeline_init(&timeline);
    assert_true(dies(take_one, &timeline));
    timeline_deinit(&timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_due_comes_by_time_and_then_by_insertion),
        cmocka_unit_test(what_is_added_first_comes_before_all_else_in_its_order),
        cmocka_unit_test(what_is_early_comes_first_at_its_time),
        cmocka_unit_test(background_does_not_keep_it_busy),
        cmocka_unit_test(many_are_kept_in_order),
        cmocka_unit_test(nothing_can_be_taken_from_an_empty_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
