/*
 * What other nodes say: malformed, late, twice, out of order. And their rows.
 *
 * Covers: src/node/inbox.c src/node/visits.c src/node/rows.c src/node/steal.c
 * src/node/withdrawn.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lone_node.h"
#include "node/inside.h"

static const struct job_id foreign = {.node = 1, .number = 1};

/* Deliver a message that must change nothing: no slot, tensor, message or reservation. */
static void expect_ignored(struct lone *lone, const struct message *message)
{
    const uint32_t used = lone_used(lone);
    const uint32_t held = lone->held;
    const int64_t queued_ns = lone->board.entries[lone->worker].live.load.queued_ns;
    lone_deliver(lone, message);
    assert_int_equal(lone_used(lone), used);
    assert_int_equal(lone->held, held);
    assert_int_equal(lone_count(lone, EFFECT_SEND), 0);
    assert_int_equal(lone_count(lone, EFFECT_MOVE), 0);
    assert_int_equal(lone_count(lone, EFFECT_LAUNCH), 0);
    assert_int_equal(lone_count(lone, EFFECT_LOAD), 0);
    assert_int_equal(lone->board.entries[lone->worker].live.load.queued_ns, queued_ns);
}

/* Every field that can name something that does not exist, one at a time. */
static void expect_malformed_ignored(struct lone *lone, enum message_kind kind)
{
    static const uint16_t beyond[] = {0, LONE_NODES, 0, 0};
    const struct message good = lone_message(lone, kind, foreign, FLOW_DIAMOND, 3);
    struct message bad = good;
    bad.workflow = LONE_WORKFLOWS;
    expect_ignored(lone, &bad);
    bad = good;
    bad.work.placement_count = 3;
    expect_ignored(lone, &bad);
    bad = good;
    bad.workflow = FLOW_CHAIN; /* Its placement has two entries. */
    expect_ignored(lone, &bad);
    bad = good;
    bad.work.placement = beyond;
    expect_ignored(lone, &bad);
    bad = good;
    bad.worker = LONE_NODES; /* No such worker, */
    expect_ignored(lone, &bad);
    bad.worker = 1; /* not ours, */
    expect_ignored(lone, &bad);
    bad.worker = WORKER_NONE; /* none at all. */
    expect_ignored(lone, &bad);
    bad = good;
    bad.task = 4;
    expect_ignored(lone, &bad);
    bad = good;
    bad.work.items = BATCH_TASKS_MAX * ITEMS_MAX + 1; /* More than a whole batch may have. */
    expect_ignored(lone, &bad);
    bad = good;
    bad.job.node = LONE_NODES;
    expect_ignored(lone, &bad);
    bad = good;
    bad.from = LONE_NODES;
    bad.sequence = 1; /* It would want an acknowledgement. */
    expect_ignored(lone, &bad);
    bad = good;
    bad.job.node = lone->id; /* Our own job, but we have none. */
    expect_ignored(lone, &bad);
}

