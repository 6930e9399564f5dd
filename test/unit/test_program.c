/*
 * The program as a whole: what is known in closed form must come out.
 * Covers: src/mixture/draft.c src/mixture/draft_shapes.c src/mixture/draft_feasible.c
 * src/mixture/draft_round.c
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/hash.h"
#include "model/links_route.h"
#include "solver_case.h"
#include "split_rates.h"

static const struct program_options defaults;

static double predict_ms(
    struct solver_case *plan, const struct program_options *options, struct mixture *mixture)
{
    struct program_report report;
    struct weft_error error;
    assert_int_equal(program_predict(&plan->input, options, mixture, &report, &error), WEFT_OK);
    return report.mean_ns / 1e6;
}

static void an_idle_diamond_takes_22_32_or_14_ms(ATTR_UNUSED void **state)
{
    static const uint16_t placements[3][4] = {{0, 0, 0, 0}, {0, 0, 1, 0}, {0, 1, 0, 0}};
    static const double expected_ms[] = {22, 32, 14};
    struct solver_case plan;
    struct program_report report;
    solver_case_open(&plan, /* node_count */ 2, /* worker_count */ 1);
    plan.fleet->network.link_bytes_per_s = 1000000000;
    solver_case_diamond(&plan, /* scale */ 1, /* rate_per_s */ 1e-6);
    for (uint32_t i = 0; i < 3; i++) {
        struct mixture *mixture = solver_case_by_hand(&plan, placements[i], 1);
        solver_case_near(predict_ms(&plan, &defaults, mixture), expected_ms[i], 1e-4);
        mixture_destroy(mixture);
    }
    struct mixture *mixture = solver_case_solve(&plan, &defaults, &report);
    solver_case_near(report.mean_ns / 1e6, 14, 1e-4);
    solver_case_near(report.idle_ns / 1e6, 14, 1e-4);
    mixture_destroy(mixture);
    solver_case_close(&plan);
}

/* Sizes of 2, 8 and 60 ms on 80 machines: even use, and the pools that the solver must find. */
static void short_and_long_jobs_are_kept_apart(ATTR_UNUSED void **state)
{
    static const double loads[] = {0.5, 0.7, 0.8, 0.9};
    static const double even_ms[] = {29.475, 55.975, 89.1, 188.475};
    static const double pools_ms[] = {14.4, 20.8, 28.8, 52.8};
    for (uint32_t i = 0; i < 4; i++) {
        struct solver_case plan;
        struct program_report report;
        solver_case_sizes(&plan, loads[i]);
        struct mixture *even = mixture_create(3, 80, links_count(plan.fleet));
        for (uint32_t k = 0; k < 3; k++) {
            mixture_set_workflow(even, k, 1, 0);
            for (uint16_t worker = 0; worker < 80; worker++) {
                assert_int_equal(mixture_add_pattern(even, k, &worker, 1), WEFT_OK);
            }
        }
        assert_int_equal(mixture_seal(even, NULL), WEFT_OK);
        solver_case_near(predict_ms(&plan, &defaults, even), even_ms[i], 1e-6 * even_ms[i]);
        mixture_destroy(even);
        struct mixture *mixture = solver_case_solve(&plan, &defaults, &report);
        assert_true(report.mean_ns / 1e6 < 1.001 * pools_ms[i]);
        solver_case_near(report.load_max, loads[i], 0.02);
        assert_true(report.gap < 1e-3);
        mixture_destroy(mixture);
        solver_case_close(&plan);
    }
}

/*
 * Part of the jobs is split, which saves 8 ms and crosses the link twice for 1 ms: the best
 * link utilisation is 1 - 1 / sqrt(1 + 2 * 8 / (2 * 1)) = 2/3, as long as machines are idle.
 */
