/*
 * Answers that outlive the nodes that gave them: who asks again does not get another run.
 *
 * Covers: src/node/keys_recall.c src/node/keys_audit.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "lone_node.h"
#include "node/keys.h"
#include "node/keys_table.h"

#define ALL_UP    UINT64_C(7)
#define WITHOUT_1 UINT64_C(5)

/* Node 0, for which @lone->key is the first in rank; node 1 is the second. */
static void open_first(struct lone *lone)
{
    lone_open(lone, &(struct lone_options){.has_deputies = true});
    lone_plan(0, 0, 0, 0);
    do {
        lone->key.words[0]++;
    } while (keyed_first_but(lone->node, lone->key, NODE_NONE) != 0 ||
             keyed_first_but(lone->node, lone->key, 0) != 1);
}

static struct keyed *entry_of(const struct lone *lone)
{
    return keyed_at(lone->node, keys_find(lone->node, lone->key));
}

static struct message about(struct lone *lone, enum message_kind kind, uint32_t from)
{
    const struct job_id job = {.node = from, .number = 9};
    struct message message = lone_message(lone, kind, job, FLOW_A, 0);
    message.from = from;
    message.deputy =
        (struct message_deputy){.key = lone->key, .items = 1, .bytes = MB(1), .left_ns = INT64_MAX};
    return message;
}

static void say(struct lone *lone, enum message_kind kind, uint32_t from)
{
    struct message message = about(lone, kind, from);
    if (kind == MESSAGE_UNKNOWN || kind == MESSAGE_TAKEN || kind == MESSAGE_DEPUTED) {
        message.job = entry_of(lone)->job;
    }
    lone_deliver(lone, &message);
}

/* A client asks again for what is not known here. */
static void ask_again(struct lone *lone)
{
    lone->is_retry = true;
    (void)lone_request(lone, FLOW_A);
    assert_int_equal(lone_sent_count(lone, 1, MESSAGE_RECALL), 1);
    assert_int_equal(lone_sent_count(lone, 2, MESSAGE_RECALL), 1);
    assert_int_equal(lone_sent_count(lone, 1, MESSAGE_DEPUTE), 0);
    assert_int_equal(node_counts(lone->node).jobs, 0);
}

/* A request was answered here, and its deputy, node 1, has the answer, too. */
static void answer_one(struct lone *lone)
{
    lone->is_retry = false;
    (void)lone_request(lone, FLOW_A);
    say(lone, MESSAGE_DEPUTED, 1);
    lone_settle(lone);
    assert_int_equal(entry_of(lone)->state, KEYED_ANSWERED);
}

static void what_another_member_has_is_given_and_not_run(ATTR_UNUSED void **state)
{
    for (uint32_t is_late = 0; is_late < 2; is_late++) {
        struct lone lone = {0};
        open_first(&lone);
        ask_again(&lone);
        say(&lone, MESSAGE_UNKNOWN, 1);
        if (is_late == 0) { /* The output may be faster than the news that it comes. */
            say(&lone, MESSAGE_TAKEN, 2);
        }
        say(&lone, MESSAGE_RESULT, 2);
        assert_int_equal(lone_count(&lone, EFFECT_ANSWER), 1);
        assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.status, WEFT_OK);
        assert_int_equal(node_counts(lone.node).jobs, 0);
        lone_close(&lone);
    }
}

static void only_who_was_asked_can_say_that_it_has_it(ATTR_UNUSED void **state)
{
    struct lone lone = {0};
    open_first(&lone);
    ask_again(&lone);
    say(&lone, MESSAGE_UNKNOWN, 2);
    say(&lone, MESSAGE_TAKEN, 2); /* It has said that it does not. */
    assert_true(entry_of(&lone)->is_recalled);
    say(&lone, MESSAGE_UNKNOWN, 2);
    assert_int_equal(node_counts(lone.node).jobs, 0);
    say(&lone, MESSAGE_UNKNOWN, 1);
    assert_int_equal(node_counts(lone.node).jobs, 1);
    lone_close(&lone);
}

