/* Few trials find what random ones do not, and keep the constraint. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/exact.h"
#include "policy/baselines/bayes.h"

enum { DIMS = 6 };

struct noisy {
    struct rng rng;
    uint32_t count;
    double noise;
};

/* Small coordinates are cheap and slow: the sum has to reach 3, most of it where it is cheap. */
static struct bayes_trial try_point(void *context, const double *point)
{
    struct noisy *noisy = context;
    struct bayes_trial trial = {.excess = 3};
    for (uint32_t i = 0; i < DIMS; i++) {
        trial.cost += point[i] * point[i] * (i + 1);
        trial.excess -= point[i];
    }
    noisy->count++;
    trial.cost += noisy->noise * exact_normal(&noisy->rng);
    trial.excess += noisy->noise * exact_normal(&noisy->rng);
    return trial;
}

static struct bayes_result search(uint32_t random, uint32_t rounds, uint64_t seed, double *point)
{
    struct noisy noisy = {.rng = rng_stream(seed, RNG_TEST, 0), .noise = 0.02};
    struct bayes_problem problem = {
        .dims = DIMS,
        .try_point = try_point,
        .context = &noisy,
        .random_count = random,
        .round_count = rounds,
        .batch = 3,
        .rng = rng_stream(seed, RNG_TEST, 1),
    };
    const struct bayes_result result = bayes_search(&problem, point);
    assert_int_equal(result.trials, random + 3 * rounds);
    assert_int_equal(noisy.count, result.trials);
    return result;
}

static double true_cost(const double *point)
{
    struct noisy exact = {.noise = 0};
    return try_point(&exact, point).cost;
}

static void it_is_better_than_as_many_random_trials(void **state)
{
    (void)state;
    double ours = 0;
    double random = 0;
    for (uint64_t seed = 0; seed < 3; seed++) {
        double point[DIMS];
        assert_true(search(10, 20, seed, point).feasible);
        struct noisy exact = {.noise = 0};
        assert_true(try_point(&exact, point).excess < 0.1);
        ours += true_cost(point);
        assert_true(search(70, 0, seed, point).feasible);
        random += true_cost(point);
    }
    /* The best there is costs 3.67; random points that are feasible are far from it. */
    assert_true(ours < 0.85 * random);
    assert_true(ours / 3 < 5.5);
}

static void the_same_stream_gives_the_same_point(void **state)
{
    (void)state;
    double first[DIMS];
    double second[DIMS];
    (void)search(10, 4, 5, first);
    (void)search(10, 4, 5, second);
    for (uint32_t i = 0; i < DIMS; i++) {
        assert_true(first[i] == second[i]);
    }
}

static struct bayes_trial never(void *context, const double *point)
{
    (void)context;
    return (struct bayes_trial){.cost = point[0], .excess = 1 + point[0]};
}

static void without_a_feasible_point_the_least_excess_is_told(void **state)
{
    (void)state;
    struct bayes_problem problem = {
        .dims = 1,
        .try_point = never,
        .random_count = 10,
        .round_count = 3,
        .batch = 3,
        .rng = rng_stream(1, RNG_TEST, 0),
    };
    double point[1];
    const struct bayes_result result = bayes_search(&problem, point);
    assert_false(result.feasible);
    assert_true(point[0] < 0.15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_better_than_as_many_random_trials),
        cmocka_unit_test(the_same_stream_gives_the_same_point),
        cmocka_unit_test(without_a_feasible_point_the_least_excess_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
