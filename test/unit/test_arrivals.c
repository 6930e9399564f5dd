#include "model/arrivals.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/hash.h"
#include "model/catalogue.h"

enum { DRAWS = 20000, GAPS = 100000 };

/* Only the number of workflows is read. */
static struct catalogue with_workflows(uint32_t count)
{
    return (struct catalogue){.workflow_count = count};
}

static void the_same_seed_gives_the_same_arrivals(ATTR_UNUSED void **state)
{
    const struct catalogue catalogue = with_workflows(3);
    const struct arrivals arrivals = {.rate_per_s = 50, .mix = {1, 2, 1}};
    struct arrival_stream streams[3];
    arrival_stream_init(&streams[0], &arrivals, &catalogue, 7);
    arrival_stream_init(&streams[1], &arrivals, &catalogue, 7);
    arrival_stream_init(&streams[2], &arrivals, &catalogue, 8);

    uint32_t different = 0;
    for (uint32_t i = 0; i < 100; i++) {
        struct arrival drawn[3];
        for (uint32_t k = 0; k < 3; k++) {
            assert_true(arrival_stream_next(&streams[k], &drawn[k]));
        }
        assert_memory_equal(&drawn[0], &drawn[1], sizeof(drawn[0]));
        different += drawn[0].at_ns != drawn[2].at_ns ? 1 : 0;
    }
    assert_true(different > 90);
}

static void poisson_gaps_have_the_mean_and_spread_of_the_rate(ATTR_UNUSED void **state)
{
    const struct catalogue catalogue = with_workflows(1);
    const struct arrivals arrivals = {.rate_per_s = 100};
    struct arrival_stream stream;
    struct arrival arrival;
    double sum = 0;
    double squares = 0;
    int64_t last_ns = 0;

    arrival_stream_init(&stream, &arrivals, &catalogue, 1);
    for (uint32_t i = 0; i < DRAWS; i++) {
        assert_true(arrival_stream_next(&stream, &arrival));
        assert_true(arrival.at_ns >= last_ns);
        assert_int_equal(arrival.items, 1);
        const double gap = (double)(arrival.at_ns - last_ns);
        last_ns = arrival.at_ns;
        sum += gap;
        squares += gap * gap;
    }
    const double mean = sum / DRAWS;
    const double sd = sqrt(squares / DRAWS - mean * mean);
    assert_true(fabs(mean / 1e7 - 1) < 0.03);
    assert_true(fabs(sd / mean - 1) < 0.03);
}

static void constant_gaps_are_equal(ATTR_UNUSED void **state)
{
    const struct catalogue catalogue = with_workflows(1);
    const struct arrivals arrivals = {.kind = ARRIVALS_CONSTANT, .rate_per_s = 3};
    struct arrival_stream stream;
    struct arrival arrival;

    arrival_stream_init(&stream, &arrivals, &catalogue, 1);
    for (int64_t i = 1; i <= 10; i++) {
        assert_true(arrival_stream_next(&stream, &arrival));
        assert_int_equal(arrival.at_ns, i * 333333333);
    }
}

static void workflows_come_in_the_proportions_of_the_mix(ATTR_UNUSED void **state)
{
    const struct catalogue catalogue = with_workflows(4);
    const struct arrivals arrivals = {.rate_per_s = 100, .mix = {1, 0, 3, 0}};
    struct arrival_stream stream;
    struct arrival arrival;
    uint32_t counts[4] = {0};

    arrival_stream_init(&stream, &arrivals, &catalogue, 3);
    for (uint32_t i = 0; i < DRAWS; i++) {
        assert_true(arrival_stream_next(&stream, &arrival));
        counts[arrival.workflow]++;
    }
    assert_int_equal(counts[1], 0);
    assert_int_equal(counts[3], 0);
    assert_true(fabs(counts[2] / (double)DRAWS - 0.75) < 0.02);
}

static void without_a_mix_workflows_are_all_alike(ATTR_UNUSED void **state)
{
    const struct catalogue catalogue = with_workflows(4);
    const struct arrivals arrivals = {.rate_per_s = 100};
    struct arrival_stream stream;
    struct arrival arrival;
    uint32_t counts[4] = {0};

    arrival_stream_init(&stream, &arrivals, &catalogue, 3);
    for (uint32_t i = 0; i < DRAWS; i++) {
        assert_true(arrival_stream_next(&stream, &arrival));
        counts[arrival.workflow]++;
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(fabs(counts[i] / (double)DRAWS - 0.25) < 0.02);
    }
}

