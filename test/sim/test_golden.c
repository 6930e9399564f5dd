/*
 * Behaviour over time, with the whole trace as the expectation.
 *
 * Each case is a script of a few lines; what the cluster does about it stands in
 * test/sim/golden/<case>.txt, one record a line. A change in behaviour shows as a diff
 * of those files; CONTRIBUTING.md says how to read and accept one.
 *
 * Covers: src/sim/sim.c src/sim/device.c src/sim/network.c src/sim/nodes.c src/sim/perform.c
 * src/sim/faults.c src/sim/checkers.c src/node/jobs.c src/node/placing.c
 * src/node/visits.c src/node/routing.c src/node/dispatch.c src/node/model_cache.c
 * src/node/rows.c src/node/members.c src/node/steal.c src/node/end.c
 * src/node/keep_alive.c src/sim/network_carried.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mixture/mixture.h"
#include "stage.h"

/* A policy that does what the case says. */
static uint16_t hand_plan[8];
static uint32_t hand_thief;

static void place_by_hand(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out)
{
    for (uint32_t i = 0; i < job->graph->task_count; i++) {
        if (view_is_usable(input->view, hand_plan[i])) {
            placement_out[i] = hand_plan[i];
        } else { /* The next machine that is there. */
            placement_out[i] = (uint16_t)((hand_plan[i] + 1u) % input->view->fleet->worker_count);
        }
    }
}

/* What was planned for worker 2 goes to worker 3 once worker 1 is gone. */
static uint32_t move_by_hand(const struct policy_input *input, const struct task_facts *task)
{
    if (task->planned == 2 && !view_is_usable(input->view, 1)) {
        return 3;
    }
    return task->planned;
}

/* A join that was planned for worker 2, and has been gathered there, goes to worker 3. */
static uint32_t forward_by_hand(const struct policy_input *input, const struct task_facts *task)
{
    (void)input;
    return task->gathered ? 3 : task->planned;
}

/* The fork on worker 4, or on 1 once that is gone; nothing says where the join meets. */
static void place_loosely(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out)
{
    (void)job;
    placement_out[0] = view_is_usable(input->view, 4) ? 4 : 1;
    placement_out[1] = 2;
    placement_out[2] = 3;
    placement_out[3] = PLACEMENT_UNBOUND;
}

static uint32_t steal_by_hand(const struct policy_input *input, uint32_t worker)
{
    (void)input;
    return worker == hand_thief ? 0 : WORKER_NONE;
}

static struct admission refuse_all(const struct policy_input *input, const struct job_facts *job)
{
    (void)input;
    (void)job;
    return (struct admission){.admitted = false, .retry_after_ns = MS(250)};
}

/* Four items together, or what is there after 5 ms. */
static void batch_of_four(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    const int64_t wake_at_ns = queue->head_ready_ns + MS(5);
    if (queue->items < 4 && input->view->now_ns < wake_at_ns) {
        *answer_out = (struct dispatch_answer){.wake_at_ns = wake_at_ns};
        return;
    }
    *answer_out = (struct dispatch_answer){.count = 1, .configs = {{.batch = 4}}};
}

static void half_a_device(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    (void)input;
    (void)queue;
    *answer_out = (struct dispatch_answer){.count = 1, .configs = {{.batch = 1, .gpu = 1}}};
}

static const struct policy by_hand = {.name = "by-hand", .place_job = place_by_hand};
static const struct policy moving = {
    .name = "moving", .place_job = place_by_hand, .place_task = move_by_hand};
static const struct policy loose = {.name = "loose", .place_job = place_loosely};
static const struct policy refusing = {.name = "refusing", .admit = refuse_all};
static const struct policy batching = {.name = "batching", .dispatch = batch_of_four};
static const struct policy sharing = {.name = "sharing", .dispatch = half_a_device};
static const struct policy stealing = {
    .name = "stealing", .place_job = place_by_hand, .steal = steal_by_hand};

static void plan(uint16_t a, uint16_t b, uint16_t c, uint16_t d)
{
    hand_plan[0] = a;
    hand_plan[1] = b;
    hand_plan[2] = c;
    hand_plan[3] = d;
}

static void a_cold_start_loads_each_model_once(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 1, MB(200));
    (void)stage_model(&stage, "a", MB(50), MS(10));
    (void)stage_model(&stage, "b", MB(30), MS(5));
    const uint32_t chain = stage_chain(&stage, "chain", "a b");
    stage_start(&stage, "least-work");
    stage_request(&stage, 0, 0, chain);
    stage_request(&stage, MS(200), 0, chain);
    stage_expect(&stage, "cold-start");
    stage_close(&stage);
}

static void open_diamond(struct stage *stage)
{
    static const char *const models[4] = {"f", "a", "b", "g"};
    stage_open(stage, /* node_count */ 3, MB(200));
    (void)stage_model(stage, "f", 0, MS(2));
    (void)stage_model(stage, "a", MB(20), MS(8));
    (void)stage_model(stage, "b", MB(40), MS(10));
    (void)stage_model(stage, "g", 0, MS(2));
    (void)stage_diamond(stage, "diamond", models);
}

static void a_join_waits_for_both_branches_where_it_was_planned(void **state)
{
    (void)state;
    struct stage stage;
    open_diamond(&stage);
    plan(0, 1, 2, 0);
    stage_start_with(&stage, &by_hand);
    stage_request(&stage, 0, 0, 0);
    stage_expect(&stage, "join");
    stage_close(&stage);
}