/* Its node asked, and has it by now; or it is the owner of what this node is the deputy for. */
static void nodes_do_not_wait_for_each_other_alone(ATTR_UNUSED void **state)
{
    for (uint32_t is_deputy = 0; is_deputy < 2; is_deputy++) {
        for (uint32_t has_other = 0; has_other < 2; has_other++) {
            struct lone lone = {0};
            open_first(&lone);
            say(&lone, is_deputy != 0 ? MESSAGE_DEPUTE : MESSAGE_FORWARD, 2);
            if (is_deputy != 0) {
                say(&lone, MESSAGE_RECALL, 2);
            }
            if (has_other != 0) { /* Another node wants the answer as well. */
                say(&lone, MESSAGE_FORWARD, 1);
            }
            say(&lone, MESSAGE_TAKEN, 2);
            assert_int_equal(keys_find(lone.node, lone.key) != POOL_NONE, has_other);
            assert_int_equal(
                lone_sent_count(&lone, 2, MESSAGE_FORWARD), is_deputy != 0 ? has_other : 0);
            if (has_other != 0) {
                assert_int_equal(entry_of(&lone)->state, KEYED_WAITING);
                assert_int_equal(entry_of(&lone)->follower_count, 1);
            }
            lone_close(&lone);
        }
    }
}

static void a_lost_member_is_not_waited_for(ATTR_UNUSED void **state)
{
    for (uint32_t is_hint = 0; is_hint < 2; is_hint++) {
        struct lone lone = {0};
        open_first(&lone);
        ask_again(&lone);
        say(&lone, MESSAGE_UNKNOWN, 2);
        if (is_hint == 1) {
            lone_hint(&lone, 1, PEER_BROKEN);
        } else { /* It is back at once, and knows nothing any more. */
            lone_members(&lone, 2, ALL_UP, /* fresh */ 2);
        }
        assert_true(lone_timer(&lone, TIMER_REPAIR));
        assert_int_equal(node_counts(lone.node).jobs, 1);
        lone_close(&lone);
    }
}

/* It has just joined: who asks again gets what the others have, not another run. */
static void a_member_that_was_not_reached_yet_is_asked_when_it_is(ATTR_UNUSED void **state)
{
    for (uint32_t comes = 0; comes < 2; comes++) {
        struct lone lone = {0};
        open_first(&lone);
        lone_hint(&lone, 1, PEER_UNMET);
        lone_hint(&lone, 2, PEER_UNMET);
        lone.is_retry = true;
        (void)lone_request(&lone, FLOW_A);
        assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_RECALL), 0);
        assert_int_equal(node_counts(lone.node).jobs, 0);
        lone_hint(&lone, 2, PEER_RESTORED);
        assert_true(lone_timer(&lone, TIMER_RETURN));
        assert_true(lone_timer(&lone, TIMER_REPAIR));
        assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_RECALL), 1);
        say(&lone, MESSAGE_UNKNOWN, 2);
        assert_int_equal(node_counts(lone.node).jobs, 0);
        if (comes == 1) {
            lone_hint(&lone, 1, PEER_RESTORED);
            assert_true(lone_timer(&lone, TIMER_RETURN));
            assert_true(lone_timer(&lone, TIMER_REPAIR));
            assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_RECALL), 1);
            say(&lone, MESSAGE_UNKNOWN, 1);
        } else { /* Not for ever. */
            assert_true(lone_timer(&lone, TIMER_SILENCE));
            assert_true(lone_timer(&lone, TIMER_REPAIR));
        }
        assert_int_equal(node_counts(lone.node).jobs, 1);
        lone_close(&lone);
    }
}

static void it_runs_when_nothing_was_heard_for_long(ATTR_UNUSED void **state)
{
    struct lone lone = {0};
    open_first(&lone);
    ask_again(&lone);
    for (uint32_t i = 0; i < 3 && node_counts(lone.node).jobs == 0; i++) {
        assert_true(lone_timer(&lone, TIMER_AUDIT));
    }
    assert_int_equal(node_counts(lone.node).jobs, 1);
    lone_close(&lone);
}

static void a_key_that_another_member_knows_is_not_used_for_two_requests(ATTR_UNUSED void **state)
{
    struct lone lone = {0};
    open_first(&lone);
    ask_again(&lone);
    struct message refusal = about(&lone, MESSAGE_SETTLED, 2);
    refusal.deputy.status = status_code(WEFT_REFUSED);
    refusal.deputy.reason = REASON_KEY_REUSED;
    lone_deliver(&lone, &refusal);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.reason, REASON_KEY_REUSED);
    assert_true(lone_is_empty(&lone));
    answer_one(&lone);
    struct message recall = about(&lone, MESSAGE_RECALL, 2);
    recall.deputy.inputs_hash = 1;
    lone_deliver(&lone, &recall);
    assert_int_equal(lone_sent(&lone, 2, MESSAGE_SETTLED)->deputy.reason, REASON_KEY_REUSED);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_TAKEN), 0);
    lone_close(&lone);
}

