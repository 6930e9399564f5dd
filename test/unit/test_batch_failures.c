/*
 * Batches that fail: what is run again, where, how often, and what the owner hears of it.
 *
 * Covers: src/node/dispatch.c src/node/jobs.c src/node/placing.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lone_node.h"
#include "node/inside.h"

static void take_all(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    (void)input;
    *answer_out = (struct dispatch_answer){.count = 1, .configs = {{.batch = queue->items}}};
}

static const struct policy batching = {.name = "batching", .dispatch = take_all};

static void a_failed_task_is_run_again_where_the_new_plan_says(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct job_id job = lone_request(&lone, FLOW_F);
    lone_plan(2, 2, 2, 2);
    lone_batch_done(&lone, WEFT_FAILED);
    assert_int_equal(lone_record(&lone, RECORD_FAILED)->reason, REASON_BATCH_FAILED);
    assert_int_equal(lone_record(&lone, RECORD_PLACED)->reason, REASON_REPLACED);
    assert_int_equal(lone_sent(&lone, 2, MESSAGE_INPUT)->attempt, 1);
    assert_int_equal(lone.answers, 0);
    lone_answer(&lone, job, 0);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.status, WEFT_OK);
    lone_answer(&lone, job, 0); /* Again: no client is there to be told. */
    assert_int_equal(lone.answers, 1);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_job_is_answered_once_with_the_reason_after_too_many_attempts(void **state)
{
    (void)state;
    struct lone lone;
    uint32_t runs = 0;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_F);
    while (lone.answers == 0) {
        lone_batch_done(&lone, WEFT_FAILED);
        runs++;
    }
    assert_int_equal(runs, JOB_ATTEMPTS_MAX);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.status, WEFT_FAILED);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.reason, REASON_BATCH_FAILED);
    assert_false(lone_is_asked(&lone, EFFECT_LAUNCH));
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_failure_halfway_runs_the_producers_again(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_CHAIN);
    lone_load_done(&lone, WEFT_OK);
    lone_batch_done(&lone, WEFT_OK); /* a */
    lone_load_done(&lone, WEFT_OK);
    lone_batch_done(&lone, WEFT_IO); /* b */
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.task, 0);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 1);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.status, WEFT_OK);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void both_branches_of_a_diamond_may_fail_at_once(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.gpu_units = 2, .policy = &batching});
    (void)lone_request(&lone, FLOW_DIAMOND);
    lone_batch_done(&lone, WEFT_OK); /* The fork. */
    lone_load_done(&lone, WEFT_OK);
    lone_batch_done(&lone, WEFT_IO); /* a */
    lone_load_done(&lone, WEFT_OK);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 1);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/* Sources A and F of one job run on other nodes, and both fail under attempt 0. */
static void two_sources_that_fail_together_are_both_run_again(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 2, 0, 0);
    const struct job_id job = lone_request(&lone, FLOW_PAIR);
    struct message failed = lone_message(&lone, MESSAGE_FAILED, job, FLOW_PAIR, 0);
    failed.reason = REASON_BATCH_FAILED;
    failed.from = 1;
    failed.worker = 1;
    uint32_t inputs = 0;
    lone_deliver(&lone, &failed);
    inputs += lone_sent_count(&lone, 2, MESSAGE_INPUT);
    failed.from = 2;
    failed.worker = 2;
    failed.task = 1;
    lone_deliver(&lone, &failed);
    inputs += lone_sent_count(&lone, 2, MESSAGE_INPUT);
    assert_true(inputs > 0);
    lone_close(&lone);
}

