/*
 * weft: where a ready task ends first, and what it costs others.
 *
 * Covers: src/policy/weft.c src/policy/weft_ahead.c src/policy/weft_fade.c
 *         src/policy/weft_give_up.c src/policy/weft_keep.c src/policy/weft_links.c
 *         src/policy/weft_options.c src/policy/weft_stay.c
 */
#include "policy/weft_links.h"
#include "weft_fixture.h"

enum { RUN_NS = 100000, LOAD_NS = 50000 };

/* Four machines of one worker; two branches of @bytes between two tasks. */
static void init(struct cluster *cluster, const char *options, uint64_t bytes)
{
    cluster_init(cluster, 4, 1);
    weft_tasks(cluster, 4, RUN_NS);
    cluster_edge(cluster, 0, 1, bytes);
    cluster_edge(cluster, 0, 2, bytes);
    cluster_edge(cluster, 1, 3, bytes);
    cluster_edge(cluster, 2, 3, bytes);
    cluster_seal(cluster);
    for (uint32_t model = 0; model < 4; model++) {
        cluster_load(cluster, model, LOAD_NS);
        for (uint32_t worker = 0; worker < 4; worker++) {
            cluster_hold(cluster, worker, model);
        }
    }
    weft_seat(cluster, options);
}

static void a_task_leaves_when_the_wait_is_longer_than_the_way(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, "", 0);
    assert_int_equal(weft_place(&cluster, 0, 1000), 0);
    cluster_queue(&cluster, 0, 500);
    assert_int_equal(weft_place(&cluster, 0, 1000), 0);
    cluster_queue(&cluster, 0, 50000);
    assert_int_not_equal(weft_place(&cluster, 0, 1000), 0);
    cluster_queue(&cluster, 1, 30000);
    cluster_queue(&cluster, 2, 30000);
    assert_int_equal(weft_place(&cluster, 0, 1000), 3);
    cluster_usable(&cluster, 3, false);
    assert_int_not_equal(weft_place(&cluster, 0, 1000), 0);
    for (uint32_t worker = 0; worker < 4; worker++) {
        cluster_usable(&cluster, worker, false);
    }
    assert_int_equal(weft_place(&cluster, 0, 1000), WORKER_NONE);
    cluster_deinit(&cluster);
}

/* One more transfer waits for what is on the link already. */
static void what_was_sent_keeps_the_link_busy(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, ":doubt=0:toll=0", 0);
    cluster_queue(&cluster, 0, 15000);
    assert_int_not_equal(weft_place(&cluster, 0, 10000), 0);
    assert_int_equal(weft_place(&cluster, 0, 10000), 0);
    cluster.view.now_ns += 10000; /* The link is free again, and rows are of before that. */
    cluster_queue(&cluster, 0, 25000);
    assert_int_not_equal(weft_place(&cluster, 0, 10000), 0);
    cluster_deinit(&cluster);

    init(&cluster, ":doubt=0:toll=0:links=0", 0);
    cluster_queue(&cluster, 0, 15000);
    assert_int_not_equal(weft_place(&cluster, 0, 10000), 0);
    assert_int_not_equal(weft_place(&cluster, 0, 10000), 0);
    cluster_deinit(&cluster);
}

static void a_busy_cluster_is_doubted(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, "", 0);
    for (uint32_t worker = 0; worker < 3; worker++) {
        cluster_queue(&cluster, worker, 15000);
    }
    assert_int_equal(weft_place(&cluster, 0, 10000), 0);
    cluster_deinit(&cluster);
    init(&cluster, ":doubt=0", 0);
    for (uint32_t worker = 0; worker < 3; worker++) {
        cluster_queue(&cluster, worker, 15000);
    }
    assert_int_equal(weft_place(&cluster, 0, 10000), 3);
    cluster_deinit(&cluster);
}

