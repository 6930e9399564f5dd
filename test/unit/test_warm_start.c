/* The program again for other rates: little work for little changes, and more where it is due. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "mixture/draft.h"
#include "mixture/warm_start.h"
#include "mixture/workload.h"
#include "solver_case.h"

enum { MACHINES = 40 };

/* Jobs of 2, 8 and 60 ms. */
struct setting {
    struct solver_case plan;
};

static void open(struct setting *setting, double load)
{
    static const double times_ms[] = {2, 8, 60};
    static const double parts[] = {0.6, 0.3, 0.1};
    static const char *const names[] = {"short", "middle", "long"};
    solver_case_open(&setting->plan, MACHINES, /* worker_count */ 1);
    for (uint32_t i = 0; i < 3; i++) {
        (void)solver_case_model(&setting->plan, names[i], times_ms[i]);
        solver_case_single(&setting->plan, names[i], parts[i] * load * MACHINES / 9.6e-3);
    }
}

static void change(struct setting *setting, double share)
{
    for (uint32_t i = 0; i < 3; i++) {
        setting->plan.rates[i] *= i == 1 ? 1 - share : 1 + share;
    }
}

/* Restart as the program does; the draft is the caller's. */
static struct draft *restart(
    struct setting *setting, const struct mixture *start, struct workload **workload_out,
    uint64_t *evaluations)
{
    const struct program_options options = {
        .start = start, .patterns_max = 64, .evaluations_max = 20000000};
    struct weft_error error;
    assert_int_equal(workload_create(&setting->plan.input, 1, workload_out, &error), WEFT_OK);
    *evaluations = 0;
    return warm_start_solve(&setting->plan.input, &options, *workload_out, evaluations);
}

static void a_small_change_takes_little_work(ATTR_UNUSED void **state)
{
    static const double loads[] = {0.4, 0.6, 0.7};
    const struct program_options defaults = {0};
    for (uint32_t i = 0; i < 3; i++) {
        struct setting setting;
        struct workload *workload;
        struct program_report cold;
        uint64_t evaluations;
        open(&setting, loads[i]);
        struct mixture *old = solver_case_solve(&setting.plan, &defaults, NULL);
        change(&setting, 0.05);
        struct draft *draft = restart(&setting, old, &workload, &evaluations);
        struct mixture *fresh = solver_case_solve(&setting.plan, &defaults, &cold);
        assert_non_null(draft);
        assert_false(warm_start_is_poor(draft, old));
        assert_true(draft->congestion.mean_ns < 1.02 * cold.mean_ns);
        assert_true(evaluations < cold.evaluations / 10);
        /* What has next to no share is not carried along. */
        for (uint32_t k = 0; k < 3; k++) {
            assert_true(draft->counts[k] > 0);
            assert_true(draft->counts[k] <= old->workflows[k].pattern_count);
        }
        draft_destroy(draft);
        workload_destroy(workload);
        mixture_destroy(fresh);
        mixture_destroy(old);
        solver_case_close(&setting.plan);
    }
}

/* Long jobs come three times as often: the machines that they have are not enough for them. */
static void a_poor_restart_is_noticed(ATTR_UNUSED void **state)
{
    const struct program_options defaults = {0};
    struct setting setting;
    struct workload *workload;
    struct program_report cold;
    struct program_report warm;
    uint64_t evaluations;
    open(&setting, 0.6);
    struct mixture *old = solver_case_solve(&setting.plan, &defaults, NULL);
    setting.plan.rates[0] *= 0.2;
    setting.plan.rates[2] *= 1.5;
    struct draft *draft = restart(&setting, old, &workload, &evaluations);
    struct mixture *fresh = solver_case_solve(&setting.plan, &defaults, &cold);
    const struct program_options options = {.start = old};
    struct mixture *again = solver_case_solve(&setting.plan, &options, &warm);
    assert_true(draft == NULL || warm_start_is_poor(draft, old));
    assert_true(warm.mean_ns <= cold.mean_ns * (1 + 1e-12));
    if (draft != NULL) { /* What predicted nothing cannot be held to it. */
        old->workflows[1].mean_ns = 0;
        assert_false(warm_start_is_poor(draft, old));
    }
    draft_destroy(draft);
    workload_destroy(workload);
    mixture_destroy(again);
    mixture_destroy(fresh);
    mixture_destroy(old);
    solver_case_close(&setting.plan);
}

/* With more load everywhere jobs are to take longer: that alone is not poor. */
static void more_load_is_not_a_poor_restart(ATTR_UNUSED void **state)
{
    const struct program_options defaults = {0};
    struct setting setting;
    struct workload *workload;
    uint64_t evaluations;
    open(&setting, 0.6);
    struct mixture *old = solver_case_solve(&setting.plan, &defaults, NULL);
    for (uint32_t i = 0; i < 3; i++) {
        setting.plan.rates[i] *= 1.2;
    }
    struct draft *draft = restart(&setting, old, &workload, &evaluations);
    assert_non_null(draft);
    assert_true(draft->congestion.mean_ns > 1.1 * old->mean_ns);
    assert_false(warm_start_is_poor(draft, old));
    draft_destroy(draft);
    workload_destroy(workload);
    mixture_destroy(old);
    solver_case_close(&setting.plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_change_takes_little_work),
        cmocka_unit_test(a_poor_restart_is_noticed),
        cmocka_unit_test(more_load_is_not_a_poor_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
