/* Covers: src/protocol/json_tree.c src/protocol/json_number.c */
#include "protocol/json_tree.h"

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
#include "fuzz/json_same.h"

/* Put @node into words: data in angle brackets. */
static void show(const struct json_tree *tree, const struct json_node *node, char out[512])
{
    static const char *const words[] = {"null", "false", "true"};
    size_t used = strlen(out);
    if (node->key != NULL) {
        (void)snprintf(out + used, 512 - used, "%.*s:", (int)node->key_bytes, node->key);
        used = strlen(out);
    }
    if (node->kind <= JSON_NODE_TRUE) {
        (void)snprintf(out + used, 512 - used, "%s", words[node->kind]);
    } else if (node->kind == JSON_NODE_NUMBER) {
        (void)snprintf(out + used, 512 - used, "%g", node->number);
    } else if (node->kind == JSON_NODE_TEXT || node->kind == JSON_NODE_DATA) {
        (void)snprintf(
            out + used, 512 - used, node->kind == JSON_NODE_TEXT ? "'%.*s'" : "<%.*s>",
            (int)node->text_bytes, node->text);
    } else {
        const bool is_array = node->kind == JSON_NODE_ARRAY;
        (void)snprintf(out + used, 512 - used, is_array ? "[" : "{");
        for (const struct json_node *member = json_tree_first(node); member != NULL;
             member = json_tree_next(tree, member)) {
            show(tree, member, out);
            used = strlen(out);
            (void)snprintf(out + used, 512 - used, " ");
        }
        used = strlen(out);
        (void)snprintf(out + used, 512 - used, is_array ? "]" : "}");
    }
}

/* What @text says, or the cause why it says nothing. */
static const char *read_as(const char *text)
{
    static char out[512];
    struct json_tree tree;
    const char *cause = NULL;
    out[0] = '\0';
    if (json_tree_read(text, strlen(text), &tree, &cause) != WEFT_OK) {
        return cause;
    }
    show(&tree, tree.nodes, out);
    json_tree_deinit(&tree);
    return out;
}

static void values_are_read(ATTR_UNUSED void **state)
{
    assert_string_equal(read_as("{}"), "{}");
    assert_string_equal(read_as(" [ ] "), "[]");
    assert_string_equal(
        read_as("{\"a\" : [1, -2.5e1,true ,false,null,\"t\"],\"b\":{\"c\":{}}}"),
        "{a:[1 -25 true false null 't' ] b:{c:{} } }");
    assert_string_equal(
        read_as("{\"\\u0061\\n\":\"\\ud83d\\ude00\\\"\",\"\xc3\xa4\":\"\xe2\x82\xac\"}"),
        "{a\n:'\xf0\x9f\x98\x80\"' \xc3\xa4:'\xe2\x82\xac' }");
}

static void only_the_data_of_inputs_is_not_read(ATTR_UNUSED void **state)
{
    assert_string_equal(
        read_as("{\"inputs\":[{\"data\":[1,[2]],\"a\":[3]},{\"data\" : [\"]\"]}]}"),
        "{inputs:[{data:<[1,[2]]> a:[3 ] } {data:<[\"]\"]> } ] }");
    assert_string_equal(
        read_as("{\"data\":[1],\"x\":[{\"data\":[2]}],\"inputs\":[[{\"data\":[3]}]]}"),
        "{data:[1 ] x:[{data:[2 ] } ] inputs:[[{data:[3 ] } ] ] }");
    assert_string_equal(
        read_as("{\"inputs\":[{\"p\":{\"data\":[1]},\"data\":5}]}"),
        "{inputs:[{p:{data:[1 ] } data:5 } ] }");
    assert_string_equal(read_as("{\"inputs\":{\"data\":[1]}}"), "{inputs:{data:[1 ] } }");
    assert_string_equal(read_as("[{\"data\":[1]}]"), "[{data:[1 ] } ]");
    assert_string_equal(read_as("{\"inputs\":[{\"data\":[1}"), "an array of data is not closed");
}

