/*
 * Requests with keys: at their owner, at its deputy, at a node that was asked again.
 *
 * Covers: src/node/keys.c src/node/keys_peers.c src/node/keys_repair.c src/node/keys_table.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lone_node.h"
#include "node/keys.h"
#include "node/keys_table.h"
#include "node/model_cache.h"

#define ALL_UP    UINT64_C(7)
#define WITHOUT_1 UINT64_C(5)

static const struct job_id foreign = {.node = 1, .number = 1};

static void open_with_deputies(struct lone *lone)
{
    lone_open(lone, &(struct lone_options){.has_deputies = true});
    lone_plan(0, 0, 0, 0);
}

/* A key for which @home is the first in rank, and @second the next, while all are there. */
static struct request_key key_of(uint32_t home, uint32_t second)
{
    struct lone lone;
    open_with_deputies(&lone);
    struct request_key key = {{0}};
    do {
        key.words[0]++;
    } while (keyed_first_but(lone.node, key, NODE_NONE) != home ||
             keyed_first_but(lone.node, key, home) != second);
    lone_close(&lone);
    return key;
}

/* What @from says of @job, whose key is that of @lone. */
static struct message about(
    struct lone *lone, enum message_kind kind, struct job_id job, uint32_t from)
{
    struct message message = lone_message(lone, kind, job, FLOW_A, 0);
    message.from = from;
    message.deputy = (struct message_deputy){.key = lone->key};
    if (message_has_tensor(kind)) {
        message.deputy.items = 1;
        message.deputy.left_ns = INT64_MAX;
        message.deputy.bytes = MB(1);
    }
    const uint32_t slot = jobs_find(lone->node, job);
    if (kind == MESSAGE_DEPUTED && slot != MAP_NONE) { /* It knows all that there is to know. */
        message.deputy.losses = job_at(lone->node, slot)->losses;
    }
    return message;
}

static void say(struct lone *lone, enum message_kind kind, struct job_id job, uint32_t from)
{
    const struct message message = about(lone, kind, job, from);
    lone_deliver(lone, &message);
}

static void say_end(
    struct lone *lone, struct job_id job, uint32_t from, enum weft_status status,
    enum reason reason)
{
    struct message message = about(lone, MESSAGE_SETTLED, job, from);
    message.deputy.status = status_code(status);
    message.deputy.reason = reason;
    lone_deliver(lone, &message);
}

/* All members that this node has asked whether they know of the request say that they do not. */
static void let_nobody_know(struct lone *lone)
{
    const uint32_t slot = keys_find(lone->node, lone->key);
    for (uint32_t peer = 1; peer < 3; peer++) {
        assert_int_equal(lone_sent_count(lone, peer, MESSAGE_RECALL), 1);
    }
    const struct job_id receipt = keyed_at(lone->node, slot)->job;
    for (uint32_t peer = 1; peer < 3; peer++) {
        assert_int_equal(node_counts(lone->node).jobs, 0); /* Nothing runs before all have. */
        say(lone, MESSAGE_UNKNOWN, receipt, peer);
    }
    assert_int_equal(node_counts(lone->node).jobs, 1);
}

/* Ask for a request whose deputy is node 1. */
static struct job_id ask_owner(struct lone *lone)
{
    lone->key = key_of(0, 1);
    (void)lone_request(lone, FLOW_A);
    assert_int_equal(lone_find(lone, EFFECT_ACCEPT)->accept.deputy, NODE_NONE);
    if (lone->is_retry) {
        let_nobody_know(lone);
    }
    assert_int_equal(lone_sent_count(lone, 1, MESSAGE_DEPUTE), 1);
    return keyed_at(lone->node, keys_find(lone->node, lone->key))->job;
}

/* The deputy of the request that was last asked for says that it knows of it. */
static void let_deputy_know(struct lone *lone)
{
    const struct keyed *entry = keyed_at(lone->node, keys_find(lone->node, lone->key));
    say(lone, MESSAGE_DEPUTED, entry->job, entry->deputy);
}

/* The job that is here ends; its deputy, if it has one, says that it knows of it. */
static void end_job(struct lone *lone)
{
    lone_settle(lone);
    if (node_counts(lone->node).jobs > 0) {
        let_deputy_know(lone);
        lone_settle(lone);
    }
    assert_int_equal(node_counts(lone->node).jobs, 0);
}

static struct effect_answer answer_of(struct lone *lone)
{
    assert_int_equal(lone_count(lone, EFFECT_ANSWER), 1);
    return lone_find(lone, EFFECT_ANSWER)->answer;
}

/* Time passes until what is known of requests, all answered, is forgotten. */
static void expect_forgotten(struct lone *lone)
{
    for (uint32_t i = 0; i < 16 && !lone_is_empty(lone); i++) {
        assert_true(lone_timer(lone, TIMER_AUDIT));
    }
    assert_true(lone_is_empty(lone));
}

static void the_first_in_rank_is_the_deputy_or_the_second_of_the_first(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone.key = key_of(1, 0);
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_DEPUTE), 1);
    lone.key = key_of(0, 2);
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_DEPUTE), 1);
    lone.key = (struct request_key){{0}};
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_count(&lone, EFFECT_MOVE), 0);
    assert_int_equal(node_counts(lone.node).jobs, 3);
    lone_close(&lone);
}

static void inputs_that_are_too_large_stay_at_the_owner(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone.key = key_of(1, 0);
    lone.input_bytes = DEPUTY_BYTES_MAX + 1;
    lone.is_retry = true;
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_count(&lone, EFFECT_MOVE), 0);
    assert_int_equal(node_counts(lone.node).jobs, 1);
    lone_members(&lone, 2, ALL_UP & ~UINT64_C(4), /* fresh */ 0);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(lone_count(&lone, EFFECT_MOVE), 0);
    lone_close(&lone);
}

