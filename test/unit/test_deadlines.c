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

enum { JOBS = 200 };

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

static void one_timer_is_enough_unless_an_earlier_deadline_comes(ATTR_UNUSED void **state)
{
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.node = 0});
    const struct job_id first = request(&lone, MS(10));
    (void)request(&lone, MS(10));
    (void)request(&lone, MS(20));
    assert_int_equal(timer_count(&lone), 1);
    (void)request(&lone, MS(5));
    assert_int_equal(timer_count(&lone), 2);
    assert_true(lone_timer(&lone, TIMER_DEADLINE)); /* The last one ends. */
    assert_int_equal(lone_records(&lone, RECORD_ANSWERED), 1);
    lone_cancel(&lone, first);
    lone.answers = 0;
    while (lone_timer(&lone, TIMER_DEADLINE)) {
        assert_true(timer_count(&lone) <= 2);
    }
    assert_int_equal(lone.answers, 2);
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

static void jobs_end_in_the_order_of_their_deadlines(ATTR_UNUSED void **state)
{
    struct lone lone;
    struct rng rng = rng_stream(7, RNG_NETWORK, 0);
    struct job_id jobs[JOBS];
    int64_t deadlines_ns[JOBS + 1] = {0}; /* By number of the job, which counts from 1. */
    uint32_t left = JOBS;
    lone_open(&lone, &(struct lone_options){.node = 0});
    for (uint32_t i = 0; i < JOBS; i++) {
        const int64_t slo_ns = MS(1 + rng_below(&rng, 50));
        jobs[i] = request(&lone, slo_ns);
        deadlines_ns[jobs[i].number] = lone.now_ns + slo_ns;
    }
    for (uint32_t i = 0; i < JOBS; i++) {
        if (rng_below(&rng, 3) == 0) {
            lone_cancel(&lone, jobs[i]);
            left--;
        }
    }
    struct job_id last = {0};
    while (lone_timer(&lone, TIMER_DEADLINE)) {
        for (uint32_t i = 0; i < lone.effects.count; i++) {
            if (lone.effects.items[i].kind != EFFECT_ANSWER) {
                continue;
            }
            const struct job_id job = lone.effects.items[i].answer.job;
            const int64_t before_ns = deadlines_ns[last.number];
            assert_true(deadlines_ns[job.number] < lone.now_ns);
            assert_true(
                deadlines_ns[job.number] > before_ns ||
                (deadlines_ns[job.number] == before_ns && job.number > last.number));
            last = job;
            left--;
        }
    }
    assert_int_equal(left, 0);
    finish(&lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_ends_at_its_deadline_even_while_it_runs),
        cmocka_unit_test(an_output_at_the_deadline_is_in_time_and_after_it_is_late),
        cmocka_unit_test(a_target_of_the_workflow_ends_nothing),
        cmocka_unit_test(one_timer_is_enough_unless_an_earlier_deadline_comes),
        cmocka_unit_test(many_deadlines_at_once_take_several_steps),
        cmocka_unit_test(jobs_end_in_the_order_of_their_deadlines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
