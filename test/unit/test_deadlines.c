/* Covers: src/node/deadlines.c */
#include "node/deadlines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"
#include "lone_node.h"
#include "node/bounds.h"

enum { JOBS = 400, ROUNDS = 10 };

static struct job_id request(struct lone *lone, int64_t slo_ns)
{
    lone->slo_ns = slo_ns;
    return lone_request(lone, FLOW_F);
}

/* Timers for deadlines that have been asked for and have not come. */
static uint32_t timer_count(const struct lone *lone)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < lone->asked_count; i++) {
        const struct effect *asked = &lone->asked[i];
        count += asked->kind == EFFECT_WAKE_AT && asked->wake.timer.kind == TIMER_DEADLINE ? 1 : 0;
    }
    return count;
}

static void finish(struct lone *lone)
{
    lone_settle(lone);
    assert_true(lone_is_empty(lone));
    lone_close(lone);
}

static void a_job_ends_at_its_deadline_even_while_it_runs(ATTR_UNUSED void **state)
{
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.node = 0});
    const int64_t start_ns = lone.now_ns;
    const struct job_id job = request(&lone, MS(10));
    assert_true(lone_is_asked(&lone, EFFECT_LAUNCH));
    assert_true(lone_timer(&lone, TIMER_DEADLINE));
    assert_int_equal(lone.now_ns, start_ns + MS(10) + 1); /* At 10 ms it would be in time. */
    const struct effect *answer = lone_find(&lone, EFFECT_ANSWER);
    assert_non_null(answer);
    assert_int_equal(answer->answer.job.number, job.number);
    assert_int_equal(answer->answer.status, WEFT_CANCELLED);
    assert_int_equal(answer->answer.reason, REASON_LATE);
    assert_int_equal(lone_count(&lone, EFFECT_CANCEL_BATCH), 1);
    assert_int_equal(lone_record(&lone, RECORD_ANSWERED)->reason, REASON_LATE);
    assert_int_equal(timer_count(&lone), 0);
    finish(&lone);
}

static void an_output_at_the_deadline_is_in_time_and_after_it_is_late(ATTR_UNUSED void **state)
{
    for (int64_t late_ns = 0; late_ns <= 1; late_ns++) {
        struct lone lone;
        lone_open(&lone, &(struct lone_options){.node = 0});
        (void)request(&lone, MS(10));
        lone.now_ns += MS(10) + late_ns;
        lone_batch_done(&lone, WEFT_OK);
        const struct effect *answer = lone_find(&lone, EFFECT_ANSWER);
        assert_int_equal(answer->answer.status, late_ns == 0 ? WEFT_OK : WEFT_CANCELLED);
        assert_int_equal(answer->answer.reason, late_ns == 0 ? REASON_NONE : REASON_LATE);
        finish(&lone);
    }
}

static void a_target_of_the_workflow_ends_nothing(ATTR_UNUSED void **state)
{
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.node = 0});
    (void)request(&lone, 0);
    assert_int_equal(timer_count(&lone), 0);
    finish(&lone);
}

static void timers_do_not_pile_up(ATTR_UNUSED void **state)
{
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.node = 0});
    (void)request(&lone, MS(20));
    (void)request(&lone, MS(20));
    (void)request(&lone, MS(100));
    assert_int_equal(timer_count(&lone), 1);
    (void)request(&lone, MS(5)); /* An earlier one needs another timer. */
    assert_int_equal(timer_count(&lone), 2);
    static const uint32_t ended[] = {1, 2, 0, 1}; /* One for 20 ms was set twice. */
    static const uint32_t left[] = {2, 2, 1, 0};
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(lone_timer(&lone, TIMER_DEADLINE));
        assert_int_equal(lone_records(&lone, RECORD_ANSWERED), ended[i]);
        assert_int_equal(timer_count(&lone), left[i]);
    }
    finish(&lone);
}