static void what_is_not_json_is_refused(ATTR_UNUSED void **state)
{
    static const struct {
        const char *text;
        const char *cause;
    } cases[] = {
        {"", "it begins with no bracket"},
        {"5", "it begins with no bracket"},
        {"]", "it begins with no bracket"},
        {"{\"a\":[}", "a value is none, or a number is wrong"},
        {"[1}", "a value is followed by neither ',' nor a bracket"},
        {"[1,]", "a value is none, or a number is wrong"},
        {"[01]", "a value is none, or a number is wrong"},
        {"[1.]", "a value is none, or a number is wrong"},
        {"[+1]", "a value is none, or a number is wrong"},
        {"[nul]", "a value is none"},
        {"[truE]", "a value is none"},
        {"{1:2}", "an object has no name where one must be"},
        {"{\"a\":1,}", "an object has no name where one must be"},
        {"{\"a\" 1}", "a name is not followed by ':'"},
        {"{\"a", "a string is not closed, or not UTF-8"},
        {"{\"a\\", "a string is not closed, or not UTF-8"},
        {"[\"\\x\"]", "a string is not closed, or not UTF-8"},
        {"[\"\n\"]", "a string is not closed, or not UTF-8"},
        {"[\"\xc0\x80\"]", "a string is not closed, or not UTF-8"},
        {"[\"\\ud800\"]", "a string is not closed, or not UTF-8"},
        {"[\"a\\u0000\"]", "a string has a zero"},
        {"{} x", "something follows its last bracket"},
        {"[]]", "something follows its last bracket"},
        {"{\"a\":1,\"a\":2}", "an object has a duplicate name"},
        {"{\"a\":1,\"\\u0061\":2}", "an object has a duplicate name"},
        {"[[[[[[[[[[[[[[[[[", "nested too deeply"},
        {"[1e999]", "a number in the request is too large"},
        {"[-1e999]", "a number in the request is too large"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(read_as(cases[i].text), cases[i].cause);
        assert_true(json_readers_agree(cases[i].text, strlen(cases[i].text)));
    }
}

/* An object of @count names, of which @twice and the first are the same; 0: none. */
static char *many_names(uint32_t count, uint32_t twice)
{
    char *text = malloc(16 * (size_t)count + 16);
    assert_non_null(text);
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t number = i == twice ? 0 : i;
        used += (size_t)snprintf(
            text + used, 16, "%s\"n%u\":%u", i == 0 ? "{" : ",", number, number % 10);
    }
    (void)memcpy(text + used, "}", 2);
    return text;
}

static void names_differ_however_many(ATTR_UNUSED void **state)
{
    static const uint32_t counts[] = {2, 16, 17, 31, 32, 33, 5000};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct json_tree tree;
        const char *cause = NULL;
        char *text = many_names(counts[i], 0);
        assert_int_equal(json_tree_read(text, strlen(text), &tree, &cause), WEFT_OK);
        assert_int_equal(tree.nodes[0].count, counts[i]);
        assert_non_null(json_tree_member(&tree, tree.nodes, "n1"));
        assert_null(json_tree_member(&tree, tree.nodes, "n"));
        json_tree_deinit(&tree);
        free(text);
        text = many_names(counts[i], counts[i] - 1);
        assert_string_equal(read_as(text), "an object has a duplicate name");
        free(text);
    }
}

/* Each once looked for the end of the string, so that four megabytes took minutes. */
static void a_string_of_escapes_alone_is_stepped_over_in_one_go(ATTR_UNUSED void **state)
{
    enum { ESCAPES = 2 << 20 };
    static const char head[] = "{\"inputs\":[{\"data\":[\"";
    static const char tail[] = "\"]}]}";
    const size_t size = sizeof(head) - 1 + 2 * (size_t)ESCAPES + sizeof(tail) - 1;
    char *text = malloc(size);
    assert_non_null(text);
    memcpy(text, head, sizeof(head) - 1);
    for (uint32_t i = 0; i < ESCAPES; i++) {
        memcpy(text + sizeof(head) - 1 + 2 * (size_t)i, "\\n", 2);
    }
    memcpy(text + size - (sizeof(tail) - 1), tail, sizeof(tail) - 1);
    struct json_tree tree;
    const char *cause = NULL;
    assert_int_equal(json_tree_read(text, size, &tree, &cause), WEFT_OK);
    assert_int_equal(tree.count, 4); /* The request, its inputs, one of them, and its data. */
    assert_int_equal(tree.nodes[3].text_bytes, 2 * (size_t)ESCAPES + 4);
    json_tree_deinit(&tree);
    free(text);
}

