/*
 * Patterns, loads, waits and slopes.
 * Covers: src/mixture/pattern.c src/mixture/congestion.c src/mixture/sites.c src/mixture/workload.c
 * src/mixture/descent.c src/mixture/mean_length.c
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "mixture/congestion.h"
#include "mixture/descent.h"
#include "mixture/mean_length.h"
#include "mixture/pattern.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "solver_case.h"

/* A workload on sites, with room for patterns. */
struct setting {
    struct solver_case plan;
    struct workload *workload;
    struct sites *sites;
    struct patterns patterns;
    struct congestion congestion;
    struct descent descent;
};

static void begin(struct setting *setting, uint32_t parts, bool requeue)
{
    struct weft_error error;
    assert_int_equal(workload_create(&setting->plan.input, 1, &setting->workload, &error), WEFT_OK);
    setting->workload->requeue = requeue;
    setting->sites = sites_create(setting->plan.fleet, &(struct sites_options){.parts = parts});
    sites_add_ingress(setting->sites, setting->workload);
    patterns_init(&setting->patterns);
    congestion_init(&setting->congestion, setting->workload, setting->sites, &setting->patterns);
    descent_init(&setting->descent, &setting->congestion, setting->sites);
}

static void end(struct setting *setting)
{
    descent_deinit(&setting->descent);
    congestion_deinit(&setting->congestion);
    patterns_deinit(&setting->patterns);
    sites_destroy(setting->sites);
    workload_destroy(setting->workload);
    solver_case_close(&setting->plan);
}

static uint32_t add(struct setting *setting, uint32_t stream, const struct spot *spots)
{
    const struct pattern_of of = {
        .sites = setting->sites,
        .stream = &setting->workload->streams[stream],
        .number = stream,
        .requeue = setting->workload->requeue,
    };
    return patterns_add(&setting->patterns, &of, spots);
}

static void open_diamond(struct setting *setting, double rate_per_s, bool requeue)
{
    solver_case_open(&setting->plan, /* node_count */ 2, /* worker_count */ 2);
    setting->plan.fleet->network.link_bytes_per_s = 1000000000;
    solver_case_diamond(&setting->plan, /* scale */ 1, rate_per_s);
    begin(setting, /* parts */ 2, requeue);
}

/* What pattern @index asks of @queue. */
static struct demand demand_of(const struct setting *setting, uint32_t index, uint32_t queue)
{
    const struct pattern *pattern = &setting->patterns.items[index];
    for (uint32_t i = 0; i < pattern->demand_count; i++) {
        const struct demand *demand = &setting->patterns.demands[pattern->demand_first + i];
        if (demand->queue == queue) {
            return *demand;
        }
    }
    return (struct demand){.queue = queue};
}

static void expect_demand(
    const struct setting *setting, uint32_t index, uint32_t queue, double work_ms, double second)
{
    const struct demand demand = demand_of(setting, index, queue);
    solver_case_near(demand.work_ns / 1e6, work_ms, 1e-9);
    solver_case_near(demand.second / 1e12, second, 1e-9);
}

static const struct spot here = {0, 0, 0};
static const struct spot beside = {0, 0, 1};
static const struct spot there = {1, 0, 0};

static void what_runs_together_is_one_visit(ATTR_UNUSED void **state)
{
    struct setting setting;
    open_diamond(&setting, 1, false);
    const struct spot local[] = {here, here, here, here};
    assert_int_equal(add(&setting, 0, local), 0);
    expect_demand(&setting, 0, 0, 22, 22 * 22);
    solver_case_near(setting.patterns.items[0].idle_ns / 1e6, 22, 1e-9);
    assert_int_equal(setting.patterns.items[0].step_count, 2); /* It, and the answer. */
    end(&setting);
    open_diamond(&setting, 1, true);
    assert_int_equal(add(&setting, 0, local), 0);
    expect_demand(&setting, 0, 0, 22, 4 + 64 + 100 + 4);
    solver_case_near(setting.patterns.items[0].idle_ns / 1e6, 22, 1e-9);
    end(&setting);
}

