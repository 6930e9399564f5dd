#include "document/trace_fields.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

static struct trace_field field(const char *text)
{
    return (struct trace_field){.at = text, .length = strlen(text)};
}

static void a_line_is_cut_at_its_commas(ATTR_UNUSED void **state)
{
    static const struct {
        const char *line;
        uint32_t count;
        const char *last;
    } cases[] = {
        {"", 1, ""},     {"a", 1, "a"}, {"a,b", 2, "b"},     {"a,,c", 3, "c"},
        {"a,b,", 3, ""}, {",,", 3, ""}, {"a,b,c,d", 4, "d"}, {"a,b,c,d,e", 4, "d"},
    };

    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct trace_field fields[TRACE_FIELDS_MAX];
        const struct trace_field line = field(cases[i].line);
        assert_int_equal(trace_field_split(&line, fields), cases[i].count);
        assert_true(trace_field_is(&fields[cases[i].count - 1], cases[i].last));
    }
}

static void a_text_is_plain_and_not_too_long(ATTR_UNUSED void **state)
{
    char long_text[300];
    char out[TRACE_FIELD_BYTES_MAX];
    const struct trace_field odd = field("a\tb\x7f\xc3\xa4~");

    trace_field_text(&odd, out);
    assert_string_equal(out, "a?b???~");
    memset(long_text, 'x', sizeof(long_text));
    const struct trace_field large = {.at = long_text, .length = sizeof(long_text)};
    trace_field_text(&large, out);
    assert_int_equal(strlen(out), TRACE_FIELD_BYTES_MAX - 1);
}

static void counts_have_digits_only(ATTR_UNUSED void **state)
{
    static const char *const bad[] = {
        "", "-1", "+1", " 1", "1 ", "1.0", "1e3", "x", "1000000000001", "99999999999999999999999"};
    uint64_t count = 0;
    const struct trace_field largest = field("1000000000000");

    assert_true(trace_field_count(&largest, &count));
    assert_int_equal(count, 1000000000000);
    for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const struct trace_field text = field(bad[i]);
        assert_false(trace_field_count(&text, &count));
    }
}

static void milliseconds_are_exact(ATTR_UNUSED void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"0", 0},
        {"12.5", 12500000},
        {"007", 7000000},
        {"0.000001", 1},
        {"3600000.000001", 3600000000001},
        {"1.123456", 1123456},
    };
    static const char *const bad[] = {"",    ".5", "1.",    "1.1234567", "-1",
                                      "1e3", "1,", "1.2.3", "0x10",      "nan"};
    int64_t ns = -1;

    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct trace_field text = field(cases[i].text);
        assert_true(trace_field_ms(&text, &ns));
        assert_int_equal(ns, cases[i].ns);
    }
    for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const struct trace_field text = field(bad[i]);
        assert_false(trace_field_ms(&text, &ns));
    }
}

static void moments_are_counted_from_1970(ATTR_UNUSED void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"1970-01-01 00:00:00", 0},
        {"1970-01-01T00:00:01Z", 1000000000},
        {"2023-11-16 18:15:46.6805900", 1700158546680590000},
        {"2024-05-10 00:00:00.009930+00:00", 1715299200009930000},
        {"2024-02-29 23:59:59.999999999", 1709251199999999999},
        {"2000-03-01 00:00:00", 951868800000000000},
    };
    static const char *const bad[] = {
        "",
        "2023-11-16",
        "2023-11-16 18:15",
        "2023-11-16 24:00:00",
        "2023-11-16 18:60:00",
        "2023-11-16 18:15:60",
        "2023-11-31 18:15:46",
        "2023-02-29 18:15:46",
        "2100-02-29 18:15:46",
        "2023-13-01 18:15:46",
        "2023-00-01 18:15:46",
        "2023-01-00 18:15:46",
        "1969-12-31 18:15:46",
        "2200-01-01 18:15:46",
        "2023-11-16 18:15:46.",
        "2023-11-16 18:15:46.1234567890",
        "2023-11-16 18:15:46+01:00",
        "2023-11-16 18:15:46 Z",
        "2023/11/16 18:15:46",
        "2023-11-16x18:15:46",
        "2o23-11-16 18:15:46",
    };
    int64_t ns = -1;

    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct trace_field text = field(cases[i].text);
        assert_true(trace_field_moment(&text, &ns));
        assert_int_equal(ns, cases[i].ns);
    }
    for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const struct trace_field text = field(bad[i]);
        assert_false(trace_field_moment(&text, &ns));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_cut_at_its_commas),
        cmocka_unit_test(a_text_is_plain_and_not_too_long),
        cmocka_unit_test(counts_have_digits_only),
        cmocka_unit_test(milliseconds_are_exact),
        cmocka_unit_test(moments_are_counted_from_1970),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