/* Times must not depend on what is asked for: policies are compared paired by seed. */
static void the_mix_does_not_shift_the_times(ATTR_UNUSED void **state)
{
    const struct catalogue catalogue = with_workflows(2);
    const struct arrivals one = {.rate_per_s = 100, .mix = {1, 0}};
    const struct arrivals both = {.rate_per_s = 100, .mix = {1, 1}};
    struct arrival_stream streams[2];
    arrival_stream_init(&streams[0], &one, &catalogue, 5);
    arrival_stream_init(&streams[1], &both, &catalogue, 5);

    for (uint32_t i = 0; i < 100; i++) {
        struct arrival first;
        struct arrival second;
        assert_true(arrival_stream_next(&streams[0], &first));
        assert_true(arrival_stream_next(&streams[1], &second));
        assert_int_equal(first.at_ns, second.at_ns);
    }
}

static void a_list_is_given_in_order_and_ends(ATTR_UNUSED void **state)
{
    static const struct arrival list[] = {{5, 1, 2, 0}, {5, 0, 3, 0}, {9, 1, 1, 0}};
    const struct catalogue catalogue = with_workflows(2);
    const struct arrivals arrivals = {.kind = ARRIVALS_LIST, .list_count = 3, .list = list};
    struct arrival_stream stream;
    struct arrival arrival;

    arrival_stream_init(&stream, &arrivals, &catalogue, 1);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(arrival_stream_next(&stream, &arrival));
        assert_memory_equal(&arrival, &list[i], sizeof(arrival));
    }
    assert_false(arrival_stream_next(&stream, &arrival));
    assert_false(arrival_stream_next(&stream, &arrival));
}

static void time_does_not_overflow(ATTR_UNUSED void **state)
{
    const struct catalogue catalogue = with_workflows(1);
    const struct arrivals arrivals = {.kind = ARRIVALS_CONSTANT, .rate_per_s = 1e-300};
    struct arrival_stream stream;
    struct arrival arrival;
    uint32_t count = 0;

    arrival_stream_init(&stream, &arrivals, &catalogue, 1);
    while (arrival_stream_next(&stream, &arrival)) {
        assert_true(arrival.at_ns > 0);
        count++;
    }
    assert_true(count > 1000 && count < 8192);
}

/* The spread of 10^5 gaps must be the one that was asked for: CV, and not a deviation in ms. */
static void gamma_gaps_have_the_coefficient_of_variation(ATTR_UNUSED void **state)
{
    static const struct {
        double rate_per_s;
        double cv;
    } cases[] = {{5, 4}, {100, 0.5}, {100, 1}, {0.1, 2}, {2000, 10}};
    const struct catalogue catalogue = with_workflows(1);

    for (uint32_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        const struct arrivals arrivals = {
            .kind = ARRIVALS_GAMMA, .rate_per_s = cases[k].rate_per_s, .cv = cases[k].cv};
        struct arrival_stream stream;
        struct arrival arrival;
        double sum = 0;
        double squares = 0;
        int64_t last_ns = 0;
        arrival_stream_init(&stream, &arrivals, &catalogue, 1);
        for (uint32_t i = 0; i < GAPS; i++) {
            assert_true(arrival_stream_next(&stream, &arrival));
            const double gap = (double)(arrival.at_ns - last_ns);
            last_ns = arrival.at_ns;
            sum += gap;
            squares += gap * gap;
        }
        const double mean = sum / GAPS;
        const double cv = sqrt(squares / GAPS - mean * mean) / mean;
        assert_true(fabs(mean * cases[k].rate_per_s / 1e9 - 1) < 0.01 * (1 + cases[k].cv));
        assert_true(fabs(cv / cases[k].cv - 1) < 0.05);
    }
}

/* A hash of the first arrivals of @arrivals: any other draw gives another one. */
static uint64_t fingerprint(const struct arrivals *arrivals)
{
    const struct catalogue catalogue = with_workflows(3);
    struct arrival_stream stream;
    struct arrival arrival;
    uint64_t hash = 0;

    arrival_stream_init(&stream, arrivals, &catalogue, 7);
    for (uint32_t i = 0; i < 1000 && arrival_stream_next(&stream, &arrival); i++) {
        hash = hash_mix(hash, (uint64_t)arrival.at_ns);
        hash = hash_mix(hash, arrival.workflow);
        hash = hash_mix(hash, arrival.items);
    }
    return hash;
}