/* Worker 3 is idle by its row, as long as that is true. */
static void what_a_row_says_fades(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, ":doubt=0", 0);
    cluster.view.row_load_ns = 1000000;
    for (uint32_t worker = 0; worker < 3; worker++) {
        cluster_queue(&cluster, worker, 200000);
    }
    cluster.view.now_ns += 100000; /* All have half of it left. */
    assert_int_equal(weft_place(&cluster, 0, 10000), 3);
    cluster.board.entries[0].live.load.queued_ns = 160000;
    assert_int_equal(weft_place(&cluster, 0, 10000), 0); /* Others may have sent something there. */
    cluster.view.row_load_ns = 90000;
    assert_int_equal(weft_place(&cluster, 0, 10000), 3); /* It would have said so. */
    cluster_deinit(&cluster);

    init(&cluster, ":doubt=0:fade=0", 0);
    cluster.view.row_load_ns = 1000000;
    for (uint32_t worker = 0; worker < 3; worker++) {
        cluster_queue(&cluster, worker, 200000);
    }
    cluster.view.now_ns += 100000;
    cluster.board.entries[0].live.load.queued_ns = 160000;
    assert_int_equal(weft_place(&cluster, 0, 10000), 3);
    cluster_deinit(&cluster);
}

/* The join of both branches is gathered on worker 0, where the first task ran. */
static void an_output_has_to_return(void **state)
{
    (void)state;
    enum { BYTES = 10000 };
    struct cluster cluster;
    init(&cluster, ":doubt=0", BYTES);
    cluster_queue(&cluster, 0, 15000);
    assert_int_equal(weft_place(&cluster, 1, BYTES), 0);
    cluster_queue(&cluster, 0, 25000);
    assert_int_not_equal(weft_place(&cluster, 1, BYTES), 0);
    cluster_deinit(&cluster);
    init(&cluster, ":doubt=0:return=0", BYTES);
    cluster_queue(&cluster, 0, 15000);
    assert_int_not_equal(weft_place(&cluster, 1, BYTES), 0);
    cluster_deinit(&cluster);
}

/* Of two branches the one with the smaller tensors leaves, although it is placed first. */
static void a_branch_makes_room_for_one_that_cannot_leave(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, "", 50000);
    assert_int_equal(weft_place(&cluster, 1, 1000), 1);
    assert_int_equal(weft_place(&cluster, 1, 50000), 0);
    cluster_deinit(&cluster);
    init(&cluster, ":fork=0", 50000);
    assert_int_equal(weft_place(&cluster, 1, 1000), 0);
    cluster_deinit(&cluster);
}

static void among_equals_a_node_starts_with_its_own_worker(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, "", 0);
    cluster.view.node = 2;
    cluster.view.worker_first = 2;
    assert_int_equal(weft_place(&cluster, 1, 0), 2);
    cluster_queue(&cluster, 2, RUN_NS);
    assert_int_equal(weft_place(&cluster, 1, 0), 3);
    cluster_queue(&cluster, 3, RUN_NS);
    assert_int_equal(weft_place(&cluster, 1, 0), 0);
    cluster_deinit(&cluster);
    init(&cluster, ":round=0", 0);
    cluster.view.node = 2;
    cluster.view.worker_first = 2;
    assert_int_equal(weft_place(&cluster, 1, 0), 0);
    cluster_deinit(&cluster);
}

static void a_faster_kind_of_device_is_worth_the_way(void **state)
{
    (void)state;
    struct cluster cluster;
    cluster_init(&cluster, 2, 1);
    cluster.fleet->workers[1].device = 1;
    cluster_run(&cluster, 0, /* device */ 0, 1, RUN_NS);
    cluster_run(&cluster, 0, /* device */ 1, 1, RUN_NS / 4);
    (void)cluster_task(&cluster, 0);
    cluster_seal(&cluster);
    cluster_seat(&cluster, "weft");
    assert_int_equal(weft_place(&cluster, 0, 1000), 1);
    cluster_queue(&cluster, 1, RUN_NS);
    assert_int_equal(weft_place(&cluster, 0, 1000), 0);
    cluster_deinit(&cluster);
}

/* A link that is a tenth as fast as others leads to worker 1. */
static void a_node_may_have_a_link_of_its_own(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, ":doubt=0", 0);
    cluster.fleet->network.has_own_rates = true;
    cluster.fleet->nodes[1].down_bytes_per_s = 100000000;
    cluster_queue(&cluster, 0, RUN_NS);
    assert_int_equal(weft_place(&cluster, 1, 1000), 2);
    cluster_queue(&cluster, 2, 5000);
    cluster_queue(&cluster, 3, 5000);
    assert_int_equal(weft_place(&cluster, 1, 1000), 2);
    cluster_queue(&cluster, 2, 20000);
    cluster_queue(&cluster, 3, 20000);
    assert_int_equal(weft_place(&cluster, 1, 1000), 1);
    cluster_deinit(&cluster);
}

