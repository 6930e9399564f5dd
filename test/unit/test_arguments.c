#include "console/arguments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

struct values {
    bool json;
    const char *rate;
    struct argument_count seed;
    struct argument_list sets;
};

static const struct argument rows[] = {
    {"--json", NULL, "print JSON", ARGUMENT_FLAG, offsetof(struct values, json)},
    {"--rate", "RATE", "jobs per second", ARGUMENT_TEXT, offsetof(struct values, rate)},
    {"--seed", "N", "the seed", ARGUMENT_COUNT, offsetof(struct values, seed)},
    {"--set", "KEY=VALUE", "change a setting;\nmay be repeated", ARGUMENT_LIST,
     offsetof(struct values, sets)},
    {.name = NULL},
};

static const struct arguments table = {
    .operand = "FILE",
    .operand_min = 1,
    .operand_max = 2,
    .rows = rows,
};

enum { WORDS_MAX = 80 };

struct parsed {
    struct values values;
    struct operands operands;
    struct weft_error error;
    enum weft_status status;
    char text[512];
    char *argv[WORDS_MAX];
};

/* Parse the words of @line, which are separated by single spaces. */
static const struct parsed *parse(struct parsed *parsed, const char *line)
{
    *parsed = (struct parsed){0};
    (void)snprintf(parsed->text, sizeof(parsed->text), "%s", line);
    char *word = parsed->text;
    uint32_t count = 0;
    while (*word != '\0') {
        assert_in_range(count, 0, WORDS_MAX - 2);
        parsed->argv[count++] = word;
        word += strcspn(word, " ");
        if (*word == ' ') {
            *word++ = '\0';
        }
    }
    parsed->status =
        arguments_parse(&table, parsed->argv, &parsed->values, &parsed->operands, &parsed->error);
    return parsed;
}

static void options_and_operands_come_in_any_order(ATTR_UNUSED void **state)
{
    struct parsed parsed;
    assert_int_equal(parse(&parsed, "a --rate 2/s --json b --seed=7")->status, WEFT_OK);
    assert_int_equal(parsed.operands.count, 2);
    assert_string_equal(parsed.operands.items[0], "a");
    assert_string_equal(parsed.operands.items[1], "b");
    assert_string_equal(parsed.values.rate, "2/s");
    assert_true(parsed.values.json);
    assert_true(parsed.values.seed.given);
    assert_int_equal(parsed.values.seed.value, 7);
}

static void what_is_not_given_keeps_its_default(ATTR_UNUSED void **state)
{
    struct parsed parsed;
    assert_int_equal(parse(&parsed, "a")->status, WEFT_OK);
    assert_false(parsed.values.json);
    assert_null(parsed.values.rate);
    assert_false(parsed.values.seed.given);
    assert_int_equal(parsed.values.sets.count, 0);
}

static void lists_keep_every_value_in_order(ATTR_UNUSED void **state)
{
    struct parsed parsed;
    assert_int_equal(parse(&parsed, "--set a=1 f --set=b=2 --set c")->status, WEFT_OK);
    assert_int_equal(parsed.values.sets.count, 3);
    assert_string_equal(parsed.values.sets.items[0], "a=1");
    assert_string_equal(parsed.values.sets.items[1], "b=2");
    assert_string_equal(parsed.values.sets.items[2], "c");
}

static void of_a_repeated_option_the_last_value_counts(ATTR_UNUSED void **state)
{
    struct parsed parsed;
    assert_int_equal(parse(&parsed, "f --rate 1 --rate 2")->status, WEFT_OK);
    assert_string_equal(parsed.values.rate, "2");
}

static void two_dashes_end_the_options_and_one_is_an_operand(ATTR_UNUSED void **state)
{
    struct parsed parsed;
    assert_int_equal(parse(&parsed, "- -- --json")->status, WEFT_OK);
    assert_int_equal(parsed.operands.count, 2);
    assert_string_equal(parsed.operands.items[0], "-");
    assert_string_equal(parsed.operands.items[1], "--json");
    assert_false(parsed.values.json);
}

static void help_is_found_before_anything_is_wrong(ATTR_UNUSED void **state)
{
    struct parsed parsed;
    assert_int_equal(parse(&parsed, "--bogus --help")->status, WEFT_OK);
    assert_true(parsed.operands.help);
    assert_true(parse(&parsed, "-h")->operands.help);
    assert_false(parse(&parsed, "f -- -h")->operands.help);
}

static void mistakes_are_named(ATTR_UNUSED void **state)
{
    static const struct {
        const char *line;
        const char *message;
    } mistakes[] = {
        {"f --rat 3", "unknown option '--rat'; did you mean '--rate'?"},
        {"f --rat=3", "unknown option '--rat'; did you mean '--rate'?"},
        {"f --sede 3", "unknown option '--sede'; did you mean '--seed'?"},
        {"f --hlep", "unknown option '--hlep'; did you mean '--help'?"},
        {"f --zzzzz", "unknown option '--zzzzz'"},
        {"f -x", "unknown option '-x'"},
        {"f --rate", "'--rate' needs RATE"},
        {"f --json=1", "'--json' takes no value"},
        {"f --seed 1x", "'--seed' is '1x'; it must be a whole number"},
        {"f --seed=", "'--seed' is ''; it must be a whole number"},
        {"f --seed -1", "'--seed' is '-1'; it must be a whole number"},
        {"f --seed 99999999999999999999", "'--seed' is '99999999999999999999'; it is too large"},
        {"--json", "no FILE given"},
        {"a b c", "'c' is one argument too many"},
    };
    struct parsed parsed;
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        assert_int_equal(parse(&parsed, mistakes[i].line)->status, WEFT_INVALID);
        assert_string_equal(parsed.error.message, mistakes[i].message);
    }
}

static void a_list_has_an_end(ATTR_UNUSED void **state)
{
    char set[] = "--set=a=1";
    char *argv[ARGUMENT_LIST_MAX + 2] = {0};
    struct values values = {0};
    struct operands operands;
    struct weft_error error;
    for (uint32_t i = 0; i <= ARGUMENT_LIST_MAX; i++) {
        argv[i] = set;
    }
    assert_int_equal(arguments_parse(&table, argv, &values, &operands, &error), WEFT_INVALID);
    assert_string_equal(error.message, "'--set' is given more than 64 times");
}

static void help_lists_every_row_in_columns(ATTR_UNUSED void **state)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    arguments_print(&table, file);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(
        text, "  --json                print JSON\n"
              "  --rate RATE           jobs per second\n"
              "  --seed N              the seed\n"
              "  --set KEY=VALUE       change a setting;\n"
              "                        may be repeated\n"
              "  -h, --help            print this text\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_and_operands_come_in_any_order),
        cmocka_unit_test(what_is_not_given_keeps_its_default),
        cmocka_unit_test(lists_keep_every_value_in_order),
        cmocka_unit_test(of_a_repeated_option_the_last_value_counts),
        cmocka_unit_test(two_dashes_end_the_options_and_one_is_an_operand),
        cmocka_unit_test(help_is_found_before_anything_is_wrong),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(a_list_has_an_end),
        cmocka_unit_test(help_lists_every_row_in_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