/* Recorded runs depend on these: on all compilers, and from version to version. */
static void every_kind_keeps_its_draws(ATTR_UNUSED void **state)
{
    static const struct arrival list[] = {
        {5, 1, 2, 0}, {7000, ARRIVAL_WORKFLOW_ANY, 3, 0}, {900000, ARRIVAL_WORKFLOW_ANY, 1, 0}};
    static const struct {
        struct arrivals arrivals;
        uint64_t hash;
    } cases[] = {
        {{.kind = ARRIVALS_POISSON}, UINT64_C(0xd5d7fc29d2e72835)},
        {{.kind = ARRIVALS_CONSTANT}, UINT64_C(0x3f03eb237eda60d1)},
        {{.kind = ARRIVALS_GAMMA, .cv = 4}, UINT64_C(0x8526fec10ab829b4)},
        {{.kind = ARRIVALS_GAMMA, .cv = 0.3}, UINT64_C(0x33514d51f422cbad)},
        {{.kind = ARRIVALS_BURST, .burst = {400, 1000000000, 50000000}},
         UINT64_C(0xba668101062237b)},
        {{.kind = ARRIVALS_MMPP, .burst = {400, 1000000000, 50000000}},
         UINT64_C(0x5e88db2b4ebc38df)},
        {{.kind = ARRIVALS_DIURNAL, .shape = {5000000000, 3, {1, 4, 2}}},
         UINT64_C(0x2a637763e82fce85)},
        {{.kind = ARRIVALS_TRACE, .list_count = 3, .list = list, .speed = 1.5, .repeat = true},
         UINT64_C(0x4edaac6868ce526a)},
    };

    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arrivals arrivals = cases[i].arrivals;
        arrivals.rate_per_s = 50;
        arrivals.mix[0] = 1;
        arrivals.mix[1] = 2;
        arrivals.mix[2] = 1;
        assert_int_equal(fingerprint(&arrivals), cases[i].hash);
    }
}

/* As they were before there were other kinds. */
static void poisson_arrivals_are_those_of_old(ATTR_UNUSED void **state)
{
    static const struct arrival expected[] = {
        {3768496, 1, 1, 0},  {8394163, 2, 1, 0},  {70110962, 1, 1, 0},
        {76155691, 0, 1, 0}, {76512313, 1, 1, 0}, {82194296, 1, 1, 0},
    };
    const struct catalogue catalogue = with_workflows(3);
    const struct arrivals arrivals = {.rate_per_s = 50, .mix = {1, 2, 1, 0}};
    struct arrival_stream stream;
    struct arrival arrival;

    arrival_stream_init(&stream, &arrivals, &catalogue, 7);
    for (uint32_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_true(arrival_stream_next(&stream, &arrival));
        assert_memory_equal(&arrival, &expected[i], sizeof(arrival));
    }
}

static void a_trace_is_played_at_its_speed(ATTR_UNUSED void **state)
{
    static const struct arrival list[] = {{1000, 1, 2, 0}, {3000, 0, 3, 0}, {3001, 1, 1, 0}};
    const struct catalogue catalogue = with_workflows(2);
    struct arrivals arrivals = {.kind = ARRIVALS_TRACE, .list_count = 3, .list = list};
    struct arrival_stream stream;
    struct arrival arrival;

    arrivals_set_speed(&arrivals, 2);
    arrival_stream_init(&stream, &arrivals, &catalogue, 1);
    const int64_t times[] = {500, 1500, 1501};
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(arrival_stream_next(&stream, &arrival));
        assert_int_equal(arrival.at_ns, times[i]);
        assert_int_equal(arrival.workflow, list[i].workflow);
        assert_int_equal(arrival.items, list[i].items);
    }
    assert_false(arrival_stream_next(&stream, &arrival));
}

