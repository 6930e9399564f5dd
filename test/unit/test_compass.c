/*
 * compass: what the published rule gets wrong, one test a flaw. Each asks the corrected
 * policy and compass:original the same question and expects different answers. Jitter is
 * off where a single answer is checked.
 *
 * Covers: src/policy/compass_cache.c, src/policy/compass_cost.c, src/policy/compass_siblings.c
 */
#include "policy/demand.h"
#include "policy_fixture.h"

enum { A = 1, B = 2, C = 3, PLANNERS = 64 };

#define CORRECTED "compass:jitter=0"
#define ORIGINAL  "compass:original"

#define LOAD_NS 1000
#define BYTES   100
#define RUN_NS  6400
#define HUGE_NS (INT64_C(1) << 40)
#define MEMORY  1000

/* Workers with memory for ten models, all of it free; models that load and run alike. */
static void init(struct cluster *cluster, uint32_t node_count)
{
    cluster_init(cluster, node_count, 1);
    for (uint32_t model = A; model <= C; model++) {
        cluster_load(cluster, model, LOAD_NS);
        cluster->profile->models[model].resident_bytes = BYTES;
        cluster_run(cluster, model, 0, 1, RUN_NS);
    }
    for (uint32_t worker = 0; worker < node_count; worker++) {
        struct row row = cluster->board.entries[worker].live;
        cluster->fleet->workers[worker].memory_bytes = MEMORY;
        row.cache.free_bytes = MEMORY;
        cluster_write(cluster, &row);
    }
    cluster->fleet->network.link_bytes_per_s = 0; /* Transfers take no time. */
}

/* What runs and waits on @worker, and what is promised or loading on top. */
static void busy(struct cluster *cluster, uint32_t worker, int64_t run_ns, int64_t promised_ns)
{
    struct row row = cluster->board.entries[worker].live;
    row.load.run_ns = run_ns;
    row.load.queued_ns = run_ns + promised_ns;
    cluster_write(cluster, &row);
}

static void fill(struct cluster *cluster, uint32_t worker)
{
    struct row row = cluster->board.entries[worker].live;
    row.cache.free_bytes = 0;
    cluster_write(cluster, &row);
}

/* One task, planned: its worker. */
static uint32_t plan_one(struct cluster *cluster, const char *text)
{
    uint16_t placement[1];
    cluster_seat(cluster, text);
    cluster_place_job(cluster, placement);
    return placement[0];
}

static void one_task(struct cluster *cluster, uint32_t model)
{
    (void)cluster_task(cluster, model);
    cluster_seal(cluster);
}

/* Ask for a task with one input at worker 0, or a join gathered there. */
static uint32_t hop(struct cluster *cluster, const char *text, uint32_t task, uint32_t planned)
{
    const struct input_facts input = {.worker = 0, .bytes = 0};
    const struct task_facts facts = {
        .job = &cluster->job,
        .task = task,
        .items = 1,
        .planned = planned,
        .gathered = workflow_is_join(cluster->graph, task),
        .input_count = 1,
        .inputs = &input,
    };
    cluster_seat(cluster, text);
    return policy_place_task(&cluster->seat, &facts);
}

static void chain_of_two(struct cluster *cluster)
{
    (void)cluster_task(cluster, A);
    (void)cluster_task(cluster, B);
    cluster_edge(cluster, 0, 1, 0);
    cluster_seal(cluster);
}

static void queues_count_promises_and_loads(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, 2);
    one_task(&cluster, A);
    cluster_hold(&cluster, 0, A);
    cluster_hold(&cluster, 1, A);
    busy(&cluster, 0, 10, 500); /* Of which the original sees 10, */
    busy(&cluster, 1, 400, 0);  /* and here 400. */
    assert_int_equal(plan_one(&cluster, CORRECTED), 1);
    assert_int_equal(plan_one(&cluster, ORIGINAL), 0);
    cluster_deinit(&cluster);
}

static void own_plans_count_before_rows_show_them(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, 3);
    one_task(&cluster, A);
    cluster_hold(&cluster, 1, A);
    cluster_hold(&cluster, 2, A);
    busy(&cluster, 0, HUGE_NS, 0);
    assert_int_not_equal(reservations_add(&cluster.view.reservations, 1, RUN_NS), 0);
    assert_int_equal(plan_one(&cluster, CORRECTED), 2);
    assert_int_equal(plan_one(&cluster, ORIGINAL), 1);
    cluster_deinit(&cluster);
}

