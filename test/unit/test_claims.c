/*
 * Both ends of a claim: the worker's node that grants it, and the home that made it.
 *
 * Covers: src/node/claims.c src/node/grants.c src/node/tickets.c src/node/audit.c
 *         src/node/pressing.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lone_claim.h"
#include "node/inside.h"

static const struct job_id first = {.node = HOLDER, .number = 1};
static const struct job_id second = {.node = HOLDER, .number = 2};

static void open_binding(struct lone *lone)
{
    const struct lone_options options = {.policy = policy_find("first-fit")};
    lone_open(lone, &options);
}

static void claim(
    struct lone *lone, struct job_id job, enum lone_workflow workflow, uint32_t index,
    uint32_t count)
{
    const struct message message = claim_of(lone, job, workflow, index, count);
    lone_deliver(lone, &message);
}

/* What was pulled arrives. */
static void arrive(struct lone *lone, struct job_id job, enum lone_workflow workflow)
{
    struct message input = lone_message(lone, MESSAGE_INPUT, job, workflow, /* task */ 0);
    input.work.settled = true;
    lone_deliver(lone, &input);
}

static void expect_ended(const struct lone *lone, enum reason reason)
{
    const struct message *ended = lone_sent(lone, HOME, MESSAGE_ENDED);
    assert_non_null(ended);
    assert_int_equal(ended->outcome.number, 7);
    assert_int_equal(ended->outcome.reason, reason);
    assert_true(ended->outcome.free.row_sequence > 0);
    assert_int_equal(ended->outcome.free.gpu, lone->fleet->workers[lone->worker].gpu_units);
    assert_int_equal(lone->board.entries[lone->worker].live.load.gpu_free, 1);
    assert_int_equal(lone->pools.grants.used, 0);
}

static void a_claim_is_refused_while_others_hold_the_units(void **state)
{
    (void)state;
    struct lone lone;
    open_binding(&lone);
    claim(&lone, first, FLOW_A, 0, 1);
    assert_int_equal(lone_sent_count(&lone, HOLDER, MESSAGE_PULL), 1);
    assert_int_equal(lone_sent_count(&lone, HOME, MESSAGE_DECLINE), 0);
    struct message other = claim_of(&lone, second, FLOW_A, 0, 1);
    other.claim.number = 8;
    lone_deliver(&lone, &other);
    const struct message *declined = lone_sent(&lone, HOME, MESSAGE_DECLINE);
    assert_non_null(declined);
    assert_int_equal(declined->outcome.number, 8);
    assert_int_equal(declined->outcome.reason, REASON_BUSY);
    assert_int_equal(lone_sent_count(&lone, HOLDER, MESSAGE_PULL), 0);
    assert_int_equal(lone.pools.grants.used, 1);
    lone_close(&lone);
}

