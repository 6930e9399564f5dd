/*
 * Workers that share one memory: what is counted of it, who follows, what leaves and who waits.
 *
 * Covers: src/node/model_cache.c
 * Covers: src/node/bank.c
 * Covers: src/node/room.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lone_node.h"
#include "node/inside.h"

static struct lone lone;

static void open_shared(uint32_t worker_count)
{
    const struct lone_options options = {.worker_count = worker_count, .shares_memory = true};
    lone_open(&lone, &options);
}

static void request_at(uint16_t worker, enum lone_workflow workflow)
{
    lone_plan(worker, worker, worker, worker);
    (void)lone_request(&lone, workflow);
}

static uint64_t used(void)
{
    const uint64_t bytes = node_worker_counts(lone.node, 0).memory_used_bytes;
    assert_int_equal(node_worker_counts(lone.node, 1).memory_used_bytes, bytes);
    return bytes;
}

static bool has(uint32_t worker, enum lone_model model)
{
    const struct worker_counts counts = node_worker_counts(lone.node, worker);
    return model_set_has(&counts.resident, model);
}

static const struct row_cache *row(uint32_t worker)
{
    return &lone.board.entries[worker].live.cache;
}

static void a_model_takes_its_room_once(void **state)
{
    (void)state;
    open_shared(2);
    request_at(0, FLOW_A);
    assert_int_equal(used(), MB(50));
    lone_load_done(&lone, WEFT_OK);
    assert_int_equal(lone_find(&lone, EFFECT_LOAD)->load.worker, 1); /* It follows at once. */
    assert_int_equal(lone_record(&lone, RECORD_LOADING)->reason, REASON_SHARED);
    assert_int_equal(used(), MB(50));
    lone_load_done(&lone, WEFT_OK);
    assert_true(has(0, MODEL_A) && has(1, MODEL_A));
    assert_int_equal(used(), MB(50));
    assert_int_equal(row(0)->free_bytes, MB(150));
    assert_int_equal(row(1)->free_bytes, MB(150));
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void what_a_worker_keeps_for_itself_counts_for_each(void **state)
{
    (void)state;
    open_shared(2);
    lone.own_bytes = MB(10);
    request_at(0, FLOW_A);
    lone_load_done(&lone, WEFT_OK);
    assert_int_equal(used(), MB(60)); /* The second is on its way. */
    lone_settle(&lone);
    assert_int_equal(used(), MB(60));
    lone_close(&lone);
}

/* The load says that A takes 80 MB, 10 of them for each: the second counts so before it has it. */
static void what_was_measured_counts_for_all(void **state)
{
    (void)state;
    open_shared(2);
    request_at(0, FLOW_A);
    lone.own_bytes = MB(10);
    lone.profile->models[MODEL_A].resident_bytes = MB(80);
    lone_load_done(&lone, WEFT_OK);
    assert_int_equal(lone_find(&lone, EFFECT_LOAD)->load.worker, 1);
    assert_int_equal(used(), MB(90));
    lone_settle(&lone);
    assert_int_equal(used(), MB(90));
    lone_close(&lone);
}

/* C takes 160 of 200 MB: there is no room for a second one, nor need there be. */
static void a_worker_follows_into_the_room_that_is_taken(void **state)
{
    (void)state;
    open_shared(2);
    request_at(0, FLOW_C);
    lone_settle(&lone);
    assert_true(has(0, MODEL_C) && has(1, MODEL_C));
    assert_int_equal(used(), MB(160));
    lone_close(&lone);
}

static void others_wait_for_the_load_that_is_under_way(void **state)
{
    (void)state;
    open_shared(2);
    request_at(0, FLOW_A);
    request_at(1, FLOW_A);
    assert_int_equal(lone_count(&lone, EFFECT_LOAD), 0);
    assert_true(model_set_has(&row(1)->loading, MODEL_A)); /* Planners count on it. */
    lone_load_done(&lone, WEFT_OK);
    assert_int_equal(lone_find(&lone, EFFECT_LOAD)->load.worker, 1);
    assert_int_equal(lone_record(&lone, RECORD_LOADING)->reason, REASON_DEMAND); /* No hit. */
    lone_settle(&lone);
    assert_int_equal(lone.answers, 2);
    lone_close(&lone);
}

