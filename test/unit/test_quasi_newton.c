/* What is learnt from moves: the defining property of BFGS, and what is not learnt. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"
#include "mixture/quasi_newton.h"

enum { COUNT = 7, ROOM = 8 }; /* Not a multiple of the lanes. */

struct setting {
    double moves[QUASI_NEWTON_MEMORY * ROOM];
    double turns[QUASI_NEWTON_MEMORY * ROOM];
    struct quasi_newton known;
};

static void begin(struct setting *setting)
{
    *setting = (struct setting){.known = {.count = COUNT, .step = ROOM}};
    setting->known.moves = setting->moves;
    setting->known.turns = setting->turns;
}

static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * (1 + fabs(expected)))) {
        fail_msg("%.12g is not %.12g", value, expected);
    }
}

/* The gradient of a bowl whose axes are not those of the variables. */
static void slope_at(const double *x, double *gradient_out)
{
    double sum = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        sum += x[i];
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        gradient_out[i] = (1 + i) * x[i] + sum;
    }
}

static void before_anything_is_known_it_is_the_metric(ATTR_UNUSED void **state)
{
    static const double gradient[COUNT] = {1, -2, 3, 0, 5, 6, -7};
    static const double metric[COUNT] = {1, 2, 3, 4, 5, 6, 7};
    struct setting setting;
    double direction[COUNT];
    double slope = 0;
    begin(&setting);
    const double returned =
        quasi_newton_direction(&setting.known, gradient, metric, 0.5, direction);
    for (uint32_t i = 0; i < COUNT; i++) {
        near(direction[i], -0.5 * metric[i] * gradient[i]);
        slope += direction[i] * gradient[i];
    }
    near(returned, slope);
}

/* Whatever else it knows, at the last turn of the gradient it takes the last move back. */
static void the_last_move_explains_the_last_turn(ATTR_UNUSED void **state)
{
    double metric[COUNT];
    double x[COUNT] = {5, -4, 3, 2, 1, 6, -7};
    double older[COUNT];
    double gradient[COUNT];
    double turn[COUNT];
    double direction[COUNT];
    struct setting setting;
    struct rng rng = rng_stream(2, RNG_TEST, 0);
    begin(&setting);
    for (uint32_t i = 0; i < COUNT; i++) {
        metric[i] = 1 + rng_unit(&rng);
    }
    slope_at(x, gradient);
    for (uint32_t step = 0; step < 2 * QUASI_NEWTON_MEMORY; step++) {
        double *move = quasi_newton_next(&setting.known);
        memcpy(older, gradient, sizeof(older));
        for (uint32_t i = 0; i < COUNT; i++) {
            move[i] = rng_unit(&rng) - 0.5;
            x[i] += move[i];
        }
        slope_at(x, gradient);
        quasi_newton_learn(&setting.known, older, gradient);
        assert_int_equal(
            setting.known.kept, step < QUASI_NEWTON_MEMORY ? step + 1 : QUASI_NEWTON_MEMORY);
        for (uint32_t i = 0; i < COUNT; i++) {
            turn[i] = gradient[i] - older[i];
        }
        const double slope = quasi_newton_direction(&setting.known, turn, metric, 0.5, direction);
        double product = 0;
        for (uint32_t i = 0; i < COUNT; i++) {
            near(direction[i], -move[i]);
            product += direction[i] * turn[i];
        }
        near(slope, product);
    }
}

static void a_bowl_is_left_for_its_bottom(ATTR_UNUSED void **state)
{
    double metric[COUNT];
    double x[COUNT] = {5, -4, 3, 2, 1, 6, -7};
    double older[COUNT];
    double gradient[COUNT];
    struct setting setting;
    begin(&setting);
    for (uint32_t i = 0; i < COUNT; i++) {
        metric[i] = 1;
    }
    slope_at(x, gradient);
    for (uint32_t step = 0; step < 40; step++) {
        double *move = quasi_newton_next(&setting.known);
        const double slope = quasi_newton_direction(&setting.known, gradient, metric, 0.05, move);
        assert_true(slope <= 0);
        memcpy(older, gradient, sizeof(older));
        for (uint32_t i = 0; i < COUNT; i++) {
            x[i] += move[i];
        }
        slope_at(x, gradient);
        quasi_newton_learn(&setting.known, older, gradient);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(fabs(gradient[i]) < 1e-8);
    }
}

/* Where the slope falls along a move nothing is learnt; what it was written over is forgotten. */
static void a_ridge_teaches_nothing(ATTR_UNUSED void **state)
{
    static const double zero[COUNT] = {0};
    struct setting setting;
    begin(&setting);
    for (uint32_t step = 0; step <= QUASI_NEWTON_MEMORY; step++) {
        double gradient[COUNT] = {0};
        const bool is_ridge = step == 0 || step == QUASI_NEWTON_MEMORY;
        double *move = quasi_newton_next(&setting.known);
        memset(move, 0, COUNT * sizeof(*move));
        move[step % COUNT] = 1;
        gradient[step % COUNT] = is_ridge ? -1 : 1;
        quasi_newton_learn(&setting.known, zero, gradient);
        assert_int_equal(setting.known.kept, is_ridge ? (step == 0 ? 0 : step - 1) : step);
    }
    double *move = quasi_newton_next(&setting.known);
    memset(move, 0, COUNT * sizeof(*move));
    move[0] = 1;
    const double gradient[COUNT] = {1};
    quasi_newton_learn(&setting.known, zero, gradient);
    assert_int_equal(setting.known.kept, QUASI_NEWTON_MEMORY);
    memset(quasi_newton_next(&setting.known), 0, COUNT * sizeof(*move));
    quasi_newton_learn(&setting.known, zero, gradient);
    assert_int_equal(setting.known.kept, QUASI_NEWTON_MEMORY - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_anything_is_known_it_is_the_metric),
        cmocka_unit_test(the_last_move_explains_the_last_turn),
        cmocka_unit_test(a_bowl_is_left_for_its_bottom),
        cmocka_unit_test(a_ridge_teaches_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