static void a_claim_that_can_never_be_granted_says_why(void **state)
{
    (void)state;
    struct lone lone;
    open_binding(&lone);
    claim(&lone, first, FLOW_HUGE, 0, 1);
    assert_int_equal(lone_sent(&lone, HOME, MESSAGE_DECLINE)->outcome.reason, REASON_TOO_LARGE);
    lone_repository(&lone, MODEL_A, false);
    claim(&lone, first, FLOW_A, 0, 1);
    assert_int_equal(lone_sent(&lone, HOME, MESSAGE_DECLINE)->outcome.reason, REASON_UNAVAILABLE);
    struct event drain = {.kind = EVENT_DRAIN};
    lone_step(&lone, &drain);
    claim(&lone, first, FLOW_B, 0, 1);
    assert_int_equal(lone_sent(&lone, HOME, MESSAGE_DECLINE)->outcome.reason, REASON_DRAIN);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/* C, 160 MB, waits at the second worker, since A must not leave: its batch is before it. */
static void what_waits_for_room_goes_on_when_a_batch_before_it_is_gone(void **state)
{
    (void)state;
    struct lone lone;
    const struct lone_options options = {
        .policy = policy_find("first-fit"), .worker_count = 2, .shares_memory = true};
    lone_open(&lone, &options);
    struct message one = claim_of(&lone, first, FLOW_A, 0, 1);
    one.claim.holder = 2 * HOLDER; /* Its first worker. */
    lone_deliver(&lone, &one);
    lone_load_done(&lone, WEFT_OK);
    lone_load_done(&lone, WEFT_OK); /* The second worker follows. */
    struct message other = claim_of(&lone, second, FLOW_C, 0, 1);
    other.claim.number = 8;
    other.claim.holder = 2 * HOLDER;
    other.worker++;
    lone_deliver(&lone, &other);
    assert_int_equal(lone.pools.grants.used, 2);
    assert_false(lone_is_asked(&lone, EFFECT_UNLOAD));
    struct message gone = lone_message(&lone, MESSAGE_GONE, first, FLOW_A, 0);
    gone.worker = 2 * HOLDER;
    lone_deliver(&lone, &gone);
    assert_int_equal(lone.pools.grants.used, 1);
    assert_true(lone_is_asked(&lone, EFFECT_UNLOAD));
    lone_close(&lone);
}

static void a_batch_runs_with_what_is_left_of_it(void **state)
{
    (void)state;
    struct lone lone;
    open_binding(&lone);
    claim(&lone, first, FLOW_A, 0, 2);
    claim(&lone, second, FLOW_A, 1, 2);
    arrive(&lone, first, FLOW_A);
    lone_load_done(&lone, WEFT_OK);
    assert_false(lone_is_asked(&lone, EFFECT_LAUNCH)); /* The second is still awaited. */
    struct message gone = lone_message(&lone, MESSAGE_GONE, second, FLOW_A, 0);
    gone.worker = HOLDER;
    lone_deliver(&lone, &gone);
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.task_count, 1);
    lone_batch_done(&lone, WEFT_OK);
    expect_ended(&lone, REASON_NONE);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_cancel_while_it_gathers_gives_the_units_back(void **state)
{
    (void)state;
    struct lone lone;
    open_binding(&lone);
    claim(&lone, first, FLOW_A, 0, 1);
    const struct message cancel = lone_message(&lone, MESSAGE_CANCEL, first, FLOW_A, 0);
    lone_deliver(&lone, &cancel); /* Before its task has come, */
    expect_ended(&lone, REASON_BATCH_FAILED);
    claim(&lone, second, FLOW_A, 0, 1);
    arrive(&lone, second, FLOW_A);
    const struct message late = lone_message(&lone, MESSAGE_CANCEL, second, FLOW_A, 0);
    lone_deliver(&lone, &late); /* and while it waits for its model. */
    expect_ended(&lone, REASON_BATCH_FAILED);
    assert_int_equal(lone_count(&lone, EFFECT_CANCEL_LOAD), 1);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_batch_that_failed_is_told_to_home_and_owner(void **state)
{
    (void)state;
    struct lone lone;
    open_binding(&lone);
    claim(&lone, first, FLOW_F, 0, 1);
    arrive(&lone, first, FLOW_F);
    lone_batch_done(&lone, WEFT_FAILED);
    expect_ended(&lone, REASON_BATCH_FAILED);
    const struct message *failed = lone_sent(&lone, HOLDER, MESSAGE_FAILED);
    assert_non_null(failed);
    assert_int_equal(failed->reason, REASON_BATCH_FAILED);
    lone_close(&lone);
}

static void what_never_comes_is_given_up(void **state)
{
    (void)state;
    struct lone lone;
    open_binding(&lone);
    claim(&lone, first, FLOW_F, 0, 2); /* The second message of the claim is lost. */
    arrive(&lone, first, FLOW_F);
    assert_false(lone_is_asked(&lone, EFFECT_LAUNCH));
    for (uint32_t i = 0; i < 4 && !lone_is_asked(&lone, EFFECT_LAUNCH); i++) {
        assert_true(lone_timer(&lone, TIMER_AUDIT));
    }
    assert_true(lone_is_asked(&lone, EFFECT_LAUNCH));
    lone_batch_done(&lone, WEFT_OK);
    expect_ended(&lone, REASON_NONE);
    lone_close(&lone);
}

/* A workflow of one task that waits at another node's queue. */
static enum lone_workflow flow_with_a_home_elsewhere(struct lone *lone)
{
    for (enum lone_workflow flow = FLOW_F; flow <= FLOW_C; flow++) {
        (void)lone_request(lone, flow);
        if (lone_sent_count(lone, HOME, MESSAGE_OFFER) == 1 ||
            lone_sent_count(lone, HOLDER, MESSAGE_OFFER) == 1) {
            return flow;
        }
    }
    fail();
    return FLOW_F;
}

static void what_is_under_way_is_waited_for(void **state)
{
    (void)state;
    struct lone lone;
    open_binding(&lone);
    claim(&lone, first, FLOW_F, 0, 1);
    assert_int_equal(lone_sent_count(&lone, HOLDER, MESSAGE_PULL), 1);
    const struct message alive = {.kind = MESSAGE_ALIVE, .from = HOLDER, .job = first};
    for (uint32_t i = 0; i < 20; i++) {
        assert_true(lone_timer(&lone, TIMER_AUDIT)); /* Silent for as long as one may be, */
        assert_int_equal(lone_sent_count(&lone, HOLDER, MESSAGE_SEEK), 1); /* so it asks. */
        assert_int_equal(lone.pools.grants.used, 1);
        lone_deliver(&lone, &alive);
    }
    const struct message other = {.kind = MESSAGE_ALIVE, .from = HOME, .job = first};
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(lone.pools.grants.used, 1);
        assert_true(lone_timer(&lone, TIMER_AUDIT));
        if (lone.pools.grants.used > 0) {
            lone_deliver(&lone, &other); /* Only who had it can know. */
        }
    }
    expect_ended(&lone, REASON_STALE);
    lone_close(&lone);
}

/* Tasks 1 and 2 follow task 0, and have a home each: only the first is told of the one unit. */
static void tasks_that_are_ready_together_are_not_offered_the_same_unit(void **state)
{
    (void)state;
    static const enum lone_workflow flows[] = {FLOW_SPLIT, FLOW_DIAMOND};
    static const uint32_t peers[] = {HOME, HOLDER};
    uint32_t told[3] = {0};
    for (uint32_t i = 0; i < 4; i++) {
        struct lone lone;
        open_binding(&lone);
        claim(&lone, first, flows[i / 2], 0, 1);
        arrive(&lone, first, flows[i / 2]);
        lone_batch_done(&lone, WEFT_OK);
        const struct message *offered = lone_sent(&lone, peers[i % 2], MESSAGE_OFFER);
        if (offered != NULL) {
            assert_int_equal(offered->offer.free.gpu, offered->task == 1 ? 1 : 0);
            told[offered->task]++;
        }
        lone_close(&lone);
    }
    assert_true(told[1] > 0); /* Some homes are the node itself. */
    assert_true(told[2] > 0);
}

/* Homes believe what they were told until a row comes, even if none of them claims anything. */
static void a_row_follows_offers_that_left_units_out(void **state)
{
    (void)state;
    uint32_t seen = 0;
    for (uint32_t node = 0; node < LONE_NODES; node++) {
        const struct lone_options options = {.node = node, .policy = policy_find("first-fit")};
        struct lone lone;
        uint32_t offers = 0;
        lone_open(&lone, &options);
        lone.now_ns += MS(1000); /* Rows may come at once. */
        (void)lone_request(&lone, FLOW_PAIR);
        for (uint32_t peer = 0; peer < LONE_NODES; peer++) {
            offers += peer == node ? 0 : lone_sent_count(&lone, peer, MESSAGE_OFFER);
        }
        if (offers == 2) { /* Both of its tasks have homes elsewhere: nothing begins here. */
            assert_int_equal(lone.effects.row_count, 1);
            seen++;
        }
        lone_close(&lone);
    }
    assert_true(seen > 0);
}

static void a_holder_that_was_never_asked_sends_what_is_sought(void **state)
{
    (void)state;
    struct lone lone;
    open_binding(&lone);
    const enum lone_workflow flow = flow_with_a_home_elsewhere(&lone);
    const struct job_id job = lone_request(&lone, flow);
    struct message sought = lone_message(&lone, MESSAGE_SEEK, job, flow, /* task */ 0);
    sought.from = HOLDER;
    sought.worker = lone.fleet->nodes[HOLDER].worker_first;
    lone_deliver(&lone, &sought);
    assert_int_equal(lone_sent_count(&lone, HOLDER, MESSAGE_INPUT), 1);
    lone_deliver(&lone, &sought); /* It has left: the host knows whether it has arrived. */
    assert_int_equal(lone_sent_count(&lone, HOLDER, MESSAGE_INPUT), 0);
    assert_int_equal(lone_sent_count(&lone, HOLDER, MESSAGE_GONE), 0);
    assert_int_equal(lone_find(&lone, EFFECT_FIND)->find.asker, HOLDER);
    lone_close(&lone);
}

static void show(struct lone *lone, uint32_t worker, uint64_t sequence, uint32_t gpu_free)
{
    const struct row row = {
        .worker = worker,
        .parts = ROW_BOTH,
        .load = {.sequence = sequence, .gpu_free = (uint8_t)gpu_free, .accepting = 1},
        .cache = {.sequence = sequence},
    };
    struct event event = {.kind = EVENT_ROW};
    event.row = &row;
    lone_step(lone, &event);
}

static void offer(struct lone *lone, struct job_id job)
{
    struct message message = lone_message(lone, MESSAGE_OFFER, job, FLOW_F, 0);
    message.worker = HOLDER;
    lone_deliver(lone, &message);
}

/* The home has claimed @job's task at the holder; what it said. */
static struct message expect_claim(const struct lone *lone, struct job_id job)
{
    const struct message *claimed = lone_sent(lone, HOLDER, MESSAGE_CLAIM);
    assert_non_null(claimed);
    assert_true(job_equal(claimed->job, job));
    assert_int_equal(claimed->worker, HOLDER);
    return *claimed;
}

/* A node whose own device is busy, and which has claimed the first job's task elsewhere. */
static struct message open_claimed(struct lone *lone)
{
    open_binding(lone);
    show(lone, HOLDER, 1, /* gpu_free */ 1);
    claim(lone, second, FLOW_A, 0, 1);
    offer(lone, first);
    return expect_claim(lone, first);
}

/* Of the claim's worker one unit is free now, and all of its processors. */
static void tell(
    struct lone *lone, const struct message *claimed, enum message_kind kind, enum reason reason,
    uint64_t row_sequence)
{
    struct message message = *claimed;
    message.kind = kind;
    message.from = HOLDER;
    message.outcome = (struct message_outcome){
        .number = claimed->claim.number,
        .reason = reason,
        .free = {.row_sequence = row_sequence, .gpu = 1, .cpu = 8},
    };
    lone_deliver(lone, &message);
}

static void a_refused_claim_goes_back_and_its_worker_counts_as_full(void **state)
{
    (void)state;
    struct lone lone;
    const struct message claimed = open_claimed(&lone);
    tell(&lone, &claimed, MESSAGE_DECLINE, REASON_BUSY, /* row_sequence */ 2);
    assert_int_equal(lone_record(&lone, RECORD_DECLINED)->value, 1);
    assert_int_equal(lone.pools.claims.used, 0);
    assert_int_equal(lone.pools.tickets.used, 1);
    assert_true(lone_timer(&lone, TIMER_HOME)); /* Its row still says that it is free. */
    assert_int_equal(lone_sent_count(&lone, HOLDER, MESSAGE_CLAIM), 0);
    show(&lone, HOLDER, 2, /* gpu_free */ 1);
    assert_true(lone_timer(&lone, TIMER_HOME));
    (void)expect_claim(&lone, first);
    lone_close(&lone);
}

/* Fire timers of the home until it has claimed the first job's task; how long that took. */
static int64_t claimed_after_ns(struct lone *lone, struct message *claimed_out)
{
    const int64_t begun_ns = lone->now_ns;
    while (lone_sent_count(lone, HOLDER, MESSAGE_CLAIM) == 0) {
        assert_true(lone_timer(lone, TIMER_HOME));
    }
    *claimed_out = expect_claim(lone, first);
    return lone->now_ns - begun_ns;
}

/*
 * Offer the first job's task to a node that does not have its edition, as no other has: how often
 * it is claimed before its home gives it up. With @again its holder offers it during each claim.
 */
static uint32_t claims_of_a_strange_edition(struct lone *lone, bool again)
{
    open_binding(lone);
    lone_editions(lone, 5, 6);
    show(lone, HOLDER, 1, /* gpu_free */ 1);
    offer(lone, first);
    struct message claimed = expect_claim(lone, first);
    uint32_t count = 1;
    for (uint64_t sequence = 2; sequence < 40; sequence++) {
        if (again) {
            offer(lone, first);
        }
        tell(lone, &claimed, MESSAGE_DECLINE, REASON_EDITION, sequence);
        if (lone_sent(lone, HOLDER, MESSAGE_UNFIT) != NULL) {
            break;
        }
        assert_int_equal(lone->pools.tickets.used, 1);
        show(lone, HOLDER, sequence, /* gpu_free */ 1);
        (void)claimed_after_ns(lone, &claimed);
        count++;
    }
    return count;
}

/* Declined at once by its own node, it would be claimed there again, without end. */
static void what_its_node_cannot_run_is_claimed_elsewhere(void **state)
{
    (void)state;
    struct lone lone;
    assert_int_equal(claims_of_a_strange_edition(&lone, /* again */ false), 8);
    assert_int_equal(lone_sent(&lone, HOLDER, MESSAGE_UNFIT)->reason, REASON_EDITION);
    assert_int_equal(lone.pools.tickets.used, 0);
    lone_close(&lone);
}

static void an_end_frees_units_before_the_row_says_so(void **state)
{
    (void)state;
    struct lone lone;
    const struct message claimed = open_claimed(&lone);
    show(&lone, HOLDER, 2, /* gpu_free */ 0);
    const struct message shown = {
        .kind = MESSAGE_ACKNOWLEDGE,
        .from = HOLDER,
        .worker = HOLDER,
        .sequence = claimed.sequence,
        .row_sequence = 2,
    };
    lone_deliver(&lone, &shown);
    offer(&lone, (struct job_id){.node = HOLDER, .number = 3});
    assert_int_equal(lone_sent_count(&lone, HOLDER, MESSAGE_CLAIM), 0);
    tell(&lone, &claimed, MESSAGE_ENDED, REASON_NONE, /* row_sequence */ 3);
    (void)expect_claim(&lone, (struct job_id){.node = HOLDER, .number = 3});
    assert_int_equal(lone.pools.claims.used, 1); /* The first is over, and its ticket gone. */
    assert_int_equal(lone.pools.tickets.used, 1);
    lone_close(&lone);
}

static const struct job_id third = {.node = HOLDER, .number = 3};

/* A task waits at the holder, of which so much is free; claims up to @counted are in that. */
static void offer_and_say(
    struct lone *lone, struct job_id job, struct message_units free, uint64_t counted)
{
    struct message message = lone_message(lone, MESSAGE_OFFER, job, FLOW_F, 0);
    message.worker = HOLDER;
    message.sequence = counted;
    message.offer.free = free;
    lone_deliver(lone, &message);
}

/* Its holder has heard nothing, and offers it again while it is claimed: there are two tickets. */
static void an_offer_during_a_claim_does_not_begin_the_count_again(void **state)
{
    (void)state;
    struct lone lone;
    assert_int_equal(claims_of_a_strange_edition(&lone, /* again */ true), 8);
    lone_close(&lone);
}

static void nothing_fits(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    (void)input;
    (void)queue;
    (void)answer_out;
}

/* It has starved before, and starves on. */
static void an_offer_during_a_claim_does_not_begin_the_wait_again(void **state)
{
    (void)state;
    static const struct policy policy = {.name = "none", .binds = true, .dispatch = nothing_fits};
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &policy});
    show(&lone, HOLDER, 1, /* gpu_free */ 1);
    claim(&lone, second, FLOW_A, 0, 1);
    offer(&lone, first);
    struct message claimed;
    assert_true(claimed_after_ns(&lone, &claimed) >= STARVED_NS);
    offer(&lone, first);
    tell(&lone, &claimed, MESSAGE_DECLINE, REASON_BUSY, /* row_sequence */ 2);
    assert_int_equal(lone.pools.tickets.used, 1);
    show(&lone, HOLDER, 2, /* gpu_free */ 1);
    assert_true(claimed_after_ns(&lone, &claimed) < STARVED_NS / 10);
    lone_close(&lone);
}