static void a_load_that_fails_is_tried_by_the_next(void **state)
{
    (void)state;
    open_shared(2);
    request_at(0, FLOW_A);
    request_at(1, FLOW_A);
    lone_plan(1, 1, 1, 1);
    lone_load_done(&lone, WEFT_IO);
    assert_int_equal(lone_find(&lone, EFFECT_LOAD)->load.worker, 1);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 2);
    lone_close(&lone);
}

static void only_a_few_follow_at_once(void **state)
{
    (void)state;
    open_shared(8);
    request_at(6, FLOW_A);
    lone_settle(&lone);
    for (uint32_t i = 0; i < 8; i++) { /* Those after it, and the rest when a task comes. */
        assert_int_equal(has(i, MODEL_A), i == 6 || i == 7 || i == 0 || i == 1);
    }
    assert_true(model_set_has(&row(3)->loading, MODEL_A));
    request_at(3, FLOW_A);
    assert_int_equal(lone_record(&lone, RECORD_LOADING)->reason, REASON_DEMAND);
    assert_int_equal(used(), MB(50));
    lone_settle(&lone);
    assert_true(has(3, MODEL_A));
    lone_close(&lone);
}

/* A, 50 MB, and B, 30 MB, are there, and C, 160 MB, needs more than is left with either. */
static void a_model_leaves_all_workers_together(void **state)
{
    (void)state;
    open_shared(2);
    request_at(0, FLOW_A);
    lone_settle(&lone);
    request_at(1, FLOW_B);
    lone_settle(&lone);
    assert_int_equal(used(), MB(80));
    request_at(1, FLOW_C);
    assert_int_equal(lone_count(&lone, EFFECT_UNLOAD), 2);
    lone_unload_done(&lone);
    assert_int_equal(used(), MB(80)); /* One of two has it still. */
    assert_false(lone_is_asked(&lone, EFFECT_LOAD));
    lone_unload_done(&lone);
    assert_int_equal(lone_find(&lone, EFFECT_LOAD)->load.model, MODEL_C);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 3);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void what_a_batch_of_another_worker_uses_stays(void **state)
{
    (void)state;
    open_shared(2);
    request_at(0, FLOW_A);
    lone_settle(&lone);
    request_at(0, FLOW_A); /* It runs. */
    request_at(1, FLOW_C);
    assert_int_equal(lone_count(&lone, EFFECT_UNLOAD), 0);
    assert_false(lone_is_asked(&lone, EFFECT_LOAD));
    lone_batch_done(&lone, WEFT_OK); /* It has ended: the other one hears of it. */
    assert_int_equal(lone_count(&lone, EFFECT_UNLOAD), 2);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 3);
    lone_close(&lone);
}

static void what_another_worker_needs_first_stays(void **state)
{
    (void)state;
    open_shared(2);
    request_at(0, FLOW_A);
    lone_settle(&lone);
    request_at(0, FLOW_A); /* It runs; */
    request_at(0, FLOW_A); /* this one is next. */
    request_at(1, FLOW_C);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(lone_count(&lone, EFFECT_UNLOAD), 0);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(lone_count(&lone, EFFECT_UNLOAD), 2);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 4);
    lone_close(&lone);
}

/* The first worker runs a function; A stays for the task behind it, and C has to wait. */
static void what_a_task_that_has_left_needed_leaves(void **state)
{
    (void)state;
    open_shared(2);
    request_at(0, FLOW_A);
    lone_settle(&lone);
    request_at(0, FLOW_F);
    lone_plan(0, 0, 0, 0);
    const struct job_id next = lone_request(&lone, FLOW_A);
    request_at(1, FLOW_C);
    assert_false(lone_is_asked(&lone, EFFECT_UNLOAD));
    lone_cancel(&lone, next);
    assert_int_equal(lone_count(&lone, EFFECT_UNLOAD), 2);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 4);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/*
 * The second worker cannot load A, and the job fails for it. That makes room for its other task,
 * which the first worker launches in that very step, before.
 */