static void a_load_hides_behind_the_queue(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, 2);
    one_task(&cluster, A);
    busy(&cluster, 0, LOAD_NS, 0); /* Free when the load ends. */
    busy(&cluster, 1, LOAD_NS + 500, 0);
    cluster_hold(&cluster, 1, A);
    assert_int_equal(plan_one(&cluster, CORRECTED), 0);
    assert_int_equal(plan_one(&cluster, ORIGINAL), 1); /* Counts queue and load one by one. */
    cluster_deinit(&cluster);
}

/* As a load, but nothing hides it. */
static void a_longer_first_run_does_not_hide_behind_the_queue(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, 2);
    one_task(&cluster, A);
    busy(&cluster, 0, LOAD_NS, 0);
    busy(&cluster, 1, LOAD_NS + 500, 0);
    cluster_hold(&cluster, 1, A);
    cluster.profile->models[A].curves[0].first_run_ns = 400;
    assert_int_equal(plan_one(&cluster, CORRECTED), 0);
    cluster.profile->models[A].curves[0].first_run_ns = 1200; /* Of which half is forgiven. */
    assert_int_equal(plan_one(&cluster, CORRECTED), 1);
    cluster_deinit(&cluster);
}

/* Let two workers hold what is used often and seldom, and place @count jobs, a run apart. */
static void use_often(struct cluster *cluster, uint32_t count)
{
    uint16_t placement[1];
    for (uint32_t i = 0; i < count; i++) {
        cluster->view.now_ns += RUN_NS;
        cluster_place_job(cluster, placement);
    }
}

/* C has to be loaded, to one of two idle workers that are full: B, or A, which is used often. */
static void what_is_used_often_is_kept(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, 2);
    one_task(&cluster, A);
    cluster_hold(&cluster, 0, A);
    cluster_hold(&cluster, 1, B);
    fill(&cluster, 0);
    fill(&cluster, 1);
    cluster_seat(&cluster, "compass:jitter=0:keep=1");
    use_often(&cluster, 20);
    struct workflow_task *task = (struct workflow_task *)&cluster.graph->tasks[0];
    task->run = C;
    task->models[0] = C;
    struct demand *demand = cluster.seat.inputs[ROLE_PLACE].state;
    for (int64_t i = 0; i < 4; i++) { /* B was asked for long ago, and loads are rare. */
        demand_note_load(demand, cluster.view.now_ns - (4 - i) * 100 * RUN_NS);
    }
    uint16_t placement[1];
    cluster_place_job(&cluster, placement);
    assert_int_equal(placement[0], 1);
    cluster_seat(&cluster, CORRECTED); /* Which does not look: the first of two. */
    cluster_place_job(&cluster, placement);
    assert_int_equal(placement[0], 0);
    cluster_deinit(&cluster);
}

/* A chain of one model: its second task need not load again what the first one brings. */
static void a_model_planned_for_this_job_is_there(void **state)
{
    (void)state;
    struct cluster cluster;
    uint16_t placement[2];
    init(&cluster, 2);
    (void)cluster_task(&cluster, A);
    (void)cluster_task(&cluster, A);
    cluster_edge(&cluster, 0, 1, 0);
    cluster_seal(&cluster);
    cluster_load(&cluster, A, 10 * RUN_NS);
    busy(&cluster, 0, 11 * RUN_NS, 0);
    cluster_seat(&cluster, CORRECTED);
    cluster_place_job(&cluster, placement);
    assert_int_equal(placement[0], 1);
    assert_int_equal(placement[1], 1);
    cluster_seat(&cluster, ORIGINAL);
    cluster_place_job(&cluster, placement);
    assert_int_equal(placement[0], 1);
    assert_int_equal(placement[1], 0); /* A load on either, it thinks. */
    cluster_deinit(&cluster);
}

static void models_past_the_64th_are_seen(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, 2);
    profile_destroy(cluster.profile);
    cluster.profile = profile_create(MODELS_MAX);
    for (uint32_t model = 60; model < MODELS_MAX; model += 65) { /* 60, 125, 190, 255. */
        cluster_load(&cluster, model, LOAD_NS);
        cluster_run(&cluster, model, 0, 1, RUN_NS);
        cluster_hold(&cluster, 1, model);
    }
    for (uint32_t model = 60; model < MODELS_MAX; model += 65) {
        cluster.graph = model == 60 ? cluster.graph : workflow_create("graph");
        cluster.job.graph = cluster.graph;
        one_task(&cluster, model);
        assert_int_equal(plan_one(&cluster, CORRECTED), 1);
        assert_int_equal(plan_one(&cluster, ORIGINAL), model < 64 ? 1 : 0);
        workflow_destroy(cluster.graph);
    }
    cluster.graph = NULL;
    cluster_deinit(&cluster);
}

