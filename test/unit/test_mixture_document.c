/*
 * Covers: src/document/mixture_document.c, src/document/mixture_save.c
 *
 * Mixtures as documents: what is written reads as the same, and what is wrong is one line.
 */
#include "document/mixture_document.h"

#include <stdio.h>
#include <stdlib.h>

#include "document/scenario.h"
#include "document_fixture.h"
#include "mixture/mixture.h"

/* Lines 1 to 9. Two workers, two links of each machine, and a workflow of two tasks. */
#define CLUSTER                                                                                    \
    "scenario: s\n"                                                                                \
    "cluster: {machines: {count: 2, device: {kind: d, memory: 1GB, h2d: 1GB/s}}}\n"                \
    "workflows:\n"                                                                                 \
    "  - {workflow: pair, tasks: {a: {function: f}, b: {function: f, after: [a]}}}\n"              \
    "  - {workflow: one, tasks: {t: {function: f}}}\n"                                             \
    "profile: {weft_profile: 1, figures: assumed, models: {f: {devices: {d: {ms: 1}}}}}\n"         \
    "arrivals: {rate: 1/s}\n"
#define GOOD "{weight: 3, workers: [1, 0]}, {weight: 1, workers: [0, 0]}"

static struct scenario *scenario_of(const char *mixture)
{
    char text[4096];
    struct scenario *scenario = NULL;
    struct weft_error error = {0};
    (void)snprintf(text, sizeof(text), CLUSTER "mixture:\n%s", mixture);
    struct tree *tree = parsed(text);
    assert_good(scenario_read(tree->root, &scenario, &error), &error);
    tree_destroy(tree);
    return scenario;
}

static void a_mixture_is_read(ATTR_UNUSED void **state)
{
    struct scenario *scenario =
        scenario_of("  weft_mixture: 1\n"
                    "  mean_ms: 2.5\n"
                    "  workflows:\n"
                    "    pair: {rate_per_s: 7, mean_ms: 2.5, tasks: [b, a], patterns: [" GOOD "]}\n"
                    "  workers: [0.25, 0.5]\n"
                    "  links: [0, 0, 0, 0.125]\n");
    const struct mixture *mixture = scenario->mixture;
    assert_true(mixture->sealed);
    assert_true(mixture_has(mixture, 0));
    assert_false(mixture_has(mixture, 1));
    assert_true(mixture->mean_ns == 2.5e6);
    assert_true(mixture->worker_load[1] == 0.5);
    assert_true(mixture->link_load[3] == 0.125);
    const struct mixture_workflow *mixed = &mixture->workflows[0];
    assert_true(mixed->rate_per_s == 7);
    assert_true(mixed->mean_ns == 2.5e6);
    assert_int_equal(mixed->pattern_count, 2);
    assert_true(mixed->weights[0] == 0.75);
    assert_int_equal(mixture_placement(mixture, 0, 0)[0], 0); /* The columns are b, a. */
    assert_int_equal(mixture_placement(mixture, 0, 0)[1], 1);
    scenario_destroy(scenario);
}

static char *written(const struct scenario *scenario)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    mixture_print(scenario->mixture, scenario->catalogue, file);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void what_is_written_reads_the_same(ATTR_UNUSED void **state)
{
    struct scenario *scenario = scenario_of(
        "  {weft_mixture: 1, workflows: {\n"
        "    one: {tasks: [t], patterns: [{weight: 0, workers: [0]}, {weight: 7, workers: [1]}]},\n"
        "    pair: {rate_per_s: 0.1, tasks: [a, b], patterns: [" GOOD
        ", {weight: 0.3, workers: [1, 1]}]}}}\n");
    struct weft_error error = {0};
    struct mixture *again = NULL;
    struct tree *tree = NULL;
    char *text = written(scenario);
    assert_good(tree_parse("m.json", text, strlen(text), &tree, &error), &error);
    assert_good(
        mixture_read(tree->root, scenario->catalogue, scenario->fleet, &again, &error), &error);
    const struct mixture_workflow *before = &scenario->mixture->workflows[0];
    const struct mixture_workflow *after = &again->workflows[0];
    assert_int_equal(after->pattern_count, 3);
    assert_memory_equal(after->weights, before->weights, 3 * sizeof(*after->weights));
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(after->table[i].keep, before->table[i].keep);
        assert_int_equal(after->table[i].other, before->table[i].other);
    }
    assert_memory_equal(after->placements, before->placements, 6 * sizeof(*after->placements));
    assert_true(after->rate_per_s == 0.1);
    assert_int_equal(again->workflows[1].pattern_count, 1); /* What is never drawn is left out. */
    free(text);
    tree_destroy(tree);
    mixture_destroy(again);
    scenario_destroy(scenario);
}