/* The next pass begins one mean gap, here 4 s, after the last row. */
static void a_trace_may_be_repeated(ATTR_UNUSED void **state)
{
    static const struct arrival list[] = {
        {0, 0, 1, 0}, {1000000000, 0, 1, 0}, {8000000000, 0, 1, 0}};
    const struct catalogue catalogue = with_workflows(1);
    struct arrivals arrivals = {
        .kind = ARRIVALS_TRACE, .list_count = 3, .list = list, .repeat = true};
    struct arrival_stream stream;
    struct arrival arrival;

    arrivals_set_speed(&arrivals, 1);
    assert_int_equal(arrivals_lap_ns(&arrivals), 12000000000);
    assert_true(arrivals.rate_per_s == 0.25);
    arrival_stream_init(&stream, &arrivals, &catalogue, 1);
    for (int64_t i = 0; i < 30; i++) {
        assert_true(arrival_stream_next(&stream, &arrival));
        assert_int_equal(arrival.at_ns, i / 3 * 12000000000 + list[i % 3].at_ns);
    }
}

static void rows_without_a_workflow_follow_the_mix(ATTR_UNUSED void **state)
{
    static const struct arrival list[] = {{0, ARRIVAL_WORKFLOW_ANY, 1, 0}, {9, 2, 1, 0}};
    const struct catalogue catalogue = with_workflows(3);
    const struct arrivals arrivals = {
        .kind = ARRIVALS_TRACE,
        .list_count = 2,
        .list = list,
        .speed = 1,
        .repeat = true,
        .mix = {3, 1, 0},
    };
    struct arrival_stream stream;
    struct arrival arrival;
    uint32_t counts[3] = {0};

    arrival_stream_init(&stream, &arrivals, &catalogue, 1);
    for (uint32_t i = 0; i < 2 * DRAWS; i++) {
        assert_true(arrival_stream_next(&stream, &arrival));
        counts[arrival.workflow]++;
    }
    assert_int_equal(counts[2], DRAWS);
    assert_true(fabs(counts[0] / (double)DRAWS - 0.75) < 0.02);
}

static void patience_is_the_same_or_has_a_mean(ATTR_UNUSED void **state)
{
    struct arrivals arrivals = {.patience_ns = 5000000};
    struct rng rng = rng_stream(/* seed */ 1, RNG_PATIENCE, 0);
    double sum_ns = 0;
    double squares = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        assert_int_equal(arrivals_draw_patience_ns(&arrivals, &rng), 5000000);
    }
    arrivals.patience_is_mean = true;
    for (uint32_t i = 0; i < DRAWS; i++) {
        const int64_t patience_ns = arrivals_draw_patience_ns(&arrivals, &rng);
        assert_true(patience_ns > 0);
        sum_ns += (double)patience_ns;
        squares += (double)patience_ns * (double)patience_ns;
    }
    assert_true(fabs(sum_ns / DRAWS / 5e6 - 1) < 0.02);
    assert_true(fabs(squares / DRAWS / 2 / 25e12 - 1) < 0.05); /* As an exponential has. */
}

static void a_rate_can_be_set_for_all_but_lists(ATTR_UNUSED void **state)
{
    static const struct arrival list[] = {{0, 0, 1, 0}, {1000000000, 0, 1, 0}};
    struct arrivals burst = {.kind = ARRIVALS_BURST, .rate_per_s = 2, .burst = {.rate_per_s = 20}};
    struct arrivals trace = {.kind = ARRIVALS_TRACE, .list_count = 2, .list = list};
    struct arrivals at_once = {.kind = ARRIVALS_TRACE, .list_count = 1, .list = list};
    struct arrivals fixed = {.kind = ARRIVALS_LIST, .list_count = 2, .list = list};

    assert_true(arrivals_set_rate(&burst, 3));
    assert_true(burst.rate_per_s == 3 && burst.burst.rate_per_s == 30);
    arrivals_set_speed(&trace, 1);
    assert_true(trace.rate_per_s == 1);
    assert_true(arrivals_set_rate(&trace, 4));
    assert_true(trace.rate_per_s == 4 && trace.speed == 4);
    arrivals_set_speed(&at_once, 1);
    assert_true(at_once.rate_per_s == 0);
    assert_false(arrivals_set_rate(&at_once, 4));
    assert_false(arrivals_set_rate(&fixed, 4));
}

