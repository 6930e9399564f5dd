/*
 * Who belongs to the cluster: lists, losses, restarts, suspicions.
 *
 * Covers: src/node/members.c src/node/audit.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lone_node.h"
#include "node/inside.h"

enum { ALL_UP = 7, WITHOUT_1 = 5, WITHOUT_2 = 3 };

/* Play all repairs; they take no time. */
static void repair(struct lone *lone)
{
    const int64_t now_ns = lone->now_ns;
    while (lone_timer(lone, TIMER_REPAIR)) {
        assert_int_equal(lone->now_ns, now_ns);
    }
}

static void a_stale_list_is_ignored(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_members(&lone, 5, WITHOUT_1, 0);
    assert_int_equal(lone_record(&lone, RECORD_NODE_LOST)->value, 1);
    lone_members(&lone, 5, WITHOUT_2, 0);
    assert_int_equal(lone.effects.count, 0);
    lone_members(&lone, 4, ALL_UP, 2);
    assert_int_equal(lone.effects.count, 0);
    lone_plan(1, 1, 1, 1);
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_INPUT), 1); /* 1 is away, 2 is not. */
    lone_close(&lone);
}

static void what_was_on_a_lost_node_is_placed_anew(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 2, 1, 1);
    const struct job_id job = lone_request(&lone, FLOW_CHAIN);
    lone_members(&lone, 2, WITHOUT_1, 0);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_INPUT), 0); /* Not within this step. */
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    const struct message *input = lone_sent(&lone, 2, MESSAGE_INPUT);
    assert_int_equal(input->attempt, 1);
    assert_int_equal(input->work.placement[0], 2);
    assert_false(lone_timer(&lone, TIMER_REPAIR));
    lone_answer(&lone, job, 0);
    assert_int_equal(lone.answers, 1);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_job_that_lost_nothing_goes_on(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    (void)lone_request(&lone, FLOW_CHAIN);
    lone_members(&lone, 2, WITHOUT_2, 0);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(lone.effects.count, 0);
    lone_close(&lone);
}

static void a_restart_within_one_epoch_is_a_loss(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(node_counts(lone.node).reservations, 1);
    lone_members(&lone, 2, ALL_UP, /* fresh */ 2);
    assert_int_equal(lone_record(&lone, RECORD_NODE_LOST)->value, 1);
    assert_int_equal(lone_record(&lone, RECORD_NODE_BACK)->value, 1);
    assert_int_equal(node_counts(lone.node).reservations, 0);
    repair(&lone);
    assert_int_equal(node_counts(lone.node).reservations, 1); /* The new one knows nothing. */
    lone_members(&lone, 3, ALL_UP, 0);
    assert_int_equal(lone.effects.count, 0); /* It is the same as in the list before. */
    lone_close(&lone);
}

