/* Covers: src/protocol/json_data.c src/protocol/json_text.c src/protocol/buffer.c
 * src/engine/half.c
 */
#include "protocol/json_data.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"
#include "engine/half.h"
#include "protocol/buffer.h"
#include "protocol/json_text.h"

static uint8_t room[4096];
static struct weft_error error;

/* Read @text as a tensor of @dtype and shape [rows, columns], or [rows] without columns. */
static bool read_as(enum weft_dtype dtype, const char *text, int64_t rows, int64_t columns)
{
    struct weft_tensor tensor = {
        .name = "x", .dtype = dtype, .rank = columns < 0 ? 1 : 2, .shape = {rows, columns}};
    tensor.data = room;
    error.message[0] = '\0';
    return json_data_read(text, strlen(text), &tensor, &error) == WEFT_OK;
}

static void whole_numbers_keep_to_their_range(ATTR_UNUSED void **state)
{
    static const struct {
        enum weft_dtype dtype;
        const char *good;
        const char *bad;
    } cases[] = {
        {WEFT_UINT8, "[0,255]", "[0,256]"},
        {WEFT_INT8, "[-128,127]", "[-129,0]"},
        {WEFT_UINT16, "[0,65535]", "[-1,0]"},
        {WEFT_INT16, "[-32768,32767]", "[32768,0]"},
        {WEFT_UINT32, "[0,4294967295]", "[4294967296,0]"},
        {WEFT_INT32, "[-2147483648,2147483647]", "[2147483648,0]"},
        {WEFT_UINT64, "[0,18446744073709551615]", "[0,18446744073709551616]"},
        {WEFT_INT64, "[-9223372036854775808,9223372036854775807]", "[9223372036854775808,0]"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(read_as(cases[i].dtype, cases[i].good, 2, -1));
        assert_false(read_as(cases[i].dtype, cases[i].bad, 2, -1));
        assert_non_null(strstr(error.message, "out of range"));
    }
    assert_true(read_as(WEFT_INT64, "[-9223372036854775808]", 1, -1));
    int64_t value;
    memcpy(&value, room, sizeof(value));
    assert_true(value == INT64_MIN);
    assert_false(read_as(WEFT_INT32, "[1.0]", 1, -1));
    assert_non_null(strstr(error.message, "element 0 of its data is not a whole number (INT32)"));
}

/* The library agrees with us about every number. */
static void floats_are_read_as_exactly_as_by_strtod(ATTR_UNUSED void **state)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "1e0",
        "1.5",
        "-2.25e3",
        "1E+2",
        "123456789012345678901",
        "1e-400",
        "1e400",
        "0.1",
        "5e-324",
        "9007199254740993",
        "1e22",
        "1e23",
        "0.30000000000000004",
        "2.2250738585072014e-308",
        "179769313486231580793e289",
        "1e-7"};
    struct rng rng = rng_from_seed(7);
    for (uint32_t i = 0; i < 20000; i++) {
        char text[64];
        if (i < sizeof(texts) / sizeof(texts[0])) {
            (void)snprintf(text, sizeof(text), "[%s]", texts[i]);
        } else {
            uint64_t bits = rng_next(&rng);
            double random;
            memcpy(&random, &bits, sizeof(random));
            random = isfinite(random) ? random : 1;
            const int digits = (int)rng_below(&rng, 18);
            (void)snprintf(text, sizeof(text), i % 2 == 0 ? "[%.*e]" : "[%.*g]", digits, random);
            if (i % 4 == 3) {
                (void)snprintf(text, sizeof(text), "[%.*f]", digits % 9, fmod(random, 1e9));
            }
        }
        double value;
        const double expected = strtod(text + 1, NULL);
        assert_int_equal(read_as(WEFT_FP64, text, 1, -1), isfinite(expected));
        memcpy(&value, room, sizeof(value));
        if (isfinite(expected) && memcmp(&value, &expected, sizeof(value)) != 0) {
            fail_msg("%s: %.17g", text, value);
        }
    }
}

static void halves_round_to_the_nearest_even(ATTR_UNUSED void **state)
{
    for (uint32_t half = 0; half < 0x10000; half++) {
        const double value = half_to_double((uint16_t)half);
        if (!isnan(value)) {
            assert_int_equal(half_from_double(value), half);
        }
    }
    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        const double value = bf16_to_double((uint16_t)bits);
        if (!isnan(value)) {
            assert_int_equal(bf16_from_double(value), bits);
        }
    }
    assert_int_equal(bf16_from_double(1.0 + 0x1p-8), 0x3f80); /* A tie, down to even, */
    assert_int_equal(bf16_from_double(1.0 + 0x3p-8), 0x3f82); /* and up. */
    assert_int_equal(bf16_from_double(0x1.fefp+127), 0x7f7f);
    assert_int_equal(bf16_from_double(0x1.ffp+127), 0x7f80);
    assert_int_equal(half_from_double(1.0), 0x3c00);
    assert_int_equal(half_from_double(1.0 + 0x1p-11), 0x3c00); /* A tie, down to even, */
    assert_int_equal(half_from_double(1.0 + 0x3p-11), 0x3c02); /* and up. */
    assert_int_equal(half_from_double(65519.9), 0x7bff);
    assert_int_equal(half_from_double(65520.0), 0x7c00);
    assert_int_equal(half_from_double(0x1p-25), 0);
    assert_int_equal(half_from_double(0x1.8p-25), 1);
    assert_true(read_as(WEFT_FP16, "[1.5]", 1, -1));
    assert_int_equal(room[1], 0x3e);
}