static void the_owner_hears_from_its_deputy_that_a_request_is_safe(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    const struct job_id job = ask_owner(&lone);
    say(&lone, MESSAGE_DEPUTED, job, 2);
    assert_int_equal(lone_count(&lone, EFFECT_ACCEPT), 0);
    say(&lone, MESSAGE_DEPUTED, job, 1);
    assert_int_equal(lone_find(&lone, EFFECT_ACCEPT)->accept.deputy, 1);
    assert_true(job_equal(lone_find(&lone, EFFECT_ACCEPT)->accept.job, job));
    lone_close(&lone);
}

static void no_client_has_an_answer_before_a_deputy_knows_of_its_request(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    const struct job_id job = ask_owner(&lone);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 0);
    say(&lone, MESSAGE_DEPUTED, job, 1);
    assert_int_equal(lone_find(&lone, EFFECT_ACCEPT)->accept.deputy, 1);
    assert_int_equal(answer_of(&lone).status, WEFT_OK);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_RESULT), 1);
    lone_close(&lone);
}

/* While it runs, the end of the run wakes it; then nothing else would. */
static void an_owner_attends_to_a_deputy_that_keeps_a_job_from_going_on(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    for (uint32_t is_retry = 0; is_retry < 2; is_retry++) {
        const struct job_id job = ask_owner(&lone);
        assert_int_equal(node_attends(lone.node), is_retry == 1); /* It does not run before. */
        lone_settle(&lone);
        assert_true(node_attends(lone.node));
        say(&lone, MESSAGE_DEPUTED, job, 1);
        lone_settle(&lone);
        assert_int_equal(lone.answers, is_retry + 1);
        assert_false(node_attends(lone.node));
        expect_forgotten(&lone);
        lone.is_retry = true;
    }
    lone_close(&lone);
}

static void only_that_a_deputy_knows_is_said_quietly(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone.key = key_of(1, 0);
    say(&lone, MESSAGE_DEPUTE, foreign, 1);
    assert_true(lone_sent(&lone, 1, MESSAGE_DEPUTED)->is_quiet);
    say(&lone, MESSAGE_DEPUTE, (struct job_id){.node = 2, .number = 7}, 2);
    assert_false(lone_sent(&lone, 2, MESSAGE_TAKEN)->is_quiet);
    lone_close(&lone);
}

/* Neither silence nor the loss of a worker nor a late failure: everything has been done. */
static void what_waits_for_its_deputy_does_not_run_again(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone_plan(2, 2, 2, 2);
    const struct job_id job = ask_owner(&lone);
    struct message output = lone_message(&lone, MESSAGE_INPUT, job, FLOW_A, TASK_ANSWER);
    output.from = 2;
    output.work.bytes = 1;
    lone_deliver(&lone, &output);
    struct message failed = lone_message(&lone, MESSAGE_FAILED, job, FLOW_A, 0);
    failed.from = 2;
    failed.reason = REASON_INVALID;
    lone_deliver(&lone, &failed);
    for (uint32_t i = 0; i < 8; i++) {
        assert_true(lone_timer(&lone, TIMER_AUDIT));
        assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_PROBE), 0);
    }
    lone_members(&lone, 2, ALL_UP & ~UINT64_C(4), /* fresh */ 0);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(lone_records(&lone, RECORD_REPEATED), 0);
    assert_int_equal(lone.answers, 0);
    say(&lone, MESSAGE_DEPUTED, job, 1);
    assert_int_equal(answer_of(&lone).status, WEFT_OK);
    lone_close(&lone);
}

static void hint(struct lone *lone, uint32_t peer, enum peer_hint hint)
{
    struct event event = {.kind = EVENT_PEER_HINT};
    event.peer.node = peer;
    event.peer.hint = hint;
    lone_step(lone, &event);
}

/* Another is told instead of one that cannot be reached, and without any the answer is given. */
static void a_deputy_that_says_nothing_does_not_hold_up_the_answer(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    const struct job_id job = ask_owner(&lone);
    lone_settle(&lone);
    hint(&lone, 1, PEER_BROKEN);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_DEPUTE), 1);
    say(&lone, MESSAGE_DEPUTED, job, 1); /* It is not the deputy any more. */
    assert_int_equal(lone.answers, 0);
    hint(&lone, 2, PEER_BROKEN);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(answer_of(&lone).status, WEFT_OK);
    lone_close(&lone);
}

static void a_deputy_that_knows_stays_when_it_is_suspected(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    const struct job_id job = ask_owner(&lone);
    say(&lone, MESSAGE_DEPUTED, job, 1);
    hint(&lone, 1, PEER_BROKEN);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(lone_count(&lone, EFFECT_MOVE), 0);
    end_job(&lone);
    assert_int_equal(answer_of(&lone).status, WEFT_OK);
    lone_close(&lone);
}

static void a_request_whose_deputy_is_back_is_told_to_it(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    hint(&lone, 1, PEER_BROKEN);
    hint(&lone, 2, PEER_BROKEN);
    lone.key = key_of(0, 1);
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_count(&lone, EFFECT_MOVE), 0);
    for (uint32_t i = 0; i < 3; i++) { /* However often it comes and goes meanwhile, once. */
        hint(&lone, 2, PEER_RESTORED);
        hint(&lone, 2, PEER_BROKEN);
        (void)lone_timer(&lone, TIMER_REPAIR);
        assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_DEPUTE), 0);
    }
    hint(&lone, 2, PEER_RESTORED);
    assert_true(lone_timer(&lone, TIMER_RETURN));
    assert_false(lone_timer(&lone, TIMER_RETURN));
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_DEPUTE), 1);
    lone_close(&lone);
}