/* In a scenario that names no other file, too. */
static void a_scenario_keeps_its_mixture(ATTR_UNUSED void **state)
{
    struct scenario *scenario = scenario_of(
        "  {weft_mixture: 1, workflows: {pair: {tasks: [a, b], patterns: [" GOOD "]}}}\n");
    struct scenario *again = NULL;
    struct weft_error error = {0};
    struct tree *tree = NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_good(scenario_write(scenario, file, &error), &error);
    assert_int_equal(fclose(file), 0);
    assert_good(tree_parse("s.yaml", text, size, &tree, &error), &error);
    assert_good(scenario_read(tree->root, &again, &error), &error);
    assert_true(again->mixture->workflows[0].weights[0] == 0.75);
    const struct scenario_setting four = {.key = "workers", .value = "4"};
    scenario_destroy(again);
    assert_int_equal(
        scenario_read_with(tree->root, &four, /* count */ 1, &again, &error), WEFT_INVALID);
    assert_non_null(strstr(error.message, ": there are 4 workers, not 2"));
    free(text);
    tree_destroy(tree);
    scenario_destroy(scenario);
}

#define PAIR(tasks, patterns)                                                                      \
    "  {weft_mixture: 1, workflows: {pair: {tasks: [" tasks "], patterns: [" patterns "]}}}"

static void what_is_wrong_is_said(ATTR_UNUSED void **state)
{
    static const struct {
        const char *mixture;
        const char *message;
    } cases[] = {
        {"  {workflows: {}}", "'weft_mixture' is missing"},
        {"  {weft_mixture: 2, workflows: {}}", "'weft_mixture' must be 1, not '2'"},
        {"  {weft_mixture: 1}", "'workflows' is missing"},
        {"  {weft_mixture: 1, workflows: [pair]}", "'workflows' wants a mapping, not a list"},
        {"  {weft_mixture: 1, workflows: {}, load: 3}", "unknown key 'load'"},
        {"  {weft_mixture: 1, workflows: {two: {}}}", "there is no workflow 'two'"},
        {PAIR("a", GOOD), "'pair' has 2 tasks, not 1"},
        {PAIR("a, c", GOOD), "'pair' has no task 'c'"},
        {PAIR("a, a", GOOD), "task 'a' is named twice"},
        {PAIR("a, b", ""), "no pattern has a weight above 0"},
        {PAIR("a, b", "{weight: 0, workers: [0, 0]}"), "no pattern has a weight above 0"},
        {PAIR("a, b", "{weight: -1, workers: [0, 0]}"),
         "'weight' must be between 0 and 1e12, not '-1'"},
        {PAIR("a, b", "{workers: [0, 0]}"), "'weight' is missing"},
        {PAIR("a, b", "{weight: 1, workers: [0]}"),
         "a pattern needs 2 workers, one for each task, not 1"},
        {PAIR("a, b", "{weight: 1, workers: [0, 2]}"),
         "'workers' must be the number of a worker, not '2'"},
        {"  {weft_mixture: 1, workflows: {}, workers: [1]}", "there are 2 workers, not 1"},
        {"  {weft_mixture: 1, workflows: {}, links: []}", "there are 4 links, not 0"},
        {"  none.json", "none.json: cannot be opened: No such file or directory"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[4096];
        struct scenario *scenario = NULL;
        struct weft_error error = {0};
        const bool is_path = strstr(cases[i].mixture, "none") != NULL;
        (void)snprintf(text, sizeof(text), CLUSTER "mixture:\n%s\n", cases[i].mixture);
        struct tree *tree = parsed(text);
        const enum weft_status status = scenario_read(tree->root, &scenario, &error);
        assert_int_equal(status, is_path ? WEFT_IO : WEFT_INVALID);
        assert_true(
            strncmp(error.message, "t.yaml:8: ", 10) == 0 ||
            strncmp(error.message, "t.yaml:9: ", 10) == 0);
        assert_string_equal(error.message + 10, cases[i].message);
        tree_destroy(tree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mixture_is_read),
        cmocka_unit_test(what_is_written_reads_the_same),
        cmocka_unit_test(a_scenario_keeps_its_mixture),
        cmocka_unit_test(what_is_wrong_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
