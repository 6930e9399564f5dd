#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/assert.h"
#include "dies.h"

static void every_status_has_a_text_of_its_own(ATTR_UNUSED void **state)
{
    static const enum weft_status all[] = {
#define X(name, value, text) name,
        WEFT_STATUS_MAP(X)
#undef X
    };
    const size_t count = sizeof(all) / sizeof(all[0]);

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(weft_status_text(all[i]), weft_status_text(all[j]));
        }
    }
    assert_string_equal(weft_status_text(WEFT_OK), "success");
    assert_string_equal(weft_status_text(WEFT_REFUSED), "refused");
    assert_string_equal(weft_status_text((enum weft_status) - 1000), "unknown status");
}

static void success_is_zero_and_failures_are_negative(ATTR_UNUSED void **state)
{
    assert_int_equal(WEFT_OK, 0);
#define X(name, value, text) assert_true((name) <= 0);
    WEFT_STATUS_MAP(X)
#undef X
}

static void setting_an_error_keeps_the_message_and_returns_the_status(ATTR_UNUSED void **state)
{
    struct weft_error error = {0};

    assert_int_equal(error_set(&error, WEFT_IO, "%s:%d: cut short", "a.yaml", 7), WEFT_IO);

    assert_int_equal(error.status, WEFT_IO);
    assert_string_equal(error.message, "a.yaml:7: cut short");
}

static void a_long_message_is_cut_and_terminated(ATTR_UNUSED void **state)
{
    struct weft_error error = {0};

    assert_int_equal(error_set(&error, WEFT_INVALID, "%0500d", 1), WEFT_INVALID);

    assert_int_equal(strlen(error.message), sizeof(error.message) - 1);
}

static void the_message_does_not_have_to_be_wanted(ATTR_UNUSED void **state)
{
    assert_int_equal(error_set(NULL, WEFT_LIMIT, "unread %d", 1), WEFT_LIMIT);
}

static void set_success(void *argument)
{
    (void)error_set(argument, WEFT_OK, "no failure"); /* Must not return. */
}

static void assert_on(void *argument)
{
    ASSERT(argument == NULL);
}

static void a_false_assertion_stops_the_program_and_a_true_one_does_not(ATTR_UNUSED void **state)
{
    int something = 0;

    assert_true(dies(assert_on, &something));
    assert_false(dies(assert_on, NULL));
    assert_true(dies(set_success, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_text_of_its_own),
        cmocka_unit_test(success_is_zero_and_failures_are_negative),
        cmocka_unit_test(setting_an_error_keeps_the_message_and_returns_the_status),
        cmocka_unit_test(a_long_message_is_cut_and_terminated),
        cmocka_unit_test(the_message_does_not_have_to_be_wanted),
        cmocka_unit_test(a_false_assertion_stops_the_program_and_a_true_one_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
