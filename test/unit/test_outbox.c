/*
 * Messages for peers that take none at the moment, and the tensors that go with them.
 *
 * Covers: src/node/outbox.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lone_node.h"
#include "node/inside.h"

static void send_ready(struct lone *lone, uint32_t node)
{
    struct event event = {.kind = EVENT_SEND_READY};
    event.peer.node = node;
    lone_step(lone, &event);
}

/* How many effects of the last step go to other nodes. */
static uint32_t sent(const struct lone *lone)
{
    return lone_count(lone, EFFECT_SEND) + lone_count(lone, EFFECT_MOVE);
}

static void messages_for_a_blocked_peer_wait_and_leave_in_order(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_hint(&lone, 1, PEER_BLOCKED);
    lone_plan(1, 1, 1, 1);
    for (uint32_t i = 0; i < 3; i++) {
        (void)lone_request(&lone, FLOW_CHAIN); /* A RESERVE and an INPUT each. */
        assert_int_equal(sent(&lone), 0);
    }
    assert_int_equal(lone.pools.parked.used, 6);
    send_ready(&lone, 1);
    assert_int_equal(sent(&lone), 6);
    uint32_t number = 0;
    for (uint32_t i = 0; i < lone.effects.count; i++) {
        const struct effect *effect = &lone.effects.items[i];
        assert_int_equal(effect->kind, number % 2 == 0 ? EFFECT_SEND : EFFECT_MOVE);
        assert_int_equal(effect->send.message.job.number, number / 2 + 1);
        assert_int_equal(effect->send.message.work.placement_count, 2);
        assert_int_equal(effect->send.message.work.placement[1], 1);
        assert_int_equal(effect->send.message.from, 0);
        number++;
    }
    assert_int_equal(number, 6);
    assert_int_equal(lone.pools.parked.used, 0);
    (void)lone_request(&lone, FLOW_CHAIN);
    assert_int_equal(sent(&lone), 2); /* Not blocked any more. */
    lone_close(&lone);
}

static void what_waits_grows_older(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_hint(&lone, 1, PEER_BLOCKED);
    lone_plan(1, 1, 1, 1);
    (void)lone_request(&lone, FLOW_CHAIN);
    const uint32_t slot = lone.node->parked_last;
    struct parked *parked = pool_at(&lone.pools.parked, slot);
    assert_int_equal(parked->message.kind, MESSAGE_INPUT);
    parked->message.work.left_ns = MS(300); /* As if it had a deadline. */
    lone.now_ns += MS(100);
    send_ready(&lone, 1);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_RESERVE)->work.age_ns, MS(100));
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_RESERVE)->work.left_ns, INT64_MAX);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_INPUT)->work.age_ns, MS(100));
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_INPUT)->work.left_ns, MS(200));
    lone_close(&lone);
}

static void a_message_without_a_placement_can_wait_as_well(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    const struct job_id job = lone_request(&lone, FLOW_A);
    lone_hint(&lone, 1, PEER_BLOCKED);
    lone_cancel(&lone, job);
    assert_int_equal(sent(&lone), 0);
    assert_int_equal(lone.answers, 1); /* The client does not have to wait for it. */
    send_ready(&lone, 1);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_CANCEL)->job.number, job.number);
    assert_int_equal(message_placement_count(lone_sent(&lone, 1, MESSAGE_CANCEL)), 0);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void only_the_blocked_peer_waits(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_hint(&lone, 1, PEER_BLOCKED);
    lone_hint(&lone, 2, PEER_BLOCKED);
    lone_plan(1, 2, 1, 2);
    (void)lone_request(&lone, FLOW_CHAIN);
    (void)lone_request(&lone, FLOW_CHAIN);
    assert_int_equal(lone.pools.parked.used, 4);
    send_ready(&lone, 2);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_RESERVE), 2);
    assert_int_equal(sent(&lone), 2);
    lone_plan(2, 2, 2, 2);
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(sent(&lone), 1);
    send_ready(&lone, 1);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_INPUT), 2);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_INPUT)->job.number, 2); /* The later one. */
    send_ready(&lone, 1);
    assert_int_equal(lone.effects.count, 0); /* Once is enough. */
    lone_close(&lone);
}

static void a_restored_connection_unblocks_too(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_hint(&lone, 1, PEER_BLOCKED);
    lone_plan(1, 1, 1, 1);
    (void)lone_request(&lone, FLOW_A);
    lone_hint(&lone, 1, PEER_RESTORED);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_INPUT), 1);
    lone_close(&lone);
}

