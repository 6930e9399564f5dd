/*
 * That the checks of a simulation can fail: each stops the program when what it watches is wrong.
 *
 * Covers: src/sim/checkers.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/inside.h"
#include "stage.h"
#include "unit/dies.h"

/* One machine that holds a model of 50 MB and runs a batch with it. */
static void open_running(struct stage *stage)
{
    stage_open(stage, /* node_count */ 1, MB(200));
    (void)stage_model(stage, "a", MB(50), MS(1000));
    const uint32_t chain = stage_chain(stage, "chain", "a");
    stage_start(stage, "least-work");
    stage_request(stage, 0, 0, chain);
    while (stage->sim->workers[0].gpu_used == 0) {
        assert_true(sim_run_some(stage->sim, /* events */ 1));
    }
    assert_int_equal(stage->sim->workers[0].memory_bytes, MB(50));
}

static void check_step(void *argument)
{
    checkers_step(argument, /* node */ 0);
}

static void the_books_of_a_node_hold_what_its_device_holds(void **state)
{
    (void)state;
    struct stage stage;
    open_running(&stage);
    struct sim_worker *worker = &stage.sim->workers[0];
    assert_false(dies(check_step, stage.sim));
    worker->memory_bytes++; /* More than the node knows of. */
    assert_true(dies(check_step, stage.sim));
    worker->memory_bytes -= 2; /* A node may know of more, which is about to come. */
    assert_false(dies(check_step, stage.sim));
    worker->memory_bytes++;
    worker->gpu_used++;
    assert_true(dies(check_step, stage.sim));
    worker->gpu_used--;
    stage.fleet->workers[0].memory_bytes = MB(50) - 1; /* Less than the node believes. */
    assert_true(dies(check_step, stage.sim));
    stage.fleet->workers[0].memory_bytes = MB(200);
    stage.sim->answered += 2; /* More than were asked for. */
    assert_true(dies(check_step, stage.sim));
    stage.sim->answered -= 2;
    assert_false(dies(check_step, stage.sim));
    sim_run(stage.sim);
    stage_close(&stage);
}

static void check_end(void *argument)
{
    checkers_end(argument);
}

static void what_is_left_at_the_end_is_found(void **state)
{
    (void)state;
    struct stage stage;
    open_running(&stage);
    assert_true(dies(check_end, stage.sim)); /* A client still waits. */
    sim_run(stage.sim);
    assert_false(dies(check_end, stage.sim));
    stage.sim->nodes[0].handles++;
    assert_true(dies(check_end, stage.sim));
    stage.sim->nodes[0].handles--;
    stage.sim->nodes[0].timers++;
    assert_true(dies(check_end, stage.sim));
    stage.sim->nodes[0].timers--;
    stage.sim->workers[0].memory_bytes--; /* Idle, both books must be equal. */
    assert_true(dies(check_end, stage.sim));
    stage.sim->workers[0].memory_bytes++;
    assert_false(dies(check_end, stage.sim));
    stage_close(&stage);
}

/* Whether a job may be found by waiting if the @count @faults are all that breaks. */
static bool may_be_silent(const struct fault *faults, uint32_t count)
{
    const struct sim_options options = {.faults = faults, .fault_count = count};
    return sim_may_be_silent(&options);
}

static void a_job_is_found_by_waiting_only_where_news_is_lost_or_too_late(void **state)
{
    (void)state;
    struct fault faults[] = {
        {.kind = FAULT_NO_DIRECTORY, .for_ns = MS(4999)},
        {.kind = FAULT_NO_DIRECTORY, .for_ns = MS(5000)},
        {.kind = FAULT_CRASH, .for_ns = MS(20000)},
    };
    assert_false(may_be_silent(faults, 3));
    faults[0].for_ns = MS(5000); /* Together as long as nodes wait to hear of a life. */
    assert_true(may_be_silent(faults, 3));
    faults[0].kind = FAULT_LOSS;
    assert_true(may_be_silent(faults, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_books_of_a_node_hold_what_its_device_holds),
        cmocka_unit_test(what_is_left_at_the_end_is_found),
        cmocka_unit_test(a_job_is_found_by_waiting_only_where_news_is_lost_or_too_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