static void the_best_use_of_a_link_is_two_thirds(ATTR_UNUSED void **state)
{
    static const double rates[] = {400, 600, 1200};
    const struct program_options options = {.plain_joins = true, .restarts = 2};
    for (uint32_t i = 0; i < 3; i++) {
        struct solver_case plan;
        struct program_report report;
        solver_case_open(&plan, /* node_count */ 10000, /* worker_count */ 1);
        plan.fleet->network.kind = NETWORK_BOTTLENECK;
        plan.fleet->network.core_bytes_per_s = 1000000000;
        solver_case_diamond(&plan, /* scale */ 1, rates[i]);
        struct mixture *mixture = solver_case_solve(&plan, &options, &report);
        const struct mixture_workflow *mixed = &mixture->workflows[0];
        double split = 0;
        for (uint32_t k = 0; k < mixed->pattern_count; k++) {
            const uint16_t *placement = mixture_placement(mixture, 0, k);
            split += placement[0] != placement[1] ? mixed->weights[k] : 0;
        }
        solver_case_near(mixture->link_load[20000], 2.0 / 3, 0.003);
        solver_case_near(split, 1000 / (3 * rates[i]), 0.003);
        mixture_destroy(mixture);
        solver_case_close(&plan);
    }
}

/* At a rate below 1 / (3 ms) all jobs are split. */
static void a_link_with_room_is_used_by_all(ATTR_UNUSED void **state)
{
    struct solver_case plan;
    struct program_report report;
    solver_case_open(&plan, /* node_count */ 100, /* worker_count */ 1);
    plan.fleet->network.kind = NETWORK_BOTTLENECK;
    plan.fleet->network.core_bytes_per_s = 1000000000;
    solver_case_diamond(&plan, /* scale */ 1, /* rate_per_s */ 100);
    struct mixture *mixture = solver_case_solve(&plan, &defaults, &report);
    solver_case_near(mixture->link_load[200], 0.2, 1e-6);
    mixture_destroy(mixture);
    solver_case_close(&plan);
}

/* One kind of job on three kinds of machines: convex, and known. */
static void unequal_machines_get_the_best_shares(ATTR_UNUSED void **state)
{
    const struct split_server servers[] = {{10, 0}, {15, 0}, {40, 0}};
    for (double rate = 0.02; rate < 0.18; rate += 0.03) {
        struct solver_case plan;
        struct program_report report;
        double rates[3];
        solver_case_open(&plan, /* node_count */ 1, /* worker_count */ 1);
        solver_case_add_kind(&plan, "slow", 1.5);
        solver_case_add_kind(&plan, "slower", 4);
        (void)solver_case_model(&plan, "a", 10);
        solver_case_single(&plan, "a", 1e3 * rate);
        struct mixture *mixture = solver_case_solve(&plan, &defaults, &report);
        const double expected_ms = split_rates(servers, 3, rate, rates);
        solver_case_near(report.mean_ns / 1e6, expected_ms, 1e-6 * expected_ms);
        solver_case_near(mixture->worker_load[0], rates[0] * 10, 1e-3);
        solver_case_near(mixture->worker_load[2], rates[2] * 40, 1e-3);
        mixture_destroy(mixture);
        solver_case_close(&plan);
    }
}

static void open_random(struct solver_case *plan, uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 0);
    const uint32_t node_count = 6 + rng_below(&rng, 12);
    const uint32_t worker_count = 1 + rng_below(&rng, 2);
    solver_case_open(plan, node_count, worker_count);
    plan->fleet->network.link_bytes_per_s = 1000000000;
    plan->fleet->network.latency_ns = 50000;
    plan->fleet->network.kind = (enum network_kind)rng_below(&rng, 3);
    plan->fleet->network.core_bytes_per_s = 4000000000;
    plan->fleet->network.rack_count = 2;
    plan->fleet->network.sharing = (enum network_sharing)rng_below(&rng, 2);
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t tasks = 1 + rng_below(&rng, 6);
        const double rate = 0.15 * plan->fleet->worker_count / (tasks * 5.5e-3);
        solver_case_random(plan, &rng, tasks, 100000, rate);
    }
}