static void a_reservation_that_makes_no_sense_changes_nothing(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    expect_malformed_ignored(&lone, MESSAGE_RESERVE);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void an_input_that_makes_no_sense_changes_nothing(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    expect_malformed_ignored(&lone, MESSAGE_INPUT);
    struct message bad = lone_message(&lone, MESSAGE_INPUT, foreign, FLOW_DIAMOND, 3);
    bad.work.input = 2; /* The join has two. */
    expect_ignored(&lone, &bad);
    bad.task = 0;
    bad.work.input = 1; /* A source has one. */
    expect_ignored(&lone, &bad);
    bad.work.placement_count = 0;
    expect_ignored(&lone, &bad);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_job_does_not_change_its_workflow(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct message plan = lone_message(&lone, MESSAGE_RESERVE, foreign, FLOW_CHAIN, 1);
    lone_deliver(&lone, &plan);
    struct message other = lone_message(&lone, MESSAGE_INPUT, foreign, FLOW_DIAMOND, 3);
    expect_ignored(&lone, &other);
    other.kind = MESSAGE_RESERVE;
    other.attempt = 1;
    expect_ignored(&lone, &other);
    lone_close(&lone);
}

static void outputs_of_unknown_jobs_and_sinks_are_released(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_answer(&lone, (struct job_id){.node = 0, .number = 77}, 0);
    assert_true(lone_is_empty(&lone));
    lone_answer(&lone, (struct job_id){.node = 1, .number = 1}, 0); /* Another node's. */
    assert_true(lone_is_empty(&lone));
    lone_plan(1, 1, 1, 1);
    const struct job_id job = lone_request(&lone, FLOW_A);
    const uint32_t used = lone_used(&lone);
    lone_answer(&lone, job, 1); /* There is only sink 0. */
    assert_int_equal(lone_used(&lone), used);
    assert_int_equal(lone.answers, 0);
    assert_int_equal(lone.held, 1); /* The request's input. */
    lone_close(&lone);
}

static void a_second_copy_of_an_input_is_dropped(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    struct message input = lone_message(&lone, MESSAGE_INPUT, foreign, FLOW_DIAMOND, 3);
    lone_deliver(&lone, &input);
    assert_int_equal(node_counts(lone.node).queued, 0); /* It gathers. */
    expect_ignored(&lone, &input);
    assert_int_equal(lone_record(&lone, RECORD_DROPPED)->reason, REASON_DUPLICATE);
    input.work.input = 1;
    lone_deliver(&lone, &input);
    assert_int_equal(lone_count(&lone, EFFECT_LAUNCH), 1);
    expect_ignored(&lone, &input); /* It runs. */
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_INPUT)->task, TASK_ANSWER);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_reservation_after_its_input_counts_nothing_twice(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct message input = lone_message(&lone, MESSAGE_INPUT, foreign, FLOW_CHAIN, 1);
    lone_deliver(&lone, &input);
    const struct message late = lone_message(&lone, MESSAGE_RESERVE, foreign, FLOW_CHAIN, 1);
    expect_ignored(&lone, &late);
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_reserved_task_counts_in_the_row_until_it_is_unreserved(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct row_load *load = &lone.board.entries[0].live.load;
    const struct message plan =
        lone_message(&lone, MESSAGE_RESERVE, foreign, FLOW_DIAMOND, TASK_NONE);
    lone_deliver(&lone, &plan); /* All but the source: a, b and f. */
    assert_int_equal(load->queued_ns, MS(32));
    struct message undo = lone_message(&lone, MESSAGE_UNRESERVE, foreign, FLOW_DIAMOND, 2);
    lone_deliver(&lone, &undo);
    assert_int_equal(load->queued_ns, MS(12));
    expect_ignored(&lone, &undo); /* Once is enough. */
    const struct message cancel = lone_message(&lone, MESSAGE_CANCEL, foreign, FLOW_DIAMOND, 0);
    lone_deliver(&lone, &cancel);
    assert_int_equal(load->queued_ns, 0);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_row_says_how_much_waits_and_between_which_keys(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct row_load *load = &lone.board.entries[0].live.load;
    (void)lone_request(&lone, FLOW_F);
    assert_int_equal(load->waits_steps, 0); /* It runs. */
    lone.now_ns += MS(3);
    (void)lone_request(&lone, FLOW_F);
    lone.now_ns += MS(4);
    (void)lone_request(&lone, FLOW_F);
    assert_int_equal(load->queued_items, 2);
    assert_int_equal(load->waits_steps, MS(4) / ROW_STEP_NS);
    assert_int_equal(load->first_steps, -MS(4) / ROW_STEP_NS); /* Keys are times of arrival. */
    assert_int_equal(load->last_steps, 0);
    lone_close(&lone);
}

/* A reservation comes from the owner, its withdrawal from who moved the task: either is first. */
static void a_task_that_is_unreserved_before_it_is_reserved_never_counts(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct row_load *load = &lone.board.entries[0].live.load;
    struct message plan = lone_message(&lone, MESSAGE_RESERVE, foreign, FLOW_DIAMOND, TASK_NONE);
    struct message undo = lone_message(&lone, MESSAGE_UNRESERVE, foreign, FLOW_DIAMOND, 2);
    undo.from = 2;
    lone_deliver(&lone, &undo);
    lone_deliver(&lone, &plan); /* All but the source, a and f, and b, which is withdrawn. */
    assert_int_equal(load->queued_ns, MS(12));
    plan.attempt++; /* A later one counts again, */
    lone_deliver(&lone, &plan);
    assert_int_equal(load->queued_ns, MS(32));
    const struct message cancel = lone_message(&lone, MESSAGE_CANCEL, foreign, FLOW_DIAMOND, 0);
    lone_deliver(&lone, &cancel);
    const struct job_id other = {.node = 1, .number = 2};
    const struct message first = lone_message(&lone, MESSAGE_UNRESERVE, other, FLOW_DIAMOND, 1);
    lone_deliver(&lone, &first);
    for (uint32_t i = 0; i < WITHDRAWN_MAX; i++) { /* and what was long ago is forgotten. */
        undo.job.number = 10 + i;
        lone_deliver(&lone, &undo);
    }
    const struct message late = lone_message(&lone, MESSAGE_RESERVE, other, FLOW_DIAMOND, 1);
    lone_deliver(&lone, &late);
    assert_int_equal(load->queued_ns, MS(10));
    lone_close(&lone);
}

static void a_task_that_has_run_is_not_reserved_any_more(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct row_load *load = &lone.board.entries[0].live.load;
    struct message input = lone_message(&lone, MESSAGE_INPUT, foreign, FLOW_CHAIN, 1);
    input.from = 2; /* Where the task before it has run. */
    lone_deliver(&lone, &input);
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    const struct message late = lone_message(&lone, MESSAGE_RESERVE, foreign, FLOW_CHAIN, 1);
    lone_deliver(&lone, &late);
    assert_int_equal(load->queued_ns, 0);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_task_that_gathers_can_be_unreserved_one_that_waits_or_runs_cannot(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    struct message input = lone_message(&lone, MESSAGE_INPUT, foreign, FLOW_DIAMOND, 3);
    const struct message undo = lone_message(&lone, MESSAGE_UNRESERVE, foreign, FLOW_DIAMOND, 3);
    lone_deliver(&lone, &input);
    lone_deliver(&lone, &undo);
    assert_true(lone_is_empty(&lone));
    const struct message waiting = lone_message(&lone, MESSAGE_INPUT, foreign, FLOW_DIAMOND, 1);
    const struct message late = lone_message(&lone, MESSAGE_UNRESERVE, foreign, FLOW_DIAMOND, 1);
    lone_deliver(&lone, &input);
    input.work.input = 1;
    lone_deliver(&lone, &input);
    expect_ignored(&lone, &undo);
    lone_deliver(&lone, &waiting); /* For its model. */
    expect_ignored(&lone, &late);
    assert_int_equal(node_counts(lone.node).queued, 1);
    const struct message cancel = lone_message(&lone, MESSAGE_CANCEL, foreign, FLOW_DIAMOND, 0);
    lone_deliver(&lone, &cancel);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void an_input_without_its_tensor_is_ignored(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct message input = lone_message(&lone, MESSAGE_INPUT, foreign, FLOW_F, 0);
    struct event event = {.kind = EVENT_MESSAGE};
    event.message.message = &input;
    lone_step(&lone, &event);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_newer_attempt_replaces_the_placement_and_an_older_one_does_not(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(0, 1, 1, 1);
    struct message input = lone_message(&lone, MESSAGE_INPUT, foreign, FLOW_CHAIN, 0);
    input.attempt = 1;
    lone_deliver(&lone, &input);
    lone_plan(0, 2, 2, 2);
    struct message again = lone_message(&lone, MESSAGE_INPUT, foreign, FLOW_CHAIN, 0);
    lone_deliver(&lone, &again); /* Attempt 0, later than attempt 1. */
    lone_load_done(&lone, WEFT_OK);
    lone_deliver(&lone, &again);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_INPUT)->attempt, 1);
    lone_plan(0, 1, 1, 1);
    input = lone_message(&lone, MESSAGE_INPUT, foreign, FLOW_CHAIN, 0);
    lone_deliver(&lone, &input);
    lone_plan(0, 2, 2, 2);
    again = lone_message(&lone, MESSAGE_INPUT, foreign, FLOW_CHAIN, 0);
    again.attempt = 2;
    lone_deliver(&lone, &again); /* A second copy, but it knows better. */
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(lone_sent(&lone, 2, MESSAGE_INPUT)->attempt, 2);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/*
 * A branch of a diamond whose join is unbound: it meets where the fork ran. News of the older
 * attempt, in which the fork ran elsewhere and the join had a worker, come late, twice.
 */
static void an_older_attempt_does_not_move_the_place_where_a_join_meets(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 0, 2, PLACEMENT_UNBOUND);
    struct message input = lone_message(&lone, MESSAGE_INPUT, foreign, FLOW_DIAMOND, 1);
    input.attempt = 1;
    lone_deliver(&lone, &input);
    lone_plan(2, 0, 2, PLACEMENT_UNBOUND);
    const struct message late = lone_message(&lone, MESSAGE_INPUT, foreign, FLOW_DIAMOND, 1);
    lone_deliver(&lone, &late);
    lone_plan(2, 0, 2, 2);
    const struct message plan = lone_message(&lone, MESSAGE_RESERVE, foreign, FLOW_DIAMOND, 1);
    lone_deliver(&lone, &plan);
    lone_load_done(&lone, WEFT_OK);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_INPUT), 0);
    const struct message *output = lone_sent(&lone, 1, MESSAGE_INPUT);
    assert_int_equal(output->task, 3);
    assert_int_equal(output->attempt, 1);
    assert_int_equal(output->work.placement[0], 1);
    assert_int_equal(output->work.placement[3], PLACEMENT_UNBOUND);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void what_still_comes_of_a_cancelled_job_is_dropped(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct message cancel = lone_message(&lone, MESSAGE_CANCEL, foreign, FLOW_CHAIN, 0);
    lone_deliver(&lone, &cancel);
    const struct message input = lone_message(&lone, MESSAGE_INPUT, foreign, FLOW_CHAIN, 1);
    expect_ignored(&lone, &input);
    const struct message plan = lone_message(&lone, MESSAGE_RESERVE, foreign, FLOW_CHAIN, 1);
    expect_ignored(&lone, &plan);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void what_comes_of_own_jobs_that_have_ended_is_dropped_however_late(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(0, 1, 2, 0);
    const struct job_id job = lone_request(&lone, FLOW_DIAMOND);
    const struct message late = lone_message(&lone, MESSAGE_INPUT, job, FLOW_DIAMOND, 3);
    lone_cancel(&lone, job);
    for (uint32_t i = 0; i < 2 * CANCELLED_MAX; i++) {
        lone_cancel(&lone, lone_request(&lone, FLOW_F));
    }
    expect_ignored(&lone, &late);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_node_that_moves_a_job_that_is_gone_is_told_to_cancel_it(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct job_id job = {.node = 0, .number = 9};
    struct message moved = lone_moved(&lone, job, FLOW_A, 0, /* from */ 1, 2);
    lone_deliver(&lone, &moved);
    assert_int_equal(lone_sent(&lone, 2, MESSAGE_CANCEL)->job.number, 9); /* Where it is now. */
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_CANCEL), 0);
    moved.worker = LONE_NODES;
    expect_ignored(&lone, &moved);
    moved.worker = 2;
    moved.job.node = 1; /* Not ours to say. */
    expect_ignored(&lone, &moved);
    lone_close(&lone);
}

static void a_moved_task_is_cancelled_where_it_went(void **state)
{
    (void)state;
    struct lone lone;
    const struct job_id job = lone_open_placed(&lone, FLOW_CHAIN, /* worker */ 1);
    const struct message moved = lone_moved(&lone, job, FLOW_CHAIN, 1, /* from */ 1, 2);
    lone_deliver(&lone, &moved);
    lone_cancel(&lone, job);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_CANCEL), 1);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_CANCEL), 1);
    lone_close(&lone);
}

