/*
 * The node as a whole: what it promises its host whatever the events.
 *
 * Covers: src/node/node.c src/node/routing.c src/node/drain.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/rng.h"
#include "lone_script.h"
#include "node/inside.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef COUNTS_ALLOCATIONS
#define COUNTS_ALLOCATIONS 1
#endif

#if COUNTS_ALLOCATIONS

/* The C library's own, under the names it keeps for those who replace the others. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static volatile uint64_t allocations; /* The compiler believes malloc() changes nothing. */

__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
    allocations++;
    return __libc_malloc(bytes);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t bytes)
{
    allocations++;
    return __libc_calloc(count, bytes);
}

__attribute__((visibility("default"))) void *realloc(void *memory, size_t bytes)
{
    allocations++;
    return __libc_realloc(memory, bytes);
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t bytes)
{
    allocations++;
    return __libc_memalign(alignment, bytes);
}

#else
static volatile uint64_t allocations; /* The compiler believes malloc() changes nothing. */
#endif

enum { SCRIPT_BYTES = 4000 };

static void draw_script(uint64_t seed, uint8_t *bytes)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 0);
    for (uint32_t i = 0; i < SCRIPT_BYTES; i++) {
        bytes[i] = (uint8_t)rng_next(&rng);
    }
}

static void any_script_leaves_nothing_behind(void **state)
{
    (void)state;
    static uint8_t bytes[SCRIPT_BYTES];
    static struct lone lone;
    struct lone_script script;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        draw_script(seed, bytes);
        lone_script_open(&script, &lone, bytes, SCRIPT_BYTES);
        while (lone_script_act(&script, &lone)) {
        }
        lone_script_end(&script, &lone);
        lone_close(&lone);
    }
}

static void the_same_events_give_the_same_effects(void **state)
{
    (void)state;
    static uint8_t bytes[SCRIPT_BYTES];
    static struct lone lone;
    struct lone_script script;
    uint64_t hashes[2] = {0};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        draw_script(seed, bytes);
        for (uint32_t i = 0; i < 2; i++) {
            lone_script_open(&script, &lone, bytes, SCRIPT_BYTES);
            while (lone_script_act(&script, &lone)) {
            }
            lone_script_end(&script, &lone);
            lone_close(&lone);
            hashes[i] = script.hash;
        }
        assert_int_equal(hashes[0], hashes[1]);
    }
    draw_script(21, bytes); /* And others give others, or the hash proves nothing. */
    lone_script_open(&script, &lone, bytes, SCRIPT_BYTES);
    while (lone_script_act(&script, &lone)) {
    }
    lone_close(&lone);
    assert_int_not_equal(script.hash, hashes[0]);
}

static void a_node_may_be_destroyed_at_any_point(void **state)
{
    (void)state;
    static uint8_t bytes[SCRIPT_BYTES];
    static struct lone lone;
    struct lone_script script;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        draw_script(seed, bytes);
        lone_script_open(&script, &lone, bytes, 40 * seed);
        while (lone_script_act(&script, &lone)) {
        }
        lone_close(&lone); /* Looks into the pools. */
    }
}

/* One step, and how many allocations it made. */
static uint64_t count_allocations(struct lone *lone, struct event *event)
{
    event->at_ns = lone->now_ns;
    node_prepare(lone->node);
    const uint64_t before = allocations;
    node_step(lone->node, event, &lone->effects);
    return allocations - before;
}

/* Those of a batch are added, and a client may claim what it likes. */
static void items_are_bounded_where_they_come_in(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    struct event event = {.kind = EVENT_REQUEST};
    event.request.workflow = FLOW_F;
    event.request.items = UINT32_MAX;
    lone_step(&lone, &event);
    assert_int_equal(lone_record(&lone, RECORD_ARRIVED)->value, ITEMS_MAX);
    assert_int_equal(lone_record(&lone, RECORD_QUEUED)->value, ITEMS_MAX);
    lone_close(&lone);
}

/* A function may find nothing to pass on; the tasks behind it still run, each as one item. */
static void an_output_without_items_counts_as_one(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone.gives_none = true;
    lone_request(&lone, FLOW_CHAIN);
    lone_load_done(&lone, WEFT_OK);
    lone_batch_done(&lone, WEFT_OK);
    lone_load_done(&lone, WEFT_OK);
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.items, 1);
    lone_close(&lone);
}

