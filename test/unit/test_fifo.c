/*
 * Covers: src/policy/fifo.c, src/policy/fair.c
 *
 * After Decima's simulator: executors first stay in the job that releases them.
 *
 *     entry ──► left ──► join
 *         └───► right ──►┘
 */
#include "policy_fixture.h"

enum { ENTRY, LEFT, RIGHT, JOIN, TASKS };

static void init(struct cluster *cluster, const char *policy)
{
    cluster_init(cluster, 4, 1);
    cluster_load(cluster, 0, 1000000);
    for (uint32_t i = 0; i < TASKS; i++) {
        (void)cluster_task(cluster, 0);
    }
    cluster_edge(cluster, ENTRY, LEFT, 500);
    cluster_edge(cluster, ENTRY, RIGHT, 500);
    cluster_edge(cluster, LEFT, JOIN, 500);
    cluster_edge(cluster, RIGHT, JOIN, 500);
    cluster_seal(cluster);
    cluster_seat(cluster, policy);
}

static void queues(struct cluster *cluster, const int64_t *queued_ns)
{
    for (uint32_t worker = 0; worker < 4; worker++) {
        cluster_queue(cluster, worker, queued_ns[worker]);
    }
}

/* Where @task goes whose job has used the workers of @placement, asked for on @here. */
static uint32_t place(
    struct cluster *cluster, const uint16_t *placement, uint32_t task, uint32_t here)
{
    const struct task_facts facts = {
        .job = &cluster->job,
        .placement = placement,
        .task = task,
        .items = 1,
        .planned = WORKER_NONE,
        .here = here,
        .gathered = task == JOIN,
    };
    return policy_place_task(&cluster->seat, &facts);
}

static const uint16_t nowhere[TASKS] = {
    PLACEMENT_UNBOUND, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND};
static const uint16_t on_two[TASKS] = {2, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND};

static void a_worker_stays_in_its_job(ATTR_UNUSED void **state)
{
    const char *const policies[] = {"fifo", "fair"};
    for (size_t i = 0; i < 2; i++) {
        struct cluster cluster;
        init(&cluster, policies[i]);
        queues(&cluster, (int64_t[]){0, 9, 900, 9}); /* However much else waits there. */
        assert_int_equal(place(&cluster, on_two, LEFT, 2), 2);
        /* But only one task goes on: the next is for an idle worker, */
        assert_int_equal(place(&cluster, on_two, RIGHT, 2), 0);
        /* and later, when the worker is released again, it stays again. */
        cluster.view.now_ns++;
        assert_int_equal(place(&cluster, on_two, RIGHT, 2), 2);
        /* Another job at the same moment has its own right to its own worker. */
        cluster.job.id.number++;
        assert_int_equal(place(&cluster, on_two, LEFT, 2), 2);
        cluster_deinit(&cluster);
    }
}

static void an_entry_stays_with_no_owner(ATTR_UNUSED void **state)
{
    struct cluster cluster;
    init(&cluster, "fifo");
    queues(&cluster, (int64_t[]){9, 9, 1, 0});
    assert_int_equal(place(&cluster, nowhere, ENTRY, 2), 3);
    queues(&cluster, (int64_t[]){900, 900, 900, 1}); /* None idle: where work ends first, */
    assert_int_equal(place(&cluster, nowhere, ENTRY, 2), 3);
    queues(&cluster, (int64_t[]){900, 8, 900, 8}); /* by lowest index. */
    assert_int_equal(place(&cluster, nowhere, ENTRY, 2), 1);
    cluster_deinit(&cluster);
}

static void a_join_stays_only_where_it_need_not_wait(ATTR_UNUSED void **state)
{
    struct cluster cluster;
    init(&cluster, "fifo");
    queues(&cluster, (int64_t[]){9, 0, 0, 9});
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(place(&cluster, on_two, JOIN, 2), 2);
    }
    queues(&cluster, (int64_t[]){9, 0, 1, 9});
    assert_int_equal(place(&cluster, on_two, JOIN, 2), 1);
    cluster_deinit(&cluster);
}