static void a_job_fails_after_too_many_losses(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    (void)lone_request(&lone, FLOW_A);
    for (uint32_t i = 0; i < JOB_ATTEMPTS_MAX; i++) {
        assert_int_equal(lone.answers, 0);
        lone_members(&lone, i + 2, ALL_UP, /* fresh */ 2);
        repair(&lone);
    }
    assert_int_equal(lone.answers, 1);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void everything_of_a_lost_owner_is_dropped(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct job_id job = {.node = 1, .number = 1};
    struct message message = lone_message(&lone, MESSAGE_RESERVE, job, FLOW_DIAMOND, TASK_NONE);
    lone_deliver(&lone, &message);
    message = lone_message(&lone, MESSAGE_INPUT, job, FLOW_DIAMOND, 0);
    lone_deliver(&lone, &message); /* Runs, */
    message = lone_message(&lone, MESSAGE_INPUT, job, FLOW_DIAMOND, 3);
    lone_deliver(&lone, &message); /* gathers, */
    const struct job_id other = {.node = 2, .number = 1};
    message = lone_message(&lone, MESSAGE_INPUT, other, FLOW_A, 0);
    lone_deliver(&lone, &message);
    lone_members(&lone, 2, WITHOUT_1, 0);
    repair(&lone);
    assert_int_equal(lone_count(&lone, EFFECT_CANCEL_BATCH), 1);
    assert_int_equal(lone_record(&lone, RECORD_DROPPED)->reason, REASON_OWNER_LOST);
    assert_int_equal(node_counts(lone.node).visits, 1); /* The other owner's. */
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/* Node 1 is back and works, before this node has heard of it; meanwhile node 2 is lost. */
static void what_a_new_owner_sends_before_it_is_listed_stays(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_members(&lone, 2, WITHOUT_1, 0);
    repair(&lone);
    const struct job_id job = {.node = 1, .incarnation = 7, .number = 1};
    const struct message message = lone_message(&lone, MESSAGE_INPUT, job, FLOW_A, 0);
    lone_deliver(&lone, &message);
    lone_members(&lone, 3, WITHOUT_1 & ~(UINT64_C(1) << 2), 0);
    repair(&lone);
    assert_int_equal(node_counts(lone.node).visits, 1);
    lone.incarnations[1] = 8; /* It was there, and is not any more. */
    lone_members(&lone, 4, ALL_UP, /* fresh */ 6);
    repair(&lone);
    assert_int_equal(node_counts(lone.node).visits, 0);
    lone_close(&lone);
}

static void a_thousand_losses_are_repaired_a_few_at_a_time(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    for (uint32_t i = 0; i < 1000; i++) {
        (void)lone_request(&lone, FLOW_DIAMOND);
        const struct message plan = lone_message(
            &lone, MESSAGE_RESERVE, (struct job_id){.node = 1, .number = i + 1}, FLOW_CHAIN, 1);
        lone_deliver(&lone, &plan);
    }
    lone_members(&lone, 2, WITHOUT_1, 0);
    uint32_t moved = 0;
    while (lone_timer(&lone, TIMER_REPAIR)) {
        const uint32_t now = lone_sent_count(&lone, 2, MESSAGE_INPUT);
        assert_true(now <= REPAIRS_PER_STEP);
        moved += now;
    }
    assert_int_equal(moved, 1000);
    assert_int_equal(node_counts(lone.node).visits, 0);
    lone_close(&lone);
}

static void a_second_loss_during_repairs_starts_them_over(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    for (uint32_t i = 0; i < 20; i++) {
        (void)lone_request(&lone, FLOW_A);
    }
    lone_members(&lone, 2, WITHOUT_1, 0);
    assert_true(lone_timer(&lone, TIMER_REPAIR)); /* The first few go to node 2. */
    lone_members(&lone, 3, /* up */ 1, 0);
    assert_int_equal(lone_count(&lone, EFFECT_WAKE_AT), 0); /* One timer is enough. */
    repair(&lone);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 20);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_job_answered_during_repairs_is_not_repaired(void **state)
{
    (void)state;
    struct lone lone;
    struct job_id jobs[12];
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    for (uint32_t i = 0; i < 12; i++) {
        jobs[i] = lone_request(&lone, FLOW_A);
    }
    lone_members(&lone, 2, WITHOUT_1, 0);
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    for (uint32_t i = REPAIRS_PER_STEP; i < 12; i++) { /* What was on its way still counts. */
        lone_answer(&lone, jobs[i], 0);
    }
    repair(&lone);
    assert_int_equal(node_counts(lone.node).jobs, REPAIRS_PER_STEP);
    assert_int_equal(lone.answers, 12 - REPAIRS_PER_STEP);
    lone_close(&lone);
}

static void a_task_that_moved_to_a_node_before_it_restarted_is_run_again(void **state)
{
    (void)state;
    struct lone lone;
    const struct job_id job = lone_open_placed(&lone, FLOW_CHAIN, /* worker */ 2);
    lone_members(&lone, 2, WITHOUT_1, 0);
    repair(&lone);
    const struct message moved = lone_moved(&lone, job, FLOW_CHAIN, 1, /* from */ 2, 1);
    lone_deliver(&lone, &moved); /* It went there before 2 heard of the loss. */
    assert_true(lone_timer(&lone, TIMER_REPAIR));
    assert_int_equal(lone_sent(&lone, 2, MESSAGE_INPUT)->attempt, 1);
    lone_close(&lone);
}

/*
 * Node 1 has restarted in life 7, which the owner knows. Returns the news that node 2 has sent task
 * 1 of a job to @life of it.
 */
static struct message restart_and_move(struct lone *lone, uint32_t life)
{
    lone->incarnations[1] = 7;
    lone_members(lone, 2, ALL_UP, /* fresh */ 2);
    repair(lone);
    lone_plan(2, 2, 2, 2);
    const struct job_id job = lone_request(lone, FLOW_CHAIN);
    struct message moved = lone_moved(lone, job, FLOW_CHAIN, 1, /* from */ 2, 1);
    moved.life = life;
    return moved;
}

static void a_task_that_moved_to_an_earlier_life_runs_again_in_a_while(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct message moved = restart_and_move(&lone, 6);
    lone_deliver(&lone, &moved);
    repair(&lone);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_INPUT), 0); /* It would do so again. */
    lone_deliver(&lone, &moved);                                   /* News of the same. */
    assert_true(lone_timer(&lone, TIMER_STALE));
    repair(&lone);
    assert_int_equal(lone_sent(&lone, 2, MESSAGE_INPUT)->attempt, 1);
    assert_false(lone_timer(&lone, TIMER_STALE));
    lone_close(&lone);
}

