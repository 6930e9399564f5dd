/*
 * deadline: what is admitted, what refused clients are told, what is learnt, what is given up.
 *
 * Covers: src/policy/deadline.c src/policy/deadline_learn.c
 */
#include "policy_fixture.h"

#define MS(n) ((int64_t)(n)*1000000)

/* One worker; a workflow of one task of 10 ms, unless a test adds to it first. */
static void open_one(struct cluster *cluster, uint32_t workers, const char *policy)
{
    cluster_init(cluster, 1, workers);
    cluster_run(cluster, 0, 0, 1, MS(10));
    (void)cluster_task(cluster, 0);
    cluster_seal(cluster);
    for (uint32_t i = 0; i < workers; i++) {
        cluster_hold(cluster, i, 0);
    }
    cluster_seat(cluster, policy);
}

static struct admission ask(struct cluster *cluster, int64_t within_ns, bool firm)
{
    cluster->job.deadline_ns = within_ns == 0 ? INT64_MAX : cluster->view.now_ns + within_ns;
    cluster->job.firm = firm;
    cluster->job.arrived_ns = cluster->view.now_ns;
    return policy_admit(&cluster->seat, &cluster->job);
}

static void end(struct cluster *cluster, const struct admission *admission, int64_t latency_ns)
{
    const struct answered_facts facts = {
        .job = &cluster->job,
        .forecast = admission->forecast,
        .latency_ns = latency_ns,
        .completed = true,
    };
    policy_answered(&cluster->seat, &facts);
}

static void end_late(struct cluster *cluster, const struct admission *admission, int64_t latency_ns)
{
    const struct answered_facts facts = {
        .job = &cluster->job,
        .forecast = admission->forecast,
        .latency_ns = latency_ns,
        .late = true,
    };
    policy_answered(&cluster->seat, &facts);
}

static void what_ends_in_time_is_admitted_to_the_nanosecond(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 1, "admit=deadline");
    cluster_queue(&cluster, 0, MS(90));
    assert_true(ask(&cluster, MS(100), true).admitted);
    cluster_deinit(&cluster);
    open_one(&cluster, 1, "admit=deadline");
    cluster_queue(&cluster, 0, MS(90) + 1);
    assert_false(ask(&cluster, MS(100), true).admitted);
    cluster_deinit(&cluster);
}

static void the_least_loaded_worker_counts_and_reservations_do(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 2, "admit=deadline");
    cluster_queue(&cluster, 0, MS(500));
    cluster_queue(&cluster, 1, MS(50));
    assert_true(ask(&cluster, MS(60), true).admitted);
    assert_false(ask(&cluster, MS(59), true).admitted);
    (void)reservations_add(&cluster.view.reservations, 1, MS(5));
    assert_false(ask(&cluster, MS(60), true).admitted);
    cluster_usable(&cluster, 1, false);
    assert_false(ask(&cluster, MS(500), true).admitted);
    assert_true(ask(&cluster, MS(510), true).admitted);
    cluster_deinit(&cluster);
}

static void who_comes_back_when_told_to_is_admitted(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 1, "admit=deadline");
    cluster_queue(&cluster, 0, MS(400));
    const struct admission refused = ask(&cluster, MS(100), true);
    assert_false(refused.admitted);
    assert_int_equal(refused.retry_after_ns, MS(310));
    cluster.view.now_ns += refused.retry_after_ns - 1;
    assert_false(ask(&cluster, MS(100), true).admitted);
    cluster.view.now_ns += 1;
    assert_true(ask(&cluster, MS(100), true).admitted);
    cluster_deinit(&cluster);
}

static void an_idle_worker_takes_what_looks_hopeless(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 1, "admit=deadline");
    assert_true(ask(&cluster, MS(1), true).admitted); /* The profile may be wrong. */
    cluster_queue(&cluster, 0, 1);
    const struct admission refused = ask(&cluster, MS(1), true);
    assert_false(refused.admitted);
    assert_int_equal(refused.retry_after_ns, 1); /* When it is idle again. */
    cluster_deinit(&cluster);
}

static void who_wants_to_be_sure_tries_one_hopeless_job_at_a_time(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 2, "admit=deadline:margin=0.5");
    const struct admission tried = ask(&cluster, MS(19), true); /* 10 ms, of 9.5. */
    assert_true(tried.admitted);
    assert_false(ask(&cluster, MS(19), true).admitted); /* Though both workers are idle. */
    assert_true(ask(&cluster, MS(20), true).admitted);
    cluster_deinit(&cluster);
}

