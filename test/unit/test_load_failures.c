/*
 * Loads that fail, models that leave the repository, models and workspaces that do not fit.
 *
 * Covers: src/node/model_cache.c
 * Covers: src/node/fail_waiting.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lone_node.h"
#include "node/inside.h"

static uint64_t memory_used(const struct lone *lone)
{
    return node_worker_counts(lone->node, lone->worker).memory_used_bytes;
}

static void a_job_is_run_elsewhere_when_its_model_cannot_be_loaded_here(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct job_id job = lone_request(&lone, FLOW_A);
    lone_plan(1, 1, 1, 1);
    lone_load_done(&lone, WEFT_IO);
    assert_int_equal(lone_count(&lone, EFFECT_ANSWER), 0);
    const struct message *input = lone_sent(&lone, 1, MESSAGE_INPUT);
    assert_non_null(input);
    assert_int_equal(input->attempt, 1);
    lone_answer(&lone, job, 0);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.status, WEFT_OK);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_job_fails_with_the_cause_after_as_many_loads_as_it_has_attempts(void **state)
{
    (void)state;
    struct lone lone;
    uint32_t loads = 0;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_A);
    for (int64_t pause_ns = MS(10); lone.answers == 0; pause_ns *= 2) {
        assert_true(lone_is_asked(&lone, EFFECT_LOAD));
        lone_load_done(&lone, WEFT_IO);
        loads++;
        assert_int_equal(lone_record(&lone, RECORD_LOAD_FAILED)->value, pause_ns);
        if (lone.answers == 0) { /* The back-off is waited for. */
            const int64_t failed_ns = lone.now_ns;
            assert_false(lone_is_asked(&lone, EFFECT_LOAD));
            assert_true(lone_timer(&lone, TIMER_DISPATCH));
            assert_int_equal(lone.now_ns, failed_ns + pause_ns);
        }
    }
    assert_int_equal(loads, JOB_ATTEMPTS_MAX);
    const struct effect *answer = lone_find(&lone, EFFECT_ANSWER);
    assert_int_equal(answer->answer.status, WEFT_FAILED);
    assert_int_equal(answer->answer.reason, REASON_LOAD_FAILED);
    assert_int_equal(lone.answers, 1);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_task_that_comes_during_the_back_off_waits_for_its_end(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_A);
    lone_plan(1, 1, 1, 1);
    lone_load_done(&lone, WEFT_IO);
    lone_plan(0, 0, 0, 0);
    lone.now_ns = MS(3);
    (void)lone_request(&lone, FLOW_A);
    assert_false(lone_is_asked(&lone, EFFECT_LOAD));
    assert_true(lone_timer(&lone, TIMER_DISPATCH));
    assert_int_equal(lone.now_ns, MS(10));
    assert_true(lone_is_asked(&lone, EFFECT_LOAD));
    lone_close(&lone);
}

static void another_model_is_loaded_while_one_is_backed_off(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_A);
    lone_load_done(&lone, WEFT_IO);
    (void)lone_request(&lone, FLOW_B);
    assert_int_equal(lone_find(&lone, EFFECT_LOAD)->load.model, MODEL_B);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 1);
    lone_close(&lone);
}

static void a_load_that_works_makes_the_next_back_off_short_again(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_A);
    lone_load_done(&lone, WEFT_IO);
    assert_true(lone_timer(&lone, TIMER_DISPATCH));
    lone_load_done(&lone, WEFT_IO);
    assert_int_equal(lone_record(&lone, RECORD_LOAD_FAILED)->value, MS(20));
    assert_true(lone_timer(&lone, TIMER_DISPATCH));
    lone_settle(&lone);
    (void)lone_request(&lone, FLOW_C); /* Drives A out. */
    lone_settle(&lone);
    (void)lone_request(&lone, FLOW_A);
    lone_unload_done(&lone);
    lone_load_done(&lone, WEFT_IO);
    assert_int_equal(lone_record(&lone, RECORD_LOAD_FAILED)->value, MS(10));
    lone_close(&lone);
}

