#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/units.h"
#include "model/arrivals.h"
#include "model/catalogue.h"

static const struct catalogue one_workflow = {.workflow_count = 1};

/* 18 requests in nine calm seconds, 20 in the burst of the tenth. */
static const struct arrivals_burst burst = {
    .rate_per_s = 20, .every_ns = 10 * NS_PER_S, .length_ns = NS_PER_S};

static void bursts_come_by_the_clock(ATTR_UNUSED void **state)
{
    const struct arrivals arrivals = {.kind = ARRIVALS_BURST, .rate_per_s = 2, .burst = burst};
    enum { PERIODS = 2000 };
    struct arrival_stream stream;
    struct arrival arrival;
    uint32_t calm = 0;
    uint32_t busy = 0;
    int64_t last_ns = 0;

    assert_true(arrivals_per_burst(&arrivals) == 38);
    arrival_stream_init(&stream, &arrivals, &one_workflow, 3);
    for (;;) {
        assert_true(arrival_stream_next(&stream, &arrival));
        assert_true(arrival.at_ns >= last_ns);
        last_ns = arrival.at_ns;
        if (arrival.at_ns >= PERIODS * burst.every_ns) {
            break;
        }
        if (arrival.at_ns % burst.every_ns < burst.every_ns - burst.length_ns) {
            calm++;
        } else {
            busy++;
        }
    }
    assert_true(fabs(calm / (18.0 * PERIODS) - 1) < 0.02);
    assert_true(fabs(busy / (20.0 * PERIODS) - 1) < 0.02);
}

/* Within each phase the process is Poisson: as many of either half. */
static void calm_phases_are_even(ATTR_UNUSED void **state)
{
    const struct arrivals arrivals = {.kind = ARRIVALS_BURST, .rate_per_s = 2, .burst = burst};
    struct arrival_stream stream;
    struct arrival arrival;
    uint32_t thirds[3] = {0};

    arrival_stream_init(&stream, &arrivals, &one_workflow, 4);
    for (uint32_t i = 0; i < 60000; i++) {
        assert_true(arrival_stream_next(&stream, &arrival));
        const int64_t second = arrival.at_ns % burst.every_ns / NS_PER_S;
        if (second < 9) {
            thirds[second / 3]++;
        }
    }
    const double mean = (thirds[0] + thirds[1] + thirds[2]) / 3.0;
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(fabs(thirds[i] / mean - 1) < 0.03);
    }
}

/* The same mean, but not by the clock, and with more spread than its own mean allows. */
static void modulated_arrivals_have_the_mean_of_both_rates(ATTR_UNUSED void **state)
{
    const struct arrivals arrivals = {.kind = ARRIVALS_MMPP, .rate_per_s = 2, .burst = burst};
    enum { DRAWS = 400000 };
    struct arrival_stream stream;
    struct arrival arrival;
    uint32_t by_clock = 0;
    double squares = 0;
    int64_t last_ns = 0;

    arrival_stream_init(&stream, &arrivals, &one_workflow, 5);
    for (uint32_t i = 0; i < DRAWS; i++) {
        assert_true(arrival_stream_next(&stream, &arrival));
        assert_true(arrival.at_ns >= last_ns);
        const double gap_s = (double)(arrival.at_ns - last_ns) / 1e9;
        squares += gap_s * gap_s;
        last_ns = arrival.at_ns;
        by_clock += arrival.at_ns % burst.every_ns >= burst.every_ns - burst.length_ns;
    }
    const double mean_s = (double)last_ns / 1e9 / DRAWS;
    assert_true(fabs(mean_s * 3.8 - 1) < 0.03);
    assert_true(fabs(by_clock / (double)DRAWS - 0.1) < 0.01);
    assert_true(sqrt(squares / DRAWS - mean_s * mean_s) / mean_s > 1.2);
}

static void the_rate_follows_the_shape(ATTR_UNUSED void **state)
{
    /* From 1 up to 3 and back to 1; a mean of 2. */
    const struct arrivals arrivals = {
        .kind = ARRIVALS_DIURNAL,
        .rate_per_s = 10,
        .shape = {.period_ns = 80 * NS_PER_S, .point_count = 2, .points = {1, 3}},
    };
    static const double expected[] = {1.25, 1.75, 2.25, 2.75, 2.75, 2.25, 1.75, 1.25};
    enum { DRAWS = 200000 };
    struct arrival_stream stream;
    struct arrival arrival = {0};
    uint32_t counts[8] = {0};

    arrival_stream_init(&stream, &arrivals, &one_workflow, 6);
    for (uint32_t i = 0; i < DRAWS; i++) {
        assert_true(arrival_stream_next(&stream, &arrival));
        counts[arrival.at_ns % (80 * NS_PER_S) / (10 * NS_PER_S)]++;
    }
    assert_true(fabs((double)arrival.at_ns / 1e9 * 10 / DRAWS - 1) < 0.01);
    for (uint32_t i = 0; i < 8; i++) {
        assert_true(fabs(counts[i] / (DRAWS / 16.0) / expected[i] - 1) < 0.03);
    }
}

static void a_shape_may_be_silent_for_a_while(ATTR_UNUSED void **state)
{
    /* Three quarters of the points are zero: nothing comes from 1/4 to 3/4 of the period. */
    const struct arrivals arrivals = {
        .kind = ARRIVALS_DIURNAL,
        .rate_per_s = 1,
        .shape = {.period_ns = 400 * NS_PER_S, .point_count = 4, .points = {8, 0, 0, 0}},
    };
    struct arrival_stream stream;
    struct arrival arrival = {0};

    arrival_stream_init(&stream, &arrivals, &one_workflow, 7);
    for (uint32_t i = 0; i < 20000; i++) {
        assert_true(arrival_stream_next(&stream, &arrival));
        const int64_t second = arrival.at_ns % (400 * NS_PER_S) / NS_PER_S;
        assert_true(second < 100 || second >= 300);
    }
    assert_true(fabs((double)arrival.at_ns / 1e9 / 20000 - 1) < 0.05);
}

static void varying_rates_end_with_time_itself(ATTR_UNUSED void **state)
{
    const struct arrivals cases[] = {
        {.kind = ARRIVALS_BURST,
         .rate_per_s = 1e-6,
         .burst = {1e-6, 800000 * NS_PER_S, 400000 * NS_PER_S}},
        {.kind = ARRIVALS_MMPP,
         .rate_per_s = 1e-6,
         .burst = {1e-6, 800000 * NS_PER_S, 400000 * NS_PER_S}},
        {.kind = ARRIVALS_DIURNAL,
         .rate_per_s = 1e-6,
         .shape = {.period_ns = 800000 * NS_PER_S, .point_count = 2, .points = {0, 1}}},
    };

    for (uint32_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct arrival_stream stream;
        struct arrival arrival;
        int64_t last_ns = 0;
        uint32_t count = 0;
        arrival_stream_init(&stream, &cases[k], &one_workflow, 1);
        while (arrival_stream_next(&stream, &arrival)) {
            assert_true(arrival.at_ns >= last_ns);
            last_ns = arrival.at_ns;
            count++;
        }
        assert_in_range(count, 6000, 12000); /* 292 years, a million seconds each. */
        assert_false(arrival_stream_next(&stream, &arrival));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bursts_come_by_the_clock),
        cmocka_unit_test(calm_phases_are_even),
        cmocka_unit_test(modulated_arrivals_have_the_mean_of_both_rates),
        cmocka_unit_test(the_rate_follows_the_shape),
        cmocka_unit_test(a_shape_may_be_silent_for_a_while),
        cmocka_unit_test(varying_rates_end_with_time_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
