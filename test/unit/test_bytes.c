#include "document/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "document/tree.h"
#include "unit/json_memory.h"

struct example {
    const char *bytes;
    const char *message; /* NULL: it is good. */
};

static const struct example utf8[] = {
    {"", NULL},
    {"plain\r\n\ttext", NULL},
    {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", NULL},
    {"\xef\xbb\xbf"
     "byte order mark",
     NULL},
    {"\xf4\x8f\xbf\xbf", NULL}, /* The last character there is. */
    {"\xed\x9f\xbf\xee\x80\x80", NULL},
    {"\xf4\x90\x80\x80", "f:1: byte 0xf4 is not valid UTF-8 here"},
    {"a\nb\n\xff", "f:3: byte 0xff is not valid UTF-8 here"},
    {"\x80", "f:1: byte 0x80 is not valid UTF-8 here"},
    {"\xc3", "f:1: the file ends inside a UTF-8 character"},
    {"\xe2\x82", "f:1: the file ends inside a UTF-8 character"},
    {"\xf0\x9f\x98", "f:1: the file ends inside a UTF-8 character"},
    {"\xc3(", "f:1: byte 0xc3 is not valid UTF-8 here"},
    {"\xe2\x82(", "f:1: byte 0xe2 is not valid UTF-8 here"},
    {"\xc0\xaf", "f:1: byte 0xc0 is not valid UTF-8 here"},
    {"\xe0\x80\xaf", "f:1: byte 0xe0 is not valid UTF-8 here"},
    {"\xed\xa0\x80", "f:1: byte 0xed is not valid UTF-8 here"},
    {"\x01", "f:1: control character U+0001 is not allowed"},
    {"a\n\x7f", "f:2: control character U+007F is not allowed"},
    {"\xc2\x80", "f:1: control character U+0080 is not allowed"},
    {"\xef\xbf\xbf", "f:1: control character U+FFFF is not allowed"},
};

static void only_printable_utf8_passes(ATTR_UNUSED void **state)
{
    for (size_t i = 0; i < sizeof(utf8) / sizeof(utf8[0]); i++) {
        struct weft_error error = {0};
        const enum weft_status status =
            bytes_check_utf8("f", utf8[i].bytes, strlen(utf8[i].bytes), &error);
        assert_int_equal(status, utf8[i].message == NULL ? WEFT_OK : WEFT_INVALID);
        assert_string_equal(error.message, utf8[i].message == NULL ? "" : utf8[i].message);
    }
}

static void a_zero_byte_is_a_control_character(ATTR_UNUSED void **state)
{
    struct weft_error error = {0};

    assert_int_equal(bytes_check_utf8("f", "a\0b", 3, &error), WEFT_INVALID);
    assert_string_equal(error.message, "f:1: control character U+0000 is not allowed");
}

static const struct example json[] = {
    {"{}", NULL},
    {"[1, 2.5, \"x\", null, true]", NULL},
    {"", "f:1: not JSON: '[' or '{' expected near end of file"},
    {"{\n\"a\": }", "f:2: not JSON: unexpected token near '}'"},
    {"{'a': 1}", "f:1: not JSON: string or '}' expected near '''"},
    {"{\"a\": 1,}", "f:1: not JSON: string or '}' expected near '}'"},
    {"{\"a\": NaN}", "f:1: not JSON: invalid token near 'NaN'"},
    {"{\"a\": 1e999}", "f:1: not JSON: real number overflow near '1e999'"},
    {"{\"a\nb\": 1}", "f:1: not JSON: unexpected newline near '\"a'"},
    {"{} {}", "f:1: not JSON: end of file expected near '{'"},
};

static void json_is_judged_strictly(ATTR_UNUSED void **state)
{
    for (size_t i = 0; i < sizeof(json) / sizeof(json[0]); i++) {
        struct weft_error error = {0};
        const enum weft_status status =
            bytes_check_json("f", json[i].bytes, strlen(json[i].bytes), &error);
        assert_int_equal(status, json[i].message == NULL ? WEFT_OK : WEFT_INVALID);
        assert_string_equal(error.message, json[i].message == NULL ? "" : json[i].message);
    }
}

/* "[0,0,...]" with @count zeros; the caller frees it. */
static char *zeros(uint32_t count)
{
    char *text = calloc((size_t)count * 2 + 2, 1);
    assert_non_null(text);
    for (uint32_t i = 0; i < count; i++) {
        text[2 * i] = i == 0 ? '[' : ',';
        text[2 * i + 1] = '0';
    }
    text[2 * count] = ']';
    return text;
}

static void json_with_too_many_values_is_not_even_parsed(ATTR_UNUSED void **state)
{
    struct weft_error error = {0};
    char *fits = zeros(TREE_NODES_MAX);
    char *exceeds = zeros(TREE_NODES_MAX + 1);

    assert_int_equal(bytes_check_json("f", fits, strlen(fits), &error), WEFT_OK);
    assert_int_equal(bytes_check_json("f", exceeds, strlen(exceeds), &error), WEFT_LIMIT);
    assert_string_equal(error.message, "f:1: more than 1000000 values in one document");
    free(fits);
    free(exceeds);
}

static void commas_in_texts_are_no_values(ATTR_UNUSED void **state)
{
    struct weft_error error = {0};
    char *text = zeros(TREE_NODES_MAX + 2);

    memcpy(text, "[\"\\\"", 4);
    text[strlen(text) - 2] = '"';
    assert_int_equal(bytes_check_json("f", text, strlen(text), &error), WEFT_OK);
    free(text);
}

static void names_end_in_json(ATTR_UNUSED void **state)
{
    assert_true(bytes_is_json_name("a.json"));
    assert_true(bytes_is_json_name(".json"));
    assert_false(bytes_is_json_name("json"));
    assert_false(bytes_is_json_name("a.json.yaml"));
    assert_false(bytes_is_json_name(""));
}

static void what_is_no_file_is_not_opened(ATTR_UNUSED void **state)
{
    struct weft_error error = {0};
    char *bytes = NULL;
    size_t size = 7;

    assert_int_equal(bytes_load("test", &bytes, &size, &error), WEFT_IO);
    assert_string_equal(error.message, "test: is a directory");
    assert_int_equal(bytes_load("/dev/null", &bytes, &size, &error), WEFT_IO);
    assert_string_equal(error.message, "/dev/null: is not a regular file");
    assert_int_equal(bytes_load("no/such/file", &bytes, &size, &error), WEFT_IO);
    assert_string_equal(error.message, "no/such/file: cannot be opened: No such file or directory");
    assert_null(bytes);
    assert_int_equal(size, 7);
}

static void json_without_memory_is_not_called_wrong(ATTR_UNUSED void **state)
{
    static const char text[] = "{\"a\": [1, 2.5, \"long enough for a block\", {\"b\": null}]}";
    enum weft_status status = WEFT_NO_MEMORY;
    uint32_t blocks = 0;
    while (status != WEFT_OK) {
        struct weft_error error = {0};
        json_memory_limit(blocks++);
        status = bytes_check_json("f", text, sizeof(text) - 1, &error);
        json_memory_unlimit();
        assert_true(status == WEFT_OK || status == WEFT_NO_MEMORY);
        assert_string_equal(error.message, status == WEFT_OK ? "" : "f: out of memory");
    }
    assert_true(blocks > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_printable_utf8_passes),
        cmocka_unit_test(a_zero_byte_is_a_control_character),
        cmocka_unit_test(json_is_judged_strictly),
        cmocka_unit_test(json_with_too_many_values_is_not_even_parsed),
        cmocka_unit_test(commas_in_texts_are_no_values),
        cmocka_unit_test(names_end_in_json),
        cmocka_unit_test(what_is_no_file_is_not_opened),
        cmocka_unit_test(json_without_memory_is_not_called_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
