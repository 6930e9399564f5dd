/*
 * Past the corners of the mean time: ways that are blurred, what is kept, machines that change
 * their places.
 * Covers: src/mixture/draft_prune.c src/mixture/draft_sharpen.c src/mixture/blur.c
 * src/mixture/exchange.c src/mixture/kept.c src/mixture/levels.c
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/memory.h"
#include "mixture/blur.h"
#include "mixture/draft.h"
#include "mixture/kept.h"
#include "mixture/levels.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "solver_case.h"

enum { MACHINES = 14, MACHINES_MAX = 24 };

/* An draft whose sites are single machines, with what others do on them. */
struct setting {
    struct solver_case plan;
    struct program_background others[MACHINES_MAX];
    struct workload *workload;
    struct draft *draft;
};

static void begin(struct setting *setting, uint32_t machines, bool plain_joins)
{
    struct weft_error error;
    struct program_input *input = &setting->plan.input;
    input->workers = setting->others;
    assert_int_equal(workload_create(input, 1, &setting->workload, &error), WEFT_OK);
    struct sites *sites = sites_create(input, &(struct sites_options){.parts = machines});
    setting->draft = draft_open(setting->workload, sites, plain_joins);
}

static void end(struct setting *setting)
{
    draft_destroy(setting->draft);
    workload_destroy(setting->workload);
    solver_case_close(&setting->plan);
}

/* The site of machine @node. */
static uint16_t site_of(const struct setting *setting, uint32_t node)
{
    const struct sites *sites = setting->draft->sites;
    uint16_t site = 0;
    while (sites->classes[sites->sites[site].machines].nodes[0] != node) {
        site++;
    }
    return site;
}

static void place(struct setting *setting, uint32_t stream, uint32_t node)
{
    const struct spot spot = {.site = site_of(setting, node)};
    assert_int_not_equal(draft_add(setting->draft, stream, &spot), UINT32_MAX);
}

static void two_ways_are_blurred_as_by_hand(ATTR_UNUSED void **state)
{
    static const double lengths[][3] = {{10, 10, 0}, {9, 10, 0}, {10, 8, 1}, {10, 10, 10}};
    static const double values[] = {10.5, 10.125, 10, 10 + 2.0 / 3};
    static const double firsts[] = {0.5, 0.25, 1, 1.0 / 3};
    for (uint32_t i = 0; i < 4; i++) {
        double parts[3];
        solver_case_near(blur_longest(lengths[i], 3, /* width */ 2, parts), values[i], 1e-12);
        solver_case_near(parts[0], firsts[i], 1e-12);
        solver_case_near(parts[0] + parts[1] + parts[2], 1, 1e-12);
    }
}

/* Never less than the longest, more by less than half the width; its slopes are the parts. */
static void parts_are_slopes_of_the_blurred_length(ATTR_UNUSED void **state)
{
    struct rng rng = rng_stream(1, RNG_TEST, 0);
    for (uint32_t i = 0; i < 500; i++) {
        double lengths[BLUR_WAYS_MAX];
        double parts[BLUR_WAYS_MAX];
        double unused[BLUR_WAYS_MAX];
        double longest = 0;
        const uint32_t count = 1 + rng_below(&rng, BLUR_WAYS_MAX);
        const double width = 0.1 + 10 * rng_unit(&rng);
        for (uint32_t k = 0; k < count; k++) {
            lengths[k] = 10 + 5 * rng_unit(&rng);
            longest = lengths[k] > longest ? lengths[k] : longest;
        }
        const double value = blur_longest(lengths, count, width, parts);
        assert_true(value >= longest - 1e-12);
        assert_true(value <= longest + width / 2 * (1 - 1.0 / count) + 1e-12);
        for (uint32_t k = 0; k < count; k++) {
            const double step = 1e-6;
            lengths[k] += step;
            const double more = blur_longest(lengths, count, width, unused);
            lengths[k] -= step;
            solver_case_near((more - value) / step, parts[k], 1e-4);
        }
    }
}

/*
 * Ten workflows fork to two machines each, and join: they wait for the later branch. Other jobs
 * have all these machines and one more to go to. By symmetry, and because the mean time is convex
 * in the shares of one kind of jobs, the best is an equal share on each of the twenty: a corner for
 * all ten joins.
 */
enum { PAIRS = 10, BRANCHES = 2 * PAIRS, FORK_MACHINES = BRANCHES + 2 };