static void an_unbound_join_meets_at_its_dominator_and_is_forwarded_once(void **state)
{
    (void)state;
    struct stage stage;
    open_diamond(&stage);
    stage_start(&stage, "least-work");
    stage_request(&stage, 0, 0, 0);
    stage_request(&stage, MS(1), 0, 0);
    stage_expect(&stage, "join-forwarded");
    stage_close(&stage);
}

static void a_model_leaves_when_another_needs_its_room(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 1, MB(100));
    (void)stage_model(&stage, "a", MB(60), MS(10));
    (void)stage_model(&stage, "b", MB(60), MS(10));
    const uint32_t first = stage_chain(&stage, "first", "a");
    const uint32_t second = stage_chain(&stage, "second", "b");
    stage_start(&stage, "cache=lru");
    stage_request(&stage, 0, 0, first);
    stage_request(&stage, MS(1), 0, second);
    stage_request(&stage, MS(200), 0, first);
    stage_expect(&stage, "eviction");
    stage_close(&stage);
}

/*
 * The queue of a, which is resident, waits for company. Four tasks of b could start before it,
 * but only in the room of a: they wait, because a is needed first.
 */
static void a_model_that_an_earlier_queue_needs_stays(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 1, MB(100));
    (void)stage_model(&stage, "a", MB(60), MS(10));
    const uint32_t model = stage_model(&stage, "b", MB(20), MS(10));
    stage.profile->models[model].workspace_bytes_per_item = MB(10);
    const uint32_t first = stage_chain(&stage, "first", "a");
    const uint32_t second = stage_chain(&stage, "second", "b");
    stage_start_with(&stage, &batching);
    stage_request(&stage, 0, 0, second); /* One has room beside a, */
    stage_request(&stage, MS(100), 0, first);
    stage_request(&stage, MS(200), 0, first);
    for (uint32_t i = 0; i < 4; i++) {
        stage_request(&stage, MS(201), 0, second); /* four have not. */
    }
    stage_expect(&stage, "eviction-earlier");
    stage_close(&stage);
}

static void a_later_model_is_loaded_ahead_only_into_free_room(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 1, MB(100));
    (void)stage_model(&stage, "a", MB(30), MS(200));
    (void)stage_model(&stage, "b", MB(30), MS(20));
    (void)stage_model(&stage, "c", MB(30), MS(20));
    (void)stage_model(&stage, "d", MB(30), MS(20));
    const uint32_t a = stage_chain(&stage, "wa", "a");
    const uint32_t b = stage_chain(&stage, "wb", "b");
    const uint32_t c = stage_chain(&stage, "wc", "c");
    const uint32_t d = stage_chain(&stage, "wd", "d");
    stage_start(&stage, "least-work");
    stage_request(&stage, 0, 0, a);
    stage_request(&stage, MS(1), 0, b);
    stage_request(&stage, MS(2), 0, c);
    stage_request(&stage, MS(3), 0, d);
    stage_expect(&stage, "prefetch");
    stage_close(&stage);
}

static void a_reservation_is_acknowledged_by_the_row_that_counts_it(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 2, MB(200));
    (void)stage_model(&stage, "a", 0, MS(30));
    (void)stage_model(&stage, "b", 0, MS(5));
    const uint32_t chain = stage_chain(&stage, "chain", "a b");
    plan(0, 1, 0, 0);
    stage_start_with(&stage, &by_hand);
    stage_request(&stage, MS(15), 0, chain);
    stage_expect(&stage, "reservation");
    stage_close(&stage);
}

static void a_hop_is_adjusted_when_its_worker_is_busy(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 2, MB(200));
    (void)stage_model(&stage, "a", 0, MS(20));
    (void)stage_model(&stage, "b", MB(10), MS(20));
    (void)stage_model(&stage, "long", 0, MS(300));
    const uint32_t chain = stage_chain(&stage, "chain", "a b");
    const uint32_t busy = stage_chain(&stage, "busy", "long");
    stage_start(&stage, "jit");
    for (uint32_t i = 0; i < 3; i++) {
        stage_request(&stage, MS(20 + 10 * i), 0, busy);
        stage_request(&stage, MS(25 + 10 * i), 1, chain);
    }
    stage_expect(&stage, "adjusted-hop");
    stage_close(&stage);
}

/* One job on a diamond over three machines; node @node crashes at @at_ns. */
static void lose(int64_t at_ns, uint32_t node, const char *name)
{
    struct stage stage;
    open_diamond(&stage);
    stage.faults[0] = (struct fault){.at_ns = at_ns, .kind = FAULT_CRASH, .victim = node};
    stage.options.fault_count = 1;
    plan(0, 1, 2, 1);
    stage_start_with(&stage, &by_hand);
    stage_request(&stage, 0, 0, 0);
    stage_expect(&stage, name);
    stage_close(&stage);
}

static void a_planned_task_is_placed_anew_when_its_worker_is_lost(void **state)
{
    (void)state;
    lose(MS(1.5), 2, "loss-planned");
}

static void a_task_that_waits_for_its_model_is_run_elsewhere(void **state)
{
    (void)state;
    lose(MS(20), 2, "loss-loading");
}

static void a_running_task_is_run_again(void **state)
{
    (void)state;
    lose(MS(46), 2, "loss-running");
}

static void a_join_that_gathers_is_gathered_again(void **state)
{
    (void)state;
    lose(MS(40), 1, "loss-gathering");
}

