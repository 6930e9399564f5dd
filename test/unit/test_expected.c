#include "service/expected.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>
#include <cmocka.h>

#include "base/attributes.h"

enum { OUTPUTS = 5 };

static char folder[] = "/tmp/weft-expected-XXXXXX";
static char text_path[64];
static char outputs_path[64];

static struct workflow_result results[OUTPUTS] = {
    {.name = "degrees"}, {.name = "shares"}, {.name = "labels"}, {.name = "none"}, {.name = "half"},
};
static const struct workflow workflow = {.result_count = OUTPUTS, .results = results};

static int32_t degrees = 90;
static float shares[] = {0.25F, 0.75F};
static uint8_t labels[] = {4, 0, 0, 0, 't', 'e', 'x', 't', 5, 0, 0, 0, 't', 'a', 'b', 'l', 'e'};
static uint16_t half;

/* An answer of two labels, a number, two shares, nothing, and a type that is not compared. */
static const struct weft_tensor tensors[OUTPUTS] = {
    {.name = "degrees", .dtype = WEFT_INT32, .rank = 1, .shape = {1}, .bytes = 4, .data = &degrees},
    {.name = "shares", .dtype = WEFT_FP32, .rank = 1, .shape = {2}, .bytes = 8, .data = shares},
    {.name = "labels", .dtype = WEFT_BYTES, .rank = 1, .shape = {2}, .bytes = 17, .data = labels},
    {.name = "none", .dtype = WEFT_FP32, .rank = 1, .shape = {0}, .bytes = 0, .data = shares},
    {.name = "half", .dtype = WEFT_FP16, .rank = 1, .shape = {1}, .bytes = 2, .data = &half},
};

static const struct weft_tensor *find(const void *context, const char *name)
{
    const struct weft_tensor *all = context;
    for (uint32_t i = 0; i < OUTPUTS; i++) {
        if (strcmp(all[i].name, name) == 0) {
            return &all[i];
        }
    }
    return NULL;
}

static int make_folder(ATTR_UNUSED void **state)
{
    assert_non_null(mkdtemp(folder));
    (void)snprintf(text_path, sizeof(text_path), "%s/a.txt", folder);
    (void)snprintf(outputs_path, sizeof(outputs_path), "%s/a.yaml", folder);
    return 0;
}

static int remove_folder(ATTR_UNUSED void **state)
{
    (void)remove(text_path);
    (void)remove(outputs_path);
    return rmdir(folder);
}

static void write_file(const char *path, const char *contents)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(contents, file);
    assert_int_equal(fclose(file), 0);
}

static struct judgement judge(const char *text, const char *outputs)
{
    struct judgement judgement;
    struct weft_error error = {0};
    struct expected *expected = NULL;
    const struct answer_outputs answer = {.find = find, .context = tensors};
    if (text != NULL) {
        write_file(text_path, text);
    }
    if (outputs != NULL) {
        write_file(outputs_path, outputs);
    }
    if (expected_load(
            text == NULL ? NULL : text_path, outputs == NULL ? NULL : outputs_path, &workflow,
            &expected, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    expected_judge(expected, &workflow, &answer, &judgement);
    expected_destroy(expected);
    return judgement;
}

static void expect_right(const char *outputs)
{
    const struct judgement judgement = judge(NULL, outputs);
    assert_string_equal(judgement.cause, "");
    assert_true(judgement.is_right);
}

static void expect_wrong(const char *outputs, const char *cause)
{
    const struct judgement judgement = judge(NULL, outputs);
    assert_false(judgement.is_right);
    assert_string_equal(judgement.cause, cause);
}

static void outputs_are_what_they_should_be(ATTR_UNUSED void **state)
{
    expect_right("degrees: 90\n");
    expect_right("labels: table\n");
    expect_right("shares: {at_least: 0.25, at_most: 0.75}\nlabels: {has: [table, text]}\n");
    expect_right("shares: {at_least: 0}\n");
    expect_right("degrees: {at_most: 90}\n");
}

static void what_is_wrong_is_said(ATTR_UNUSED void **state)
{
    expect_wrong("degrees: 180\n", "degrees is 90, not 180");
    expect_wrong("degrees: 90\nshares: 0.25\n", "shares is 0.75, not 0.25");
    expect_wrong("shares: {at_least: 0.3, at_most: 1}\n", "shares is 0.25, not between 0.3 and 1");
    expect_wrong("shares: {at_most: 0.7}\n", "shares is 0.75, not between -inf and 0.7");
    expect_wrong("labels: {has: [text, figure]}\n", "labels has no 'figure'");
    expect_wrong("labels: tex\n", "labels has no 'tex'");
    expect_wrong("labels: 4\n", "labels is nan, not 4");
    expect_wrong("degrees: \"90\"\n", "degrees has no '90'");
    expect_wrong("none: 0\n", "none is empty");
    expect_wrong("half: 0\n", "half is nan, not 0");
}

static void texts_may_be_wrong_by_a_quarter(ATTR_UNUSED void **state)
{
    struct judgement judgement = judge("Tent\n", NULL); /* The answer says "text". */
    assert_true(judgement.is_right);
    assert_int_equal(judgement.letters.edits, 1);
    assert_int_equal(judgement.letters.length, 4);
    judgement = judge("tea\n", NULL);
    assert_false(judgement.is_right);
    assert_string_equal(judgement.cause, "the text is 'text'");
    judgement = judge("text", "degrees: 0\n"); /* Both have to be right. */
    assert_false(judgement.is_right);
    assert_string_equal(judgement.cause, "degrees is 90, not 0");
}

static void expect_refused(const char *outputs, const char *cause)
{
    struct weft_error error = {0};
    struct expected *expected = NULL;
    write_file(outputs_path, outputs);
    assert_int_equal(expected_load(NULL, outputs_path, &workflow, &expected, &error), WEFT_INVALID);
    assert_null(expected);
    assert_non_null(strstr(error.message, cause));
    assert_non_null(strstr(error.message, "a.yaml:"));
}

static void rules_that_are_none_are_refused(ATTR_UNUSED void **state)
{
    expect_refused("degree: 90\n", ":1: unknown key 'degree'; did you mean 'degrees'?");
    expect_refused("degrees: {at_last: 3}\n", ":1: unknown key 'at_last'");
    expect_refused("degrees: 0\nshares: {at_most: much}\n", ":2: ");
    expect_refused("labels: {has: text}\n", ":1: ");
    expect_refused("labels: [text]\n", ":1: ");
    expect_refused("- degrees\n", ":1: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_what_they_should_be),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(texts_may_be_wrong_by_a_quarter),
        cmocka_unit_test(rules_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