/* Or two workers of very many could be claimed in turn without end. */
static void a_home_whose_claims_are_declined_pauses(void **state)
{
    (void)state;
    struct lone lone;
    struct message claimed = open_claimed(&lone);
    uint32_t declines = 0;
    do {
        tell(&lone, &claimed, MESSAGE_DECLINE, REASON_STALE, /* row_sequence */ 2);
        declines++;
        if (lone_sent_count(&lone, HOLDER, MESSAGE_CLAIM) > 0) {
            claimed = expect_claim(&lone, first);
        }
    } while (lone_sent_count(&lone, HOLDER, MESSAGE_CLAIM) > 0 && declines < 1000);
    assert_int_equal(declines, DECLINES_IN_A_ROW + 1);
    assert_true(lone_timer(&lone, TIMER_HOME));
    (void)expect_claim(&lone, first);
    lone_close(&lone);
}

static void an_offer_says_what_is_free_where_it_waits(void **state)
{
    (void)state;
    struct lone lone;
    open_binding(&lone);
    show(&lone, HOLDER, 1, /* gpu_free */ 0);
    claim(&lone, second, FLOW_A, 0, 1);
    offer(&lone, first);
    assert_int_equal(lone_sent_count(&lone, HOLDER, MESSAGE_CLAIM), 0); /* By its row it is full. */
    const struct message_units free = {.row_sequence = 2, .gpu = 1, .cpu = 8};
    offer_and_say(&lone, third, free, /* counted */ 0);
    assert_int_equal(lone_sent_count(&lone, HOLDER, MESSAGE_CLAIM), 2); /* Both, in one batch. */
    lone_close(&lone);
}