/* Loads of workers and links, summed over the placements alone. */
static void check_loads(const struct solver_case *plan, const struct mixture *mixture)
{
    double *loads = calloc(plan->fleet->worker_count, sizeof(*loads));
    for (uint32_t i = 0; i < 3; i++) {
        const struct workflow *workflow = plan->catalogue->workflows[i];
        const struct mixture_workflow *mixed = &mixture->workflows[i];
        double sum = 0;
        assert_true(mixed->rate_per_s == plan->rates[i]);
        for (uint32_t k = 0; k < mixed->pattern_count; k++) {
            sum += mixed->weights[k];
            for (uint32_t task = 0; task < workflow->task_count; task++) {
                const uint32_t worker = mixture_placement(mixture, i, k)[task];
                const int64_t run_ns =
                    profile_run_one_ns(plan->profile, workflow->tasks[task].run, 0);
                loads[worker] += plan->rates[i] * mixed->weights[k] * (double)run_ns / 1e9;
            }
        }
        solver_case_near(sum, 1, 1e-6);
    }
    for (uint32_t i = 0; i < plan->fleet->worker_count; i++) {
        solver_case_near(mixture->worker_load[i], loads[i], 1e-5);
    }
    free(loads);
}

/* Machines taken together or one by one, it is the same mixture. */
static void predictions_belong_to_the_placements(ATTR_UNUSED void **state)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct solver_case plan;
        struct program_report report;
        const struct program_options options = {.seed = seed, .requeue = seed % 3 == 0};
        open_random(&plan, seed);
        struct mixture *mixture = solver_case_solve(&plan, &options, &report);
        const double mean_ns = mixture->mean_ns;
        double *link_load = calloc(mixture->link_count, sizeof(double));
        memcpy(link_load, mixture->link_load, mixture->link_count * sizeof(double));
        assert_true(mean_ns > report.idle_ns);
        check_loads(&plan, mixture);
        solver_case_near(predict_ms(&plan, &options, mixture), mean_ns / 1e6, 1e-5 * mean_ns / 1e6);
        for (uint32_t i = 0; i < mixture->link_count; i++) {
            solver_case_near(mixture->link_load[i], link_load[i], 1e-5);
        }
        free(link_load);
        mixture_destroy(mixture);
        solver_case_close(&plan);
    }
}

static void a_solution_is_a_good_start_for_other_rates(ATTR_UNUSED void **state)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct solver_case plan;
        struct program_report cold;
        struct program_report warm;
        open_random(&plan, seed);
        struct mixture *first = solver_case_solve(&plan, &defaults, NULL);
        for (uint32_t i = 0; i < 3; i++) {
            plan.rates[i] *= i == 1 ? 0.95 : 1.05;
        }
        struct mixture *second = solver_case_solve(&plan, &defaults, &cold);
        const struct program_options options = {.start = first};
        struct mixture *third = solver_case_solve(&plan, &options, &warm);
        assert_true(warm.mean_ns < 1.03 * cold.mean_ns);
        assert_true(warm.evaluations < cold.evaluations / 4);
        solver_case_near(predict_ms(&plan, &defaults, third), warm.mean_ns / 1e6, 1e-3);
        mixture_destroy(first);
        mixture_destroy(second);
        mixture_destroy(third);
        solver_case_close(&plan);
    }
}

/* All machines together can do 3.12 of the plain ones' work: even use is too much for the slow. */
static void a_feasible_point_is_found_near_saturation(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct solver_case plan;
        struct program_report report;
        solver_case_open(&plan, /* node_count */ 3, /* worker_count */ 1);
        solver_case_add_kind(&plan, "slow", 10);
        solver_case_add_kind(&plan, "slower", 50);
        (void)solver_case_model(&plan, "a", 10);
        (void)solver_case_model(&plan, "b", 5);
        solver_case_single(&plan, "a", 260);
        solver_case_single(&plan, "b", i == 0 ? 101 : 105); /* 3.105, or 3.125. */
        if (i == 0) {
            struct mixture *mixture = solver_case_solve(&plan, &defaults, &report);
            assert_true(report.load_max > 0.98 && report.load_max < 1);
            mixture_destroy(mixture);
        } else {
            struct mixture *mixture = NULL;
            struct weft_error error;
            assert_int_equal(
                program_solve(&plan.input, &defaults, &mixture, &report, &error), WEFT_REFUSED);
            assert_non_null(strstr(error.message, "worker "));
        }
        solver_case_close(&plan);
    }
}