/* While a job waits for that, another task of it fails, which no node says twice. */
static void what_fails_while_its_job_waits_is_placed_anew_as_well(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct message moved = restart_and_move(&lone, 6);
    lone_deliver(&lone, &moved);
    struct message failed = lone_message(&lone, MESSAGE_FAILED, moved.job, FLOW_CHAIN, 0);
    failed.from = 2;
    failed.worker = 2;
    failed.reason = REASON_NO_WORKER;
    lone_deliver(&lone, &failed);
    assert_int_equal(lone_records(&lone, RECORD_REPEATED), 0);
    lone_plan(1, 1, 1, 1);
    assert_true(lone_timer(&lone, TIMER_STALE));
    repair(&lone);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_INPUT), 1); /* Not to node 2 again. */
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_INPUT)->attempt, 1);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_INPUT)->work.placement[0], 1);
    lone_close(&lone);
}

static void a_task_that_moved_to_the_present_life_goes_on(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct message moved = restart_and_move(&lone, 7);
    lone_deliver(&lone, &moved);
    assert_false(lone_timer(&lone, TIMER_STALE));
    assert_false(lone_timer(&lone, TIMER_REPAIR));
    lone_close(&lone);
}

/* Node 1 sends task 0, which it had, on to node 2, and leaves before all of it has gone out. */
static void what_a_node_moved_before_it_left_is_placed_anew(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 2, 2, 2);
    const struct job_id job = lone_request(&lone, FLOW_CHAIN);
    const struct message moved = lone_moved(&lone, job, FLOW_CHAIN, 0, /* from */ 1, 2);
    lone_deliver(&lone, &moved);
    lone_members(&lone, 2, WITHOUT_1, 0);
    repair(&lone);
    assert_int_equal(lone_sent(&lone, 2, MESSAGE_INPUT)->attempt, 1);
    lone_members(&lone, 3, WITHOUT_1, 0);
    repair(&lone);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_INPUT), 0); /* Once is enough. */
    lone_close(&lone);
}

static void a_suspect_gets_nothing_new_until_it_is_restored(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    (void)lone_request(&lone, FLOW_A);
    lone_hint(&lone, 1, PEER_BROKEN);
    assert_int_equal(lone_record(&lone, RECORD_SUSPECTED)->value, 1);
    assert_int_equal(node_counts(lone.node).reservations, 0);
    assert_int_equal(node_counts(lone.node).jobs, 1); /* What it has, it keeps. */
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_INPUT), 1);
    lone_hint(&lone, 1, PEER_RESTORED);
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_INPUT), 1);
    lone_close(&lone);
}