static void what_a_step_launches_and_ends_is_not_launched(void **state)
{
    (void)state;
    open_shared(2);
    lone.profile->models[MODEL_F].workspace_bytes_per_item = MB(160);
    request_at(0, FLOW_B); /* It keeps the first worker busy for four attempts. */
    lone_load_done(&lone, WEFT_OK);
    lone_load_done(&lone, WEFT_OK); /* The second follows. */
    lone_plan(1, 0, 0, 0);
    (void)lone_request(&lone, FLOW_PAIR);
    for (uint32_t i = 0; i + 1 < JOB_ATTEMPTS_MAX; i++) {
        lone_load_done(&lone, WEFT_IO);
        while (!lone_is_asked(&lone, EFFECT_LOAD)) {
            assert_true(lone_timer(&lone, TIMER_DISPATCH));
        }
    }
    lone_batch_done(&lone, WEFT_OK);
    assert_false(lone_is_asked(&lone, EFFECT_LAUNCH));
    lone_load_done(&lone, WEFT_IO);
    assert_int_equal(lone_records(&lone, RECORD_STARTED), 1);
    assert_int_equal(lone_records(&lone, RECORD_STOPPED), 1);
    assert_int_equal(lone_count(&lone, EFFECT_LAUNCH), 0);
    assert_int_equal(lone_count(&lone, EFFECT_CANCEL_BATCH), 0);
    assert_int_equal(lone.answers, 2);
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/* Tasks of the first worker come after the one that waits at the second, and fit beside it. */
static void what_comes_later_cannot_take_room_for_ever(void **state)
{
    (void)state;
    uint32_t rounds = 0;
    open_shared(2);
    request_at(0, FLOW_WORK);
    lone_settle(&lone);
    request_at(0, FLOW_WORK); /* 60 MB and 40: */
    request_at(1, FLOW_C);    /* no room for 160. */
    while (!lone_is_asked(&lone, EFFECT_UNLOAD) && rounds < 100) {
        request_at(0, FLOW_WORK);
        lone_batch_done(&lone, WEFT_OK);
        rounds++;
    }
    assert_true(rounds < 12);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 3 + rounds);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/* What runs at @worker, as the host knows it. LONE_ASKED_MAX: nothing. */
static uint32_t running_at(uint32_t worker)
{
    for (uint32_t i = 0; i < lone.asked_count; i++) {
        if (lone.asked[i].kind == EFFECT_LAUNCH && lone.asked[i].launch.worker == worker) {
            return i;
        }
    }
    return LONE_ASKED_MAX;
}

/* A runs all the time, so that C has to wait; then it is not wanted any more, or only later. */
static void let_wait_and_cancel(bool is_wanted_later)
{
    uint32_t rounds = 0;
    open_shared(3);
    request_at(0, FLOW_WORK);
    lone_settle(&lone);
    request_at(2, FLOW_A);
    lone_settle(&lone);
    request_at(2, FLOW_A);
    request_at(0, FLOW_WORK);
    lone_plan(1, 1, 1, 1);
    const struct job_id waiting = lone_request(&lone, FLOW_C);
    while (running_at(0) != LONE_ASKED_MAX && rounds < 100) {
        request_at(0, FLOW_WORK);
        lone_fulfil(&lone, running_at(0), WEFT_OK);
        rounds++;
    }
    assert_true(rounds < 12);
    assert_false(lone_is_asked(&lone, EFFECT_UNLOAD));
    if (is_wanted_later) {
        request_at(1, FLOW_C);
    }
    lone_cancel(&lone, waiting);
    assert_true(running_at(0) != LONE_ASKED_MAX);
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void who_had_to_wait_goes_on_when_the_other_needs_nothing(void **state)
{
    (void)state;
    let_wait_and_cancel(/* is_wanted_later */ false);
}

static void who_had_to_wait_goes_on_when_the_other_waits_for_later_ones(void **state)
{
    (void)state;
    let_wait_and_cancel(/* is_wanted_later */ true);
}

/* B is loaded ahead into free memory, but not if another worker waits for that. */
static void what_is_loaded_ahead_leaves_room_that_is_waited_for(void **state)
{
    (void)state;
    for (uint32_t is_owed = 0; is_owed < 2; is_owed++) {
        open_shared(2);
        request_at(0, FLOW_A);
        lone_settle(&lone);
        request_at(0, FLOW_A); /* It runs, so that C, with 160 MB, has to wait. */
        if (is_owed != 0) {
            request_at(1, FLOW_C);
        }
        request_at(0, FLOW_A);
        request_at(0, FLOW_B);
        assert_int_equal(lone_is_asked(&lone, EFFECT_LOAD), is_owed == 0);
        lone_settle(&lone);
        assert_int_equal(lone.answers, 4 + is_owed);
        lone_close(&lone);
    }
}

/* A or B leaves for one batch of 80 MB, with 60 free; that is enough for the next, so far. */
static void what_leaves_already_is_counted(void **state)
{
    (void)state;
    open_shared(2);
    lone.profile->models[MODEL_WORK].workspace_bytes_per_item = MB(80);
    request_at(0, FLOW_A);
    lone_settle(&lone);
    request_at(0, FLOW_WORK);
    lone_settle(&lone);
    request_at(0, FLOW_B);
    lone_settle(&lone);
    assert_int_equal(used(), MB(140));
    request_at(0, FLOW_WORK);
    assert_int_equal(lone_count(&lone, EFFECT_UNLOAD), 2);
    request_at(1, FLOW_WORK);
    uint32_t unloads = 0;
    for (uint32_t i = 0; i < lone.asked_count; i++) {
        unloads += lone.asked[i].kind == EFFECT_UNLOAD ? 1 : 0;
    }
    assert_int_equal(unloads, 2);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 5);
    lone_close(&lone);
}

/* The first worker runs a function, so that its task has to wait, with the model that it needs. */
static void a_copy_stays_that_is_needed_before(void **state)
{
    (void)state;
    open_shared(2);
    lone.own_bytes = MB(60);
    lone.profile->models[MODEL_WORK].workspace_bytes_per_item = MB(80);
    request_at(0, FLOW_WORK);
    lone_settle(&lone);
    request_at(1, FLOW_WORK);
    lone_settle(&lone);
    assert_true(has(0, MODEL_WORK) && has(1, MODEL_WORK));
    lone.profile->models[MODEL_WORK].workspace_bytes_per_item = MB(100);
    request_at(0, FLOW_F);
    request_at(0, FLOW_WORK);
    request_at(1, FLOW_WORK);
    assert_false(lone_is_asked(&lone, EFFECT_UNLOAD));
    lone_settle(&lone);
    assert_int_equal(lone.answers, 5);
    lone_close(&lone);
}

static void a_copy_leaves_where_that_makes_room_for_a_batch(void **state)
{
    (void)state;
    open_shared(2);
    lone.own_bytes = MB(60);
    lone.profile->models[MODEL_WORK].workspace_bytes_per_item = MB(100);
    request_at(0, FLOW_WORK);
    lone_load_done(&lone, WEFT_OK); /* 60 MB: another 60, and 100 to run, are too many. */
    lone_settle(&lone);
    assert_int_equal(lone.answers, 1);
    request_at(1, FLOW_WORK);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 2);
    assert_true(used() <= MB(200));
    lone_close(&lone);
}