static void what_was_given_up_is_tried_again_the_rarer_the_more_it_was(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 1, "admit=deadline:margin=0.5");
    for (uint32_t pause = 1; pause <= 16; pause *= 4) {
        for (uint32_t i = 1; i < pause; i++) {
            assert_false(ask(&cluster, MS(19), true).admitted);
        }
        const struct admission tried = ask(&cluster, MS(19), true);
        assert_true(tried.admitted);
        end_late(&cluster, &tried, MS(1));
    }
    cluster_deinit(&cluster);
}

static void a_target_bounds_the_wait_where_it_cannot_be_met(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 1, "admit=deadline");
    cluster_queue(&cluster, 0, MS(4));
    assert_true(ask(&cluster, MS(5), false).admitted);
    cluster_queue(&cluster, 0, MS(6));
    assert_false(ask(&cluster, MS(5), false).admitted);
    assert_false(ask(&cluster, MS(5), true).admitted);
    cluster_deinit(&cluster);
    open_one(&cluster, 1, "admit=deadline:strict");
    cluster_queue(&cluster, 0, MS(4));
    assert_false(ask(&cluster, MS(5), false).admitted);
    cluster_deinit(&cluster);
}

static void a_margin_is_kept_of_the_whole_time(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 1, "admit=deadline:margin=0.25");
    cluster_queue(&cluster, 0, MS(65)); /* And 10 to run, of 100. */
    assert_true(ask(&cluster, MS(100), true).admitted);
    cluster_deinit(&cluster);
    open_one(&cluster, 1, "admit=deadline:margin=0.25");
    cluster_queue(&cluster, 0, MS(66));
    const struct admission refused = ask(&cluster, MS(100), true);
    assert_false(refused.admitted);
    assert_int_equal(refused.retry_after_ns, MS(1));
    cluster_deinit(&cluster);
}

static void without_a_deadline_the_wait_is_bounded(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 1, "admit=deadline");
    cluster_queue(&cluster, 0, MS(30000));
    assert_true(ask(&cluster, 0, false).admitted);
    cluster_queue(&cluster, 0, MS(30001));
    assert_false(ask(&cluster, 0, false).admitted);
    cluster_deinit(&cluster);
    open_one(&cluster, 1, "admit=deadline:bound_s=0.5");
    cluster_queue(&cluster, 0, MS(501));
    const struct admission refused = ask(&cluster, 0, false);
    assert_false(refused.admitted);
    assert_int_equal(refused.retry_after_ns, MS(1));
    cluster_deinit(&cluster);
}

/* Where tasks wait at home no row shows them. */
static void what_was_promised_counts_though_no_row_shows_it(void **state)
{
    (void)state;
    struct cluster cluster;
    struct admission last = {0};
    open_one(&cluster, 2, "dispatch=first-fit,admit=deadline");
    assert_true(ask(&cluster, MS(50), true).admitted);
    assert_true(ask(&cluster, MS(50), true).admitted);
    cluster_queue(&cluster, 0, MS(10));
    cluster_queue(&cluster, 1, MS(10));
    uint32_t admitted = 2;
    for (struct admission next = ask(&cluster, MS(50), true); next.admitted;
         next = ask(&cluster, MS(50), true)) {
        last = next;
        admitted++;
    }
    assert_int_equal(admitted, 11); /* Two run, two times four wait, and half a job is rounded. */
    end(&cluster, &last, MS(50));
    assert_true(ask(&cluster, MS(50), true).admitted);
    assert_false(ask(&cluster, MS(50), true).admitted);
    cluster_deinit(&cluster);
    open_one(&cluster, 2, "dispatch=first-fit,admit=deadline");
    cluster.job.items = 1000; /* A long job holds one worker, and no job waits for it. */
    assert_true(ask(&cluster, MS(50), false).admitted);
    cluster_queue(&cluster, 0, MS(10000));
    cluster.job.items = 1;
    assert_true(ask(&cluster, MS(50), true).admitted);
    cluster_deinit(&cluster);
}

