/*
 * Home queues, played as short scripts whose whole trace is the expectation.
 *
 * Covers: src/node/home.c
 * Covers: src/node/tickets.c
 * Covers: src/node/claims.c
 * Covers: src/node/grants.c
 * Covers: src/node/offers.c
 * Covers: src/node/batches.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stage.h"

/* What the policy of a script does. */
static struct {
    uint32_t workers[4]; /* By task: where it goes; WORKER_NONE: where its inputs are. */
    uint32_t gpu;        /* Units of each batch; 0: the whole device. */
    uint32_t batch;      /* Of second tasks: it waits until so many do, */
    int64_t patience_ns; /* but no longer than this. */
    uint32_t ended;      /* Batches of which it was told, */
    uint32_t completed;  /* and how many of them ended well. */
    int64_t ran_ns;      /* What batches took on workers of the node that was told of them. */
    bool unplanned;      /* First tasks run otherwise than it had planned, */
    bool silent;         /* and second ones it never places. */
    bool waits;          /* For a worker that is full, instead of asking it. */
    uint32_t rechecks;   /* That it was told of last. */
} script;

static void dispatch_by_script(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    const int64_t wake_at_ns = queue->head_ready_ns + script.patience_ns;
    assert_int_equal(queue->items, queue->waiting); /* Each task of a script has one item. */
    const uint32_t batch = queue->task == 0 ? 1 : script.batch;
    uint32_t worker = script.workers[queue->task];
    if (worker == WORKER_NONE || !view_is_usable(input->view, worker)) {
        worker = queue->holder;
    }
    if (queue->waiting < batch && input->view->now_ns < wake_at_ns) {
        answer_out->wake_at_ns = wake_at_ns;
        return;
    }
    script.rechecks = queue->rechecks;
    if (script.waits && view_free_at_ns(input->view, worker) > input->view->now_ns) {
        answer_out->waits_for = worker;
        return;
    }
    answer_out->count = script.silent && queue->task == 1 ? 0 : 1;
    answer_out->unplanned = script.unplanned && queue->task == 0;
    answer_out->configs[0] = (struct config){.batch = batch, .gpu = script.gpu};
    answer_out->workers[0] = worker;
}

/* What comes later runs first. */
static int64_t newest_first(const struct policy_input *input, const struct ready_facts *task)
{
    (void)input;
    return -task->job->arrived_ns;
}

static void note_ended(const struct policy_input *input, const struct ended_facts *batch)
{
    (void)input;
    script.ended++;
    script.completed += batch->completed ? 1 : 0;
}

static void note_ran(const struct policy_input *input, const struct ended_facts *batch)
{
    assert_true(view_is_own(input->view, batch->worker));
    script.ran_ns += batch->run_ns;
}

static const struct policy binding = {
    .name = "binding",
    .binds = true,
    .dispatch = dispatch_by_script,
    .ended = note_ended,
    .ran = note_ran,
};

static const struct policy reversing = {
    .name = "reversing", .binds = true, .order = newest_first, .dispatch = dispatch_by_script};

static void write_script(uint32_t first, uint32_t second, uint32_t batch, int64_t patience_ns)
{
    script.workers[0] = first;
    script.workers[1] = second;
    script.gpu = 0;
    script.batch = batch;
    script.patience_ns = patience_ns;
    script.ended = 0;
    script.completed = 0;
    script.ran_ns = 0;
    script.unplanned = false;
    script.silent = false;
    script.waits = false;
}

static void a_chain_stays_where_its_data_is(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 2, MB(200));
    (void)stage_model(&stage, "a", MB(50), MS(10));
    (void)stage_model(&stage, "b", MB(30), MS(5));
    const uint32_t chain = stage_chain(&stage, "chain", "a b");
    stage_start(&stage, "first-fit");
    stage_request(&stage, MS(5), 1, chain);
    stage_request(&stage, MS(6), 1, chain); /* The first holds node 1: this one goes to node 0. */
    stage_expect(&stage, "home-chain");
    stage_close(&stage);
}