static void every_task_of_a_failed_batch_is_run_again(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &batching});
    for (uint32_t i = 0; i < 6; i++) {
        (void)lone_request(&lone, FLOW_F);
    }
    lone_batch_done(&lone, WEFT_OK); /* The first ran alone. */
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.task_count, 5);
    lone_batch_done(&lone, WEFT_FAILED);
    assert_int_equal(lone_records(&lone, RECORD_FAILED), 5);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 6);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_task_of_a_batch_may_fail_alone(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &batching});
    for (uint32_t i = 0; i < 6; i++) {
        (void)lone_request(&lone, FLOW_F);
    }
    lone_batch_done(&lone, WEFT_OK); /* The first ran alone. */
    lone.bad_task = 3;
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(lone_records(&lone, RECORD_ENDED), 4);
    assert_int_equal(lone_records(&lone, RECORD_FAILED), 1);
    assert_int_equal(lone_record(&lone, RECORD_FAILED)->reason, REASON_BATCH_FAILED);
    assert_int_equal(lone.answers, 5);
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.task_count, 1); /* That one again. */
    lone_settle(&lone);
    assert_int_equal(lone.answers, 6);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void what_is_invalid_is_not_run_again(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_F);
    lone_batch_done(&lone, WEFT_INVALID);
    assert_int_equal(lone.answers, 1);
    const struct effect *answer = lone_find(&lone, EFFECT_ANSWER);
    assert_int_equal(answer->answer.status, WEFT_INVALID);
    assert_int_equal(answer->answer.reason, REASON_INVALID);
    assert_null(lone_find(&lone, EFFECT_LAUNCH));
    lone_settle(&lone);
    assert_int_equal(lone.answers, 1);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void the_owner_of_a_failed_task_is_told_why(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    struct message input = lone_task(&lone, 7, FLOW_F);
    input.attempt = 3;
    lone_deliver(&lone, &input);
    lone_batch_done(&lone, WEFT_FAILED);
    const struct message *failed = lone_sent(&lone, 1, MESSAGE_FAILED);
    assert_int_equal(failed->reason, REASON_BATCH_FAILED);
    assert_int_equal(failed->attempt, 3);
    assert_int_equal(failed->task, 0);
    assert_int_equal(failed->job.number, 7);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_failure_that_no_job_waits_for_is_not_told(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &batching});
    struct message inputs[3];
    for (uint32_t i = 0; i < 3; i++) {
        inputs[i] = lone_task(&lone, i + 1, FLOW_F);
        lone_deliver(&lone, &inputs[i]);
    }
    lone_batch_done(&lone, WEFT_OK);
    const struct message cancel =
        lone_message(&lone, MESSAGE_CANCEL, inputs[1].job, FLOW_F, TASK_NONE);
    lone_deliver(&lone, &cancel);
    assert_int_equal(lone_count(&lone, EFFECT_CANCEL_BATCH), 0); /* Another one is in it. */
    lone_batch_done(&lone, WEFT_FAILED);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_FAILED), 1);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_FAILED)->job.number, 3);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_batch_is_cancelled_with_the_last_task_that_is_wanted(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &batching});
    struct job_id jobs[3];
    for (uint32_t i = 0; i < 3; i++) {
        jobs[i] = lone_request(&lone, FLOW_F);
    }
    lone_batch_done(&lone, WEFT_OK);
    lone_cancel(&lone, jobs[1]);
    assert_int_equal(lone_count(&lone, EFFECT_CANCEL_BATCH), 0);
    lone_cancel(&lone, jobs[2]);
    assert_int_equal(lone_count(&lone, EFFECT_CANCEL_BATCH), 1);
    assert_int_equal(lone.answers, 3);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static uint32_t arrivals;
static uint32_t placements;

static void count_arrival(const struct policy_input *input, const struct job_facts *job)
{
    (void)input;
    (void)job;
    arrivals++;
}

static void place_on_the_second(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out)
{
    (void)input;
    (void)job;
    placements++;
    placement_out[0] = 1;
}

static void a_job_that_is_placed_again_has_arrived_once(void **state)
{
    (void)state;
    static const struct policy counting = {
        .name = "counting",
        .arrived = count_arrival,
        .place_job = place_on_the_second,
    };
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &counting});
    const struct job_id job = lone_request(&lone, FLOW_F);
    struct message failed = lone_message(&lone, MESSAGE_FAILED, job, FLOW_F, 0);
    failed.reason = REASON_BATCH_FAILED;
    lone_deliver(&lone, &failed);
    assert_int_equal(placements, 2);
    assert_int_equal(arrivals, 1);
    lone_close(&lone);
}

