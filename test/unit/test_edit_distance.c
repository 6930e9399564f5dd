/* Covers: src/service/edit_distance.c. */
#include "service/edit_distance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"

static void letters_count_and_nothing_else(ATTR_UNUSED void **state)
{
    static const struct {
        const char *text;
        const char *expected;
        uint64_t edits;
        uint64_t length;
    } cases[] = {
        {"", "", 0, 0},
        {"abc", "", 3, 0},
        {"", "abc", 3, 3},
        {"Total amount: 1,234.56", "totalamount 123456", 0, 17},
        {"kitten", "sitting", 3, 7},
        {"abcd", "acbd", 2, 4},
        {"aXbXc", "abc", 2, 3},
        {"48.oo", "48.00", 2, 4},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct edit_distance distance =
            edit_distance_letters(cases[i].text, cases[i].expected);
        assert_int_equal(distance.edits, cases[i].edits);
        assert_int_equal(distance.length, cases[i].length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_count_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
