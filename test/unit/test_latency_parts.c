/* Covers: src/service/late_report.c */
#include "trace/latency_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "service/late_report.h"

enum { TASKS = 4 };

/* begin -> left, right -> end */
static struct workflow *diamond(void)
{
    static const char *const names[TASKS] = {"begin", "left", "right", "end"};
    static const uint32_t edges[][2] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
    struct workflow *workflow = workflow_create("diamond");
    for (uint32_t i = 0; i < TASKS; i++) {
        struct workflow_task task = {.run = i};
        (void)snprintf(task.name, sizeof(task.name), "%s", names[i]);
        assert_int_equal(workflow_add_task(workflow, &task, &(uint32_t){0}), WEFT_OK);
    }
    for (uint32_t i = 0; i < 4; i++) {
        const struct workflow_edge edge = {.from = edges[i][0], .to = edges[i][1]};
        assert_int_equal(workflow_add_edge(workflow, &edge), WEFT_OK);
    }
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    return workflow;
}

static int64_t sum_of(const struct latency_parts *spent)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
        sum += spent->ns[i];
    }
    return sum;
}

/* Arrived at 100, answered at 1000; the right branch is the slow one. */
static const struct latency_task run[TASKS] = {
    {.queued_ns = 110, .started_ns = 120, .ended_ns = 200, .worker = 1},
    {.queued_ns = 200, .started_ns = 210, .ended_ns = 700, .worker = 2},
    {.queued_ns = 230, .started_ns = 630, .ended_ns = 750, .loading_ns = 150, .worker = 3},
    {.queued_ns = 760, .started_ns = 800, .ended_ns = 990, .worker = 4},
};

static void parts_add_up_along_the_slowest_path(ATTR_UNUSED void **state)
{
    struct workflow *workflow = diamond();
    struct latency_parts spent;
    latency_parts_split(workflow, run, 100, 1000, &spent);
    assert_int_equal(spent.ns[LATENCY_RUNNING], 80 + 120 + 190);
    assert_int_equal(spent.ns[LATENCY_LOADING], 150);
    assert_int_equal(spent.ns[LATENCY_QUEUED], 10 + 250 + 40);
    assert_int_equal(spent.ns[LATENCY_MOVING], 10 + 30 + 10 + 10);
    assert_int_equal(sum_of(&spent), 900);
    assert_int_equal(
        spent.longest, LATENCY_QUEUED); /* Not the left branch, which ran for longer. */
    assert_int_equal(spent.longest_ns, 250);
    assert_int_equal(spent.task, 2);
    assert_int_equal(spent.worker, 3);
    workflow_destroy(workflow);
}

static void what_is_not_known_is_moving(ATTR_UNUSED void **state)
{
    struct workflow *workflow = diamond();
    struct latency_parts spent;
    struct latency_task tasks[TASKS] = {{0}};
    latency_parts_split(workflow, tasks, 100, 1000, &spent);
    assert_int_equal(spent.ns[LATENCY_MOVING], 900);
    tasks[3] = run[3]; /* Its producers run once more, and have not ended. */
    latency_parts_split(workflow, tasks, 100, 1000, &spent);
    assert_int_equal(spent.ns[LATENCY_RUNNING], 190);
    assert_int_equal(spent.ns[LATENCY_MOVING], 660 + 10);
    assert_int_equal(sum_of(&spent), 900);
    workflow_destroy(workflow);
}

static void times_that_contradict_each_other_still_add_up(ATTR_UNUSED void **state)
{
    struct workflow *workflow = diamond();
    struct latency_parts spent;
    struct latency_task tasks[TASKS];
    memcpy(tasks, run, sizeof(tasks));
    tasks[2].ended_ns = 900;  /* After its consumer began: of another attempt. */
    tasks[1].queued_ns = 50;  /* Before the job came. */
    tasks[3].ended_ns = 2000; /* After the answer. */
    latency_parts_split(workflow, tasks, 100, 1000, &spent);
    assert_int_equal(sum_of(&spent), 900);
    for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
        assert_true(spent.ns[i] >= 0);
    }
    workflow_destroy(workflow);
}

static void only_workflows_with_late_jobs_are_printed(ATTR_UNUSED void **state)
{
    char said[512] = {0};
    struct workflow one = {.name = "quick"};
    struct workflow two = {.name = "slow"};
    struct workflow *workflows[] = {&one, &two};
    const struct catalogue catalogue = {.workflow_count = 2, .workflows = workflows};
    const struct late_figures figures[] = {
        {.done = 9},
        {.done = 8, .late = 2, .ns = {3000000000, 1000000000, 500000000, 0}},
    };
    FILE *file = tmpfile();
    assert_non_null(file);
    late_report_print(&catalogue, figures, file);
    rewind(file);
    assert_true(fread(said, 1, sizeof(said) - 1, file) > 0);
    assert_string_equal(
        said, "workflow    late  mean, s  queued  loading  running  moving\n"
              "slow      2 of 8     2.25    1.50     0.50     0.25    0.00\n");
    late_report_print(&catalogue, (const struct late_figures[2]){{.done = 9}}, file);
    assert_int_equal(ftell(file), (long)strlen(said));
    (void)fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_add_up_along_the_slowest_path),
        cmocka_unit_test(what_is_not_known_is_moving),
        cmocka_unit_test(times_that_contradict_each_other_still_add_up),
        cmocka_unit_test(only_workflows_with_late_jobs_are_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
