/*
 * Admission by deadlines against queueing theory: one worker with constant run times S and
 * Poisson arrivals, of which those are admitted that find a wait of at most K = D - S.
 *
 * The wait V is then that of M/D/1 below K, but for a factor: both cross every level there at
 * the same rates. With load r and E(x) the sum over k of exp(l(x-kS)) (-l(x-kS))^k / k!, which
 * is the distribution of M/D/1's wait over 1-r and exists for any load, the share admitted is
 * E(K) / (1 + r E(K)).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "theory.h"

enum { JOBS = 100000 };

#define RUN_NS MS(10)

/* What became of requests, as they came; and Lindley's recursion beside it. */
struct gate {
    int64_t wait_max_ns;
    int64_t free_at_ns;
    uint64_t admitted;
    uint64_t refused;
    uint64_t different; /* Decided unlike the recursion. */
    uint64_t late;
};

static void on_record(void *context, const struct record *record)
{
    struct gate *gate = context;
    if (record->kind == RECORD_ANSWERED) {
        gate->late += record->value > gate->wait_max_ns + RUN_NS ? 1 : 0;
        return;
    }
    if (record->kind != RECORD_ARRIVED && record->kind != RECORD_REFUSED) {
        return;
    }
    const int64_t free_at_ns = gate->free_at_ns > record->at_ns ? gate->free_at_ns : record->at_ns;
    const int64_t wait_ns = free_at_ns - record->at_ns;
    const bool is_expected = wait_ns <= gate->wait_max_ns;
    const bool is_admitted = record->kind == RECORD_ARRIVED;
    gate->admitted += is_admitted ? 1 : 0;
    gate->refused += is_admitted ? 0 : 1;
    gate->different += is_admitted != is_expected ? 1 : 0;
    if (!is_admitted) { /* To the nanosecond: when it would have been admitted. */
        gate->different += record->value != wait_ns - gate->wait_max_ns ? 1 : 0;
    }
    gate->free_at_ns = is_admitted ? free_at_ns + RUN_NS : gate->free_at_ns;
}

static void play(struct gate *gate, const char *policy, double load, int64_t deadline_ns)
{
    struct theory theory;
    struct weft_error error;
    theory_open(&theory, 1, 1);
    (void)theory_model(&theory, "a", RUN_NS);
    theory_single(&theory, "a");
    theory.catalogue->workflows[0]->slo_ns = deadline_ns;
    assert_int_equal(policy_set_parse(policy, &theory.policies, &error), WEFT_OK);
    *gate = (struct gate){.wait_max_ns = deadline_ns - RUN_NS};
    theory.arrivals.rate_per_s = load * 1e9 / (double)RUN_NS;
    theory.options.jobs = JOBS;
    theory.options.seed = 5;
    theory.options.on_record = on_record;
    theory.options.context = gate;
    struct sim *sim = sim_create(&theory.options);
    sim_run(sim);
    sim_destroy(sim);
    assert_int_equal(gate->admitted + gate->refused, JOBS);
    theory_close(&theory);
}

/* The share admitted, for a wait of at most @waits run times. */
static double closed_form(double load, double waits)
{
    double sum = 0;
    for (int k = 0; k <= (int)waits; k++) {
        const double x = load * (waits - k);
        double term = exp(x);
        for (int i = 1; i <= k; i++) {
            term *= -x / i;
        }
        sum += term;
    }
    return sum / (1 + load * sum);
}

static void as_many_are_admitted_as_theory_says(void **state)
{
    static const double loads[] = {0.5, 0.8, 1.0, 2.0, 5.0};
    static const int64_t deadlines_ns[] = {MS(15), MS(20), MS(50), MS(100)};
    (void)state;
    for (uint32_t i = 0; i < 20; i++) {
        const double load = loads[i % 5];
        const int64_t deadline_ns = deadlines_ns[i / 5];
        const double waits = (double)(deadline_ns - RUN_NS) / (double)RUN_NS;
        struct gate gate;
        play(&gate, "place=least-work,admit=deadline:strict", load, deadline_ns);
        const double share = (double)gate.admitted / JOBS;
        const double expected = closed_form(load, waits);
        print_message(
            "[theory] load %.1f, deadline %3.0f ms: admitted %.4f, simulated %.4f\n", load,
            (double)deadline_ns / 1e6, expected, share);
        assert_true(fabs(share - expected) < 0.006); /* 5 standard errors, of correlated jobs. */
        assert_int_equal(gate.different, 0);
        assert_int_equal(gate.late, 0); /* What was predicted is what came. */
    }
}

/* Without admission the same jobs end late, nearly all. */
static void without_admission_no_job_is_in_time(void **state)
{
    struct gate gate;
    (void)state;
    play(&gate, "place=least-work", 2.0, MS(100));
    assert_int_equal(gate.refused, 0);
    assert_true(gate.late > JOBS * 99 / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_are_admitted_as_theory_says),
        cmocka_unit_test(without_admission_no_job_is_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