static void a_full_link_is_named(ATTR_UNUSED void **state)
{
    struct solver_case plan;
    struct mixture *mixture = NULL;
    struct weft_error error;
    solver_case_open(&plan, /* node_count */ 2, /* worker_count */ 1);
    solver_case_add_kind(&plan, "special", 1);
    struct rng rng = rng_stream(1, RNG_TEST, 0);
    solver_case_random(&plan, &rng, /* task_count */ 2, 0, /* rate_per_s */ 20);
    plan.fleet->network.link_bytes_per_s = 100000;
    plan.fleet->network.latency_ns = 1000;
    /* The first task runs on plain machines alone, the second one on the special one. */
    struct profile_model *models = plan.profile->models;
    models[plan.catalogue->workflows[0]->tasks[0].run].curves[1].point_count = 0;
    models[plan.catalogue->workflows[0]->tasks[1].run].curves[0].point_count = 0;
    assert_int_equal(program_solve(&plan.input, &defaults, &mixture, NULL, &error), WEFT_REFUSED);
    assert_non_null(strstr(error.message, "the link to machine 2"));
    solver_case_close(&plan);
}

static void mistakes_are_refused(ATTR_UNUSED void **state)
{
    struct solver_case plan;
    struct mixture *mixture = NULL;
    struct weft_error error;
    solver_case_open(&plan, /* node_count */ 2, /* worker_count */ 1);
    (void)solver_case_model(&plan, "a", 10);
    solver_case_single(&plan, "a", 0);
    assert_int_equal(program_solve(&plan.input, &defaults, &mixture, NULL, &error), WEFT_INVALID);
    assert_non_null(strstr(error.message, "no workflow has a rate"));
    plan.rates[0] = -1;
    assert_int_equal(program_solve(&plan.input, &defaults, &mixture, NULL, &error), WEFT_INVALID);
    assert_non_null(strstr(error.message, "the rate of workflow a is -1"));
    plan.rates[0] = 1;
    struct mixture *other = mixture_create(1, 3, 6);
    const struct program_options options = {.start = other};
    assert_int_equal(program_solve(&plan.input, &options, &mixture, NULL, &error), WEFT_INVALID);
    assert_non_null(strstr(error.message, "3 workers"));
    mixture_destroy(other);
    plan.profile->models[0].curves[0].point_count = 0;
    assert_int_equal(program_solve(&plan.input, &defaults, &mixture, NULL, &error), WEFT_NOT_FOUND);
    assert_non_null(strstr(error.message, "task a0 of workflow a"));
    assert_null(mixture);
    solver_case_close(&plan);
}

static void overload_is_predicted_as_endless(ATTR_UNUSED void **state)
{
    static const uint16_t placement[4] = {0, 0, 0, 0};
    struct solver_case plan;
    struct program_report report;
    solver_case_open(&plan, /* node_count */ 2, /* worker_count */ 1);
    solver_case_diamond(&plan, /* scale */ 1, /* rate_per_s */ 50);
    struct mixture *mixture = solver_case_by_hand(&plan, placement, 1);
    assert_int_equal(program_predict(&plan.input, &defaults, mixture, &report, NULL), WEFT_OK);
    assert_true(isinf(report.mean_ns));
    assert_true(isinf(mixture->workflows[0].mean_ns));
    solver_case_near(mixture->worker_load[0], 1.1, 1e-9);
    mixture_destroy(mixture);
    solver_case_close(&plan);
}

static uint64_t hash_of(const struct mixture *mixture)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < mixture->workflow_count; i++) {
        const struct mixture_workflow *mixed = &mixture->workflows[i];
        for (uint32_t k = 0; k < mixed->pattern_count; k++) {
            uint64_t bits;
            memcpy(&bits, &mixed->weights[k], sizeof(bits));
            hash = hash_mix(hash, bits);
            for (uint32_t task = 0; task < mixed->task_count; task++) {
                hash = hash_mix(hash, mixture_placement(mixture, i, k)[task]);
            }
        }
    }
    return hash;
}