static void idle_workers_are_all_drawn(ATTR_UNUSED void **state)
{
    struct cluster cluster;
    uint32_t seen = 0;
    init(&cluster, "fifo");
    queues(&cluster, (int64_t[]){0, 5, 0, 0});
    for (uint32_t i = 0; i < 50; i++) {
        seen |= 1U << place(&cluster, nowhere, ENTRY, 1);
    }
    assert_int_equal(seen, 1U << 0 | 1U << 2 | 1U << 3);
    cluster_deinit(&cluster);
}

/* What waits on a worker, in tasks. */
static void crowd(struct cluster *cluster, uint32_t worker, uint16_t queued_items)
{
    struct row row = cluster->board.entries[worker].live;
    row.load.queued_ns = 500 + (int64_t)worker;
    row.load.queued_items = queued_items;
    cluster_write(cluster, &row);
}

/* Worker 2 is taken by the sibling; the job holds 2 and 3, and 0 is idle. */
static uint32_t place_third(struct cluster *cluster)
{
    const uint16_t placement[TASKS] = {2, 3, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND};
    cluster->view.now_ns++;
    assert_int_equal(place(cluster, placement, LEFT, 2), 2);
    return place(cluster, placement, RIGHT, 2);
}

static void a_job_holds_no_more_than_its_part(ATTR_UNUSED void **state)
{
    struct cluster cluster;
    init(&cluster, "fair");
    queues(&cluster, (int64_t[]){0, 0, 900, 700});
    crowd(&cluster, 3, 40); /* Its own tasks are not those of others: */
    crowd(&cluster, 1, 0);  /* 2 jobs, 4 workers: 2 each, which it holds. */
    assert_int_equal(place_third(&cluster), 3);
    queues(&cluster, (int64_t[]){0, 9, 900, 901}); /* Of its own the one that is free first. */
    assert_int_equal(place_third(&cluster), 2);
    cluster_queue(&cluster, 1, 0); /* 1 job, which may have all 4. */
    const uint32_t worker = place_third(&cluster);
    assert_true(worker == 0 || worker == 1);
    cluster_deinit(&cluster);
    /* fifo has no part: it takes what is idle. */
    init(&cluster, "fifo");
    queues(&cluster, (int64_t[]){0, 0, 900, 700});
    crowd(&cluster, 1, 0);
    assert_int_equal(place_third(&cluster), 0);
    cluster_deinit(&cluster);
}

static void parts_are_rounded_up(ATTR_UNUSED void **state)
{
    struct cluster cluster;
    const uint16_t one[TASKS] = {2, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND};
    init(&cluster, "fair");
    queues(&cluster, (int64_t[]){0, 9, 900, 0});
    crowd(&cluster, 1, 1); /* 3 jobs on 4 workers: 2 for each. */
    assert_int_equal(place(&cluster, one, LEFT, 2), 2);
    assert_int_not_equal(place(&cluster, one, RIGHT, 2), 2);
    crowd(&cluster, 1, 2); /* 4 jobs: one each. */
    cluster.view.now_ns++;
    assert_int_equal(place(&cluster, one, LEFT, 2), 2);
    assert_int_equal(place(&cluster, one, RIGHT, 2), 2);
    cluster_deinit(&cluster);
}