static void news_of_an_attempt_that_was_replaced_are_ignored(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    const struct job_id job = lone_request(&lone, FLOW_F);
    struct message failed = lone_message(&lone, MESSAGE_FAILED, job, FLOW_F, 0);
    failed.reason = REASON_BATCH_FAILED;
    for (uint32_t i = 0; i < 10; i++) { /* Attempt 0 fails only once. */
        lone_deliver(&lone, &failed);
    }
    assert_int_equal(lone.answers, 0);
    failed.attempt = 1;
    lone_deliver(&lone, &failed);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_INPUT)->attempt, 2);
    lone_close(&lone);
}

static void a_failure_that_makes_no_sense_is_ignored(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    const struct job_id job = lone_request(&lone, FLOW_F);
    const uint32_t used = lone_used(&lone);
    struct message failed = lone_message(&lone, MESSAGE_FAILED, job, FLOW_F, 1);
    lone_deliver(&lone, &failed); /* No such task, */
    failed.task = 0;
    failed.reason = REASON_COUNT; /* reason */
    lone_deliver(&lone, &failed);
    failed.reason = REASON_BATCH_FAILED;
    failed.job.number++; /* or job. */
    lone_deliver(&lone, &failed);
    assert_int_equal(lone_used(&lone), used);
    assert_int_equal(lone.answers, 0);
    lone_close(&lone);
}

static void a_model_that_is_not_available_ends_the_job_at_once(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 2, 2, 2);
    const struct job_id job = lone_request(&lone, FLOW_CHAIN);
    struct message failed = lone_message(&lone, MESSAGE_FAILED, job, FLOW_CHAIN, 0);
    failed.reason = REASON_UNAVAILABLE;
    lone_deliver(&lone, &failed);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.reason, REASON_UNAVAILABLE);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_CANCEL), 1);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_CANCEL), 1);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_full_batch_may_fork_and_fail_within_the_bounds_of_a_step(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &batching});
    lone_plan(0, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND);
    for (uint32_t i = 0; i < 3 * BATCH_TASKS_MAX; i++) {
        (void)lone_request(&lone, FLOW_DIAMOND);
    }
    lone_batch_done(&lone, WEFT_OK);
    lone_batch_done(&lone, WEFT_OK);     /* 64 forks end: 128 tasks more. */
    lone_batch_done(&lone, WEFT_FAILED); /* 64 forks fail. */
    lone_settle(&lone);
    assert_int_equal(lone.answers, 3 * BATCH_TASKS_MAX);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_full_batch_of_joins_may_fail_within_the_bounds_of_a_step(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &batching});
    for (uint32_t i = 0; i < 3 * BATCH_TASKS_MAX; i++) {
        (void)lone_request(&lone, FLOW_PAIR);
    }
    uint32_t failures = 0;
    while (lone.answers < 3 * BATCH_TASKS_MAX) {
        if (lone_is_asked(&lone, EFFECT_LOAD)) {
            lone_load_done(&lone, WEFT_OK);
            continue;
        }
        const struct effect *batch = &lone.asked[0];
        for (uint32_t i = 0; batch->kind != EFFECT_LAUNCH; i++) {
            batch = &lone.asked[i];
        }
        const bool fails = batch->launch.task == 2 && failures < 6;
        failures += fails ? 1 : 0;
        lone_batch_done(&lone, fails ? WEFT_FAILED : WEFT_OK);
    }
    assert_int_equal(failures, 6);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void take_half(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    (void)input;
    (void)queue;
    *answer_out = (struct dispatch_answer){.count = 1, .configs = {{.batch = 1, .gpu = 1}}};
}

