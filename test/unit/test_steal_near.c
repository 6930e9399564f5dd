/*
 * Workers of one node that share what waits for them.
 *
 * Covers: src/node/steal.c src/node/dispatch.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lone_node.h"
#include "node/inside.h"

static void place_on_first(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out)
{
    for (uint32_t i = 0; i < job->graph->task_count; i++) {
        placement_out[i] = (uint16_t)input->view->worker_first;
    }
}

static bool always(const double *options)
{
    (void)options;
    return true;
}

static const struct policy apart = {.name = "apart", .place_job = place_on_first};
static const struct policy pooled = {
    .name = "pooled", .place_job = place_on_first, .pools = always};

static void open_two(struct lone *lone, const struct policy *policy)
{
    lone_open(lone, &(struct lone_options){.worker_count = 2, .policy = policy});
}

static void expect_settled(struct lone *lone, uint32_t answers)
{
    lone_settle(lone);
    assert_int_equal(lone->answers, answers);
    assert_true(lone_is_empty(lone));
    lone_close(lone);
}

static void an_idle_worker_takes_what_waits_at_a_busy_one(void **state)
{
    (void)state;
    struct lone lone;
    open_two(&lone, &pooled);
    (void)lone_request(&lone, FLOW_F);
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.worker, 0);
    assert_int_equal(lone_records(&lone, RECORD_STOLEN), 0); /* It was idle itself. */
    (void)lone_request(&lone, FLOW_F);
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.worker, 1);
    assert_int_equal(lone_record(&lone, RECORD_STOLEN)->worker, 1);
    expect_settled(&lone, 2);
}

static void without_that_rule_it_stays(void **state)
{
    (void)state;
    struct lone lone;
    open_two(&lone, &apart);
    (void)lone_request(&lone, FLOW_F);
    (void)lone_request(&lone, FLOW_F);
    assert_int_equal(lone_count(&lone, EFFECT_LAUNCH), 0);
    expect_settled(&lone, 2);
}

/* Let two tasks run and two wait at the first worker; gives their jobs. */
static void fill_two(struct lone *lone, struct job_id jobs_out[static 4])
{
    open_two(lone, &pooled);
    for (uint32_t i = 0; i < 4; i++) {
        jobs_out[i] = lone_request(lone, FLOW_F);
    }
    assert_int_equal(lone_count(lone, EFFECT_LAUNCH), 0);
}

/* What the second worker runs ends. */
static void end_second(struct lone *lone)
{
    uint32_t i = 0;
    while (lone->asked[i].kind != EFFECT_LAUNCH || lone->asked[i].launch.worker != 1) {
        i++;
    }
    lone_fulfil(lone, i, WEFT_OK);
}

static void the_first_in_line_goes_first(void **state)
{
    (void)state;
    struct lone lone;
    struct job_id jobs[4];
    fill_two(&lone, jobs);
    end_second(&lone);
    assert_int_equal(lone_record(&lone, RECORD_STOLEN)->job.number, jobs[2].number);
    expect_settled(&lone, 4);
}

/* Let the first worker run model A while another task for it waits, and loads take @load_ms. */
static void wait_for_a(struct lone *lone, uint64_t load_ms)
{
    open_two(lone, &pooled);
    lone->profile->models[MODEL_A].load_bytes = MB(load_ms); /* A run takes 10 ms. */
    (void)lone_request(lone, FLOW_A);
    lone_load_done(lone, WEFT_OK);
    assert_int_equal(lone_count(lone, EFFECT_LAUNCH), 1);
    (void)lone_request(lone, FLOW_A);
}

static void a_load_that_takes_longer_than_the_wait_is_not_worth_it(void **state)
{
    (void)state;
    struct lone lone;
    wait_for_a(&lone, /* load_ms */ 11);
    assert_int_equal(lone_count(&lone, EFFECT_LOAD), 0);
    expect_settled(&lone, 2);
    wait_for_a(&lone, /* load_ms */ 9);
    assert_int_equal(lone_find(&lone, EFFECT_LOAD)->load.worker, 1);
    expect_settled(&lone, 2);
}

static void what_cannot_run_there_stays(void **state)
{
    (void)state;
    struct lone lone;
    open_two(&lone, &pooled);
    (void)lone_request(&lone, FLOW_F);
    lone.fleet->workers[1].device = 1; /* Nothing was measured there. */
    (void)lone_request(&lone, FLOW_F);
    assert_int_equal(lone_records(&lone, RECORD_STOLEN), 0);
    lone.fleet->workers[1].device = 0;
    expect_settled(&lone, 2);
}

static void a_node_that_drains_leaves_tasks_where_they_are(void **state)
{
    (void)state;
    struct lone lone;
    struct job_id jobs[4];
    struct event drain = {.kind = EVENT_DRAIN};
    fill_two(&lone, jobs);
    lone_step(&lone, &drain);
    end_second(&lone);
    assert_int_equal(lone_records(&lone, RECORD_STOLEN), 0);
    expect_settled(&lone, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_worker_takes_what_waits_at_a_busy_one),
        cmocka_unit_test(without_that_rule_it_stays),
        cmocka_unit_test(the_first_in_line_goes_first),
        cmocka_unit_test(a_load_that_takes_longer_than_the_wait_is_not_worth_it),
        cmocka_unit_test(what_cannot_run_there_stays),
        cmocka_unit_test(a_node_that_drains_leaves_tasks_where_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