static void a_node_that_asks_after_a_job_that_is_gone_is_told_to_cancel_it(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    struct message query =
        lone_message(&lone, MESSAGE_QUERY, (struct job_id){.node = 0, .number = 9}, FLOW_A, 0);
    query.from = 2;
    lone_deliver(&lone, &query);
    assert_int_equal(lone_sent(&lone, 2, MESSAGE_CANCEL)->job.number, 9);
    lone_plan(2, 2, 2, 2);
    query.job = lone_request(&lone, FLOW_A);
    expect_ignored(&lone, &query); /* It is still wanted. */
    query.job.node = 1;
    expect_ignored(&lone, &query);
    lone_close(&lone);
}

static void a_silent_owner_is_asked_and_its_word_is_law(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct message plan = lone_message(&lone, MESSAGE_RESERVE, foreign, FLOW_CHAIN, 1);
    lone_deliver(&lone, &plan);
    assert_true(lone_timer(&lone, TIMER_AUDIT));
    assert_int_equal(lone.now_ns, AUDIT_NS);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_QUERY)->job.number, foreign.number);
    const struct message again = lone_message(&lone, MESSAGE_RESERVE, foreign, FLOW_CHAIN, 1);
    lone.now_ns += AUDIT_NS / 2;
    lone_deliver(&lone, &again); /* It is heard of: no need to ask. */
    assert_true(lone_timer(&lone, TIMER_AUDIT));
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_QUERY), 0);
    assert_true(lone_timer(&lone, TIMER_AUDIT));
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_QUERY), 1);
    const struct message cancel = lone_message(&lone, MESSAGE_CANCEL, foreign, FLOW_CHAIN, 0);
    lone_deliver(&lone, &cancel);
    assert_true(lone_is_empty(&lone));
    assert_true(lone_timer(&lone, TIMER_AUDIT));
    assert_false(lone_timer(&lone, TIMER_AUDIT)); /* Nothing left to ask about. */
    lone_close(&lone);
}