/* Both links come and go all the time: another deputy is told at once, then less and less often. */
static void links_that_come_and_go_are_not_filled_each_time(void **state)
{
    (void)state;
    struct lone lone;
    uint32_t told = 0;
    open_with_deputies(&lone);
    (void)ask_owner(&lone);
    const int64_t begin_ns = lone.now_ns;
    for (uint32_t i = 0; lone.now_ns < begin_ns + 5 * NS_PER_S; i++) {
        const uint32_t peer = 1 + i % 2;
        hint(&lone, 3 - peer, PEER_RESTORED);
        hint(&lone, peer, PEER_BROKEN);
        while (lone_timer(&lone, TIMER_REPAIR)) {
            told += lone_sent_count(&lone, 1, MESSAGE_DEPUTE);
            told += lone_sent_count(&lone, 2, MESSAGE_DEPUTE);
        }
        assert_true(i > 0 || told == 1);
        lone.now_ns += MS(1);
    }
    assert_in_range(told, 6, 8); /* After 0, 50, 150, 350, 750 ... ms. */
    lone_close(&lone);
}

/* Steps of repairs follow each other until none is left; each places a few jobs at most. */
static void expect_short_steps(struct lone *lone, uint32_t visits)
{
    uint32_t known = 0;
    do {
        const uint32_t count = node_counts(lone->node).visits;
        assert_in_range(count, known, known + REPAIRS_PER_STEP);
        known = count;
    } while (lone_timer(lone, TIMER_REPAIR));
    assert_int_equal(known, visits);
}

/* More than a step has room for, and than its host has prepared for. */
static void jobs_that_waited_for_a_deputy_go_on_a_few_at_a_time(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone.is_retry = true;
    while (node_counts(lone.node).jobs < 40) {
        lone.key.words[0]++;
        if (keyed_first_but(lone.node, lone.key, NODE_NONE) == 0) {
            (void)lone_request(&lone, FLOW_A);
            const struct job_id receipt = keyed_at(lone.node, keys_find(lone.node, lone.key))->job;
            say(&lone, MESSAGE_UNKNOWN, receipt, 1);
            say(&lone, MESSAGE_UNKNOWN, receipt, 2);
        }
    }
    assert_int_equal(node_counts(lone.node).visits, 0);
    assert_true(lone_timer(&lone, TIMER_AUDIT));
    expect_short_steps(&lone, 40);
    lone_close(&lone);
}

/* Jobs that ran on a node, and those that it owned. */
static void what_a_lost_node_had_is_repaired_a_few_at_a_time(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone_plan(1, 1, 1, 1);
    for (uint32_t i = 0; i < 20; i++) {
        (void)lone_request(&lone, FLOW_A);
    }
    lone.key = key_of(1, 0);
    for (uint32_t i = 0; i < 20; i++) {
        lone.key.words[1]++;
        say(&lone, MESSAGE_DEPUTE, (struct job_id){.node = 1, .number = 1 + i}, 1);
    }
    lone_plan(0, 0, 0, 0);
    lone_members(&lone, 2, UINT64_C(1), /* fresh */ 0);
    expect_short_steps(&lone, 40);
    lone_close(&lone);
}

/* Its client was told that it is accepted, and hears how it ended, not that it may ask later. */
static void what_was_accepted_once_is_not_refused_by_the_next_owner(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone.key = key_of(1, 0);
    say(&lone, MESSAGE_DEPUTE, foreign, 1);
    cache_device_lost(lone.node, &lone.node->workers[0]); /* No worker is left for it. */
    lone_members(&lone, 2, UINT64_C(1), /* fresh */ 0);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(node_counts(lone.node).jobs, 0);
    const uint32_t slot = keys_find(lone.node, lone.key);
    assert_int_not_equal(slot, POOL_NONE); /* A refusal would not be kept. */
    assert_int_equal(keyed_at(lone.node, slot)->status, WEFT_FAILED);
    lone_close(&lone);
}

static void a_request_that_no_deputy_has_room_for_is_answered_without(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    const struct job_id job = ask_owner(&lone);
    lone_settle(&lone);
    say_end(&lone, job, 1, WEFT_REFUSED, REASON_FULL);
    assert_int_equal(answer_of(&lone).status, WEFT_OK);
    lone_close(&lone);
}

/* What it was told may be on a slow link. */
static void a_silent_deputy_is_told_again_after_ever_longer_times(void **state)
{
    (void)state;
    static const uint32_t told[] = {1, 0, 1, 0, 0, 0, 1};
    struct lone lone;
    open_with_deputies(&lone);
    const struct job_id job = ask_owner(&lone);
    for (uint32_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        assert_true(lone_timer(&lone, TIMER_AUDIT));
        assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_DEPUTE), told[i]);
    }
    say(&lone, MESSAGE_DEPUTED, job, 1);
    for (uint32_t i = 0; i < 16; i++) {
        assert_true(lone_timer(&lone, TIMER_AUDIT));
        assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_DEPUTE), 0);
    }
    lone_close(&lone);
}

static void a_request_that_was_asked_for_twice_is_answered_to_the_later_client(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    const struct job_id job = ask_owner(&lone);
    assert_true(job_equal(lone_request(&lone, FLOW_A), job));
    assert_int_equal(answer_of(&lone).client, lone.clients - 1);
    assert_int_equal(answer_of(&lone).reason, REASON_DUPLICATE);
    assert_int_equal(node_counts(lone.node).jobs, 1);
    end_job(&lone);
    assert_int_equal(lone.answers, 2);
    lone_close(&lone);
}