static void the_longest_way_through_the_tasks_counts(void **state)
{
    (void)state;
    struct cluster cluster;
    cluster_init(&cluster, 1, 2);
    cluster_run(&cluster, 0, 0, 1, MS(10));
    cluster_run(&cluster, 1, 0, 1, MS(30));
    for (uint32_t i = 0; i < 4; i++) { /* 10, then 10 beside 30, then 10. */
        (void)cluster_task(&cluster, i == 2 ? 1 : 0);
    }
    cluster_edge(&cluster, 0, 1, 0);
    cluster_edge(&cluster, 0, 2, 0);
    cluster_edge(&cluster, 1, 3, 0);
    cluster_edge(&cluster, 2, 3, 0);
    cluster_seal(&cluster);
    cluster_seat(&cluster, "admit=deadline");
    cluster_queue(&cluster, 0, MS(7));
    cluster_queue(&cluster, 1, MS(8));
    assert_false(ask(&cluster, MS(57) - 1, true).admitted);
    assert_true(ask(&cluster, MS(57), true).admitted);
    cluster_deinit(&cluster);
}

static void tasks_have_the_items_that_others_will_give_them(void **state)
{
    (void)state;
    struct cluster cluster;
    cluster_init(&cluster, 1, 1);
    cluster_run(&cluster, 0, 0, 1, MS(10));
    cluster_run(&cluster, 1, 0, 1, MS(10));
    cluster_run(&cluster, 1, 0, 5, MS(40));
    (void)cluster_task(&cluster, 0);
    (void)cluster_task(&cluster, 1);
    cluster_edge(&cluster, 0, 1, 0);
    cluster.graph->tasks[0].gives = (struct items_rule){.low = 2, .high = 8};
    cluster_seal(&cluster);
    cluster_hold(&cluster, 0, 0);
    cluster_hold(&cluster, 0, 1);
    cluster_seat(&cluster, "admit=deadline");
    cluster_queue(&cluster, 0, MS(7));
    assert_false(ask(&cluster, MS(57) - 1, true).admitted);
    assert_true(ask(&cluster, MS(57), true).admitted); /* 10, then five at once. */
    cluster_deinit(&cluster);
}

static void loads_that_are_missing_count(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 1, "admit=deadline");
    cluster_load(&cluster, 0, MS(20));
    cluster_queue(&cluster, 0, MS(5));
    assert_true(ask(&cluster, MS(15), true).admitted);
    struct row row = cluster.board.entries[0].live;
    row.cache.resident = (struct model_set){{0}};
    cluster_write(&cluster, &row);
    assert_false(ask(&cluster, MS(15), true).admitted);
    cluster_deinit(&cluster);
}

static void the_urgent_see_only_what_is_ahead_of_them(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 1, "admit=deadline");
    for (uint32_t i = 0; i < 10; i++) {
        cluster.job.priority = i < 2 ? 5 : 0;
        assert_true(ask(&cluster, MS(1000), true).admitted);
        cluster_queue(&cluster, 0, MS(10) * (i + 1));
    }
    cluster.job.priority = 0;
    assert_false(ask(&cluster, MS(50), true).admitted); /* Behind 100 ms. */
    cluster.job.priority = 5;
    assert_true(ask(&cluster, MS(50), true).admitted); /* Behind 20 ms of its own level. */
    cluster.job.priority = 16;
    assert_true(ask(&cluster, MS(20), true).admitted); /* Behind what runs. */
    assert_false(ask(&cluster, MS(19), true).admitted);
    cluster_deinit(&cluster);
}

static void where_deadlines_order_queues_later_ones_are_not_ahead(void **state)
{
    (void)state;
    struct cluster cluster;
    struct workflow *flows[2];
    open_one(&cluster, 1, "order=edf,admit=deadline");
    flows[0] = cluster.graph;
    flows[1] = cluster.graph;
    cluster.catalogue.workflows = flows;
    cluster.catalogue.workflow_count = 2;
    for (uint32_t i = 0; i < 20; i++) { /* 200 ms of work, spread over the next second. */
        assert_true(ask(&cluster, MS(1000), true).admitted);
    }
    cluster_queue(&cluster, 0, MS(200));
    cluster.job.workflow = 1;
    assert_true(ask(&cluster, MS(100), true).admitted); /* A tenth is due before. */
    cluster_deinit(&cluster);
    open_one(&cluster, 1, "admit=deadline");
    cluster_queue(&cluster, 0, MS(200));
    assert_false(ask(&cluster, MS(100), true).admitted);
    cluster_deinit(&cluster);
}

