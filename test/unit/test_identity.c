/*
 * Who said it, and in which life: jobs, messages and promises of nodes that have restarted.
 *
 * Covers: src/model/ids.h src/node/early.c src/node/inbox.c src/node/outbox.c src/node/visits.c
 *         src/node/rows.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lone_node.h"
#include "node/inside.h"

#define ALL_UP UINT64_C(7)

static const struct job_id first_life = {.node = 1, .incarnation = 1, .number = 1};
static const struct job_id second_life = {.node = 1, .incarnation = 2, .number = 1};

/* A list says that life @incarnation of node 1 is a member. */
static void list_peer(struct lone *lone, uint32_t incarnation)
{
    lone->incarnations[1] = incarnation;
    lone_members(lone, lone->members[lone->members_known].epoch + 1, ALL_UP, /* fresh */ 1 << 1);
}

/* A node that believes node 1 to be in @incarnation. */
static void open_with_peer(struct lone *lone, uint32_t incarnation)
{
    lone_open(lone, &(struct lone_options){.incarnation = 5});
    list_peer(lone, incarnation);
}

/* A list says that it is a member in @incarnation, and all that comes of it happens. */
static void restart_peer(struct lone *lone, uint32_t incarnation)
{
    list_peer(lone, incarnation);
    while (lone_timer(lone, TIMER_REPAIR)) {
    }
}

static void keys_of_jobs_differ(void **state)
{
    (void)state;
    const struct job_id jobs[] = {
        {.node = 0, .incarnation = 0, .number = 1},
        {.node = 1, .incarnation = 0, .number = 1},
        {.node = 0, .incarnation = 1, .number = 1},
        {.node = 0, .incarnation = 16, .number = 1},
        {.node = 0, .incarnation = 1 << 20, .number = 1},
        {.node = 0, .incarnation = 0, .number = UINT64_C(1) << 32 | 2},
        {.node = 0, .incarnation = 0, .number = UINT64_C(1) << 45 | 3},
        {.node = NODES_MAX - 1, .incarnation = 0, .number = 1},
    };
    enum { COUNT = sizeof(jobs) / sizeof(jobs[0]) };
    for (uint32_t i = 0; i < COUNT; i++) {
        for (uint32_t k = 0; k < COUNT; k++) {
            assert_int_equal(job_equal(jobs[i], jobs[k]), i == k);
            assert_int_equal(job_key(jobs[i]) == job_key(jobs[k]), i == k);
        }
    }
}

/* Jobs of a node that are there at the same time, however often its repository has changed. */
static void keys_of_jobs_differ_in_all_editions(void **state)
{
    (void)state;
    enum { CHANGES = 40, JOBS = 20 };
    struct job_id jobs[CHANGES * JOBS];
    for (uint32_t i = 0; i < CHANGES * JOBS; i++) {
        const uint32_t edition = i / JOBS << EDITION_NODE_BITS;
        jobs[i] = (struct job_id){.number = job_number(edition, 1 + i % JOBS)};
        for (uint32_t k = 0; k < i; k++) {
            assert_true(job_key(jobs[i]) != job_key(jobs[k]));
        }
    }
}

static void what_an_earlier_life_has_sent_is_dropped(void **state)
{
    (void)state;
    struct lone lone;
    open_with_peer(&lone, 2);
    struct message input = lone_message(&lone, MESSAGE_INPUT, second_life, FLOW_F, 0);
    input.from_incarnation = 1;
    lone_deliver(&lone, &input);
    assert_true(lone_is_empty(&lone));
    struct message plan = lone_message(&lone, MESSAGE_RESERVE, second_life, FLOW_CHAIN, 1);
    plan.from_incarnation = 1;
    lone_deliver(&lone, &plan);
    assert_true(lone_is_empty(&lone));
    input.from_incarnation = 2;
    lone_deliver(&lone, &input);
    assert_int_equal(node_counts(lone.node).visits, 1);
    lone_close(&lone);
}