static void a_suspect_that_comes_back_in_a_list_is_trusted_again(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_hint(&lone, 1, PEER_BROKEN);
    lone_members(&lone, 2, WITHOUT_1, 0);
    lone_members(&lone, 3, ALL_UP, 2);
    assert_int_equal(lone_record(&lone, RECORD_NODE_BACK)->value, 1);
    lone_plan(1, 1, 1, 1);
    (void)lone_request(&lone, FLOW_A);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_INPUT), 1);
    lone_close(&lone);
}

/* No verdict comes: the directory is away, or hears the peer. */
static void what_is_on_a_node_that_is_silent_for_long_is_placed_anew(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    const struct job_id job = lone_request(&lone, FLOW_A);
    lone_hint(&lone, 1, PEER_BROKEN);
    repair(&lone);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_INPUT), 0); /* It may be back in a moment. */
    const int64_t broken_ns = lone.now_ns;
    assert_true(lone_timer(&lone, TIMER_SILENCE));
    assert_int_equal(lone.now_ns - broken_ns, SILENT_NS);
    repair(&lone);
    assert_int_equal(lone_sent(&lone, 2, MESSAGE_INPUT)->attempt, 1);
    assert_false(lone_timer(&lone, TIMER_SILENCE)); /* Once is enough. */
    lone_hint(&lone, 1, PEER_BROKEN);
    repair(&lone);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_INPUT), 0);
    lone_answer(&lone, job, 0);
    assert_int_equal(lone.answers, 1);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_node_that_was_silent_for_a_moment_keeps_what_it_has(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    (void)lone_request(&lone, FLOW_A);
    lone_hint(&lone, 1, PEER_BROKEN);
    lone_hint(&lone, 2, PEER_BROKEN);
    lone_hint(&lone, 1, PEER_RESTORED);
    assert_true(lone_timer(&lone, TIMER_SILENCE));
    repair(&lone);
    assert_int_equal(lone_records(&lone, RECORD_REPEATED), 0);
    lone_close(&lone);
}

/* This node is about to end, and runs nothing new. */
static void what_only_a_silent_node_can_run_waits_for_it(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    (void)lone_request(&lone, FLOW_A);
    struct event drain = {.kind = EVENT_DRAIN};
    lone_step(&lone, &drain);
    lone_hint(&lone, 1, PEER_BROKEN);
    lone_hint(&lone, 2, PEER_BROKEN);
    assert_true(lone_timer(&lone, TIMER_SILENCE));
    repair(&lone);
    assert_int_equal(lone_records(&lone, RECORD_REPEATED), 0);
    assert_int_equal(lone.answers, 0);
    lone_close(&lone);
}

static void the_last_node_does_everything_itself(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 2, 1, 2);
    (void)lone_request(&lone, FLOW_DIAMOND);
    lone_members(&lone, 2, /* up */ 1, 0);
    repair(&lone);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 1);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.status, WEFT_OK);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void an_owner_that_hears_nothing_asks_and_then_runs_the_job_again(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    const struct job_id job = lone_request(&lone, FLOW_CHAIN);
    uint32_t rounds = 0;
    while (lone_sent_count(&lone, 1, MESSAGE_PROBE) == 0) {
        assert_true(rounds++ < 4);
        assert_true(lone_timer(&lone, TIMER_AUDIT));
    }
    const struct message alive = {.kind = MESSAGE_ALIVE, .from = 1, .job = job};
    lone_deliver(&lone, &alive);
    assert_true(lone_timer(&lone, TIMER_AUDIT));
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_INPUT), 0); /* It is being worked on. */
    for (rounds = 0; lone_sent_count(&lone, 1, MESSAGE_INPUT) == 0; rounds++) {
        assert_true(rounds < 8);
        assert_true(lone_timer(&lone, TIMER_AUDIT));
    }
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_INPUT)->attempt, 1);
    lone_answer(&lone, job, 0);
    assert_int_equal(lone.answers, 1);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_probe_is_answered_only_while_the_job_is_worked_on(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct job_id job = {.node = 1, .number = 1};
    const struct message probe = {.kind = MESSAGE_PROBE, .from = 1, .job = job};
    lone_deliver(&lone, &probe);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_ALIVE), 0);
    const struct message input = lone_message(&lone, MESSAGE_INPUT, job, FLOW_F, 0);
    lone_deliver(&lone, &input);
    lone_deliver(&lone, &probe);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_ALIVE), 1);
    lone_settle(&lone);
    lone_deliver(&lone, &probe);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_ALIVE), 0);
    lone_close(&lone);
}