static void a_step_allocates_nothing(void **state)
{
    (void)state;
    static struct lone lone;
    if (!COUNTS_ALLOCATIONS) {
        skip(); /* The sanitizer has an allocator of its own. */
    }
    const uint64_t before = allocations;
    void *volatile memory = malloc(1); /* Or the compiler sees through it. */
    free(memory);
    assert_int_equal(allocations, before + 1); /* Counting works. */
    lone_open(&lone, &(struct lone_options){.policy = policy_find("least-work")});
    uint32_t launched = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        struct event event = {.kind = EVENT_REQUEST};
        event.request.workflow = i % 2 == 0 ? FLOW_F : FLOW_SPLIT;
        lone.now_ns += MS(1);
        assert_int_equal(count_allocations(&lone, &event), 0);
        const struct effect *launch = lone_find(&lone, EFFECT_LAUNCH);
        while (launch != NULL) {
            const struct output output = {.items = 1};
            event = (struct event){.kind = EVENT_BATCH_DONE};
            event.batch.batch = launch->launch.batch;
            event.batch.output_count = 1;
            event.batch.outputs = &output;
            assert_int_equal(count_allocations(&lone, &event), 0);
            launch = lone_find(&lone, EFFECT_LAUNCH);
            launched++;
        }
    }
    assert_true(launched > 1000);
    lone_close(&lone);
}

static uint64_t solved_problem;
static const void *solved_result;
static uint32_t ticks;

static void count_tick(const struct policy_input *input, struct tick_answer *answer_out)
{
    (void)input;
    ticks++;
    answer_out->solve = ticks == 2;
    answer_out->problem = 77;
}

static void note_solved(const struct policy_input *input, uint64_t problem, const void *result)
{
    (void)input;
    solved_problem = problem;
    solved_result = result;
}

static void a_policy_that_ticks_is_asked_and_gets_what_it_asked_for(void **state)
{
    (void)state;
    static const struct policy ticking = {
        .name = "ticking", .tick_ns = MS(100), .tick = count_tick, .solved = note_solved};
    struct lone lone;
    const uint32_t result = 5;
    lone_open(&lone, &(struct lone_options){.policy = &ticking});
    assert_true(lone_timer(&lone, TIMER_TICK));
    assert_int_equal(lone.now_ns, MS(100));
    assert_int_equal(ticks, 1);
    assert_int_equal(lone_count(&lone, EFFECT_SOLVE), 0);
    assert_true(lone_timer(&lone, TIMER_TICK));
    assert_int_equal(lone.now_ns, MS(200));
    assert_int_equal(lone_find(&lone, EFFECT_SOLVE)->solve.problem, 77);
    struct event event = {.kind = EVENT_SOLVED};
    event.solved.problem = 77;
    event.solved.result = &result;
    lone_step(&lone, &event);
    assert_int_equal(solved_problem, 77);
    assert_ptr_equal(solved_result, &result);
    assert_int_equal(lone_record(&lone, RECORD_SOLVED)->value, 77);
    assert_true(lone_timer(&lone, TIMER_TICK)); /* And so on. */
    lone_close(&lone);
}

static void rest(const struct policy_input *input, struct tick_answer *answer_out)
{
    (void)input;
    answer_out->rests = true;
}

static void wait_long(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    (void)queue;
    answer_out->wake_at_ns = input->view->now_ns + MS(10000);
}

static void a_policy_that_rests_ticks_when_dispatch_was_asked(void **state)
{
    (void)state;
    static const struct policy resting = {
        .name = "resting", .tick_ns = MS(100), .tick = rest, .dispatch = wait_long};
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &resting});
    assert_true(lone_timer(&lone, TIMER_TICK));
    assert_true(node_counts(lone.node).resting);
    assert_false(lone_timer(&lone, TIMER_TICK));
    lone.now_ns = MS(1234);
    lone_deliver_task(&lone, 1, FLOW_F);
    assert_false(node_counts(lone.node).resting);
    assert_true(lone_timer(&lone, TIMER_TICK));
    assert_int_equal(lone.now_ns, MS(1300)); /* As if it had never rested. */
    assert_false(lone_timer(&lone, TIMER_TICK));
    lone_close(&lone);
}

static void no_node_is_woken_for_a_policy_that_does_not_tick(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    assert_false(lone_timer(&lone, TIMER_TICK));
    lone_close(&lone);
}

static void drain(struct lone *lone)
{
    struct event event = {.kind = EVENT_DRAIN};
    lone_step(lone, &event);
}