/* Its owner came back, sent it, and died, before this node heard of any of it. */
static void what_a_life_has_sent_that_is_never_heard_of_does_not_stay(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct job_id job = {.node = 1, .incarnation = 7, .number = 1};
    const struct message plan = lone_message(&lone, MESSAGE_RESERVE, job, FLOW_CHAIN, 1);
    lone_deliver(&lone, &plan);
    assert_int_equal(node_counts(lone.node).visits, 1);
    assert_true(lone_timer(&lone, TIMER_AUDIT));
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_QUERY), 0);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_job_of_any_age_can_be_passed_on(void **state)
{
    (void)state;
    struct lone lone;
    uint8_t bytes[MESSAGE_BYTES_MAX];
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(0, 2, 2, 2);
    static const int64_t limits[] = {INT64_MAX, INT64_MAX / 2 - 1, INT64_MIN / 2 + 1};
    for (uint32_t i = 0; i < 3; i++) {
        struct message input = lone_task(&lone, i + 1, FLOW_CHAIN);
        input.work.age_ns = limits[i];
        input.work.left_ns = limits[i];
        lone_deliver(&lone, &input);
        lone.now_ns += MS(5);
        if (lone_is_asked(&lone, EFFECT_LOAD)) {
            lone_load_done(&lone, WEFT_OK);
        }
        lone_batch_done(&lone, WEFT_OK);
        const struct message *next = lone_sent(&lone, 2, MESSAGE_INPUT);
        assert_true(message_encode(next, bytes, sizeof(bytes)) > 0); /* Or it stops here. */
    }
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static struct row foreign_row(uint32_t worker, uint64_t sequence, int64_t queued_ns)
{
    return (struct row){
        .worker = worker,
        .parts = ROW_LOAD,
        .load = {.sequence = sequence, .queued_ns = queued_ns, .gpu_free = 1, .accepting = 1},
    };
}

static void receive_row(struct lone *lone, const struct row *row)
{
    struct event event = {.kind = EVENT_ROW};
    event.row = row;
    lone_step(lone, &event);
}

static void the_work_of_a_row_is_bounded_so_that_it_can_be_added_to_a_time(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone.now_ns = INT64_MAX / 2;
    const struct row row = foreign_row(1, 1, INT64_MAX);
    receive_row(&lone, &row);
    const struct row_load *load = board_load(&lone.board, 1, lone.now_ns);
    assert_int_equal(load->queued_ns, DURATION_NS_MAX);
    const struct row most = foreign_row(1, 2, DURATION_NS_MAX - 1);
    receive_row(&lone, &most);
    load = board_load(&lone.board, 1, lone.now_ns);
    assert_int_equal(load->queued_ns, DURATION_NS_MAX - 1);
    lone_close(&lone);
}

static void rows_only_move_forward(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    struct row row = foreign_row(1, 5, MS(50));
    lone.now_ns = MS(1);
    receive_row(&lone, &row);
    const struct row_load *load = board_load(&lone.board, 1, lone.now_ns);
    assert_int_equal(load->queued_ns, MS(50));
    assert_int_equal(load->at_ns, MS(1)); /* By the receiver's clock. */
    row = foreign_row(1, 5, MS(60));
    receive_row(&lone, &row);
    row = foreign_row(1, 4, MS(70));
    receive_row(&lone, &row);
    assert_int_equal(board_load(&lone.board, 1, lone.now_ns)->queued_ns, MS(50));
    lone_close(&lone);
}

static void rows_of_own_or_unknown_workers_are_ignored(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    struct row row = foreign_row(0, UINT64_MAX, MS(50));
    receive_row(&lone, &row);
    assert_int_equal(lone.board.entries[0].live.load.queued_ns, 0);
    assert_int_equal(board_load(&lone.board, 0, lone.now_ns)->queued_ns, 0);
    row = foreign_row(LONE_NODES, 1, MS(50));
    receive_row(&lone, &row);
    assert_int_equal(lone.effects.count, 0);
    lone_close(&lone);
}

static void a_row_that_claims_endless_work_does_no_harm(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = policy_find("least-work")});
    const struct row row = foreign_row(1, 1, INT64_MAX);
    lone.now_ns = MS(5);
    receive_row(&lone, &row);
    (void)lone_request(&lone, FLOW_F);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 1);
    lone_close(&lone);
}

