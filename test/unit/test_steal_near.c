/*
 * Workers of one node that share what waits for them, and batches.
 *
 * Covers: src/node/steal.c src/node/dispatch.c src/node/batches.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "lone_node.h"
#include "node/inside.h"
#include "node/rows.h"

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

/* Place the next jobs on these workers, one after the other. */
static uint32_t next_place;

static void place_in_turn(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out)
{
    static const uint32_t places[] = {0, 1, 0, 1};
    for (uint32_t i = 0; i < job->graph->task_count; i++) {
        placement_out[i] = (uint16_t)(input->view->worker_first + places[next_place % 4]);
    }
    next_place++;
}

/* The second worker is free first, and has the fourth job: the third is due before. */
static void what_waits_elsewhere_goes_first_if_it_is_before(void **state)
{
    static const struct policy in_turn = {
        .name = "in-turn", .place_job = place_in_turn, .pools = always};
    (void)state;
    struct lone lone;
    struct job_id jobs[4];
    next_place = 0;
    open_two(&lone, &in_turn);
    for (uint32_t i = 0; i < 4; i++) {
        jobs[i] = lone_request(&lone, FLOW_F);
    }
    end_second(&lone);
    assert_int_equal(lone_record(&lone, RECORD_STARTED)->job.number, jobs[2].number);
    assert_int_equal(lone_record(&lone, RECORD_STOLEN)->worker, 1);
    end_second(&lone);
    assert_int_equal(lone_record(&lone, RECORD_STARTED)->job.number, jobs[3].number);
    assert_int_equal(lone_records(&lone, RECORD_STOLEN), 0); /* It is its own. */
    expect_settled(&lone, 4);
}

/*
 * Let the first worker run model A while another task for it waits; loads take @load_ms, and first
 * runs @first_ms more than the 10 ms of others. The second worker has @memory.
 */
static void wait_for(struct lone *lone, uint64_t load_ms, int64_t first_ms, uint64_t memory)
{
    open_two(lone, &pooled);
    lone->fleet->workers[1].memory_bytes = memory;
    lone->profile->models[MODEL_A].load_bytes = MB(load_ms);
    lone->profile->models[MODEL_A].curves[0].first_run_ns = MS(first_ms);
    (void)lone_request(lone, FLOW_A);
    lone_load_done(lone, WEFT_OK);
    assert_int_equal(lone_count(lone, EFFECT_LAUNCH), 1);
    (void)lone_request(lone, FLOW_A);
}

static void wait_for_a(struct lone *lone, uint64_t load_ms)
{
    wait_for(lone, load_ms, /* first_ms */ 0, MB(200));
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

/* The wait is for a first run itself: of 13 ms, and a load and another first run take less. */
static void what_the_first_run_takes_longer_counts_as_well(void **state)
{
    (void)state;
    struct lone lone;
    wait_for(&lone, /* load_ms */ 9, /* first_ms */ 3, MB(200));
    assert_int_equal(lone_find(&lone, EFFECT_LOAD)->load.worker, 1);
    expect_settled(&lone, 2);
    wait_for(&lone, /* load_ms */ 11, /* first_ms */ 3, MB(200));
    assert_int_equal(lone_count(&lone, EFFECT_LOAD), 0);
    expect_settled(&lone, 2);
}

/* Let B be alone in the memory of the second worker, while A runs and another A waits. */
static void wait_beside_b(struct lone *lone, const struct policy *policy, uint64_t load_ms)
{
    open_two(lone, policy);
    lone->fleet->workers[1].memory_bytes = MB(50);
    lone->profile->models[MODEL_A].load_bytes = MB(load_ms);
    (void)lone_request(lone, FLOW_A);
    lone_load_done(lone, WEFT_OK);
    (void)lone_request(lone, FLOW_B);
    lone_load_done(lone, WEFT_OK);
    end_second(lone);
    (void)lone_request(lone, FLOW_A);
}

static int64_t much(
    ATTR_UNUSED const struct policy_input *input, ATTR_UNUSED const struct workflow_task *task,
    ATTR_UNUSED uint32_t worker, ATTR_UNUSED int64_t absent_ns)
{
    return MS(1000);
}

/* What a model costs that has to leave, and will have to come back. */
static void a_load_that_makes_another_model_leave_costs_more(void **state)
{
    static const struct policy apart_by_turns = {
        .name = "in-turn", .place_job = place_in_turn, .pools = always};
    static const struct policy dear = {
        .name = "dear", .place_job = place_in_turn, .pools = always, .eviction_ns = much};
    (void)state;
    struct lone lone;
    next_place = 0;
    wait_beside_b(&lone, &apart_by_turns, /* load_ms */ 6); /* Twice that is more than 10 ms. */
    assert_int_equal(lone_count(&lone, EFFECT_UNLOAD), 0);
    expect_settled(&lone, 3);
    next_place = 0;
    wait_beside_b(&lone, &apart_by_turns, /* load_ms */ 4);
    assert_int_equal(lone_find(&lone, EFFECT_UNLOAD)->load.worker, 1);
    expect_settled(&lone, 3);
    next_place = 0;
    wait_beside_b(&lone, &dear, /* load_ms */ 4); /* The policy knows better. */
    assert_int_equal(lone_count(&lone, EFFECT_UNLOAD), 0);
    expect_settled(&lone, 3);
}

/* The second worker would load it a second time, and the first for nothing. */
static void what_is_being_loaded_for_a_task_is_not_loaded_again_elsewhere(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(
        &lone, &(struct lone_options){.worker_count = 2, .policy = &pooled, .shares_memory = true});
    (void)lone_request(&lone, FLOW_F);
    (void)lone_request(&lone, FLOW_F); /* The second one has it. */
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_find(&lone, EFFECT_LOAD)->load.worker, 0);
    end_second(&lone);
    assert_int_equal(lone_records(&lone, RECORD_STOLEN), 0);
    assert_int_equal(lone_records(&lone, RECORD_LOAD_DROPPED), 0);
    lone_load_done(&lone, WEFT_OK);
    assert_int_equal(lone_record(&lone, RECORD_LOADING)->reason, REASON_SHARED);
    lone_load_done(&lone, WEFT_OK); /* Now it can. */
    assert_int_equal(lone_record(&lone, RECORD_STOLEN)->worker, 1);
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.worker, 1);
    expect_settled(&lone, 3);
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