/* Workers 2 and 3 are of the other kind, which alone can run the branches. */
static void each_kind_is_divided_by_itself(ATTR_UNUSED void **state)
{
    const char *const policies[] = {"fifo", "fair"};
    const uint16_t entered[TASKS] = {0, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND};
    const uint16_t held[TASKS] = {0, 3, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND};
    struct cluster cluster;
    for (size_t i = 0; i < 2; i++) {
        init(&cluster, policies[i]);
        cluster.graph->tasks[LEFT].run = 1;
        cluster.graph->tasks[RIGHT].run = 1;
        cluster_run(&cluster, 0, /* device */ 0, 1, 100);
        cluster_run(&cluster, 1, /* device */ 1, 1, 100);
        cluster.fleet->workers[2].device = 1;
        cluster.fleet->workers[3].device = 1;
        queues(&cluster, (int64_t[]){0, 0, 20, 10}); /* It cannot stay, though it is idle there. */
        assert_int_equal(place(&cluster, entered, LEFT, 0), 3);
        queues(&cluster, (int64_t[]){30, 20, 0, 0});
        assert_int_equal(place(&cluster, nowhere, ENTRY, 2), 1);
        /* Of the 2 of that kind, a job has its part with the one that it holds. */
        assert_int_equal(place(&cluster, held, JOIN, 3), i == 0 ? 1 : 0);
        cluster_deinit(&cluster);
    }
    init(&cluster, "fair");
    cluster.graph->tasks[LEFT].run = 1;
    cluster.graph->tasks[RIGHT].run = 1;
    cluster_run(&cluster, 1, /* device */ 1, 1, 100);
    cluster.fleet->workers[2].device = 1;
    cluster.fleet->workers[3].device = 1;
    queues(&cluster, (int64_t[]){9, 9, 0, 700});
    crowd(&cluster, 0, 5); /* What waits for the first kind is nothing to the second: */
    crowd(&cluster, 1, 5); /* 1 job on 2 workers, of which it holds 1. */
    assert_int_equal(place(&cluster, held, RIGHT, 0), 2);
    queues(&cluster, (int64_t[]){0, 0, 9, 700});
    crowd(&cluster, 2, 0); /* 2 jobs on 2 workers: it has its part. */
    assert_int_equal(place(&cluster, held, RIGHT, 0), 3);
    cluster_deinit(&cluster);
}

static void a_worker_that_drains_keeps_nothing(ATTR_UNUSED void **state)
{
    struct cluster cluster;
    init(&cluster, "fifo");
    queues(&cluster, (int64_t[]){10, 9, 8, 7});
    cluster_usable(&cluster, 3, false);
    assert_int_equal(place(&cluster, nowhere, LEFT, 3), 2);
    cluster_queue(&cluster, 3, 0); /* Idle, but not for new work. */
    assert_int_equal(place(&cluster, nowhere, ENTRY, 3), 2);
    for (uint32_t worker = 0; worker < 3; worker++) {
        cluster_usable(&cluster, worker, false);
    }
    assert_int_equal(place(&cluster, nowhere, LEFT, 1), WORKER_NONE);
    cluster_deinit(&cluster);
}

static int64_t key_of(struct cluster *cluster, int64_t arrived_ns, bool continues)
{
    struct job_facts job = cluster->job;
    job.arrived_ns = arrived_ns;
    const struct ready_facts facts = {.job = &job, .items = 1, .continues = continues};
    return policy_order(&cluster->seat, &facts);
}

static void what_continues_comes_first_then_the_oldest_job(ATTR_UNUSED void **state)
{
    const char *const policies[] = {"fifo", "fair"};
    for (size_t i = 0; i < 2; i++) {
        struct cluster cluster;
        init(&cluster, policies[i]);
        assert_true(key_of(&cluster, 1, false) < key_of(&cluster, 2, false));
        assert_true(key_of(&cluster, 900, true) < key_of(&cluster, 1, false));
        /* When the task became ready plays no part. */
        const int64_t key = key_of(&cluster, 7, false);
        cluster.view.now_ns += 12345;
        assert_int_equal(key_of(&cluster, 7, false), key);
        cluster_deinit(&cluster);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_stays_in_its_job),
        cmocka_unit_test(an_entry_stays_with_no_owner),
        cmocka_unit_test(a_join_stays_only_where_it_need_not_wait),
        cmocka_unit_test(idle_workers_are_all_drawn),
        cmocka_unit_test(a_job_holds_no_more_than_its_part),
        cmocka_unit_test(parts_are_rounded_up),
        cmocka_unit_test(each_kind_is_divided_by_itself),
        cmocka_unit_test(a_worker_that_drains_keeps_nothing),
        cmocka_unit_test(what_continues_comes_first_then_the_oldest_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