static void a_model_that_is_there_is_worth_its_load(void **state)
{
    (void)state;
    struct cluster cluster;
    cluster_init(&cluster, 2, 1);
    cluster_load(&cluster, 0, LOAD_NS);
    cluster_run(&cluster, 0, 0, 1, RUN_NS);
    cluster.profile->models[0].resident_bytes = 1 << 19;
    (void)cluster_task(&cluster, 0);
    cluster_seal(&cluster);
    cluster_hold(&cluster, 1, 0);
    cluster_seat(&cluster, "weft");
    assert_int_equal(weft_place(&cluster, 0, 1000), 1);
    cluster_queue(&cluster, 1, 2 * LOAD_NS);
    assert_int_equal(weft_place(&cluster, 0, 1000), 0);
    cluster_deinit(&cluster);
}

/* Where a task goes whose model is nowhere: model 1 was there and used often, 2 seldom. */
static uint32_t place_new(const char *policy)
{
    struct cluster cluster;
    cluster_init(&cluster, 2, 1);
    for (uint32_t model = 0; model < 3; model++) {
        cluster_load(&cluster, model, LOAD_NS);
        cluster_run(&cluster, model, 0, 1, RUN_NS);
        cluster.profile->models[model].resident_bytes = 1 << 19;
    }
    (void)cluster_task(&cluster, 1);
    cluster_seal(&cluster);
    cluster_hold(&cluster, 0, 1);
    cluster_hold(&cluster, 1, 2);
    cluster_seat(&cluster, policy);
    for (uint32_t i = 0; i < 20; i++) {
        cluster.view.now_ns += RUN_NS;
        policy_arrived(&cluster.seat, &cluster.job);
    }
    struct workflow_task *task = (struct workflow_task *)&cluster.graph->tasks[0];
    task->run = 0;
    task->models[0] = 0;
    for (uint32_t i = 0; i < 4; i++) { /* Loads: the first is of no news, the others are rare. */
        cluster.view.now_ns += RUN_NS;
        (void)weft_place(&cluster, 0, 0);
    }
    const uint32_t worker = weft_place(&cluster, 0, 0);
    cluster_deinit(&cluster);
    return worker;
}

static void what_is_used_often_is_kept(void **state)
{
    (void)state;
    assert_int_equal(place_new("weft:keep=0"), 0);
    assert_int_equal(place_new("weft"), 1);
}

/* Only a few of many workers are looked at; one that alone holds the model is always among them. */
static void the_only_holder_of_many_workers_is_found(void **state)
{
    (void)state;
    struct cluster cluster;
    cluster_init(&cluster, /* node_count */ 64, 1);
    cluster_load(&cluster, 0, 100 * LOAD_NS);
    cluster_run(&cluster, 0, 0, 1, RUN_NS);
    (void)cluster_task(&cluster, 0);
    cluster_seal(&cluster);
    cluster_hold(&cluster, 41, 0);
    cluster_seat(&cluster, "weft:sample=1");
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(weft_place(&cluster, 0, 1000), 41);
    }
    for (uint32_t worker = 0; worker < 64; worker++) {
        cluster_hold(&cluster, worker, 0);
    }
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(weft_place(&cluster, 0, 1000), 0); /* Where the input is. */
    }
    cluster_deinit(&cluster);
}

static void write_load(
    struct cluster *cluster, uint32_t worker, uint16_t queued_items, uint32_t slower)
{
    struct row row = cluster->board.entries[worker].live;
    row.load.queued_items = queued_items;
    row.load.accepting = (uint8_t)(ROW_ACCEPTING + slower);
    cluster_write(cluster, &row);
}

/*
 * Nearly all that worker 0 has to do are @items that wait, from key @first_steps on to
 * @last_steps; the others run something shorter.
 */
