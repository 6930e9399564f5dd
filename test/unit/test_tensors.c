#include "runtime/tensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "dies.h"

static void note_free(void *contents)
{
    ++*(uint32_t *)contents;
}

static void contents_go_with_the_last_handle(ATTR_UNUSED void **state)
{
    struct tensors tensors;
    uint32_t freed = 0;
    uint64_t bytes;
    tensors_init(&tensors);
    const struct handle first = tensors_add(&tensors, /* holder */ 0, &freed, 4, note_free);
    const struct handle second = tensors_share(&tensors, first, /* holder */ 1);

    assert_int_not_equal(first.id, 0);
    assert_int_not_equal(first.id, second.id);
    assert_ptr_equal(tensors_contents(&tensors, first, &bytes), &freed);
    assert_ptr_equal(tensors_contents(&tensors, second, &bytes), &freed); /* Nothing is copied. */
    assert_int_equal(bytes, 4);
    assert_int_equal(tensors_count(&tensors), 2);
    tensors_release(&tensors, first);
    assert_int_equal(freed, 0);
    tensors_release(&tensors, second);
    assert_int_equal(freed, 1);
    assert_int_equal(tensors_count(&tensors), 0);
    tensors_deinit(&tensors);
}

static void pretended_contents_have_a_size_and_nothing_else(ATTR_UNUSED void **state)
{
    struct tensors tensors;
    uint64_t bytes;
    tensors_init(&tensors);
    const struct handle handle = tensors_add(&tensors, 0, NULL, 99, note_free);
    assert_null(tensors_contents(&tensors, handle, &bytes));
    assert_int_equal(bytes, 99);
    tensors_release(&tensors, handle);
    tensors_deinit(&tensors);
}

static void what_a_lost_holder_held_is_released(ATTR_UNUSED void **state)
{
    struct tensors tensors;
    uint32_t freed = 0;
    tensors_init(&tensors);
    const struct handle kept = tensors_add(&tensors, /* holder */ 1, &freed, 4, note_free);
    const struct handle passed = tensors_add(&tensors, /* holder */ 2, &freed, 4, note_free);
    for (uint32_t i = 0; i < 100; i++) {
        (void)tensors_add(&tensors, /* holder */ 2, &freed, 4, note_free);
    }
    tensors_pass(&tensors, passed, NODE_HOST);
    tensors_forget(&tensors, 2);
    assert_int_equal(freed, 100);
    assert_int_equal(tensors_count(&tensors), 2);
    tensors_release(&tensors, kept);
    tensors_release(&tensors, passed);
    tensors_deinit(&tensors);
}

struct released {
    struct tensors tensors;
    struct handle handle;
};

static void release_again(void *argument)
{
    struct released *released = argument;
    tensors_release(&released->tensors, released->handle);
}

static void a_handle_is_released_once(ATTR_UNUSED void **state)
{
    struct released released;
    tensors_init(&released.tensors);
    released.handle = tensors_add(&released.tensors, 0, NULL, 1, NULL);
    tensors_release(&released.tensors, released.handle);
    const struct handle next = tensors_add(&released.tensors, 0, NULL, 1, NULL);
    assert_true(dies(release_again, &released)); /* Though the slot is in use again. */
    tensors_release(&released.tensors, next);
    tensors_deinit(&released.tensors);
}

static void end_early(void *tensors)
{
    tensors_deinit(tensors);
}

static void nothing_is_live_at_the_end(ATTR_UNUSED void **state)
{
    struct tensors tensors;
    tensors_init(&tensors);
    const struct handle handle = tensors_add(&tensors, 0, NULL, 1, NULL);
    assert_true(dies(end_early, &tensors));
    tensors_release(&tensors, handle);
    tensors_deinit(&tensors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents_go_with_the_last_handle),
        cmocka_unit_test(pretended_contents_have_a_size_and_nothing_else),
        cmocka_unit_test(what_a_lost_holder_held_is_released),
        cmocka_unit_test(a_handle_is_released_once),
        cmocka_unit_test(nothing_is_live_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
