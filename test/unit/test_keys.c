/*
 * Requests with keys: at their owner, at its deputy, and when they are asked for again.
 *
 * Covers: src/node/keys.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lone_node.h"
#include "node/keys.h"

#define ALL_UP    UINT64_C(7)
#define WITHOUT_1 UINT64_C(5)

static const struct job_id foreign = {.node = 1, .number = 1};

static void open_with_deputies(struct lone *lone)
{
    lone_open(lone, &(struct lone_options){.has_deputies = true});
    lone_plan(0, 0, 0, 0);
}

/* A key whose owner is @owner, while all are there. */
static struct request_key key_of(uint32_t owner)
{
    struct lone lone;
    open_with_deputies(&lone);
    uint32_t is;
    do {
        lone.key.words[0]++;
        (void)lone_request(&lone, FLOW_A);
        const struct effect *redirect = lone_find(&lone, EFFECT_REDIRECT);
        is = redirect == NULL ? 0 : redirect->redirect.node;
    } while (is != owner);
    const struct request_key key = lone.key;
    lone_close(&lone);
    return key;
}

/* Ask for what this node owns. Returns the deputy that is told of it. */
static uint32_t ask_owner(struct lone *lone, struct job_id *job_out)
{
    lone->key = key_of(0);
    *job_out = lone_request(lone, FLOW_A);
    assert_int_equal(lone_find(lone, EFFECT_ACCEPT)->accept.deputy, NODE_NONE);
    const uint32_t deputy = lone_sent_count(lone, 1, MESSAGE_DEPUTE) == 1 ? 1 : 2;
    assert_int_equal(lone_sent_count(lone, deputy, MESSAGE_DEPUTE), 1);
    return deputy;
}

static struct message about(
    struct lone *lone, enum message_kind kind, struct job_id job, uint32_t from)
{
    struct message message = lone_message(lone, kind, job, FLOW_A, 0);
    message.from = from;
    if (kind == MESSAGE_DEPUTE) {
        message.deputy = (struct message_deputy){
            .items = 1, .left_ns = INT64_MAX, .bytes = MB(1), .key = key_of(1)};
    }
    return message;
}

static void a_client_of_another_owner_is_redirected(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone.key = key_of(1);
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_find(&lone, EFFECT_REDIRECT)->redirect.node, 1);
    assert_int_equal(lone_find(&lone, EFFECT_REDIRECT)->redirect.client, lone.clients);
    assert_true(lone_is_empty(&lone));
    lone.key = (struct request_key){{0}};
    (void)lone_request(&lone, FLOW_A); /* Without a key any node is as good. */
    assert_int_equal(lone_count(&lone, EFFECT_REDIRECT), 0);
    lone_close(&lone);
}

static void the_owner_hears_from_its_deputy_that_a_request_is_safe(void **state)
{
    (void)state;
    struct lone lone;
    struct job_id job;
    open_with_deputies(&lone);
    const uint32_t deputy = ask_owner(&lone, &job);
    struct message known = about(&lone, MESSAGE_DEPUTED, job, 3 - deputy);
    lone_deliver(&lone, &known);
    assert_int_equal(lone_count(&lone, EFFECT_ACCEPT), 0);
    known.from = deputy;
    lone_deliver(&lone, &known);
    assert_int_equal(lone_find(&lone, EFFECT_ACCEPT)->accept.deputy, deputy);
    assert_true(job_equal(lone_find(&lone, EFFECT_ACCEPT)->accept.job, job));
    lone_close(&lone);
}

static void a_request_that_was_asked_for_twice_is_answered_to_the_later_client(void **state)
{
    (void)state;
    struct lone lone;
    struct job_id job;
    open_with_deputies(&lone);
    (void)ask_owner(&lone, &job);
    assert_true(job_equal(lone_request(&lone, FLOW_A), job));
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.client, lone.clients - 1);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.reason, REASON_DUPLICATE);
    assert_int_equal(node_counts(lone.node).jobs, 1);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 2);
    lone_close(&lone);
}