static void a_reservation_is_kept_until_a_row_that_counts_it_is_seen(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    (void)lone_request(&lone, FLOW_CHAIN);
    const uint32_t noted = node_counts(lone.node).reservations;
    assert_int_equal(noted, 2); /* The source, and what is planned behind it. */
    struct row row = foreign_row(1, 10, MS(30));
    receive_row(&lone, &row); /* Counts nothing of it, as far as we know. */
    assert_int_equal(node_counts(lone.node).reservations, 2);
    struct message done = {.kind = MESSAGE_ACKNOWLEDGE, .from = 1, .worker = 1};
    done.sequence = lone_sent(&lone, 1, MESSAGE_INPUT) == NULL ? 2 : 0;
    done.row_sequence = 11;
    lone_deliver(&lone, &done);
    assert_int_equal(node_counts(lone.node).reservations, 2); /* That row is not here yet. */
    row = foreign_row(1, 11, MS(30));
    receive_row(&lone, &row);
    assert_int_equal(node_counts(lone.node).reservations, 0);
    lone_close(&lone);
}

static void an_acknowledgement_after_its_row_settles_at_once(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    (void)lone_request(&lone, FLOW_A);
    const struct row row = foreign_row(1, 11, MS(30));
    receive_row(&lone, &row);
    struct message done = {.kind = MESSAGE_ACKNOWLEDGE, .from = 1, .worker = 1};
    done.sequence = 1;
    done.row_sequence = 11;
    lone_deliver(&lone, &done);
    assert_int_equal(node_counts(lone.node).reservations, 0);
    done.worker = LONE_NODES;
    expect_ignored(&lone, &done);
    lone_close(&lone);
}