static void be_asked(struct lone *lone, struct job_id job, uint32_t asker)
{
    struct event event = {.kind = EVENT_UNDER_WAY};
    event.under_way.job = job;
    event.under_way.asker = asker;
    lone_step(lone, &event);
}

static void who_has_nothing_of_a_job_asks_its_host_whether_something_is_under_way(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct job_id job = {.node = 1, .number = 1};
    const struct message probe = {.kind = MESSAGE_PROBE, .from = 1, .job = job};
    lone_deliver(&lone, &probe);
    assert_true(job_equal(lone_find(&lone, EFFECT_FIND)->find.job, job));
    assert_int_equal(lone_find(&lone, EFFECT_FIND)->find.asker, 1);
    be_asked(&lone, job, 1);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_ALIVE), 1);
    const struct message input = lone_message(&lone, MESSAGE_INPUT, job, FLOW_F, 0);
    lone_deliver(&lone, &input);
    lone_deliver(&lone, &probe); /* It waits here: no need to ask. */
    assert_int_equal(lone_count(&lone, EFFECT_FIND), 0);
    lone_members(&lone, 2, WITHOUT_1, 0);
    be_asked(&lone, job, 1);
    assert_int_equal(lone_count(&lone, EFFECT_SEND), 0); /* No node is left to be told. */
    lone_close(&lone);
}

static void what_waits_for_a_blocked_peer_is_under_way(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(0, 1, 1, 1);
    lone_hint(&lone, 1, PEER_BLOCKED);
    const struct job_id job = {.node = 2, .number = 1};
    const struct message input = lone_message(&lone, MESSAGE_INPUT, job, FLOW_CHAIN, 0);
    lone_deliver(&lone, &input);
    lone_settle(&lone); /* It has run, and what it made is for node 1. */
    const struct message probe = {.kind = MESSAGE_PROBE, .from = 2, .job = job};
    lone_deliver(&lone, &probe);
    assert_int_equal(lone_count(&lone, EFFECT_FIND), 0);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_ALIVE), 1);
    lone_close(&lone);
}

/* The inputs of a job take an hour to leave its owner, and then nothing more is heard. */
static void an_owner_is_patient_while_its_own_tensors_are_under_way(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    const struct job_id job = lone_request(&lone, FLOW_CHAIN);
    uint32_t asked = 0;
    while (lone.now_ns < MS(3600000)) {
        assert_true(lone_timer(&lone, TIMER_AUDIT));
        assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_INPUT), 0);
        if (lone_count(&lone, EFFECT_FIND) > 0) {
            assert_int_equal(lone_find(&lone, EFFECT_FIND)->find.asker, lone.id);
            be_asked(&lone, job, lone.id);
            asked++;
        }
    }
    assert_true(asked > 100);
    for (uint32_t rounds = 0; lone_sent_count(&lone, 1, MESSAGE_INPUT) == 0; rounds++) {
        assert_true(rounds < 3);
        assert_true(lone_timer(&lone, TIMER_AUDIT));
    }
    assert_int_equal(lone_record(&lone, RECORD_REPEATED)->reason, REASON_SILENCE);
    assert_int_equal(lone_record(&lone, RECORD_REPEATED)->value, 1);
    lone_close(&lone);
}

/* An input comes just after its receiver was asked, and just before its sender is. */
static void an_owner_to_which_an_input_has_come_since_it_asked_is_patient(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 2, 0, 0);
    const struct job_id job = lone_request(&lone, FLOW_PAIR);
    for (uint32_t rounds = 0; lone_sent_count(&lone, 1, MESSAGE_PROBE) == 0; rounds++) {
        assert_true(rounds < 4);
        assert_true(lone_timer(&lone, TIMER_AUDIT));
    }
    struct message input = lone_message(&lone, MESSAGE_INPUT, job, FLOW_PAIR, 2);
    input.from = 1;
    input.work.age_ns = lone.now_ns;
    lone_deliver(&lone, &input);
    assert_true(lone_timer(&lone, TIMER_AUDIT));
    assert_int_equal(lone_records(&lone, RECORD_REPEATED), 0);
    lone_close(&lone);
}