/* How many uses of any model lie between two of @model, on average. */
static double gap(enum lone_model model)
{
    return (double)lone.node->workers[0].bank->models[model].gap / 1024;
}

/* A twice, then B. */
static void use_in_turn(uint32_t times)
{
    static const enum lone_workflow flows[] = {FLOW_A, FLOW_A, FLOW_B};
    for (uint32_t i = 0; i < times; i++) {
        request_at(i % 2, flows[i % 3]);
        lone_settle(&lone);
    }
}

static void how_often_models_are_used_is_counted_in_uses(void **state)
{
    (void)state;
    open_shared(2);
    use_in_turn(300);
    assert_true(gap(MODEL_A) > 1.4 && gap(MODEL_A) < 1.6);
    assert_true(gap(MODEL_B) > 2.9 && gap(MODEL_B) < 3.1);
    lone.now_ns += MS(3600000); /* Nothing is asked for in the night. */
    use_in_turn(3);
    assert_true(gap(MODEL_A) > 1.4 && gap(MODEL_A) < 1.6);
    assert_true(gap(MODEL_B) > 2.9 && gap(MODEL_B) < 3.1);
    for (uint32_t i = 0; i < 30; i++) { /* B alone, from now on: it counts before 64 uses. */
        request_at(0, FLOW_B);
        lone_settle(&lone);
    }
    assert_true(gap(MODEL_B) < 1.5);
    request_at(0, FLOW_A); /* A pause counts as a few uses. */
    lone_settle(&lone);
    assert_true(gap(MODEL_A) < 1.9);
    lone_close(&lone);
}