/* The same bits from every compiler and at every level of optimisation. */
static void mixtures_are_the_same_everywhere(ATTR_UNUSED void **state)
{
    static const uint64_t expected[] = {
        UINT64_C(0x3e2221474046ba9f), UINT64_C(0x348ad6689267ddbe), UINT64_C(0xe846858df18e31c6),
        UINT64_C(0xe93e8da4c5ab0668)};
    uint32_t different = 0;
    for (uint32_t i = 0; i < 4; i++) {
        struct solver_case plan;
        open_random(&plan, i + 1);
        const struct program_options options = {.seed = i, .plain_joins = i == 3};
        struct mixture *mixture = solver_case_solve(&plan, &options, NULL);
        print_message("[mixture] %u: 0x%016llx\n", i, (unsigned long long)hash_of(mixture));
        different += hash_of(mixture) != expected[i] ? 1 : 0;
        mixture_destroy(mixture);
        solver_case_close(&plan);
    }
    assert_int_equal(different, 0);
}

/*
 * Short and long pairs whose first half runs on machines of one kind and the second on those of
 * another. Each kind is worth dividing; and when the parts are rounded, every placement of a
 * workflow may pass one that vanishes.
 */
static void jobs_of_two_kinds_keep_what_was_found_for_them(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < 4; i++) {
        struct solver_case plan;
        solver_case_open(&plan, /* node_count */ 8, /* worker_count */ 1);
        for (uint32_t k = 0; k < 6; k++) {
            solver_case_add_kind(&plan, "other", 1);
        }
        const double load = 0.4 + 0.1 * i;
        solver_case_pair(&plan, /* ms */ 4, /* bytes */ 100000, load * 3 / 4e-3);
        solver_case_pair(&plan, /* ms */ 40, /* bytes */ 100000, load * 3 / 40e-3);
        for (uint32_t model = 0; model < 4; model++) {
            profile_forget(plan.profile, model, model % 2 == 0 ? 1 : 0);
        }
        const struct program_options even = {.restarts = 1};
        struct mixture *one = solver_case_solve(&plan, &even, NULL);
        const struct program_options options = {.restarts = 2};
        struct mixture *two = solver_case_solve(&plan, &options, NULL);
        print_message(
            "[two kinds] load %.1f: %.3f ms even, %.3f ms divided\n", load, one->mean_ns / 1e6,
            two->mean_ns / 1e6);
        assert_true(two->mean_ns < 0.9 * one->mean_ns);
        mixture_destroy(one);
        mixture_destroy(two);
        solver_case_close(&plan);
    }
}

static void little_work_still_gives_a_mixture(ATTR_UNUSED void **state)
{
    struct solver_case plan;
    struct program_report little;
    struct program_report all;
    const struct program_options options = {.evaluations_max = 1, .restarts = 1};
    open_random(&plan, 3);
    struct mixture *mixture = solver_case_solve(&plan, &options, &little);
    mixture_destroy(mixture);
    mixture = solver_case_solve(&plan, &defaults, &all);
    assert_true(little.evaluations < all.evaluations / 4);
    assert_true(little.mean_ns >= all.mean_ns);
    mixture_destroy(mixture);
    solver_case_close(&plan);
}

/* Looking at every unit of a hundred on every machine would take minutes. */
static void large_workflows_take_bounded_work(ATTR_UNUSED void **state)
{
    struct solver_case plan;
    struct program_report report;
    struct rng rng = rng_stream(3, RNG_TEST, 0);
    solver_case_open(&plan, /* node_count */ 12, /* worker_count */ 1);
    plan.fleet->network.link_bytes_per_s = 1000000000;
    solver_case_random(&plan, &rng, /* task_count */ 100, 1000, /* rate_per_s */ 10);
    const struct program_options options = {.restarts = 1};
    struct mixture *mixture = solver_case_solve(&plan, &options, &report);
    assert_true(report.evaluations < 40000);
    assert_true(report.mean_ns < 2 * report.idle_ns);
    mixture_destroy(mixture);
    solver_case_close(&plan);
}