/*
 * The left branch is lost, and the right one, which still runs where it is, is run again
 * elsewhere. The older of its two runs brings the answer; the other one is to stop at once,
 * and not to be found by an audit.
 */
static void what_a_job_that_ran_again_left_behind_is_stopped_by_its_answer(void **state)
{
    static const char *const models[4] = {"f", "a", "b", "g"};
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 5, MB(200));
    (void)stage_model(&stage, "f", 0, MS(2));
    (void)stage_model(&stage, "a", 0, MS(100));
    (void)stage_model(&stage, "b", 0, MS(3000));
    (void)stage_model(&stage, "g", 0, MS(2));
    (void)stage_diamond(&stage, "diamond", models);
    stage.faults[0] = (struct fault){.at_ns = MS(50), .kind = FAULT_CRASH, .victim = 1};
    stage.options.fault_count = 1;
    plan(0, 1, 2, 0);
    stage_start_with(&stage, &moving);
    stage_request(&stage, 0, 0, 0);
    stage_expect(&stage, "loss-left-over");
    stage_close(&stage);
}

/*
 * What the fork has made takes two seconds to the left branch. Meanwhile its machine stands still
 * for so long that it runs again elsewhere, and that is where the join will meet. The older input
 * still comes, while the left branch runs: it must not make that one send its output to the older
 * fork.
 */
static void an_input_of_an_older_attempt_does_not_move_a_join(void **state)
{
    static const char *const models[4] = {"f", "a", "b", "g"};
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 5, MB(200));
    (void)stage_model(&stage, "f", 0, MS(2));
    (void)stage_model(&stage, "a", 0, MS(2000));
    (void)stage_model(&stage, "b", 0, MS(100));
    (void)stage_model(&stage, "g", 0, MS(2));
    (void)stage_diamond(&stage, "diamond", models);
    fleet_set_rates(stage.fleet, /* node */ 4, /* up */ MB(1) / 2, /* down */ 0);
    stage.faults[0] =
        (struct fault){.at_ns = MS(100), .for_ns = MS(1500), .kind = FAULT_STOP, .victim = 4};
    stage.options.fault_count = 1;
    stage_start_with(&stage, &loose);
    stage_request(&stage, 0, 0, 0);
    stage_expect(&stage, "loss-older-input");
    stage_close(&stage);
}

static void a_loss_after_the_answer_changes_nothing(void **state)
{
    (void)state;
    lose(MS(90), 2, "loss-after");
}

static void jobs_of_a_lost_owner_are_dropped_by_the_others(void **state)
{
    (void)state;
    lose(MS(10), 0, "loss-owner");
}

static void a_queued_task_of_a_lost_worker_is_run_elsewhere(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 3, MB(200));
    (void)stage_model(&stage, "a", 0, MS(50));
    const uint32_t chain = stage_chain(&stage, "chain", "a");
    stage.faults[0] = (struct fault){.at_ns = MS(20), .kind = FAULT_CRASH, .victim = 1};
    stage.faults[1] = (struct fault){.at_ns = MS(2000), .kind = FAULT_RESTART, .victim = 1};
    stage.options.fault_count = 2;
    plan(1, 0, 0, 0);
    stage_start_with(&stage, &by_hand);
    stage_request(&stage, 0, 0, chain);
    stage_request(&stage, MS(5), 0, chain);
    stage_request(&stage, MS(2500), 0, chain);
    stage_expect(&stage, "loss-queued");
    stage_close(&stage);
}

static void a_refused_request_leaves_nothing_behind(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 1, MB(200));
    (void)stage_model(&stage, "a", MB(50), MS(10));
    const uint32_t chain = stage_chain(&stage, "chain", "a");
    stage_start_with(&stage, &refusing);
    stage_request(&stage, MS(5), 0, chain);
    stage_expect(&stage, "refusal");
    stage_close(&stage);
}

/* The one request of a chain over two machines is cancelled at @at_ns. */
static void cancel(int64_t at_ns, const char *name)
{
    struct stage stage;
    stage_open(&stage, /* node_count */ 2, MB(200));
    (void)stage_model(&stage, "a", MB(50), MS(20));
    (void)stage_model(&stage, "b", MB(30), MS(20));
    const uint32_t chain = stage_chain(&stage, "chain", "a b");
    plan(0, 1, 0, 0);
    stage_start_with(&stage, &by_hand);
    stage_request(&stage, 0, 0, chain);
    sim_cancel(stage.sim, at_ns, 0);
    stage_expect(&stage, name);
    stage_close(&stage);
}

static void a_cancel_drops_the_load_that_no_other_task_wants(void **state)
{
    (void)state;
    cancel(MS(10), "cancel-loading");
}

static void a_cancel_stops_the_batch_that_runs(void **state)
{
    (void)state;
    cancel(MS(60), "cancel-running");
}

static void a_cancel_finds_its_task_on_another_machine(void **state)
{
    (void)state;
    cancel(MS(90), "cancel-remote");
}

static void a_cancel_after_the_answer_is_ignored(void **state)
{
    (void)state;
    cancel(MS(400), "cancel-late");
}

static void a_draining_node_finishes_and_refuses(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 2, MB(200));
    (void)stage_model(&stage, "a", 0, MS(40));
    const uint32_t chain = stage_chain(&stage, "chain", "a");
    stage.faults[0] = (struct fault){.at_ns = MS(10), .kind = FAULT_DRAIN, .victim = 0};
    stage.options.fault_count = 1;
    stage_start(&stage, "least-work");
    stage_request(&stage, 0, 0, chain);
    stage_request(&stage, MS(20), 0, chain);
    stage_request(&stage, MS(30), 1, chain);
    stage_request(&stage, MS(35), 1, chain);
    stage_expect(&stage, "drain");
    stage_close(&stage);
}

