/* Intervals of tasks: they fit the whole, along every way and in every branch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "configs/budget.h"
#include "model/workflow.h"
#include "random_graph.h"

enum { GRAPHS = 3000 };

#define WHOLE_NS INT64_C(1000000)

static struct workflow *drawn(uint32_t count, const char *edges)
{
    struct workflow *workflow = workflow_create("drawn");
    for (uint32_t i = 0; i < count; i++) {
        (void)add_named(workflow, i);
    }
    for (const char *at = edges; *at != '\0'; at += at[2] == ' ' ? 3 : 2) {
        const enum weft_status status =
            connect(workflow, (uint32_t)(at[0] - 'a'), (uint32_t)(at[1] - 'a'));
        assert_int_equal(status, WEFT_OK);
    }
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    return workflow;
}

static void expect_interval(const struct budget_task *task, int64_t start_ns, int64_t end_ns)
{
    assert_int_equal(task->start_ns, start_ns);
    assert_int_equal(task->end_ns, end_ns);
}

static void the_published_example_is_divided_as_published(void **state)
{
    (void)state;
    struct workflow *workflow = drawn(5, "ab bc ce ad de");
    static const int64_t lengths[] = {20, 30, 10, 15, 25};
    static const int64_t widths_ms[] = {235, 353, 118, 471, 294};
    struct budget_task tasks[5];
    budget_split(workflow, lengths, 1000000000, 3, tasks);

    for (uint32_t i = 0; i < 5; i++) {
        const int64_t width_ns = tasks[i].end_ns - tasks[i].start_ns;
        assert_int_equal((width_ns + 500000) / 1000000, widths_ms[i]);
    }
    assert_int_equal(tasks[1].start_ns, tasks[0].end_ns);
    assert_int_equal(tasks[3].start_ns, tasks[0].end_ns); /* A short branch has the same, */
    assert_int_equal(tasks[3].end_ns, tasks[2].end_ns);   /* whole interval. */
    assert_int_equal(tasks[4].end_ns, 1000000000);
    workflow_destroy(workflow);
}