static void run_times_are_those_of_the_device(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, 2);
    one_task(&cluster, A);
    cluster.fleet->workers[1].device = 1;
    cluster_run(&cluster, A, 1, 1, RUN_NS / 4);
    busy(&cluster, 1, RUN_NS / 2, 0); /* Starts later there, and ends earlier. */
    assert_int_equal(plan_one(&cluster, CORRECTED), 1);
    assert_int_equal(plan_one(&cluster, ORIGINAL), 0);
    cluster_deinit(&cluster);
}

static void a_device_where_it_cannot_run_is_left_out(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, 2);
    one_task(&cluster, A);
    busy(&cluster, 1, HUGE_NS, 0);
    cluster.fleet->workers[0].device = 1; /* It was not measured there. */
    assert_int_equal(plan_one(&cluster, CORRECTED), 1);
    assert_int_equal(plan_one(&cluster, ORIGINAL), 1);
    assert_int_equal(hop(&cluster, CORRECTED, 0, WORKER_NONE), 1);
    cluster_usable(&cluster, 1, false); /* What could run it is gone: none has it. */
    assert_int_equal(plan_one(&cluster, CORRECTED), PLACEMENT_UNBOUND);
    assert_int_equal(hop(&cluster, CORRECTED, 0, WORKER_NONE), WORKER_NONE);
    cluster_usable(&cluster, 1, true);
    cluster.fleet->workers[0].device = 0;
    assert_int_equal(plan_one(&cluster, CORRECTED), 0);
    cluster.fleet->workers[0].memory_bytes = BYTES - 1; /* It does not fit. */
    assert_int_equal(plan_one(&cluster, CORRECTED), 1);
    assert_int_equal(plan_one(&cluster, ORIGINAL), 1);
    cluster.fleet->workers[0].memory_bytes = BYTES;
    cluster.profile->models[A].workspace_bytes = 1; /* Nor with what it needs to run. */
    assert_int_equal(plan_one(&cluster, CORRECTED), 1);
    assert_int_equal(hop(&cluster, CORRECTED, 0, WORKER_NONE), 1);
    cluster.fleet->workers[1].memory_bytes = 0; /* Nowhere. */
    assert_int_equal(plan_one(&cluster, CORRECTED), PLACEMENT_UNBOUND);
    assert_int_equal(hop(&cluster, CORRECTED, 0, WORKER_NONE), WORKER_NONE);
    cluster_deinit(&cluster);
}

/* Nodes that see the same idle workers and nothing of each other. */
static uint32_t most_on_one_worker(struct cluster *cluster, const char *text)
{
    uint32_t counts[8] = {0};
    uint32_t most = 0;
    for (uint32_t planner = 0; planner < PLANNERS; planner++) {
        uint16_t placement[1];
        cluster_seat(cluster, text);
        cluster->seat.rng = rng_stream(7, RNG_POLICY, planner);
        cluster_place_job(cluster, placement);
        counts[placement[0]]++;
        most = counts[placement[0]] > most ? counts[placement[0]] : most;
    }
    return most;
}

static void planners_do_not_herd_on_one_row(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, 8);
    cluster_load(&cluster, A, HUGE_NS / 8);
    cluster.profile->models[A].curves[0].run_one_ns = HUGE_NS;
    one_task(&cluster, A);
    for (uint32_t worker = 0; worker < 8; worker++) {
        cluster_hold(&cluster, worker, A);
    }
    assert_int_equal(most_on_one_worker(&cluster, ORIGINAL), PLANNERS);
    assert_in_range(most_on_one_worker(&cluster, "compass"), PLANNERS / 8, PLANNERS / 3);
    cluster_deinit(&cluster);
}

