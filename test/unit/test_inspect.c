/*
 * What hosts, screens and checkers may see of a node.
 *
 * Covers: src/node/inspect.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dies.h"
#include "lone_node.h"

static void take_all(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    (void)input;
    *answer_out = (struct dispatch_answer){.count = 1, .configs = {{.batch = queue->items}}};
}

static const struct policy batching = {.name = "batching", .dispatch = take_all};

static void counts_follow_a_job_from_request_to_answer(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_A);
    struct node_counts counts = node_counts(lone.node);
    assert_int_equal(counts.jobs, 1);
    assert_int_equal(counts.visits, 1);
    assert_int_equal(counts.queued, 1);
    assert_int_equal(counts.running, 0);
    assert_int_equal(counts.reservations, 0);
    assert_false(counts.draining);
    lone_load_done(&lone, WEFT_OK);
    counts = node_counts(lone.node);
    assert_int_equal(counts.queued, 0);
    assert_int_equal(counts.running, 1);
    lone_plan(1, 1, 1, 1);
    (void)lone_request(&lone, FLOW_A);
    counts = node_counts(lone.node);
    assert_int_equal(counts.jobs, 2);
    assert_int_equal(counts.visits, 1); /* The other is elsewhere, */
    assert_int_equal(counts.reservations, 1);
    lone_batch_done(&lone, WEFT_OK);
    counts = node_counts(lone.node);
    assert_int_equal(counts.jobs, 1);
    assert_int_equal(counts.visits, 0);
    assert_int_equal(counts.running, 0);
    lone_close(&lone);
}

static void counts_of_a_worker_show_its_memory_and_models(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.worker_count = 2, .node = 1, .gpu_units = 4});
    assert_int_equal(lone.worker, 2);
    (void)lone_request(&lone, FLOW_A);
    struct worker_counts counts = node_worker_counts(lone.node, 2);
    assert_int_equal(counts.queued, 1);
    assert_int_equal(counts.gpu_used, 0);
    assert_int_equal(counts.memory_used_bytes, MB(50));
    assert_true(model_set_has(&counts.loading, MODEL_A));
    assert_false(model_set_has(&counts.resident, MODEL_A));
    lone_load_done(&lone, WEFT_OK);
    counts = node_worker_counts(lone.node, 2);
    assert_int_equal(counts.queued, 0);
    assert_int_equal(counts.running, 1);
    assert_int_equal(counts.gpu_used, 4);
    assert_false(model_set_has(&counts.loading, MODEL_A));
    assert_true(model_set_has(&counts.resident, MODEL_A));
    counts = node_worker_counts(lone.node, 3); /* The other device. */
    assert_int_equal(counts.memory_used_bytes, 0);
    assert_false(model_set_has(&counts.resident, MODEL_A));
    lone_close(&lone);
}

static void a_batch_tells_its_tasks_and_their_inputs(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &batching});
    struct message input = lone_message(
        &lone, MESSAGE_INPUT, (struct job_id){.node = 1, .number = 5}, FLOW_DIAMOND, 3);
    input.work.input = 1;
    input.work.items = 2;
    input.work.bytes = 30;
    lone_deliver(&lone, &input); /* Tensor 1 is input 1. */
    input.work.input = 0;
    input.work.items = 1;
    input.work.bytes = 12;
    lone_deliver(&lone, &input); /* Tensor 2 is input 0. */
    const uint32_t batch = lone_find(&lone, EFFECT_LAUNCH)->launch.batch;
    const struct batch_task task = node_batch_task(lone.node, batch, 0);
    assert_int_equal(task.job.node, 1);
    assert_int_equal(task.job.number, 5);
    assert_int_equal(task.task, 3);
    assert_int_equal(task.items, 2); /* The most that any input has. */
    assert_int_equal(task.input_count, 2);
    assert_int_equal(node_batch_input_bytes(lone.node, batch, 0), 42);
    assert_int_equal(node_batch_input(lone.node, batch, 0, 0).id, 2);
    assert_int_equal(node_batch_input(lone.node, batch, 0, 1).id, 1);
    lone_close(&lone);
}

static void tasks_of_a_batch_stand_in_the_order_of_their_queue(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &batching});
    for (uint32_t i = 0; i < 4; i++) {
        (void)lone_request(&lone, FLOW_F);
    }
    lone_batch_done(&lone, WEFT_OK);
    const struct effect_launch launch = lone_find(&lone, EFFECT_LAUNCH)->launch;
    assert_int_equal(launch.task_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(node_batch_task(lone.node, launch.batch, i).job.number, i + 2);
    }
    lone_close(&lone);
}

struct question {
    const struct lone *lone;
    uint32_t batch;
    uint32_t index;
    uint32_t input;
};

static void ask_task(void *argument)
{
    const struct question *question = argument;
    (void)node_batch_task(question->lone->node, question->batch, question->index);
}

static void ask_input(void *argument)
{
    const struct question *question = argument;
    (void)node_batch_input(question->lone->node, question->batch, question->index, question->input);
}

static void ask_foreign_worker(void *argument)
{
    const struct question *question = argument;
    (void)node_worker_counts(question->lone->node, /* worker */ 1);
}

static void a_question_about_what_is_not_there_stops_the_program(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_F);
    struct question question = {.lone = &lone};
    question.batch = lone_find(&lone, EFFECT_LAUNCH)->launch.batch;
    assert_false(dies(ask_task, &question));
    assert_false(dies(ask_input, &question));
    question.input = 1;
    assert_true(dies(ask_input, &question));
    question.index = 1;
    assert_true(dies(ask_task, &question));
    assert_true(dies(ask_foreign_worker, &question));
    lone_close(&lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_follow_a_job_from_request_to_answer),
        cmocka_unit_test(counts_of_a_worker_show_its_memory_and_models),
        cmocka_unit_test(a_batch_tells_its_tasks_and_their_inputs),
        cmocka_unit_test(tasks_of_a_batch_stand_in_the_order_of_their_queue),
        cmocka_unit_test(a_question_about_what_is_not_there_stops_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
