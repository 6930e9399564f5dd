#include "document/reader.h"

#include <stdlib.h>

#include "document_fixture.h"

static const struct reader_range small = {0, 10, "between 0 and 10"};

static void the_first_failure_is_kept(ATTR_UNUSED void **state)
{
    struct tree *tree = parsed("a: 11\nb: x\nc: 3\n");
    struct weft_error error = {0};
    struct reader reader = {.error = &error};

    assert_true(reader_quantity(&reader, tree_find(tree->root, "c"), QUANTITY_COUNT, &small) == 3);
    assert_true(reader_is_good(&reader));
    assert_true(reader_quantity(&reader, tree_find(tree->root, "a"), QUANTITY_COUNT, &small) == 0);
    assert_false(reader_is_good(&reader));
    (void)reader_quantity(&reader, tree_find(tree->root, "b"), QUANTITY_COUNT, &small);
    assert_string_equal(error.message, "t.yaml:1: 'a' must be between 0 and 10, not '11'");
    assert_true(reader_quantity(&reader, tree_find(tree->root, "c"), QUANTITY_COUNT, &small) == 0);
    assert_int_equal(reader.status, WEFT_INVALID);
    tree_destroy(tree);
}

static void a_missing_node_reads_as_zero(ATTR_UNUSED void **state)
{
    struct reader reader = {0};
    char name[NAME_BYTES_MAX] = "same";

    assert_true(reader_quantity(&reader, NULL, QUANTITY_COUNT, &small) == 0);
    assert_string_equal(reader_text(&reader, NULL), "");
    reader_name(&reader, NULL, name);
    assert_string_equal(name, "same");
    reader_list(&reader, NULL);
    reader_any_mapping(&reader, NULL);
    assert_true(reader_is_good(&reader));
}

static void what_is_needed_and_missing_is_named(ATTR_UNUSED void **state)
{
    struct tree *tree = parsed("\n\na: {b: 1}\n");
    struct weft_error error = {0};
    struct reader reader = {.error = &error};

    assert_non_null(reader_need(&reader, tree->root, "a"));
    assert_null(reader_need(&reader, tree_find(tree->root, "a"), "c"));
    assert_string_equal(error.message, "t.yaml:3: 'c' is missing");
    assert_null(reader_need(&reader, tree->root, "a"));
    tree_destroy(tree);
}

struct guess {
    const char *text;
    const char *suggestion;
};

static void the_nearest_word_is_suggested(ATTR_UNUSED void **state)
{
    static const char *const known[] = {"rate", "mix", "workflow", "a", NULL};
    static const struct guess guesses[] = {
        {"ratee", "; did you mean 'rate'?"},
        {"rat", "; did you mean 'rate'?"},
        {"tare", "; did you mean 'rate'?"},
        {"workfolw", "; did you mean 'workflow'?"},
        {"max", "; did you mean 'mix'?"},
        {"mouse", ""},
        {"b", ""},
        {"", ""},
        {"wrkfw", ""},
        {"mixer", ""},
    };
    char out[READER_QUOTE_BYTES];

    for (size_t i = 0; i < sizeof(guesses) / sizeof(guesses[0]); i++) {
        assert_string_equal(reader_suggestion(guesses[i].text, known, out), guesses[i].suggestion);
    }
}

static void long_words_are_not_compared(ATTR_UNUSED void **state)
{
    char lengthy[200];
    const char *known[] = {lengthy, "rate", NULL};
    char out[READER_QUOTE_BYTES];

    memset(lengthy, 'x', sizeof(lengthy) - 1);
    lengthy[sizeof(lengthy) - 1] = '\0';
    assert_string_equal(reader_suggestion(lengthy, known, out), "");
    assert_string_equal(reader_suggestion("ratte", known, out), "; did you mean 'rate'?");
    lengthy[40] = '\0'; /* The longest that is. */
    assert_string_equal(
        reader_suggestion("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", known, out),
        "; did you mean 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'?");
}

static void quotes_are_one_short_line(ATTR_UNUSED void **state)
{
    char out[READER_QUOTE_BYTES];
    char text[200];

    assert_string_equal(reader_quote_text(out, "a\nb\x7f"), "'a?b?'");
    assert_string_equal(reader_quote_text(out, ""), "''");
    /* Cut between characters, never inside one. */
    for (size_t lead = 0; lead < 4; lead++) {
        memset(text, 'x', lead);
        text[lead] = '\0';
        for (size_t i = 0; i < 30; i++) {
            memcpy(text + lead + 3 * i, "\xe2\x82\xac", 4);
        }
        (void)reader_quote_text(out, text);
        assert_true(strlen(out) < READER_QUOTE_BYTES);
        const char *dots = strstr(out, "...'");
        assert_non_null(dots);
        assert_int_equal(((size_t)(dots - out) - 1 - lead) % 3, 0);
    }
}

static void names_are_plain(ATTR_UNUSED void **state)
{
    struct tree *tree = parsed("a: x.y_z-9\nb: 'x y'\n");
    struct weft_error error = {0};
    struct reader reader = {.error = &error};
    char name[NAME_BYTES_MAX] = "";

    reader_name(&reader, tree_find(tree->root, "a"), name);
    assert_string_equal(name, "x.y_z-9");
    reader_key_name(&reader, tree_find(tree->root, "a"), name);
    assert_string_equal(name, "a");
    reader_name(&reader, tree_find(tree->root, "b"), name);
    assert_string_equal(
        error.message, "t.yaml:2: a name has letters, digits, '.', '_' and '-', unlike 'x y'");
    assert_string_equal(name, "a");
    tree_destroy(tree);
}

static void words_have_numbers(ATTR_UNUSED void **state)
{
    static const char *const words[] = {"poisson", "constant", "list", NULL};
    struct tree *tree = parsed("kind: list\nother: gamma\n");
    struct weft_error error = {0};
    struct reader reader = {.error = &error};

    assert_int_equal(reader_word(&reader, tree_find(tree->root, "kind"), words), 2);
    assert_int_equal(reader_word(&reader, tree_find(tree->root, "other"), words), 0);
    assert_string_equal(
        error.message, "t.yaml:2: other 'gamma' is not known; use poisson, constant or list");
    tree_destroy(tree);
}

static void a_value_from_elsewhere_has_no_line(ATTR_UNUSED void **state)
{
    const struct tree_node node = {.kind = TREE_SCALAR, .key = "rate", .text = "fast"};
    struct weft_error error = {0};
    struct reader reader = {.error = &error};

    (void)reader_quantity(&reader, &node, QUANTITY_RATE, &small);
    assert_string_equal(error.message, "'rate' wants a rate such as '2/s', not 'fast'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_failure_is_kept),
        cmocka_unit_test(a_missing_node_reads_as_zero),
        cmocka_unit_test(what_is_needed_and_missing_is_named),
        cmocka_unit_test(the_nearest_word_is_suggested),
        cmocka_unit_test(long_words_are_not_compared),
        cmocka_unit_test(quotes_are_one_short_line),
        cmocka_unit_test(names_are_plain),
        cmocka_unit_test(words_have_numbers),
        cmocka_unit_test(a_value_from_elsewhere_has_no_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
