/*
 * policy_fixture.h - a small cluster for tests of policies, seen by its node 0.
 *
 * Buses and links move a byte in a nanosecond, so sizes are times. Every worker starts
 * idle, accepting and empty; models have a load of their own, and run as tests say.
 */
#ifndef UNIT_POLICY_FIXTURE_H
#define UNIT_POLICY_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "policy/compose.h"
#include "policy/registry.h"

enum { CLUSTER_MODELS = 16 };

#define CLUSTER_NOW_NS INT64_C(1000000)

struct cluster {
    struct arena arena;
    struct pool pool;
    struct fleet *fleet;
    struct profile *profile;
    struct board board;
    struct view view;
    struct workflow *graph;
    struct workflow *flows[2];  /* That graph; and the one beside it, if there is one. */
    struct catalogue catalogue; /* Of these, once they are sealed. */
    uint64_t sequence;
    struct policy_set set;
    struct policy_meter meter;
    struct policy_seat seat;
    struct job_facts job;
};

/* @node_count machines of @worker_count devices each, all of kind 0. */
static inline void cluster_init(struct cluster *cluster, uint32_t node_count, uint32_t worker_count)
{
    *cluster = (struct cluster){.fleet = fleet_create()};
    arena_init(&cluster->arena);
    pool_init(&cluster->pool, sizeof(struct reservation), 16, 64);
    struct fleet_worker device = {
        .memory_bytes = 1 << 20, .bus_bytes_per_s = 1000000000, .gpu_units = 4};
    device.device = fleet_device(cluster->fleet, "plain");
    assert_int_equal(fleet_device(cluster->fleet, "special"), 1);
    for (uint32_t i = 0; i < node_count; i++) {
        assert_true(fleet_add_machine(cluster->fleet, &device, worker_count, /* cpu_units */ 8));
    }
    cluster->fleet->network.link_bytes_per_s = 1000000000;
    cluster->profile = profile_create(CLUSTER_MODELS);
    board_init(&cluster->board, &cluster->arena, cluster->fleet->worker_count, /* delay_ns */ 0);
    cluster->view = (struct view){
        .now_ns = CLUSTER_NOW_NS,
        .worker_count = worker_count,
        .fleet = cluster->fleet,
        .board = &cluster->board,
    };
    reservations_init(&cluster->view.reservations, &cluster->pool);
    cluster->graph = workflow_create("graph");
    cluster->job = (struct job_facts){
        .id = {.node = 0, .number = 1},
        .graph = cluster->graph,
        .arrived_ns = CLUSTER_NOW_NS,
        .deadline_ns = INT64_MAX,
        .items = 1,
    };
}

static inline void cluster_deinit(struct cluster *cluster)
{
    workflow_destroy(cluster->graph);
    workflow_destroy(cluster->flows[1]);
    profile_destroy(cluster->profile);
    fleet_destroy(cluster->fleet);
    pool_deinit(&cluster->pool);
    arena_deinit(&cluster->arena);
}

/* Of a case whose setup() leaves a cluster as its state. */
static inline int cluster_teardown(void **state)
{
    cluster_deinit(*state);
    return 0;
}

#define CLUSTER_CASE(name) cmocka_unit_test_setup_teardown(name, setup, cluster_teardown)

/* Write both parts of a worker's row, where its own node and where others read them. */
static inline void cluster_write(struct cluster *cluster, const struct row *row)
{
    struct row written = *row;
    written.parts = ROW_BOTH;
    written.load.at_ns = CLUSTER_NOW_NS;
    written.cache.at_ns = CLUSTER_NOW_NS;
    written.load.sequence = ++cluster->sequence;
    written.cache.sequence = cluster->sequence;
    cluster->board.entries[row->worker].live = written;
    assert_true(board_publish(&cluster->board, &written));
}

static inline void cluster_queue(struct cluster *cluster, uint32_t worker, int64_t queued_ns)
{
    struct row row = cluster->board.entries[worker].live;
    row.load.queued_ns = queued_ns;
    cluster_write(cluster, &row);
}

static inline void cluster_usable(struct cluster *cluster, uint32_t worker, bool usable)
{
    struct row row = cluster->board.entries[worker].live;
    row.load.accepting = usable ? 1 : 0;
    cluster_write(cluster, &row);
}

static inline void cluster_hold(struct cluster *cluster, uint32_t worker, uint32_t model)
{
    struct row row = cluster->board.entries[worker].live;
    model_set_add(&row.cache.resident, model);
    cluster_write(cluster, &row);
}

static inline void cluster_drop(struct cluster *cluster, uint32_t worker, uint32_t model)
{
    struct row row = cluster->board.entries[worker].live;
    model_set_remove(&row.cache.resident, model);
    cluster_write(cluster, &row);
}