static void the_back_off_stops_growing(void **state)
{
    (void)state;
    struct lone lone;
    const int64_t longest_ns = LOAD_RETRY_FIRST_NS << LOAD_RETRIES_SHIFT_MAX;
    lone_open(&lone, &(struct lone_options){0});
    for (uint32_t i = 0; i < LOAD_RETRIES_SHIFT_MAX + 4; i++) {
        lone_deliver_task(&lone, i + 1, FLOW_A);
        if (!lone_is_asked(&lone, EFFECT_LOAD)) {
            assert_true(lone_timer(&lone, TIMER_DISPATCH));
        }
        lone_load_done(&lone, WEFT_IO);
        assert_true(lone_record(&lone, RECORD_LOAD_FAILED)->value <= longest_ns);
    }
    assert_int_equal(lone_record(&lone, RECORD_LOAD_FAILED)->value, longest_ns);
    lone_close(&lone);
}

/* @count tasks of other owners wait for A. */
static void queue_many(struct lone *lone, uint32_t count)
{
    lone_deliver_tasks(lone, count, FLOW_A);
    assert_int_equal(node_counts(lone->node).queued, count);
}

/* Let time pass until nothing is queued. Returns how many failures were reported. */
static uint32_t count_failures(struct lone *lone)
{
    uint32_t count = lone_sent_count(lone, 1, MESSAGE_FAILED);
    while (node_counts(lone->node).queued > 0) {
        assert_true(lone_timer(lone, TIMER_DISPATCH));
        count += lone_sent_count(lone, 1, MESSAGE_FAILED);
    }
    assert_false(lone_is_asked(lone, EFFECT_LOAD));
    return count;
}

static void thousands_of_tasks_survive_the_failure_of_their_model(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    queue_many(&lone, 5000);
    lone_load_done(&lone, WEFT_IO);
    assert_int_equal(count_failures(&lone), 5000);
    assert_true(lone_is_empty(&lone));
    assert_int_equal(lone.now_ns, 0); /* At once, though in many steps. */
    lone_close(&lone);
}

static void hundreds_of_own_jobs_survive_the_failure_of_their_model(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    for (uint32_t i = 0; i < 1000; i++) {
        (void)lone_request(&lone, FLOW_A);
    }
    for (uint32_t i = 0; i < JOB_ATTEMPTS_MAX; i++) {
        while (!lone_is_asked(&lone, EFFECT_LOAD)) {
            assert_true(lone_timer(&lone, TIMER_DISPATCH));
        }
        assert_int_equal(lone.answers, 0);
        lone_load_done(&lone, WEFT_IO);
    }
    while (lone.answers < 1000) {
        assert_true(lone_timer(&lone, TIMER_DISPATCH));
    }
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void thousands_of_tasks_survive_the_withdrawal_of_their_model(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    queue_many(&lone, 5000);
    lone_repository(&lone, MODEL_A, /* available */ false);
    assert_int_equal(count_failures(&lone), 5000);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void an_unwanted_load_that_ends_all_the_same_is_given_back(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    queue_many(&lone, 200); /* More than one step fails. */
    lone_repository(&lone, MODEL_A, /* available */ false);
    lone_load_done(&lone, WEFT_OK);
    assert_int_equal(lone_find(&lone, EFFECT_UNLOAD)->load.model, MODEL_A);
    assert_int_equal(lone_count(&lone, EFFECT_LAUNCH), 0);
    (void)count_failures(&lone);
    lone_unload_done(&lone);
    assert_false(lone_is_asked(&lone, EFFECT_LOAD));
    assert_int_equal(memory_used(&lone), 0);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_model_that_comes_back_in_time_spares_the_rest_of_its_tasks(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    queue_many(&lone, 200);
    lone_repository(&lone, MODEL_A, /* available */ false);
    const uint32_t failed = lone_sent_count(&lone, 1, MESSAGE_FAILED);
    lone_repository(&lone, MODEL_A, /* available */ true);
    uint32_t answered = 0;
    while (lone_is_asked(&lone, EFFECT_LAUNCH) || lone_is_asked(&lone, EFFECT_LOAD) ||
           lone_is_asked(&lone, EFFECT_UNLOAD)) {
        if (lone_is_asked(&lone, EFFECT_LOAD)) {
            lone_load_done(&lone, WEFT_OK);
        } else if (lone_is_asked(&lone, EFFECT_UNLOAD)) {
            lone_unload_done(&lone); /* What was on its way may be another. */
        } else {
            lone_batch_done(&lone, WEFT_OK);
            answered += lone_sent_count(&lone, 1, MESSAGE_INPUT);
        }
    }
    assert_true(failed > 0);
    assert_int_equal(failed + answered, 200);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_model_withdrawn_while_it_loads_is_not_loaded(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(memory_used(&lone), MB(50));
    lone_repository(&lone, MODEL_A, /* available */ false);
    assert_int_equal(lone_find(&lone, EFFECT_CANCEL_LOAD)->load.model, MODEL_A);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.reason, REASON_UNAVAILABLE);
    assert_true(lone_is_empty(&lone));
    assert_int_equal(memory_used(&lone), 0);

    assert_int_equal(lone_request(&lone, FLOW_A).number, 0);
    assert_int_equal(lone_find(&lone, EFFECT_REFUSE)->answer.reason, REASON_UNAVAILABLE);
    lone_repository(&lone, MODEL_A, /* available */ true);
    (void)lone_request(&lone, FLOW_A);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 3);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_withdrawn_model_stays_until_the_batch_that_uses_it_has_ended(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_A);
    lone_load_done(&lone, WEFT_OK);
    lone_repository(&lone, MODEL_A, /* available */ false);
    assert_int_equal(lone_count(&lone, EFFECT_UNLOAD), 0);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.status, WEFT_OK);
    assert_int_equal(lone_find(&lone, EFFECT_UNLOAD)->load.model, MODEL_A);
    assert_int_equal(lone_record(&lone, RECORD_EVICTED)->reason, REASON_WITHDRAWN);
    lone_unload_done(&lone);
    assert_int_equal(memory_used(&lone), 0);
    lone_close(&lone);
}

static void a_withdrawn_model_that_is_not_in_use_leaves_at_once(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_A);
    lone_settle(&lone);
    lone_repository(&lone, MODEL_A, /* available */ false);
    assert_int_equal(lone_find(&lone, EFFECT_UNLOAD)->load.model, MODEL_A);
    lone_repository(&lone, MODEL_A, /* available */ true); /* It leaves all the same. */
    lone_unload_done(&lone);
    assert_int_equal(memory_used(&lone), 0);
    lone_close(&lone);
}