static void a_draining_node_ends_what_runs_for_others_and_hands_on_what_waits(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 3, MB(200));
    (void)stage_model(&stage, "a", 0, MS(40));
    (void)stage_model(&stage, "b", 0, MS(10));
    const uint32_t chain = stage_chain(&stage, "chain", "a b");
    stage.faults[0] = (struct fault){.at_ns = MS(10), .kind = FAULT_DRAIN, .victim = 1};
    stage.faults[1] = (struct fault){.at_ns = MS(60), .kind = FAULT_CRASH, .victim = 1}; /* Gone. */
    stage.options.fault_count = 2;
    stage_start(&stage, "least-work");
    for (uint32_t i = 0; i < 6; i++) {
        stage_request(&stage, MS(i), 0, chain);
    }
    stage_expect(&stage, "drain-hands-on");
    stage_close(&stage);
}

static void tasks_of_one_queue_run_as_a_batch(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 1, MB(200));
    const uint32_t model = stage_model(&stage, "a", 0, MS(10));
    const struct profile_point four = {.items = 4, .run_ns = MS(16)};
    assert_int_equal(profile_add_point(stage.profile, model, 0, &four), WEFT_OK);
    const uint32_t chain = stage_chain(&stage, "chain", "a");
    stage_start_with(&stage, &batching);
    for (uint32_t i = 0; i < 6; i++) {
        stage_request(&stage, MS(i), 0, chain);
    }
    stage_expect(&stage, "batch");
    stage_close(&stage);
}

static void two_batches_share_a_device_once_it_is_shaped(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 1, MB(200));
    const uint32_t model = stage_model(&stage, "a", 0, MS(10));
    const struct profile_point half = {.items = 1, .gpu = 1, .run_ns = MS(15)};
    assert_int_equal(profile_add_point(stage.profile, model, 0, &half), WEFT_OK);
    stage.fleet->workers[0].gpu_units = 2;
    stage.fleet->workers[0].reshape_ns = MS(3);
    const uint32_t chain = stage_chain(&stage, "chain", "a");
    stage_start_with(&stage, &sharing);
    for (uint32_t i = 0; i < 3; i++) {
        stage_request(&stage, MS(i), 0, chain);
    }
    stage_expect(&stage, "shares");
    stage_close(&stage);
}

static void a_model_that_nothing_uses_leaves_after_a_while(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 1, MB(200));
    (void)stage_model(&stage, "a", MB(50), MS(10));
    (void)stage_model(&stage, "b", MB(30), MS(300));
    const uint32_t kept = stage_model(&stage, "p", MB(10), MS(10));
    stage.profile->models[kept].pinned = true;
    stage.fleet->workers[0].keep_alive_ns = MS(100);
    const uint32_t first = stage_chain(&stage, "first", "p a");
    const uint32_t second = stage_chain(&stage, "second", "b");
    stage_start(&stage, "least-work");
    stage_request(&stage, 0, 0, first);
    stage_request(&stage, MS(100), 0, second); /* It runs for longer than it would be kept. */
    stage_request(&stage, MS(120), 0, first);  /* Used again in time. */
    stage_request(&stage, MS(900), 0, first);  /* It has to be loaded again. */
    stage_expect(&stage, "keep-alive");
    stage_close(&stage);
}

static void an_idle_worker_takes_the_task_that_would_run_last(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 2, MB(200));
    (void)stage_model(&stage, "a", 0, MS(40));
    const uint32_t chain = stage_chain(&stage, "chain", "a");
    plan(0, 0, 0, 0);
    hand_thief = 1;
    stage_start_with(&stage, &stealing);
    for (uint32_t i = 0; i < 4; i++) {
        stage_request(&stage, MS(i), 0, chain);
    }
    stage_request(&stage, MS(5), 1, chain);
    stage_expect(&stage, "steal");
    stage_close(&stage);
}

/* A fork and all that follows on the first worker, and what stands alone on the second. */
static void place_apart(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out)
{
    (void)input;
    for (uint32_t i = 0; i < job->graph->task_count; i++) {
        placement_out[i] = job->graph->task_count == 1 ? 1 : 0;
    }
}

/*
 * When the second worker is idle, a branch waits for 30 ms. Its input would be there after 10, and
 * counts twice; but its output, which is as large, would have to come back to the join.
 */
static void a_branch_whose_output_must_return_is_not_taken(void **state)
{
    (void)state;
    static const char *const models[] = {"fork", "left", "right", "join"};
    static const struct policy apart = {
        .name = "apart", .place_job = place_apart, .steal = steal_by_hand};
    struct stage stage;
    stage_open(&stage, /* node_count */ 2, MB(200));
    stage.fleet->network.link_bytes_per_s = MB(100);
    for (uint32_t i = 0; i < 4; i++) {
        (void)stage_model(&stage, models[i], 0, MS(40));
    }
    (void)stage_model(&stage, "a", 0, MS(5));
    const uint32_t diamond = stage_diamond(&stage, "diamond", models);
    const uint32_t chain = stage_chain(&stage, "chain", "a");
    hand_thief = 1;
    stage_start_with(&stage, &apart);
    stage_request(&stage, 0, 0, diamond);
    stage_request(&stage, MS(45), 1, chain);
    stage_expect(&stage, "steal-returns");
    stage_close(&stage);
}