static void a_key_is_not_used_for_two_requests(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    const struct job_id job = ask_owner(&lone);
    lone.inputs_hash = 1;
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_find(&lone, EFFECT_REFUSE)->answer.reason, REASON_KEY_REUSED);
    lone.inputs_hash = 0;
    (void)lone_request(&lone, FLOW_F);
    assert_int_equal(lone_find(&lone, EFFECT_REFUSE)->answer.reason, REASON_KEY_REUSED);
    assert_int_equal(node_counts(lone.node).jobs, 1);
    for (uint32_t i = 0; i < 2; i++) {
        struct message other =
            about(&lone, i == 0 ? MESSAGE_DEPUTE : MESSAGE_FORWARD, foreign, foreign.node);
        other.deputy.inputs_hash = 1;
        lone_deliver(&lone, &other);
        assert_int_equal(
            lone_sent(&lone, 1, MESSAGE_SETTLED)->deputy.status, status_code(WEFT_REFUSED));
    }
    say_end(&lone, job, 1, WEFT_REFUSED, REASON_KEY_REUSED); /* The deputy has another one. */
    assert_int_equal(answer_of(&lone).reason, REASON_KEY_REUSED);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void an_answer_is_given_again_for_a_while(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    const struct job_id job = ask_owner(&lone);
    end_job(&lone);
    const struct effect_answer first = answer_of(&lone);
    const uint64_t output = first.outputs[0].id;
    assert_true(first.is_kept);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_RESULT), 1);
    assert_true(lone_sent(&lone, 1, MESSAGE_RESULT)->can_wait);
    for (uint32_t i = 0; i < 2; i++) {
        (void)lone_request(&lone, FLOW_A);
        const struct effect_answer again = answer_of(&lone);
        assert_int_equal(again.status, WEFT_OK);
        assert_int_equal(again.output_count, 1);
        assert_int_equal(again.outputs[0].id, output);
        assert_int_equal(again.client, lone.clients);
        assert_int_equal(node_counts(lone.node).jobs, 0);
    }
    say(&lone, MESSAGE_FORWARD, (struct job_id){.node = 2, .number = 9}, 2);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_RESULT), 1);
    assert_false(lone_sent(&lone, 2, MESSAGE_RESULT)->can_wait);
    say(&lone, MESSAGE_QUERY, job, 1); /* The first was lost. */
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_RESULT), 1);
    say(&lone, MESSAGE_QUERY, job, 2); /* Another has only a visit of it. */
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_CANCEL), 1);
    expect_forgotten(&lone);
    lone_close(&lone);
}

static void what_its_client_cancels_is_forgotten(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    const struct job_id job = ask_owner(&lone);
    lone_cancel(&lone, job);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_SETTLED), 1);
    assert_false(node_knows(lone.node, lone.key));
    lone_close(&lone);
}

static void what_another_node_wants_is_not_cancelled(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    const struct job_id job = ask_owner(&lone);
    say(&lone, MESSAGE_FORWARD, (struct job_id){.node = 2, .number = 9}, 2);
    lone_cancel(&lone, job);
    assert_int_equal(answer_of(&lone).status, WEFT_CANCELLED);
    assert_int_equal(node_counts(lone.node).jobs, 1);
    end_job(&lone);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_RESULT), 1);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_RESULT), 1);
    lone_close(&lone);
}

static void a_deputy_knows_of_a_request_until_it_is_answered(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone.key = key_of(0, 1);
    say(&lone, MESSAGE_DEPUTE, foreign, 2);
    assert_int_equal(lone_records(&lone, RECORD_IGNORED), 1);
    assert_true(lone_is_empty(&lone));
    say(&lone, MESSAGE_DEPUTE, foreign, 1);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_DEPUTED), 1);
    assert_true(node_knows(lone.node, lone.key));
    assert_int_equal(node_counts(lone.node).jobs, 0);
    say_end(&lone, foreign, 2, WEFT_CANCELLED, REASON_CANCEL);
    assert_true(node_knows(lone.node, lone.key));
    say_end(&lone, foreign, 1, WEFT_CANCELLED, REASON_CANCEL);
    assert_false(node_knows(lone.node, lone.key));
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/* It had asked for the answer before it became the deputy; now another node has. */
static void a_deputy_stays_one_when_another_node_asks_its_owner(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone.key = key_of(1, 0);
    say(&lone, MESSAGE_DEPUTE, foreign, 1);
    say_end(&lone, foreign, 1, WEFT_CANCELLED, REASON_DUPLICATE);
    assert_true(node_knows(lone.node, lone.key));
    lone_members(&lone, 2, WITHOUT_1, /* fresh */ 0);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(node_counts(lone.node).jobs, 1); /* It takes over. */
    lone_close(&lone);
}

/* The first node that was asked gives one of two outputs and is lost; the next one has failed. */
static void a_request_that_has_failed_has_no_outputs(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone.key = key_of(1, 2);
    lone.is_retry = true;
    (void)lone_request(&lone, FLOW_SPLIT);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_FORWARD), 1);
    struct message output = about(&lone, MESSAGE_RESULT, foreign, 1);
    output.workflow = FLOW_SPLIT;
    output.deputy.sink = 1;
    lone_deliver(&lone, &output);
    assert_int_equal(lone_count(&lone, EFFECT_ANSWER), 0);
    lone_members(&lone, 2, WITHOUT_1, /* fresh */ 0);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_FORWARD), 1);
    say_end(&lone, foreign, 2, WEFT_FAILED, REASON_ATTEMPTS);
    assert_int_equal(answer_of(&lone).status, WEFT_FAILED);
    assert_int_equal(answer_of(&lone).output_count, 0);
    assert_int_equal(lone.held, 0);
    lone_close(&lone);
}

static void a_deputy_keeps_the_answer_for_who_asks_it(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone.key = key_of(0, 1);
    say(&lone, MESSAGE_DEPUTE, foreign, 1);
    lone.is_retry = true;
    const struct job_id receipt = lone_request(&lone, FLOW_A); /* It is not run twice. */
    assert_int_equal(receipt.node, 0);
    assert_int_equal(node_counts(lone.node).jobs, 0);
    say(&lone, MESSAGE_RESULT, foreign, 2);
    assert_int_equal(lone_count(&lone, EFFECT_ANSWER), 0);
    say(&lone, MESSAGE_RESULT, foreign, 1);
    assert_int_equal(answer_of(&lone).client, lone.clients);
    assert_int_equal(answer_of(&lone).output_count, 1);
    assert_true(answer_of(&lone).is_kept);
    lone_members(&lone, 2, WITHOUT_1, /* fresh */ 0); /* The owner is lost after all. */
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(answer_of(&lone).status, WEFT_OK);
    assert_int_equal(node_counts(lone.node).jobs, 0);
    expect_forgotten(&lone);
    lone_close(&lone);
}

