/* Covers: src/fabric/directory.c src/fabric/directory_static.c */
#include "fabric/directory.h"

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
    struct directory *directory = directory_static_create(130, NULL, NULL);
    const struct members *members = directory_members(directory);
    assert_int_equal(members->epoch, 1);
    assert_int_equal(members->node_count, 130);
    assert_int_equal(members->up_count, 130);
    for (uint32_t node = 0; node < 130; node++) {
        assert_true(members_is_up(members, node));
        assert_true(members_is_same(members, node, 1));
        assert_true((members->up[node / 64] >> (node % 64) & 1) != 0);
    }
    directory_destroy(directory);
    directory_destroy(NULL);
}

static void a_loss_is_a_new_epoch_and_old_lists_stay(ATTR_UNUSED void **state)
{
    struct heard heard = {0};
    struct directory *directory = directory_static_create(3, hear, &heard);
    const struct members *before = directory_members(directory);
    directory_static_announce(directory, 1, /* up */ false);

    assert_int_equal(heard.count, 1);
    assert_ptr_equal(heard.members, directory_members(directory));
    assert_int_equal(heard.members->epoch, 2);
    assert_int_equal(heard.members->up_count, 2);
    assert_false(members_is_up(heard.members, 1));
    assert_true(members_is_up(heard.members, 0));
    assert_true(members_is_same(heard.members, 2, 1));
    assert_true(members_is_up(before, 1));
    directory_destroy(directory);
}

static void a_member_that_comes_back_is_a_new_one(ATTR_UNUSED void **state)
{
    struct heard heard = {0};
    struct directory *directory = directory_static_create(3, hear, &heard);
    directory_static_announce(directory, 1, /* up */ false);
    const struct members *without = directory_members(directory);
    directory_static_announce(directory, 1, /* up */ true);

    assert_int_equal(heard.count, 2);
    assert_int_equal(heard.members->epoch, 3);
    assert_int_equal(heard.members->up_count, 3);
    assert_true(members_is_up(heard.members, 1));
    assert_int_equal(heard.members->since[1], 3);
    assert_false(members_is_same(heard.members, 1, 2));
    assert_true(members_is_same(heard.members, 0, 1));
    assert_false(members_is_up(without, 1));
    directory_destroy(directory);
}

static void no_news_is_no_epoch(ATTR_UNUSED void **state)
{
    struct heard heard = {0};
    struct directory *directory = directory_static_create(2, hear, &heard);
    directory_static_announce(directory, 0, /* up */ true);
    directory_static_announce(directory, 0, /* up */ false);
    directory_static_announce(directory, 0, /* up */ false);
    assert_int_equal(heard.count, 1);
    assert_int_equal(directory_members(directory)->epoch, 2);
    directory_destroy(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everyone_is_there_from_the_first_epoch),
        cmocka_unit_test(a_loss_is_a_new_epoch_and_old_lists_stay),
        cmocka_unit_test(a_member_that_comes_back_is_a_new_one),
        cmocka_unit_test(no_news_is_no_epoch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
