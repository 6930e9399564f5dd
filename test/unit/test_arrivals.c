#include "model/arrivals.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "model/catalogue.h"

enum { DRAWS = 20000 };

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
    static const struct arrival list[] = {{5, 1, 2}, {5, 0, 3}, {9, 1, 1}};
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
        cmocka_unit_test(every_node_is_an_ingress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