/* Node 1 works for life 7 of node 2, of which it has heard by way of another node only. */
static void end_task_of_unheard_owner(struct lone *lone)
{
    lone_open(lone, &(struct lone_options){0});
    const struct job_id job = {.node = 2, .incarnation = 7, .number = 1};
    const struct message input = lone_message(lone, MESSAGE_INPUT, job, FLOW_F, 0);
    lone_deliver(lone, &input);
    lone_batch_done(lone, WEFT_OK);
    assert_int_equal(sent(lone), 0); /* A net knows nobody to give it to. */
    assert_int_equal(lone->held, 1);
}

static void what_is_for_a_life_that_is_not_listed_yet_waits_for_it(void **state)
{
    (void)state;
    struct lone lone;
    end_task_of_unheard_owner(&lone);
    lone_members(&lone, 2, /* up */ 3, /* fresh */ 0); /* The life before is over: */
    assert_int_equal(sent(&lone), 0);
    assert_int_equal(lone.held, 1);
    lone_hint(&lone, 2, PEER_RESTORED);
    assert_int_equal(sent(&lone), 0);
    lone.incarnations[2] = 7;
    lone_members(&lone, 3, /* up */ 7, /* fresh */ 4);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_INPUT), 1);
    assert_int_equal(lone_sent(&lone, 2, MESSAGE_INPUT)->to_incarnation, 7);
    assert_int_equal(lone.held, 0);
    lone_close(&lone);
}

static void what_is_for_a_life_that_was_missed_is_dropped(void **state)
{
    (void)state;
    struct lone lone;
    end_task_of_unheard_owner(&lone);
    lone.incarnations[2] = 8;
    lone_members(&lone, 2, /* up */ 7, /* fresh */ 4);
    assert_int_equal(sent(&lone), 0);
    assert_int_equal(lone.held, 0);
    assert_int_equal(lone.pools.parked.used, 0);
    lone_close(&lone);
}

/* It came and went between two lists. */
static void what_is_for_a_life_that_is_listed_as_lost_is_dropped(void **state)
{
    (void)state;
    struct lone lone;
    end_task_of_unheard_owner(&lone);
    lone_members(&lone, 2, /* up */ 3, /* fresh */ 0);
    lone.incarnations[2] = 7;
    lone_members(&lone, 3, /* up */ 3, /* fresh */ 0);
    assert_true(lone_timer(&lone, TIMER_AUDIT));
    assert_int_equal(lone.held, 0);
    assert_int_equal(lone.pools.parked.used, 0);
    lone_close(&lone);
}

static void what_is_for_a_life_that_never_comes_is_dropped_in_the_end(void **state)
{
    (void)state;
    struct lone lone;
    end_task_of_unheard_owner(&lone);
    assert_true(lone_timer(&lone, TIMER_AUDIT));
    assert_int_equal(lone.held, 0);
    assert_int_equal(lone.pools.parked.used, 0);
    while (lone_timer(&lone, TIMER_AUDIT)) {
        assert_int_equal(sent(&lone), 0);
    }
    lone_close(&lone);
}

static void what_waits_for_a_lost_peer_is_dropped_and_its_tensors_released(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_hint(&lone, 1, PEER_BLOCKED);
    lone_hint(&lone, 2, PEER_BLOCKED);
    /* Outputs for two owners, held only by the list of what waits. */
    for (uint32_t owner = 1; owner <= 2; owner++) {
        const struct message input = lone_message(
            &lone, MESSAGE_INPUT, (struct job_id){.node = owner, .number = 1}, FLOW_F, 0);
        lone_deliver(&lone, &input);
        lone_batch_done(&lone, WEFT_OK);
    }
    assert_int_equal(lone.held, 2);
    assert_int_equal(lone.pools.parked.used, 2);
    lone_members(&lone, 2, /* up */ 5, /* fresh */ 0);
    assert_int_equal(lone_count(&lone, EFFECT_RELEASE), 1);
    assert_int_equal(sent(&lone), 0);
    assert_int_equal(lone.held, 1);
    send_ready(&lone, 1);
    assert_int_equal(sent(&lone), 0);
    send_ready(&lone, 2); /* The other one is still there. */
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_INPUT), 1);
    assert_int_equal(lone.held, 0);
    lone_close(&lone);
}