static void what_a_type_cannot_hold_is_refused(ATTR_UNUSED void **state)
{
    static const struct {
        enum weft_dtype dtype;
        const char *good;
        const char *bad;
    } cases[] = {
        {WEFT_FP16, "[1,65519.9]", "[1,65520]"},
        {WEFT_FP16, "[1,-65504]", "[1,-70000]"},
        {WEFT_FP32, "[1,3.4028235e38]", "[1,1e39]"},
        {WEFT_FP32, "[1,3.40282356779733e38]", "[1,3.4028235677973366e38]"},
        {WEFT_FP32, "[1,-1e38]", "[1,-1e39]"},
        {WEFT_FP64, "[1,1.7976931348623157e308]", "[1,1e309]"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (!read_as(cases[i].dtype, cases[i].good, 2, -1)) {
            fail_msg("case %zu: %s", i, error.message);
        }
        assert_false(read_as(cases[i].dtype, cases[i].bad, 2, -1));
        assert_non_null(strstr(error.message, "element 1 of its data is out of range"));
    }
}

static void data_may_be_nested_or_flat_but_not_both(ATTR_UNUSED void **state)
{
    static const struct {
        const char *text;
        const char *cause; /* NULL: good. */
    } cases[] = {
        {"[1,2,3,4,5,6]", NULL},
        {" [ [1,2,3] , [4,5,6] ] ", "not an array"}, /* The cutter leaves no blanks. */
        {"[ [1,2,3] ,\n[4,5,6]\t]", NULL},
        {"[[1,2],[3,4],[5,6]]", "another length"},
        {"[[1,2,3],[4,5]]", "another length"},
        {"[[1,2,3],4,5,6]", "mixes"},
        {"[1,2,3,[4,5,6]]", "mixes"},
        {"[[[1,2,3],[4,5,6]]]", "deeper"},
        {"[1,2,3,4,5]", "5 elements, its shape 6"},
        {"[1,2,3,4,5,6,7]", "one too many"},
        {"[1,2,3,,5,6]", "is not a number"},
        {"[1,2,3,4,5,6,]", "one too many"},
        {"[1,2,3 4,5,6]", "followed by neither"},
        {"[01,2,3,4,5,6]", "begins with 0"},
        {"[1.,2,3,4,5,6]", "no digit behind"},
        {"[1e,2,3,4,5,6]", "no digit in its exponent"},
        {"[NaN,2,3,4,5,6]", "is not a number"},
        {"[\"1\",2,3,4,5,6]", "is not a number"},
        {"[1,2,3,4,5,6]]", "is wrong"},
        {"[1,2", "followed by neither"},
        {"[", "is not a number"},
        {"", "not an array"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const bool is_good = read_as(WEFT_FP32, cases[i].text, 2, 3);
        if (is_good != (cases[i].cause == NULL) ||
            (!is_good && strstr(error.message, cases[i].cause) == NULL)) {
            fail_msg("case %zu: %s", i, error.message);
        }
    }
    assert_true(read_as(WEFT_FP32, "[]", 0, -1));
    assert_true(read_as(WEFT_BOOL, "[true,false,1,0]", 4, -1));
    assert_memory_equal(room, "\1\0\1\0", 4);
    assert_false(read_as(WEFT_BOOL, "[2]", 1, -1));
}

static void texts_are_decoded(ATTR_UNUSED void **state)
{
    static const char text[] = "[\"a\\n\\u00e4\", \"\", \"\\ud83d\\ude00]\"]";
    uint64_t bytes;
    assert_int_equal(json_texts_bytes(text, sizeof(text) - 1, &bytes, NULL), WEFT_OK);
    assert_int_equal(bytes, 3 * 4 + 4 + 0 + 5);
    assert_true(read_as(WEFT_BYTES, text, 3, -1));
    assert_memory_equal(room, "\4\0\0\0a\n\xc3\xa4\0\0\0\0\5\0\0\0\xf0\x9f\x98\x80]", bytes);
    static const char *const wrong[] = {
        "[\"a]",      "[\"\\x\"]",      "[\"\\ud800\"]",      "[\"\\udc00\"]", "[\"\n\"]",
        "[\"\xff\"]", "[\"\xc0\x80\"]", "[\"\xed\xa0\x80\"]", "[\"\\u12\"]",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(
            json_texts_bytes(wrong[i], strlen(wrong[i]), &bytes, &error), WEFT_INVALID);
    }
    assert_false(read_as(WEFT_BYTES, "[1]", 1, -1));
}

static void texts_are_quoted(ATTR_UNUSED void **state)
{
    struct buffer buffer = {.length = 0};
    assert_true(buffer_add_quoted(&buffer, "a\"\\\n\xff\xc3\xa4"));
    assert_int_equal(buffer.length, 2 + 1 + 2 + 2 + 6 + 3 + 2);
    assert_memory_equal(buffer.bytes, "\"a\\\"\\\\\\u000a\xef\xbf\xbd\xc3\xa4\"", buffer.length);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(buffer_add(&buffer, "%0300u", i));
    }
    assert_int_equal(buffer.length, 18 + 300000);
    free(buffer.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_keep_to_their_range),
        cmocka_unit_test(floats_are_read_as_exactly_as_by_strtod),
        cmocka_unit_test(halves_round_to_the_nearest_even),
        cmocka_unit_test(what_a_type_cannot_hold_is_refused),
        cmocka_unit_test(data_may_be_nested_or_flat_but_not_both),
        cmocka_unit_test(texts_are_decoded),
        cmocka_unit_test(texts_are_quoted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