static void idle_machines_with_free_memory_are_used(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, 2);
    one_task(&cluster, A);
    cluster_hold(&cluster, 0, A);
    busy(&cluster, 0, LOAD_NS * 8 / 10, 0); /* Waiting is shorter than loading, this time. */
    assert_int_equal(plan_one(&cluster, CORRECTED), 1);
    assert_int_equal(plan_one(&cluster, ORIGINAL), 0);
    busy(&cluster, 0, LOAD_NS * 4 / 10, 0);
    assert_int_equal(plan_one(&cluster, CORRECTED), 0);
    busy(&cluster, 0, LOAD_NS * 8 / 10, 0);
    fill(&cluster, 1); /* Not if others must leave for it. */
    assert_int_equal(plan_one(&cluster, CORRECTED), 0);
    cluster_deinit(&cluster);
}

static void an_eviction_costs_more_the_longer_the_queues(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, 3);
    one_task(&cluster, A);
    cluster_hold(&cluster, 0, A);
    fill(&cluster, 1);
    fill(&cluster, 2);
    cluster_load(&cluster, A, 64000);
    busy(&cluster, 0, 64000 * 3, 0); /* 3 loads, here, against 1 + 1 there, and 10 elsewhere. */
    assert_int_equal(plan_one(&cluster, "compass:jitter=0:crowd=0"), 1);
    assert_int_equal(plan_one(&cluster, CORRECTED), 0);
    cluster_deinit(&cluster);
}

/* The planned worker is busy, and the idle one must evict for the task. */
static void adjustment_pays_for_what_it_destroys(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, 2);
    chain_of_two(&cluster);
    cluster_hold(&cluster, 0, B);
    fill(&cluster, 1);
    cluster_load(&cluster, B, 2 * RUN_NS);
    busy(&cluster, 0, 5 * RUN_NS, 0);
    assert_int_equal(hop(&cluster, ORIGINAL, 1, 0), 1); /* 5 against 4. */
    assert_int_equal(hop(&cluster, CORRECTED, 1, 0), 0);
    busy(&cluster, 0, 50 * RUN_NS, 0); /* Whatever it costs. */
    assert_int_equal(hop(&cluster, CORRECTED, 1, 0), 1);
    cluster_deinit(&cluster);
}

static void a_task_leaves_for_an_idle_worker_that_has_the_model(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, 4);
    chain_of_two(&cluster);
    cluster_hold(&cluster, 0, B);
    cluster_hold(&cluster, 3, B);
    busy(&cluster, 0, RUN_NS, 0); /* Below the published threshold of 1.5. */
    assert_int_equal(hop(&cluster, CORRECTED, 1, 0), 3);
    assert_int_equal(hop(&cluster, ORIGINAL, 1, 0), 0);
    assert_int_equal(hop(&cluster, "compass:jitter=0:adjust=0", 1, 0), 0);
    cluster_deinit(&cluster);
}

static void its_own_promise_does_not_drive_a_task_away(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, 2);
    chain_of_two(&cluster);
    cluster_hold(&cluster, 0, B);
    cluster_hold(&cluster, 1, B);
    busy(&cluster, 0, 0, RUN_NS);
    assert_int_equal(hop(&cluster, CORRECTED, 1, 0), 0);
    busy(&cluster, 0, 0, RUN_NS * 3 / 2); /* Little else. */
    assert_int_equal(hop(&cluster, CORRECTED, 1, 0), 0);
    busy(&cluster, 0, 0, 6 * RUN_NS); /* Others are promised, too. */
    assert_int_equal(hop(&cluster, CORRECTED, 1, 0), 1);
    cluster_deinit(&cluster);
}

enum { BRANCHES = 8, JOIN = BRANCHES + 1 };

/* One task, eight that wait for it alone, and one that waits for all of those. */
static void fork_of_eight(struct cluster *cluster, uint16_t *placement_out)
{
    cluster_hold(cluster, 0, B);
    cluster_hold(cluster, 1, B);
    (void)cluster_task(cluster, A);
    for (uint32_t i = 1; i <= BRANCHES; i++) {
        (void)cluster_task(cluster, B);
        cluster_edge(cluster, 0, i, 0);
        placement_out[i] = (uint16_t)(1 - i % 2); /* In turn, worker 0 first. */
    }
    (void)cluster_task(cluster, C);
    for (uint32_t i = 1; i <= BRANCHES; i++) {
        cluster_edge(cluster, i, JOIN, 0);
    }
    placement_out[0] = 0;
    placement_out[JOIN] = 1;
    cluster_seal(cluster);
}

