#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"
#include "queueing/waiting.h"
#include "split_rates.h"

enum { SERVERS = 4 };

static void expect_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.12g is not %.12g", value, expected);
    }
}

static double mean_time(const struct split_server *servers, const double *rates, double rate)
{
    double sum = 0;
    for (uint32_t i = 0; i < SERVERS; i++) {
        const double mean = servers[i].mean;
        const double second = (1 + servers[i].squared) * mean * mean;
        sum += rates[i] * (mean + waiting_ahead(rates[i] * mean, rates[i] * second));
    }
    return sum / rate;
}

static const struct split_server servers[SERVERS] = {{2, 0}, {3, 1}, {5, 0.25}, {40, 0}};

static void shares_cannot_be_improved(ATTR_UNUSED void **state)
{
    for (double rate = 0.05; rate < 1.05; rate += 0.1) {
        double rates[SERVERS];
        const double time = split_rates(servers, SERVERS, rate, rates);
        double sum = 0;
        for (uint32_t i = 0; i < SERVERS; i++) {
            assert_true(rates[i] >= 0);
            sum += rates[i];
        }
        expect_near(sum, rate, 1e-12);
        expect_near(mean_time(servers, rates, rate), time, 1e-9 * time);
        for (uint32_t from = 0; from < SERVERS; from++) {
            for (uint32_t to = 0; to < SERVERS; to++) {
                double moved[SERVERS] = {rates[0], rates[1], rates[2], rates[3]};
                const double step = rates[from] < 1e-4 ? rates[from] : 1e-4;
                moved[from] -= step;
                moved[to] += step;
                assert_true(mean_time(servers, moved, rate) >= time - 1e-9 * time);
            }
        }
    }
}

/* Exponential times: capacity less load goes with the square root of capacity. */
static void exponential_times_follow_the_square_root(ATTR_UNUSED void **state)
{
    const struct split_server pair[] = {{1, 1}, {4, 1}};
    double rates[2];
    (void)split_rates(pair, 2, 0.8, rates);
    expect_near((1 - rates[0]) / (0.25 - rates[1]), 2, 1e-9);
}

static void equal_servers_share_equally(ATTR_UNUSED void **state)
{
    const struct split_server pair[] = {{10, 0}, {10, 0}};
    double rates[2];
    expect_near(split_rates(pair, 2, 0.1, rates), 15, 1e-9);
    expect_near(rates[0], 0.05, 1e-12);
}

static void a_slow_server_gets_nothing_at_light_load(ATTR_UNUSED void **state)
{
    double rates[SERVERS];
    (void)split_rates(servers, SERVERS, 0.01, rates);
    assert_true(rates[0] > 0);
    assert_true(rates[3] == 0);
}

static void too_much_is_refused(ATTR_UNUSED void **state)
{
    double rates[SERVERS] = {-1, -1, -1, -1};
    assert_true(isinf(split_rates(servers, SERVERS, 1.0584, rates)));
    assert_true(rates[0] == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_cannot_be_improved),
        cmocka_unit_test(exponential_times_follow_the_square_root),
        cmocka_unit_test(equal_servers_share_equally),
        cmocka_unit_test(a_slow_server_gets_nothing_at_light_load),
        cmocka_unit_test(too_much_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
