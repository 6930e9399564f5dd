/*
 * Priorities against queueing theory: two workflows of constant run times S on one worker, Poisson
 * arrivals, of which the urgent ones always come first.
 *
 * What arrives finds W0 = r S / 2 left of the job that runs, at load r. With the load u of the
 * urgent alone they wait W0 / (1 - u) on average and the others W0 / ((1 - u) (1 - r)): longer, but
 * not for ever (Cobham, 1954).
 *
 * Covers: src/trace/fairness.c
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "theory.h"

enum { URGENT, USUAL, JOBS = 100000 };

#define RUN_NS      MS(10)
#define LOAD        0.8
#define URGENT_LOAD (LOAD / 2)

/* How the two workflows fare under @policy, the first with @priority. */
static void play(const char *policy, uint32_t priority, struct report *report_out)
{
    struct theory theory;
    struct weft_error error;
    theory_open(&theory, 1, 1);
    (void)theory_model(&theory, "a", RUN_NS);
    (void)theory_model(&theory, "b", RUN_NS);
    theory_single(&theory, "a");
    theory_single(&theory, "b");
    theory.catalogue->workflows[URGENT]->priority = priority;
    theory.arrivals.mix[URGENT] = 1;
    theory.arrivals.mix[USUAL] = 1;
    assert_int_equal(policy_set_parse(policy, &theory.policies, &error), WEFT_OK);
    theory_run(&theory, LOAD * 1e9 / (double)RUN_NS, JOBS, /* seed */ 3);
    *report_out = theory.report;
    theory_close(&theory);
}

static const char *const policies[] = {
    "least-work",
    "place=least-work,order=edf",
    "weft",
    "esg",
};

static void the_usual_wait_longer_but_not_for_ever(ATTR_UNUSED void **state)
{
    const double left = LOAD / 2; /* In run times. */
    const double urgent = 1 + left / (1 - URGENT_LOAD);
    const double usual = 1 + left / ((1 - URGENT_LOAD) * (1 - LOAD));
    for (uint32_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        struct report report;
        play(policies[i], PRIORITY_MAX, &report);
        const struct fairness *fairness = &report.fairness;
        print_message(
            "[theory] %s: slow-downs %.3f and %.3f, simulated %.3f and %.3f\n", policies[i], urgent,
            usual, fairness->rows[URGENT].slowdown, fairness->rows[USUAL].slowdown);
        assert_int_equal(report.completed, JOBS);
        assert_true(fabs(fairness->rows[URGENT].slowdown / urgent - 1) < 0.05);
        assert_true(fabs(fairness->rows[USUAL].slowdown / usual - 1) < 0.1);
        assert_int_equal(fairness->worst, USUAL);
    }
}

static void without_priorities_all_fare_alike(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        struct report report;
        play(policies[i], /* priority */ 0, &report);
        assert_true(report.fairness.index > 0.999);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_usual_wait_longer_but_not_for_ever),
        cmocka_unit_test(without_priorities_all_fare_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