static void add_fork(struct setting *setting, uint32_t number)
{
    static const uint32_t edges[][2] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
    char name[NAME_BYTES_MAX];
    struct solver_case *plan = &setting->plan;
    (void)snprintf(name, sizeof(name), "fork%u", number);
    struct workflow *workflow = workflow_create(name);
    for (uint32_t i = 0; i < 4; i++) {
        struct workflow_task task = {
            .run = catalogue_find_model(plan->catalogue, i % 3 == 0 ? "end" : "branch")};
        uint32_t index;
        (void)snprintf(task.name, sizeof(task.name), "t%u", i);
        assert_int_equal(workflow_add_task(workflow, &task, &index), WEFT_OK);
    }
    for (uint32_t i = 0; i < 4; i++) {
        const struct workflow_edge edge = {.from = edges[i][0], .to = edges[i][1]};
        assert_int_equal(workflow_add_edge(workflow, &edge), WEFT_OK);
    }
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    plan->rates[plan->catalogue->workflow_count] = 60;
    assert_int_equal(catalogue_add_workflow(plan->catalogue, workflow), WEFT_OK);
}

static void open_corners(struct setting *setting)
{
    *setting = (struct setting){0};
    solver_case_open(&setting->plan, FORK_MACHINES, /* worker_count */ 1);
    (void)solver_case_model(&setting->plan, "end", 0.1);
    (void)solver_case_model(&setting->plan, "branch", 8);
    (void)solver_case_model(&setting->plan, "filler", 5);
    for (uint32_t i = 0; i < PAIRS; i++) {
        add_fork(setting, i);
    }
    solver_case_single(&setting->plan, "filler", /* rate_per_s */ 400);
    begin(setting, FORK_MACHINES, /* plain_joins */ true);
    for (uint16_t i = 0; i < PAIRS; i++) {
        const uint16_t first = (uint16_t)(1 + 2 * i);
        const struct spot fork[] = {
            {.site = 0}, {.site = first}, {.site = (uint16_t)(first + 1)}, {.site = 0}};
        assert_int_not_equal(draft_add(setting->draft, i, fork), UINT32_MAX);
    }
    for (uint16_t site = 1; site < FORK_MACHINES; site++) {
        const struct spot spot = {.site = site};
        assert_int_not_equal(draft_add(setting->draft, PAIRS, &spot), UINT32_MAX);
    }
    descent_admit(&setting->draft->descent, 1);
}

/* The mean time where each of the twenty machines has @share of the other jobs. */
static double mean_at(struct setting *setting, double share)
{
    double shares[PAIRS + BRANCHES + 1];
    for (uint32_t i = 0; i < PAIRS + BRANCHES; i++) {
        shares[i] = i < PAIRS ? 1 : share;
    }
    shares[PAIRS + BRANCHES] = 1 - BRANCHES * share;
    return congestion_evaluate(&setting->draft->congestion, shares);
}

/* Its minimum, by thirds. */
static double search_corners(struct setting *setting)
{
    double low = 0;
    double high = 1.0 / BRANCHES;
    while (high - low > 1e-9) {
        const double third = (high - low) / 3;
        if (mean_at(setting, low + third) < mean_at(setting, high - third)) {
            high -= third;
        } else {
            low += third;
        }
    }
    return mean_at(setting, low);
}

static void corners_do_not_stop_the_descent(ATTR_UNUSED void **state)
{
    double worst = 0;
    for (uint32_t i = 1; i <= 3; i++) {
        struct setting setting;
        open_corners(&setting);
        struct draft *draft = setting.draft;
        const double best_ns = search_corners(&setting);
        draft_perturb(draft, /* seed */ 1, i);
        const double plain_ns = descent_run(&draft->descent, 2000, 1e-12);
        draft_sharpen(draft, DRAFT_BLUR_FIRST, /* least */ 0);
        solver_case_near(draft->congestion.mean_ns, best_ns, 1e-7 * best_ns);
        assert_true(draft->congestion.blur_ns == 0);
        worst = plain_ns / best_ns - 1 > worst ? plain_ns / best_ns - 1 : worst;
        end(&setting);
    }
    assert_true(worst > 2e-4); /* Else there was no corner to pass. */
}