/* A step stays short: so many end in it, and a timer for the present goes on. */
static void many_deadlines_at_once_take_several_steps(ATTR_UNUSED void **state)
{
    static const uint32_t ended[] = {GIVE_UP_PER_STEP, GIVE_UP_PER_STEP, 3};
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.node = 0});
    for (uint32_t i = 0; i < 2 * GIVE_UP_PER_STEP + 3; i++) {
        (void)request(&lone, MS(10));
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(lone_timer(&lone, TIMER_DEADLINE));
        assert_int_equal(lone_records(&lone, RECORD_ANSWERED), ended[i]);
    }
    assert_false(lone_timer(&lone, TIMER_DEADLINE));
    finish(&lone);
}

/* Jobs by number, which counts from 1. */
struct jobs {
    struct lone lone;
    struct rng rng;
    struct job_id ids[JOBS + 1];
    int64_t deadlines_ns[JOBS + 1];
    uint32_t count;
    uint32_t open;
};

static void add_some(struct jobs *jobs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const int64_t slo_ns = MS(1 + rng_below(&jobs->rng, 50));
        const struct job_id id = request(&jobs->lone, slo_ns);
        jobs->ids[id.number] = id;
        jobs->deadlines_ns[id.number] = jobs->lone.now_ns + slo_ns;
        jobs->count++;
        jobs->open++;
    }
}

static void cancel_some(struct jobs *jobs, uint32_t tries)
{
    for (uint32_t i = 0; i < tries; i++) {
        const uint32_t number = 1 + rng_below(&jobs->rng, jobs->count);
        if (jobs->deadlines_ns[number] != 0) {
            lone_cancel(&jobs->lone, jobs->ids[number]);
            jobs->deadlines_ns[number] = 0;
            jobs->open--;
        }
    }
}

/* Jobs that have ended in the last step did so late, and no other is later than they are. */
static void check_ended(struct jobs *jobs)
{
    for (uint32_t i = 0; i < jobs->lone.effects.count; i++) {
        if (jobs->lone.effects.items[i].kind != EFFECT_ANSWER) {
            continue;
        }
        const uint64_t number = jobs->lone.effects.items[i].answer.job.number;
        const int64_t deadline_ns = jobs->deadlines_ns[number];
        assert_true(deadline_ns > 0 && deadline_ns < jobs->lone.now_ns);
        for (uint32_t other = 1; other <= jobs->count; other++) {
            assert_true(
                jobs->deadlines_ns[other] == 0 || other == number ||
                jobs->deadlines_ns[other] > deadline_ns ||
                (jobs->deadlines_ns[other] == deadline_ns && other > number));
        }
        jobs->deadlines_ns[number] = 0;
        jobs->open--;
    }
}

static void jobs_end_in_the_order_of_their_deadlines(ATTR_UNUSED void **state)
{
    static struct jobs jobs;
    jobs = (struct jobs){.rng = rng_stream(7, RNG_NETWORK, 0)};
    lone_open(&jobs.lone, &(struct lone_options){.node = 0});
    for (uint32_t round = 0; round < ROUNDS; round++) {
        add_some(&jobs, JOBS / ROUNDS);
        cancel_some(&jobs, JOBS / ROUNDS / 2);
        for (uint32_t i = 0; i < 3 && lone_timer(&jobs.lone, TIMER_DEADLINE); i++) {
            check_ended(&jobs);
            cancel_some(&jobs, 3);
        }
    }
    while (lone_timer(&jobs.lone, TIMER_DEADLINE)) {
        check_ended(&jobs);
    }
    assert_int_equal(jobs.open, 0);
    finish(&jobs.lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_ends_at_its_deadline_even_while_it_runs),
        cmocka_unit_test(an_output_at_the_deadline_is_in_time_and_after_it_is_late),
        cmocka_unit_test(a_target_of_the_workflow_ends_nothing),
        cmocka_unit_test(timers_do_not_pile_up),
        cmocka_unit_test(many_deadlines_at_once_take_several_steps),
        cmocka_unit_test(jobs_end_in_the_order_of_their_deadlines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