static void offer_again(struct lone *lone)
{
    struct event event = {.kind = EVENT_REPOSITORY_CHANGED};
    event.repository.model = MODEL_A;
    event.repository.available = true;
    event.repository.warm = true;
    lone_step(lone, &event);
}

/* Two may run at once. */
static void take_half(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    (void)input;
    (void)queue;
    *answer_out = (struct dispatch_answer){.count = 1, .configs = {{.batch = 1, .gpu = 1}}};
}

static void a_model_that_is_replaced_is_loaded_anew_for_those_who_wait(void **state)
{
    (void)state;
    static const struct policy halving = {.name = "halving", .dispatch = take_half};
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.gpu_units = 2, .policy = &halving});
    (void)lone_request(&lone, FLOW_A);
    lone_load_done(&lone, WEFT_OK);
    offer_again(&lone);
    assert_int_equal(lone_count(&lone, EFFECT_UNLOAD), 0); /* It is in use. */
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_count(&lone, EFFECT_LAUNCH), 0);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.status, WEFT_OK);
    assert_int_equal(lone_find(&lone, EFFECT_UNLOAD)->load.model, MODEL_A);
    assert_int_equal(lone_count(&lone, EFFECT_LAUNCH), 0);
    lone_unload_done(&lone);
    assert_int_equal(lone_find(&lone, EFFECT_LOAD)->load.model, MODEL_A);
    lone_load_done(&lone, WEFT_OK);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.status, WEFT_OK);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_model_that_comes_is_loaded_where_there_is_room(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_repository(&lone, MODEL_A, /* available */ false);
    offer_again(&lone);
    assert_int_equal(lone_find(&lone, EFFECT_LOAD)->load.model, MODEL_A);
    offer_again(&lone); /* It may be another by now: what is being loaded does not count. */
    lone_load_done(&lone, WEFT_OK);
    assert_int_equal(lone_find(&lone, EFFECT_UNLOAD)->load.model, MODEL_A);
    lone_unload_done(&lone);
    assert_int_equal(lone_find(&lone, EFFECT_LOAD)->load.model, MODEL_A);
    lone_load_done(&lone, WEFT_OK);
    assert_int_equal(memory_used(&lone), MB(50));
    lone_close(&lone);
}