static void an_offer_acknowledges_the_claims_that_it_counts(void **state)
{
    (void)state;
    struct lone lone;
    const struct message claimed = open_claimed(&lone);
    const struct message_units none = {.row_sequence = 2, .cpu = 8};
    offer_and_say(&lone, third, none, claimed.sequence);
    assert_int_equal(lone_sent_count(&lone, HOLDER, MESSAGE_CLAIM), 0);
    show(&lone, HOLDER, 2, /* gpu_free */ 1); /* Beside the first, which this row counts. */
    assert_true(lone_timer(&lone, TIMER_HOME));
    (void)expect_claim(&lone, third);
    lone_close(&lone);
}

/* The second message counts no more than the first, and both come before the row. */
static void what_was_counted_once_is_counted_from_then_on(void **state)
{
    (void)state;
    struct lone lone;
    const struct message claimed = open_claimed(&lone);
    const struct message_units none = {.row_sequence = 2, .cpu = 8};
    const struct message_units one = {.row_sequence = 2, .gpu = 1, .cpu = 8};
    offer_and_say(&lone, third, none, claimed.sequence);
    offer_and_say(&lone, (struct job_id){.node = HOLDER, .number = 4}, one, /* counted */ 0);
    assert_int_equal(lone_sent_count(&lone, HOLDER, MESSAGE_CLAIM), 2); /* Both, in one batch. */
    lone_close(&lone);
}