static void who_is_asked_says_what_it_knows(ATTR_UNUSED void **state)
{
    struct lone lone = {0};
    open_first(&lone);
    say(&lone, MESSAGE_RECALL, 2);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_UNKNOWN), 1);
    (void)lone_request(&lone, FLOW_A); /* Of a job of this node the answer is given later. */
    say(&lone, MESSAGE_RECALL, 2);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_TAKEN), 1);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_RESULT), 0);
    say(&lone, MESSAGE_DEPUTED, 1);
    lone_settle(&lone);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_RESULT), 1);
    say(&lone, MESSAGE_RECALL, 2);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_TAKEN), 1);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_RESULT), 1);
    lone_close(&lone);
}

static void of_two_that_ask_each_other_the_first_in_rank_goes_on(ATTR_UNUSED void **state)
{
    struct lone lone = {0};
    open_first(&lone);
    ask_again(&lone);
    say(&lone, MESSAGE_RECALL, 2);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_TAKEN), 1);
    struct message lower = about(&lone, MESSAGE_RECALL, 2);
    do { /* A key for which this node, although it is asked, is the last in rank. */
        lower.deputy.key.words[0]++;
    } while (!keyed_outranks(lower.deputy.key, 2, 0));
    lone.key = lower.deputy.key;
    lone_hint(&lone, 1, PEER_BROKEN);
    lone_hint(&lone, 2, PEER_BROKEN);
    lone_hint(&lone, 2, PEER_RESTORED);
    lower.kind = MESSAGE_FORWARD; /* Node 2 waits for it, and this node asks all. */
    lone_deliver(&lone, &lower);
    assert_true(entry_of(&lone)->is_recalled);
    lower.kind = MESSAGE_RECALL;
    lone_deliver(&lone, &lower);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_UNKNOWN), 1);
    lone_close(&lone);
}

static void an_answer_whose_other_keeper_is_lost_is_handed_to_the_next(ATTR_UNUSED void **state)
{
    struct lone lone = {0};
    open_first(&lone);
    answer_one(&lone);
    lone_members(&lone, 2, WITHOUT_1, /* fresh */ 0);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_KEEP), 1);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_RESULT), 1);
    lone_members(&lone, 3, ALL_UP, /* fresh */ 2);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_KEEP), 0); /* Two have it. */
    lone_close(&lone);
}

static void nothing_is_handed_to_a_node_that_is_blocked(ATTR_UNUSED void **state)
{
    struct lone lone = {0};
    open_first(&lone);
    answer_one(&lone);
    lone_hint(&lone, 2, PEER_BLOCKED);
    lone_members(&lone, 2, WITHOUT_1, /* fresh */ 0);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(entry_of(&lone)->deputy, 1);
    lone_hint(&lone, 2, PEER_RESTORED);
    assert_true(lone_timer(&lone, TIMER_RETURN));
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_KEEP), 1);
    lone_close(&lone);
}

static void what_is_handed_over_is_kept_and_given(ATTR_UNUSED void **state)
{
    struct lone lone = {0};
    open_first(&lone);
    say(&lone, MESSAGE_KEEP, 2);
    assert_false(node_keeps(lone.node, lone.key));
    say(&lone, MESSAGE_RESULT, 1); /* That is not who hands it over. */
    assert_false(node_keeps(lone.node, lone.key));
    say(&lone, MESSAGE_RESULT, 2);
    assert_true(node_keeps(lone.node, lone.key));
    lone.is_retry = true;
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_count(&lone, EFFECT_ANSWER), 1);
    assert_int_equal(node_counts(lone.node).jobs, 0);
    lone_close(&lone);
}

static void an_answer_that_failed_is_handed_over_at_once(ATTR_UNUSED void **state)
{
    struct lone lone = {0};
    open_first(&lone);
    struct message keep = about(&lone, MESSAGE_KEEP, 2);
    keep.deputy.status = status_code(WEFT_FAILED);
    keep.deputy.reason = REASON_COUNT; /* There is no such reason. */
    lone_deliver(&lone, &keep);
    assert_true(lone_is_empty(&lone));
    keep.deputy.reason = REASON_ATTEMPTS;
    lone_deliver(&lone, &keep);
    assert_true(node_keeps(lone.node, lone.key));
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.reason, REASON_ATTEMPTS);
    lone_close(&lone);
}

static void what_is_handed_over_in_part_is_as_if_it_were_not_known(ATTR_UNUSED void **state)
{
    for (uint32_t way = 0; way < 4; way++) {
        struct lone lone = {0};
        open_first(&lone);
        say(&lone, MESSAGE_KEEP, 2);
        if (way == 0) {
            ask_again(&lone);
        } else if (way == 1) {
            say(&lone, MESSAGE_DEPUTE, 1);
            assert_int_equal(entry_of(&lone)->state, KEYED_DEPUTED);
        } else if (way == 2) {
            say(&lone, MESSAGE_RECALL, 1);
            assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_UNKNOWN), 1);
        } else {
            for (uint32_t i = 0; i < 3 && !lone_is_empty(&lone); i++) {
                assert_true(lone_timer(&lone, TIMER_AUDIT));
            }
            assert_true(lone_is_empty(&lone));
        }
        lone_close(&lone);
    }
}