static void a_draining_node_refuses_finishes_and_says_so_once(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    (void)lone_request(&lone, FLOW_F);
    drain(&lone);
    assert_int_equal(lone_records(&lone, RECORD_DRAINING), 1);
    assert_int_equal(lone_records(&lone, RECORD_DRAINED), 0);
    assert_int_equal(lone.board.entries[0].live.load.accepting, 0);
    assert_true(node_counts(lone.node).draining);
    drain(&lone);
    assert_int_equal(lone.effects.count, 0);
    assert_int_equal(lone_request(&lone, FLOW_F).number, 0);
    assert_int_equal(lone_find(&lone, EFFECT_REFUSE)->answer.reason, REASON_DRAIN);
    assert_false(node_is_free(lone.node));
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(lone.answers, 2);
    assert_int_equal(lone_records(&lone, RECORD_DRAINED), 1);
    assert_true(node_is_free(lone.node));
    lone_members(&lone, 2, 7, 0);
    assert_int_equal(lone_records(&lone, RECORD_DRAINED), 0);
    lone_close(&lone);
}

static void a_draining_node_hands_on_what_waits_for_others_and_ends_what_runs(void **state)
{
    (void)state;
    enum { WAITING = HANDED_ON_PER_STEP + 3 };
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    for (uint64_t i = 1; i <= WAITING + 1; i++) {
        lone_deliver_task(&lone, i, FLOW_F);
    }
    assert_int_equal(node_counts(lone.node).queued, WAITING);
    drain(&lone);
    uint32_t handed_on = 0;
    do { /* A few a step. */
        const uint32_t sent = lone_records(&lone, RECORD_SENT);
        assert_true(sent <= HANDED_ON_PER_STEP);
        assert_int_equal(
            lone_sent_count(&lone, 1, MESSAGE_MOVED), sent); /* Their owner hears it. */
        handed_on += sent;
    } while (node_counts(lone.node).queued > 0 && lone_timer(&lone, TIMER_DISPATCH));
    assert_int_equal(handed_on, WAITING);
    assert_int_equal(node_counts(lone.node).running, 1);
    assert_false(node_is_free(lone.node));
    lone_deliver_task(&lone, WAITING + 2, FLOW_F); /* Its sender had not heard. */
    assert_int_equal(lone_records(&lone, RECORD_SENT), 1);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_INPUT), 1); /* The answer. */
    assert_int_equal(lone_records(&lone, RECORD_DRAINED), 1);
    assert_true(node_is_free(lone.node));
    lone_close(&lone);
}

/* The input came from another node, and was faster than the owner's news of it. */
static void what_was_handed_on_is_not_reserved_afterwards(void **state)
{
    (void)state;
    const struct job_id job = {.node = 1, .number = 1};
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(0, 0, 0, 0);
    drain(&lone);
    struct message input = lone_message(&lone, MESSAGE_INPUT, job, FLOW_CHAIN, 1);
    input.from = 2;
    lone_deliver(&lone, &input);
    assert_int_equal(lone_records(&lone, RECORD_SENT), 1);
    const struct message plan = lone_message(&lone, MESSAGE_RESERVE, job, FLOW_CHAIN, 1);
    lone_deliver(&lone, &plan);
    assert_int_equal(lone_records(&lone, RECORD_RESERVED), 0);
    assert_true(node_is_free(lone.node));
    lone_close(&lone);
}

static void what_can_run_nowhere_else_is_not_handed_on(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_deliver_task(&lone, 1, FLOW_F);
    lone_deliver_task(&lone, 2, FLOW_F);
    struct event broken = {.kind = EVENT_PEER_HINT};
    broken.peer.hint = PEER_BROKEN;
    for (broken.peer.node = 1; broken.peer.node < 3; broken.peer.node++) {
        lone_step(&lone, &broken);
    }
    drain(&lone);
    assert_int_equal(lone_records(&lone, RECORD_SENT), 0);
    lone_settle(&lone);
    assert_int_equal(lone_records(&lone, RECORD_DRAINED), 1);
    lone_close(&lone);
}

static void where_joins_may_meet_a_task_stays(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_deliver_task(&lone, 1, FLOW_F);
    lone_deliver_task(&lone, 2, FLOW_DIAMOND); /* The first of it has two successors. */
    drain(&lone);
    assert_int_equal(lone_records(&lone, RECORD_SENT), 0);
    assert_int_equal(node_counts(lone.node).queued, 1);
    lone_close(&lone);
}

static void an_idle_node_is_drained_at_once(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    drain(&lone);
    assert_int_equal(lone_records(&lone, RECORD_DRAINED), 1);
    lone_close(&lone);
}

