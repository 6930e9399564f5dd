#include "base/text.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dies.h"

static void pieces_are_joined(ATTR_UNUSED void **state)
{
    char bytes[32];
    struct text text;

    text_init(&text, bytes, sizeof(bytes));
    assert_string_equal(text.bytes, "");
    text_add(&text, "task %d", 7);
    text_add(&text, "%s", "");
    text_add(&text, " -> %s", "worker");

    assert_string_equal(text.bytes, "task 7 -> worker");
    assert_int_equal(text.length, strlen("task 7 -> worker"));
    assert_false(text.cut);
}

static void what_exactly_fits_is_not_cut(ATTR_UNUSED void **state)
{
    char bytes[6];
    struct text text;

    text_init(&text, bytes, sizeof(bytes));
    text_add(&text, "abcde");
    assert_false(text.cut);
    text_add(&text, "%s", "");
    assert_false(text.cut);
    assert_int_equal(text.length, 5);
}

static void what_does_not_fit_is_cut_and_nothing_follows_it(ATTR_UNUSED void **state)
{
    char bytes[9] = "........";
    struct text text;

    text_init(&text, bytes, 6);
    text_add(&text, "abc");
    text_add(&text, "defgh");
    assert_true(text.cut);
    assert_string_equal(text.bytes, "abcde");
    assert_int_equal(text.length, 5);
    text_add(&text, "i");
    text_add(&text, "%s", ""); /* Fits, but does not mend the cut. */
    assert_true(text.cut);
    assert_string_equal(text.bytes, "abcde");
    assert_string_equal(bytes + 6, ".."); /* Nothing is written past the end. */

    text_init(&text, bytes, 1);
    text_add(&text, "a");
    assert_true(text.cut);
    assert_string_equal(bytes, "");
}

static void what_is_put_is_as_if_it_were_added(ATTR_UNUSED void **state)
{
    static const uint64_t numbers[] = {0, 9, 10, 1234567890, UINT64_MAX};
    for (size_t room = 1; room < 80; room++) {
        char added_bytes[80];
        char put_bytes[80];
        struct text added;
        struct text put;
        text_init(&added, added_bytes, room);
        text_init(&put, put_bytes, room);
        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
            text_add(&added, "%s%" PRIu64, i == 0 ? "" : ", ", numbers[i]);
            text_put(&put, i == 0 ? "" : ", ");
            text_put_number(&put, numbers[i]);
        }
        assert_string_equal(put.bytes, added.bytes);
        assert_int_equal(put.length, added.length);
        assert_int_equal(put.cut, added.cut);
    }
}

static void durations_use_the_largest_fitting_unit(ATTR_UNUSED void **state)
{
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {
        {0, "0ns"},
        {1, "1ns"},
        {999, "999ns"},
        {1000, "1us"},
        {1005, "1.005us"},
        {20000, "20us"},
        {1500000, "1.5ms"},
        {1050000, "1.05ms"},
        {1234567, "1.235ms"},
        {1234499, "1.234ms"},
        {999999, "999.999us"},
        {999999499, "999.999ms"},
        {999999500, "1s"},
        {3250000000, "3.25s"},
        {59999999999, "60s"},
        {3600000000000, "3600s"},
        {INT64_MAX, "9223372036.855s"},
        {-1500000, "-1.5ms"},
        {INT64_MIN, "-9223372036.855s"},
    };
    char out[TEXT_SCALED_BYTES];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_ptr_equal(text_duration(out, rows[i].ns), out);
        assert_string_equal(out, rows[i].text);
    }
}

static void sizes_go_by_1024(ATTR_UNUSED void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {
        {0, "0B"},
        {1023, "1023B"},
        {1024, "1KiB"},
        {1536, "1.5KiB"},
        {(UINT64_C(1) << 20) - 1, "1023.999KiB"},
        {(UINT64_C(1) << 30) - 1, "1GiB"},
        {UINT64_C(24) << 30, "24GiB"},
        {UINT64_C(3) << 39, "1.5TiB"},
        {UINT64_MAX, "16777216TiB"},
    };
    char out[TEXT_SCALED_BYTES];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_string_equal(text_bytes(out, rows[i].bytes), rows[i].text);
    }
}

static void bytes_are_two_digits_each(ATTR_UNUSED void **state)
{
    char out[9] = "xxxxxxxx";

    text_hex(out, (const uint8_t[]){0x00, 0x9a, 0xf5, 0x0b}, 4);
    assert_string_equal(out, "009af50b");
    text_hex(out, NULL, 0);
    assert_string_equal(out, "");
}

static void init_without_room(void *argument)
{
    struct text text;
    text_init(&text, argument, 0);
}

static void a_text_needs_room_for_its_end(ATTR_UNUSED void **state)
{
    char byte = 'x';
    assert_true(dies(init_without_room, &byte));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_joined),
        cmocka_unit_test(what_exactly_fits_is_not_cut),
        cmocka_unit_test(what_does_not_fit_is_cut_and_nothing_follows_it),
        cmocka_unit_test(what_is_put_is_as_if_it_were_added),
        cmocka_unit_test(durations_use_the_largest_fitting_unit),
        cmocka_unit_test(sizes_go_by_1024),
        cmocka_unit_test(bytes_are_two_digits_each),
        cmocka_unit_test(a_text_needs_room_for_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