static void what_a_batch_missed_is_queued_again(void **state)
{
    (void)state;
    struct lone lone;
    const struct message claimed = open_claimed(&lone);
    tell(&lone, &claimed, MESSAGE_ENDED, REASON_STALE, /* row_sequence */ 2);
    assert_int_equal(lone.pools.tickets.used, 1); /* It may still wait where it was. */
    struct message gone = lone_message(&lone, MESSAGE_GONE, first, FLOW_F, 0);
    gone.worker = HOLDER;
    lone_deliver(&lone, &gone);
    assert_int_equal(lone.pools.tickets.used, 0);
    lone_close(&lone);
}

static void what_a_lost_worker_was_to_run_is_claimed_elsewhere(void **state)
{
    (void)state;
    struct lone lone;
    open_binding(&lone);
    show(&lone, HOLDER, 1, /* gpu_free */ 1);
    claim(&lone, second, FLOW_A, 0, 1);
    struct message message = lone_message(&lone, MESSAGE_OFFER, first, FLOW_F, 0);
    message.worker = HOME; /* Its inputs are elsewhere: it outlives the worker. */
    message.job.node = HOME;
    message.from = HOME;
    lone_deliver(&lone, &message);
    assert_int_equal(lone_sent_count(&lone, HOLDER, MESSAGE_CLAIM), 1);
    lone_members(&lone, /* epoch */ 2, /* up */ 3, /* fresh */ 0);
    assert_int_equal(lone.pools.claims.used, 0);
    assert_true(lone_timer(&lone, TIMER_HOME));
    const struct record *again = lone_record(&lone, RECORD_CLAIMED);
    assert_non_null(again); /* Our own device is free: what it waited for is lost, too. */
    assert_int_equal(again->worker, lone.worker);
    assert_int_equal(lone_sent_count(&lone, HOME, MESSAGE_PULL), 1);
    assert_int_equal(lone.pools.claims.used, 1);
    lone_close(&lone);
}