static void the_next_row_acknowledges_the_newest_reservation_of_each_node(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    for (uint32_t i = 1; i <= 4; i++) {
        struct message plan = lone_message(
            &lone, MESSAGE_RESERVE, (struct job_id){.node = 1 + i % 2, .number = i}, FLOW_CHAIN, 1);
        plan.sequence = i;
        lone_deliver(&lone, &plan);
    }
    assert_true(lone_timer(&lone, TIMER_PUBLISH));
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_ACKNOWLEDGE), 1);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_ACKNOWLEDGE)->sequence, 4);
    assert_int_equal(lone_sent(&lone, 2, MESSAGE_ACKNOWLEDGE)->sequence, 3);
    const struct row *row = lone.effects.rows[0];
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_ACKNOWLEDGE)->row_sequence, row->load.sequence);
    lone_close(&lone);
}

static uint32_t ask_worker_1(const struct policy_input *input, uint32_t worker)
{
    (void)input;
    return worker == 1 ? WORKER_NONE : 1;
}

static const struct policy stealing = {.name = "stealing", .steal = ask_worker_1};

/* Worker 2, of node 2, asks for a task of the worker here. */
static const struct message steal = {.kind = MESSAGE_STEAL, .from = 2, .worker = 2, .victim = 0};

static void a_thief_gets_the_last_task_and_its_inputs(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_deliver_tasks(&lone, 3, FLOW_F);
    lone_deliver(&lone, &steal);
    assert_int_equal(lone_sent(&lone, 2, MESSAGE_INPUT)->job.number, 3);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_MOVED)->worker, 2);
    lone_deliver(&lone, &steal);
    lone_deliver(&lone, &steal); /* The one that runs stays. */
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_NOTHING), 1);
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_thief_gets_nothing_that_it_cannot_run(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone.fleet->workers[2].device = 1; /* Nothing was measured there. */
    lone_deliver_tasks(&lone, 2, FLOW_F);
    lone_deliver(&lone, &steal);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_INPUT), 0);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_NOTHING), 1);
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/* Worker 2 is idle and has model A, by its row. */
static void let_thief_hold_a(struct lone *lone)
{
    struct row row = foreign_row(2, 1, 0);
    row.parts = ROW_BOTH;
    row.cache.sequence = 1;
    model_set_add(&row.cache.resident, MODEL_A);
    receive_row(lone, &row);
}

/* Queue one task of @workflow behind another that runs, and let worker 2 ask for it. */
static void ask_behind_another(struct lone *lone, enum lone_workflow workflow)
{
    lone_open(lone, &(struct lone_options){0});
    lone_deliver_task(lone, 1, FLOW_F);
    lone_deliver_task(lone, 2, workflow);
    let_thief_hold_a(lone);
    lone_deliver(lone, &steal);
}

static void a_thief_gets_no_model_to_load_and_no_fork(void **state)
{
    (void)state;
    static const enum lone_workflow kept[] = {FLOW_B, FLOW_DIAMOND};
    struct lone lone;
    for (uint32_t i = 0; i < ARRAY_COUNT(kept); i++) {
        ask_behind_another(&lone, kept[i]);
        assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_NOTHING), 1);
        lone_close(&lone);
    }
    ask_behind_another(&lone, FLOW_A);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_INPUT), 1);
    lone_close(&lone);
}