static void a_draining_node_that_is_alone_finishes_whole_jobs(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_members(&lone, 2, /* up */ 1, 0);
    (void)lone_request(&lone, FLOW_DIAMOND);
    lone_plan(PLACEMENT_UNBOUND, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND);
    (void)lone_request(&lone, FLOW_DIAMOND);
    drain(&lone);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 2);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.status, WEFT_OK);
    assert_int_equal(lone_records(&lone, RECORD_DRAINED), 1);
    lone_close(&lone);
}

static struct admission refuse_all(const struct policy_input *input, const struct job_facts *job)
{
    (void)input;
    (void)job;
    return (struct admission){.admitted = false, .retry_after_ns = MS(250)};
}

static void a_refused_request_gets_its_input_back_and_a_time(void **state)
{
    (void)state;
    static const struct policy refusing = {.name = "refusing", .admit = refuse_all};
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &refusing});
    (void)lone_request(&lone, FLOW_A);
    const struct effect *refusal = lone_find(&lone, EFFECT_REFUSE);
    assert_int_equal(refusal->answer.reason, REASON_ADMISSION);
    assert_int_equal(refusal->answer.retry_after_ns, MS(250));
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void outputs_stand_in_the_order_of_the_sinks(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(1, 1, 1, 1);
    const struct job_id job = lone_request(&lone, FLOW_SPLIT); /* Brings tensor 1. */
    lone_answer(&lone, job, 1);
    assert_int_equal(lone.answers, 0);
    lone_answer(&lone, job, 1); /* Tensor 3 is one too many. */
    lone_answer(&lone, job, 0);
    const struct effect *answer = lone_find(&lone, EFFECT_ANSWER);
    assert_int_equal(answer->answer.output_count, 2);
    assert_int_equal(answer->answer.outputs[0].id, 4);
    assert_int_equal(answer->answer.outputs[1].id, 2);
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

static void jobs_that_end_in_one_batch_get_their_own_outputs(void **state)
{
    (void)state;
    static const struct policy batching = {.name = "batching", .dispatch = take_all};
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &batching});
    for (uint32_t i = 0; i < 4; i++) {
        (void)lone_request(&lone, FLOW_F); /* Tensors 1 to 4. */
    }
    lone_batch_done(&lone, WEFT_OK); /* 5 */
    lone_batch_done(&lone, WEFT_OK); /* 6 to 8 */
    uint64_t client = 2;
    for (uint32_t i = 0; i < lone.effects.count; i++) {
        const struct effect *effect = &lone.effects.items[i];
        if (effect->kind != EFFECT_ANSWER) {
            continue;
        }
        assert_int_equal(effect->answer.client, client);
        assert_int_equal(effect->answer.output_count, 1);
        assert_int_equal(effect->answer.outputs[0].id, client + 4);
        client++;
    }
    assert_int_equal(client, 5);
    lone_close(&lone);
}

static void a_cancelled_job_is_answered_and_whatever_it_had_comes_back(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_plan(0, 0, 1, 0);
    const struct job_id job = lone_request(&lone, FLOW_DIAMOND);
    lone_batch_done(&lone, WEFT_OK); /* The fork: the left branch waits for its model. */
    assert_true(lone_is_asked(&lone, EFFECT_LOAD));
    lone_cancel(&lone, job);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.status, WEFT_CANCELLED);
    assert_int_equal(lone_count(&lone, EFFECT_CANCEL_LOAD), 1);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_CANCEL), 1);
    assert_true(lone_is_empty(&lone));
    lone_cancel(&lone, job); /* Twice, or another node's. */
    lone_cancel(&lone, (struct job_id){.node = 1, .number = 1});
    assert_int_equal(lone.answers, 1);
    lone_close(&lone);
}

static void the_jobs_of_a_restarted_node_have_other_names(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct job_id before = lone_request(&lone, FLOW_F);
    lone_close(&lone);
    lone_open(&lone, &(struct lone_options){.incarnation = 1});
    const struct job_id after = lone_request(&lone, FLOW_F);
    assert_int_equal(before.number, after.number);
    assert_int_equal(after.incarnation, 1);
    assert_false(job_equal(before, after));
    assert_int_not_equal(job_key(before), job_key(after));
    lone_close(&lone);
}