/* The owner takes its question for one after the answer, which the deputy has. */
static void a_deputy_does_not_wait_for_tasks_of_what_is_answered(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone.key = key_of(0, 1);
    say(&lone, MESSAGE_DEPUTE, foreign, 1);
    const struct message plan = lone_message(&lone, MESSAGE_RESERVE, foreign, FLOW_CHAIN, 1);
    lone_deliver(&lone, &plan);
    say(&lone, MESSAGE_RESULT, foreign, 1);
    assert_int_equal(node_counts(lone.node).visits, 1);
    assert_true(lone_timer(&lone, TIMER_AUDIT));
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_QUERY), 0);
    assert_int_equal(node_counts(lone.node).visits, 0);
    assert_true(node_keeps(lone.node, lone.key));
    lone_close(&lone);
}

static void a_deputy_with_a_client_goes_on_with_what_its_owner_drops(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone.key = key_of(0, 1);
    say(&lone, MESSAGE_DEPUTE, foreign, 1);
    (void)lone_request(&lone, FLOW_A);
    say_end(&lone, foreign, 1, WEFT_CANCELLED, REASON_CANCEL);
    let_nobody_know(&lone);
    assert_int_equal(lone_records(&lone, RECORD_TAKEN_OVER), 0);
    end_job(&lone);
    assert_int_equal(answer_of(&lone).client, lone.clients);
    lone_close(&lone);
}

/* This node is told of @losses by an owner, which is then lost. */
static void lose_owner(struct lone *lone, uint32_t losses)
{
    lone->key = key_of(0, 2);
    struct message told = about(lone, MESSAGE_DEPUTE, foreign, 1);
    told.deputy.losses = losses;
    lone_deliver(lone, &told);
    lone_members(lone, 2, WITHOUT_1, /* fresh */ 0);
    assert_true(lone_timer(lone, TIMER_REPAIR));
}

/* The owner came back, was asked, and died, before this node heard of any of it. */
static void a_deputy_takes_over_from_a_life_that_it_never_hears_of(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone_members(&lone, 2, WITHOUT_1, /* fresh */ 0);
    lone.key = key_of(0, 2);
    const struct job_id job = {.node = 1, .incarnation = 7, .number = 1};
    say(&lone, MESSAGE_DEPUTE, job, 1);
    while (lone_timer(&lone, TIMER_REPAIR)) {
        assert_int_equal(node_counts(lone.node).jobs, 0); /* It may be there. */
    }
    assert_true(lone_timer(&lone, TIMER_AUDIT));
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(node_counts(lone.node).jobs, 1);
    lone_close(&lone);
}

static void the_deputy_takes_over_and_a_client_that_asks_gets_the_answer(void **state)
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
    end_job(&lone);
    assert_int_equal(answer_of(&lone).status, WEFT_OK);
    assert_int_equal(answer_of(&lone).client, lone.clients);
    lone_close(&lone);
}

static void a_job_that_no_client_waits_for_ends_too(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lose_owner(&lone, 0);
    end_job(&lone);
    assert_int_equal(lone.answers, 0);
    assert_int_equal(node_counts(lone.node).jobs, 0);
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(answer_of(&lone).status, WEFT_OK);
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
    assert_int_equal(answer_of(&lone).status, WEFT_FAILED);
    assert_int_equal(answer_of(&lone).reason, REASON_ATTEMPTS);
    lone_close(&lone);
}

static void a_deputy_counts_what_its_owner_has_tried(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone.key = key_of(0, 1);
    say(&lone, MESSAGE_DEPUTE, foreign, 1);
    struct message tried = about(&lone, MESSAGE_TRIED, foreign, 2);
    tried.deputy.losses = JOB_ATTEMPTS_MAX - 1;
    lone_deliver(&lone, &tried);
    assert_int_equal(lone_records(&lone, RECORD_IGNORED), 1);
    tried.from = 1;
    lone_deliver(&lone, &tried);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_DEPUTED), 1);
    lone_members(&lone, 2, WITHOUT_1, /* fresh */ 0);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(lone_record(&lone, RECORD_ANSWERED)->reason, REASON_ATTEMPTS);
    lone_close(&lone);
}

static void an_owner_tells_its_deputy_of_failed_attempts(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    (void)ask_owner(&lone);
    while (lone_sent_count(&lone, 1, MESSAGE_TRIED) == 0) {
        if (lone_is_asked(&lone, EFFECT_LOAD)) {
            lone_load_done(&lone, WEFT_OK);
        } else {
            lone_batch_done(&lone, WEFT_FAILED);
        }
    }
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_TRIED)->deputy.losses, 1);
    lone_close(&lone);
}

/* A job of this node whose first attempt has failed, for whatever is wrong with it. */
static struct job_id fail_once(struct lone *lone)
{
    const struct job_id job = ask_owner(lone);
    say(lone, MESSAGE_DEPUTED, job, 1);
    lone_load_done(lone, WEFT_OK);
    lone_batch_done(lone, WEFT_FAILED);
    assert_int_equal(lone_sent_count(lone, 1, MESSAGE_TRIED), 1);
    return job;
}

static void no_attempt_follows_one_that_the_deputy_does_not_know_of(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    const struct job_id job = fail_once(&lone);
    lone_settle(&lone);
    assert_int_equal(lone_records(&lone, RECORD_REPEATED), 0);
    assert_int_equal(node_counts(lone.node).jobs, 1);
    say(&lone, MESSAGE_DEPUTED, job, 1);
    assert_int_equal(lone_record(&lone, RECORD_REPEATED)->reason, REASON_REPLACED);
    end_job(&lone);
    assert_int_equal(answer_of(&lone).status, WEFT_OK);
    lone_close(&lone);
}