static void a_thief_gets_nothing_that_would_end_later_there(void **state)
{
    (void)state;
    struct lone lone;
    ask_behind_another(&lone, FLOW_F);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_INPUT), 1);
    lone_close(&lone);
    lone_open(&lone, &(struct lone_options){0});
    lone_deliver_tasks(&lone, 2, FLOW_F);
    struct row row = foreign_row(2, 1, 0);
    row.load.accepting = ROW_ACCEPTING + 3 * ROW_SLOWNESS_PARTS;
    receive_row(&lone, &row);
    lone_deliver(&lone, &steal);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_NOTHING), 1);
    lone_close(&lone);
}

static void wait_for_more(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    (void)queue;
    answer_out->wake_at_ns = input->view->now_ns + MS(50);
}

/* It waits for the same at the thief, from the beginning, and idle workers take it back. */
static void a_thief_gets_nothing_that_an_idle_worker_does_not_want_to_run_yet(void **state)
{
    (void)state;
    static const struct policy gathering = {.name = "gathering", .dispatch = wait_for_more};
    static const struct policy prompt = {.name = "prompt"};
    for (uint32_t i = 0; i < 2; i++) {
        struct lone lone;
        lone_open(&lone, &(struct lone_options){.policy = i == 0 ? &gathering : &prompt});
        lone_deliver_tasks(&lone, 2, FLOW_F);
        lone_deliver(&lone, &steal);
        assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_NOTHING), i == 0 ? 1 : 0);
        assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_INPUT), i); /* Behind one that runs. */
        lone_close(&lone);
    }
}

static void an_idle_worker_that_gives_its_task_away_asks_for_none_at_once(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &stealing});
    const struct message nothing = {.kind = MESSAGE_NOTHING, .from = 1, .worker = 0};
    lone_deliver(&lone, &nothing); /* To what it has asked at its start. */
    lone.now_ns += MS(1000);
    lone.node->workers[0].slowness = 2 * SLOWNESS_ONE; /* The thief is faster. */
    const struct message input = lone_message(&lone, MESSAGE_INPUT, foreign, FLOW_A, 0);
    lone_deliver(&lone, &input);
    assert_true(lone_is_asked(&lone, EFFECT_LOAD)); /* It waits for its model. */
    let_thief_hold_a(&lone);
    lone_deliver(&lone, &steal);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_INPUT), 1);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_STEAL), 0);
    lone.now_ns += STEAL_PAUSE_NS;
    const struct message plan = lone_message(
        &lone, MESSAGE_RESERVE, (struct job_id){.node = 2, .number = 1}, FLOW_CHAIN, 1);
    lone_deliver(&lone, &plan);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_STEAL), 1);
    lone_close(&lone);
}

static bool always(const double *options)
{
    (void)options;
    return true;
}

static void place_nothing(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out)
{
    (void)input;
    (void)job;
    (void)placement_out;
}

static const struct policy learning = {
    .name = "learning",
    .learns = always,
    .place_job = place_nothing,
};

static void a_worker_shows_how_much_slower_than_expected_it_is(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &learning});
    const struct row_load *load = &lone.board.entries[0].live.load;
    lone.profile->models[MODEL_F].curves[0].points[0].run_ns = MS(1) / 4;
    int64_t before = ROW_ACCEPTING;
    for (uint32_t i = 0; i < 8; i++) {
        lone_deliver_task(&lone, i + 1, FLOW_F);
        lone_batch_done(&lone, WEFT_OK); /* Takes 1 ms. */
        assert_true(load->accepting > before);
        assert_true(load->accepting <= ROW_ACCEPTING + 3 * ROW_SLOWNESS_PARTS);
        before = load->accepting;
    }
    lone.profile->models[MODEL_F].curves[0].points[0].run_ns = MS(1);
    lone_deliver_task(&lone, 9, FLOW_F);
    assert_true(load->run_ns > MS(1)); /* As long as it will really take. */
    lone_batch_done(&lone, WEFT_OK);
    assert_true(load->accepting < before);
    lone_close(&lone);
}