static void what_is_beside_data_has_a_bound(ATTR_UNUSED void **state)
{
    static const char before[] = "{\"inputs\":[{\"data\":[";
    static const char behind[] = "]}],\"x\":\"";
    const size_t size = 2 * (size_t)JSON_BESIDE_BYTES_MAX;
    char *text = malloc(size);
    assert_non_null(text);
    /* As much data as one likes; */
    (void)memset(text, ' ', size);
    (void)memcpy(text, before, sizeof(before) - 1);
    (void)memcpy(text + size - 4, "]}]}", 4);
    struct json_tree tree;
    const char *cause = NULL;
    assert_int_equal(json_tree_read(text, size, &tree, &cause), WEFT_OK);
    json_tree_deinit(&tree);
    /* but not of anything else, be it in one piece or in many. */
    (void)memset(text, 'x', size);
    (void)memcpy(text, before, sizeof(before) - 1);
    (void)memcpy(text + sizeof(before) - 1, behind, sizeof(behind) - 1);
    (void)memcpy(text + size - 2, "\"}", 2);
    assert_int_equal(json_tree_read(text, size, &tree, &cause), WEFT_INVALID);
    assert_string_equal(cause, "too much JSON beside the data of tensors");
    for (size_t i = 0; i + 1 < size; i += 2) {
        (void)memcpy(text + i, i == 0 ? "[1" : ",1", 2);
    }
    text[size - 1] = ']';
    assert_int_equal(json_tree_read(text, size, &tree, &cause), WEFT_INVALID);
    assert_string_equal(cause, "too much JSON beside the data of tensors");
    free(text);
}

/* Good texts with some of their bytes replaced, doubled or left out. */
static void jansson_reads_the_same(ATTR_UNUSED void **state)
{
    static const char *const texts[] = {
        "{\"id\":\"42\",\"parameters\":{\"timeout\":1500,\"binary_data_output\":true},\"inputs\":"
        "[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1, 4],\"data\":[1.0,-2.0,3.0,-4.0]}]}",
        "{\"inputs\": [{\"name\": \"x\", \"shape\": [1, 4], \"parameters\": {\"n\": 16}}]}",
        "[1,-0,0.5,1e5,1E-5,12345678901234567890123,4.9e-324,1.7976931348623157e308,0.1e400]",
        "[\"a\\\"\\\\\\/"
        "\\b\\f\\n\\r\\t\\u00e4\\ud83d\\ude00\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"]",
        "{\"a\":{\"a\":{\"b\":[[],{},null,false,true]},\"\\u0061b\":\"\"},\"\":[\"\"]}",
    };
    static const char marks[] = "{}[],:\"\\ \n\t0123456789eE+-.truefalsnu\x7f\x80\xc3\xa4";
    struct rng rng = rng_from_seed(7);
    for (uint32_t round = 0; round < 20000; round++) {
        char text[512];
        const char *from = texts[round % (sizeof(texts) / sizeof(texts[0]))];
        size_t length = strlen(from);
        (void)memcpy(text, from, length);
        for (uint64_t changes = rng_range(&rng, 0, 3); changes > 0; changes--) {
            const size_t at = (size_t)rng_range(&rng, 0, length - 1);
            const uint64_t how = rng_range(&rng, 0, 2);
            if (how == 0) {
                text[at] = marks[rng_range(&rng, 0, sizeof(marks) - 2)];
            } else if (how == 1) {
                (void)memmove(text + at, text + at + 1, --length - at);
            } else {
                (void)memmove(text + at + 1, text + at, length++ - at);
            }
        }
        if (!json_readers_agree(text, length)) {
            fail_msg("%.*s", (int)length, text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(only_the_data_of_inputs_is_not_read),
        cmocka_unit_test(what_is_not_json_is_refused),
        cmocka_unit_test(names_differ_however_many),
        cmocka_unit_test(a_string_of_escapes_alone_is_stepped_over_in_one_go),
        cmocka_unit_test(what_is_beside_data_has_a_bound),
        cmocka_unit_test(jansson_reads_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