/* What is said of an attempt may overtake the request, which then is new to the deputy. */
static void a_deputy_that_knows_of_fewer_attempts_is_told_again(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    const struct job_id job = fail_once(&lone);
    struct message knows = about(&lone, MESSAGE_DEPUTED, job, 1);
    knows.deputy.losses = 0;
    lone_deliver(&lone, &knows);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_TRIED), 1);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_TRIED)->deputy.losses, 1);
    assert_int_equal(lone_records(&lone, RECORD_REPEATED), 0);
    say(&lone, MESSAGE_DEPUTED, job, 1);
    assert_int_equal(lone_records(&lone, RECORD_REPEATED), 1);
    lone_close(&lone);
}

/* It gives up its job and forgets the request: what it has counted must not be lost with it. */
static void an_owner_counts_what_one_that_it_outranks_has_counted(void **state)
{
    (void)state;
    static const struct job_id others = {.node = 1, .number = 9};
    struct lone lone;
    open_with_deputies(&lone);
    const struct job_id job = ask_owner(&lone);
    struct message told = about(&lone, MESSAGE_DEPUTE, others, 1);
    told.deputy.losses = 3;
    told.deputy.inputs_hash = keyed_at(lone.node, keys_find(lone.node, lone.key))->inputs_hash;
    lone_deliver(&lone, &told);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_TAKEN), 1);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_TRIED)->deputy.losses, 3);
    assert_int_equal(job_at(lone.node, jobs_find(lone.node, job))->losses, 3);
    lone_close(&lone);
}

/* One that says nothing is asked again, and not waited for again; one that is lost is replaced. */
static void an_attempt_does_not_wait_for_a_deputy_for_ever(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    (void)fail_once(&lone);
    assert_true(lone_timer(&lone, TIMER_AUDIT));
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_DEPUTE), 1);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_DEPUTE)->deputy.losses, 1);
    assert_int_equal(lone_records(&lone, RECORD_REPEATED), 1);
    lone_close(&lone);

    open_with_deputies(&lone);
    const struct job_id job = fail_once(&lone);
    lone_members(&lone, 2, WITHOUT_1, /* fresh */ 0);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(lone_records(&lone, RECORD_REPEATED), 0);
    say(&lone, MESSAGE_DEPUTED, job, 2);
    assert_int_equal(lone_records(&lone, RECORD_REPEATED), 1);
    lone_close(&lone);

    open_with_deputies(&lone);
    (void)fail_once(&lone);
    lone_members(&lone, 2, UINT64_C(1), /* fresh */ 0);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(lone_records(&lone, RECORD_REPEATED), 1);
    lone_close(&lone);
}

/* An earlier owner may have died of it, and no deputy of that is there to say so. */
static void what_is_asked_for_again_and_not_known_runs_when_a_deputy_knows(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone.key = key_of(0, 1);
    lone.is_retry = true;
    const struct job_id job = ask_owner(&lone);
    assert_false(lone_is_asked(&lone, EFFECT_LOAD));
    say(&lone, MESSAGE_DEPUTED, job, 1);
    assert_true(lone_is_asked(&lone, EFFECT_LOAD));
    end_job(&lone);
    assert_int_equal(answer_of(&lone).status, WEFT_OK);
    lone_close(&lone);
}

static void a_deputy_runs_nothing_before_its_own_deputy_knows(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lose_owner(&lone, 0);
    assert_false(lone_is_asked(&lone, EFFECT_LOAD));
    let_deputy_know(&lone);
    assert_true(lone_is_asked(&lone, EFFECT_LOAD));
    lone_close(&lone);
}

static void of_two_owners_the_first_in_rank_goes_on(void **state)
{
    (void)state;
    static const struct job_id other = {.node = 2, .number = 4};
    for (uint32_t home = 0; home <= 2; home += 2) {
        struct lone lone;
        open_with_deputies(&lone);
        lone.key = key_of(home, 2 - home);
        const struct job_id job = lone_request(&lone, FLOW_A);
        say(&lone, MESSAGE_DEPUTE, other, 2);
        if (home == 0) {
            assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_TAKEN), 1);
            end_job(&lone);
            assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_RESULT), 1);
        } else {
            assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_DEPUTED), 1);
            assert_int_equal(node_counts(lone.node).jobs, 0);
            assert_false(job_equal(lone_find(&lone, EFFECT_ACCEPT)->accept.job, job));
            say(&lone, MESSAGE_RESULT, other, 2);
        }
        assert_int_equal(answer_of(&lone).client, lone.clients);
        assert_int_equal(answer_of(&lone).status, WEFT_OK);
        lone_close(&lone);
    }
}

static void an_owner_that_comes_back_is_told_what_was_taken_over(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lose_owner(&lone, 0);
    lone_members(&lone, 3, ALL_UP, /* fresh */ 2); /* It was only out of reach. */
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_TAKEN), 1);
    assert_true(job_equal(lone_sent(&lone, 1, MESSAGE_TAKEN)->job, foreign));
    end_job(&lone);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_RESULT), 1); /* Its client may wait. */
    lone_close(&lone);
}

static void an_owner_waits_for_the_answer_of_what_is_taken(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    const struct job_id job = ask_owner(&lone);
    say(&lone, MESSAGE_TAKEN, job, 2); /* Only the deputy can say so. */
    assert_int_equal(node_counts(lone.node).jobs, 1);
    say(&lone, MESSAGE_TAKEN, job, 1);
    assert_int_equal(lone_record(&lone, RECORD_AWAITED)->value, 1);
    assert_int_equal(lone_count(&lone, EFFECT_ANSWER), 0);
    assert_int_equal(node_counts(lone.node).jobs, 0);
    say(&lone, MESSAGE_RESULT, foreign, 1);
    assert_int_equal(answer_of(&lone).client, lone.clients);
    lone_close(&lone);
}