static void groups_stop_at_forks_and_joins(void **state)
{
    (void)state;
    struct workflow *workflow = drawn(9, "ab bc ce ad de ef fg gh hi");
    static const int64_t lengths[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const uint32_t left[] = {1, 2, 1, 1, 3, 2, 1, 2, 1};
    static const uint32_t next[] = {TASK_NONE, 2,         TASK_NONE, TASK_NONE, 5,
                                    6,         TASK_NONE, 8,         TASK_NONE};
    struct budget_task tasks[9];
    budget_split(workflow, lengths, 1000, 3, tasks);

    for (uint32_t i = 0; i < 9; i++) {
        assert_int_equal(tasks[i].left, left[i]);
        assert_int_equal(tasks[i].next, next[i]);
    }
    workflow_destroy(workflow);
}

static void nested_branches_share_nested_intervals(void **state)
{
    (void)state;
    /* a, then b with (c or d) and e inside, beside f; then g. */
    struct workflow *workflow = drawn(7, "ab bc bd ce de eg af fg");
    static const int64_t lengths[] = {10, 10, 20, 40, 10, 5, 20};
    struct budget_task tasks[7];
    budget_split(workflow, lengths, 900, 3, tasks);

    expect_interval(&tasks[0], 0, 100);
    expect_interval(&tasks[1], 100, 200);
    expect_interval(&tasks[2], 200, 600); /* As long as d, which takes twice the time. */
    expect_interval(&tasks[3], 200, 600);
    expect_interval(&tasks[4], 600, 700);
    expect_interval(&tasks[5], 100, 700);
    expect_interval(&tasks[6], 700, 900);
    workflow_destroy(workflow);
}

static void edges_across_are_divided_by_the_longest_way_through_each(void **state)
{
    (void)state;
    /* No task between a and f lies on all ways: b to d and e, c to e. */
    struct workflow *workflow = drawn(6, "ab ac bd be ce df ef");
    static const int64_t lengths[] = {10, 20, 40, 20, 20, 10};
    struct budget_task tasks[6];
    budget_split(workflow, lengths, 800, 3, tasks);

    expect_interval(&tasks[0], 0, 100);
    expect_interval(&tasks[1], 100, 400); /* Half of the way b, d or b, e. */
    expect_interval(&tasks[2], 100, 500); /* Two thirds of the way c, e. */
    expect_interval(&tasks[3], 400, 700);
    expect_interval(&tasks[4], 500, 700);
    expect_interval(&tasks[5], 700, 800);
    workflow_destroy(workflow);
}

static void sources_and_sinks_may_be_many(void **state)
{
    (void)state;
    struct workflow *workflow = drawn(6, "ac bc cd ce");
    static const int64_t lengths[] = {10, 30, 10, 20, 60, 7};
    struct budget_task tasks[6];
    budget_split(workflow, lengths, 1000, 3, tasks);

    expect_interval(&tasks[0], 0, 300);
    expect_interval(&tasks[1], 0, 300);
    expect_interval(&tasks[2], 300, 400);
    expect_interval(&tasks[3], 400, 1000);
    expect_interval(&tasks[4], 400, 1000);
    expect_interval(&tasks[5], 0, 1000); /* On its own. */
    workflow_destroy(workflow);
}

static int64_t longest(
    const struct workflow *workflow, const int64_t *lengths, uint32_t task, int64_t *up)
{
    up[task] = lengths[task];
    for (uint32_t in = 0; in < workflow->tasks[task].in_count; in++) {
        const int64_t before = up[workflow_in(workflow, task, in)->from] + lengths[task];
        up[task] = before > up[task] ? before : up[task];
    }
    return up[task];
}

/* Whether every way from a source to a sink passes @task. */
static bool is_on_all_ways(const struct workflow *workflow, uint32_t task)
{
    struct reach reach;
    find_reach(workflow, task, &reach);
    for (uint32_t i = 0; i < workflow->source_count; i++) {
        const uint32_t source = workflow->sources[i];
        for (uint32_t sink = 0; sink < workflow->task_count && source != task; sink++) {
            const bool ends = workflow->tasks[sink].sink != TASK_NONE && sink != task;
            if (ends && (source == sink || reach.from[source][sink])) {
                return false;
            }
        }
    }
    return true;
}

static void expect_fitting(const struct workflow *workflow, const struct budget_task *tasks)
{
    int64_t last_ns = 0;
    for (uint32_t i = 0; i < workflow->edge_count; i++) {
        const struct workflow_edge *edge = &workflow->edges[i];
        assert_true(tasks[edge->from].end_ns <= tasks[edge->to].start_ns);
    }
    for (uint32_t task = 0; task < workflow->task_count; task++) {
        assert_true(tasks[task].start_ns >= 0);
        assert_true(tasks[task].start_ns <= tasks[task].end_ns);
        assert_true(tasks[task].end_ns <= WHOLE_NS);
        last_ns = tasks[task].end_ns > last_ns ? tasks[task].end_ns : last_ns;
        const bool ends = workflow->tasks[task].sink != TASK_NONE;
        assert_true(!ends || tasks[task].end_ns == WHOLE_NS); /* No task leaves time unused. */
    }
    assert_int_equal(last_ns, WHOLE_NS);
}

/* Along a longest way, each begins when the one before it ends, and all is used. */
static void expect_all_used(
    const struct workflow *workflow, const int64_t *lengths, const struct budget_task *tasks,
    const int64_t *up, int64_t whole)
{
    for (uint32_t sink = 0; sink < workflow->task_count; sink++) {
        if (up[sink] != whole) {
            continue;
        }
        uint32_t task = sink;
        while (up[task] != lengths[task]) {
            uint32_t before = TASK_NONE;
            for (uint32_t in = 0; in < workflow->tasks[task].in_count; in++) {
                const uint32_t from = workflow_in(workflow, task, in)->from;
                before = up[from] + lengths[task] == up[task] ? from : before;
            }
            assert_int_equal(tasks[before].end_ns, tasks[task].start_ns);
            task = before;
        }
        assert_int_equal(tasks[task].start_ns, 0);
    }
}

static void any_graph_is_divided_within_the_whole(void **state)
{
    (void)state;
    struct rng rng = rng_stream(1, RNG_TEST, 0);
    for (uint32_t i = 0; i < GRAPHS; i++) {
        struct workflow *workflow = random_graph(&rng, /* cycles */ false);
        int64_t lengths[RANDOM_TASKS_MAX];
        int64_t up[RANDOM_TASKS_MAX];
        int64_t whole = 0;
        struct budget_task tasks[RANDOM_TASKS_MAX];
        assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
        for (uint32_t task = 0; task < workflow->task_count; task++) {
            lengths[task] = 1 + rng_below(&rng, 50);
        }
        for (uint32_t k = 0; k < workflow->task_count; k++) {
            const int64_t way = longest(workflow, lengths, workflow->order[k], up);
            whole = way > whole ? way : whole;
        }
        budget_split(workflow, lengths, WHOLE_NS, 3, tasks);

        expect_fitting(workflow, tasks);
        expect_all_used(workflow, lengths, tasks, up, whole);
        for (uint32_t task = 0; task < workflow->task_count; task++) {
            if (is_on_all_ways(workflow, task)) {
                assert_int_equal(tasks[task].end_ns, WHOLE_NS * up[task] / whole);
            }
        }
        workflow_destroy(workflow);
    }
}

static void lengths_are_mean_shares_of_the_time(void **state)
{
    (void)state;
    /* One config takes ten times the other: both count the same. */
    static const int64_t run_ns[] = {100, 300, 3000, 1000};
    int64_t lengths[2];
    budget_lengths(run_ns, 2, 2, lengths);

    assert_int_equal(lengths[0], (INT64_C(1) << 39) + 1);
    assert_int_equal(lengths[1], (INT64_C(1) << 39) + 1);
    budget_lengths(run_ns, 2, 0, lengths);
    assert_int_equal(lengths[0], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_example_is_divided_as_published),
        cmocka_unit_test(groups_stop_at_forks_and_joins),
        cmocka_unit_test(nested_branches_share_nested_intervals),
        cmocka_unit_test(edges_across_are_divided_by_the_longest_way_through_each),
        cmocka_unit_test(sources_and_sinks_may_be_many),
        cmocka_unit_test(any_graph_is_divided_within_the_whole),
        cmocka_unit_test(lengths_are_mean_shares_of_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