/* A job that is admitted behind @queue_ns of work takes @latency_ns, @count times. */
static void teach(struct cluster *cluster, int64_t queue_ns, int64_t latency_ns, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        cluster_queue(cluster, 0, queue_ns);
        const struct admission admission = ask(cluster, MS(1000), true);
        assert_true(admission.admitted);
        end(cluster, &admission, latency_ns);
    }
}

static void waits_that_are_shorter_than_shown_let_more_in(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 1, "admit=deadline");
    teach(&cluster, MS(100), MS(60), 2000); /* Batches: half of what the queue adds up to. */
    cluster_queue(&cluster, 0, MS(200));
    assert_true(ask(&cluster, MS(115), true).admitted);
    assert_false(ask(&cluster, MS(105), true).admitted);
    cluster_deinit(&cluster);
    open_one(&cluster, 1, "admit=deadline:learn=0");
    teach(&cluster, MS(100), MS(60), 2000);
    cluster_queue(&cluster, 0, MS(200));
    assert_false(ask(&cluster, MS(115), true).admitted);
    cluster_deinit(&cluster);
}

static void few_late_jobs_weigh_more_than_many_in_time(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 1, "admit=deadline");
    cluster_queue(&cluster, 0, MS(90));
    struct admission admission = ask(&cluster, MS(100), true);
    end(&cluster, &admission, MS(190));                  /* Waited for twice as long as expected. */
    assert_false(ask(&cluster, MS(189), true).admitted); /* It is expected from now on. */
    assert_true(ask(&cluster, MS(191), true).admitted);
    cluster_deinit(&cluster);
}

static void who_is_given_up_was_late_and_who_leaves_early_says_nothing(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 1, "admit=deadline");
    cluster_queue(&cluster, 0, MS(80));
    struct admission admission = ask(&cluster, MS(100), true);
    struct answered_facts facts = {
        .job = &cluster.job, .forecast = admission.forecast, .latency_ns = MS(20), .cut = true};
    policy_answered(&cluster.seat, &facts);
    admission = ask(&cluster, MS(90), true); /* As before. */
    assert_true(admission.admitted);
    facts = (struct answered_facts){
        .job = &cluster.job, .forecast = admission.forecast, .latency_ns = MS(20), .late = true};
    policy_answered(&cluster.seat, &facts);
    assert_false(ask(&cluster, MS(90), true).admitted);
    cluster_deinit(&cluster);
}

/* How many are refused before one is admitted, within @within_ns and behind 50 ms of work. */
static uint32_t count_refusals(struct cluster *cluster, int64_t within_ns)
{
    uint32_t refusals = 0;
    cluster_queue(cluster, 0, MS(50));
    while (!ask(cluster, within_ns, true).admitted) {
        refusals++;
        assert_true(refusals < 5000);
    }
    return refusals;
}

/* One job has to try: a model that is not in memory would never get there. */
static void who_is_always_refused_is_tried_now_and_then(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 1, "admit=deadline");
    assert_int_equal(count_refusals(&cluster, MS(20)), 63);
    assert_int_equal(count_refusals(&cluster, MS(20)), 127);
    assert_int_equal(count_refusals(&cluster, MS(20)), 255);
    assert_int_equal(count_refusals(&cluster, MS(2000)), 0); /* As it should be. */
    assert_int_equal(count_refusals(&cluster, MS(20)), 63);
    cluster_deinit(&cluster);
}

static void bad_experience_fades_where_everything_is_refused(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 1, "admit=deadline");
    teach(&cluster, MS(50), MS(800), 8); /* As if a worker had stood still. */
    assert_int_equal(count_refusals(&cluster, MS(400)), 63);
    uint32_t tries = 1;
    while (count_refusals(&cluster, MS(400)) > 0) {
        tries++;
        assert_true(tries < 8);
    }
    assert_true(tries > 1);
    cluster_deinit(&cluster);
}

static bool is_hopeless(struct cluster *cluster, uint32_t task, int64_t left_ns, bool firm)
{
    struct job_facts job = cluster->job;
    job.deadline_ns = cluster->view.now_ns + left_ns;
    job.firm = firm;
    const struct ready_facts facts = {
        .job = &job, .task = task, .items = 1, .ready_ns = cluster->view.now_ns - 1};
    return policy_hope(&cluster->seat, &facts) == HOPE_NONE;
}