static void a_life_that_the_list_does_not_know_yet_is_heard(void **state)
{
    (void)state;
    struct lone lone;
    open_with_peer(&lone, 1);
    struct message plan = lone_message(&lone, MESSAGE_RESERVE, second_life, FLOW_CHAIN, 1);
    plan.sequence = 3;
    lone_deliver(&lone, &plan);
    assert_int_equal(node_counts(lone.node).visits, 1);
    lone.now_ns += MS(10);
    assert_true(lone_timer(&lone, TIMER_PUBLISH));
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_ACKNOWLEDGE), 0);
    list_peer(&lone, 2);
    const struct message *told = lone_sent(&lone, 1, MESSAGE_ACKNOWLEDGE);
    assert_int_equal(told->sequence, 3); /* And answered, once it can be reached. */
    assert_int_equal(told->to_incarnation, 2);
    assert_int_equal(node_counts(lone.node).visits, 1);
    lone_close(&lone);
}

static void what_was_meant_for_an_earlier_life_is_dropped(void **state)
{
    (void)state;
    struct lone lone;
    open_with_peer(&lone, 1);
    struct message input = lone_message(&lone, MESSAGE_INPUT, first_life, FLOW_F, 0);
    input.to_incarnation = 4;
    lone_deliver(&lone, &input);
    assert_true(lone_is_empty(&lone));
    input.to_incarnation = 6;
    lone_deliver(&lone, &input);
    assert_true(lone_is_empty(&lone));
    const struct job_id own = lone_request(&lone, FLOW_A);
    assert_int_equal(own.incarnation, 5);
    struct job_id before = own;
    before.incarnation = 4;
    lone_answer(&lone, before, 0); /* The answer to a job of the life before this one. */
    assert_int_equal(lone.answers, 0);
    lone_close(&lone);
}

static void messages_say_from_whom_and_for_whom(void **state)
{
    (void)state;
    struct lone lone;
    open_with_peer(&lone, 3);
    lone_plan(1, 1, 1, 1);
    (void)lone_request(&lone, FLOW_A);
    const struct message *sent = lone_sent(&lone, 1, MESSAGE_INPUT);
    assert_int_equal(sent->from_incarnation, 5);
    assert_int_equal(sent->to_incarnation, 3);
    assert_int_equal(sent->job.incarnation, 5);
    lone_close(&lone);
}

static void the_job_of_a_later_life_takes_the_place_of_one_before(void **state)
{
    (void)state;
    struct lone lone;
    open_with_peer(&lone, 1);
    struct job_id far = {.node = 1, .incarnation = 1, .number = (1 << 28) + 1};
    assert_int_equal(job_key(far), job_key(second_life));
    struct message plan = lone_message(&lone, MESSAGE_RESERVE, far, FLOW_CHAIN, 1);
    lone_deliver(&lone, &plan);
    plan = lone_message(&lone, MESSAGE_RESERVE, second_life, FLOW_CHAIN, 1);
    lone_deliver(&lone, &plan);
    assert_int_equal(node_counts(lone.node).visits, 1);
    assert_int_equal(lone_record(&lone, RECORD_DROPPED)->reason, REASON_OWNER_LOST);
    plan = lone_message(&lone, MESSAGE_RESERVE, far, FLOW_CHAIN, 1);
    lone_deliver(&lone, &plan); /* And not the other way round. */
    const struct message cancel = lone_message(&lone, MESSAGE_CANCEL, far, FLOW_CHAIN, 0);
    lone_deliver(&lone, &cancel); /* Nor does this mean it. */
    assert_int_equal(node_counts(lone.node).visits, 1);
    const struct message undo = lone_message(&lone, MESSAGE_UNRESERVE, second_life, FLOW_CHAIN, 1);
    lone_deliver(&lone, &undo);
    assert_int_equal(node_counts(lone.node).visits, 0);
    lone_close(&lone);
}