/* Otherwise it would take the job over some day, which others have answered. */
static void a_deputy_is_released_when_the_next_one_knows(ATTR_UNUSED void **state)
{
    struct lone lone = {0};
    open_first(&lone);
    lone_members(&lone, 2, WITHOUT_1, /* fresh */ 0);
    (void)lone_request(&lone, FLOW_A);
    say(&lone, MESSAGE_DEPUTED, 2);
    lone_members(&lone, 3, ALL_UP, /* fresh */ 2);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_DEPUTE), 1);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_TAKEN), 0);
    say(&lone, MESSAGE_DEPUTED, 1);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_TAKEN), 1);
    lone_close(&lone);
}

static void who_was_released_forgets_or_asks_its_owner(ATTR_UNUSED void **state)
{
    for (uint32_t is_wanted = 0; is_wanted < 2; is_wanted++) {
        struct lone lone = {0};
        open_first(&lone);
        say(&lone, MESSAGE_DEPUTE, 1);
        if (is_wanted == 1) {
            (void)lone_request(&lone, FLOW_A);
        }
        say(&lone, MESSAGE_TAKEN, 2); /* That is not its owner. */
        assert_int_equal(entry_of(&lone)->state, KEYED_DEPUTED);
        say(&lone, MESSAGE_TAKEN, 1);
        assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_FORWARD), is_wanted);
        if (is_wanted == 1) { /* Under a name of this node: it may not speak for others. */
            assert_int_equal(lone_sent(&lone, 1, MESSAGE_FORWARD)->job.node, 0);
            say(&lone, MESSAGE_RESULT, 1);
            assert_int_equal(lone_count(&lone, EFFECT_ANSWER), 1);
        } else {
            assert_true(lone_is_empty(&lone));
        }
        lone_close(&lone);
    }
}

/* It was told of the request, and was so slow to say that it knows that another was told, too. */
static void who_knows_late_is_released_when_the_deputy_knows(ATTR_UNUSED void **state)
{
    for (uint32_t is_early = 0; is_early < 2; is_early++) {
        struct lone lone = {0};
        open_first(&lone);
        (void)lone_request(&lone, FLOW_A);
        assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_DEPUTE), 1);
        lone_members(&lone, 2, WITHOUT_1, /* fresh */ 0);
        assert_true(lone_timer(&lone, TIMER_REPAIR));
        assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_DEPUTE), 1);
        lone_members(&lone, 3, ALL_UP, /* fresh */ 0);
        if (is_early == 1) { /* Until the deputy knows, it is better than none. */
            say(&lone, MESSAGE_DEPUTED, 1);
            assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_TAKEN), 0);
        }
        say(&lone, MESSAGE_DEPUTED, 2);
        if (is_early == 0) {
            assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_TAKEN), 0);
            say(&lone, MESSAGE_DEPUTED, 1);
        }
        assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_TAKEN), 1);
        assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_TAKEN), 0);
        lone_close(&lone);
    }
}

static void who_knows_of_what_has_ended_is_released(ATTR_UNUSED void **state)
{
    for (uint32_t is_forgotten = 0; is_forgotten < 2; is_forgotten++) {
        struct lone lone = {0};
        open_first(&lone);
        answer_one(&lone);
        struct message deputed = about(&lone, MESSAGE_DEPUTED, 2);
        deputed.job = entry_of(&lone)->job;
        while (is_forgotten == 1 && !lone_is_empty(&lone)) {
            assert_true(lone_timer(&lone, TIMER_AUDIT));
        }
        lone_deliver(&lone, &deputed);
        assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_TAKEN), 1);
        deputed.from = 1;
        lone_deliver(&lone, &deputed); /* The deputy itself has the answer, or is given it. */
        assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_TAKEN), is_forgotten);
        lone_close(&lone);
    }
}

/* A key for which node 0 is the second in rank, and node 1 the first. */
static void choose_second(struct lone *lone)
{
    do {
        lone->key.words[0]++;
    } while (keyed_first_but(lone->node, lone->key, NODE_NONE) != 1 ||
             keyed_first_but(lone->node, lone->key, 1) != 0);
}