/* Diamonds at 300/s on @machines machines, or so many and @away others that are not there. */
static struct mixture *solve_diamonds(
    struct solver_case *plan, uint32_t machines, const uint64_t *away, const struct mixture *start,
    struct program_report *report)
{
    const struct program_options options = {.start = start};
    solver_case_open(plan, machines, /* worker_count */ 1);
    plan->fleet->network = (struct fleet_network){
        .kind = NETWORK_TWO_TIER,
        .nodes_per_rack = 8,
        .link_bytes_per_s = 1000000000,
        .core_bytes_per_s = 2000000000,
        .latency_ns = 20000,
    };
    solver_case_diamond(plan, /* scale */ 1, /* rate_per_s */ 300);
    plan->input.away = away;
    return solver_case_solve(plan, &options, report);
}

/* What is planned without some machines is what is planned for a cluster that never had them. */
static void machines_that_are_away_get_nothing(ATTR_UNUSED void **state)
{
    static const uint64_t second_rack[] = {0xff00};
    static const uint64_t some[] = {0x010204};
    struct solver_case plans[4];
    struct program_report reports[4];
    struct mixture *mixtures[] = {
        solve_diamonds(&plans[0], 16, NULL, NULL, &reports[0]),
        solve_diamonds(&plans[1], 24, second_rack, NULL, &reports[1]),
        solve_diamonds(&plans[2], 24, some, NULL, &reports[2]),
        NULL,
    };
    mixtures[3] = solve_diamonds(&plans[3], 24, some, mixtures[2], &reports[3]);
    assert_true(reports[1].mean_ns == reports[0].mean_ns);
    assert_true(reports[1].load_max == reports[0].load_max);
    assert_true(reports[2].mean_ns < reports[1].mean_ns);
    assert_true(reports[3].mean_ns < 1.001 * reports[2].mean_ns);
    for (uint32_t i = 0; i < 4; i++) {
        const struct mixture_workflow *mixed = &mixtures[i]->workflows[0];
        for (uint32_t k = 0; k < mixed->pattern_count * mixed->task_count; k++) {
            const uint64_t *away = plans[i].input.away;
            assert_true(away == NULL || (*away >> mixed->placements[k] & 1) == 0);
        }
        mixture_destroy(mixtures[i]);
        solver_case_close(&plans[i]);
    }
}

/* A kind of device that has no machine left cannot be planned with. */
static void a_task_whose_machines_are_all_away_is_refused(ATTR_UNUSED void **state)
{
    static const uint64_t all[] = {7};
    struct solver_case plan;
    struct mixture *mixture = NULL;
    struct weft_error error;
    solver_case_open(&plan, /* node_count */ 3, /* worker_count */ 1);
    (void)solver_case_model(&plan, "a", 10);
    solver_case_single(&plan, "a", /* rate_per_s */ 5);
    plan.input.away = all;
    assert_int_equal(program_solve(&plan.input, &defaults, &mixture, NULL, &error), WEFT_NOT_FOUND);
    solver_case_close(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_diamond_takes_22_32_or_14_ms),
        cmocka_unit_test(short_and_long_jobs_are_kept_apart),
        cmocka_unit_test(the_best_use_of_a_link_is_two_thirds),
        cmocka_unit_test(a_link_with_room_is_used_by_all),
        cmocka_unit_test(unequal_machines_get_the_best_shares),
        cmocka_unit_test(predictions_belong_to_the_placements),
        cmocka_unit_test(a_solution_is_a_good_start_for_other_rates),
        cmocka_unit_test(a_feasible_point_is_found_near_saturation),
        cmocka_unit_test(a_full_link_is_named),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(overload_is_predicted_as_endless),
        cmocka_unit_test(mixtures_are_the_same_everywhere),
        cmocka_unit_test(jobs_of_two_kinds_keep_what_was_found_for_them),
        cmocka_unit_test(little_work_still_gives_a_mixture),
        cmocka_unit_test(large_workflows_take_bounded_work),
        cmocka_unit_test(machines_that_are_away_get_nothing),
        cmocka_unit_test(a_task_whose_machines_are_all_away_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