static void who_gets_an_input_of_an_old_job_says_so(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    for (uint32_t i = 0; i < 2; i++) {
        struct message input = lone_task(&lone, i + 1, FLOW_F);
        input.work.age_ns = i == 0 ? AUDIT_NS - 1 : AUDIT_NS;
        lone_deliver(&lone, &input);
        assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_ALIVE), i);
    }
    lone_close(&lone);
}

/* Node 1 has gathered task 1 and sent it on: it has no task of the job any more. */
static void who_has_moved_a_task_is_asked_after_it(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 2, 2, 2);
    const struct job_id job = lone_request(&lone, FLOW_CHAIN);
    const struct message moved = {
        .kind = MESSAGE_MOVED,
        .from = 1,
        .job = job,
        .workflow = FLOW_CHAIN,
        .task = 0,
        .worker = lone.fleet->nodes[2].worker_first,
    };
    lone_deliver(&lone, &moved);
    uint32_t rounds = 0;
    while (lone_sent_count(&lone, 2, MESSAGE_PROBE) == 0) {
        assert_true(rounds++ < 4);
        assert_true(lone_timer(&lone, TIMER_AUDIT));
    }
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_PROBE), 1);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_PROBE), 1);
    lone_close(&lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_nothing_of_a_job_asks_its_host_whether_something_is_under_way),
        cmocka_unit_test(what_waits_for_a_blocked_peer_is_under_way),
        cmocka_unit_test(an_owner_is_patient_while_its_own_tensors_are_under_way),
        cmocka_unit_test(an_owner_to_which_an_input_has_come_since_it_asked_is_patient),
        cmocka_unit_test(who_gets_an_input_of_an_old_job_says_so),
        cmocka_unit_test(who_has_moved_a_task_is_asked_after_it),
        cmocka_unit_test(a_stale_list_is_ignored),
        cmocka_unit_test(what_was_on_a_lost_node_is_placed_anew),
        cmocka_unit_test(a_job_that_lost_nothing_goes_on),
        cmocka_unit_test(a_restart_within_one_epoch_is_a_loss),
        cmocka_unit_test(a_job_fails_after_too_many_losses),
        cmocka_unit_test(everything_of_a_lost_owner_is_dropped),
        cmocka_unit_test(what_a_new_owner_sends_before_it_is_listed_stays),
        cmocka_unit_test(a_thousand_losses_are_repaired_a_few_at_a_time),
        cmocka_unit_test(a_second_loss_during_repairs_starts_them_over),
        cmocka_unit_test(a_job_answered_during_repairs_is_not_repaired),
        cmocka_unit_test(a_task_that_moved_to_a_node_before_it_restarted_is_run_again),
        cmocka_unit_test(a_task_that_moved_to_an_earlier_life_runs_again_in_a_while),
        cmocka_unit_test(what_fails_while_its_job_waits_is_placed_anew_as_well),
        cmocka_unit_test(a_task_that_moved_to_the_present_life_goes_on),
        cmocka_unit_test(what_a_node_moved_before_it_left_is_placed_anew),
        cmocka_unit_test(a_suspect_gets_nothing_new_until_it_is_restored),
        cmocka_unit_test(a_suspect_that_comes_back_in_a_list_is_trusted_again),
        cmocka_unit_test(what_is_on_a_node_that_is_silent_for_long_is_placed_anew),
        cmocka_unit_test(a_node_that_was_silent_for_a_moment_keeps_what_it_has),
        cmocka_unit_test(what_only_a_silent_node_can_run_waits_for_it),
        cmocka_unit_test(the_last_node_does_everything_itself),
        cmocka_unit_test(an_owner_that_hears_nothing_asks_and_then_runs_the_job_again),
        cmocka_unit_test(a_probe_is_answered_only_while_the_job_is_worked_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
