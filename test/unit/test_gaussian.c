/* Processes against what can be calculated by hand, and against leaving out in earnest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "policy/baselines/gaussian.h"

static struct gaussian process;

static double off(double a, double b)
{
    return a > b ? a - b : b - a;
}

/* A smooth hill, and steps of noise that are no function of the place. */
static double hill(double x, double y)
{
    return 10 - 8 * (x - 0.3) * (x - 0.3) - 4 * (y - 0.6) * (y - 0.6);
}

static void fill(uint32_t count, double noise)
{
    struct rng rng = rng_stream(3, RNG_TEST, 0);
    gaussian_init(&process, 2);
    for (uint32_t i = 0; i < count; i++) {
        double point[2];
        point[0] = rng_unit(&rng);
        point[1] = rng_unit(&rng);
        const double by = noise * (rng_unit(&rng) - 0.5);
        assert_true(gaussian_add(&process, point, hill(point[0], point[1]) + by));
    }
    gaussian_fit(&process);
}

static void it_knows_what_it_was_told_and_doubts_the_rest(void **state)
{
    (void)state;
    gaussian_init(&process, 1);
    const double points[] = {0.1, 0.2, 0.4};
    const double values[] = {5, 7, 6};
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(gaussian_add(&process, &points[i], values[i]));
    }
    gaussian_fit(&process);
    const struct gaussian_guess known = gaussian_at(&process, &points[1]);
    const struct gaussian_guess far = gaussian_at(&process, (double[]){50});
    assert_true(off(known.mean, 7) < 0.3);
    assert_true(known.sd < far.sd / 2);
    assert_true(off(far.mean, 6) < 1e-6); /* Far away: the mean of all. */
}

static void it_guesses_between_points(void **state)
{
    (void)state;
    fill(40, 0.05);
    struct rng rng = rng_stream(4, RNG_TEST, 0);
    for (uint32_t i = 0; i < 50; i++) {
        double point[2];
        point[0] = 0.1 + 0.8 * rng_unit(&rng);
        point[1] = 0.1 + 0.8 * rng_unit(&rng);
        assert_true(off(gaussian_at(&process, point).mean, hill(point[0], point[1])) < 0.4);
    }
}

static void leaving_one_out_is_what_the_others_say(void **state)
{
    (void)state;
    static struct gaussian others;
    struct gaussian_guess guesses[GAUSSIAN_POINTS_MAX];
    fill(12, 0.5);
    gaussian_leave_one_out(&process, guesses);
    for (uint32_t out = 0; out < 12; out++) {
        others = process;
        others.count = 0;
        for (uint32_t i = 0; i < 12; i++) {
            if (i != out) {
                const double value = process.values[i] * process.scale + process.mean;
                assert_true(gaussian_add(&others, process.points[i], value));
            }
        }
        gaussian_refit(&others); /* With the same length, noise and scale. */
        const struct gaussian_guess guess = gaussian_at(&others, process.points[out]);
        assert_true(off(guess.mean, guesses[out].mean) < 1e-6);
        assert_true(guesses[out].sd > guess.sd); /* Its own noise counts. */
    }
}

static void draws_have_the_mean_and_spread_of_the_process(void **state)
{
    (void)state;
    static struct gaussian_joint joint;
    fill(10, 2.0);
    gaussian_join(&process, &joint);
    double values[GAUSSIAN_POINTS_MAX];
    double normals[GAUSSIAN_POINTS_MAX] = {0};
    gaussian_draw(&joint, normals, values);
    for (uint32_t i = 0; i < 10; i++) {
        assert_true(off(values[i], gaussian_at(&process, process.points[i]).mean) < 1e-6);
    }
    /* Rows of the factor have the length of the deviation. */
    for (uint32_t i = 0; i < 10; i++) {
        double square = 0;
        for (uint32_t k = 0; k <= i; k++) {
            square += joint.factor[i][k] * joint.factor[i][k];
        }
        const double sd = gaussian_at(&process, process.points[i]).sd;
        assert_true(off(square, sd * sd) < 1e-4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_knows_what_it_was_told_and_doubts_the_rest),
        cmocka_unit_test(it_guesses_between_points),
        cmocka_unit_test(leaving_one_out_is_what_the_others_say),
        cmocka_unit_test(draws_have_the_mean_and_spread_of_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