/* @items of @model take @run_ns on a device of kind @device. */
static inline void cluster_run(
    struct cluster *cluster, uint32_t model, uint32_t device, uint32_t items, int64_t run_ns)
{
    const struct profile_point point = {.items = items, .run_ns = run_ns};
    assert_int_equal(profile_add_point(cluster->profile, model, device, &point), WEFT_OK);
}

static inline void cluster_load(struct cluster *cluster, uint32_t model, int64_t load_ns)
{
    cluster->profile->models[model].load_bytes = (uint64_t)load_ns;
}

/* A task that runs @model and needs it. Returns its number. */
static inline uint32_t cluster_task(struct cluster *cluster, uint32_t model)
{
    struct workflow_task task = {.run = model, .models = {model}, .model_count = 1};
    uint32_t number = 0;
    (void)snprintf(task.name, sizeof(task.name), "task%u", cluster->graph->task_count);
    assert_int_equal(workflow_add_task(cluster->graph, &task, &number), WEFT_OK);
    return number;
}

static inline void cluster_edge(struct cluster *cluster, uint32_t from, uint32_t to, uint64_t bytes)
{
    const struct workflow_edge edge = {.from = from, .to = to, .bytes = bytes};
    assert_int_equal(workflow_add_edge(cluster->graph, &edge), WEFT_OK);
}

static inline void cluster_seal(struct cluster *cluster)
{
    assert_int_equal(workflow_seal(cluster->graph, NULL), WEFT_OK);
}

/* A workflow of one task of @model beside the graph, which is sealed, with an SLO of @slo_ns. */
static inline void cluster_beside(struct cluster *cluster, uint32_t model, int64_t slo_ns)
{
    const struct workflow_task task = {
        .name = "task", .run = model, .models = {model}, .model_count = 1};
    uint32_t number = 0;
    struct workflow *beside = workflow_create("beside");
    assert_int_equal(workflow_add_task(beside, &task, &number), WEFT_OK);
    assert_int_equal(workflow_seal(beside, NULL), WEFT_OK);
    beside->queue_first = cluster->graph->task_count;
    beside->slo_ns = slo_ns;
    cluster->flows[1] = beside;
}

/* Let the policies plan, if they do. */
static inline void cluster_plan(struct cluster *cluster)
{
    const struct workflow *beside = cluster->flows[1];
    cluster->flows[0] = cluster->graph;
    cluster->catalogue = (struct catalogue){
        .workflow_count = beside != NULL ? 2 : 1,
        .queue_count = cluster->graph->task_count + (beside != NULL ? beside->task_count : 0),
        .workflows = cluster->flows,
    };
    const struct plan_input input = {
        .fleet = cluster->fleet,
        .catalogue = &cluster->catalogue,
        .profile = cluster->profile,
        .seed = 7,
    };
    policy_set_plan(&cluster->set, &cluster->arena, &input);
}

static inline void cluster_sit(struct cluster *cluster, void *state)
{
    if (cluster->graph->sealed) {
        cluster_plan(cluster);
    }
    const struct policy_input input = {
        .view = &cluster->view,
        .profile = cluster->profile,
        .catalogue = &cluster->catalogue,
    };
    policy_seat_init(
        &cluster->seat, &cluster->set, &input, state, rng_stream(7, RNG_POLICY, 0),
        &cluster->meter);
}

/* Seat the composition that @text describes. */
static inline void cluster_seat(struct cluster *cluster, const char *text)
{
    struct weft_error error = {0};
    if (policy_set_parse(text, &cluster->set, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    const size_t state_bytes = policy_set_state_bytes(&cluster->set);
    cluster_sit(cluster, state_bytes == 0 ? NULL : arena_alloc(&cluster->arena, state_bytes));
}

/* Ask where @task goes that is planned on @planned and asked about at @here. */
static inline uint32_t cluster_place(
    struct cluster *cluster, uint32_t task, uint32_t planned, uint32_t here)
{
    const struct task_facts facts = {
        .job = &cluster->job,
        .task = task,
        .items = 1,
        .planned = planned,
        .here = here,
    };
    return policy_place_task(&cluster->seat, &facts);
}

static inline void cluster_place_job(struct cluster *cluster, uint16_t *placement_out)
{
    policy_arrived(&cluster->seat, &cluster->job);
    policy_place_job(&cluster->seat, &cluster->job, placement_out);
}

/* A ready task of a job that arrived and is due at these times: its key. */
static inline int64_t cluster_order(
    struct cluster *cluster, int64_t arrived_ns, int64_t deadline_ns)
{
    struct job_facts job = cluster->job;
    job.arrived_ns = arrived_ns;
    job.deadline_ns = deadline_ns;
    const struct ready_facts facts = {.job = &job, .items = 1};
    policy_queued(&cluster->seat, &facts);
    return policy_order(&cluster->seat, &facts);
}

#endif /* UNIT_POLICY_FIXTURE_H */