/* Let model A be resident at the first of two workers that split, and ask for @items of it. */
static void ask_for_items(struct lone *lone, const struct policy *policy, uint32_t items)
{
    open_two(lone, policy);
    lone->fleet->workers[0].splits = true;
    lone->fleet->workers[1].splits = true;
    (void)lone_request(lone, FLOW_A);
    lone_load_done(lone, WEFT_OK);
    lone_settle(lone);
    struct event event = {.kind = EVENT_REQUEST};
    event.request.client = ++lone->clients;
    event.request.workflow = FLOW_A;
    event.request.items = items;
    event.request.inputs = (struct handle){.id = 0};
    event.request.bytes = MB(1);
    lone_step(lone, &event);
}

static void an_idle_worker_takes_part_in_a_batch(void **state)
{
    (void)state;
    struct lone lone;
    ask_for_items(&lone, &pooled, 5);
    const struct effect *launch = lone_find(&lone, EFFECT_LAUNCH);
    assert_int_equal(launch->launch.config.parts, 2);
    assert_int_equal(lone_record(&lone, RECORD_STARTED)->cpu, 2);
    assert_int_equal(rows_running_ns(lone.node, &lone.node->workers[0]), MS(30)); /* 3 of 10 ms. */
    expect_settled(&lone, 2);
}

static void nothing_takes_part_in_what_cannot_be_split(void **state)
{
    (void)state;
    struct lone lone;
    ask_for_items(&lone, &pooled, 1);
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.config.parts, 1);
    expect_settled(&lone, 2);
    ask_for_items(&lone, &apart, 5);
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.config.parts, 1);
    expect_settled(&lone, 2);
}

/* Ask for four items of A, of which a batch of two takes @two_ms and one of four @four_ms. */
static uint32_t parts_where(uint32_t two_ms, uint32_t four_ms, bool alone, bool is_busy)
{
    struct lone lone;
    open_two(&lone, &pooled);
    lone.fleet->workers[0].splits = true;
    lone.fleet->workers[1].splits = !is_busy;
    const struct profile_point two = {.items = 2, .run_ns = MS(two_ms)};
    const struct profile_point four = {.items = 4, .run_ns = MS(four_ms)};
    profile_put_point(lone.profile, MODEL_A, 0, &two);
    profile_put_point(lone.profile, MODEL_A, 0, &four);
    lone.profile->models[MODEL_A].alone = alone;
    struct event event = {.kind = EVENT_REQUEST};
    event.request.client = ++lone.clients;
    event.request.workflow = FLOW_A;
    event.request.items = 4;
    event.request.bytes = MB(1);
    lone_step(&lone, &event);
    lone_load_done(&lone, WEFT_OK);
    const uint32_t parts = lone_find(&lone, EFFECT_LAUNCH)->launch.config.parts;
    expect_settled(&lone, 1);
    return parts;
}

static void a_split_gains_more_than_it_costs(void **state)
{
    (void)state;
    assert_int_equal(parts_where(20, 40, /* alone */ false, /* is_busy */ false), 2);
    assert_int_equal(parts_where(26, 40, false, false), 2); /* 14 ms sooner, for 12 ms more. */
    assert_int_equal(parts_where(27, 40, false, false), 1); /* 13 ms sooner, for 14 ms more. */
    assert_int_equal(parts_where(20, 40, /* alone */ true, false), 1);
    assert_int_equal(parts_where(20, 40, false, /* is_busy */ true), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_worker_takes_what_waits_at_a_busy_one),
        cmocka_unit_test(without_that_rule_it_stays),
        cmocka_unit_test(the_first_in_line_goes_first),
        cmocka_unit_test(what_waits_elsewhere_goes_first_if_it_is_before),
        cmocka_unit_test(a_load_that_takes_longer_than_the_wait_is_not_worth_it),
        cmocka_unit_test(what_the_first_run_takes_longer_counts_as_well),
        cmocka_unit_test(a_load_that_makes_another_model_leave_costs_more),
        cmocka_unit_test(what_is_being_loaded_for_a_task_is_not_loaded_again_elsewhere),
        cmocka_unit_test(what_cannot_run_there_stays),
        cmocka_unit_test(a_node_that_drains_leaves_tasks_where_they_are),
        cmocka_unit_test(an_idle_worker_takes_part_in_a_batch),
        cmocka_unit_test(nothing_takes_part_in_what_cannot_be_split),
        cmocka_unit_test(a_split_gains_more_than_it_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