/* A client asks again for what this node has not heard of; node 1 is asked. */
static struct job_id ask_again(struct lone *lone)
{
    lone->key = key_of(1, 2);
    lone->is_retry = true;
    const struct job_id receipt = lone_request(lone, FLOW_A);
    assert_int_equal(lone_sent_count(lone, 1, MESSAGE_FORWARD), 1);
    assert_int_equal(node_counts(lone->node).jobs, 0);
    return receipt;
}

static void who_asks_again_gets_the_answer_through_the_first_in_rank(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    (void)ask_again(&lone);
    say(&lone, MESSAGE_RESULT, foreign, 2);
    assert_int_equal(lone_count(&lone, EFFECT_ANSWER), 0);
    say(&lone, MESSAGE_RESULT, foreign, 1);
    assert_int_equal(answer_of(&lone).status, WEFT_OK);
    assert_int_equal(answer_of(&lone).output_count, 1);
    expect_forgotten(&lone);
    (void)ask_again(&lone);
    say_end(&lone, foreign, 1, WEFT_REFUSED, REASON_FULL);
    assert_int_equal(answer_of(&lone).status, WEFT_REFUSED);
    assert_true(lone_is_empty(&lone));
    (void)ask_again(&lone);
    say_end(&lone, foreign, 1, WEFT_FAILED, REASON_ATTEMPTS);
    assert_int_equal(answer_of(&lone).status, WEFT_FAILED);
    assert_true(node_knows(lone.node, lone.key));
    lone_close(&lone);
}

static void who_asked_a_node_that_drains_is_not_refused(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    (void)ask_again(&lone);
    say_end(&lone, foreign, 1, WEFT_REFUSED, REASON_DRAIN);
    assert_int_equal(lone_count(&lone, EFFECT_ANSWER), 0);
    let_nobody_know(&lone); /* It may have the answer of before. */
    end_job(&lone);
    assert_int_equal(answer_of(&lone).status, WEFT_OK);
    expect_forgotten(&lone);
    (void)ask_again(&lone);
    struct event drain = {.kind = EVENT_DRAIN}; /* This one does, too. */
    lone_step(&lone, &drain);
    say_end(&lone, foreign, 1, WEFT_REFUSED, REASON_DRAIN);
    assert_int_equal(answer_of(&lone).reason, REASON_DRAIN);
    lone_close(&lone);
}

static void who_asked_a_node_that_is_lost_asks_the_next(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    (void)ask_again(&lone);
    lone_members(&lone, 2, WITHOUT_1, /* fresh */ 0);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_FORWARD), 1);
    lone_members(&lone, 3, /* up */ 1, /* fresh */ 0);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(node_counts(lone.node).jobs, 1); /* There is no other. */
    end_job(&lone);
    assert_int_equal(answer_of(&lone).client, lone.clients);
    lone_close(&lone);
}

/* @peer cannot be reached for so long that it is silent. */
static void fall_silent(struct lone *lone, uint32_t peer)
{
    hint(lone, peer, PEER_BROKEN);
    (void)lone_timer(lone, TIMER_REPAIR);
    assert_int_equal(node_counts(lone->node).jobs, 0);
    assert_true(lone_timer(lone, TIMER_SILENCE));
    assert_true(lone_timer(lone, TIMER_REPAIR));
}

static void who_asked_a_node_that_falls_silent_asks_the_next(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    (void)ask_again(&lone);
    fall_silent(&lone, 1);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_FORWARD), 1);
    say(&lone, MESSAGE_RESULT, foreign, 1); /* Too late. */
    assert_int_equal(lone_count(&lone, EFFECT_ANSWER), 0);
    say(&lone, MESSAGE_RESULT, foreign, 2);
    assert_int_equal(answer_of(&lone).client, lone.clients);
    lone_close(&lone);
}

static void a_deputy_takes_over_from_a_silent_owner_what_a_client_asks_for(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone.key = key_of(0, 2);
    say(&lone, MESSAGE_DEPUTE, foreign, 1);
    fall_silent(&lone, 1);
    assert_int_equal(node_counts(lone.node).jobs, 0); /* No client has asked for it here. */
    lone.is_retry = true;
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_record(&lone, RECORD_TAKEN_OVER)->value, 1);
    hint(&lone, 1, PEER_RESTORED);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_TAKEN), 1);
    end_job(&lone);
    assert_int_equal(answer_of(&lone).client, lone.clients);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_RESULT), 1);
    lone_close(&lone);
}

static void all_nodes_that_wait_for_a_request_are_given_its_answer(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone.key = key_of(0, 2);
    say(&lone, MESSAGE_DEPUTE, foreign, 1);
    say(&lone, MESSAGE_FORWARD, (struct job_id){2, 0, 7}, 2);
    fall_silent(&lone, 1);
    assert_int_equal(lone_record(&lone, RECORD_TAKEN_OVER)->value, 1);
    hint(&lone, 1, PEER_RESTORED);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_TAKEN), 1); /* From now on it waits, too. */
    hint(&lone, 1, PEER_BROKEN);
    hint(&lone, 1, PEER_RESTORED);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_TAKEN), 0); /* Once is enough. */
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_SETTLED), 0);
    end_job(&lone);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_RESULT), 1);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_RESULT), 1);
    lone_close(&lone);
}

static void a_client_that_waits_for_another_node_may_go(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    lone_cancel(&lone, ask_again(&lone));
    assert_int_equal(answer_of(&lone).status, WEFT_CANCELLED);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void the_first_in_rank_owns_what_it_is_asked_for_and_does_not_know(void **state)
{
    (void)state;
    static const struct job_id receipt = {.node = 2, .number = 9};
    struct lone lone;
    open_with_deputies(&lone);
    lone.key = key_of(0, 1);
    say(&lone, MESSAGE_FORWARD, receipt, 2);
    let_nobody_know(&lone);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_DEPUTE), 1);
    say(&lone, MESSAGE_FORWARD, receipt, 2); /* Again: it is the same request. */
    assert_int_equal(node_counts(lone.node).jobs, 1);
    end_job(&lone);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_RESULT), 1);
    assert_int_equal(lone_count(&lone, EFFECT_ANSWER), 0);
    lone_close(&lone);
}