static void let_wait(
    struct cluster *cluster, uint16_t items, int32_t first_steps, int32_t last_steps)
{
    for (uint32_t worker = 0; worker < 4; worker++) {
        cluster_queue(cluster, worker, worker == 0 ? 61 * ROW_STEP_NS : 10 * RUN_NS);
    }
    struct row row = cluster->board.entries[0].live;
    row.load.queued_items = items;
    row.load.waits_steps = 60;
    row.load.first_steps = first_steps;
    row.load.last_steps = last_steps;
    cluster_write(cluster, &row);
}

static void a_short_task_waits_only_for_what_comes_before_it(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, "", 0);
    let_wait(&cluster, 1, 1000000, 1000000); /* Due long after the job. */
    assert_int_equal(weft_place(&cluster, 1, 0), 0);
    let_wait(&cluster, 1, -1000000, -1000000); /* Before it. */
    assert_int_equal(weft_place(&cluster, 1, 0), 1);
    let_wait(&cluster, 1, -1000000, 9000000); /* Nine tenths of it after the job. */
    assert_int_equal(weft_place(&cluster, 1, 0), 0);
    let_wait(&cluster, 1, -9000000, 1000000); /* A tenth. */
    assert_int_equal(weft_place(&cluster, 1, 0), 1);
    let_wait(&cluster, 40, 1000000, 1000000); /* As short as the task: forty would wait for it. */
    assert_int_equal(weft_place(&cluster, 1, 0), 1);
    cluster_deinit(&cluster);
    init(&cluster, ":ahead=0", 0);
    let_wait(&cluster, 1, 1000000, 1000000);
    assert_int_equal(weft_place(&cluster, 1, 0), 1);
    cluster_deinit(&cluster);
    init(&cluster, "", 0);
    cluster_seat(&cluster, "place=weft,order=edf"); /* Keys of another policy say nothing. */
    let_wait(&cluster, 1, 1000000, 1000000);
    assert_int_equal(weft_place(&cluster, 1, 0), 1);
    cluster_deinit(&cluster);
}

static void a_slow_worker_gets_what_ends_first_there_all_the_same(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, "", 0);
    write_load(&cluster, 0, 0, 3 * ROW_SLOWNESS_PARTS);
    assert_int_equal(weft_place(&cluster, 0, 1000), 1);
    for (uint32_t worker = 1; worker < 4; worker++) {
        cluster_queue(&cluster, worker, 5 * RUN_NS);
    }
    assert_int_equal(weft_place(&cluster, 0, 1000), 0);
    cluster_seat(&cluster, "weft:learn=0");
    for (uint32_t worker = 1; worker < 4; worker++) {
        cluster_queue(&cluster, worker, 0);
    }
    assert_int_equal(weft_place(&cluster, 0, 1000), 0);
    cluster_deinit(&cluster);
}

/* Worker 0 has three times as much to do as the others, which have two tasks each. */
static void make_crowd(struct cluster *cluster)
{
    cluster_queue(cluster, 0, 6 * RUN_NS);
    for (uint32_t worker = 1; worker < 4; worker++) {
        cluster_queue(cluster, worker, 2 * RUN_NS);
        write_load(cluster, worker, 1, 0);
    }
}

/* A branch whose input and output travel for a tenth of its run time each. */
static void a_task_stays_in_a_crowd(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, "", RUN_NS / 10);
    make_crowd(&cluster);
    assert_int_equal(weft_place(&cluster, 1, RUN_NS / 10), 0);
    assert_int_not_equal(weft_place(&cluster, 0, RUN_NS / 10), 0); /* A source. */
    cluster_queue(&cluster, 0, 40 * RUN_NS);                       /* Too far behind. */
    assert_int_not_equal(weft_place(&cluster, 1, RUN_NS / 10), 0);
    make_crowd(&cluster);
    for (uint32_t worker = 1; worker < 4; worker++) { /* Fewer tasks than workers. */
        write_load(&cluster, worker, 0, 0);
    }
    assert_int_not_equal(weft_place(&cluster, 1, RUN_NS / 10), 0);
    cluster_deinit(&cluster);

    init(&cluster, ":stay=0", RUN_NS / 10);
    make_crowd(&cluster);
    assert_int_not_equal(weft_place(&cluster, 1, RUN_NS / 10), 0);
    cluster_deinit(&cluster);

    init(&cluster, "", RUN_NS / 100); /* Hardly anything travels. */
    make_crowd(&cluster);
    assert_int_not_equal(weft_place(&cluster, 1, RUN_NS / 100), 0);
    cluster_deinit(&cluster);

    init(&cluster, "", RUN_NS / 50); /* Nor if only the task itself is short. */
    make_crowd(&cluster);
    cluster.profile->models[1].curves[0].run_one_ns = RUN_NS / 10;
    assert_int_not_equal(weft_place(&cluster, 1, RUN_NS / 50), 0);
    cluster_deinit(&cluster);
}

