/* Covers: src/engine/edge_part.c. */
#include "engine/edge_part.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

enum { MODEL, PASS };

/* The tasks of the workflow below. */
enum { SPLIT, REQUEST, LEFT, RIGHT, ANSWER, TASKS };

static struct workflow *workflow;

static void add_port(uint32_t task, uint32_t from, const char *output)
{
    struct workflow_port port = {.task = task, .from = from};
    (void)snprintf(port.name, sizeof(port.name), "in-%s", output);
    (void)snprintf(port.output, sizeof(port.output), "%s", output);
    assert_int_equal(workflow_add_port(workflow, &port), WEFT_OK);
}

static void add_edge(uint32_t from, uint32_t to)
{
    const struct workflow_edge edge = {.from = from, .to = to};
    assert_int_equal(workflow_add_edge(workflow, &edge), WEFT_OK);
}

static void add_result(uint32_t task, const char *output)
{
    struct workflow_result result = {.task = task};
    (void)snprintf(result.name, sizeof(result.name), "%u-%s", task, output);
    (void)snprintf(result.output, sizeof(result.output), "%s", output);
    assert_int_equal(workflow_add_result(workflow, &result), WEFT_OK);
}

/*
 * Split takes x of the request and makes a, b and c. Left takes a and, by a task that passes the
 * request on, y; right takes b. The answer has c, by a task that passes it on, and l of left.
 */
static int set_up(ATTR_UNUSED void **state)
{
    static const char *const names[TASKS] = {"split", "inputs", "left", "right", "outputs.split"};
    workflow = workflow_create("w");
    for (uint32_t i = 0; i < TASKS; i++) {
        struct workflow_task task = {.run = i == REQUEST || i == ANSWER ? PASS : MODEL};
        uint32_t number;
        (void)snprintf(task.name, sizeof(task.name), "%s", names[i]);
        assert_int_equal(workflow_add_task(workflow, &task, &number), WEFT_OK);
    }
    add_edge(SPLIT, LEFT);
    add_edge(REQUEST, LEFT);
    add_edge(SPLIT, RIGHT);
    add_edge(SPLIT, ANSWER);
    add_port(SPLIT, TASK_NONE, "x");
    add_port(LEFT, SPLIT, "a");
    add_port(LEFT, REQUEST, "y");
    add_port(RIGHT, SPLIT, "b");
    add_result(ANSWER, "c");
    add_result(LEFT, "l");
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    return 0;
}

static int tear_down(ATTR_UNUSED void **state)
{
    workflow_destroy(workflow);
    return 0;
}

/* The names, as letters, of what crosses from @from to @to, of a bundle of those in @made. */
static void check(uint32_t from, uint32_t to, const char *made, const char *expected)
{
    const struct edge_part edge = {.workflow = workflow, .from = from, .to = to, .pass = PASS};
    struct bundle *bundle = bundle_create();
    for (const char *name = made; *name != '\0'; name++) {
        const struct weft_tensor tensor = {
            .name = {*name}, .dtype = WEFT_UINT8, .rank = 1, .shape = {3}, .bytes = 3};
        assert_non_null(bundle_add(bundle, &tensor));
    }
    struct bundle *part = edge_part_take(&edge, bundle);
    char got[16] = "";
    for (uint32_t i = 0; i < part->count; i++) {
        got[i] = part->tensors[i].name[0];
    }
    assert_string_equal(got, expected);
    assert_int_equal(part->bytes, 3 * strlen(expected));
    assert_int_equal(part == bundle, strlen(made) == strlen(expected));
    bundle_destroy(part);
    bundle_destroy(bundle);
}

static void each_consumer_gets_what_its_ports_take(ATTR_UNUSED void **state)
{
    check(SPLIT, LEFT, "abcd", "a");
    check(SPLIT, RIGHT, "abcd", "b");
    check(TASK_NONE, SPLIT, "wxy", "x");
    check(SPLIT, RIGHT, "b", "b");
    check(SPLIT, RIGHT, "", "");
}

static void who_passes_on_gets_what_those_after_it_take(ATTR_UNUSED void **state)
{
    check(TASK_NONE, REQUEST, "wxy", "y");
    check(REQUEST, LEFT, "wxy", "y");
    check(SPLIT, ANSWER, "abcd", "c");
}

static void the_client_gets_the_results_of_a_sink(ATTR_UNUSED void **state)
{
    check(LEFT, TASK_NONE, "klm", "l");
    check(ANSWER, TASK_NONE, "abcd", "c");
    check(RIGHT, TASK_NONE, "abcd", "");
}

static void without_names_everything_goes(ATTR_UNUSED void **state)
{
    struct workflow *named = workflow;
    const struct workflow_edge edge = {.from = 0, .to = 1};
    workflow = workflow_create("plain");
    for (uint32_t i = 0; i < 2; i++) {
        struct workflow_task task = {.name = {(char)('a' + i)}};
        uint32_t number;
        assert_int_equal(workflow_add_task(workflow, &task, &number), WEFT_OK);
    }
    assert_int_equal(workflow_add_edge(workflow, &edge), WEFT_OK);
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    check(TASK_NONE, 0, "xy", "xy");
    check(0, 1, "xy", "xy");
    check(1, TASK_NONE, "xy", "xy");
    workflow_destroy(workflow);
    workflow = named;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_consumer_gets_what_its_ports_take),
        cmocka_unit_test(who_passes_on_gets_what_those_after_it_take),
        cmocka_unit_test(the_client_gets_the_results_of_a_sink),
        cmocka_unit_test(without_names_everything_goes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