/* Where branch @task goes, by the plan as it stands. */
static uint32_t fork_hop(
    struct cluster *cluster, const char *text, const uint16_t *placement, uint32_t task)
{
    const struct input_facts input = {.worker = 0, .bytes = 0};
    const struct task_facts facts = {
        .job = &cluster->job,
        .placement = placement,
        .task = task,
        .items = 1,
        .planned = placement[task],
        .input_count = 1,
        .inputs = &input,
    };
    cluster_seat(cluster, text);
    return policy_place_task(&cluster->seat, &facts);
}

/* The producer ends on worker 0 with nothing else to do anywhere: a balanced plan stands. */
static void a_fork_on_idle_workers_stays_as_planned(void **state)
{
    (void)state;
    uint16_t placement[JOIN + 1];
    uint32_t moved = 0;
    struct cluster cluster;
    init(&cluster, 2);
    fork_of_eight(&cluster, placement);
    for (uint32_t i = 1; i <= BRANCHES; i++) {
        const int64_t sent = (i - 1) / 2 + (i - 1) % 2; /* To worker 0 before it. */
        busy(&cluster, 0, sent * RUN_NS, (BRANCHES / 2 - sent) * RUN_NS);
        busy(&cluster, 1, 0, (BRANCHES / 2 + 1) * RUN_NS);
        assert_int_equal(fork_hop(&cluster, CORRECTED, placement, i), placement[i]);
        moved += fork_hop(&cluster, ORIGINAL, placement, i) != placement[i];
        busy(&cluster, 1, 0, RUN_NS); /* As if most of it had been done by now. */
        assert_int_equal(fork_hop(&cluster, CORRECTED, placement, i), placement[i]);
    }
    assert_true(moved > 0); /* The published rule does not see those on worker 1. */
    cluster_deinit(&cluster);
}

/* A plan that puts all of it on one worker is mended, and no further than to a balance. */
static void a_fork_leaves_a_crowded_worker_until_both_are_even(void **state)
{
    (void)state;
    uint16_t placement[JOIN + 1];
    uint32_t moved = 0;
    struct cluster cluster;
    init(&cluster, 2);
    fork_of_eight(&cluster, placement);
    for (uint32_t i = 1; i <= BRANCHES; i++) {
        placement[i] = 0;
    }
    for (uint32_t i = 1; i <= BRANCHES; i++) {
        const int64_t stayed = i - 1 - moved;
        busy(&cluster, 0, stayed * RUN_NS, (BRANCHES + 1 - i) * RUN_NS);
        placement[i] = (uint16_t)fork_hop(&cluster, CORRECTED, placement, i);
        moved += placement[i];
    }
    assert_in_range(moved, BRANCHES / 2 - 1, BRANCHES / 2);
    cluster_deinit(&cluster);
}

/* It is no sibling of its own: three others here are no more than three there. */
static void a_branch_does_not_count_itself(void **state)
{
    (void)state;
    uint16_t placement[JOIN + 1];
    struct cluster cluster;
    init(&cluster, 2);
    fork_of_eight(&cluster, placement);
    placement[BRANCHES] = PLACEMENT_UNBOUND;
    busy(&cluster, 0, 0, 4 * RUN_NS);
    busy(&cluster, 1, 0, 3 * RUN_NS);
    assert_int_equal(fork_hop(&cluster, CORRECTED, placement, 1), 0);
    cluster_deinit(&cluster);
}

/* Two siblings on an otherwise idle worker, and a little more than one run here. */
static uint32_t hop_beside_two(uint32_t worker_count)
{
    uint16_t placement[JOIN + 1];
    struct cluster cluster;
    init(&cluster, worker_count);
    fork_of_eight(&cluster, placement);
    for (uint32_t i = 1; i <= BRANCHES; i++) {
        placement[i] = 2;
    }
    for (uint32_t worker = 2; worker < worker_count; worker++) {
        busy(&cluster, worker, HUGE_NS, 0);
    }
    placement[1] = 0;
    placement[2] = 1;
    placement[3] = 1;
    busy(&cluster, 0, RUN_NS + RUN_NS / 4, RUN_NS);
    busy(&cluster, 1, 0, 2 * RUN_NS);
    const uint32_t worker = fork_hop(&cluster, CORRECTED, placement, 1);
    cluster_deinit(&cluster);
    return worker;
}

/* With a worker for each, branches give way to each other as other promises do. */
static void only_a_fork_with_more_branches_than_workers_waits_for_itself(void **state)
{
    (void)state;
    assert_int_equal(hop_beside_two(/* worker_count */ BRANCHES), 1);
    assert_int_equal(hop_beside_two(/* worker_count */ BRANCHES - 1), 0);
}