static void what_crosses_the_network_loads_its_links(ATTR_UNUSED void **state)
{
    struct setting setting;
    open_diamond(&setting, 1, false);
    const struct spot split[] = {here, there, here, here};
    const struct spot wrong[] = {here, here, there, here};
    const struct spot inside[] = {here, beside, here, here};
    const struct site *sites = setting.sites->sites;
    assert_int_equal(add(&setting, 0, split), 0);
    expect_demand(&setting, 0, 0, 14, 14 * 14); /* Its parts meet at the very moment. */
    expect_demand(&setting, 0, sites[1].worker_first, 8, 64);
    expect_demand(&setting, 0, sites[0].up, 1, 1);
    expect_demand(&setting, 0, sites[1].down, 1, 1);
    expect_demand(&setting, 0, sites[1].up, 1, 1);
    expect_demand(&setting, 0, sites[0].down, 1, 1);
    solver_case_near(setting.patterns.items[0].idle_ns / 1e6, 14, 1e-9);
    assert_int_equal(add(&setting, 0, wrong), 1);
    solver_case_near(setting.patterns.items[1].idle_ns / 1e6, 32, 1e-9);
    expect_demand(&setting, 1, 0, 12, 10 * 10 + 2 * 2); /* There is a gap before the last. */
    solver_case_near(demand_of(&setting, 1, 0).ahead_ns / 1e6, 2, 1e-9); /* It goes ahead then. */
    solver_case_near(demand_of(&setting, 0, 0).ahead_ns, 0, 0);
    expect_demand(&setting, 1, sites[0].up, 9, 81);
    assert_int_equal(add(&setting, 0, inside), 2);
    solver_case_near(setting.patterns.items[2].idle_ns / 1e6, 14, 1e-9);
    expect_demand(&setting, 2, sites[0].up, 0, 0);
    expect_demand(&setting, 2, 1, 8, 64);
    end(&setting);
}

/* Two visits on the longest way, each with the wait of its worker; the links are idle. */
static void waits_are_counted_where_the_job_waits(ATTR_UNUSED void **state)
{
    struct setting setting;
    double starts[8];
    open_diamond(&setting, 1, false);
    const struct spot split[] = {here, there, here, here};
    const uint32_t queue_count = setting.sites->queue_count;
    double prices[64] = {0};
    assert_true(2 * queue_count <= 64);
    assert_int_equal(add(&setting, 0, split), 0);
    prices[0] = 3e6;
    solver_case_near(pattern_length(&setting.patterns, 0, prices, starts, NULL), 17e6, 1);
    prices[setting.sites->sites[1].worker_first] = 5e6;
    solver_case_near(pattern_length(&setting.patterns, 0, prices, starts, NULL), 22e6, 1);
    prices[setting.sites->sites[1].up] = 1e6;
    prices[setting.sites->sites[0].up] = 1e6;
    solver_case_near(pattern_length(&setting.patterns, 0, prices, starts, NULL), 24e6, 1);
    end(&setting);
}

/* a and d here, b and c there: the first waits for the join, and c comes right behind b. */
static void tasks_of_one_job_hold_each_other_up(ATTR_UNUSED void **state)
{
    struct setting setting;
    double starts[8];
    double prices[64] = {0};
    open_diamond(&setting, 1, false);
    const struct spot outer[] = {here, there, there, here};
    assert_int_equal(add(&setting, 0, outer), 0);
    /* 2, then 1 and 9 over the same link; b from 3 to 11, c from 11 to 21, 9 back, d. */
    solver_case_near(setting.patterns.items[0].idle_ns / 1e6, 2 + 9 + 10 + 9 + 2, 1e-9);
    prices[setting.sites->sites[1].worker_first] = 4e6;
    solver_case_near(
        pattern_length(&setting.patterns, 0, prices, starts, NULL) / 1e6,
        2 + 1 + 4 + 8 + 10 + 9 + 2, 1e-9);
    end(&setting);
}