static void a_key_is_not_used_for_two_requests(void **state)
{
    (void)state;
    struct lone lone;
    struct job_id job;
    open_with_deputies(&lone);
    (void)ask_owner(&lone, &job);
    lone.inputs_hash = 1;
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_find(&lone, EFFECT_REFUSE)->answer.reason, REASON_KEY_REUSED);
    lone.inputs_hash = 0;
    (void)lone_request(&lone, FLOW_F);
    assert_int_equal(lone_find(&lone, EFFECT_REFUSE)->answer.reason, REASON_KEY_REUSED);
    assert_int_equal(node_counts(lone.node).jobs, 1);
    lone_close(&lone);
}

/* The job that is running here ends. */
static struct effect_answer end_job(struct lone *lone)
{
    const uint32_t answers = lone->answers;
    while (lone->answers == answers) {
        if (lone_is_asked(lone, EFFECT_LOAD)) {
            lone_load_done(lone, WEFT_OK);
        } else {
            lone_batch_done(lone, WEFT_OK);
        }
    }
    return lone_find(lone, EFFECT_ANSWER)->answer;
}

static void an_answer_is_given_again_for_a_while(void **state)
{
    (void)state;
    struct lone lone;
    struct job_id job;
    open_with_deputies(&lone);
    const uint32_t deputy = ask_owner(&lone, &job);
    const struct effect_answer first = end_job(&lone);
    const uint64_t output = first.outputs[0].id;
    assert_true(first.is_kept);
    assert_int_equal(lone_sent_count(&lone, deputy, MESSAGE_SETTLED), 1);
    for (uint32_t i = 0; i < 2; i++) {
        (void)lone_request(&lone, FLOW_A);
        const struct effect_answer again = lone_find(&lone, EFFECT_ANSWER)->answer;
        assert_int_equal(again.status, WEFT_OK);
        assert_int_equal(again.output_count, 1);
        assert_int_equal(again.outputs[0].id, output);
        assert_int_equal(again.client, lone.clients);
        assert_int_equal(node_counts(lone.node).jobs, 0);
    }
    for (uint32_t i = 0; i < 16 && !lone_is_empty(&lone); i++) {
        assert_true(lone_timer(&lone, TIMER_AUDIT));
    }
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void what_its_client_cancels_is_forgotten(void **state)
{
    (void)state;
    struct lone lone;
    struct job_id job;
    open_with_deputies(&lone);
    const uint32_t deputy = ask_owner(&lone, &job);
    lone_cancel(&lone, job);
    assert_int_equal(lone_sent_count(&lone, deputy, MESSAGE_SETTLED), 1);
    assert_false(node_knows(lone.node, lone.key));
    lone_close(&lone);
}

static void a_deputy_knows_of_a_request_until_it_is_answered(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    struct message lie = about(&lone, MESSAGE_DEPUTE, foreign, 2);
    lone_deliver(&lone, &lie);
    assert_int_equal(lone_records(&lone, RECORD_IGNORED), 1);
    assert_true(lone_is_empty(&lone));
    const struct message told = about(&lone, MESSAGE_DEPUTE, foreign, 1);
    lone_deliver(&lone, &told);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_DEPUTED), 1);
    assert_true(node_knows(lone.node, told.deputy.key));
    assert_int_equal(node_counts(lone.node).jobs, 0);
    lone.key = told.deputy.key;
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_find(&lone, EFFECT_REDIRECT)->redirect.node, 1);
    lie = about(&lone, MESSAGE_SETTLED, foreign, 2);
    lone_deliver(&lone, &lie);
    assert_true(node_knows(lone.node, told.deputy.key));
    const struct message settled = about(&lone, MESSAGE_SETTLED, foreign, 1);
    lone_deliver(&lone, &settled);
    assert_false(node_knows(lone.node, told.deputy.key));
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/* This node is told of @losses by an owner, which is then lost. */
static void lose_owner(struct lone *lone, uint32_t losses)
{
    struct message told = about(lone, MESSAGE_DEPUTE, foreign, 1);
    told.deputy.losses = losses;
    lone_deliver(lone, &told);
    lone->key = told.deputy.key;
    lone_members(lone, 2, WITHOUT_1, /* fresh */ 0);
    assert_true(lone_timer(lone, TIMER_REPAIR));
}

