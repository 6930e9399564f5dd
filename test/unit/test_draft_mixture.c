/* From sites to machines and back. Covers: src/mixture/draft_to_mixture.c
 * src/mixture/draft_from_mixture.c */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "mixture/draft.h"
#include "mixture/draft_mixture.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "solver_case.h"

static void open_diamond(struct solver_case *plan, uint32_t node_count, struct workload **workload)
{
    struct weft_error error;
    solver_case_open(plan, node_count, /* worker_count */ 2);
    solver_case_diamond(plan, /* scale */ 1, /* rate_per_s */ 1);
    assert_int_equal(workload_create(&plan->input, 1, workload, &error), WEFT_OK);
}

/* Each machine of a site gets its part of every task, and copies are different machines. */
static void machines_of_a_site_share_evenly(ATTR_UNUSED void **state)
{
    static const uint32_t sizes[][2] = {{3, 7}, {5, 5}, {1, 9}, {2, 8}};
    for (uint32_t i = 0; i < 4; i++) {
        struct solver_case plan;
        struct workload *workload;
        open_diamond(&plan, 10, &workload);
        struct sites *sites = sites_create(plan.fleet, &(struct sites_options){.parts = 2});
        sites_resize(sites, 0, sizes[i][0]);
        sites_resize(sites, 1, sizes[i][1]);
        struct draft *draft = draft_create(workload, sites);
        const struct spot spots[] = {{0, 0, 0}, {1, 0, 1}, {1, 1, 0}, {0, 0, 1}};
        assert_int_equal(draft_add(draft, 0, spots), 0);
        descent_admit(&draft->descent, 1);
        (void)draft_settle(draft);
        struct mixture *mixture = draft_to_mixture(draft, &plan.input);
        double chances[4][20] = {{0}};
        const struct mixture_workflow *mixed = &mixture->workflows[0];
        for (uint32_t k = 0; k < mixed->pattern_count; k++) {
            const uint16_t *placement = mixture_placement(mixture, 0, k);
            for (uint32_t task = 0; task < 4; task++) {
                chances[task][placement[task]] += mixed->weights[k];
            }
            assert_int_equal(placement[0] / 2, placement[3] / 2); /* One machine. */
            assert_int_equal(placement[0] + 1, placement[3]);
            assert_int_not_equal(placement[1] / 2, placement[2] / 2);
        }
        for (uint32_t node = 0; node < 10; node++) {
            const bool first = node < sizes[i][0];
            solver_case_near(chances[0][2 * node], first ? 1.0 / sizes[i][0] : 0, 1e-9);
            solver_case_near(chances[1][2 * node + 1], first ? 0 : 1.0 / sizes[i][1], 1e-9);
            solver_case_near(chances[2][2 * node], first ? 0 : 1.0 / sizes[i][1], 1e-9);
        }
        mixture_destroy(mixture);
        draft_destroy(draft);
        workload_destroy(workload);
        solver_case_close(&plan);
    }
}

/* What was spread over machines is found again: sites, patterns and shares. */
static void the_way_back_finds_the_sites(ATTR_UNUSED void **state)
{
    struct solver_case plan;
    struct workload *workload;
    struct weft_error error;
    open_diamond(&plan, 10, &workload);
    struct sites *sites = sites_create(plan.fleet, &(struct sites_options){.parts = 2});
    sites_resize(sites, 0, 3);
    sites_resize(sites, 1, 7);
    struct draft *draft = draft_create(workload, sites);
    const struct spot split[] = {{0, 0, 0}, {1, 0, 1}, {1, 1, 0}, {0, 0, 1}};
    const struct spot local[] = {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}};
    assert_int_equal(draft_add(draft, 0, split), 0);
    assert_int_equal(draft_add(draft, 0, local), 1);
    assert_int_equal(draft_add(draft, 0, local), UINT32_MAX);
    descent_admit(&draft->descent, 1);
    draft->descent.shares[0] = 0.3;
    draft->descent.shares[1] = 0.7;
    const double mean_ns = draft_settle(draft);
    struct mixture *mixture = draft_to_mixture(draft, &plan.input);
    draft_destroy(draft);
    for (uint32_t joined = 0; joined < 2; joined++) {
        sites = draft_sites_of(mixture, &plan.input, joined == 1);
        assert_int_equal(sites->site_count, joined == 1 ? 2 : 10);
        draft = draft_create(workload, sites);
        assert_int_equal(draft_from_mixture(draft, mixture, 0, &error), WEFT_OK);
        solver_case_near(draft_settle(draft), mean_ns, 1e-9 * mean_ns);
        if (joined == 1) {
            assert_int_equal(draft->patterns.count, 2);
            solver_case_near(draft->descent.shares[0], 0.3, 1e-9);
            solver_case_near(draft->descent.shares[1], 0.7, 1e-9);
        }
        draft_destroy(draft);
    }
    mixture_destroy(mixture);
    workload_destroy(workload);
    solver_case_close(&plan);
}

/* Machines that stand alone have one placement for each pattern, and small shares can be left. */
static void single_machines_are_paired_once(ATTR_UNUSED void **state)
{
    struct solver_case plan;
    struct workload *workload;
    struct weft_error error;
    open_diamond(&plan, 3, &workload);
    struct sites *sites = sites_create(plan.fleet, &(struct sites_options){.parts = 3});
    struct draft *draft = draft_create(workload, sites);
    const struct spot split[] = {{0, 0, 0}, {1, 0, 1}, {2, 0, 0}, {0, 0, 1}};
    const struct spot local[] = {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}};
    assert_int_equal(draft_add(draft, 0, split), 0);
    assert_int_equal(draft_add(draft, 0, local), 1);
    descent_admit(&draft->descent, 1);
    draft->descent.shares[0] = 0.96;
    draft->descent.shares[1] = 0.04;
    (void)draft_settle(draft);
    struct mixture *mixture = draft_to_mixture(draft, &plan.input);
    draft_destroy(draft);
    assert_int_equal(mixture->workflows[0].pattern_count, 2);
    for (uint32_t i = 0; i < 2; i++) { /* An even share is a half. */
        draft = draft_create(workload, draft_sites_of(mixture, &plan.input, true));
        assert_int_equal(draft_from_mixture(draft, mixture, i == 0 ? 0.07 : 0.09, &error), WEFT_OK);
        assert_int_equal(draft->patterns.count, i == 0 ? 2 : 1);
        solver_case_near(draft->descent.shares[0], i == 0 ? 0.96 : 1, 1e-9);
        draft_destroy(draft);
    }
    mixture_destroy(mixture);
    workload_destroy(workload);
    solver_case_close(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_of_a_site_share_evenly),
        cmocka_unit_test(the_way_back_finds_the_sites),
        cmocka_unit_test(single_machines_are_paired_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