static void a_batch_is_gathered_from_two_holders(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 3, MB(200));
    (void)stage_model(&stage, "f", 0, MS(2));
    (void)stage_model(&stage, "a", MB(20), MS(10));
    const uint32_t chain = stage_chain(&stage, "chain", "f a");
    write_script(WORKER_NONE, 2, /* batch */ 2, MS(20));
    stage_start_with(&stage, &binding);
    stage_request(&stage, MS(5), 0, chain);
    stage_request(&stage, MS(5), 1, chain);
    stage_expect(&stage, "home-batch");
    assert_int_equal(script.ended, 3);
    assert_int_equal(script.completed, 3);
    assert_int_equal(script.ran_ns, MS(2) + MS(2) + MS(20));
    stage_close(&stage);
}

static void tickets_wait_in_the_order_of_the_policy(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 1, MB(200));
    (void)stage_model(&stage, "f", 0, MS(8));
    const uint32_t one = stage_chain(&stage, "one", "f");
    write_script(0, 0, /* batch */ 1, 0);
    stage_start_with(&stage, &reversing);
    for (uint32_t i = 0; i < 4; i++) {
        stage_request(&stage, MS(5 + i), 0, one);
    }
    stage_expect(&stage, "home-order");
    stage_close(&stage);
}

/*
 * Two machines, and configs of one or two units for one or four items. Half a device is cheaper; of
 * a burst some wait for company, as long as they will be in time. On the machine that has to load
 * first, the others would be late.
 */
static void esg_takes_the_cheapest_config_that_is_in_time(void **state)
{
    static const struct profile_point points[] = {
        {.items = 1, .gpu = 1, .run_ns = MS(16)},
        {.items = 4, .gpu = 1, .run_ns = MS(40)},
        {.items = 4, .run_ns = MS(24)},
    };
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 2, MB(200));
    const uint32_t model = stage_model(&stage, "a", MB(95), MS(10));
    for (uint32_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        assert_int_equal(profile_add_point(stage.profile, model, 0, &points[i]), WEFT_OK);
    }
    const uint32_t chain = stage_chain(&stage, "chain", "a");
    stage.catalogue->workflows[chain]->slo_ns = MS(100);
    for (uint32_t i = 0; i < 2; i++) {
        stage.fleet->workers[i].gpu_units = 2;
    }
    stage_start(&stage, "esg:prewarm=0");
    stage_request(&stage, 0, 0, chain);
    for (uint32_t i = 0; i < 9; i++) {
        stage_request(&stage, MS(200 + i), i % 2, chain);
    }
    stage_expect(&stage, "home-esg");
    stage_close(&stage);
}

/* No task starves: after ten seconds a task runs alone on the first device that is all free. */
static void what_no_policy_places_runs_alone_after_a_while(void **state)
{
    (void)state;
    struct stage stage;
    struct report report;
    stage_open(&stage, /* node_count */ 2, MB(200));
    (void)stage_model(&stage, "f", 0, MS(2));
    (void)stage_model(&stage, "a", 0, MS(10));
    const uint32_t chain = stage_chain(&stage, "chain", "f a");
    write_script(1, WORKER_NONE, /* batch */ 2, /* patience_ns */ 0);
    script.silent = true;
    script.unplanned = true;
    stage_start_with(&stage, &binding);
    stage_request(&stage, MS(5), 1, chain);
    stage_request(&stage, MS(20), 1, chain);
    stage_expect(&stage, "home-starved");
    sim_report(stage.sim, &report);
    assert_int_equal(report.completed, 2);
    assert_int_equal(report.plan_misses, 2); /* Both first tasks, and no starved one. */
    assert_true(script.rechecks > 1);        /* What starved was none of its answers. */
    stage_close(&stage);
}

static void a_claim_by_a_row_that_is_out_of_date_is_declined(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 3, MB(200));
    (void)stage_model(&stage, "f", 0, MS(8));
    (void)stage_model(&stage, "g", 0, MS(8));
    const uint32_t one = stage_chain(&stage, "one", "f g");
    const uint32_t two = stage_chain(&stage, "two", "g f");
    write_script(2, 2, /* batch */ 1, 0);
    stage_start_with(&stage, &binding);
    stage_request(&stage, MS(5), 0, one);
    stage_request(&stage, MS(5), 1, two); /* Another home, the same worker. */
    stage_expect(&stage, "home-declined");
    assert_true(script.ended > script.completed);
    assert_int_equal(script.completed, 4);
    stage_close(&stage);
}