static void an_idle_worker_asks_the_one_with_most_work_that_waits(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, "", 0);
    assert_int_equal(policy_steal(&cluster.seat, 0), WORKER_NONE);
    cluster_queue(&cluster, 1, 3 * RUN_NS); /* What runs cannot be taken. */
    assert_int_equal(policy_steal(&cluster.seat, 0), WORKER_NONE);
    cluster_queue(&cluster, 2, RUN_NS);
    write_load(&cluster, 2, 1, 0);
    assert_int_equal(policy_steal(&cluster.seat, 0), 2);
    cluster_queue(&cluster, 3, 2 * RUN_NS);
    write_load(&cluster, 3, 1, 0);
    assert_int_equal(policy_steal(&cluster.seat, 0), 3);
    cluster_usable(&cluster, 3, false);
    assert_int_equal(policy_steal(&cluster.seat, 0), 2);
    cluster_queue(&cluster, 0, 1); /* Work is on its way to it. */
    assert_int_equal(policy_steal(&cluster.seat, 0), WORKER_NONE);
    cluster_queue(&cluster, 0, 0);
    cluster_seat(&cluster, "weft:steal=0");
    assert_int_equal(policy_steal(&cluster.seat, 0), WORKER_NONE);
    cluster_deinit(&cluster);
}

static void a_job_without_deadline_is_due_by_its_path(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, "", 0);
    const int64_t path_ns = 3 * RUN_NS;
    const int64_t first_ns = path_ns / 1024; /* Before branches with less to go. */
    assert_int_equal(cluster_order(&cluster, 7, INT64_MAX), 7 + 8 * path_ns - first_ns);
    assert_int_equal(cluster_order(&cluster, 7, 1234), 1234 - first_ns);
    cluster_deinit(&cluster);
}

/* Beside a workflow with an SLO: ten minutes later, unless it has a priority. */
static void a_job_without_slo_waits_for_those_with_one(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, "", 0);
    const int64_t alone_ns = cluster_order(&cluster, 7, INT64_MAX);
    const int64_t due_ns = cluster_order(&cluster, 7, 1234);
    cluster_beside(&cluster, 0, 1234);
    cluster_seat(&cluster, "weft");
    assert_int_equal(cluster_order(&cluster, 7, INT64_MAX), alone_ns + NO_DEADLINE_NS);
    assert_int_equal(cluster_order(&cluster, 7, 1234), due_ns);
    cluster.job.priority = 1;
    assert_int_equal(cluster_order(&cluster, 7, INT64_MAX), alone_ns - PRIORITY_LEVEL_NS);
    cluster_deinit(&cluster);
}

/* What is to be expected of the first task, ready since @waited_ns, with @left_ns to go. */
static enum hope hope(struct cluster *cluster, int64_t waited_ns, int64_t left_ns, bool firm)
{
    struct job_facts job = cluster->job;
    job.deadline_ns = cluster->view.now_ns + left_ns;
    job.firm = firm;
    const struct ready_facts facts = {
        .job = &job, .items = 1, .ready_ns = cluster->view.now_ns - waited_ns};
    return policy_hope(&cluster->seat, &facts);
}

static bool is_hopeless(struct cluster *cluster, int64_t waited_ns, int64_t left_ns)
{
    return hope(cluster, waited_ns, left_ns, true) == HOPE_NONE;
}

static void what_misses_only_a_target_is_put_off(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, "", 0);
    assert_int_equal(hope(&cluster, 1, 3 * RUN_NS, false), HOPE_GOOD);
    assert_int_equal(hope(&cluster, 1, 3 * RUN_NS - 1, false), HOPE_LATE);
    assert_int_equal(hope(&cluster, 1, -1, false), HOPE_LATE);
    cluster_seat(&cluster, "weft:strict=1");
    assert_int_equal(hope(&cluster, 1, -1, false), HOPE_NONE);
    cluster_seat(&cluster, "weft:give_up=0");
    assert_int_equal(hope(&cluster, 1, -1, false), HOPE_GOOD);
    cluster_deinit(&cluster);
}

