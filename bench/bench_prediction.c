/*
 * Predicted over simulated mean times of jobs that draw their placements (docs/QUEUEING.md).
 *
 *     bench_prediction [JOBS [SEEDS [SETS]]]
 *
 * Diamonds of 2, 8, 10 and 2 ms on 80 machines behind one link for all, and on 10 machines in a
 * star with links that serve in order or at once; and SETS random sets of three workflows of one
 * to six tasks on 8 or 20 machines of one or two workers. Mixtures are the solver's own for the
 * load. At last diamonds whose light branch is on the next machine, by hand, where each task
 * queues again. The reference is the simulated mean over the seeds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/units.h"
#include "mixture/mixture.h"
#include "model/links_route.h"
#include "read_count.h"
#include "sim/sim.h"
#include "small_cluster.h"

#define LINK  1000000000 /* Bytes per second. */
#define USAGE "bench_prediction [JOBS [SEEDS [SETS]]]"

enum {
    JOBS_DEFAULT = 60000,
    SEEDS_DEFAULT = 2,
    SETS_DEFAULT = 8,
    SET_WORKFLOWS = 3,
    DIAMOND_TASKS = 4,
    ROW_LOAD_NS = 1000000,
    ROW_CACHE_NS = 100000000,
};

struct limits {
    uint64_t jobs;
    uint64_t seeds;
    uint64_t sets;
};

/* The heavy branch has nine times the bytes of the light one, which has @bytes. */
static void add_diamond(struct cluster *the, uint64_t bytes)
{
    static const double times_ms[DIAMOND_TASKS] = {2, 8, 10, 2};
    const struct workflow_edge edges[] = {
        {.from = 0, .to = 1, .bytes = bytes},
        {.from = 0, .to = 2, .bytes = 9 * bytes},
        {.from = 1, .to = 3, .bytes = bytes},
        {.from = 2, .to = 3, .bytes = 9 * bytes},
    };
    struct workflow *workflow = workflow_create("diamond");
    for (uint32_t i = 0; i < DIAMOND_TASKS; i++) {
        cluster_add_task(the, workflow, times_ms[i], DISTRIBUTION_DETERMINISTIC);
    }
    for (uint32_t i = 0; i < ARRAY_COUNT(edges); i++) {
        demand(workflow_add_edge(workflow, &edges[i]) == WEFT_OK);
    }
    cluster_add_workflow(the, workflow);
}

/* One to six tasks of 1 to 10 ms, each behind one or two earlier ones; a third exponential. */
static void add_random(struct cluster *the, struct rng *rng)
{
    char name[NAME_BYTES_MAX];
    (void)snprintf(name, sizeof(name), "w%u", (unsigned)the->catalogue->workflow_count);
    struct workflow *workflow = workflow_create(name);
    workflow->input_bytes = 100000;
    const uint32_t task_count = 1 + rng_below(rng, 6);
    for (uint32_t i = 0; i < task_count; i++) {
        const double ms = 1 + 9 * rng_unit(rng);
        const bool varies = rng_below(rng, 3) == 0;
        cluster_add_task(
            the, workflow, ms, varies ? DISTRIBUTION_EXPONENTIAL : DISTRIBUTION_DETERMINISTIC);
        for (uint32_t k = 0; k < 2 && i > 0; k++) {
            struct workflow_edge edge = {.to = i};
            edge.from = rng_below(rng, i);
            edge.bytes = rng_below(rng, 2000000);
            (void)workflow_add_edge(workflow, &edge); /* The second may be the first again. */
        }
    }
    cluster_add_workflow(the, workflow);
}

/* The mean time of jobs that draw from @mixture, in milliseconds. */
static double simulate(
    const struct cluster *the, const struct mixture *mixture, const char *policy,
    const struct limits *limits)
{
    struct arrivals arrivals = {.kind = ARRIVALS_POISSON};
    struct policy_set set;
    double sum_ms = 0;
    demand(policy_set_parse(policy, &set, NULL) == WEFT_OK);
    for (uint32_t i = 0; i < the->catalogue->workflow_count; i++) {
        arrivals.mix[i] = the->rates[i];
        arrivals.rate_per_s += the->rates[i];
    }
    for (uint64_t seed = 1; seed <= limits->seeds; seed++) {
        struct report report;
        const struct sim_options options = {
            .fleet = the->fleet,
            .catalogue = the->catalogue,
            .profile = the->profile,
            .policies = &set,
            .arrivals = &arrivals,
            .mixture = mixture,
            .jobs = limits->jobs,
            .warmup = 0.1,
            .seed = seed,
            .row_load_ns = ROW_LOAD_NS,
            .row_cache_ns = ROW_CACHE_NS,
        };
        struct sim *sim = sim_create(&options);
        sim_run(sim);
        sim_report(sim, &report);
        sim_destroy(sim);
        sum_ms += report.latency_ms.mean;
    }
    return sum_ms / (double)limits->seeds;
}