static void random_setting(struct setting *setting, uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 1);
    const uint32_t node_count = 4 + rng_below(&rng, 5);
    const uint32_t worker_count = 1 + rng_below(&rng, 2);
    solver_case_open(&setting->plan, node_count, worker_count);
    struct fleet *fleet = setting->plan.fleet;
    fleet->network.link_bytes_per_s = 1000000000;
    fleet->network.latency_ns = 50000;
    fleet->network.kind = (enum network_kind)(seed % 3);
    fleet->network.core_bytes_per_s = 2000000000;
    fleet->network.rack_count = 2;
    fleet->network.sharing = (enum network_sharing)(seed / 3 % 2);
    fleet->network.background =
        (struct network_background){.load = 0.1, .bytes = 1000000, .exponential = seed % 2 == 0};
    solver_case_add_kind(&setting->plan, "slow", 1.7);
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t tasks = 1 + rng_below(&rng, 5);
        const double rate = 0.04 * fleet->worker_count / (tasks * 5.5e-3);
        solver_case_random(&setting->plan, &rng, tasks, 100000, rate);
    }
    begin(setting, /* parts */ 2, seed % 4 == 3);
    for (uint32_t i = 0; i < 36; i++) {
        struct spot spots[8];
        for (uint32_t k = 0; k < 8; k++) {
            const uint32_t site = rng_below(&rng, setting->sites->site_count);
            const uint32_t slot = rng_below(&rng, setting->sites->sites[site].slot_count);
            spots[k] = (struct spot){(uint16_t)site, 0, (uint16_t)slot};
        }
        assert_int_not_equal(add(setting, i % 3, spots), UINT32_MAX);
    }
    descent_admit(&setting->descent, 1);
    for (uint32_t i = 0; i < setting->descent.count; i++) {
        setting->descent.shares[i] *= 0.2 + rng_unit(&rng);
    }
    descent_normalise(&setting->descent);
    while (isinf(congestion_evaluate(&setting->congestion, setting->descent.shares))) {
        setting->congestion.scale /= 2;
    }
}

/* By central differences; shares need not sum to 1 for that. */
static void slopes_are_those_of_the_mean_time(ATTR_UNUSED void **state)
{
    for (uint64_t seed = 0; seed < 24; seed++) {
        struct setting setting;
        random_setting(&setting, seed);
        struct congestion *congestion = &setting.congestion;
        double *shares = setting.descent.shares;
        const double step = 1e-6;
        assert_true(congestion_evaluate(congestion, shares) < 1e18);
        congestion_slopes(congestion);
        for (uint32_t i = 0; i < setting.patterns.count; i++) {
            const uint32_t stream = setting.patterns.items[i].stream;
            const double weight = setting.workload->streams[stream].rate / setting.workload->rate;
            const double share = shares[i];
            const double slope = weight * congestion->slopes[i];
            shares[i] = share + step;
            const double more = congestion_evaluate(congestion, shares);
            shares[i] = share - step;
            const double less = congestion_evaluate(congestion, shares);
            shares[i] = share;
            solver_case_near((more - less) / (2 * step), slope, 1e-6 * slope);
        }
        (void)congestion_evaluate(congestion, shares);
        for (uint32_t i = 0; i < setting.sites->site_count; i++) {
            const double size = setting.sites->sites[i].size;
            (void)congestion_evaluate(congestion, shares);
            const double slope = congestion_size_slope(congestion, i);
            sites_resize(setting.sites, i, size + step);
            const double more = congestion_evaluate(congestion, shares);
            sites_resize(setting.sites, i, size - step);
            const double less = congestion_evaluate(congestion, shares);
            sites_resize(setting.sites, i, size);
            solver_case_near(
                (more - less) / (2 * step), slope, 1e-5 * fabs(slope) + 1e-9 * congestion->mean_ns);
        }
        end(&setting);
    }
}

/* Where all machines get the same, nothing tells them apart: stationary, and far from best. */
static void even_use_is_stationary(ATTR_UNUSED void **state)
{
    struct setting setting;
    solver_case_sizes(&setting.plan, 0.8);
    begin(&setting, /* parts */ 80, false);
    for (uint32_t stream = 0; stream < 3; stream++) {
        for (uint16_t site = 0; site < 80; site++) {
            const struct spot spot = {.site = site};
            (void)add(&setting, stream, &spot);
        }
    }
    descent_admit(&setting.descent, 1);
    solver_case_near(descent_run(&setting.descent, 100, 1e-9) / 1e6, 89.1, 1e-6);
    for (uint32_t i = 0; i < 240; i++) {
        const double first = setting.congestion.slopes[i / 80 * 80];
        solver_case_near(setting.congestion.slopes[i], first, 1e-9 * first);
    }
    /* A little to one side, and it falls to the pools. */
    struct rng rng = rng_stream(2, RNG_TEST, 2);
    for (uint32_t i = 0; i < 240; i++) {
        setting.descent.shares[i] *= 1 + 0.2 * rng_unit(&rng);
    }
    descent_normalise(&setting.descent);
    assert_true(descent_run(&setting.descent, 600, 1e-7) / 1e6 < 1.02 * 28.8);
    end(&setting);
}