/* More jobs than workers: each may be in the way of another. */
static void crowd(struct cluster *cluster)
{
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(ask(cluster, /* within_ns */ 0, false).admitted);
    }
}

static void hopeless_is_what_the_fastest_rest_makes_late(void **state)
{
    (void)state;
    struct cluster cluster;
    cluster_init(&cluster, 1, 1);
    cluster_run(&cluster, 0, 0, 1, MS(10));
    cluster_run(&cluster, 0, 1, 1, MS(4)); /* On a device that the cluster has. */
    (void)cluster_task(&cluster, 0);
    (void)cluster_task(&cluster, 0);
    cluster_edge(&cluster, 0, 1, 0);
    cluster_seal(&cluster);
    cluster_seat(&cluster, "admit=deadline");
    assert_false(is_hopeless(&cluster, 0, MS(8), true));
    assert_true(is_hopeless(&cluster, 0, MS(8) - 1, true));
    assert_false(is_hopeless(&cluster, 0, MS(8) - 1, false)); /* A target: late is late. */
    assert_false(is_hopeless(&cluster, 1, MS(4), true));
    assert_true(is_hopeless(&cluster, 1, MS(4) - 1, true));
    cluster_deinit(&cluster);
    open_one(&cluster, 1, "admit=deadline:give_up=0");
    assert_false(is_hopeless(&cluster, 0, -1, true));
    cluster_deinit(&cluster);
    open_one(&cluster, 1, "admit=deadline:margin=0.5");
    assert_false(is_hopeless(&cluster, 0, MS(9), true)); /* It is in the way of no other job. */
    crowd(&cluster);
    assert_true(is_hopeless(&cluster, 0, MS(9), true));
    cluster_deinit(&cluster);
}

static void what_finds_an_idle_worker_is_tried_unless_its_time_is_over(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 1, "admit=deadline");
    struct job_facts job = cluster.job;
    job.firm = true;
    job.deadline_ns = CLUSTER_NOW_NS + 1;
    struct ready_facts facts = {.job = &job, .items = 1, .ready_ns = CLUSTER_NOW_NS};
    assert_false(policy_hope(&cluster.seat, &facts) == HOPE_NONE);
    job.deadline_ns = CLUSTER_NOW_NS - 1;
    assert_true(policy_hope(&cluster.seat, &facts) == HOPE_NONE);
    cluster_deinit(&cluster);
}

static void giving_up_is_doubted_the_more_often_it_happens(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 1, "admit=deadline");
    for (uint32_t i = 0; i < 4; i++) { /* The profile is not put to the test. */
        assert_true(is_hopeless(&cluster, 0, MS(9), true));
        const struct admission admission = ask(&cluster, MS(9), true);
        end_late(&cluster, &admission, MS(1));
    }
    assert_false(is_hopeless(&cluster, 0, MS(5), true));
    assert_true(is_hopeless(&cluster, 0, MS(5) - 1, true));
    const struct admission admission = ask(&cluster, MS(20), true);
    end(&cluster, &admission, MS(20)); /* It was right. */
    assert_true(is_hopeless(&cluster, 0, MS(9), true));
    cluster_deinit(&cluster);
}

static void nearly_late_jobs_make_it_careful_with_all_workflows(void **state)
{
    (void)state;
    struct cluster cluster;
    open_one(&cluster, 1, "admit=deadline:margin=0.1");
    struct admission admission = ask(&cluster, MS(40), true);
    cluster_queue(&cluster, 0, MS(20));
    cluster.job.workflow = 1;
    assert_true(ask(&cluster, MS(50), true).admitted); /* 20 and 10 to run, of 45. */
    cluster.job.workflow = 0;
    end(&cluster, &admission, MS(38)); /* In time, but not by much. */
    cluster.job.workflow = 1;
    assert_false(ask(&cluster, MS(50), true).admitted);
    for (uint32_t i = 0; i < 32; i++) { /* It fades with jobs that are well in time. */
        admission = ask(&cluster, MS(500), true);
        assert_true(admission.admitted);
        end(&cluster, &admission, MS(30));
    }
    assert_true(ask(&cluster, MS(50), true).admitted);
    cluster_deinit(&cluster);
    open_one(&cluster, 1, "admit=deadline:margin=0.1");
    admission = ask(&cluster, MS(80), true);
    cluster_queue(&cluster, 0, MS(20));
    end(&cluster, &admission, MS(38)); /* The same, well in time. */
    cluster.job.workflow = 1;
    assert_true(ask(&cluster, MS(50), true).admitted);
    cluster_deinit(&cluster);
}