static void numbers_of_jobs_do_not_come_round(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone.node->job_number = UINT32_MAX - 1;
    assert_int_equal(lone_request(&lone, FLOW_F).number, UINT32_MAX);
    assert_int_equal(lone_request(&lone, FLOW_F).number, UINT64_C(1) << 32);
    assert_int_equal(node_counts(lone.node).jobs, 2);
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_zero_of_items_counts_as_one_task_all_the_same(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    struct message input = lone_task(&lone, 1, FLOW_WORK);
    input.work.items = 0; /* Its producer found nothing. */
    lone_deliver(&lone, &input);
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void the_first_row_is_shown_at_once_and_the_next_after_its_interval(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    const struct row first = *lone.effects.rows[0];
    assert_int_equal(first.parts, ROW_BOTH);
    (void)lone_request(&lone, FLOW_F);
    assert_int_equal(lone.effects.row_count, 0);
    assert_true(lone_timer(&lone, TIMER_PUBLISH));
    assert_int_equal(lone.now_ns, MS(10));
    const struct row *second = lone.effects.rows[0];
    assert_int_equal(second->parts, ROW_LOAD);
    assert_true(second->load.sequence > first.load.sequence);
    lone_close(&lone);
}

/* Every queue waits, each for the next multiple of a time of its own. */
static void wait_on(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    const int64_t each_ns = MS(queue->workflow == FLOW_F ? 10 : 7);
    *answer_out = (struct dispatch_answer){
        .wake_at_ns = (input->view->now_ns / each_ns + 1) * each_ns,
    };
}

static uint32_t timers_set(const struct lone *lone, enum timer_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < lone->asked_count; i++) {
        const struct effect *effect = &lone->asked[i];
        count += effect->kind == EFFECT_WAKE_AT && effect->wake.timer.kind == kind ? 1 : 0;
    }
    return count;
}

static void queues_that_wait_for_different_times_set_a_timer_each_and_no_more(void **state)
{
    (void)state;
    struct lone lone;
    static const struct policy waiting = {.name = "waiting", .dispatch = wait_on};
    lone_open(&lone, &(struct lone_options){.policy = &waiting});
    (void)lone_request(&lone, FLOW_F);
    (void)lone_request(&lone, FLOW_SPLIT);
    uint32_t looks = 0;
    while (lone.now_ns < MS(700)) {
        assert_true(lone_timer(&lone, TIMER_DISPATCH));
        looks++;
        assert_in_range(timers_set(&lone, TIMER_DISPATCH), 1, 4);
    }
    assert_in_range(looks, 160, 400); /* Each multiple of 7 and of 10 ms is one. */
    lone_close(&lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_script_leaves_nothing_behind),
        cmocka_unit_test(the_same_events_give_the_same_effects),
        cmocka_unit_test(a_node_may_be_destroyed_at_any_point),
        cmocka_unit_test(items_are_bounded_where_they_come_in),
        cmocka_unit_test(an_output_without_items_counts_as_one),
        cmocka_unit_test(a_step_allocates_nothing),
        cmocka_unit_test(a_policy_that_ticks_is_asked_and_gets_what_it_asked_for),
        cmocka_unit_test(a_policy_that_rests_ticks_when_dispatch_was_asked),
        cmocka_unit_test(no_node_is_woken_for_a_policy_that_does_not_tick),
        cmocka_unit_test(a_draining_node_refuses_finishes_and_says_so_once),
        cmocka_unit_test(a_draining_node_hands_on_what_waits_for_others_and_ends_what_runs),
        cmocka_unit_test(what_was_handed_on_is_not_reserved_afterwards),
        cmocka_unit_test(what_can_run_nowhere_else_is_not_handed_on),
        cmocka_unit_test(where_joins_may_meet_a_task_stays),
        cmocka_unit_test(an_idle_node_is_drained_at_once),
        cmocka_unit_test(a_draining_node_that_is_alone_finishes_whole_jobs),
        cmocka_unit_test(a_refused_request_gets_its_input_back_and_a_time),
        cmocka_unit_test(outputs_stand_in_the_order_of_the_sinks),
        cmocka_unit_test(jobs_that_end_in_one_batch_get_their_own_outputs),
        cmocka_unit_test(a_cancelled_job_is_answered_and_whatever_it_had_comes_back),
        cmocka_unit_test(the_jobs_of_a_restarted_node_have_other_names),
        cmocka_unit_test(numbers_of_jobs_do_not_come_round),
        cmocka_unit_test(a_zero_of_items_counts_as_one_task_all_the_same),
        cmocka_unit_test(the_first_row_is_shown_at_once_and_the_next_after_its_interval),
        cmocka_unit_test(queues_that_wait_for_different_times_set_a_timer_each_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