static void a_deputy_takes_no_more_than_it_has_room_for(void **state)
{
    (void)state;
    struct lone lone;
    open_with_deputies(&lone);
    uint32_t taken = 0;
    uint32_t refused = 0;
    for (uint32_t i = 1; i <= 20; i++) {
        lone.key.words[0] = i;
        struct message told =
            about(&lone, MESSAGE_DEPUTE, (struct job_id){.node = 1, .number = i}, 1);
        told.deputy.bytes = DEPUTY_BYTES_MAX;
        lone_deliver(&lone, &told);
        taken += lone_sent_count(&lone, 1, MESSAGE_DEPUTED);
        refused += lone_sent_count(&lone, 1, MESSAGE_SETTLED);
    }
    assert_int_equal(taken, KEYED_BYTES_MAX / DEPUTY_BYTES_MAX + 1);
    assert_int_equal(refused, 20 - taken);
    lone_close(&lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_in_rank_is_the_deputy_or_the_second_of_the_first),
        cmocka_unit_test(inputs_that_are_too_large_stay_at_the_owner),
        cmocka_unit_test(the_owner_hears_from_its_deputy_that_a_request_is_safe),
        cmocka_unit_test(no_client_has_an_answer_before_a_deputy_knows_of_its_request),
        cmocka_unit_test(an_owner_attends_to_a_deputy_that_keeps_a_job_from_going_on),
        cmocka_unit_test(only_that_a_deputy_knows_is_said_quietly),
        cmocka_unit_test(what_waits_for_its_deputy_does_not_run_again),
        cmocka_unit_test(a_deputy_that_says_nothing_does_not_hold_up_the_answer),
        cmocka_unit_test(a_deputy_that_knows_stays_when_it_is_suspected),
        cmocka_unit_test(a_request_whose_deputy_is_back_is_told_to_it),
        cmocka_unit_test(links_that_come_and_go_are_not_filled_each_time),
        cmocka_unit_test(a_request_that_no_deputy_has_room_for_is_answered_without),
        cmocka_unit_test(a_silent_deputy_is_told_again_after_ever_longer_times),
        cmocka_unit_test(a_request_that_was_asked_for_twice_is_answered_to_the_later_client),
        cmocka_unit_test(a_key_is_not_used_for_two_requests),
        cmocka_unit_test(an_answer_is_given_again_for_a_while),
        cmocka_unit_test(what_its_client_cancels_is_forgotten),
        cmocka_unit_test(what_another_node_wants_is_not_cancelled),
        cmocka_unit_test(a_deputy_knows_of_a_request_until_it_is_answered),
        cmocka_unit_test(a_deputy_stays_one_when_another_node_asks_its_owner),
        cmocka_unit_test(a_request_that_has_failed_has_no_outputs),
        cmocka_unit_test(a_deputy_keeps_the_answer_for_who_asks_it),
        cmocka_unit_test(a_deputy_does_not_wait_for_tasks_of_what_is_answered),
        cmocka_unit_test(a_deputy_with_a_client_goes_on_with_what_its_owner_drops),
        cmocka_unit_test(a_deputy_takes_over_from_a_life_that_it_never_hears_of),
        cmocka_unit_test(the_deputy_takes_over_and_a_client_that_asks_gets_the_answer),
        cmocka_unit_test(a_job_that_no_client_waits_for_ends_too),
        cmocka_unit_test(attempts_are_counted_over_all_owners),
        cmocka_unit_test(a_deputy_counts_what_its_owner_has_tried),
        cmocka_unit_test(an_owner_tells_its_deputy_of_failed_attempts),
        cmocka_unit_test(no_attempt_follows_one_that_the_deputy_does_not_know_of),
        cmocka_unit_test(a_deputy_that_knows_of_fewer_attempts_is_told_again),
        cmocka_unit_test(an_owner_counts_what_one_that_it_outranks_has_counted),
        cmocka_unit_test(an_attempt_does_not_wait_for_a_deputy_for_ever),
        cmocka_unit_test(jobs_that_waited_for_a_deputy_go_on_a_few_at_a_time),
        cmocka_unit_test(what_was_accepted_once_is_not_refused_by_the_next_owner),
        cmocka_unit_test(what_a_lost_node_had_is_repaired_a_few_at_a_time),
        cmocka_unit_test(what_is_asked_for_again_and_not_known_runs_when_a_deputy_knows),
        cmocka_unit_test(a_deputy_runs_nothing_before_its_own_deputy_knows),
        cmocka_unit_test(of_two_owners_the_first_in_rank_goes_on),
        cmocka_unit_test(an_owner_that_comes_back_is_told_what_was_taken_over),
        cmocka_unit_test(an_owner_waits_for_the_answer_of_what_is_taken),
        cmocka_unit_test(who_asks_again_gets_the_answer_through_the_first_in_rank),
        cmocka_unit_test(who_asked_a_node_that_drains_is_not_refused),
        cmocka_unit_test(who_asked_a_node_that_is_lost_asks_the_next),
        cmocka_unit_test(who_asked_a_node_that_falls_silent_asks_the_next),
        cmocka_unit_test(a_deputy_takes_over_from_a_silent_owner_what_a_client_asks_for),
        cmocka_unit_test(all_nodes_that_wait_for_a_request_are_given_its_answer),
        cmocka_unit_test(a_client_that_waits_for_another_node_may_go),
        cmocka_unit_test(the_first_in_rank_owns_what_it_is_asked_for_and_does_not_know),
        cmocka_unit_test(a_deputy_takes_no_more_than_it_has_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
