/*
 * Jobs that cannot be in time any more end before they start, priorities go first, and the policy
 * that admits a job hears how it ended.
 *
 * Covers: src/node/give_up.c src/node/jobs.c src/node/dispatch.c src/node/tickets.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lone_node.h"
#include "node/inside.h"

static struct answered_facts heard; /* Of the last job that ended. */
static uint32_t heard_count;

static struct admission admit_all(const struct policy_input *input, const struct job_facts *job)
{
    (void)input;
    return (struct admission){
        .admitted = true, .forecast = {.wait_ns = (int64_t)job->id.number, .work_ns = 7}};
}

static void hear(const struct policy_input *input, const struct answered_facts *job)
{
    (void)input;
    heard = *job;
    heard.job = NULL; /* It lives no longer than this call. */
    heard_count++;
}

static bool is_target; /* Deadlines are: late answers are wanted, */
static bool is_mixed;  /* and what is not late yet comes before what has none. */

/* A rule that a test can see through: 5 ms before the deadline it is too late. */
static enum hope too_late(const struct policy_input *input, const struct ready_facts *task)
{
    const bool is_late = task->ready_ns < input->view->now_ns &&
                         task->job->deadline_ns - input->view->now_ns < MS(5);
    const bool is_over = task->job->deadline_ns < input->view->now_ns;
    const enum hope late = is_mixed && !is_over ? HOPE_DOUBTFUL : HOPE_LATE;
    return !is_late ? HOPE_GOOD : is_target ? late : HOPE_NONE;
}

static const struct policy admitting = {
    .name = "admitting", .admit = admit_all, .answered = hear, .hope = too_late};

static void first_come(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    (void)queue;
    *answer_out = (struct dispatch_answer){.count = 1, .configs = {{.batch = 1}}};
    answer_out->workers[0] = input->view->worker_first;
}

static const struct policy at_home = {
    .name = "at-home",
    .binds = true,
    .dispatch = first_come,
    .admit = admit_all,
    .answered = hear,
    .hope = too_late};

static void open_with(struct lone *lone, const struct policy *policy)
{
    heard_count = 0;
    is_target = false;
    is_mixed = false;
    lone_open(lone, &(struct lone_options){.policy = policy});
}

static struct job_id request(struct lone *lone, int64_t slo_ns, uint32_t priority)
{
    struct event event = {.kind = EVENT_REQUEST};
    event.request = (struct event_request){
        .client = ++lone->clients, .workflow = FLOW_F, .slo_ns = slo_ns, .priority = priority};
    lone_step(lone, &event);
    const struct effect *accept = lone_find(lone, EFFECT_ACCEPT);
    return accept == NULL ? (struct job_id){0} : accept->accept.job;
}

/* The job whose task has been started in the last step. */
static uint64_t started(const struct lone *lone)
{
    const struct record *record = lone_record(lone, RECORD_STARTED);
    return record == NULL ? 0 : record->job.number;
}