static void a_withdrawn_model_is_unloaded_and_its_workflows_refused(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 1, MB(200));
    const uint32_t model = stage_model(&stage, "a", MB(20), MS(10));
    const uint32_t chain = stage_chain(&stage, "chain", "a");
    stage_start(&stage, "least-work");
    stage_request(&stage, 0, 0, chain);
    stage_request(&stage, MS(1), 0, chain);
    struct event event = {.at_ns = MS(25), .kind = EVENT_REPOSITORY_CHANGED};
    event.repository.model = model;
    sim_event(stage.sim, 0, &event);
    stage_request(&stage, MS(50), 0, chain);
    event.at_ns = MS(60);
    event.repository.available = true;
    sim_event(stage.sim, 0, &event);
    stage_request(&stage, MS(70), 0, chain);
    stage_expect(&stage, "withdrawn");
    stage_close(&stage);
}

static void a_pinned_model_leaves_last(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 1, MB(100));
    const uint32_t pinned = stage_model(&stage, "a", MB(40), MS(10));
    (void)stage_model(&stage, "b", MB(40), MS(10));
    (void)stage_model(&stage, "c", MB(40), MS(10));
    (void)stage_model(&stage, "large", MB(90), MS(10));
    stage.profile->models[pinned].pinned = true;
    const uint32_t a = stage_chain(&stage, "wa", "a");
    const uint32_t b = stage_chain(&stage, "wb", "b");
    const uint32_t c = stage_chain(&stage, "wc", "c");
    const uint32_t large = stage_chain(&stage, "wl", "large");
    stage_start(&stage, "cache=lru");
    stage_request(&stage, 0, 0, a);
    stage_request(&stage, MS(100), 0, b);
    stage_request(&stage, MS(200), 0, c);
    stage_request(&stage, MS(300), 0, large);
    stage_expect(&stage, "pinned");
    stage_close(&stage);
}

/* Two machines; the device of the first fails while it runs and queues work. */
static void a_lost_device_gives_its_work_to_others(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 2, MB(200));
    (void)stage_model(&stage, "a", 0, MS(20));
    const uint32_t chain = stage_chain(&stage, "chain", "a");
    stage.faults[0] = (struct fault){.at_ns = MS(25), .kind = FAULT_LOSE_DEVICE, .victim = 0};
    stage.options.fault_count = 1;
    stage_start(&stage, "fifo");
    for (uint32_t i = 0; i < 4; i++) {
        stage_request(&stage, MS(i), 0, chain);
    }
    stage_request(&stage, MS(60), 0, chain);
    stage_expect(&stage, "device-lost");
    stage_close(&stage);
}

/* The far node is cut off while it works for the near one, and comes back. */
static void a_partition_heals_and_every_job_is_answered_once(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 3, MB(200));
    (void)stage_model(&stage, "a", 0, MS(20));
    (void)stage_model(&stage, "b", 0, MS(20));
    const uint32_t chain = stage_chain(&stage, "chain", "a b");
    stage.faults[0] =
        (struct fault){.at_ns = MS(10), .for_ns = MS(1500), .kind = FAULT_PARTITION, .victim = 2};
    stage.options.fault_count = 1;
    plan(2, 1, 0, 0);
    stage_start_with(&stage, &by_hand);
    stage_request(&stage, 0, 0, chain);
    stage_request(&stage, MS(2000), 0, chain);
    stage_expect(&stage, "partition");
    stage_close(&stage);
}

/*
 * Machine 2 becomes busy just before it is cut off, and its row is still under way then. So
 * machine 0, busy too, believes it idle and gives it a task, until it hears of the cut.
 */
static void a_row_does_not_cross_a_partition(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 3, MB(200));
    (void)stage_model(&stage, "a", 0, MS(400));
    const uint32_t chain = stage_chain(&stage, "chain", "a");
    stage.faults[0] =
        (struct fault){.at_ns = MS(100), .for_ns = MS(2000), .kind = FAULT_PARTITION, .victim = 2};
    stage.options.fault_count = 1;
    stage_start(&stage, "least-work");
    stage_request(&stage, MS(10), 0, chain);
    stage_request(&stage, MS(50), 1, chain);
    stage_request(&stage, MS(99.5), 2, chain);
    stage_request(&stage, MS(100.7), 0, chain);
    stage_request(&stage, MS(2200), 2, chain);
    stage_request(&stage, MS(2220), 0, chain);
    stage_request(&stage, MS(2221), 0, chain);
    stage_expect(&stage, "partition-rows");
    stage_close(&stage);
}

/* A node stands still for a while: its work is late, not lost. */
static void a_stopped_node_goes_on_where_it_was(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 2, MB(200));
    (void)stage_model(&stage, "a", 0, MS(20));
    const uint32_t chain = stage_chain(&stage, "chain", "a");
    stage.faults[0] =
        (struct fault){.at_ns = MS(10), .for_ns = MS(300), .kind = FAULT_STOP, .victim = 1};
    stage.options.fault_count = 1;
    plan(1, 0, 0, 0);
    stage_start_with(&stage, &by_hand);
    stage_request(&stage, 0, 0, chain);
    stage_request(&stage, MS(50), 1, chain);
    stage_expect(&stage, "stop");
    stage_close(&stage);
}

/*
 * Machines 1 and 2 stand still for longer than their leases, one after the other. The one that
 * wakes has missed that the other was out of the list, and must see that it is not the one it knew.
 */