static void a_peer_that_comes_back_is_not_blocked(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_hint(&lone, 1, PEER_BLOCKED);
    lone_members(&lone, 2, /* up */ 7, /* fresh */ 2);
    lone_plan(1, 1, 1, 1);
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(sent(&lone), 1);
    lone_close(&lone);
}

static void past_the_limit_the_host_gets_the_rest(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_hint(&lone, 1, PEER_BLOCKED);
    lone_plan(1, 1, 1, 1);
    uint32_t passed = 0;
    for (uint32_t i = 0; i < PARKED_MAX + 10; i++) {
        (void)lone_request(&lone, FLOW_A);
        passed += sent(&lone);
    }
    assert_int_equal(passed, 10);
    assert_int_equal(lone.pools.parked.used, PARKED_MAX);
    send_ready(&lone, 1);
    assert_int_equal(sent(&lone), PARKED_MAX);
    lone_close(&lone);
}

static void a_list_full_of_the_longest_messages_fits_one_step(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_hint(&lone, 1, PEER_BLOCKED);
    lone_plan(1, 1, 1, 1);
    for (uint32_t i = 0; i < PARKED_MAX / 2; i++) {
        (void)lone_request(&lone, FLOW_DIAMOND);
    }
    send_ready(&lone, 1);
    assert_int_equal(sent(&lone), PARKED_MAX);
    lone_close(&lone);
}

static void a_tensor_for_two_receivers_is_released_after_both(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(0, 1, 2, 1);
    const struct message input = lone_task(&lone, 1, FLOW_DIAMOND);
    lone_hint(&lone, 2, PEER_BLOCKED);
    lone_deliver(&lone, &input);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(lone_count(&lone, EFFECT_MOVE), 1);
    assert_int_equal(lone_count(&lone, EFFECT_RELEASE), 1); /* The fork's input only. */
    send_ready(&lone, 2);
    assert_int_equal(lone_count(&lone, EFFECT_MOVE), 1);
    assert_int_equal(lone_count(&lone, EFFECT_RELEASE), 1);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/* A client may name any deadline: what is sent of it can be written and added to a time. */
static void a_deadline_of_centuries_can_be_sent(void **state)
{
    (void)state;
    static const int64_t deadlines_ns[] = {
        1, DURATION_NS_MAX, DURATION_NS_MAX + 1, INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    lone.now_ns = MS(1000);
    for (size_t i = 0; i < sizeof(deadlines_ns) / sizeof(deadlines_ns[0]); i++) {
        uint8_t bytes[MESSAGE_BYTES_MAX];
        lone.slo_ns = deadlines_ns[i];
        (void)lone_request(&lone, FLOW_CHAIN);
        const struct message *message = lone_sent(&lone, 1, MESSAGE_INPUT);
        assert_non_null(message);
        const int64_t expected_ns =
            deadlines_ns[i] < DURATION_NS_MAX ? deadlines_ns[i] : DURATION_NS_MAX;
        assert_int_equal(message->work.left_ns, expected_ns);
        assert_true(message_encode(message, bytes, sizeof(bytes)) > 0);
    }
    lone_close(&lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_for_a_blocked_peer_wait_and_leave_in_order),
        cmocka_unit_test(what_waits_grows_older),
        cmocka_unit_test(a_message_without_a_placement_can_wait_as_well),
        cmocka_unit_test(only_the_blocked_peer_waits),
        cmocka_unit_test(a_restored_connection_unblocks_too),
        cmocka_unit_test(what_is_for_a_life_that_is_not_listed_yet_waits_for_it),
        cmocka_unit_test(what_is_for_a_life_that_was_missed_is_dropped),
        cmocka_unit_test(what_is_for_a_life_that_is_listed_as_lost_is_dropped),
        cmocka_unit_test(what_is_for_a_life_that_never_comes_is_dropped_in_the_end),
        cmocka_unit_test(what_waits_for_a_lost_peer_is_dropped_and_its_tensors_released),
        cmocka_unit_test(a_peer_that_comes_back_is_not_blocked),
        cmocka_unit_test(past_the_limit_the_host_gets_the_rest),
        cmocka_unit_test(a_list_full_of_the_longest_messages_fits_one_step),
        cmocka_unit_test(a_tensor_for_two_receivers_is_released_after_both),
        cmocka_unit_test(a_deadline_of_centuries_can_be_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
