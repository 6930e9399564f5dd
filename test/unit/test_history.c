#include "service/history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/units.h"

enum { WORKERS = 2, WORKFLOWS = 3 };

static struct history *history;

static int setup(ATTR_UNUSED void **state)
{
    history = history_create(WORKERS, WORKFLOWS);
    return 0;
}

static int teardown(ATTR_UNUSED void **state)
{
    history_destroy(history);
    return 0;
}

static void come(void)
{
    const struct record record = {.kind = RECORD_ARRIVED};
    history_add(history, &record, OUTCOME_OPEN);
}

static void end(int64_t at_ns, int64_t latency_ns, enum outcome outcome)
{
    const struct record record = {.at_ns = at_ns, .kind = RECORD_ANSWERED, .value = latency_ns};
    history_add(history, &record, outcome);
}

static double figure(enum history_line line, uint32_t index)
{
    return history_figure(history, line, index);
}

static bool is(double value, double expected)
{
    return fabs(value - expected) < 1e-9;
}

static void each_second_has_its_own_counts(ATTR_UNUSED void **state)
{
    assert_int_equal(history_count(history), 0);
    come();
    come();
    end(NS_PER_S / 2, 1, OUTCOME_REFUSED);
    history_pass(history, NS_PER_S - 1, 9);
    assert_int_equal(history_count(history), 0); /* Not over yet. */
    history_pass(history, NS_PER_S, 2);
    assert_int_equal(history_count(history), 1);
    end(NS_PER_S, 3 * NS_PER_S, OUTCOME_GOOD);
    end(NS_PER_S, 5 * NS_PER_S, OUTCOME_SLOW);
    end(NS_PER_S, 7 * NS_PER_S, OUTCOME_LATE); /* It is no answer. */
    history_pass(history, 2 * NS_PER_S, 0);
    assert_true(is(figure(HISTORY_ASKED, 1), 3));
    assert_true(is(figure(HISTORY_REFUSED, 1), 1));
    assert_true(is(figure(HISTORY_ANSWERED, 1), 0));
    assert_true(is(figure(HISTORY_OPEN, 1), 2));
    assert_true(isnan(figure(HISTORY_P50_S, 1)));
    assert_true(is(figure(HISTORY_ASKED, 0), 0));
    assert_true(is(figure(HISTORY_ANSWERED, 0), 2));
    assert_true(is(figure(HISTORY_OPEN, 0), 0));
}

static void quantiles_are_those_of_ten_seconds(ATTR_UNUSED void **state)
{
    for (int64_t i = 1; i <= 100; i++) {
        end(NS_PER_S / 2, i * NS_PER_S, OUTCOME_GOOD);
    }
    history_pass(history, 10 * NS_PER_S, 0);
    for (uint32_t i = 0; i < 10; i++) {
        assert_true(is(figure(HISTORY_P50_S, i), 50));
        assert_true(is(figure(HISTORY_P99_S, i), 99));
    }
    end(10 * NS_PER_S, 2 * NS_PER_S, OUTCOME_GOOD);
    history_pass(history, 11 * NS_PER_S, 0);
    assert_true(is(figure(HISTORY_P99_S, 0), 2));
    end(11 * NS_PER_S, 9 * NS_PER_S, OUTCOME_GOOD);
    history_pass(history, 12 * NS_PER_S, 0);
    assert_true(is(figure(HISTORY_P50_S, 0), 2));
    assert_true(is(figure(HISTORY_P99_S, 0), 9)); /* As in reports. */
}

static void a_worker_is_seen_at_what_it_did_most(ATTR_UNUSED void **state)
{
    const uint32_t seen[] = {HISTORY_IDLE, HISTORY_LOADS, HISTORY_RUNS + 2, HISTORY_RUNS + 2};
    for (uint32_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
        history_see(history, 1, seen[i]);
        history_see(history, 0, i == 0 ? HISTORY_LOADS : HISTORY_IDLE);
    }
    history_pass(history, NS_PER_S, 0);
    assert_int_equal(history_work(history, 0, 0), HISTORY_IDLE);
    assert_int_equal(history_work(history, 1, 0), HISTORY_RUNS + 2);
    assert_true(is(history_busy(history, 0, 10), 0.25));
    assert_true(is(history_busy(history, 1, 10), 0.75));
    history_pass(history, 2 * NS_PER_S, 0);
    assert_int_equal(history_work(history, 1, 0), HISTORY_IDLE); /* It was not looked at. */
    assert_true(is(history_busy(history, 1, 1), 0));
    assert_true(is(history_busy(history, 1, 2), 0.375));
}

static void what_is_too_old_is_forgotten(ATTR_UNUSED void **state)
{
    for (int64_t i = 0; i < 2 * HISTORY_SECONDS; i++) {
        history_pass(history, i * NS_PER_S, (uint32_t)i);
    }
    assert_int_equal(history_count(history), HISTORY_SECONDS);
    assert_true(is(figure(HISTORY_OPEN, 0), 2 * HISTORY_SECONDS - 1));
    assert_true(is(figure(HISTORY_OPEN, HISTORY_SECONDS - 1), HISTORY_SECONDS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_second_has_its_own_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(quantiles_are_those_of_ten_seconds, setup, teardown),
        cmocka_unit_test_setup_teardown(a_worker_is_seen_at_what_it_did_most, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_too_old_is_forgotten, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