static void a_machine_that_stood_still_for_long_comes_back_as_another(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 3, MB(200));
    (void)stage_model(&stage, "a", 0, MS(20));
    const uint32_t chain = stage_chain(&stage, "chain", "a");
    stage.faults[0] =
        (struct fault){.at_ns = MS(10), .for_ns = MS(1500), .kind = FAULT_STOP, .victim = 1};
    stage.faults[1] =
        (struct fault){.at_ns = MS(500), .for_ns = MS(1500), .kind = FAULT_STOP, .victim = 2};
    stage.options.fault_count = 2;
    plan(1, 0, 0, 0);
    stage_start_with(&stage, &by_hand);
    stage_request(&stage, 0, 2, chain);
    stage_expect(&stage, "stop-lease");
    stage_close(&stage);
}

/* Both machines crash; clients are refused until one is back. */
static void requests_are_refused_while_every_machine_is_down(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 2, MB(200));
    (void)stage_model(&stage, "a", 0, MS(20));
    const uint32_t chain = stage_chain(&stage, "chain", "a");
    stage.faults[0] = (struct fault){.at_ns = MS(10), .kind = FAULT_CRASH, .victim = 0};
    stage.faults[1] = (struct fault){.at_ns = MS(10), .kind = FAULT_CRASH, .victim = 1};
    stage.faults[2] = (struct fault){.at_ns = MS(100), .kind = FAULT_RESTART, .victim = 1};
    stage.options.fault_count = 3;
    stage_start(&stage, "least-work");
    stage_request(&stage, MS(5), 0, chain);
    stage_request(&stage, MS(50), 0, chain);
    stage_request(&stage, MS(60), 1, chain);
    stage_request(&stage, MS(150), 0, chain);
    stage_expect(&stage, "all-down");
    struct report report;
    sim_report(stage.sim, &report);
    assert_int_equal(report.jobs, 4);
    assert_int_equal(report.refused, 2);
    assert_int_equal(report.failed, 1);
    assert_int_equal(report.completed, 1);
    stage_close(&stage);
}

/* Messages of node 1 are lost, with their connection: no job waits for ever. */
static void a_lost_message_is_noticed_by_the_audit(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 2, MB(200));
    (void)stage_model(&stage, "a", 0, MS(20));
    const uint32_t chain = stage_chain(&stage, "chain", "a");
    stage.faults[0] =
        (struct fault){.at_ns = 0, .for_ns = MS(10), .kind = FAULT_LOSS, .victim = 1, .factor = 1};
    stage.options.fault_count = 1;
    plan(1, 0, 0, 0);
    stage_start_with(&stage, &by_hand);
    stage_request(&stage, MS(5), 0, chain);
    stage_expect(&stage, "loss-message");
    stage_close(&stage);
}

/*
 * Every tensor takes 100 s, which is far longer than an owner waits without a sign of life: from
 * the owner to machine 1, from there to 2, and gathered there, on to 3.
 */
static void a_tensor_on_a_slow_link_is_not_taken_for_lost(void **state)
{
    (void)state;
    static const char *const models[] = {"fork", "left", "right", "join"};
    static const struct policy forwarding = {
        .name = "forwarding", .place_job = place_by_hand, .place_task = forward_by_hand};
    struct stage stage;
    stage_open(&stage, /* node_count */ 4, MB(200));
    stage.fleet->network.link_bytes_per_s = MB(1) / 100;
    for (uint32_t i = 0; i < 4; i++) {
        (void)stage_model(&stage, models[i], 0, MS(20));
    }
    const uint32_t diamond = stage_diamond(&stage, "diamond", models);
    stage.catalogue->workflows[diamond]->input_bytes = MB(1);
    plan(1, 1, 1, 2);
    stage_start_with(&stage, &forwarding);
    stage_request(&stage, 0, 0, diamond);
    stage_expect(&stage, "slow-link");
    struct report report;
    sim_report(stage.sim, &report);
    assert_int_equal(report.repeated, 0);
    assert_int_equal(report.tasks, 4);
    stage_close(&stage);
}

/*
 * The same, but after 5 s the connection breaks: its tensor is gone, though its link carries it on
 * for 95 s. That no node has anything of the job is noticed as soon as ever.
 */
static void a_tensor_that_is_lost_on_a_slow_link_is_not_waited_for(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 3, MB(200));
    stage.fleet->network.link_bytes_per_s = MB(1) / 100;
    (void)stage_model(&stage, "a", 0, MS(20));
    (void)stage_model(&stage, "b", 0, MS(20));
    const uint32_t chain = stage_chain(&stage, "chain", "a b");
    stage.faults[0] = (struct fault){
        .at_ns = MS(5000), .for_ns = MS(15), .kind = FAULT_LOSS, .victim = 2, .factor = 1};
    stage.options.fault_count = 1;
    plan(1, 2, 0, 0);
    stage_start_with(&stage, &by_hand);
    stage_request(&stage, 0, 0, chain);
    stage_request(&stage, MS(5005), 1, chain); /* Its reservation is the message that is lost. */
    stage_expect(&stage, "slow-link-lost");
    stage_close(&stage);
}

