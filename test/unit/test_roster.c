#include "fabric/roster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"

struct heard {
    uint32_t count;
    const struct members *members;
};

static void hear(void *context, const struct members *members)
{
    struct heard *heard = context;
    heard->count++;
    heard->members = members;
}

static void everyone_is_there_from_the_first_epoch(ATTR_UNUSED void **state)
{
    struct roster *roster = roster_create(130, NULL, NULL);
    const struct members *members = roster_members(roster);
    assert_int_equal(members->epoch, 1);
    assert_int_equal(members->node_count, 130);
    assert_int_equal(members->up_count, 130);
    for (uint32_t node = 0; node < 130; node++) {
        assert_true(members_is_up(members, node));
        assert_true(members_is_same(members, node, 1));
        assert_true((members->up[node / 64] >> (node % 64) & 1) != 0);
    }
    roster_destroy(roster);
    roster_destroy(NULL);
}

static void a_loss_is_a_new_epoch_and_old_lists_stay(ATTR_UNUSED void **state)
{
    struct heard heard = {0};
    struct roster *roster = roster_create(3, hear, &heard);
    const struct members *before = roster_members(roster);
    roster_announce(roster, 1, /* up */ false);

    assert_int_equal(heard.count, 1);
    assert_ptr_equal(heard.members, roster_members(roster));
    assert_int_equal(heard.members->epoch, 2);
    assert_int_equal(heard.members->up_count, 2);
    assert_false(members_is_up(heard.members, 1));
    assert_true(members_is_up(heard.members, 0));
    assert_true(members_is_same(heard.members, 2, 1));
    assert_true(members_is_up(before, 1));
    roster_destroy(roster);
}

static void a_node_that_comes_back_is_another(ATTR_UNUSED void **state)
{
    struct heard heard = {0};
    struct roster *roster = roster_create(3, hear, &heard);
    roster_announce(roster, 1, /* up */ false);
    const struct members *without = roster_members(roster);
    roster_announce(roster, 1, /* up */ true);

    assert_int_equal(heard.count, 2);
    assert_int_equal(heard.members->epoch, 3);
    assert_int_equal(heard.members->up_count, 3);
    assert_true(members_is_up(heard.members, 1));
    assert_int_equal(heard.members->since[1], 3);
    assert_false(members_is_same(heard.members, 1, 2));
    assert_true(members_is_same(heard.members, 0, 1));
    assert_false(members_is_up(without, 1));
    roster_destroy(roster);
}

static void a_later_life_is_a_loss_and_a_new_member(ATTR_UNUSED void **state)
{
    struct heard heard = {0};
    struct roster *roster = roster_create(3, hear, &heard);
    const struct members *before = roster_members(roster);
    roster_join(roster, 1, /* incarnation */ 7);
    roster_join(roster, 1, /* incarnation */ 7);

    assert_int_equal(heard.count, 1);
    assert_int_equal(heard.members->up_count, 3);
    assert_int_equal(members_incarnation(heard.members, 1), 7);
    assert_int_equal(members_incarnation(heard.members, 2), 0);
    assert_int_equal(members_incarnation(before, 1), 0);
    assert_false(members_is_same(heard.members, 1, 1));
    roster_announce(roster, 1, /* up */ false);
    assert_int_equal(members_incarnation(heard.members, 1), 7);
    roster_destroy(roster);
}

static void no_news_is_no_epoch(ATTR_UNUSED void **state)
{
    struct heard heard = {0};
    struct roster *roster = roster_create(2, hear, &heard);
    roster_announce(roster, 0, /* up */ true);
    roster_announce(roster, 0, /* up */ false);
    roster_announce(roster, 0, /* up */ false);
    assert_int_equal(heard.count, 1);
    assert_int_equal(roster_members(roster)->epoch, 2);
    roster_destroy(roster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everyone_is_there_from_the_first_epoch),
        cmocka_unit_test(a_loss_is_a_new_epoch_and_old_lists_stay),
        cmocka_unit_test(a_node_that_comes_back_is_another),
        cmocka_unit_test(a_later_life_is_a_loss_and_a_new_member),
        cmocka_unit_test(no_news_is_no_epoch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