/* How many jobs with a deadline of 100 ms are admitted at once, while rows show 10 ms of work. */
static uint32_t count_admitted(const char *policy)
{
    struct cluster cluster;
    uint32_t count = 0;
    open_one(&cluster, 1, policy);
    cluster_queue(&cluster, 0, MS(10));
    while (count < 100 && ask(&cluster, MS(100), true).admitted) {
        count++;
    }
    cluster_deinit(&cluster);
    return count;
}

static void who_wants_to_be_sure_counts_what_no_row_shows(void **state)
{
    (void)state;
    assert_int_equal(count_admitted("place=compass,admit=deadline"), 100);
    assert_in_range(count_admitted("place=compass,admit=deadline:margin=0.1"), 8, 10);
}

/* Of a job whose tasks are placed one by one rows show the first. */
static void what_is_not_planned_counts_though_no_row_shows_it(void **state)
{
    (void)state;
    assert_int_equal(count_admitted("place=weft,admit=deadline"), 11);
}

/* Five of 20 ms each: when all workers have one in hand, another one waits for half of it. */
static void a_job_of_many_tasks_that_is_in_hand_is_half_done(void **state)
{
    (void)state;
    struct cluster cluster;
    uint32_t count = 0;
    cluster_init(&cluster, 1, 1);
    cluster_run(&cluster, 0, 0, 1, MS(10));
    (void)cluster_task(&cluster, 0);
    (void)cluster_task(&cluster, 0);
    cluster_edge(&cluster, 0, 1, 0);
    cluster_seal(&cluster);
    cluster_seat(&cluster, "place=weft,admit=deadline");
    cluster_queue(&cluster, 0, MS(10));
    while (count < 100 && ask(&cluster, MS(100), true).admitted) {
        count++;
    }
    assert_int_equal(count, 5);
    cluster_deinit(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ends_in_time_is_admitted_to_the_nanosecond),
        cmocka_unit_test(the_least_loaded_worker_counts_and_reservations_do),
        cmocka_unit_test(who_comes_back_when_told_to_is_admitted),
        cmocka_unit_test(an_idle_worker_takes_what_looks_hopeless),
        cmocka_unit_test(who_wants_to_be_sure_tries_one_hopeless_job_at_a_time),
        cmocka_unit_test(what_was_given_up_is_tried_again_the_rarer_the_more_it_was),
        cmocka_unit_test(a_target_bounds_the_wait_where_it_cannot_be_met),
        cmocka_unit_test(a_margin_is_kept_of_the_whole_time),
        cmocka_unit_test(without_a_deadline_the_wait_is_bounded),
        cmocka_unit_test(what_was_promised_counts_though_no_row_shows_it),
        cmocka_unit_test(the_longest_way_through_the_tasks_counts),
        cmocka_unit_test(tasks_have_the_items_that_others_will_give_them),
        cmocka_unit_test(loads_that_are_missing_count),
        cmocka_unit_test(the_urgent_see_only_what_is_ahead_of_them),
        cmocka_unit_test(where_deadlines_order_queues_later_ones_are_not_ahead),
        cmocka_unit_test(waits_that_are_shorter_than_shown_let_more_in),
        cmocka_unit_test(few_late_jobs_weigh_more_than_many_in_time),
        cmocka_unit_test(who_is_given_up_was_late_and_who_leaves_early_says_nothing),
        cmocka_unit_test(who_is_always_refused_is_tried_now_and_then),
        cmocka_unit_test(bad_experience_fades_where_everything_is_refused),
        cmocka_unit_test(hopeless_is_what_the_fastest_rest_makes_late),
        cmocka_unit_test(what_finds_an_idle_worker_is_tried_unless_its_time_is_over),
        cmocka_unit_test(giving_up_is_doubted_the_more_often_it_happens),
        cmocka_unit_test(nearly_late_jobs_make_it_careful_with_all_workflows),
        cmocka_unit_test(who_wants_to_be_sure_counts_what_no_row_shows),
        cmocka_unit_test(what_is_not_planned_counts_though_no_row_shows_it),
        cmocka_unit_test(a_job_of_many_tasks_that_is_in_hand_is_half_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