/* All peers are lost, and nothing was repaired yet when the audit finds the silence. */
static void many_tasks_without_a_home_are_offered_in_many_steps(void **state)
{
    enum { JOBS = 3000, AT_ONCE_MAX = 64 };
    (void)state;
    struct lone lone;
    uint32_t offered = 0;
    open_binding(&lone);
    const enum lone_workflow flow = flow_with_a_home_elsewhere(&lone);
    for (uint32_t i = 0; i < JOBS; i++) {
        (void)lone_request(&lone, flow);
    }
    lone_members(&lone, /* epoch */ 2, /* up */ 1, /* fresh */ 0);
    assert_true(lone_timer(&lone, TIMER_AUDIT)); /* Too early: no node has been silent for long. */
    for (uint32_t i = 0; i < JOBS && offered < JOBS; i++) {
        assert_true(lone_timer(&lone, TIMER_AUDIT));
        const uint32_t count = lone_records(&lone, RECORD_OFFERED);
        assert_in_range(count, 1, AT_ONCE_MAX);
        offered += count;
    }
    assert_true(offered >= JOBS);
    assert_true(lone.pools.tickets.used + lone.pools.grants.used > JOBS / 2);
    lone_close(&lone);
}

static void tell_row(struct lone *lone, const struct row *row)
{
    struct event event = {.kind = EVENT_ROW};
    event.row = row;
    lone_step(lone, &event);
}