static void an_input_for_a_withdrawn_model_is_sent_back_as_a_failure(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_repository(&lone, MODEL_A, /* available */ false);
    lone_deliver_task(&lone, 1, FLOW_A);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_FAILED)->reason, REASON_UNAVAILABLE);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_model_larger_than_the_device_fails_its_job(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_HUGE);
    const struct effect *answer = lone_find(&lone, EFFECT_ANSWER);
    assert_int_equal(answer->answer.status, WEFT_FAILED);
    assert_int_equal(answer->answer.reason, REASON_TOO_LARGE);
    assert_int_equal(lone.answers, 1);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_job_with_a_task_that_fits_nowhere_is_not_begun(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_BAD_PAIR);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.status, WEFT_FAILED);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.reason, REASON_TOO_LARGE);
    assert_int_equal(lone_records(&lone, RECORD_SENT), 0);
    assert_int_equal(lone.answers, 1);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/* A has turned out to be larger than every device. */
static void a_job_that_fails_while_it_is_placed_is_answered_once(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_A);
    struct event event = {.kind = EVENT_LOAD_DONE};
    event.load.worker = lone.worker;
    event.load.model = MODEL_A;
    event.load.bytes = MB(300);
    lone_step(&lone, &event);
    assert_int_equal(lone.answers, 1);
    (void)lone_request(&lone, FLOW_PAIR); /* Its first source ends it, there is a second. */
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.reason, REASON_TOO_LARGE);
    assert_int_equal(lone.answers, 2);
    lone_close(&lone);
}

static void a_task_with_too_many_items_does_not_fit(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    struct message input = lone_task(&lone, 1, FLOW_WORK);
    input.work.items = 4; /* 60 MB and 160 MB of workspace. */
    lone_deliver(&lone, &input);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_FAILED)->reason, REASON_TOO_LARGE);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_workspace_counts_while_its_batch_runs_and_evicts(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_A);
    (void)lone_request(&lone, FLOW_B);
    lone_settle(&lone);
    assert_int_equal(memory_used(&lone), MB(80));
    struct message input = lone_task(&lone, 1, FLOW_WORK);
    input.work.items = 3;
    lone_deliver(&lone, &input);
    lone_load_done(&lone, WEFT_OK); /* 140 MB, and 120 MB of workspace: both must go. */
    assert_int_equal(lone_count(&lone, EFFECT_UNLOAD), 2);
    assert_int_equal(lone_record(&lone, RECORD_EVICTED)->reason, REASON_ROOM);
    lone_unload_done(&lone);
    assert_int_equal(lone_count(&lone, EFFECT_LAUNCH), 0);
    lone_unload_done(&lone);
    assert_int_equal(lone_count(&lone, EFFECT_LAUNCH), 1);
    assert_int_equal(memory_used(&lone), MB(180));
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(memory_used(&lone), MB(60));
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/* Tasks of A wait for each other, two at a time. */
static void pair_tasks_of_a(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    if (queue->workflow == FLOW_A && queue->items < 2) {
        *answer_out = (struct dispatch_answer){.wake_at_ns = input->view->now_ns + MS(1000)};
        return;
    }
    *answer_out = (struct dispatch_answer){.count = 1, .configs = {{.batch = queue->items}}};
}

static void a_later_queue_does_not_evict_what_an_earlier_one_needs(void **state)
{
    (void)state;
    static const struct policy pairing = {.name = "pairing", .dispatch = pair_tasks_of_a};
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &pairing});
    (void)lone_request(&lone, FLOW_A);
    lone_load_done(&lone, WEFT_OK);
    struct message input = lone_task(&lone, 1, FLOW_WORK);
    input.work.items = 3; /* 60 MB and 120 MB: not beside A. */
    lone_deliver(&lone, &input);
    lone_load_done(&lone, WEFT_OK);
    assert_false(lone_is_asked(&lone, EFFECT_UNLOAD));
    assert_false(lone_is_asked(&lone, EFFECT_LAUNCH));
    (void)lone_request(&lone, FLOW_A); /* Now the two of A run, */
    lone_batch_done(&lone, WEFT_OK);   /* and A has to make room. */
    assert_int_equal(lone_find(&lone, EFFECT_UNLOAD)->load.model, MODEL_A);
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void take_all(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    (void)input;
    *answer_out = (struct dispatch_answer){.count = 1, .configs = {{.batch = queue->items}}};
}

