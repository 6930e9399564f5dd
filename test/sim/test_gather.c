/*
 * Tasks that are shorter than their hand-off: when they go together, and when they do not.
 *
 * Covers: src/node/gather.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "stage.h"

enum { ENDS_MAX = 16 };

#define US(us) ((int64_t)(us)*1000)

static struct record ends[ENDS_MAX];
static uint32_t end_count;
static uint32_t placed; /* Jobs so far. */

static void note(ATTR_UNUSED void *context, const struct record *record)
{
    if (record->kind == RECORD_ENDED) {
        assert_true(end_count < ENDS_MAX);
        ends[end_count++] = *record;
    }
}

/* The first job goes to worker 0, all others to worker 1. */
static void place(
    ATTR_UNUSED const struct policy_input *input, ATTR_UNUSED const struct job_facts *job,
    uint16_t *placement_out)
{
    placement_out[0] = placed++ == 0 ? 0 : 1;
}

static void sixteen(
    ATTR_UNUSED const struct policy_input *input, ATTR_UNUSED const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    *answer_out = (struct dispatch_answer){.count = 1, .configs = {{.batch = 16, .gpu = 1}}};
}

static bool always(ATTR_UNUSED const double *options)
{
    return true;
}

static const struct policy pooled = {
    .name = "pooled", .place_job = place, .dispatch = sixteen, .pools = always};

/* Two processors; a task runs for @run_ns after 2 ms of hand-off. */
static uint32_t begin(struct stage *stage, int64_t run_ns)
{
    const struct fleet_worker device = {
        .memory_bytes = MB(1000), .bus_bytes_per_s = MB(1000), .gpu_units = 1, .splits = true};
    stage_open(stage, /* node_count */ 0, MB(1000));
    assert_true(fleet_add_machine(stage->fleet, &device, /* devices */ 2, /* cpu_units */ 2));
    const uint32_t model = stage_model(stage, "a", /* bytes */ 0, run_ns);
    const uint32_t workflow = stage_chain(stage, "a", "a");
    stage->profile->models[model].curves[0].handoff_ns = MS(2);
    stage->options.on_record = note;
    end_count = 0;
    placed = 0;
    policy_set_single(&pooled, &stage->policies);
    return workflow;
}

static void expect_end(uint32_t nth, int64_t at_ns, uint32_t worker, uint32_t batch)
{
    assert_true(nth < end_count);
    assert_int_equal(ends[nth].at_ns, at_ns);
    assert_int_equal(ends[nth].worker, worker);
    assert_int_equal(ends[nth].batch, batch);
}

/* Three jobs, of which the first has begun when the others come. */
static void run(struct stage *stage, uint32_t workflow)
{
    stage->sim = sim_create(&stage->options);
    stage_request(stage, 0, 0, workflow);
    stage_request(stage, US(500), 0, workflow);
    stage_request(stage, US(600), 0, workflow);
    sim_run(stage->sim);
    stage_close(stage);
}

static void short_tasks_wait_for_one_batch(ATTR_UNUSED void **state)
{
    struct stage stage;
    run(&stage, begin(&stage, US(100)));
    assert_int_equal(end_count, 3);
    expect_end(0, US(2100), 0, 1);
    expect_end(1, US(4300), 0, 2); /* Together: a hand-off and two runs. */
    expect_end(2, US(4300), 0, 2);
}

static void long_tasks_use_every_worker(ATTR_UNUSED void **state)
{
    struct stage stage;
    run(&stage, begin(&stage, MS(3)));
    assert_int_equal(end_count, 3);
    expect_end(0, MS(5), 0, 1);
    expect_end(1, US(5500), 1, 1);
    expect_end(2, MS(10), 0, 1); /* Taken by the first that is free. */
}

/* Not even short tasks wait for a batch that takes ten times as long as it should. */
static void what_is_late_is_not_waited_for(ATTR_UNUSED void **state)
{
    struct stage stage;
    const uint32_t workflow = begin(&stage, US(100));
    stage.faults[0] =
        (struct fault){.kind = FAULT_SLOW, .victim = 0, .for_ns = MS(1000), .factor = 50};
    stage.options.fault_count = 1;
    run(&stage, workflow);
    assert_int_equal(end_count, 3);
    assert_int_equal(ends[0].worker, 1);
    assert_int_equal(ends[1].worker, 1);
    assert_true(ends[1].at_ns < MS(20)); /* Looked at again after 10 ms. */
    assert_int_equal(ends[2].worker, 0);
    assert_true(ends[2].at_ns > MS(50));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_tasks_wait_for_one_batch),
        cmocka_unit_test(long_tasks_use_every_worker),
        cmocka_unit_test(what_is_late_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