static void a_hopeless_job_ends_before_it_starts(void **state)
{
    (void)state;
    struct lone lone;
    open_with(&lone, &admitting);
    const struct job_id first = request(&lone, MS(100), 0);
    const struct job_id late = request(&lone, MS(10), 0);
    const struct job_id last = request(&lone, MS(100), 0);
    assert_int_equal(started(&lone), 0);
    lone.now_ns += MS(6);
    lone_batch_done(&lone, WEFT_OK);
    assert_true(heard.late && !heard.completed && !heard.cut);
    assert_int_equal(heard.forecast.wait_ns, late.number);
    assert_int_equal(heard_count, 2); /* The first one is done. */
    assert_int_equal(started(&lone), last.number);
    assert_int_equal(lone.answers, 2);
    assert_int_equal(lone_record(&lone, RECORD_FAILED)->reason, REASON_LATE);
    bool is_told = false;
    for (uint32_t i = 0; i < lone.effects.count; i++) {
        const struct effect *effect = &lone.effects.items[i];
        is_told =
            is_told || (effect->kind == EFFECT_ANSWER && effect->answer.job.number == late.number &&
                        effect->answer.reason == REASON_LATE);
    }
    assert_true(is_told);
    assert_int_not_equal(first.number, late.number);
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/* The workflow's own SLO, of which FLOW_F has none, would be a target: here, no deadline. */
static void what_has_no_deadline_is_never_given_up(void **state)
{
    (void)state;
    struct lone lone;
    open_with(&lone, &admitting);
    (void)request(&lone, 0, 0);
    const struct job_id second = request(&lone, 0, 0);
    lone.now_ns += MS(100000);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(started(&lone), second.number);
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/* A step stays short: so many end in it, and a timer for the present goes on. */
static void many_hopeless_jobs_end_in_several_steps(void **state)
{
    (void)state;
    struct lone lone;
    open_with(&lone, &admitting);
    for (uint32_t i = 0; i < 3 * GIVE_UP_PER_STEP; i++) {
        (void)request(&lone, MS(10), 0);
    }
    const struct job_id good = request(&lone, MS(1000), 0);
    lone.now_ns += MS(8);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(lone_records(&lone, RECORD_FAILED), GIVE_UP_PER_STEP);
    assert_int_equal(started(&lone), 0);
    assert_true(lone_timer(&lone, TIMER_DISPATCH));
    assert_int_equal(lone_records(&lone, RECORD_FAILED), GIVE_UP_PER_STEP);
    assert_true(lone_timer(&lone, TIMER_DISPATCH));
    assert_int_equal(lone_records(&lone, RECORD_FAILED), GIVE_UP_PER_STEP - 1);
    assert_int_equal(started(&lone), good.number);
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void hopeless_tickets_leave_their_home_queue(void **state)
{
    (void)state;
    struct lone lone;
    open_with(&lone, &at_home);
    const struct job_id first = request(&lone, MS(1000), 0);
    const struct job_id late = request(&lone, MS(10), 0);
    const struct job_id last = request(&lone, MS(1000), 0);
    assert_int_not_equal(first.number, last.number);
    lone.now_ns += MS(6);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(lone.answers, 2);
    assert_true(heard.late);
    assert_int_equal(heard.forecast.wait_ns, late.number);
    assert_int_equal(started(&lone), last.number);
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/* Jobs that are late for a target give way to the last one, and are done after it. */
static void late_jobs_are_put_off(void **state)
{
    (void)state;
    const struct policy *const policies[] = {&admitting, &at_home};
    for (uint32_t i = 0; i < 2; i++) {
        struct lone lone;
        open_with(&lone, policies[i]);
        is_target = true;
        (void)request(&lone, MS(1000), 0);
        const struct job_id late = request(&lone, MS(10), 0);
        const struct job_id later = request(&lone, MS(10), 0);
        const struct job_id last = request(&lone, MS(1000), 0);
        lone.now_ns += MS(6);
        lone_batch_done(&lone, WEFT_OK);
        assert_int_equal(started(&lone), last.number);
        lone_batch_done(&lone, WEFT_OK);
        assert_int_equal(started(&lone), late.number);
        lone_batch_done(&lone, WEFT_OK);
        assert_int_equal(started(&lone), later.number);
        lone_settle(&lone);
        assert_int_equal(lone_records(&lone, RECORD_FAILED), 0);
        assert_int_equal(lone.answers, 4);
        assert_true(lone_is_empty(&lone));
        lone_close(&lone);
    }
}

/* What is doubtful comes before what is late; and behind it, once it is late as well. */
static void what_is_late_waits_behind_what_may_be(void **state)
{
    (void)state;
    const struct policy *const policies[] = {&admitting, &at_home};
    for (uint32_t i = 0; i < 4; i++) {
        struct lone lone;
        open_with(&lone, policies[i % 2]);
        is_target = true;
        is_mixed = true;
        (void)request(&lone, MS(1000), 0);
        const struct job_id late = request(&lone, MS(5), 0);
        const struct job_id doubtful = request(&lone, MS(10), 0);
        (void)request(&lone, MS(1000), 0);
        lone.now_ns += MS(6);
        lone_batch_done(&lone, WEFT_OK);
        lone.now_ns += i < 2 ? MS(1) : MS(6);
        lone_batch_done(&lone, WEFT_OK);
        assert_int_equal(started(&lone), i < 2 ? doubtful.number : late.number);
        lone_settle(&lone);
        assert_int_equal(lone.answers, 4);
        assert_true(lone_is_empty(&lone));
        lone_close(&lone);
    }
}

/* The share of one in 64, in 255ths. First tasks do not count, nor do those that run in time. */
static void a_row_says_how_many_later_tasks_are_put_off(void **state)
{
    (void)state;
    static const struct {
        uint32_t task; /* Of the diamond. */
        int64_t left_ns;
        uint32_t share;
    } cases[] = {{3, MS(10), 3}, {0, MS(10), 0}, {3, MS(1000), 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct lone lone;
        open_with(&lone, &at_home);
        is_target = true;
        const struct job_id job = {.node = 2, .number = 1};
        (void)request(&lone, MS(1000), 0);
        struct message offer = lone_message(&lone, MESSAGE_OFFER, job, FLOW_DIAMOND, cases[i].task);
        offer.worker = 2;
        offer.work.left_ns = cases[i].left_ns;
        lone_deliver(&lone, &offer);
        lone.now_ns += MS(6);
        lone_batch_done(&lone, WEFT_OK);
        assert_non_null(lone_sent(&lone, 2, MESSAGE_PULL)); /* It runs all the same. */
        assert_int_equal(lone.board.entries[lone.worker].live.load.put_off, cases[i].share);
        lone_close(&lone);
    }
}

/* What was put off an hour ago comes first again. */
static void what_was_put_off_is_not_starved(void **state)
{
    (void)state;
    struct lone lone;
    open_with(&lone, &admitting);
    is_target = true;
    (void)request(&lone, MS(1000000), 0);
    const struct job_id late = request(&lone, MS(10), 0);
    (void)request(&lone, MS(1000000), 0);
    lone.now_ns += MS(6);
    lone_batch_done(&lone, WEFT_OK);
    lone.now_ns += PUT_OFF_NS + 1;
    (void)request(&lone, MS(1000000), 0);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(started(&lone), late.number);
    lone_settle(&lone);
    lone_close(&lone);
}

/* What was put off ends all the same once its answer is of no use. */
static void what_was_put_off_may_end(void **state)
{
    (void)state;
    const struct policy *const policies[] = {&admitting, &at_home};
    for (uint32_t i = 0; i < 2; i++) {
        struct lone lone;
        open_with(&lone, policies[i]);
        is_target = true;
        (void)request(&lone, MS(1000), 0);
        (void)request(&lone, MS(10), 0);
        (void)request(&lone, MS(1000), 0);
        lone.now_ns += MS(6);
        lone_batch_done(&lone, WEFT_OK);
        assert_int_equal(lone_records(&lone, RECORD_FAILED), 0);
        is_target = false;
        lone_batch_done(&lone, WEFT_OK);
        assert_int_equal(lone_records(&lone, RECORD_FAILED), 1);
        assert_int_equal(lone.answers, 3);
        lone_settle(&lone);
        assert_true(lone_is_empty(&lone));
        lone_close(&lone);
    }
}

/* Twelve usual jobs wait; what comes then with a priority goes first, the highest of all. */
static void the_urgent_go_first(void **state)
{
    (void)state;
    struct lone lone;
    struct job_id jobs[16];
    static const uint32_t order[] = {1, 13, 14, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15};
    open_with(&lone, NULL);
    for (uint32_t i = 0; i < 16; i++) {
        jobs[i] = request(&lone, 0, i == 13 ? 16 : i == 14 ? 12 : 0);
        lone.now_ns += MS(1);
    }
    for (uint32_t i = 0; i + 1 < sizeof(order) / sizeof(order[0]); i++) {
        lone_batch_done(&lone, WEFT_OK);
        const uint32_t next = i == 0 ? 13 : i == 1 ? 14 : i - 1;
        assert_int_equal(started(&lone), jobs[next].number);
    }
    lone_settle(&lone);
    lone_close(&lone);
}

/* A level is worth half a minute: no task waits for ever. */
static void the_usual_are_not_starved(void **state)
{
    (void)state;
    struct lone lone;
    open_with(&lone, NULL);
    (void)request(&lone, 0, 0);
    const struct job_id usual = request(&lone, 0, 0);
    lone.now_ns += PRIORITY_LEVEL_NS + 1;
    const struct job_id urgent = request(&lone, 0, 1);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(started(&lone), usual.number);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(started(&lone), urgent.number);
    lone_settle(&lone);
    lone_close(&lone);
}

static void the_policy_that_admits_hears_how_jobs_end(void **state)
{
    (void)state;
    struct lone lone;
    open_with(&lone, &admitting);
    const struct job_id done = request(&lone, MS(50), 3);
    lone.now_ns += MS(2);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(heard_count, 1);
    assert_true(heard.completed && !heard.cut && !heard.late);
    assert_int_equal(heard.latency_ns, MS(2));
    assert_int_equal(heard.forecast.wait_ns, done.number);
    assert_int_equal(heard.forecast.work_ns, 7);
    const struct job_id left = request(&lone, 0, 0);
    lone_cancel(&lone, left);
    assert_int_equal(heard_count, 2);
    assert_true(heard.cut && !heard.completed);
    lone_close(&lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hopeless_job_ends_before_it_starts),
        cmocka_unit_test(what_has_no_deadline_is_never_given_up),
        cmocka_unit_test(many_hopeless_jobs_end_in_several_steps),
        cmocka_unit_test(hopeless_tickets_leave_their_home_queue),
        cmocka_unit_test(late_jobs_are_put_off),
        cmocka_unit_test(what_is_late_waits_behind_what_may_be),
        cmocka_unit_test(a_row_says_how_many_later_tasks_are_put_off),
        cmocka_unit_test(what_was_put_off_is_not_starved),
        cmocka_unit_test(what_was_put_off_may_end),
        cmocka_unit_test(the_urgent_go_first),
        cmocka_unit_test(the_usual_are_not_starved),
        cmocka_unit_test(the_policy_that_admits_hears_how_jobs_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
