/* Covers: src/lab/option_list.c, src/base/suggest.c */
#include "lab/option_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/suggest.h"

/* The parts of @split with bars between them. */
static void expect_parts(struct option_list *list, const char *expected)
{
    char text[512] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        length += (size_t)snprintf(
            text + length, sizeof(text) - length, "%s%s", i == 0 ? "" : "|", list->parts[i]);
    }
    assert_string_equal(text, expected);
    option_list_deinit(list);
}

static void commas_separate(ATTR_UNUSED void **state)
{
    struct option_list list;
    assert_int_equal(option_list_commas("1,2, 4 ,8/s", &list, NULL), WEFT_OK);
    expect_parts(&list, "1|2|4|8/s");
    assert_int_equal(option_list_commas("1", &list, NULL), WEFT_OK);
    expect_parts(&list, "1");
}

static void ranges_of_rates_are_spelled_out(ATTR_UNUSED void **state)
{
    static const struct {
        const char *text;
        const char *parts;
    } rows[] = {
        {"1,2/s", "1|2/s"},   {"0.5:2:0.5", "0.5|1|1.5|2"},
        {"1:2:0.7", "1|1.7"}, {"0.1:0.7:0.1", "0.1|0.2|0.3|0.4|0.5|0.6|0.7"},
        {"3:3:1, 8", "3|8"},
    };
    struct option_list list;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(option_list_rates(rows[i].text, &list, NULL), WEFT_OK);
        expect_parts(&list, rows[i].parts);
    }
    static const char *const wrong[] = {"1:", ":", "1:2", "2:1:1", "1:2:0", "a:2:1", "1:2:1:1"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(option_list_rates(wrong[i], &list, NULL), WEFT_INVALID);
    }
    assert_int_equal(option_list_rates("1:64:1", &list, NULL), WEFT_OK);
    assert_int_equal(list.count, OPTION_LIST_PARTS_MAX);
    option_list_deinit(&list);
    assert_int_equal(option_list_rates("1:65:1", &list, NULL), WEFT_LIMIT);
    assert_int_equal(option_list_rates("1:64:1,1", &list, NULL), WEFT_LIMIT);
    assert_int_equal(option_list_rates("1:2:0.000000000001", &list, NULL), WEFT_LIMIT);
}

static void compositions_keep_their_commas(ATTR_UNUSED void **state)
{
    static const struct {
        const char *text;
        const char *parts;
    } rows[] = {
        {"hash", "hash"},
        {"hash,heft", "hash|heft"},
        {"jit:threshold_ms=5:transfer,heft", "jit:threshold_ms=5:transfer|heft"},
        {"hash,jit:threshold_ms=5,heft", "hash|jit:threshold_ms=5|heft"},
        {"place=jit,cache=lru", "place=jit,cache=lru"},
        {"hash,weft,cache=lru,heft", "hash|weft,cache=lru|heft"},
        {"hash,po2:choices=3,order=edf,cache=lru", "hash|po2:choices=3,order=edf,cache=lru"},
        {"hash;place=jit,cache=lru", "hash|place=jit,cache=lru"},
        {"place=jit:threshold_ms=5,order=edf,heft", "place=jit:threshold_ms=5,order=edf|heft"},
        {"place=jit;cache=lru", "place=jit|cache=lru"},
        {"place=jit,cache=lru;hash;place=heft,order=edf",
         "place=jit,cache=lru|hash|place=heft,order=edf"},
        {" hash ; heft ", "hash|heft"},
        {"hash, heft", "hash|heft"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct option_list list;
        assert_int_equal(option_list_policies(rows[i].text, &list, NULL), WEFT_OK);
        expect_parts(&list, rows[i].parts);
    }
}

static void empty_parts_are_mistakes(ATTR_UNUSED void **state)
{
    static const char *const texts[] = {"", ",", "a,", ",a", "a,,b", "a, ,b", " "};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct option_list list;
        struct weft_error error;
        assert_int_equal(option_list_commas(texts[i], &list, &error), WEFT_INVALID);
        assert_non_null(strstr(error.message, "has an empty part"));
        assert_int_equal(option_list_policies(texts[i], &list, NULL), WEFT_INVALID);
    }
}

static void there_is_a_limit(ATTR_UNUSED void **state)
{
    char text[2 * OPTION_LIST_PARTS_MAX + 2];
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = i % 2 == 0 ? '1' : ',';
    }
    struct option_list list;
    text[2 * OPTION_LIST_PARTS_MAX - 1] = '\0';
    assert_int_equal(option_list_commas(text, &list, NULL), WEFT_OK);
    assert_int_equal(list.count, OPTION_LIST_PARTS_MAX);
    option_list_deinit(&list);
    text[2 * OPTION_LIST_PARTS_MAX - 1] = ',';
    text[2 * OPTION_LIST_PARTS_MAX + 1] = '\0';
    assert_int_equal(option_list_commas(text, &list, NULL), WEFT_LIMIT);
}

static const char *meant(const char *wrong)
{
    static const char *const names[] = {"check", "compare", "policies", "sim"};
    struct suggestion suggestion = suggest_for(wrong);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        suggest_consider(&suggestion, names[i]);
    }
    return suggestion.name == NULL ? "" : suggestion.name;
}

static void the_nearest_name_is_suggested(ATTR_UNUSED void **state)
{
    assert_string_equal(meant("smi"), "sim");
    assert_string_equal(meant("sims"), "sim");
    assert_string_equal(meant("chekc"), "check");
    assert_string_equal(meant("comp"), "compare");
    assert_string_equal(meant("policy"), "");
    assert_string_equal(meant("polices"), "policies");
    assert_string_equal(meant("x"), "");
    assert_string_equal(meant(""), "");
    assert_string_equal(meant("serve"), "");
    assert_string_equal(meant("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_separate),
        cmocka_unit_test(ranges_of_rates_are_spelled_out),
        cmocka_unit_test(compositions_keep_their_commas),
        cmocka_unit_test(empty_parts_are_mistakes),
        cmocka_unit_test(there_is_a_limit),
        cmocka_unit_test(the_nearest_name_is_suggested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
