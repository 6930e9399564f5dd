#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/numbers.h"
#include "base/units.h"

struct person {
    uint32_t number;
    struct list_link link;
};

struct seat {
    uint32_t number;
    struct slot_link link;
};

/* The people of @list, read in both directions, are @numbers. */
static void expect_people(const struct list *list, const uint32_t *numbers, uint32_t count)
{
    struct list_link *link = list->first;
    for (uint32_t i = 0; i < count; i++) {
        assert_non_null(link);
        assert_int_equal(LIST_ITEM(link, struct person, link)->number, numbers[i]);
        link = link->next;
    }
    assert_null(link);
    link = list->last;
    for (uint32_t i = count; i > 0; i--) {
        assert_non_null(link);
        assert_int_equal(LIST_ITEM(link, struct person, link)->number, numbers[i - 1]);
        link = link->previous;
    }
    assert_null(link);
}

static void objects_are_listed_in_front_and_leave_from_anywhere(ATTR_UNUSED void **state)
{
    struct person people[] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
    struct list list = {0};
    expect_people(&list, NULL, 0);

    for (uint32_t i = ARRAY_COUNT(people); i > 0; i--) {
        list_push_front(&list, &people[i - 1].link);
    }
    expect_people(&list, (const uint32_t[]){0, 1, 2, 3}, ARRAY_COUNT(people));

    list_remove(&list, &people[2].link);
    expect_people(&list, (const uint32_t[]){0, 1, 3}, 3);
    list_remove(&list, &people[0].link);
    list_remove(&list, &people[3].link);
    expect_people(&list, (const uint32_t[]){1}, 1);
    list_remove(&list, &people[1].link);
    expect_people(&list, NULL, 0);

    list_push_front(&list, &people[2].link);
    expect_people(&list, (const uint32_t[]){2}, 1);
}

static void expect_slots(
    const struct slot_list *list, struct slot_links links, const uint32_t *slots, uint32_t count)
{
    uint32_t slot = list->first;
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(slot, slots[i]);
        slot = slot_link_at(links, slot)->next;
    }
    assert_int_equal(slot, POOL_NONE);
    slot = list->last;
    for (uint32_t i = count; i > 0; i--) {
        assert_int_equal(slot, slots[i - 1]);
        slot = slot_link_at(links, slot)->previous;
    }
    assert_int_equal(slot, POOL_NONE);
}

static void slots_are_listed_behind_others_and_survive_growth(ATTR_UNUSED void **state)
{
    struct pool pool;
    struct slot_list list;
    const struct slot_links links = {.pool = &pool, .offset = offsetof(struct seat, link)};
    pool_init(&pool, sizeof(struct seat), /* capacity */ 4, /* capacity_max */ 1000);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(pool_take(&pool), i);
    }
    slot_list_init(&list);
    expect_slots(&list, links, NULL, 0);

    slot_list_insert(&list, links, POOL_NONE, 1);
    slot_list_insert(&list, links, list.last, 3);
    slot_list_insert(&list, links, POOL_NONE, 0);
    slot_list_insert(&list, links, /* before */ 1, 2);
    assert_true(pool_reserve(&pool, 900));
    expect_slots(&list, links, (const uint32_t[]){0, 1, 2, 3}, 4);

    slot_list_remove(&list, links, 1);
    expect_slots(&list, links, (const uint32_t[]){0, 2, 3}, 3);
    slot_list_remove(&list, links, 3);
    slot_list_remove(&list, links, 0);
    expect_slots(&list, links, (const uint32_t[]){2}, 1);
    slot_list_remove(&list, links, 2);
    expect_slots(&list, links, NULL, 0);
    pool_deinit(&pool);
}

static void the_smaller_and_the_larger_of_two_numbers(ATTR_UNUSED void **state)
{
    assert_int_equal(min_u32(3, UINT32_MAX), 3);
    assert_int_equal(max_u32(3, UINT32_MAX), UINT32_MAX);
    assert_true(min_u64(UINT64_MAX, 7) == 7);
    assert_true(max_u64(UINT64_MAX, 7) == UINT64_MAX);
    assert_true(min_i64(-1, 1) == -1);
    assert_true(max_i64(-1, INT64_MIN) == -1);
    assert_true(min_size(2, 2) == 2);
    assert_true(max_size(1, 2) == 2);
    assert_true(min_double(-0.5, 0.5) < 0);
    assert_true(max_double(-0.5, 0.5) > 0);
    assert_true(NS_PER_S == 1000 * NS_PER_MS);
    assert_true(NS_PER_MS == 1000 * NS_PER_US);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_listed_in_front_and_leave_from_anywhere),
        cmocka_unit_test(slots_are_listed_behind_others_and_survive_growth),
        cmocka_unit_test(the_smaller_and_the_larger_of_two_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
