/* From sites to machines and back. Covers: src/mixture/spread.c src/mixture/gather.c */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "mixture/attempt.h"
#include "mixture/sites.h"
#include "mixture/spread.h"
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
        struct sites *sites = sites_create(&plan.input, &(struct sites_options){.parts = 2});
        sites_resize(sites, 0, sizes[i][0]);
        sites_resize(sites, 1, sizes[i][1]);
        struct attempt *attempt = attempt_create(workload, sites);
        const struct seat seats[] = {{0, 0, 0}, {1, 0, 1}, {1, 1, 0}, {0, 0, 1}};
        assert_int_equal(attempt_add(attempt, 0, seats), 0);
        descent_admit(&attempt->descent, 1);
        (void)attempt_settle(attempt);
        struct mixture *mixture = spread_out(attempt, &plan.input, SPREAD_TURNS_MAX);
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
        attempt_destroy(attempt);
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
    struct sites *sites = sites_create(&plan.input, &(struct sites_options){.parts = 2});
    sites_resize(sites, 0, 3);
    sites_resize(sites, 1, 7);
    struct attempt *attempt = attempt_create(workload, sites);
    const struct seat split[] = {{0, 0, 0}, {1, 0, 1}, {1, 1, 0}, {0, 0, 1}};
    const struct seat local[] = {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}};
    assert_int_equal(attempt_add(attempt, 0, split), 0);
    assert_int_equal(attempt_add(attempt, 0, local), 1);
    assert_int_equal(attempt_add(attempt, 0, local), UINT32_MAX);
    descent_admit(&attempt->descent, 1);
    attempt->descent.shares[0] = 0.3;
    attempt->descent.shares[1] = 0.7;
    const double mean_ns = attempt_settle(attempt);
    struct mixture *mixture = spread_out(attempt, &plan.input, SPREAD_TURNS_MAX);
    attempt_destroy(attempt);
    for (uint32_t joined = 0; joined < 2; joined++) {
        sites = spread_sites(mixture, &plan.input, joined == 1);
        assert_int_equal(sites->site_count, joined == 1 ? 2 : 10);
        attempt = attempt_create(workload, sites);
        assert_int_equal(spread_in(attempt, mixture, 0, &error), WEFT_OK);
        solver_case_near(attempt_settle(attempt), mean_ns, 1e-9 * mean_ns);
        if (joined == 1) {
            assert_int_equal(attempt->patterns.count, 2);
            solver_case_near(attempt->descent.shares[0], 0.3, 1e-9);
            solver_case_near(attempt->descent.shares[1], 0.7, 1e-9);
        }
        attempt_destroy(attempt);
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
    struct sites *sites = sites_create(&plan.input, &(struct sites_options){.parts = 3});
    struct attempt *attempt = attempt_create(workload, sites);
    const struct seat split[] = {{0, 0, 0}, {1, 0, 1}, {2, 0, 0}, {0, 0, 1}};
    const struct seat local[] = {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}};
    assert_int_equal(attempt_add(attempt, 0, split), 0);
    assert_int_equal(attempt_add(attempt, 0, local), 1);
    descent_admit(&attempt->descent, 1);
    attempt->descent.shares[0] = 0.96;
    attempt->descent.shares[1] = 0.04;
    (void)attempt_settle(attempt);
    struct mixture *mixture = spread_out(attempt, &plan.input, SPREAD_TURNS_MAX);
    attempt_destroy(attempt);
    assert_int_equal(mixture->workflows[0].pattern_count, 2);
    for (uint32_t i = 0; i < 2; i++) { /* An even share is a half. */
        attempt = attempt_create(workload, spread_sites(mixture, &plan.input, true));
        assert_int_equal(spread_in(attempt, mixture, i == 0 ? 0.07 : 0.09, &error), WEFT_OK);
        assert_int_equal(attempt->patterns.count, i == 0 ? 2 : 1);
        solver_case_near(attempt->descent.shares[0], i == 0 ? 0.96 : 1, 1e-9);
        attempt_destroy(attempt);
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