/* By its pauses alone the second home would look at 24 and 40 ms. */
static void what_waits_for_a_worker_looks_when_it_is_free(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 3, MB(200));
    (void)stage_model(&stage, "f", 0, MS(20));
    (void)stage_model(&stage, "g", 0, MS(20));
    const uint32_t one = stage_chain(&stage, "one", "f");
    const uint32_t two = stage_chain(&stage, "two", "g");
    write_script(2, 2, /* batch */ 1, 0);
    script.waits = true;
    stage_start_with(&stage, &binding);
    stage_request(&stage, MS(5), 0, one);
    stage_request(&stage, MS(8), 1, two);
    stage_expect(&stage, "home-waits");
    stage_close(&stage);
}

/* f on the holder's node, then g, whose megabyte takes 100 ms to the worker that claims it. */
static uint32_t open_slow(struct stage *stage)
{
    stage_open(stage, /* node_count */ 3, MB(200));
    stage->fleet->network.link_bytes_per_s = MB(10);
    (void)stage_model(stage, "f", 0, MS(2));
    (void)stage_model(stage, "g", MB(20), MS(10));
    return stage_chain(stage, "chain", "f g");
}

static void tickets_of_a_lost_home_are_offered_again(void **state)
{
    (void)state;
    struct stage stage;
    const uint32_t chain = open_slow(&stage);
    write_script(0, 0, /* batch */ 2, MS(5000)); /* The only ticket waits for company. */
    stage.faults[0] = (struct fault){.kind = FAULT_CRASH, .at_ns = MS(50), .victim = 1};
    stage.options.fault_count = 1;
    stage_start_with(&stage, &binding);
    stage_request(&stage, MS(5), 0, chain);
    stage_expect(&stage, "home-lost");
    stage_close(&stage);
}

/* The ticket of a lost owner is no company for that of another job. */
static void tickets_of_a_lost_holder_are_forgotten(void **state)
{
    (void)state;
    struct stage stage;
    const uint32_t chain = open_slow(&stage);
    write_script(WORKER_NONE, 0, /* batch */ 2, MS(5000));
    stage.faults[0] = (struct fault){.kind = FAULT_CRASH, .at_ns = MS(50), .victim = 2};
    stage.options.fault_count = 1;
    stage_start_with(&stage, &binding);
    stage_request(&stage, MS(5), 2, chain);
    stage_request(&stage, MS(2000), 0, chain);
    stage_expect(&stage, "home-holder-lost");
    stage_close(&stage);
}

/* The last node drains, and has lost its device: no worker is left that could run what waits. */
static void what_no_worker_can_run_any_more_is_turned_away(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 1, MB(200));
    (void)stage_model(&stage, "f", 0, MS(2));
    (void)stage_model(&stage, "g", 0, MS(10));
    const uint32_t chain = stage_chain(&stage, "chain", "f g");
    write_script(0, 0, /* batch */ 3, MS(500)); /* Two tickets wait for a third. */
    stage.faults[0] = (struct fault){.kind = FAULT_DRAIN, .at_ns = MS(50), .victim = 0};
    stage.faults[1] = (struct fault){.kind = FAULT_LOSE_DEVICE, .at_ns = MS(100), .victim = 0};
    stage.options.fault_count = 2;
    stage_start_with(&stage, &binding);
    stage_request(&stage, MS(5), 0, chain);
    stage_request(&stage, MS(6), 0, chain);
    stage_expect(&stage, "home-turned-away");
    stage_close(&stage);
}

static void a_worker_lost_while_it_gathers_is_replaced(void **state)
{
    (void)state;
    struct stage stage;
    const uint32_t chain = open_slow(&stage);
    write_script(WORKER_NONE, 2, /* batch */ 1, 0);
    stage.faults[0] = (struct fault){.kind = FAULT_CRASH, .at_ns = MS(50), .victim = 2};
    stage.options.fault_count = 1;
    stage_start_with(&stage, &binding);
    stage_request(&stage, MS(5), 0, chain);
    stage_expect(&stage, "home-worker-lost");
    stage_close(&stage);
}