static void batches_wait_for_their_share_and_end_in_any_order(void **state)
{
    (void)state;
    static const struct policy halving = {.name = "halving", .dispatch = take_half};
    struct lone lone;
    struct event event = {.kind = EVENT_SHARE_READY};
    lone_open(
        &lone, &(struct lone_options){.gpu_units = 2, .reshape_ns = MS(1), .policy = &halving});
    (void)lone_request(&lone, FLOW_F);
    const struct job_id second = lone_request(&lone, FLOW_F);
    assert_int_equal(node_worker_counts(lone.node, 0).gpu_used, 2);
    assert_false(lone_is_asked(&lone, EFFECT_LAUNCH));
    event.share.name = 3; /* There is no such share. */
    lone_step(&lone, &event);
    assert_false(lone_is_asked(&lone, EFFECT_LAUNCH));
    lone_cancel(&lone, second); /* Before it ran: nothing is there to be cancelled. */
    assert_int_equal(lone_count(&lone, EFFECT_CANCEL_BATCH), 0);
    (void)lone_request(&lone, FLOW_F);
    lone_share_ready(&lone);
    assert_int_equal(lone_count(&lone, EFFECT_LAUNCH), 2);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(node_worker_counts(lone.node, 0).gpu_used, 1);
    lone_batch_done(&lone, WEFT_OK);
    (void)lone_request(&lone, FLOW_F);
    assert_int_equal(lone_count(&lone, EFFECT_LAUNCH), 1); /* The share is ready now. */
    lone_settle(&lone);
    assert_int_equal(lone.answers, 4);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/* One task a device, with all of the machine's processors. */
static void take_processors(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    (void)input;
    (void)queue;
    *answer_out = (struct dispatch_answer){.count = 1, .configs = {{.batch = 1, .cpu = 8}}};
}

static void a_task_that_waits_for_processors_starts_when_another_device_frees_them(void **state)
{
    (void)state;
    static const struct policy hungry = {.name = "hungry", .dispatch = take_processors};
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.worker_count = 2, .policy = &hungry});
    (void)lone_request(&lone, FLOW_F);
    lone_plan(1, 1, 1, 1);
    (void)lone_request(&lone, FLOW_F);
    assert_int_equal(lone_count(&lone, EFFECT_LAUNCH), 0);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(lone_count(&lone, EFFECT_LAUNCH), 1);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 2);
    lone_close(&lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_task_is_run_again_where_the_new_plan_says),
        cmocka_unit_test(a_job_is_answered_once_with_the_reason_after_too_many_attempts),
        cmocka_unit_test(a_failure_halfway_runs_the_producers_again),
        cmocka_unit_test(both_branches_of_a_diamond_may_fail_at_once),
        cmocka_unit_test(two_sources_that_fail_together_are_both_run_again),
        cmocka_unit_test(every_task_of_a_failed_batch_is_run_again),
        cmocka_unit_test(a_task_of_a_batch_may_fail_alone),
        cmocka_unit_test(what_is_invalid_is_not_run_again),
        cmocka_unit_test(the_owner_of_a_failed_task_is_told_why),
        cmocka_unit_test(a_failure_that_no_job_waits_for_is_not_told),
        cmocka_unit_test(a_batch_is_cancelled_with_the_last_task_that_is_wanted),
        cmocka_unit_test(a_job_that_is_placed_again_has_arrived_once),
        cmocka_unit_test(news_of_an_attempt_that_was_replaced_are_ignored),
        cmocka_unit_test(a_failure_that_makes_no_sense_is_ignored),
        cmocka_unit_test(a_model_that_is_not_available_ends_the_job_at_once),
        cmocka_unit_test(a_full_batch_may_fork_and_fail_within_the_bounds_of_a_step),
        cmocka_unit_test(a_full_batch_of_joins_may_fail_within_the_bounds_of_a_step),
        cmocka_unit_test(batches_wait_for_their_share_and_end_in_any_order),
        cmocka_unit_test(a_task_that_waits_for_processors_starts_when_another_device_frees_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
