/*
 * The same jobs on Weft's simulator and on SimGrid: do they take the same time, and how
 * fast are both? Diamonds a -> {b, c} -> d on hosts in a star with fair links; when jobs
 * come and where their tasks run is drawn once, for both.
 *
 *     bench_simgrid [hosts] [jobs] [rounds]
 *
 * Times are of the processor, the shortest of all rounds.
 */
#include "bench_simgrid.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "sim/sim.h"

#define SEED   UINT64_C(1)
#define MS     INT64_C(1000000)
#define WORK_S 0.022 /* Of a job. */

static struct {
    const struct diamond_workload *workload;
    uint32_t placed;
} hand;

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void need(bool is_good, const char *what)
{
    if (!is_good) {
        (void)fprintf(stderr, "bench_simgrid: %s\n", what);
        exit(EXIT_FAILURE);
    }
}

/* Jobs are placed in the order in which they come: as drawn. */
static void place_as_drawn(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out)
{
    const struct diamond_job *drawn = &hand.workload->jobs[hand.placed];
    ASSERT(job->arrived_ns == drawn->at_ns);
    ASSERT(job->ingress == drawn->hosts[0]);
    (void)input;
    for (uint32_t task = 0; task < DIAMOND_TASKS; task++) {
        placement_out[task] = (uint16_t)drawn->hosts[task];
    }
    hand.placed++;
}

static const struct policy as_drawn = {.name = "as-drawn", .place_job = place_as_drawn};

static struct arrivals arrivals_at(const struct diamond_workload *workload, double load)
{
    return (struct arrivals){
        .kind = ARRIVALS_POISSON,
        .rate_per_s = load * workload->host_count / WORK_S,
        .mix = {1},
    };
}

static void add_diamond(
    const struct diamond_workload *workload, struct catalogue *catalogue, struct profile *profile)
{
    static const char *const names[DIAMOND_TASKS] = {"a", "b", "c", "d"};
    struct workflow *workflow = workflow_create("diamond");
    struct weft_error error;
    uint32_t number;
    bool is_good = true;
    for (uint32_t i = 0; i < DIAMOND_TASKS; i++) {
        struct workflow_task task = {.run = catalogue_model(catalogue, names[i])};
        const struct profile_point point = {.items = 1, .run_ns = workload->run_ns[i]};
        (void)snprintf(task.name, sizeof(task.name), "%s", names[i]);
        is_good = is_good && profile_add_point(profile, task.run, 0, &point) == WEFT_OK &&
                  workflow_add_task(workflow, &task, &number) == WEFT_OK;
    }
    for (uint32_t i = 0; i < DIAMOND_EDGES; i++) {
        const struct workflow_edge edge = {
            .from = workload->edges[i][0],
            .to = workload->edges[i][1],
            .bytes = workload->edge_bytes[i],
        };
        is_good = is_good && workflow_add_edge(workflow, &edge) == WEFT_OK;
    }
    need(is_good, "the diamond is not accepted");
    need(workflow_seal(workflow, &error) == WEFT_OK, "the diamond is not sealed");
    need(catalogue_add_workflow(catalogue, workflow) == WEFT_OK, "the catalogue is full");
}

static struct fleet *make_fleet(const struct diamond_workload *workload)
{
    struct fleet *fleet = fleet_create();
    const struct fleet_worker device = {
        .device = fleet_device(fleet, "gpu"),
        .memory_bytes = UINT64_C(16000000000),
        .bus_bytes_per_s = UINT64_C(10000000000),
        .gpu_units = 1,
    };
    for (uint32_t i = 0; i < workload->host_count; i++) {
        need(fleet_add_machine(fleet, &device, 1, /* cpu_units */ 8), "too many hosts");
    }
    fleet->network = (struct fleet_network){
        .link_bytes_per_s = workload->link_bytes_per_s,
        .latency_ns = workload->latency_ns,
        .kind = NETWORK_STAR,
        .sharing = SHARING_FAIR,
    };
    return fleet;
}

static void run_weft(
    const struct diamond_workload *workload, double load, struct diamond_result *result_out)
{
    struct fleet *fleet = make_fleet(workload);
    struct catalogue *catalogue = catalogue_create();
    struct profile *profile = profile_create(MODELS_MAX);
    const struct arrivals arrivals = arrivals_at(workload, load);
    struct policy_set policies;
    add_diamond(workload, catalogue, profile);
    policy_set_single(&as_drawn, &policies);
    hand.workload = workload;
    hand.placed = 0;
    const struct sim_options options = {
        .fleet = fleet,
        .catalogue = catalogue,
        .profile = profile,
        .policies = &policies,
        .arrivals = &arrivals,
        .jobs = workload->job_count,
        .seed = SEED,
        .row_load_ns = 100 * MS, /* They are not read: where tasks run is drawn. */
        .row_cache_ns = 100 * MS,
    };
    struct sim *sim = sim_create(&options);
    const double start = seconds();
    sim_run(sim);
    result_out->cpu_s = seconds() - start;
    struct sim_counters counters;
    struct report report;
    sim_counters(sim, &counters);
    sim_report(sim, &report);
    result_out->mean_ms = report.latency_ms.mean;
    result_out->p99_ms = report.latency_ms.p99;
    result_out->events = counters.steps;
    result_out->completed = report.completed;
    sim_destroy(sim);
    fleet_destroy(fleet);
    catalogue_destroy(catalogue);
    profile_destroy(profile);
}