static void every_descent_goes_down(ATTR_UNUSED void **state)
{
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct setting setting;
        random_setting(&setting, seed);
        double before = congestion_evaluate(&setting.congestion, setting.descent.shares);
        for (uint32_t i = 0; i < 10; i++) {
            const double after = descent_run(&setting.descent, 3, 0);
            assert_true(after <= before);
            before = after;
        }
        double sums[3] = {0};
        for (uint32_t i = 0; i < setting.descent.count; i++) {
            assert_true(setting.descent.shares[i] >= 0);
            sums[setting.patterns.items[i].stream] += setting.descent.shares[i];
        }
        for (uint32_t i = 0; i < 3; i++) {
            solver_case_near(sums[i], 1, 1e-12);
        }
        end(&setting);
    }
}

/* Two branches of a fork on workers of their own: the closed form of two delays. */
static void joins_cost_what_the_unlucky_branch_does(ATTR_UNUSED void **state)
{
    struct setting setting;
    open_diamond(&setting, /* rate_per_s */ 40, false);
    const struct spot split[] = {here, beside, here, here};
    assert_int_equal(add(&setting, 0, split), 0);
    descent_admit(&setting.descent, 1);
    const double plain_ns = congestion_evaluate(&setting.congestion, setting.descent.shares);
    const double wait_a = 0.04 * 14 * 14 / (2 * (1 - 0.04 * 14));
    const double wait_b = 0.04 * 64 / (2 * (1 - 0.04 * 8));
    const double rate_b = 0.04 * 8 / wait_b;
    /* c takes 10 for certain; b takes 8, and 2 more than its wait only if that is long. */
    const double late = wait_b * exp(-rate_b * 2);
    /* If it does, another job may have begun here: none goes ahead, so its rest is half of R. */
    const double missed = 0.04 * 8 * exp(-rate_b * 2) * 0.04 * 14 * 14 / 2;
    const double expected_ms = mean_length(&setting.congestion, &setting.patterns, 0) / 1e6;
    solver_case_near(plain_ns / 1e6, wait_a + 2 + (wait_b > 2 ? 8 + wait_b : 10) + 2, 1e-6);
    solver_case_near(expected_ms, wait_a + 2 + 10 + late + missed + 2, 1e-6);
    end(&setting);
}

/* Where each task queues again, what joins two branches waits for both, and then once more. */
static void what_queues_anew_waits_once_it_is_gathered(ATTR_UNUSED void **state)
{
    struct setting setting;
    open_diamond(&setting, /* rate_per_s */ 40, /* requeue */ true);
    const struct spot split[] = {here, beside, here, here};
    assert_int_equal(add(&setting, 0, split), 0);
    descent_admit(&setting.descent, 1);
    (void)congestion_evaluate(&setting.congestion, setting.descent.shares);
    const double wait_a = 0.04 * (4 + 100 + 4) / (2 * (1 - 0.04 * 14));
    const double wait_b = 0.04 * 64 / (2 * (1 - 0.04 * 8));
    const double rate_a = 0.04 * 14 / wait_a;
    const double rate_b = 0.04 * 8 / wait_b;
    const double met = 1 - 0.04 * 14 + 0.04 * 14 * rate_a / (rate_a + rate_b);
    const double later = 10 + wait_a + wait_b * exp(-rate_b * 2) * met;
    const double expected_ms = mean_length(&setting.congestion, &setting.patterns, 0) / 1e6;
    solver_case_near(expected_ms, wait_a + 2 + later + wait_a + 2, 1e-6);
    end(&setting);
}

/* How long a pair takes whose tasks of 2 ms are on two machines, 4 ms apart, at 50 a second. */
static double expect_pair(uint32_t worker_count, double background)
{
    struct setting setting;
    solver_case_open(&setting.plan, /* node_count */ 2, worker_count);
    setting.plan.fleet->network.link_bytes_per_s = 1000000000;
    setting.plan.fleet->network.background =
        (struct network_background){.load = background, .bytes = 4000000};
    solver_case_pair(&setting.plan, /* ms */ 2, /* bytes */ 4000000, /* rate_per_s */ 50);
    begin(&setting, /* parts */ 2, false);
    assert_int_equal(add(&setting, 0, (struct spot[]){here, there}), 0);
    descent_admit(&setting.descent, 1);
    (void)congestion_evaluate(&setting.congestion, setting.descent.shares);
    const double expected_ms = mean_length(&setting.congestion, &setting.patterns, 0) / 1e6;
    end(&setting);
    return expected_ms;
}