/* Work of other jobs that is only promised still gives way to a task that is ready. */
static void what_others_have_promised_counts_less(void **state)
{
    (void)state;
    uint16_t placement[JOIN + 1];
    struct cluster cluster;
    init(&cluster, 2);
    fork_of_eight(&cluster, placement);
    placement[2] = 0; /* Five and three, */
    busy(&cluster, 0, 0, 5 * RUN_NS);
    busy(&cluster, 1, 0, 5 * RUN_NS); /* and two of another job. */
    assert_int_equal(fork_hop(&cluster, CORRECTED, placement, 1), 1);
    busy(&cluster, 1, 0, 10 * RUN_NS); /* Seven count for more than one. */
    assert_int_equal(fork_hop(&cluster, CORRECTED, placement, 1), 0);
    cluster_deinit(&cluster);
}

static void joins_move_from_their_rendezvous(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, 2);
    (void)cluster_task(&cluster, A);
    (void)cluster_task(&cluster, B);
    (void)cluster_task(&cluster, C);
    cluster_edge(&cluster, 0, 2, 0);
    cluster_edge(&cluster, 1, 2, 0);
    cluster_seal(&cluster);
    busy(&cluster, 0, HUGE_NS, 0);
    assert_int_equal(hop(&cluster, CORRECTED, 2, 0), 1);
    assert_int_equal(hop(&cluster, ORIGINAL, 2, 0), 0);
    cluster_deinit(&cluster);
}

static void what_was_planned_on_a_lost_worker_is_planned_again(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, 3);
    chain_of_two(&cluster);
    cluster_hold(&cluster, 2, B);
    cluster_usable(&cluster, 0, false);
    assert_int_equal(hop(&cluster, CORRECTED, 1, 0), 2);
    assert_int_equal(hop(&cluster, CORRECTED, 1, WORKER_NONE), 2);
    cluster_usable(&cluster, 2, false);
    assert_int_equal(hop(&cluster, CORRECTED, 1, 0), 1);
    cluster_usable(&cluster, 1, false);
    assert_int_equal(hop(&cluster, CORRECTED, 1, 0), WORKER_NONE);
    cluster_deinit(&cluster);
}

static uint32_t victim_of(struct cluster *cluster, struct cache_entry *entries, uint32_t count)
{
    const struct cache_facts facts = {.wanted_bytes = 1, .count = count, .entries = entries};
    return policy_victim(&cluster->seat, &facts);
}

static void the_model_needed_last_leaves(void **state)
{
    (void)state;
    struct cluster cluster;
    struct cache_entry entries[] = {
        {.model = 0, .next_use = 3, .bytes = 9, .load_ns = 100, .idle = 50},
        {.model = 1, .next_use = 9, .bytes = 9, .load_ns = 100, .idle = 40},
        {.model = 2, .next_use = NEXT_USE_NEVER, .bytes = 9, .load_ns = 900, .idle = 30},
        {.model = 3, .next_use = NEXT_USE_NEVER, .bytes = 9, .load_ns = 800, .idle = 30},
        {.model = 4, .next_use = NEXT_USE_NEVER, .bytes = 9, .load_ns = 800, .idle = 30},
    };
    cluster_init(&cluster, 1, 1);
    cluster_seat(&cluster, "compass");
    assert_int_equal(victim_of(&cluster, entries, 5), 3); /* Unwanted, cheapest, first. */
    assert_int_equal(victim_of(&cluster, entries, 3), 2); /* Unwanted, whatever it costs. */
    assert_int_equal(victim_of(&cluster, entries, 2), 1); /* Farthest. */
    entries[1].load_ns = 1000; /* 100 / 4 against 1000 / 10: what it costs counts. */
    assert_int_equal(victim_of(&cluster, entries, 2), 0);
    entries[1].bytes = 90; /* But it costs no more than its memory could save elsewhere. */
    assert_int_equal(victim_of(&cluster, entries, 2), 1);
    entries[4].idle = 0; /* Just used. */
    assert_int_equal(victim_of(&cluster, &entries[2], 3), 1);
    cluster_deinit(&cluster);
}