static void the_deputy_takes_over_and_whoever_asks_gets_the_answer(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lose_owner(&lone, 0);
    assert_int_equal(lone_record(&lone, RECORD_TAKEN_OVER)->value, 1);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_DEPUTE), 1); /* And has one itself. */
    assert_int_equal(lone_sent(&lone, 2, MESSAGE_DEPUTE)->deputy.losses, 1);
    assert_int_equal(node_counts(lone.node).jobs, 1);
    const struct job_id job = lone_request(&lone, FLOW_A);
    assert_int_equal(job.node, 0);
    assert_int_equal(node_counts(lone.node).jobs, 1);
    const struct effect_answer answer = end_job(&lone);
    assert_int_equal(answer.status, WEFT_OK);
    assert_int_equal(answer.client, lone.clients);
    lone_close(&lone);
}

static void a_job_that_no_client_waits_for_ends_too(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lose_owner(&lone, 0);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 0);
    assert_int_equal(node_counts(lone.node).jobs, 0);
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.status, WEFT_OK);
    lone_close(&lone);
}

static void attempts_are_counted_over_all_owners(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lose_owner(&lone, JOB_ATTEMPTS_MAX - 1);
    assert_int_equal(node_counts(lone.node).jobs, 0);
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.status, WEFT_FAILED);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.reason, REASON_ATTEMPTS);
    lone_close(&lone);
}

static void who_has_a_request_does_not_become_its_deputy(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lose_owner(&lone, 0);
    struct message told = about(&lone, MESSAGE_DEPUTE, (struct job_id){.node = 2, .number = 4}, 2);
    lone_deliver(&lone, &told);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_TAKEN), 1);
    assert_int_equal(node_counts(lone.node).jobs, 1);
    lone_members(&lone, 3, ALL_UP, /* fresh */ 2); /* The lost owner was only out of reach. */
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_TAKEN), 1);
    assert_true(job_equal(lone_sent(&lone, 1, MESSAGE_TAKEN)->job, foreign));
    lone_close(&lone);
}

static void an_owner_gives_up_what_is_taken(void **state)
{
    (void)state;
    struct lone lone;
    struct job_id job;
    open_with_deputies(&lone);
    const uint32_t deputy = ask_owner(&lone, &job);
    struct message taken = about(&lone, MESSAGE_TAKEN, job, 3 - deputy);
    lone_deliver(&lone, &taken); /* Another node cannot say so. */
    assert_int_equal(node_counts(lone.node).jobs, 1);
    taken.from = deputy;
    lone_deliver(&lone, &taken);
    assert_int_equal(lone_find(&lone, EFFECT_REDIRECT)->redirect.node, deputy);
    assert_int_equal(lone_count(&lone, EFFECT_ANSWER), 0);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_of_another_owner_is_redirected),
        cmocka_unit_test(the_owner_hears_from_its_deputy_that_a_request_is_safe),
        cmocka_unit_test(a_request_that_was_asked_for_twice_is_answered_to_the_later_client),
        cmocka_unit_test(a_key_is_not_used_for_two_requests),
        cmocka_unit_test(an_answer_is_given_again_for_a_while),
        cmocka_unit_test(what_its_client_cancels_is_forgotten),
        cmocka_unit_test(a_deputy_knows_of_a_request_until_it_is_answered),
        cmocka_unit_test(the_deputy_takes_over_and_whoever_asks_gets_the_answer),
        cmocka_unit_test(a_job_that_no_client_waits_for_ends_too),
        cmocka_unit_test(attempts_are_counted_over_all_owners),
        cmocka_unit_test(who_has_a_request_does_not_become_its_deputy),
        cmocka_unit_test(an_owner_gives_up_what_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