/* What a worker sends has had the link to itself since the worker sent something before. */
static void a_link_has_worked_while_its_worker_did(ATTR_UNUSED void **state)
{
    const double worker = 0.05 * 4 / (2 * (1 - 0.05 * 2));
    const double link = 0.05 * 16 / (2 * (1 - 0.05 * 4));
    const double left = exp(-0.05 * 4 / link * 2);
    const double idle = 2 + 4 + 2;
    solver_case_near(expect_pair(1, 0), idle + 2 * worker + link + link * left, 1e-6);
    /* Of two workers one has been silent; and half of the traffic is of others. */
    solver_case_near(expect_pair(2, 0), idle + 2 * worker + link + link * (1 + left) / 2, 1e-6);
    const double busy = 0.4 * 4 / (2 * (1 - 0.4));
    const double less = exp(-0.4 / busy * 2);
    solver_case_near(expect_pair(1, 0.2), idle + 2 * worker + busy + busy * (1 + less) / 2, 1e-6);
}

static void machines_that_are_alike_are_one_site(ATTR_UNUSED void **state)
{
    struct setting setting;
    solver_case_open(&setting.plan, /* node_count */ 6, /* worker_count */ 2);
    solver_case_add_kind(&setting.plan, "slow", 2);
    struct fleet *fleet = setting.plan.fleet;
    fleet->network.link_bytes_per_s = 1000;
    (void)solver_case_model(&setting.plan, "a", 10);
    solver_case_single(&setting.plan, "a", 1);
    fleet_set_rates(fleet, 2, 500, 0);
    const uint32_t uses[] = {0, 0, 0, 0, 0, 1, 0};
    struct sites *sites =
        sites_create(setting.plan.fleet, &(struct sites_options){.uses = uses, .parts = 2});
    assert_int_equal(sites->class_count, 4); /* 0 1 3 4, 2, 5, and the slow one. */
    assert_int_equal(sites->site_count, 5);
    assert_int_equal(sites->classes[0].node_count, 4);
    assert_int_equal(sites->classes[0].nodes[2], 3);
    solver_case_near(sites->sites[0].size, 2, 0);
    solver_case_near(sites->queues[sites->sites[2].up].bytes_per_ns, 500e-9, 1e-15);
    solver_case_near(sites->queues[sites->sites[2].down].bytes_per_ns, 1000e-9, 1e-15);
    assert_int_equal(sites_device(sites, 4, 0), 1);
    sites_resize(sites, 0, 3.5);
    solver_case_near(sites->queues[sites->sites[0].worker_first + 1].copies, 3.5, 0);
    solver_case_near(sites->queues[sites->sites[0].down].copies, 3.5, 0);
    sites_destroy(sites);
    begin(&setting, 1, false);
    end(&setting);
}

static void racks_are_crossed_by_their_core(ATTR_UNUSED void **state)
{
    struct setting setting;
    struct crossing crossing;
    solver_case_open(&setting.plan, /* node_count */ 4, /* worker_count */ 1);
    struct fleet_network *network = &setting.plan.fleet->network;
    network->kind = NETWORK_TWO_TIER;
    network->rack_count = 2;
    network->link_bytes_per_s = 1000;
    network->core_bytes_per_s = 3000;
    (void)solver_case_model(&setting.plan, "a", 10);
    solver_case_single(&setting.plan, "a", 1);
    begin(&setting, 1, false);
    const struct sites *sites = setting.sites;
    assert_int_equal(sites->site_count, 2);
    sites_cross(sites, 0, 0, &crossing);
    assert_int_equal(crossing.count, 2);
    sites_cross(sites, 0, 1, &crossing);
    assert_int_equal(crossing.count, 4);
    assert_int_equal(crossing.queues[1], sites->sites[0].core_up);
    assert_int_equal(crossing.queues[2], sites->sites[1].core_down);
    assert_true(sites->sites[0].core_up != sites->sites[1].core_up);
    end(&setting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_runs_together_is_one_visit),
        cmocka_unit_test(what_crosses_the_network_loads_its_links),
        cmocka_unit_test(waits_are_counted_where_the_job_waits),
        cmocka_unit_test(tasks_of_one_job_hold_each_other_up),
        cmocka_unit_test(slopes_are_those_of_the_mean_time),
        cmocka_unit_test(even_use_is_stationary),
        cmocka_unit_test(every_descent_goes_down),
        cmocka_unit_test(joins_cost_what_the_unlucky_branch_does),
        cmocka_unit_test(what_queues_anew_waits_once_it_is_gathered),
        cmocka_unit_test(a_link_has_worked_while_its_worker_did),
        cmocka_unit_test(machines_that_are_alike_are_one_site),
        cmocka_unit_test(racks_are_crossed_by_their_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