/* All jobs are on the machine that others use most, and the other is empty. */
static void machines_of_one_kind_change_places(ATTR_UNUSED void **state)
{
    for (uint32_t kinds = 1; kinds <= 2; kinds++) {
        struct setting setting = {.others = {{0.6, 6e6}, {0, 0}}};
        solver_case_open(&setting.plan, /* node_count */ 2, /* worker_count */ 1);
        (void)solver_case_model(&setting.plan, "a", 10);
        solver_case_single(&setting.plan, "a", /* rate_per_s */ 20);
        begin(&setting, 2, /* plain_joins */ true);
        struct draft *draft = setting.draft;
        place(&setting, 0, 0);
        descent_admit(&draft->descent, 1);
        assert_int_equal(draft_exchange(draft), 0); /* Nothing is known about kinds. */
        draft->kinds = memory_zeroed(2, sizeof(*draft->kinds));
        draft->kinds[1] = kinds - 1;
        const double before_ns = congestion_evaluate(&draft->congestion, draft->descent.shares);
        assert_int_equal(draft_exchange(draft), kinds == 1 ? 1 : 0);
        const uint16_t site = draft->patterns.spots[draft->patterns.items[0].spot_first].site;
        assert_int_equal(site, site_of(&setting, kinds == 1 ? 1 : 0));
        /* A load of 0.2 by constant times: 10 + 10 * 0.2 / (2 * 0.8). */
        solver_case_near(draft->congestion.mean_ns, kinds == 1 ? 11.25e6 : before_ns, 1e-3);
        for (uint32_t i = 0; i < 2; i++) {
            const struct site *machine = &draft->sites->sites[site_of(&setting, i)];
            assert_true(draft->sites->queues[machine->worker_first].load == setting.others[i].load);
        }
        end(&setting);
    }
}

/* Three workflows on machines that all differ in what others do there, at a feasible point. */
static void open_random(struct setting *setting, uint64_t seed, bool plain_joins)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 0);
    *setting = (struct setting){0};
    solver_case_open(&setting->plan, MACHINES, /* worker_count */ 1);
    setting->plan.fleet->network.link_bytes_per_s = 1000000000;
    for (uint32_t i = 0; i < MACHINES; i++) {
        const double load = 0.5 * rng_unit(&rng);
        setting->others[i] = (struct program_background){load, 10e6 * load};
    }
    for (uint32_t i = 0; i < 3; i++) {
        solver_case_random(&setting->plan, &rng, /* task_count */ 3 + i, 0, /* rate_per_s */ 90);
    }
    begin(setting, MACHINES, plain_joins);
    draft_seed(setting->draft);
    draft_seed_idle(setting->draft, /* part */ 0.5);
    draft_perturb(setting->draft, seed, 1);
    assert_true(draft_find_feasible(setting->draft));
    (void)draft_settle(setting->draft);
}

/* Exchange machines @a and @b in all that is kept. */
static void swap_sites(struct kept *kept, uint16_t a, uint16_t b)
{
    for (uint32_t i = 0; i < kept->spot_count; i++) {
        const uint16_t site = kept->spots[i].site;
        kept->spots[i].site = site == a ? b : site == b ? a : site;
    }
}

static void no_pair_gains_after_exchanges(ATTR_UNUSED void **state)
{
    uint32_t exchanged = 0;
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct setting setting;
        struct kept kept = {0};
        open_random(&setting, seed, /* plain_joins */ true);
        struct draft *draft = setting.draft;
        (void)descent_run(&draft->descent, 20, 1e-6);
        const double before_ns = draft->congestion.mean_ns;
        draft->kinds = memory_zeroed(MACHINES, sizeof(*draft->kinds));
        exchanged += draft_exchange(draft);
        const double after_ns = draft->congestion.mean_ns;
        assert_true(after_ns <= before_ns * (1 + 1e-12));
        kept_take(&kept, draft);
        for (uint16_t a = 0; a < MACHINES; a++) {
            for (uint16_t b = (uint16_t)(a + 1); b < MACHINES; b++) {
                swap_sites(&kept, a, b);
                kept_restore(&kept, draft);
                assert_true(draft->congestion.mean_ns > after_ns * (1 - 1e-5));
                swap_sites(&kept, a, b);
            }
        }
        kept_deinit(&kept);
        end(&setting);
    }
    assert_true(exchanged > 0);
}

static void what_was_kept_comes_back_to_the_bit(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct setting setting;
        struct kept kept = {0};
        open_random(&setting, 1, /* plain_joins */ i == 1);
        struct draft *draft = setting.draft;
        kept_take(&kept, draft);
        const double mean_ns = draft->congestion.mean_ns;
        const uint32_t count = draft->patterns.count;
        congestion_slopes(&draft->congestion);
        (void)draft_extend(draft);
        draft_sharpen(draft, DRAFT_BLUR_FIRST, /* least */ 1e-3);
        assert_true(draft->congestion.mean_ns < mean_ns);
        assert_int_not_equal(draft->patterns.count, count);
        kept_restore(&kept, draft);
        assert_int_equal(draft->patterns.count, count);
        assert_true(draft->congestion.mean_ns == mean_ns);
        kept_deinit(&kept);
        end(&setting);
    }
}