/* Beside a workflow without an SLO: it comes before that as long as it is not late. */
static void what_may_be_late_comes_before_what_has_no_slo(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, "", 0);
    cluster.graph->slo_ns = 4 * RUN_NS;
    cluster_beside(&cluster, 0, /* slo_ns */ 0);
    cluster_seat(&cluster, "weft");
    assert_int_equal(hope(&cluster, 1, 3 * RUN_NS - 1, false), HOPE_DOUBTFUL);
    assert_int_equal(hope(&cluster, 1, -1, false), HOPE_LATE);
    cluster_deinit(&cluster);
}

static void what_can_no_longer_be_in_time_is_given_up(void **state)
{
    (void)state;
    struct cluster cluster;
    const int64_t rest_ns = 3 * RUN_NS; /* A branch and the join come after it. */
    init(&cluster, "", 0);
    assert_true(policy_admit(&cluster.seat, &cluster.job).admitted);
    assert_false(is_hopeless(&cluster, 1, rest_ns));
    assert_true(is_hopeless(&cluster, 1, rest_ns - 1));
    assert_false(is_hopeless(&cluster, 0, rest_ns - 1)); /* It is tried at once. */
    assert_true(is_hopeless(&cluster, 0, -1));
    struct answered_facts lost = {.job = &cluster.job, .late = true};
    for (uint32_t i = 0; i < 16; i++) {
        assert_true(is_hopeless(&cluster, 1, rest_ns - 1));
        policy_answered(&cluster.seat, &lost);
    }
    assert_false(is_hopeless(&cluster, 1, rest_ns - 1)); /* The profile may be too slow. */
    assert_true(is_hopeless(&cluster, 1, rest_ns / 2 - 1));
    lost = (struct answered_facts){.job = &cluster.job, .completed = true};
    policy_answered(&cluster.seat, &lost);
    assert_true(is_hopeless(&cluster, 1, rest_ns - 1));
    cluster_seat(&cluster, "weft:give_up=0");
    assert_false(is_hopeless(&cluster, 1, -1));
    cluster_deinit(&cluster);
}

static void a_toll_grows_with_the_load_and_fades(void **state)
{
    (void)state;
    const int64_t now_ns = 5 * WEFT_LINK_SPAN_NS;
    const struct weft_transfer transfer = {.whole_ns = 1000, .up_ns = 1024 * 1000, .core_ns = 0};
    const struct weft_transfer half = {.whole_ns = 1, .up_ns = WEFT_LINK_SPAN_NS / 2};
    struct weft_links links = {0};
    assert_int_equal(weft_toll_ns(&links, &transfer, now_ns), 0);
    weft_links_send(&links, &half, 14, now_ns);
    assert_int_equal(links.up.free_ns, now_ns + WEFT_LINK_SPAN_NS / 2);
    /* Half of what was sent is forgotten then, and it was sent within half of the time. */
    const int64_t later_ns = weft_toll_ns(&links, &transfer, now_ns + WEFT_LINK_SPAN_NS / 2);
    assert_in_range(later_ns, transfer.up_ns * 99 / 100, transfer.up_ns * 101 / 100);
    assert_int_equal(weft_toll_ns(&links, &transfer, now_ns + 9 * WEFT_LINK_SPAN_NS), 0);
    for (uint32_t i = 0; i < 5; i++) {
        weft_links_send(&links, &half, 14, now_ns);
    }
    assert_true(weft_toll_ns(&links, &transfer, now_ns) < 20 * transfer.up_ns);
}