/* In a process of its own: the engine of SimGrid cannot be started twice in one. */
static void run_simgrid(
    const struct diamond_workload *workload, enum simgrid_style style,
    struct diamond_result *result_out)
{
    int ends[2];
    int status;
    need(pipe(ends) == 0, "no pipe");
    (void)fflush(NULL);
    const pid_t child = fork();
    need(child >= 0, "no process");
    if (child == 0) {
        struct diamond_result result = {0};
        diamond_run_simgrid(workload, style, &result);
        const ssize_t written = write(ends[1], &result, sizeof(result));
        _exit(written == (ssize_t)sizeof(result) ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    (void)close(ends[1]);
    const ssize_t got = read(ends[0], result_out, sizeof(*result_out));
    (void)close(ends[0]);
    need(waitpid(child, &status, 0) == child && status == 0, "SimGrid ended badly");
    need(got == (ssize_t)sizeof(*result_out), "SimGrid said nothing");
}

/* What Weft's own arrivals and ingress will be, and the hosts of the other three tasks. */
static void draw_jobs(
    const struct diamond_workload *workload, double load, struct diamond_job *jobs_out)
{
    const struct arrivals arrivals = arrivals_at(workload, load);
    struct catalogue *catalogue = catalogue_create();
    struct profile *profile = profile_create(MODELS_MAX);
    struct rng ingress = arrival_ingress_stream(SEED);
    struct rng rng = rng_stream(SEED, RNG_TEST, 0);
    struct arrival_stream stream;
    struct arrival arrival;
    add_diamond(workload, catalogue, profile);
    arrival_stream_init(&stream, &arrivals, catalogue, SEED);
    for (uint32_t i = 0; i < workload->job_count; i++) {
        need(arrival_stream_next(&stream, &arrival), "too few arrivals");
        jobs_out[i].at_ns = arrival.at_ns;
        jobs_out[i].hosts[0] = arrival_ingress(&ingress, workload->host_count);
        for (uint32_t task = 1; task < DIAMOND_TASKS; task++) {
            jobs_out[i].hosts[task] = rng_below(&rng, workload->host_count);
        }
    }
    catalogue_destroy(catalogue);
    profile_destroy(profile);
}

static void print_result(
    const char *name, const struct diamond_workload *workload, const struct diamond_result *result)
{
    (void)printf(
        "  %-24s mean %7.3f ms, p99 %7.2f ms; %6.0f k jobs/s, %5.2f M events/s, %4.1f a job", name,
        result->mean_ms, result->p99_ms, workload->job_count / result->cpu_s / 1e3,
        (double)result->events / result->cpu_s / 1e6, (double)result->events / workload->job_count);
}

static void keep_fastest(
    const struct diamond_workload *workload, const struct diamond_result *result,
    struct diamond_result *fastest)
{
    need(result->completed == workload->job_count, "jobs were lost");
    if (fastest->completed == 0 || result->cpu_s < fastest->cpu_s) {
        *fastest = *result;
    }
}

static void compare(const struct diamond_workload *workload, double load, uint32_t rounds)
{
    static const char *const names[SIMGRID_STYLE_COUNT] = {
        [SIMGRID_ACTIVITIES] = "SimGrid, activities",
        [SIMGRID_ACTIVITIES_FULL] = "SimGrid, full updates",
        [SIMGRID_ACTORS] = "SimGrid, actors",
        [SIMGRID_ACTORS_SMALL] = "SimGrid, small actors",
    };
    struct diamond_result weft = {0};
    struct diamond_result simgrid[SIMGRID_STYLE_COUNT] = {0};
    struct diamond_result result;
    for (uint32_t i = 0; i < rounds; i++) {
        run_weft(workload, load, &result);
        keep_fastest(workload, &result, &weft);
        for (uint32_t style = 0; style < SIMGRID_STYLE_COUNT; style++) {
            run_simgrid(workload, (enum simgrid_style)style, &result);
            keep_fastest(workload, &result, &simgrid[style]);
        }
    }
    (void)printf(
        "%u hosts, load %.1f, %u diamonds, star of fair links, best of %u\n", workload->host_count,
        load, workload->job_count, rounds);
    print_result("Weft", workload, &weft);
    (void)printf("\n");
    for (uint32_t style = 0; style < SIMGRID_STYLE_COUNT; style++) {
        const struct diamond_result *other = &simgrid[style];
        print_result(names[style], workload, other);
        (void)printf(
            "; Weft: mean %+.3f %%, p99 %+.2f %%, %.1f times as fast\n",
            (weft.mean_ms / other->mean_ms - 1) * 100, (weft.p99_ms / other->p99_ms - 1) * 100,
            other->cpu_s / weft.cpu_s);
    }
}

int main(int argc, char **argv)
{
    static const double loads[] = {0.3, 0.7};
    /* Transfers alone on their links take 1, 3, 2 and 4 ms. */
    struct diamond_workload workload = {
        .host_count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 80,
        .job_count = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 20000,
        .run_ns = {2 * MS, 8 * MS, 10 * MS, 2 * MS},
        .edges = {{0, 1}, {0, 2}, {1, 3}, {2, 3}},
        .edge_bytes = {1250000, 3750000, 2500000, 5000000},
        .link_bytes_per_s = UINT64_C(1250000000),
        .latency_ns = 5000,
    };
    const uint32_t rounds = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 3;
    need(
        workload.host_count > 0 && workload.job_count > 0 && rounds > 0, "numbers above 0, please");
    struct diamond_job *jobs = calloc(workload.job_count, sizeof(*jobs));
    need(jobs != NULL, "no memory");
    workload.jobs = jobs;
    for (size_t i = 0; i < ARRAY_COUNT(loads); i++) {
        draw_jobs(&workload, loads[i], jobs);
        compare(&workload, loads[i], rounds);
    }
    free(jobs);
    return EXIT_SUCCESS;
}
