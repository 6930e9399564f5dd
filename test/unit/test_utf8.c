/* Characters of UTF-8, and texts that are made plain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/utf8.h"

static void expect_plain(const char *text, const char *plain, size_t capacity)
{
    char out[64];
    memset(out, 'x', sizeof(out));
    assert_int_equal(utf8_write_plain(text, out, capacity), strlen(plain));
    assert_string_equal(out, plain);
    assert_true(utf8_is_plain(out, strlen(out)));
}

static void characters_are_the_shortest_and_no_surrogates(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        uint32_t count;
    } cases[] = {
        {"a", 1},        {"\xc3\xa9", 2},     {"\xe2\x82\xac", 3}, {"\xf0\x9f\x98\x80", 4},
        {"\xc1\xbf", 0}, {"\xe0\x9f\xbf", 0}, {"\xed\xa0\x80", 0}, {"\xf4\x90\x80\x80", 0},
        {"\x80", 0},     {"\xc3", 0},         {"\xff", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const uint8_t *at = (const uint8_t *)cases[i].bytes;
        assert_int_equal(utf8_bytes(at, strlen(cases[i].bytes)), cases[i].count);
    }
    assert_true(utf8_is_cut((const uint8_t *)"\xe2\x82", 2));
    assert_false(utf8_is_cut((const uint8_t *)"\xe2z", 2));
}

static void control_characters_are_not_plain(void **state)
{
    (void)state;
    assert_true(utf8_is_plain("caf\xc3\xa9", 5));
    assert_true(utf8_is_plain("", 0));
    assert_false(utf8_is_plain("a\nb", 3));
    assert_false(utf8_is_plain("a\0b", 3));
    assert_false(utf8_is_plain("\x7f", 1));
    assert_false(utf8_is_plain("\xc2\x85", 2)); /* U+0085 */
    assert_false(utf8_is_plain("caf\xc3", 4));
}

static void what_is_not_plain_becomes_question_marks(void **state)
{
    (void)state;
    expect_plain("a\tb\x1b[0m", "a?b?[0m", 64);
    expect_plain("\xffz\xc2\x85", "?z?", 64);
    expect_plain("caf\xc3\xa9", "caf\xc3\xa9", 64);
    expect_plain("", "", 1);
}

static void no_character_is_cut_in_two(void **state)
{
    (void)state;
    expect_plain("caf\xc3\xa9", "caf", 5);
    expect_plain("caf\xc3\xa9", "caf\xc3\xa9", 6);
    expect_plain("caf\xc3", "caf", 64); /* As another bound has left it. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_are_the_shortest_and_no_surrogates),
        cmocka_unit_test(control_characters_are_not_plain),
        cmocka_unit_test(what_is_not_plain_becomes_question_marks),
        cmocka_unit_test(no_character_is_cut_in_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