/* A row of the other node, whose worker is full, says how urgent what waits there for @wanted is.
 */
static void press(struct lone *lone, uint64_t sequence, uint16_t urgency, uint16_t wanted)
{
    const struct row row = {
        .worker = HOME,
        .parts = ROW_LOAD,
        .load = {.sequence = sequence, .urgency = urgency, .wanted = wanted, .accepting = 1},
    };
    tell_row(lone, &row);
}

/* The same with a policy whose homes give way. */
static void open_yielding(struct lone *lone)
{
    static struct policy yielding;
    const struct lone_options options = {.policy = &yielding};
    yielding = *policy_find("first-fit");
    yielding.yields = true;
    lone_open(lone, &options);
}

/* An urgency that is due now; each is a second. */
enum { URGENCY_NOW = 1 << 15 };

/* A level of priority is half a minute: what ranks less than half of one lower does not wait. */
static void a_home_gives_way_to_what_is_more_urgent_elsewhere(void **state)
{
    (void)state;
    struct lone lone;
    open_yielding(&lone);
    show(&lone, HOLDER, 1, /* gpu_free */ 1);
    claim(&lone, second, FLOW_A, 0, 1);
    press(&lone, 1, URGENCY_NOW + 16, HOLDER);
    offer(&lone, first);
    assert_int_equal(lone_sent_count(&lone, HOLDER, MESSAGE_CLAIM), 0);
    press(&lone, 2, URGENCY_NOW + 14, HOLDER);
    lone.now_ns += MS(50);
    assert_true(lone_timer(&lone, TIMER_HOME));
    (void)expect_claim(&lone, first);
    lone_close(&lone);
}

static void a_home_takes_what_is_not_wanted_elsewhere(void **state)
{
    (void)state;
    static const uint16_t others[] = {HOME, ROW_WANTED_NONE};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct lone lone;
        open_yielding(&lone);
        show(&lone, HOLDER, 1, /* gpu_free */ 1);
        claim(&lone, second, FLOW_A, 0, 1);
        press(&lone, 1, URGENCY_NOW + 60, others[i]);
        offer(&lone, first);
        (void)expect_claim(&lone, first);
        lone_close(&lone);
    }
}