static void a_thief_that_names_a_worker_of_another_node_gets_nothing(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_deliver_tasks(&lone, 2, FLOW_F);
    struct message bad = steal;
    bad.worker = 0;
    expect_ignored(&lone, &bad); /* Ours, */
    bad.worker = 1;
    expect_ignored(&lone, &bad); /* a third node's, */
    bad.worker = LONE_NODES;
    expect_ignored(&lone, &bad); /* no worker's; */
    bad = steal;
    bad.victim = 1;
    expect_ignored(&lone, &bad); /* or it asks for what is not ours. */
    assert_int_equal(node_counts(lone.node).queued, 1);
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void an_idle_worker_asks_again_after_any_answer(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &stealing});
    const struct message cancel = lone_message(&lone, MESSAGE_CANCEL, foreign, FLOW_F, 0);
    lone_deliver(&lone, &cancel);
    /* The stolen task is of a job that was cancelled on its way. */
    const struct message input = lone_message(&lone, MESSAGE_INPUT, foreign, FLOW_F, 0);
    lone_deliver(&lone, &input);
    uint32_t asked = lone_sent_count(&lone, 1, MESSAGE_STEAL);
    lone.now_ns += MS(1000);
    const struct message plan = lone_message(
        &lone, MESSAGE_RESERVE, (struct job_id){.node = 2, .number = 1}, FLOW_CHAIN, 1);
    lone_deliver(&lone, &plan);
    asked += lone_sent_count(&lone, 1, MESSAGE_STEAL);
    assert_int_equal(asked, 1);
    const struct message nothing = {.kind = MESSAGE_NOTHING, .from = 1, .worker = 0};
    lone_deliver(&lone, &nothing);
    lone.now_ns += MS(1000);
    const struct message undo = lone_message(&lone, MESSAGE_UNRESERVE, plan.job, FLOW_CHAIN, 1);
    lone_deliver(&lone, &undo);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_STEAL), 1);
    lone_close(&lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reservation_that_makes_no_sense_changes_nothing),
        cmocka_unit_test(an_input_that_makes_no_sense_changes_nothing),
        cmocka_unit_test(a_job_does_not_change_its_workflow),
        cmocka_unit_test(outputs_of_unknown_jobs_and_sinks_are_released),
        cmocka_unit_test(a_second_copy_of_an_input_is_dropped),
        cmocka_unit_test(a_reservation_after_its_input_counts_nothing_twice),
        cmocka_unit_test(a_reserved_task_counts_in_the_row_until_it_is_unreserved),
        cmocka_unit_test(a_row_says_how_much_waits_and_between_which_keys),
        cmocka_unit_test(a_task_that_is_unreserved_before_it_is_reserved_never_counts),
        cmocka_unit_test(a_task_that_has_run_is_not_reserved_any_more),
        cmocka_unit_test(a_task_that_gathers_can_be_unreserved_one_that_waits_or_runs_cannot),
        cmocka_unit_test(an_input_without_its_tensor_is_ignored),
        cmocka_unit_test(a_newer_attempt_replaces_the_placement_and_an_older_one_does_not),
        cmocka_unit_test(an_older_attempt_does_not_move_the_place_where_a_join_meets),
        cmocka_unit_test(what_still_comes_of_a_cancelled_job_is_dropped),
        cmocka_unit_test(what_comes_of_own_jobs_that_have_ended_is_dropped_however_late),
        cmocka_unit_test(a_node_that_moves_a_job_that_is_gone_is_told_to_cancel_it),
        cmocka_unit_test(a_moved_task_is_cancelled_where_it_went),
        cmocka_unit_test(a_node_that_asks_after_a_job_that_is_gone_is_told_to_cancel_it),
        cmocka_unit_test(a_silent_owner_is_asked_and_its_word_is_law),
        cmocka_unit_test(what_a_life_has_sent_that_is_never_heard_of_does_not_stay),
        cmocka_unit_test(a_job_of_any_age_can_be_passed_on),
        cmocka_unit_test(the_work_of_a_row_is_bounded_so_that_it_can_be_added_to_a_time),
        cmocka_unit_test(rows_only_move_forward),
        cmocka_unit_test(rows_of_own_or_unknown_workers_are_ignored),
        cmocka_unit_test(a_row_that_claims_endless_work_does_no_harm),
        cmocka_unit_test(a_reservation_is_kept_until_a_row_that_counts_it_is_seen),
        cmocka_unit_test(an_acknowledgement_after_its_row_settles_at_once),
        cmocka_unit_test(the_next_row_acknowledges_the_newest_reservation_of_each_node),
        cmocka_unit_test(a_thief_gets_the_last_task_and_its_inputs),
        cmocka_unit_test(a_thief_gets_nothing_that_it_cannot_run),
        cmocka_unit_test(a_thief_gets_no_model_to_load_and_no_fork),
        cmocka_unit_test(a_thief_gets_nothing_that_would_end_later_there),
        cmocka_unit_test(a_thief_gets_nothing_that_an_idle_worker_does_not_want_to_run_yet),
        cmocka_unit_test(an_idle_worker_that_gives_its_task_away_asks_for_none_at_once),
        cmocka_unit_test(a_worker_shows_how_much_slower_than_expected_it_is),
        cmocka_unit_test(a_thief_that_names_a_worker_of_another_node_gets_nothing),
        cmocka_unit_test(an_idle_worker_asks_again_after_any_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