static void a_late_message_does_not_bring_back_the_job_of_an_earlier_life(void **state)
{
    (void)state;
    struct lone lone;
    open_with_peer(&lone, 1);
    struct message plan = lone_message(&lone, MESSAGE_RESERVE, first_life, FLOW_CHAIN, 1);
    lone_deliver(&lone, &plan);
    assert_int_equal(node_counts(lone.node).visits, 1);
    restart_peer(&lone, 2);
    assert_int_equal(node_counts(lone.node).visits, 0);
    struct message input = lone_message(&lone, MESSAGE_INPUT, first_life, FLOW_CHAIN, 1);
    input.from = 2; /* A third node did not hear of it in time. */
    input.from_incarnation = 0;
    lone_deliver(&lone, &input);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_buried_job_does_not_bury_that_of_a_later_life(void **state)
{
    (void)state;
    struct lone lone;
    open_with_peer(&lone, 1);
    const struct message cancel = lone_message(&lone, MESSAGE_CANCEL, first_life, FLOW_F, 0);
    lone_deliver(&lone, &cancel);
    restart_peer(&lone, 2);
    const struct message plan = lone_message(&lone, MESSAGE_RESERVE, second_life, FLOW_CHAIN, 1);
    lone_deliver(&lone, &plan);
    assert_int_equal(node_counts(lone.node).visits, 1);
    lone_close(&lone);
}

static void a_later_life_is_not_told_of_reservations_of_an_earlier_one(void **state)
{
    (void)state;
    struct lone lone;
    open_with_peer(&lone, 1);
    struct message plan = lone_message(&lone, MESSAGE_RESERVE, first_life, FLOW_CHAIN, 1);
    plan.sequence = 900;
    lone_deliver(&lone, &plan);
    plan = lone_message(&lone, MESSAGE_RESERVE, second_life, FLOW_CHAIN, 1);
    plan.sequence = 2;
    lone_deliver(&lone, &plan);
    lone.now_ns += MS(10);
    assert_true(lone_timer(&lone, TIMER_PUBLISH));
    list_peer(&lone, 2);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_ACKNOWLEDGE), 1);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_ACKNOWLEDGE)->sequence, 2);
    lone_close(&lone);
}

/* @message, about which its sender lies, changes nothing and leaves a record. */
static void expect_a_lie(struct lone *lone, const struct message *message)
{
    const struct node_counts before = node_counts(lone->node);
    const uint32_t answers = lone->answers;
    lone_deliver(lone, message);
    assert_int_equal(lone_records(lone, RECORD_IGNORED), 1);
    assert_int_equal(lone_record(lone, RECORD_IGNORED)->value, message->from);
    assert_int_equal(lone->effects.record_count, 1);
    assert_int_equal(lone->effects.count, 0);
    assert_int_equal(lone->answers, answers);
    const struct node_counts after = node_counts(lone->node);
    assert_memory_equal(&after, &before, offsetof(struct node_counts, draining));
    assert_int_equal(after.draining, before.draining);
}

static void only_the_owner_cancels_a_job_and_asks_after_it(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct job_id job = {.node = 1, .number = 1};
    const struct message plan = lone_message(&lone, MESSAGE_RESERVE, job, FLOW_CHAIN, 1);
    lone_deliver(&lone, &plan);
    struct message lie = lone_message(&lone, MESSAGE_CANCEL, job, FLOW_CHAIN, 0);
    lie.from = 2;
    expect_a_lie(&lone, &lie);
    lie.kind = MESSAGE_PROBE;
    expect_a_lie(&lone, &lie);
    lie.kind = MESSAGE_CANCEL;
    lie.from = 1;
    lone_deliver(&lone, &lie);
    assert_int_equal(node_counts(lone.node).visits, 0);
    lone_close(&lone);
}

/* @message, of a node that is not known to have anything of its job, changes nothing for now. */
static void expect_to_wait(struct lone *lone, const struct message *message)
{
    const struct node_counts before = node_counts(lone->node);
    lone_deliver(lone, message);
    assert_int_equal(lone->effects.record_count, 0);
    assert_int_equal(lone->effects.count, 0);
    assert_int_equal(lone->answers, 0);
    const struct node_counts after = node_counts(lone->node);
    assert_memory_equal(&after, &before, offsetof(struct node_counts, draining));
}

