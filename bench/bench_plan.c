/*
 * How long Compass takes to plan a job and to adjust a hop, on one core, beside a plain scan
 * for the worker that is free first, once per task, over the same rows.
 *
 *     bench_plan [rounds]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/units.h"
#include "policy/choose.h"
#include "policy/compose.h"

enum { MODELS = 16, CALLS = 64, TASKS_MAX = 16 };

#define NOW_NS (1000 * NS_PER_S)

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void require(bool good)
{
    if (!good) {
        exit(EXIT_FAILURE);
    }
}

/* A cluster whose workers are busy for a while and hold some of the models. */
struct bench {
    struct arena arena;
    struct pool pool;
    struct fleet *fleet;
    struct profile *profile;
    struct board board;
    struct view view;
    struct workflow *graph;
    struct job_facts job;
    struct policy_set set;
    struct policy_meter meter;
    struct policy_seat seat;
};

static void fill_rows(struct bench *bench)
{
    struct rng rng = rng_stream(1, RNG_TEST, 0);
    for (uint32_t worker = 0; worker < bench->fleet->worker_count; worker++) {
        struct row row = {.worker = worker, .parts = ROW_BOTH};
        const uint32_t busy_ms = rng_below(&rng, 1000);
        row.load.at_ns = NOW_NS - 1000;
        row.load.run_ns = INT64_C(1000000) * (worker == 0 ? 2000 : busy_ms);
        row.load.queued_ns = row.load.run_ns + 100000000;
        row.load.accepting = 1;
        row.load.sequence = 1;
        row.cache.at_ns = NOW_NS - 1000;
        row.cache.sequence = 1;
        row.cache.free_bytes = worker % 3 == 0 ? UINT64_C(4000000000) : 0;
        for (uint32_t i = 0; i < 5; i++) {
            const uint32_t model = rng_below(&rng, MODELS);
            model_set_add(&row.cache.resident, model);
        }
        bench->board.entries[worker].live = row;
        require(board_publish(&bench->board, &row));
    }
}

/* A source, branches side by side, and a task that joins them: @task_count in all. */
static void build_graph(struct bench *bench, uint32_t task_count)
{
    bench->graph = workflow_create("fork");
    for (uint32_t i = 0; i < task_count; i++) {
        struct workflow_task task = {.run = i, .models = {i}, .model_count = 1};
        uint32_t number;
        (void)snprintf(task.name, sizeof(task.name), "task%u", i);
        require(workflow_add_task(bench->graph, &task, &number) == WEFT_OK);
        if (i == 0) {
            continue;
        }
        struct workflow_edge edge = {.from = 0, .to = i, .bytes = 2000};
        if (i < task_count - 1) {
            require(workflow_add_edge(bench->graph, &edge) == WEFT_OK);
        }
        for (edge.from = 1; i == task_count - 1 && edge.from < i; edge.from++) {
            require(workflow_add_edge(bench->graph, &edge) == WEFT_OK);
        }
    }
    require(workflow_seal(bench->graph, NULL) == WEFT_OK);
}