/* Two workers with one memory, which has room for two of three models. */
static void workers_that_share_memory_load_once_and_evict_together(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 1, MB(130));
    stage.fleet->workers[0].shares_memory = true;
    const struct fleet_worker second = stage.fleet->workers[0];
    assert_true(fleet_add_devices(stage.fleet, &second, /* count */ 1));
    for (uint32_t i = 0; i < 3; i++) {
        static const char *const names[] = {"a", "b", "c"};
        const uint32_t model = stage_model(&stage, names[i], MB(60), MS(20));
        stage.profile->models[model].load_fixed_ns = MS(2);
    }
    const uint32_t chain = stage_chain(&stage, "chain", "a b c");
    plan(0, 1, 0, 0);
    stage_start_with(&stage, &by_hand);
    stage_request(&stage, 0, 0, chain);
    stage_request(&stage, MS(10), 0, chain);
    stage_expect(&stage, "shared-memory");
    stage_close(&stage);
}

/* Where the join was planned there is room for two of its three items: it goes elsewhere. */
static void a_join_whose_items_do_not_fit_is_forwarded(void **state)
{
    (void)state;
    static const char *const models[] = {"fork", "left", "right", "join"};
    struct stage stage;
    stage_open(&stage, /* node_count */ 3, MB(100));
    stage.fleet->workers[2].memory_bytes = MB(200);
    for (uint32_t i = 0; i < 4; i++) {
        (void)stage_model(&stage, models[i], 0, MS(20));
    }
    const uint32_t diamond = stage_diamond(&stage, "diamond", models);
    const struct workflow *workflow = stage.catalogue->workflows[diamond];
    stage.catalogue->workflows[diamond]->tasks[0].gives = (struct items_rule){.low = 3, .high = 3};
    stage.profile->models[workflow->tasks[3].run].workspace_bytes_per_item = MB(40);
    plan(0, 0, 1, 1);
    stage_start_with(&stage, &by_hand);
    stage_request(&stage, 0, 0, diamond);
    stage_expect(&stage, "join-too-large");
    stage_close(&stage);
}

/* The connection breaks while 1 MB is under way for 100 ms. */
static void break_connection(const struct fault *fault, const char *name)
{
    struct stage stage;
    stage_open(&stage, /* node_count */ 3, MB(200));
    stage.fleet->network.link_bytes_per_s = MB(10);
    (void)stage_model(&stage, "a", 0, MS(20));
    (void)stage_model(&stage, "b", 0, MS(20));
    const uint32_t chain = stage_chain(&stage, "chain", "a b");
    stage.faults[0] = *fault;
    stage.options.fault_count = 1;
    plan(1, 2, 0, 0);
    stage_start_with(&stage, &by_hand);
    stage_request(&stage, 0, 0, chain);
    if (fault->kind == FAULT_LOSS) {
        stage_request(&stage, MS(65), 1, chain); /* Its reservation is the message that is lost. */
    }
    stage_expect(&stage, name);
    stage_close(&stage);
}

static void a_tensor_half_sent_when_a_message_is_lost_is_lost_with_it(void **state)
{
    (void)state;
    const struct fault loss = {
        .at_ns = MS(60), .for_ns = MS(30), .kind = FAULT_LOSS, .victim = 2, .factor = 1};
    break_connection(&loss, "half-sent-loss");
}

static void a_tensor_half_sent_at_a_crash_is_lost(void **state)
{
    (void)state;
    const struct fault crash = {.at_ns = MS(60), .kind = FAULT_CRASH, .victim = 1};
    break_connection(&crash, "half-sent-crash");
}

static void a_tensor_half_sent_at_a_partition_is_lost(void **state)
{
    (void)state;
    const struct fault cut = {
        .at_ns = MS(60), .for_ns = MS(30), .kind = FAULT_PARTITION, .victim = 2};
    break_connection(&cut, "half-sent-partition");
}

/* Clients wait for 50 ms. One is answered, one has waited, one hangs up on a node that stands. */
static void clients_hang_up_when_they_have_waited(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, /* node_count */ 2, MB(200));
    (void)stage_model(&stage, "a", 0, MS(40));
    const uint32_t chain = stage_chain(&stage, "chain", "a");
    stage.arrivals.patience_ns = MS(50);
    stage.faults[0] =
        (struct fault){.at_ns = MS(110), .for_ns = MS(100), .kind = FAULT_STOP, .victim = 1};
    stage.options.fault_count = 1;
    plan(0, 0, 0, 0);
    stage_start_with(&stage, &by_hand);
    stage_request(&stage, 0, 0, chain);
    stage_request(&stage, MS(5), 0, chain);
    stage_request(&stage, MS(100), 0, chain);
    stage_request(&stage, MS(102), 1, chain);
    stage_expect(&stage, "hang-up");
    stage_close(&stage);
}

/* Short jobs have machine 0 for themselves, long ones the others. */
static struct mixture *apart(void)
{
    struct mixture *mixture = mixture_create(/* workflows */ 2, /* workers */ 4, /* links */ 8);
    mixture_set_workflow(mixture, 0, /* tasks */ 1, /* rate_per_s */ 300);
    mixture_set_workflow(mixture, 1, /* tasks */ 1, /* rate_per_s */ 20);
    assert_int_equal(mixture_add_pattern(mixture, 0, (uint16_t[]){0}, 1), WEFT_OK);
    for (uint16_t i = 1; i < 4; i++) {
        assert_int_equal(mixture_add_pattern(mixture, 1, (uint16_t[]){i}, 1), WEFT_OK);
    }
    assert_int_equal(mixture_seal(mixture, NULL), WEFT_OK);
    return mixture;
}

/*
 * Machine 0 is lost with a short job on it, which runs again on any other, as does the next. After
 * the tick at 2 s there is a mixture without that machine: short jobs are together, apart from long
 * ones. It is back at 4 s, and short jobs are there again.
 */