/* Slower than any duration, over and over, until 64 bits are full. */
static void a_trace_ends_with_time_itself(ATTR_UNUSED void **state)
{
    static const struct arrival list[] = {{0, 0, 1, 0}, {INT64_C(1) << 49, 0, 1, 0}};
    const struct catalogue catalogue = with_workflows(1);
    struct arrivals arrivals = {
        .kind = ARRIVALS_TRACE, .list_count = 2, .list = list, .repeat = true};
    struct arrival_stream stream;
    struct arrival arrival;
    int64_t last_ns = 0;
    uint32_t count = 0;

    arrivals_set_speed(&arrivals, 0.001);
    arrival_stream_init(&stream, &arrivals, &catalogue, 1);
    while (arrival_stream_next(&stream, &arrival)) {
        assert_true(arrival.at_ns >= last_ns);
        last_ns = arrival.at_ns;
        count++;
    }
    assert_in_range(count, 4, 40);
}

static bool are_rates(const struct arrivals *arrivals, double first, double second)
{
    const struct catalogue catalogue = with_workflows(2);
    double rates[2] = {-1, -1};
    if (!arrivals_rates(arrivals, &catalogue, rates)) {
        assert_true(rates[0] < 0);
        return false;
    }
    return fabs(rates[0] - first) < 1e-9 && fabs(rates[1] - second) < 1e-9;
}

/* Against what the streams really give, in the long run. */
static void rates_are_those_of_the_long_run(ATTR_UNUSED void **state)
{
    static const struct arrival list[] = {
        {0, 1, 1, 0}, {1000000000, 0, 1, 0}, {3000000000, 1, 1, 0}};
    struct arrivals arrivals = {.kind = ARRIVALS_POISSON, .rate_per_s = 12, .mix = {1, 3}};
    assert_true(are_rates(&arrivals, 3, 9));
    arrivals.kind = ARRIVALS_BURST; /* 12/s for nine seconds, 32/s for one: 14/s. */
    arrivals.burst =
        (struct arrivals_burst){.rate_per_s = 32, .every_ns = 10000000000, .length_ns = 1000000000};
    assert_true(are_rates(&arrivals, 3.5, 10.5));
    arrivals = (struct arrivals){.kind = ARRIVALS_CONSTANT, .rate_per_s = 12};
    assert_true(are_rates(&arrivals, 6, 6));
    arrivals = (struct arrivals){.kind = ARRIVALS_LIST, .list_count = 3, .list = list};
    assert_true(are_rates(&arrivals, 1 / 4.5, 2 / 4.5)); /* A lap is a mean gap longer. */
    arrivals.kind = ARRIVALS_TRACE;
    arrivals_set_speed(&arrivals, 2);
    assert_true(are_rates(&arrivals, 2 / 4.5, 4 / 4.5));
    arrivals.list_count = 1; /* One request takes no time: there is no rate. */
    arrivals.kind = ARRIVALS_LIST;
    assert_false(are_rates(&arrivals, 0, 0));
}

static void every_node_is_an_ingress(ATTR_UNUSED void **state)
{
    struct rng rng = arrival_ingress_stream(1);
    uint32_t counts[5] = {0};
    for (uint32_t i = 0; i < DRAWS; i++) {
        counts[arrival_ingress(&rng, 5)]++;
    }
    for (uint32_t i = 0; i < 5; i++) {
        assert_true(fabs(counts[i] / (double)DRAWS - 0.2) < 0.02);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_arrivals),
        cmocka_unit_test(poisson_gaps_have_the_mean_and_spread_of_the_rate),
        cmocka_unit_test(constant_gaps_are_equal),
        cmocka_unit_test(workflows_come_in_the_proportions_of_the_mix),
        cmocka_unit_test(without_a_mix_workflows_are_all_alike),
        cmocka_unit_test(the_mix_does_not_shift_the_times),
        cmocka_unit_test(a_list_is_given_in_order_and_ends),
        cmocka_unit_test(time_does_not_overflow),
        cmocka_unit_test(gamma_gaps_have_the_coefficient_of_variation),
        cmocka_unit_test(every_kind_keeps_its_draws),
        cmocka_unit_test(poisson_arrivals_are_those_of_old),
        cmocka_unit_test(a_trace_is_played_at_its_speed),
        cmocka_unit_test(a_trace_may_be_repeated),
        cmocka_unit_test(rows_without_a_workflow_follow_the_mix),
        cmocka_unit_test(patience_is_the_same_or_has_a_mean),
        cmocka_unit_test(a_rate_can_be_set_for_all_but_lists),
        cmocka_unit_test(a_trace_ends_with_time_itself),
        cmocka_unit_test(rates_are_those_of_the_long_run),
        cmocka_unit_test(every_node_is_an_ingress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