/* With both kinds of joins; and the same bits whenever it is done. */
static void sharpening_and_polish_never_lose(ATTR_UNUSED void **state)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        double means_ns[2];
        for (uint32_t i = 0; i < 2; i++) {
            struct setting setting;
            open_random(&setting, seed, seed % 2 == 0);
            struct draft *draft = setting.draft;
            double before_ns = draft->congestion.mean_ns;
            draft->kinds = memory_zeroed(MACHINES, sizeof(*draft->kinds));
            for (uint32_t k = 0; k < 2; k++) { /* The second time there is little left. */
                draft_sharpen(draft, DRAFT_BLUR_FIRST, /* least */ 1e-4);
                assert_true(draft->congestion.mean_ns <= before_ns);
                before_ns = draft->congestion.mean_ns;
            }
            draft_polish(draft, /* turns */ 2);
            assert_true(draft->congestion.mean_ns <= before_ns);
            means_ns[i] = draft->congestion.mean_ns;
            assert_true(draft_settle(draft) == means_ns[i]);
            end(&setting);
        }
        assert_true(means_ns[0] == means_ns[1]);
    }
}

static void pruning_keeps_what_is_used_or_near(ATTR_UNUSED void **state)
{
    struct setting setting;
    open_random(&setting, 2, /* plain_joins */ true);
    struct draft *draft = setting.draft;
    (void)descent_run(&draft->descent, 200, 1e-7);
    congestion_slopes(&draft->congestion);
    uint32_t expected = 0;
    for (uint32_t i = 0; i < draft->descent.count; i++) {
        const double mean = draft_mean_slope(draft, draft->patterns.items[i].stream);
        expected +=
            draft->descent.shares[i] > 1e-4 || draft->congestion.slopes[i] < mean * (1 + 1e-2) ? 1
                                                                                               : 0;
    }
    assert_true(expected < draft->descent.count);
    const double before_ns = draft->congestion.mean_ns;
    draft_prune(draft, /* near */ 1e-2, /* least */ 1e-4);
    assert_int_equal(draft->patterns.count, expected);
    solver_case_near(
        congestion_evaluate(&draft->congestion, draft->descent.shares), before_ns,
        0.01 * before_ns);
    end(&setting);
}

static void levels_follow_the_load_of_others(ATTR_UNUSED void **state)
{
    struct setting setting = {0};
    uint32_t counts[LEVELS_COUNT] = {0};
    solver_case_open(&setting.plan, MACHINES - 1, /* worker_count */ 1);
    solver_case_add_kind(&setting.plan, "slow", 2);
    for (uint32_t i = 0; i < MACHINES; i++) {
        setting.others[i].load = 0.07 * ((5 * i) % MACHINES);
    }
    setting.plan.input.workers = setting.others;
    uint32_t *levels = levels_find(&setting.plan.input);
    for (uint32_t i = 0; i + 1 < MACHINES; i++) {
        assert_int_equal(levels[i] / LEVELS_COUNT, levels[0] / LEVELS_COUNT);
        counts[levels[i] % LEVELS_COUNT]++;
        for (uint32_t k = 0; k + 1 < MACHINES; k++) {
            assert_true(setting.others[i].load >= setting.others[k].load || levels[i] <= levels[k]);
        }
    }
    assert_int_not_equal(levels[MACHINES - 1] / LEVELS_COUNT, levels[0] / LEVELS_COUNT);
    for (uint32_t i = 0; i < LEVELS_COUNT; i++) {
        assert_in_range(counts[i], 2, 3);
    }
    free(levels);
    solver_case_close(&setting.plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ways_are_blurred_as_by_hand),
        cmocka_unit_test(parts_are_slopes_of_the_blurred_length),
        cmocka_unit_test(corners_do_not_stop_the_descent),
        cmocka_unit_test(machines_of_one_kind_change_places),
        cmocka_unit_test(no_pair_gains_after_exchanges),
        cmocka_unit_test(what_was_kept_comes_back_to_the_bit),
        cmocka_unit_test(sharpening_and_polish_never_lose),
        cmocka_unit_test(pruning_keeps_what_is_used_or_near),
        cmocka_unit_test(levels_follow_the_load_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