/* Node 2 says that its worker could not run @task, which would end the job. */
static struct message crashed(
    struct lone *lone, struct job_id job, enum lone_workflow workflow, uint32_t task)
{
    struct message failed = lone_message(lone, MESSAGE_FAILED, job, workflow, task);
    failed.reason = REASON_CRASHED;
    failed.from = 2;
    failed.worker = 2;
    return failed;
}

static void only_who_works_for_a_job_says_what_became_of_it(void **state)
{
    (void)state;
    struct lone lone;
    const struct job_id job = lone_open_placed(&lone, FLOW_CHAIN, /* worker */ 1);
    struct message said = crashed(&lone, job, FLOW_CHAIN, 0);
    expect_to_wait(&lone, &said);
    said.worker = 1; /* Nor by naming a worker of another node. */
    expect_a_lie(&lone, &said);
    struct message alive = lone_message(&lone, MESSAGE_ALIVE, job, FLOW_CHAIN, 0);
    alive.from = 2;
    expect_to_wait(&lone, &alive);
    const struct message moved = lone_moved(&lone, job, FLOW_CHAIN, 1, /* from */ 2, 2);
    expect_to_wait(&lone, &moved); /* Nor is it known by what it says of itself. */
    said.worker = 2;
    expect_to_wait(&lone, &said);
    lone_close(&lone);
}

static void who_has_got_a_task_says_what_became_of_it(void **state)
{
    (void)state;
    struct lone lone;
    const struct job_id job = lone_open_placed(&lone, FLOW_CHAIN, /* worker */ 1);
    const struct message moved = lone_moved(&lone, job, FLOW_CHAIN, 1, /* from */ 1, 2);
    lone_deliver(&lone, &moved);
    assert_int_equal(lone_records(&lone, RECORD_IGNORED), 0);
    struct message said = lone_message(&lone, MESSAGE_ALIVE, job, FLOW_CHAIN, 0);
    said.from = 2;
    lone_deliver(&lone, &said);
    assert_int_equal(lone_records(&lone, RECORD_IGNORED), 0);
    said = crashed(&lone, job, FLOW_CHAIN, 0);
    lone_deliver(&lone, &said);
    assert_int_equal(lone.answers, 1);
    lone_close(&lone);
}

static void news_from_who_got_a_task_counts_when_the_owner_knows_of_it(void **state)
{
    (void)state;
    struct lone lone;
    const struct job_id job = lone_open_placed(&lone, FLOW_DIAMOND, /* worker */ 1);
    const struct message failed = crashed(&lone, job, FLOW_DIAMOND, 3);
    lone_deliver(&lone, &failed);
    assert_int_equal(lone.answers, 0);
    assert_int_equal(lone.effects.record_count, 0);
    struct message moved = lone_moved(&lone, job, FLOW_DIAMOND, 3, /* from */ 1, 1);
    lone_deliver(&lone, &moved); /* Not to node 2. */
    assert_int_equal(lone.answers, 0);
    moved.worker = 2;
    lone_deliver(&lone, &moved);
    assert_int_equal(lone.answers, 1);
    lone_close(&lone);
}

/* The news of a move is itself such news: from node 1 to 2, and back before the owner heard. */
static void news_of_a_move_explains_older_news(void **state)
{
    (void)state;
    struct lone lone;
    const struct job_id job = lone_open_placed(&lone, FLOW_DIAMOND, /* worker */ 0);
    const struct message failed = crashed(&lone, job, FLOW_DIAMOND, 3);
    lone_deliver(&lone, &failed);
    struct message moved = lone_moved(&lone, job, FLOW_DIAMOND, 3, /* from */ 1, 2);
    lone_deliver(&lone, &moved);
    assert_int_equal(lone.answers, 0);
    moved = lone_moved(&lone, job, FLOW_DIAMOND, 2, /* from */ 0, 1);
    lone_deliver(&lone, &moved);
    assert_int_equal(lone.answers, 1);
    lone_close(&lone);
}