/* What has no deadline: to what is due minutes before and waits for room. */
static void what_has_no_deadline_gives_way(void **state)
{
    (void)state;
    static const struct {
        uint16_t sooner_s;
        int64_t left_ns;
        uint32_t claims;
    } cases[] = {
        {151, INT64_MAX, 0},
        {149, INT64_MAX, 1},
        {151, MS(1000), 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct lone lone;
        struct row row = {.worker = HOME, .parts = ROW_LOAD};
        row.load = (struct row_load){.sequence = 1, .wanted = ROW_WANTED_NONE, .accepting = 1};
        row.load.urgency = (uint16_t)(URGENCY_NOW + cases[i].sooner_s);
        open_yielding(&lone);
        show(&lone, HOLDER, 1, /* gpu_free */ 1);
        claim(&lone, second, FLOW_A, 0, 1);
        tell_row(&lone, &row);
        struct message message = lone_message(&lone, MESSAGE_OFFER, first, FLOW_F, 0);
        message.worker = HOLDER;
        message.work.left_ns = cases[i].left_ns;
        lone_deliver(&lone, &message);
        assert_int_equal(lone_sent_count(&lone, HOLDER, MESSAGE_CLAIM), cases[i].claims);
        lone_close(&lone);
    }
}

static void a_row_says_that_a_task_waits_for_room(void **state)
{
    (void)state;
    struct lone lone;
    open_yielding(&lone);
    const struct row_load *load = &lone.board.entries[lone.worker].live.load;
    show(&lone, HOME, 1, /* gpu_free */ 0);
    show(&lone, HOLDER, 1, /* gpu_free */ 0);
    claim(&lone, second, FLOW_A, 0, 1);
    assert_int_equal(load->urgency, 0);
    offer(&lone, first);
    assert_int_equal(load->urgency, URGENCY_NOW);    /* It is due now: it came now. */
    assert_int_equal(load->wanted, ROW_WANTED_NONE); /* It has no priority. */
    show(&lone, HOLDER, 2, /* gpu_free */ 1);
    assert_true(lone_timer(&lone, TIMER_HOME));
    (void)expect_claim(&lone, first);
    assert_int_equal(load->urgency, 0);
    lone_close(&lone);
}

/* Two of three tasks run together. */
static void two_of_three(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    (void)input;
    if (queue->waiting == 3) {
        answer_out->count = 1;
        answer_out->configs[0] = (struct config){.batch = 2};
        answer_out->workers[0] = HOLDER;
        answer_out->near_first = true;
    }
}

static void tasks_with_inputs_at_the_worker_come_behind_the_head(void **state)
{
    (void)state;
    static const struct policy policy = {.name = "two", .binds = true, .dispatch = two_of_three};
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &policy});
    show(&lone, HOLDER, 1, /* gpu_free */ 1);
    for (uint32_t number = 1; number <= 3; number++) {
        const struct job_id job = {.node = HOME, .number = number};
        struct message message = lone_message(&lone, MESSAGE_OFFER, job, FLOW_F, 0);
        message.worker = number == 3 ? HOLDER : HOME;
        message.from = message.worker;
        lone_deliver(&lone, &message);
    }
    assert_int_equal(lone_sent_count(&lone, HOLDER, MESSAGE_CLAIM), 2);
    assert_int_equal(
        lone_sent(&lone, HOLDER, MESSAGE_CLAIM)->job.number, 3); /* The last of them. */
    lone_close(&lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_home_gives_way_to_what_is_more_urgent_elsewhere),
        cmocka_unit_test(a_home_takes_what_is_not_wanted_elsewhere),
        cmocka_unit_test(what_has_no_deadline_gives_way),
        cmocka_unit_test(a_row_says_that_a_task_waits_for_room),
        cmocka_unit_test(tasks_with_inputs_at_the_worker_come_behind_the_head),
        cmocka_unit_test(a_claim_is_refused_while_others_hold_the_units),
        cmocka_unit_test(a_claim_that_can_never_be_granted_says_why),
        cmocka_unit_test(what_waits_for_room_goes_on_when_a_batch_before_it_is_gone),
        cmocka_unit_test(a_batch_runs_with_what_is_left_of_it),
        cmocka_unit_test(a_cancel_while_it_gathers_gives_the_units_back),
        cmocka_unit_test(a_batch_that_failed_is_told_to_home_and_owner),
        cmocka_unit_test(what_never_comes_is_given_up),
        cmocka_unit_test(what_is_under_way_is_waited_for),
        cmocka_unit_test(a_holder_that_was_never_asked_sends_what_is_sought),
        cmocka_unit_test(a_refused_claim_goes_back_and_its_worker_counts_as_full),
        cmocka_unit_test(what_its_node_cannot_run_is_claimed_elsewhere),
        cmocka_unit_test(an_offer_during_a_claim_does_not_begin_the_count_again),
        cmocka_unit_test(an_offer_during_a_claim_does_not_begin_the_wait_again),
        cmocka_unit_test(an_end_frees_units_before_the_row_says_so),
        cmocka_unit_test(tasks_that_are_ready_together_are_not_offered_the_same_unit),
        cmocka_unit_test(a_row_follows_offers_that_left_units_out),
        cmocka_unit_test(a_home_whose_claims_are_declined_pauses),
        cmocka_unit_test(an_offer_says_what_is_free_where_it_waits),
        cmocka_unit_test(an_offer_acknowledges_the_claims_that_it_counts),
        cmocka_unit_test(what_was_counted_once_is_counted_from_then_on),
        cmocka_unit_test(what_a_batch_missed_is_queued_again),
        cmocka_unit_test(what_a_lost_worker_was_to_run_is_claimed_elsewhere),
        cmocka_unit_test(many_tasks_without_a_home_are_offered_in_many_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