/* How much longer than the simulated mean the predicted one is, in percent. */
static double compare_solved(struct cluster *the, double load, const struct limits *limits)
{
    const struct program_options options = {0};
    struct mixture *mixture = NULL;
    cluster_load(the, load);
    demand(program_solve(&the->input, &options, &mixture, NULL, NULL) == WEFT_OK);
    const double simulated_ms = simulate(the, mixture, "nona:drift=0", limits);
    const double percent = 100 * (mixture->mean_ns / 1e6 / simulated_ms - 1);
    mixture_destroy(mixture);
    return percent;
}

/* Every machine sends its light branches to the next one. */
static double compare_requeue(struct cluster *the, double load, const struct limits *limits)
{
    const struct program_options options = {.requeue = true};
    const uint32_t count = the->fleet->node_count;
    struct mixture *mixture = mixture_create(1, count, links_count(the->fleet));
    cluster_load(the, load);
    mixture_set_workflow(mixture, 0, DIAMOND_TASKS, the->rates[0]);
    for (uint32_t i = 0; i < count; i++) {
        uint16_t placement[DIAMOND_TASKS];
        for (uint32_t task = 0; task < DIAMOND_TASKS; task++) {
            placement[task] = (uint16_t)((i + (task == 1 ? 1 : 0)) % count);
        }
        demand(mixture_add_pattern(mixture, 0, placement, 1) == WEFT_OK);
    }
    demand(mixture_seal(mixture, NULL) == WEFT_OK);
    demand(program_predict(&the->input, &options, mixture, NULL, NULL) == WEFT_OK);
    /* Only placement is nona's: its order of queues would let jobs go on. */
    const double simulated_ms = simulate(the, mixture, "place=nona:drift=0", limits);
    const double percent = 100 * (mixture->mean_ns / 1e6 / simulated_ms - 1);
    mixture_destroy(mixture);
    return percent;
}

static void open_star(struct cluster *the, bool fair)
{
    cluster_open(the, /* machines */ 10, /* workers */ 1, LINK);
    the->fleet->network.sharing = fair ? SHARING_FAIR : SHARING_FIFO;
    add_diamond(the, /* bytes */ 20000);
}

static void open_one_link(struct cluster *the)
{
    cluster_open(the, /* machines */ 80, /* workers */ 1, LINK);
    the->fleet->network.kind = NETWORK_BOTTLENECK;
    the->fleet->network.link_bytes_per_s = 0;
    the->fleet->network.core_bytes_per_s = 1000000000;
    add_diamond(the, /* bytes */ 20000);
}

static void open_set(struct cluster *the, uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 0);
    cluster_open(the, seed % 2 == 0 ? 8 : 20, seed / 2 % 2 == 0 ? 1 : 2, LINK);
    the->fleet->network.latency_ns = 50000;
    the->fleet->network.sharing = seed / 4 % 2 == 0 ? SHARING_FIFO : SHARING_FAIR;
    for (uint32_t i = 0; i < SET_WORKFLOWS; i++) {
        add_random(the, &rng);
    }
}

static void run_load(double load, const struct limits *limits)
{
    struct cluster the;
    double low = (double)INFINITY;
    double high = (double)-INFINITY;
    open_one_link(&the);
    (void)printf("%4.1f  %+9.1f", load, compare_solved(&the, load, limits));
    cluster_close(&the);
    for (uint32_t fair = 0; fair < 2; fair++) {
        open_star(&the, fair == 1);
        (void)printf("  %+9.1f", compare_solved(&the, load, limits));
        cluster_close(&the);
    }
    for (uint64_t seed = 1; seed <= limits->sets; seed++) {
        open_set(&the, seed);
        const double percent = compare_solved(&the, load, limits);
        low = percent < low ? percent : low;
        high = percent > high ? percent : high;
        cluster_close(&the);
    }
    open_star(&the, /* fair */ false);
    (void)printf("  %+6.1f to %+5.1f  %+9.1f\n", low, high, compare_requeue(&the, load, limits));
    cluster_close(&the);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    static const double loads[] = {0.1, 0.3, 0.5, 0.7, 0.8, 0.9};
    const struct limits limits = {
        .jobs = argc > 1 ? read_count(argv[1], 1000000000, USAGE) : JOBS_DEFAULT,
        .seeds = argc > 2 ? read_count(argv[2], 1000, USAGE) : SEEDS_DEFAULT,
        .sets = argc > 3 ? read_count(argv[3], 1000, USAGE) : SETS_DEFAULT,
    };
    (void)printf(
        "predicted over simulated mean time, percent; %llu seeds of %llu jobs\n"
        "load   one link       star       fair    random sets    requeue\n",
        (unsigned long long)limits.seeds, (unsigned long long)limits.jobs);
    for (uint32_t i = 0; i < ARRAY_COUNT(loads); i++) {
        run_load(loads[i], &limits);
    }
    return EXIT_SUCCESS;
}