static void a_batch_whose_workspace_cannot_fit_is_made_smaller(void **state)
{
    (void)state;
    static const struct policy greedy = {.name = "greedy", .dispatch = take_all};
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &greedy});
    for (uint32_t i = 0; i < 8; i++) {
        (void)lone_request(&lone, FLOW_WORK);
    }
    lone_settle(&lone);
    assert_int_equal(lone.answers, 8);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void what_a_loaded_model_really_occupies_replaces_the_profile(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_A);
    struct event event = {.kind = EVENT_LOAD_DONE};
    event.load.worker = lone.worker;
    event.load.model = MODEL_A;
    event.load.bytes = MB(70);
    lone_step(&lone, &event);
    assert_int_equal(memory_used(&lone), MB(70));
    lone_batch_done(&lone, WEFT_OK);
    lone_repository(&lone, MODEL_A, /* available */ false);
    event.kind = EVENT_UNLOAD_DONE;
    lone_step(&lone, &event);
    assert_int_equal(memory_used(&lone), 0);
    lone_close(&lone);
}

static void tasks_whose_model_turns_out_too_large_fail(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_WORK);
    struct event event = {.kind = EVENT_LOAD_DONE};
    event.load.worker = lone.worker;
    event.load.model = MODEL_WORK;
    event.load.bytes = MB(180); /* Leaves no room for the workspace. */
    lone_step(&lone, &event);
    assert_int_equal(lone.answers, 1);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.reason, REASON_TOO_LARGE);
    lone_close(&lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_run_elsewhere_when_its_model_cannot_be_loaded_here),
        cmocka_unit_test(a_job_fails_with_the_cause_after_as_many_loads_as_it_has_attempts),
        cmocka_unit_test(a_task_that_comes_during_the_back_off_waits_for_its_end),
        cmocka_unit_test(another_model_is_loaded_while_one_is_backed_off),
        cmocka_unit_test(a_load_that_works_makes_the_next_back_off_short_again),
        cmocka_unit_test(the_back_off_stops_growing),
        cmocka_unit_test(thousands_of_tasks_survive_the_failure_of_their_model),
        cmocka_unit_test(hundreds_of_own_jobs_survive_the_failure_of_their_model),
        cmocka_unit_test(thousands_of_tasks_survive_the_withdrawal_of_their_model),
        cmocka_unit_test(an_unwanted_load_that_ends_all_the_same_is_given_back),
        cmocka_unit_test(a_model_that_comes_back_in_time_spares_the_rest_of_its_tasks),
        cmocka_unit_test(a_model_withdrawn_while_it_loads_is_not_loaded),
        cmocka_unit_test(a_withdrawn_model_stays_until_the_batch_that_uses_it_has_ended),
        cmocka_unit_test(a_withdrawn_model_that_is_not_in_use_leaves_at_once),
        cmocka_unit_test(a_model_that_is_replaced_is_loaded_anew_for_those_who_wait),
        cmocka_unit_test(a_model_that_comes_is_loaded_where_there_is_room),
        cmocka_unit_test(an_input_for_a_withdrawn_model_is_sent_back_as_a_failure),
        cmocka_unit_test(a_model_larger_than_the_device_fails_its_job),
        cmocka_unit_test(a_job_with_a_task_that_fits_nowhere_is_not_begun),
        cmocka_unit_test(a_job_that_fails_while_it_is_placed_is_answered_once),
        cmocka_unit_test(a_task_with_too_many_items_does_not_fit),
        cmocka_unit_test(a_workspace_counts_while_its_batch_runs_and_evicts),
        cmocka_unit_test(a_later_queue_does_not_evict_what_an_earlier_one_needs),
        cmocka_unit_test(a_batch_whose_workspace_cannot_fit_is_made_smaller),
        cmocka_unit_test(what_a_loaded_model_really_occupies_replaces_the_profile),
        cmocka_unit_test(tasks_whose_model_turns_out_too_large_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
