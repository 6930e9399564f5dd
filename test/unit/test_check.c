#include "document/check.h"

#include <stdio.h>

#include "document_fixture.h"

struct example {
    const char *path;
    enum document_kind kind;
};

static const struct example shipped[] = {
    {"scenarios/compass/compass.yaml", DOCUMENT_SCENARIO},
    {"scenarios/compass/translation.yaml", DOCUMENT_WORKFLOW},
    {"scenarios/compass/question-answer.yaml", DOCUMENT_WORKFLOW},
    {"scenarios/compass/image-to-sound.yaml", DOCUMENT_WORKFLOW},
    {"scenarios/compass/detection.yaml", DOCUMENT_WORKFLOW},
    {"scenarios/compass/compass-t4.profile.json", DOCUMENT_PROFILE},
    {"scenarios/demo/demo.yaml", DOCUMENT_SCENARIO},
    {"scenarios/nona/diamond.yaml", DOCUMENT_SCENARIO},
    {"scenarios/nona/network-bound.yaml", DOCUMENT_SCENARIO},
    {"scenarios/nona/nona.yaml", DOCUMENT_SCENARIO},
    {"scenarios/nona/one-link.yaml", DOCUMENT_SCENARIO},
    {"scenarios/nona/parallel.yaml", DOCUMENT_SCENARIO},
    {"scenarios/nona/racks.yaml", DOCUMENT_SCENARIO},
    {"scenarios/nona/sizes.yaml", DOCUMENT_SCENARIO},
    {"scenarios/demo/document.yaml", DOCUMENT_WORKFLOW},
    {"scenarios/demo/speech.yaml", DOCUMENT_WORKFLOW},
    {"scenarios/demo/image.yaml", DOCUMENT_WORKFLOW},
    {"scenarios/demo/demo.profile.json", DOCUMENT_PROFILE},
    {"test/documents/good/scenario.yaml", DOCUMENT_SCENARIO},
    {"test/documents/good/separate.yaml", DOCUMENT_SCENARIO},
    {"test/documents/good/cluster.yaml", DOCUMENT_CLUSTER},
    {"test/documents/good/trace.csv", DOCUMENT_TRACE},
};

static void shipped_documents_are_good(ATTR_UNUSED void **state)
{
    for (size_t i = 0; i < sizeof(shipped) / sizeof(shipped[0]); i++) {
        struct weft_error error = {0};
        enum document_kind kind = DOCUMENT_CLUSTER;
        assert_good(document_check(shipped[i].path, NULL, &kind, &error), &error);
        assert_int_equal(kind, shipped[i].kind);
    }
}

static void kinds_have_names(ATTR_UNUSED void **state)
{
    assert_string_equal(document_kind_text(DOCUMENT_SCENARIO), "scenario");
    assert_string_equal(document_kind_text(DOCUMENT_WORKFLOW), "workflow");
    assert_string_equal(document_kind_text(DOCUMENT_PROFILE), "profile");
    assert_string_equal(document_kind_text(DOCUMENT_CLUSTER), "cluster");
}

static void a_bad_document_has_no_kind(ATTR_UNUSED void **state)
{
    struct weft_error error = {0};
    enum document_kind kind = DOCUMENT_PROFILE;

    assert_int_equal(
        document_check("test/documents/bad/cycle.yaml", NULL, &kind, &error), WEFT_INVALID);
    assert_int_equal(document_check("none.yaml", NULL, &kind, &error), WEFT_IO);
    assert_int_equal(kind, DOCUMENT_PROFILE);
}

/* Lines that a listener heard, without the folder. */
struct heard {
    char text[4096];
    size_t length;
};

static void on_error(void *context, const struct weft_error *error)
{
    struct heard *heard = context;
    const char *slash = strrchr(error->message, '/');
    heard->length += (size_t)snprintf(
        heard->text + heard->length, sizeof(heard->text) - heard->length, "%s\n",
        slash == NULL ? error->message : slash + 1);
    assert_true(heard->length < sizeof(heard->text));
}

static void assert_heard(const char *path, const char *expected)
{
    struct heard heard = {.length = 0};
    struct tree_listener listener = {.on_error = on_error, .context = &heard};
    enum document_kind kind = DOCUMENT_SCENARIO;

    assert_int_equal(document_check(path, &listener, &kind, NULL), WEFT_INVALID);
    assert_string_equal(heard.text, expected);
}