static void who_waits_for_a_lost_node_asks_all_before_it_runs(ATTR_UNUSED void **state)
{
    struct lone lone = {0};
    open_first(&lone);
    choose_second(&lone);
    lone.is_retry = true;
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_FORWARD), 1);
    lone_members(&lone, 2, WITHOUT_1, /* fresh */ 0);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_RECALL), 1);
    assert_int_equal(node_counts(lone.node).jobs, 0);
    say(&lone, MESSAGE_UNKNOWN, 2);
    assert_int_equal(node_counts(lone.node).jobs, 1);
    lone_close(&lone);
}

static void all_are_asked_again_when_who_had_it_is_lost(ATTR_UNUSED void **state)
{
    struct lone lone = {0};
    open_first(&lone);
    ask_again(&lone);
    say(&lone, MESSAGE_UNKNOWN, 2);
    say(&lone, MESSAGE_UNKNOWN, 1);
    assert_int_equal(node_counts(lone.node).jobs, 1);
    say(&lone, MESSAGE_TAKEN, 1); /* Another client has asked there. */
    assert_int_equal(node_counts(lone.node).jobs, 0);
    lone_members(&lone, 2, WITHOUT_1, /* fresh */ 0);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_RECALL), 1);
    assert_int_equal(node_counts(lone.node).jobs, 0);
    lone_close(&lone);
}

/* Two owners: the deputy of the one that gives up would take its job over some day. */
static void who_gives_a_request_up_releases_its_deputy(ATTR_UNUSED void **state)
{
    struct lone lone = {0};
    open_first(&lone);
    do { /* A key for which node 2 is before this node, but not reached at first. */
        lone.key.words[0]++;
    } while (!keyed_outranks(lone.key, 2, 0));
    lone_hint(&lone, 2, PEER_BROKEN);
    (void)lone_request(&lone, FLOW_A);
    say(&lone, MESSAGE_DEPUTED, 1);
    lone_hint(&lone, 2, PEER_RESTORED);
    say(&lone, MESSAGE_DEPUTE, 2);
    assert_int_equal(entry_of(&lone)->state, KEYED_DEPUTED);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_TAKEN), 1);
    lone_close(&lone);
}

static void of_two_that_wait_for_each_other_one_asks_all(ATTR_UNUSED void **state)
{
    struct lone lone = {0};
    open_first(&lone);
    choose_second(&lone);
    lone.is_retry = true;
    (void)lone_request(&lone, FLOW_A);
    lone_members(&lone, 2, WITHOUT_1, /* fresh */ 0);
    say(&lone, MESSAGE_FORWARD, 2); /* Before this node has looked who is lost. */
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_RECALL), 1);
    assert_int_equal(node_counts(lone.node).jobs, 0);
    say(&lone, MESSAGE_UNKNOWN, 2);
    assert_int_equal(node_counts(lone.node).jobs, 1);
    lone_close(&lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_another_member_has_is_given_and_not_run),
        cmocka_unit_test(only_who_was_asked_can_say_that_it_has_it),
        cmocka_unit_test(nodes_do_not_wait_for_each_other_alone),
        cmocka_unit_test(a_lost_member_is_not_waited_for),
        cmocka_unit_test(a_member_that_was_not_reached_yet_is_asked_when_it_is),
        cmocka_unit_test(it_runs_when_nothing_was_heard_for_long),
        cmocka_unit_test(a_key_that_another_member_knows_is_not_used_for_two_requests),
        cmocka_unit_test(who_is_asked_says_what_it_knows),
        cmocka_unit_test(of_two_that_ask_each_other_the_first_in_rank_goes_on),
        cmocka_unit_test(an_answer_whose_other_keeper_is_lost_is_handed_to_the_next),
        cmocka_unit_test(nothing_is_handed_to_a_node_that_is_blocked),
        cmocka_unit_test(what_is_handed_over_is_kept_and_given),
        cmocka_unit_test(an_answer_that_failed_is_handed_over_at_once),
        cmocka_unit_test(what_is_handed_over_in_part_is_as_if_it_were_not_known),
        cmocka_unit_test(a_deputy_is_released_when_the_next_one_knows),
        cmocka_unit_test(who_was_released_forgets_or_asks_its_owner),
        cmocka_unit_test(who_knows_late_is_released_when_the_deputy_knows),
        cmocka_unit_test(who_knows_of_what_has_ended_is_released),
        cmocka_unit_test(who_waits_for_a_lost_node_asks_all_before_it_runs),
        cmocka_unit_test(all_are_asked_again_when_who_had_it_is_lost),
        cmocka_unit_test(who_gives_a_request_up_releases_its_deputy),
        cmocka_unit_test(of_two_that_wait_for_each_other_one_asks_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
