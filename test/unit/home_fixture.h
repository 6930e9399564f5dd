/*
 * home_fixture.h - a cluster of whole machines with home queues, for policies that bind last.
 *
 * Devices have 7 units, machines 16 of CPU. Models are warm where tests say so.
 */
#ifndef UNIT_HOME_FIXTURE_H
#define UNIT_HOME_FIXTURE_H

#include "policy_fixture.h"

#define MS INT64_C(1000000)

/* @items on @cpu and @gpu units take @ms. */
static inline void home_point(
    struct cluster *cluster, uint32_t model, uint32_t items, uint32_t cpu, uint32_t gpu, int64_t ms)
{
    const struct profile_point point = {.items = items, .cpu = cpu, .gpu = gpu, .run_ns = ms * MS};
    assert_int_equal(profile_add_point(cluster->profile, model, 0, &point), WEFT_OK);
}

static inline void home_free(struct cluster *cluster, uint32_t worker, uint32_t gpu, uint32_t cpu)
{
    struct row row = cluster->board.entries[worker].live;
    row.load.gpu_free = (uint8_t)gpu;
    row.load.cpu_free = (uint16_t)cpu;
    cluster_write(cluster, &row);
}

/* @worker has @gpu units left and runs for another @ms. */
static inline void home_occupy(struct cluster *cluster, uint32_t worker, uint32_t gpu, int64_t ms)
{
    struct row row = cluster->board.entries[worker].live;
    row.load.gpu_free = (uint8_t)gpu;
    row.load.queued_ns = cluster->view.now_ns - CLUSTER_NOW_NS + ms * MS;
    cluster_write(cluster, &row);
}

/* @node_count idle machines with one device each, all holding models 0 … @model_count - 1. */
static inline void home_init(struct cluster *cluster, uint32_t node_count, uint32_t model_count)
{
    cluster_init(cluster, node_count, 1);
    for (uint32_t worker = 0; worker < node_count; worker++) {
        cluster->fleet->workers[worker].gpu_units = 7;
        cluster->fleet->nodes[worker].cpu_units = 16;
        home_free(cluster, worker, 7, 16);
        cluster_usable(cluster, worker, true);
        for (uint32_t model = 0; model < model_count; model++) {
            cluster_hold(cluster, worker, model);
        }
    }
    cluster->view.now_ns = 10000 * MS;
}

/* Four such machines, whose units cost something, with two small models. */
static inline void home_init_priced(struct cluster *cluster)
{
    home_init(cluster, /* node_count */ 4, /* model_count */ 2);
    for (uint32_t model = 0; model < 2; model++) {
        cluster->profile->models[model].resident_bytes = 1 << 18;
    }
    cluster->fleet->prices = (struct fleet_prices){.cpu = 0.05, .gpu = 1};
}

/* @model runs an item on one unit, on two, and on all. */
static inline void home_shares(struct cluster *cluster, uint32_t model)
{
    home_point(cluster, model, 1, 1, 1, 100);
    home_point(cluster, model, 1, 1, 2, 62);
    home_point(cluster, model, 1, 2, 7, 30);
}

/*
 * Two tasks in a row on four devices with shares, which cost something, and whose models load in
 * 500 ms: the input of the second travels for @way_ms. To be sealed.
 */
static inline void home_init_two(struct cluster *cluster, int64_t way_ms)
{
    home_init_priced(cluster);
    for (uint32_t model = 0; model < 2; model++) {
        home_shares(cluster, model);
        cluster_load(cluster, model, 500 * MS);
        (void)cluster_task(cluster, model);
    }
    cluster_edge(cluster, 0, 1, (uint64_t)(way_ms * MS)); /* A byte is a nanosecond on links. */
}

/* A home queue of @items single items, whose head arrived @ago_ms ago with @slo_ms to run. */
static inline struct queue_facts home_queue(
    const struct cluster *cluster, uint32_t task, uint32_t items, int64_t ago_ms, int64_t slo_ms)
{
    const int64_t arrived_ns = cluster->view.now_ns - ago_ms * MS;
    return (struct queue_facts){
        .task = task,
        .worker = WORKER_NONE,
        .waiting = items,
        .items = items,
        .head_items = 1,
        .head_ready_ns = cluster->view.now_ns,
        .head_arrived_ns = arrived_ns,
        .head_deadline_ns = slo_ms == 0 ? INT64_MAX : arrived_ns + slo_ms * MS,
        .holder = WORKER_NONE,
    };
}

static inline struct dispatch_answer home_ask(
    struct cluster *cluster, const struct queue_facts *queue)
{
    struct dispatch_answer answer;
    policy_dispatch(&cluster->seat, queue, &answer);
    return answer;
}

/* A task of the graph joins its queue now. */
static inline int64_t home_join(struct cluster *cluster, uint32_t task, int64_t slo_ms)
{
    struct job_facts job = cluster->job;
    job.arrived_ns = cluster->view.now_ns;
    job.deadline_ns = job.arrived_ns + slo_ms * MS;
    const struct ready_facts facts = {.job = &job, .task = task, .items = 1};
    policy_queued(&cluster->seat, &facts);
    return policy_order(&cluster->seat, &facts);
}

#endif /* UNIT_HOME_FIXTURE_H */