/* And of nothing that only follows from them. */
static void all_errors_are_told(ATTR_UNUSED void **state)
{
    assert_heard(
        "test/documents/many/workflow.yaml",
        "workflow.yaml:2: unknown key 'slow'; did you mean 'slo'?\n"
        "workflow.yaml:1: a name has letters, digits, '.', '_' and '-', unlike 'two words'\n"
        "workflow.yaml:8: unknown key 'modle'; did you mean 'model'?\n"
        "workflow.yaml:9: 'gives' is a range from 5 down to 1\n"
        "workflow.yaml:4: dtype 'FP33' is not known; use BOOL, UINT8, UINT16, UINT32, UINT64, "
        "INT8, INT16, INT32, INT64, FP16, FP32, FP64, BYTES or BF16\n"
        "workflow.yaml:5: 'shape' wants whole numbers, or -1 for any, not 'many'\n"
        "workflow.yaml:7: 'pages' is not among the inputs; did you mean 'page'?\n"
        "workflow.yaml:9: 'detct' is not a task; did you mean 'detect'?\n"
        "workflow.yaml:11: 'red' is not a task; did you mean 'read'?\n"
        "workflow.yaml:12: 'score' wants 'task.output' or 'inputs.name', not 'read'\n");
    assert_heard(
        "test/documents/many/scenario.yaml",
        "scenario.yaml:16: unknown key 'polcy'; did you mean 'policy'?\n"
        "scenario.yaml:4: 'count' must be between 1 and 16384, not '0'\n"
        "scenario.yaml:4: 'memory' must be between 1MB and 1000TB, not '16'\n"
        "scenario.yaml:5: 'h2d' is missing\n"
        "nowhere.yaml: cannot be opened: No such file or directory\n"
        "scenario.yaml:9: 'slo' wants a duration such as '300ms', not 'soon'\n"
        "scenario.yaml:14: 'warmup' must be between 0% and 99%, not '200%'\n"
        "scenario.yaml:15: 'seeds' wants a whole number such as '8', not 'two'\n"
        "scenario.yaml:15: 'seeds' wants a whole number such as '8', not 'four'\n");
    assert_heard(
        "test/documents/many/profile.json",
        "profile.json:2: 'weft_profile' must be 1, the only version known, not '2'\n"
        "profile.json:3: figures 'guessed' is not known; use measured, published or assumed\n"
        "profile.json:5: 'resident' wants a size such as '14GB', not '1XB'\n"
        "profile.json:5: 'ms' must be more than 0 and at most a day, not '-1'\n"
        "profile.json:5: 'items' must be between 1 and 1000000, not '0'\n"
        "profile.json:5: unknown key 'mss'; did you mean 'ms'?\n"
        "profile.json:6: 'ms' is missing\n");
    assert_heard(
        "test/documents/many/cluster.yaml",
        "cluster.yaml:3: 'count' wants a whole number such as '8', not 'some'\n"
        "cluster.yaml:3: sharing 'both' is not known; use counted, mig or sm\n"
        "cluster.yaml:4: 'cpu' wants a number such as '1.5', not 'dear'\n"
        "cluster.yaml:4: 'gpu' must be between 0 and 1000000, not '-1'\n");
    assert_heard(
        "test/documents/many/trace.csv",
        "trace.csv:3: 't_ms' wants milliseconds such as '12.5', not 'now'\n"
        "trace.csv:5: the row goes back in time; rows are by time, ascending\n"
        "trace.csv:6: 'items' must be between 1 and 1000000, not '0'\n"
        "trace.csv:7: too few fields; a row is 't_ms,workflow,items'\n");
    assert_heard(
        "test/documents/many/settings.yaml",
        "settings.yaml:2: 'slo' wants a duration such as '300ms', not 'never'\n"
        "settings.yaml:3: 'load' must be between 1us and 1h, not '0'\n"
        "settings.yaml:3: 'cache' wants a duration such as '300ms', not '1y'\n"
        "settings.yaml:4: pinned 'maybe' is not known; use false or true\n"
        "settings.yaml:4: 'batch' wants a whole number such as '8', not 'none'\n");
}

static void count_error(void *context, const struct weft_error *error)
{
    (void)error;
    ++*(uint32_t *)context;
}

static void no_more_than_twenty_are_told(ATTR_UNUSED void **state)
{
    char text[4096] = "workflow: w\ntasks:\n";
    uint32_t count = 0;
    struct tree_listener listener = {.on_error = count_error, .context = &count};
    enum document_kind kind = DOCUMENT_SCENARIO;
    for (uint32_t i = 0; i < 50; i++) {
        const size_t length = strlen(text);
        (void)snprintf(text + length, sizeof(text) - length, "  t%u: {modle: m}\n", i);
    }
    struct tree *tree = parsed(text);
    tree->listener = &listener;
    assert_int_equal(document_check_tree(tree->root, &kind, NULL), WEFT_INVALID);
    assert_int_equal(count, TREE_ERRORS_MAX);
    tree_destroy(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_documents_are_good),   cmocka_unit_test(kinds_have_names),
        cmocka_unit_test(a_bad_document_has_no_kind),   cmocka_unit_test(all_errors_are_told),
        cmocka_unit_test(no_more_than_twenty_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