static void open_bench(struct bench *bench, uint32_t worker_count, uint32_t task_count)
{
    *bench = (struct bench){.fleet = fleet_create(), .profile = profile_create(MODELS)};
    arena_init(&bench->arena);
    pool_init(&bench->pool, sizeof(struct reservation), 16, 64);
    struct fleet_worker device = {
        .memory_bytes = UINT64_C(14000000000),
        .bus_bytes_per_s = UINT64_C(10200000000),
        .gpu_units = 1,
    };
    device.device = fleet_device(bench->fleet, "t4");
    for (uint32_t i = 0; i < worker_count; i++) {
        require(fleet_add_machine(bench->fleet, &device, /* device_count */ 1, /* cpu_units */ 16));
    }
    bench->fleet->network.link_bytes_per_s = UINT64_C(12500000000);
    for (uint32_t model = 0; model < MODELS; model++) {
        const struct profile_point point = {.items = 1, .run_ns = 100000000 + 10000000 * model};
        bench->profile->models[model].load_bytes = UINT64_C(2000000000);
        bench->profile->models[model].resident_bytes = UINT64_C(2000000000);
        require(profile_add_point(bench->profile, model, 0, &point) == WEFT_OK);
    }
    board_init(&bench->board, &bench->arena, worker_count, /* delay_ns */ 0);
    fill_rows(bench);
    bench->view = (struct view){
        .now_ns = NOW_NS, .worker_count = 1, .fleet = bench->fleet, .board = &bench->board};
    reservations_init(&bench->view.reservations, &bench->pool);
    build_graph(bench, task_count);
    bench->job = (struct job_facts){
        .id = {.node = 0, .number = 1}, .graph = bench->graph, .arrived_ns = NOW_NS, .items = 1};
    require(policy_set_parse("compass", &bench->set, NULL) == WEFT_OK);
    require(policy_set_state_bytes(&bench->set) == 0);
    const struct policy_input input = {.view = &bench->view, .profile = bench->profile};
    policy_seat_init(
        &bench->seat, &bench->set, &input, NULL, rng_stream(1, RNG_POLICY, 0), &bench->meter);
}

static void close_bench(struct bench *bench)
{
    workflow_destroy(bench->graph);
    profile_destroy(bench->profile);
    fleet_destroy(bench->fleet);
    pool_deinit(&bench->pool);
    arena_deinit(&bench->arena);
}

static uint32_t plan(struct bench *bench)
{
    uint16_t placement[TASKS_MAX];
    policy_place_job(&bench->seat, &bench->job, placement);
    return placement[0];
}

/* The second task, planned on a worker that would make it wait for long. */
static uint32_t adjust(struct bench *bench)
{
    const struct input_facts from = {.worker = 0, .bytes = 2000};
    const struct task_facts facts = {
        .job = &bench->job,
        .task = 1,
        .items = 1,
        .planned = 0,
        .input_count = 1,
        .inputs = &from,
    };
    return policy_place_task(&bench->seat, &facts);
}

static uint32_t scan(struct bench *bench)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < bench->graph->task_count; i++) {
        sum += choose_least_work(&bench->view, NEED_NOTHING);
    }
    return sum;
}

/* Seconds of one call: the best of @rounds, as other work only ever adds. */
static double time_of(uint32_t (*call)(struct bench *bench), struct bench *bench, uint32_t rounds)
{
    double best = 1e9;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < rounds; i++) {
        const double start = seconds();
        for (uint32_t k = 0; k < CALLS; k++) {
            sum += call(bench);
        }
        const double taken = (seconds() - start) / CALLS;
        best = taken < best ? taken : best;
    }
    require(sum != UINT32_MAX); /* Or the calls could be left out. */
    return best;
}

static void measure(uint32_t worker_count, uint32_t task_count, uint32_t rounds)
{
    static struct bench bench;
    open_bench(&bench, worker_count, task_count);
    const double reference = time_of(scan, &bench, rounds);
    const double planning = time_of(plan, &bench, rounds);
    const double adjusting = time_of(adjust, &bench, rounds);
    (void)printf(
        "%4u workers, %2u tasks: plan %.2f us, ratio %.1f to a least-work scan a task; "
        "adjust %.2f us, ratio %.1f to one scan\n",
        worker_count, task_count, planning * 1e6, planning / reference, adjusting * 1e6,
        adjusting / reference * task_count);
    close_bench(&bench);
}

int main(int argc, char **argv)
{
    const uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 200;

    measure(/* worker_count */ 5, /* task_count */ 4, rounds);
    measure(/* worker_count */ 100, /* task_count */ 4, rounds);
    measure(/* worker_count */ 250, /* task_count */ 4, rounds);
    measure(/* worker_count */ 1000, /* task_count */ 16, rounds);
    return EXIT_SUCCESS;
}