static void the_model_used_most_often_stays(void **state)
{
    (void)state;
    struct cluster cluster;
    struct cache_entry entries[] = {
        {.idle = 100, .gap = 200},
        {.idle = 10, .gap = 1000},
    };
    for (uint32_t i = 0; i < 2; i++) {
        entries[i].next_use = NEXT_USE_NEVER;
        entries[i].bytes = 5;
        entries[i].load_ns = 50;
    }
    cluster_init(&cluster, 1, 1);
    cluster_seat(&cluster, "compass");
    assert_int_equal(victim_of(&cluster, entries, 2), 1); /* Though it was used later. */
    entries[0].idle = 200 + 8 * 800;                      /* For long: no longer so often. */
    assert_int_equal(victim_of(&cluster, entries, 2), 0);
    entries[0].idle -= 100;
    assert_int_equal(victim_of(&cluster, entries, 2), 1);
    entries[0].gap = 0; /* Used once: how long ago is all that is known. */
    assert_int_equal(victim_of(&cluster, entries, 2), 0);
    entries[0].idle = 900;
    assert_int_equal(victim_of(&cluster, entries, 2), 1);
    cluster_deinit(&cluster);
}

static void prefetch_never_takes_room_from_an_earlier_need(void **state)
{
    (void)state;
    struct cluster cluster;
    const struct cache_entry entries[] = {{.model = 0, .bytes = 50}, {.model = 1, .bytes = 10}};
    struct cache_facts facts = {.free_bytes = 50, .count = 2, .entries = entries};
    cluster_init(&cluster, 1, 1);
    cluster_seat(&cluster, "compass");
    assert_int_equal(policy_prefetch(&cluster.seat, &facts), 0);
    facts.free_bytes = 49; /* Room for the second, which the first is waiting for. */
    assert_int_equal(policy_prefetch(&cluster.seat, &facts), UINT32_MAX);
    cluster_seat(&cluster, "hash");
    assert_int_equal(policy_prefetch(&cluster.seat, &facts), 1); /* The default takes it. */
    cluster_deinit(&cluster);
}

static void blind_options_see_nothing(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, 2);
    one_task(&cluster, A);
    cluster_hold(&cluster, 1, A);
    busy(&cluster, 1, 10, 0);
    assert_int_equal(plan_one(&cluster, CORRECTED), 1);
    assert_int_equal(plan_one(&cluster, "compass:jitter=0:cache=0"), 0);
    busy(&cluster, 1, HUGE_NS, 0);
    assert_int_equal(plan_one(&cluster, CORRECTED), 0);
    assert_int_equal(plan_one(&cluster, "compass:jitter=0:load=0"), 1);
    cluster_deinit(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queues_count_promises_and_loads),
        cmocka_unit_test(own_plans_count_before_rows_show_them),
        cmocka_unit_test(a_load_hides_behind_the_queue),
        cmocka_unit_test(a_longer_first_run_does_not_hide_behind_the_queue),
        cmocka_unit_test(what_is_used_often_is_kept),
        cmocka_unit_test(a_model_planned_for_this_job_is_there),
        cmocka_unit_test(models_past_the_64th_are_seen),
        cmocka_unit_test(run_times_are_those_of_the_device),
        cmocka_unit_test(a_device_where_it_cannot_run_is_left_out),
        cmocka_unit_test(planners_do_not_herd_on_one_row),
        cmocka_unit_test(idle_machines_with_free_memory_are_used),
        cmocka_unit_test(an_eviction_costs_more_the_longer_the_queues),
        cmocka_unit_test(adjustment_pays_for_what_it_destroys),
        cmocka_unit_test(a_task_leaves_for_an_idle_worker_that_has_the_model),
        cmocka_unit_test(its_own_promise_does_not_drive_a_task_away),
        cmocka_unit_test(a_fork_on_idle_workers_stays_as_planned),
        cmocka_unit_test(a_fork_leaves_a_crowded_worker_until_both_are_even),
        cmocka_unit_test(a_branch_does_not_count_itself),
        cmocka_unit_test(only_a_fork_with_more_branches_than_workers_waits_for_itself),
        cmocka_unit_test(what_others_have_promised_counts_less),
        cmocka_unit_test(joins_move_from_their_rendezvous),
        cmocka_unit_test(what_was_planned_on_a_lost_worker_is_planned_again),
        cmocka_unit_test(the_model_needed_last_leaves),
        cmocka_unit_test(the_model_used_most_often_stays),
        cmocka_unit_test(prefetch_never_takes_room_from_an_earlier_need),
        cmocka_unit_test(blind_options_see_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