static void an_older_version_is_gone_before_the_next_comes(void **state)
{
    (void)state;
    open_shared(2);
    request_at(0, FLOW_A);
    lone_settle(&lone);
    request_at(1, FLOW_A); /* It runs with the older one. */
    lone_repository(&lone, MODEL_A, true);
    assert_int_equal(lone_count(&lone, EFFECT_UNLOAD), 1); /* Of the first worker. */
    request_at(0, FLOW_A);
    lone_unload_done(&lone);
    assert_false(lone_is_asked(&lone, EFFECT_LOAD));
    assert_false(model_set_has(&row(0)->loading, MODEL_A)); /* Planners must not count on it. */
    lone_batch_done(&lone, WEFT_OK);
    lone_unload_done(&lone);
    assert_int_equal(lone_find(&lone, EFFECT_LOAD)->load.worker, 0);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 3);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_takes_its_room_once),
        cmocka_unit_test(what_a_worker_keeps_for_itself_counts_for_each),
        cmocka_unit_test(what_was_measured_counts_for_all),
        cmocka_unit_test(a_worker_follows_into_the_room_that_is_taken),
        cmocka_unit_test(others_wait_for_the_load_that_is_under_way),
        cmocka_unit_test(a_load_that_fails_is_tried_by_the_next),
        cmocka_unit_test(only_a_few_follow_at_once),
        cmocka_unit_test(a_model_leaves_all_workers_together),
        cmocka_unit_test(what_a_batch_of_another_worker_uses_stays),
        cmocka_unit_test(what_another_worker_needs_first_stays),
        cmocka_unit_test(what_a_task_that_has_left_needed_leaves),
        cmocka_unit_test(what_a_step_launches_and_ends_is_not_launched),
        cmocka_unit_test(what_comes_later_cannot_take_room_for_ever),
        cmocka_unit_test(who_had_to_wait_goes_on_when_the_other_needs_nothing),
        cmocka_unit_test(who_had_to_wait_goes_on_when_the_other_waits_for_later_ones),
        cmocka_unit_test(what_is_loaded_ahead_leaves_room_that_is_waited_for),
        cmocka_unit_test(what_leaves_already_is_counted),
        cmocka_unit_test(a_copy_stays_that_is_needed_before),
        cmocka_unit_test(a_copy_leaves_where_that_makes_room_for_a_batch),
        cmocka_unit_test(how_often_models_are_used_is_counted_in_uses),
        cmocka_unit_test(an_older_version_is_gone_before_the_next_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