static void probabilities_are_solved_again_when_members_change(void **state)
{
    (void)state;
    struct stage stage;
    struct mixture *mixture = apart();
    stage_open(&stage, /* node_count */ 4, MB(200));
    (void)stage_model(&stage, "s", 0, MS(1));
    (void)stage_model(&stage, "l", 0, MS(60));
    const uint32_t small = stage_chain(&stage, "small", "s");
    const uint32_t large = stage_chain(&stage, "large", "l");
    stage.options.mixture = mixture;
    stage.faults[0] = (struct fault){.at_ns = MS(200.5), .kind = FAULT_CRASH, .victim = 0};
    stage.faults[1] = (struct fault){.at_ns = MS(4000), .kind = FAULT_RESTART, .victim = 0};
    stage.options.fault_count = 2;
    stage_start(&stage, "nona");
    for (uint32_t i = 0; i < 2; i++) {
        stage_request(&stage, MS(100), 1, small);
        stage_request(&stage, MS(199), 1, small);
        stage_request(&stage, MS(1500 + 20 * i), 1, small);
    }
    for (uint32_t i = 0; i < 4; i++) {
        stage_request(&stage, MS(3000 + 20 * i), 1 + i % 3, small);
        stage_request(&stage, MS(3010 + 20 * i), 1 + i % 3, large);
        stage_request(&stage, MS(5500 + 20 * i), i, small);
    }
    stage_expect(&stage, "solved-again");
    stage_close(&stage);
    mixture_destroy(mixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cold_start_loads_each_model_once),
        cmocka_unit_test(a_join_waits_for_both_branches_where_it_was_planned),
        cmocka_unit_test(an_unbound_join_meets_at_its_dominator_and_is_forwarded_once),
        cmocka_unit_test(a_model_leaves_when_another_needs_its_room),
        cmocka_unit_test(a_model_that_an_earlier_queue_needs_stays),
        cmocka_unit_test(a_later_model_is_loaded_ahead_only_into_free_room),
        cmocka_unit_test(a_reservation_is_acknowledged_by_the_row_that_counts_it),
        cmocka_unit_test(a_hop_is_adjusted_when_its_worker_is_busy),
        cmocka_unit_test(a_planned_task_is_placed_anew_when_its_worker_is_lost),
        cmocka_unit_test(a_task_that_waits_for_its_model_is_run_elsewhere),
        cmocka_unit_test(a_running_task_is_run_again),
        cmocka_unit_test(a_join_that_gathers_is_gathered_again),
        cmocka_unit_test(what_a_job_that_ran_again_left_behind_is_stopped_by_its_answer),
        cmocka_unit_test(an_input_of_an_older_attempt_does_not_move_a_join),
        cmocka_unit_test(a_loss_after_the_answer_changes_nothing),
        cmocka_unit_test(jobs_of_a_lost_owner_are_dropped_by_the_others),
        cmocka_unit_test(a_queued_task_of_a_lost_worker_is_run_elsewhere),
        cmocka_unit_test(a_refused_request_leaves_nothing_behind),
        cmocka_unit_test(a_cancel_drops_the_load_that_no_other_task_wants),
        cmocka_unit_test(a_cancel_stops_the_batch_that_runs),
        cmocka_unit_test(a_cancel_finds_its_task_on_another_machine),
        cmocka_unit_test(a_cancel_after_the_answer_is_ignored),
        cmocka_unit_test(a_draining_node_finishes_and_refuses),
        cmocka_unit_test(a_draining_node_ends_what_runs_for_others_and_hands_on_what_waits),
        cmocka_unit_test(tasks_of_one_queue_run_as_a_batch),
        cmocka_unit_test(two_batches_share_a_device_once_it_is_shaped),
        cmocka_unit_test(an_idle_worker_takes_the_task_that_would_run_last),
        cmocka_unit_test(a_branch_whose_output_must_return_is_not_taken),
        cmocka_unit_test(a_withdrawn_model_is_unloaded_and_its_workflows_refused),
        cmocka_unit_test(a_pinned_model_leaves_last),
        cmocka_unit_test(a_lost_device_gives_its_work_to_others),
        cmocka_unit_test(a_partition_heals_and_every_job_is_answered_once),
        cmocka_unit_test(a_row_does_not_cross_a_partition),
        cmocka_unit_test(a_model_that_nothing_uses_leaves_after_a_while),
        cmocka_unit_test(a_stopped_node_goes_on_where_it_was),
        cmocka_unit_test(a_machine_that_stood_still_for_long_comes_back_as_another),
        cmocka_unit_test(requests_are_refused_while_every_machine_is_down),
        cmocka_unit_test(a_lost_message_is_noticed_by_the_audit),
        cmocka_unit_test(a_tensor_on_a_slow_link_is_not_taken_for_lost),
        cmocka_unit_test(a_tensor_that_is_lost_on_a_slow_link_is_not_waited_for),
        cmocka_unit_test(workers_that_share_memory_load_once_and_evict_together),
        cmocka_unit_test(a_join_whose_items_do_not_fit_is_forwarded),
        cmocka_unit_test(a_tensor_half_sent_at_a_crash_is_lost),
        cmocka_unit_test(a_tensor_half_sent_when_a_message_is_lost_is_lost_with_it),
        cmocka_unit_test(a_tensor_half_sent_at_a_partition_is_lost),
        cmocka_unit_test(clients_hang_up_when_they_have_waited),
        cmocka_unit_test(probabilities_are_solved_again_when_members_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