static void news_that_nothing_explains_is_ignored_in_the_end(void **state)
{
    (void)state;
    struct lone lone;
    const struct job_id job = lone_open_placed(&lone, FLOW_DIAMOND, /* worker */ 1);
    struct message moved = lone_moved(&lone, job, FLOW_DIAMOND, 3, /* from */ 2, 2);
    for (uint32_t i = 0; i < EARLY_MAX; i++) {
        lone_deliver(&lone, &moved);
        assert_int_equal(lone_records(&lone, RECORD_IGNORED), 0);
    }
    expect_a_lie(&lone, &moved);
    struct message alive = lone_message(&lone, MESSAGE_ALIVE, job, FLOW_DIAMOND, 0);
    alive.from = 2; /* Only who is asked says so, and who is asked is known. */
    expect_a_lie(&lone, &alive);
    lone_cancel(&lone, job);
    const struct job_id next = lone_request(&lone, FLOW_DIAMOND);
    moved.job = next;
    lone_deliver(&lone, &moved); /* What it was about has ended. */
    assert_int_equal(lone_records(&lone, RECORD_IGNORED), 0);
    lone_close(&lone);
}

static void only_its_own_node_speaks_for_a_worker(void **state)
{
    (void)state;
    static const enum message_kind kinds[] = {
        MESSAGE_ACKNOWLEDGE, MESSAGE_OFFER,   MESSAGE_GONE,  MESSAGE_PULL,
        MESSAGE_SEEK,        MESSAGE_DECLINE, MESSAGE_ENDED,
    };
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    for (uint32_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct job_id job = {.node = 1, .number = 1};
        struct message lie = lone_message(&lone, kinds[i], job, FLOW_CHAIN, 0);
        lie.worker = 2;
        expect_a_lie(&lone, &lie);
        lie.worker = WORKER_NONE;
        expect_a_lie(&lone, &lie);
    }
    lone_close(&lone);
}

static void any_number_of_nodes_can_be_suspects(void **state)
{
    (void)state;
    uint64_t bits[4] = {0};
    struct suspects suspects = {.bits = bits};
    for (uint32_t node = 0; node < 200; node++) {
        suspects_add(&suspects, node);
        suspects_add(&suspects, node);
    }
    assert_int_equal(suspects.count, 200);
    assert_true(suspects_has(&suspects, 0));
    assert_false(suspects_has(&suspects, 200));
    suspects_remove(&suspects, 0);
    suspects_remove(&suspects, 0);
    assert_int_equal(suspects.count, 199);
    assert_false(suspects_has(&suspects, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_jobs_differ),
        cmocka_unit_test(keys_of_jobs_differ_in_all_editions),
        cmocka_unit_test(what_an_earlier_life_has_sent_is_dropped),
        cmocka_unit_test(a_life_that_the_list_does_not_know_yet_is_heard),
        cmocka_unit_test(what_was_meant_for_an_earlier_life_is_dropped),
        cmocka_unit_test(messages_say_from_whom_and_for_whom),
        cmocka_unit_test(the_job_of_a_later_life_takes_the_place_of_one_before),
        cmocka_unit_test(a_late_message_does_not_bring_back_the_job_of_an_earlier_life),
        cmocka_unit_test(a_buried_job_does_not_bury_that_of_a_later_life),
        cmocka_unit_test(a_later_life_is_not_told_of_reservations_of_an_earlier_one),
        cmocka_unit_test(only_the_owner_cancels_a_job_and_asks_after_it),
        cmocka_unit_test(only_who_works_for_a_job_says_what_became_of_it),
        cmocka_unit_test(who_has_got_a_task_says_what_became_of_it),
        cmocka_unit_test(news_from_who_got_a_task_counts_when_the_owner_knows_of_it),
        cmocka_unit_test(news_of_a_move_explains_older_news),
        cmocka_unit_test(news_that_nothing_explains_is_ignored_in_the_end),
        cmocka_unit_test(only_its_own_node_speaks_for_a_worker),
        cmocka_unit_test(any_number_of_nodes_can_be_suspects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
