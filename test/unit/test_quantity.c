#include "document/quantity.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

struct example {
    enum quantity_kind kind;
    const char *text;
    double value;
};

static const struct example good[] = {
    {QUANTITY_NUMBER, "1.5", 1.5},
    {QUANTITY_NUMBER, "-2", -2},
    {QUANTITY_NUMBER, "+2e3", 2000},
    {QUANTITY_NUMBER, "0", 0},
    {QUANTITY_COUNT, "8", 8},
    {QUANTITY_COUNT, "1e3", 1000},
    {QUANTITY_COUNT, "9007199254740992", 9007199254740992.0},
    {QUANTITY_DURATION, "300ms", 300e6},
    {QUANTITY_DURATION, "2us", 2000},
    {QUANTITY_DURATION, "1.5s", 1.5e9},
    {QUANTITY_DURATION, "10m", 600e9},
    {QUANTITY_DURATION, "1h", 3600e9},
    {QUANTITY_DURATION, "7ns", 7},
    {QUANTITY_DURATION, "0.1ms", 100e3},
    {QUANTITY_DURATION, "1.4ns", 1},
    {QUANTITY_DURATION, "0.1ns", 1}, /* Rounding must not make it "none". */
    {QUANTITY_DURATION, "0", 0},
    {QUANTITY_DURATION, "-3ms", -3e6},
    {QUANTITY_BYTES, "4096", 4096},
    {QUANTITY_BYTES, "7B", 7},
    {QUANTITY_BYTES, "60KB", 60e3},
    {QUANTITY_BYTES, "60kB", 60e3},
    {QUANTITY_BYTES, "4.9MB", 4.9e6},
    {QUANTITY_BYTES, "14GB", 14e9},
    {QUANTITY_BYTES, "14GiB", 15032385536.0},
    {QUANTITY_BYTES, "1KiB", 1024},
    {QUANTITY_BYTES, "1MiB", 1048576},
    {QUANTITY_BYTES, "2TB", 2e12},
    {QUANTITY_BYTES, "3 MB", 3e6},
    {QUANTITY_BANDWIDTH, "10.2GB/s", 10.2e9},
    {QUANTITY_BANDWIDTH, "100Gb/s", 12.5e9},
    {QUANTITY_BANDWIDTH, "8b/s", 1},
    {QUANTITY_BANDWIDTH, "1b/s", 1}, /* Not zero, which would be no limit. */
    {QUANTITY_BANDWIDTH, "0", 0},
    {QUANTITY_RATE, "2/s", 2},
    {QUANTITY_RATE, "120/m", 2},
    {QUANTITY_RATE, "36/h", 0.01},
    {QUANTITY_RATE, "2", 2},
    {QUANTITY_FRACTION, "10%", 0.1},
    {QUANTITY_FRACTION, "0.25", 0.25},
};

static void units_are_multiplied_out(ATTR_UNUSED void **state)
{
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        double value = -1;
        if (!quantity_parse(good[i].kind, good[i].text, &value)) {
            fail_msg("'%s' is not read", good[i].text);
        }
        if (value != good[i].value) {
            fail_msg("'%s' is %.17g, not %.17g", good[i].text, value, good[i].value);
        }
    }
}

