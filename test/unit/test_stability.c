/*
 * Runs of a queue on both sides of the load at which it grows without end.
 *
 * The queues are Lindley recursions of their own, many seeds each: a rule that judges
 * random runs is itself judged by how often it is wrong.
 */
#include "trace/stability.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/exact.h"
#include "base/rng.h"

enum { SEEDS = 50, SERVERS_MAX = 8 };

/* Arrivals in groups, on average of @group, before @servers that take a time of 1 each. */
struct queue {
    double load;
    uint32_t servers;
    uint32_t group;
    bool exponential; /* Service, too, is random. */
};

static uint32_t first_free(const double free_at[SERVERS_MAX], uint32_t servers)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < servers; i++) {
        best = free_at[i] < free_at[best] ? i : best;
    }
    return best;
}

/* What each of @count arrivals finds. The caller frees it. */
static int64_t *backlogs_of(const struct queue *queue, uint64_t count, uint32_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 0);
    double free_at[SERVERS_MAX] = {0};
    double *ends = calloc(count, sizeof(double));
    int64_t *backlogs = calloc(count, sizeof(int64_t));
    double now = 0;
    uint64_t gone = 0; /* In one queue with times alike, they end in their order. */
    for (uint64_t i = 0; i < count; i++) {
        if (queue->group == 1 || rng_below(&rng, queue->group) == 0) {
            now += exact_exponential(&rng) * queue->group / (queue->load * queue->servers);
        }
        const double run = queue->exponential ? exact_exponential(&rng) : 1;
        const uint32_t server = first_free(free_at, queue->servers);
        free_at[server] = (free_at[server] > now ? free_at[server] : now) + run;
        ends[i] = free_at[server];
        while (gone < i && ends[gone] <= now) {
            gone++;
        }
        backlogs[i] = (int64_t)(i - gone);
    }
    free(ends);
    return backlogs;
}

static uint32_t count_stable(const struct queue *queue, uint64_t count)
{
    uint32_t stable = 0;
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        int64_t *backlogs = backlogs_of(queue, count, seed);
        stable += stability_of(backlogs, count) ? 1 : 0;
        free(backlogs);
    }
    return stable;
}

/* How many of the SEEDS runs may be judged wrongly. */
static void expect_stable(struct queue queue, uint64_t count, uint32_t wrong_max)
{
    assert_in_range(count_stable(&queue, count), SEEDS - wrong_max, SEEDS);
}

static void expect_growing(struct queue queue, uint64_t count, uint32_t wrong_max)
{
    assert_in_range(count_stable(&queue, count), 0, wrong_max);
}

static struct queue single(double load)
{
    return (struct queue){.load = load, .servers = 1, .group = 1};
}

static void queues_below_their_limit_are_stable(ATTR_UNUSED void **state)
{
    static const uint64_t counts[] = {20, 100, 1000, 3000, 20000, 50000};
    for (uint32_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        expect_stable(single(0.5), counts[i], 0);
        expect_stable(single(0.9), counts[i], 1);
    }
    expect_stable(single(0.95), 3000, 3);
    expect_stable(single(0.95), 20000, 0);
    expect_stable(single(0.95), 50000, 0);
    expect_stable(single(0.98), 50000, 1);
}

static void queues_above_it_grow(ATTR_UNUSED void **state)
{
    expect_growing(single(1.02), 20000, 3);
    expect_growing(single(1.02), 50000, 0);
    expect_growing(single(1.1), 1000, 10);
    expect_growing(single(1.1), 3000, 0);
    expect_growing(single(1.1), 20000, 0);
    expect_growing(single(1.5), 200, 1);
    expect_growing(single(1.5), 1000, 0);
    expect_growing(single(1.5), 50000, 0);
    expect_growing(single(3), 100, 0);
}

static void random_run_times_and_many_workers_change_little(ATTR_UNUSED void **state)
{
    const struct queue busy = {.load = 0.9, .servers = 1, .group = 1, .exponential = true};
    const struct queue many = {.load = 0.95, .servers = 8, .group = 1};
    const struct queue overloaded = {.load = 1.1, .servers = 8, .group = 1};
    expect_stable(busy, 3000, 1);
    expect_stable(busy, 20000, 0);
    expect_stable(many, 20000, 0);
    expect_growing(overloaded, 3000, 1);
}

/* Twenty at a time, on average: a tenth of the runs have a queue of hundreds in between. */
static void bursts_are_told_from_growth(ATTR_UNUSED void **state)
{
    const struct queue calm = {.load = 0.5, .servers = 1, .group = 20};
    const struct queue busy = {.load = 0.8, .servers = 1, .group = 20};
    const struct queue overloaded = {.load = 1.5, .servers = 1, .group = 20};
    expect_stable(calm, 3000, 3);
    expect_stable(busy, 20000, 1);
    expect_stable(busy, 50000, 0);
    expect_growing(overloaded, 20000, 0);
}

enum { STEPS = 800 };

/* The backlog of each arrival of a made-up run of STEPS. */
static bool judged(int64_t (*backlog)(uint32_t arrival))
{
    int64_t backlogs[STEPS];
    for (uint32_t i = 0; i < STEPS; i++) {
        backlogs[i] = backlog(i);
    }
    return stability_of(backlogs, STEPS);
}

static int64_t burst_that_drains(uint32_t arrival)
{
    const int64_t since = (int64_t)arrival - 450;
    return since < 0 ? 2 : since < 100 ? 3 * since : since < 250 ? 300 - 2 * (since - 100) : 2;
}

static int64_t burst_at_the_end(uint32_t arrival)
{
    return arrival < 780 ? 2 : 10 * (int64_t)(arrival - 780);
}

static int64_t breakdown_at_the_end(uint32_t arrival)
{
    return arrival < 640 ? arrival % 7 : (int64_t)arrival - 630;
}

static int64_t cold_start(uint32_t arrival)
{
    return arrival < 100 ? 400 - 4 * (int64_t)arrival : 3;
}

static int64_t cold_start_and_growth(uint32_t arrival)
{
    return arrival < 100 ? 1000 - 10 * (int64_t)arrival : (int64_t)arrival / 10;
}

static int64_t few_more(uint32_t arrival)
{
    return arrival / 100;
}

static void made_up_runs_are_judged_as_one_would(ATTR_UNUSED void **state)
{
    assert_true(judged(burst_that_drains));
    assert_true(judged(burst_at_the_end)); /* Twenty arrivals are not a trend. */
    assert_false(judged(breakdown_at_the_end));
    assert_true(judged(cold_start));
    assert_false(judged(cold_start_and_growth));
    assert_true(judged(few_more));
}

static void of_a_few_arrivals_nothing_is_said(ATTR_UNUSED void **state)
{
    const int64_t backlogs[] = {0, 10, 20, 30, 40, 50, 60};
    for (uint64_t count = 0; count <= 7; count++) {
        assert_true(stability_of(backlogs, count));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queues_below_their_limit_are_stable),
        cmocka_unit_test(queues_above_it_grow),
        cmocka_unit_test(random_run_times_and_many_workers_change_little),
        cmocka_unit_test(bursts_are_told_from_growth),
        cmocka_unit_test(made_up_runs_are_judged_as_one_would),
        cmocka_unit_test(of_a_few_arrivals_nothing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