static void a_cancel_while_it_gathers_gives_the_units_back(void **state)
{
    (void)state;
    struct stage stage;
    const uint32_t chain = open_slow(&stage);
    write_script(WORKER_NONE, 2, /* batch */ 2, MS(10));
    stage_start_with(&stage, &binding);
    stage_request(&stage, MS(5), 0, chain);
    stage_request(&stage, MS(5), 1, chain);
    sim_cancel(stage.sim, MS(60), /* nth */ 0);
    sim_cancel(stage.sim, MS(70), /* nth */ 1);
    stage_expect(&stage, "home-cancel");
    stage_close(&stage);
}

static void instances_are_made_where_they_may_be(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 1, MB(200));
    stage.fleet->workers[0].gpu_units = 7;
    stage.fleet->workers[0].sharing = SHARES_MIG;
    stage.fleet->workers[0].reshape_ns = MS(5);
    (void)stage_model(&stage, "f", 0, MS(10));
    const uint32_t one = stage_chain(&stage, "one", "f");
    write_script(0, 0, /* batch */ 1, 0);
    script.gpu = 3;
    stage_start_with(&stage, &binding);
    stage_request(&stage, MS(5), 0, one);
    stage_request(&stage, MS(6), 0, one);
    stage_request(&stage, MS(7), 0, one); /* A unit is left, but none of three. */
    stage_expect(&stage, "home-mig");
    stage_close(&stage);
}

/* Node 0 wants a on the other machine at its first tick; that one drops it at its third. */
static void warm_and_cool(const struct policy_input *input, struct tick_answer *answer_out)
{
    const bool is_first = input->view->now_ns == MS(60);
    const bool is_third = input->view->now_ns == MS(180);
    if (input->view->node == 0 && is_first) {
        answer_out->warms[0] = (struct warm){.worker = 1, .model = 0};
        answer_out->warm_count = 1;
    }
    if (input->view->node == 1 && is_third) {
        answer_out->cools[0] = (struct warm){.worker = 1, .model = 0};
        answer_out->cool_count = 1;
    }
}

static const struct policy warming = {
    .name = "warming", .tick_ns = INT64_C(60000000), .tick = warm_and_cool};

static void models_come_and_go_as_the_policy_expects_to_need_them(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 2, MB(60));
    (void)stage_model(&stage, "a", MB(30), MS(10));
    (void)stage_model(&stage, "b", MB(40), MS(10));
    const uint32_t chain = stage_chain(&stage, "chain", "b");
    (void)stage_chain(&stage, "other", "a");
    stage_start_with(&stage, &warming);
    stage_request(&stage, MS(1), 1, chain);   /* Its model makes room for the other, */
    stage_request(&stage, MS(200), 1, chain); /* and comes back. */
    stage_expect(&stage, "warm");
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_stays_where_its_data_is),
        cmocka_unit_test(a_batch_is_gathered_from_two_holders),
        cmocka_unit_test(tickets_wait_in_the_order_of_the_policy),
        cmocka_unit_test(esg_takes_the_cheapest_config_that_is_in_time),
        cmocka_unit_test(what_no_policy_places_runs_alone_after_a_while),
        cmocka_unit_test(a_claim_by_a_row_that_is_out_of_date_is_declined),
        cmocka_unit_test(what_waits_for_a_worker_looks_when_it_is_free),
        cmocka_unit_test(tickets_of_a_lost_home_are_offered_again),
        cmocka_unit_test(tickets_of_a_lost_holder_are_forgotten),
        cmocka_unit_test(what_no_worker_can_run_any_more_is_turned_away),
        cmocka_unit_test(a_worker_lost_while_it_gathers_is_replaced),
        cmocka_unit_test(a_cancel_while_it_gathers_gives_the_units_back),
        cmocka_unit_test(instances_are_made_where_they_may_be),
        cmocka_unit_test(models_come_and_go_as_the_policy_expects_to_need_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