static const struct example bad[] = {
    {QUANTITY_NUMBER, "", 0},
    {QUANTITY_NUMBER, "nan", 0},
    {QUANTITY_NUMBER, "inf", 0},
    {QUANTITY_NUMBER, "0x10", 0},
    {QUANTITY_NUMBER, "1.", 0},
    {QUANTITY_NUMBER, ".5", 0},
    {QUANTITY_NUMBER, "1e", 0},
    {QUANTITY_NUMBER, "1 2", 0},
    {QUANTITY_NUMBER, " 1", 0},
    {QUANTITY_NUMBER, "1,5", 0},
    {QUANTITY_NUMBER, "--1", 0},
    {QUANTITY_NUMBER, "-", 0},
    {QUANTITY_COUNT, "2.5", 0},
    {QUANTITY_COUNT, "2 items", 0},
    {QUANTITY_DURATION, "300", 0},
    {QUANTITY_DURATION, "300MS", 0},
    {QUANTITY_DURATION, "ms", 0},
    {QUANTITY_DURATION, "300ms!", 0},
    {QUANTITY_BYTES, "14gb", 0},
    {QUANTITY_BYTES, "14GB/s", 0},
    {QUANTITY_BYTES, "14Gb", 0},
    {QUANTITY_BANDWIDTH, "10", 0},
    {QUANTITY_BANDWIDTH, "10GB", 0},
    {QUANTITY_RATE, "2s", 0},
    {QUANTITY_RATE, "2/", 0},
    {QUANTITY_RATE, "/s", 0},
    {QUANTITY_FRACTION, "10 percent", 0},
    {QUANTITY_FRACTION, "%", 0},
};

static void other_forms_are_refused(ATTR_UNUSED void **state)
{
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        double value = -1;
        if (quantity_parse(bad[i].kind, bad[i].text, &value)) {
            fail_msg("'%s' is read as %g", bad[i].text, value);
        }
        assert_true(value == -1);
    }
}

static void too_large_a_number_is_infinite(ATTR_UNUSED void **state)
{
    double value = 0;

    assert_true(quantity_parse(QUANTITY_DURATION, "1e999s", &value));
    assert_true(isinf(value));
    assert_true(quantity_parse(QUANTITY_BYTES, "1e305GB", &value));
    assert_true(isinf(value));
}

struct written {
    enum quantity_kind kind;
    double value;
    const char *text;
};

static void values_are_written_in_the_largest_unit_that_fits(ATTR_UNUSED void **state)
{
    static const struct written written[] = {
        {QUANTITY_DURATION, 90e9, "90s"},
        {QUANTITY_DURATION, 1500e6, "1500ms"},
        {QUANTITY_DURATION, 0, "0ns"},
        {QUANTITY_BYTES, 3e9, "3GB"},
        {QUANTITY_BYTES, 1024, "1024"},
        {QUANTITY_BYTES, 0, "0"},
        {QUANTITY_BANDWIDTH, 10200e6, "10200MB/s"},
        {QUANTITY_BANDWIDTH, 0, "0B/s"},
        {QUANTITY_COUNT, 0x1p53, "9007199254740992"},
        {QUANTITY_COUNT, -1, "-1"},
        {QUANTITY_NUMBER, 0.1 + 0.2, "0.30000000000000004"},
        {QUANTITY_FRACTION, 0.25, "0.25"},
        {QUANTITY_RATE, 1e-5, "1e-05/s"},
        {QUANTITY_RATE, 2, "2/s"},
    };
    for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++) {
        char text[QUANTITY_TEXT_BYTES];
        double value = -1;
        quantity_text(written[i].kind, written[i].value, text);
        assert_string_equal(text, written[i].text);
        assert_true(quantity_parse(written[i].kind, text, &value));
        assert_true(value == written[i].value);
    }
}

static void every_example_is_of_its_own_kind(ATTR_UNUSED void **state)
{
    for (uint32_t kind = QUANTITY_NUMBER; kind <= QUANTITY_FRACTION; kind++) {
        char text[64];
        double value = 0;
        const char *quote = strchr(quantity_example((enum quantity_kind)kind), '\'');
        assert_non_null(quote);
        const size_t length = strcspn(quote + 1, "'");
        memcpy(text, quote + 1, length);
        text[length] = '\0';
        assert_true(quantity_parse((enum quantity_kind)kind, text, &value));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_multiplied_out),
        cmocka_unit_test(other_forms_are_refused),
        cmocka_unit_test(too_large_a_number_is_infinite),
        cmocka_unit_test(values_are_written_in_the_largest_unit_that_fits),
        cmocka_unit_test(every_example_is_of_its_own_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