/* What is sent evenly is as much from the first moment on, and after a pause. */
static void a_load_is_known_as_soon_as_it_is_there(void **state)
{
    (void)state;
    const struct weft_transfer transfer = {.whole_ns = 1000, .up_ns = 1024 * 1000};
    const struct weft_transfer eighth = {.whole_ns = 1, .up_ns = WEFT_LINK_SPAN_NS / 8};
    struct weft_links links = {0};
    int64_t now_ns = 1000;
    for (uint32_t i = 0; i < 40; i++) {
        now_ns += i == 20 ? 9 * WEFT_LINK_SPAN_NS : 0;
        weft_links_send(&links, &eighth, 1, now_ns);
        now_ns += WEFT_LINK_SPAN_NS / 4; /* A quarter is forgotten: 3/8 of the time are left. */
        const int64_t toll_ns = weft_toll_ns(&links, &transfer, now_ns);
        assert_in_range(toll_ns, transfer.up_ns * 59 / 100, transfer.up_ns * 61 / 100);
    }
    links = (struct weft_links){0};
    weft_links_send(&links, &eighth, 1, now_ns); /* But not at the same moment: half of it. */
    const int64_t first_ns = weft_toll_ns(&links, &transfer, now_ns);
    assert_in_range(first_ns, transfer.up_ns * 99 / 100, transfer.up_ns * 101 / 100);
}

/* A rack's link counts as if all machines of the rack sent as much as this one. */
static void a_rack_shares_its_link(void **state)
{
    (void)state;
    struct fleet *fleet = fleet_create();
    const struct fleet_worker device = {
        .memory_bytes = 1,
        .bus_bytes_per_s = 1,
        .gpu_units = 1,
        .device = fleet_device(fleet, "plain")};
    for (uint32_t i = 0; i < 8; i++) {
        assert_true(fleet_add_machine(fleet, &device, 1, 1));
    }
    fleet->network = (struct fleet_network){
        .link_bytes_per_s = 1000000000,
        .kind = NETWORK_TWO_TIER,
        .core_bytes_per_s = 2000000000,
        .nodes_per_rack = 4,
    };
    assert_int_equal(weft_links_rack(fleet), 4);
    struct weft_transfer inside = weft_transfer(fleet, 0, 3, 1000);
    struct weft_transfer across = weft_transfer(fleet, 0, 4, 1000);
    assert_int_equal(inside.up_ns, 1000);
    assert_int_equal(inside.core_ns, 0);
    assert_int_equal(across.core_ns, 500);
    assert_int_equal(weft_transfer(fleet, 2, 2, 1000).whole_ns, 0);
    struct weft_links links = {0};
    across.core_ns = WEFT_LINK_SPAN_NS / 16;
    weft_links_send(&links, &across, 4, 0);
    assert_int_equal(links.core.busy_ns, WEFT_LINK_SPAN_NS / 4);
    fleet_destroy(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_leaves_when_the_wait_is_longer_than_the_way),
        cmocka_unit_test(what_was_sent_keeps_the_link_busy),
        cmocka_unit_test(a_busy_cluster_is_doubted),
        cmocka_unit_test(what_a_row_says_fades),
        cmocka_unit_test(an_output_has_to_return),
        cmocka_unit_test(a_branch_makes_room_for_one_that_cannot_leave),
        cmocka_unit_test(among_equals_a_node_starts_with_its_own_worker),
        cmocka_unit_test(a_faster_kind_of_device_is_worth_the_way),
        cmocka_unit_test(a_node_may_have_a_link_of_its_own),
        cmocka_unit_test(a_model_that_is_there_is_worth_its_load),
        cmocka_unit_test(what_is_used_often_is_kept),
        cmocka_unit_test(the_only_holder_of_many_workers_is_found),
        cmocka_unit_test(a_short_task_waits_only_for_what_comes_before_it),
        cmocka_unit_test(a_slow_worker_gets_what_ends_first_there_all_the_same),
        cmocka_unit_test(a_task_stays_in_a_crowd),
        cmocka_unit_test(an_idle_worker_asks_the_one_with_most_work_that_waits),
        cmocka_unit_test(a_job_without_deadline_is_due_by_its_path),
        cmocka_unit_test(what_can_no_longer_be_in_time_is_given_up),
        cmocka_unit_test(what_misses_only_a_target_is_put_off),
        cmocka_unit_test(a_job_without_slo_waits_for_those_with_one),
        cmocka_unit_test(what_may_be_late_comes_before_what_has_no_slo),
        cmocka_unit_test(a_toll_grows_with_the_load_and_fades),
        cmocka_unit_test(a_load_is_known_as_soon_as_it_is_there),
        cmocka_unit_test(a_rack_shares_its_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
