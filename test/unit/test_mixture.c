/* Covers: src/mixture/mixture.c src/mixture/alias.c */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "mixture/mixture.h"
#include "model/catalogue.h"
#include "model/fleet.h"

static struct mixture *two_workflows(void)
{
    struct mixture *mixture = mixture_create(3, 4, 4);
    mixture_set_workflow(mixture, 0, 2, 5);
    mixture_set_workflow(mixture, 2, 1, 1);
    const uint16_t pairs[][2] = {{0, 0}, {1, 2}, {3, 3}};
    assert_int_equal(mixture_add_pattern(mixture, 0, pairs[0], 3), WEFT_OK);
    assert_int_equal(mixture_add_pattern(mixture, 0, pairs[1], 0), WEFT_OK);
    assert_int_equal(mixture_add_pattern(mixture, 0, pairs[2], 1), WEFT_OK);
    assert_int_equal(mixture_add_pattern(mixture, 2, pairs[2], 1), WEFT_OK);
    return mixture;
}

static void patterns_are_drawn_by_their_weights(ATTR_UNUSED void **state)
{
    struct mixture *mixture = two_workflows();
    struct weft_error error;
    assert_int_equal(mixture_seal(mixture, &error), WEFT_OK);
    assert_true(mixture->workflows[0].weights[0] == 0.75);
    assert_true(mixture->workflows[0].weights[2] == 0.25);
    assert_true(mixture_has(mixture, 0));
    assert_false(mixture_has(mixture, 1));
    assert_false(mixture_has(mixture, 3));
    struct rng rng = rng_stream(1, RNG_TEST, 0);
    uint32_t counts[3] = {0};
    for (uint32_t i = 0; i < 100000; i++) {
        counts[mixture_draw_index(mixture, 0, &rng)]++;
    }
    assert_int_equal(counts[1], 0);
    assert_in_range(counts[0], 74500, 75500);
    assert_int_equal(mixture_draw(mixture, 2, &rng)[0], 3);
    assert_int_equal(mixture_placement(mixture, 0, 1)[1], 2);
    mixture_destroy(mixture);
}

/* Every table of weights, drawn with all its entries and parts: exact but for 2^-53. */
static void alias_tables_hold_every_weight(ATTR_UNUSED void **state)
{
    struct rng rng = rng_stream(2, RNG_TEST, 0);
    for (uint32_t count = 1; count < 60; count++) {
        double weights[60] = {0};
        double chances[60] = {0};
        double sum = 0;
        struct alias table[60];
        for (uint32_t i = 0; i < count; i++) {
            const double unit = rng_unit(&rng);
            weights[i] = unit < 0.3 ? 0 : unit * unit;
            sum += weights[i];
        }
        weights[0] += sum <= 0 ? 1 : 0;
        sum += sum <= 0 ? 1 : 0;
        alias_build(weights, count, table);
        for (uint32_t i = 0; i < count; i++) {
            const double kept = (double)table[i].keep * 0x1p-64;
            chances[i] += kept / count;
            chances[table[i].other] += (1 - kept) / count;
        }
        for (uint32_t i = 0; i < count; i++) {
            assert_true(fabs(chances[i] - weights[i] / sum) < 1e-12);
            assert_true(weights[i] > 0 || (table[i].keep == 0 && weights[table[i].other] > 0));
        }
    }
}

static void mistakes_are_refused(ATTR_UNUSED void **state)
{
    struct mixture *mixture = two_workflows();
    struct weft_error error;
    const uint16_t wrong[] = {0, 4};
    const uint16_t right[] = {0, 3};
    assert_int_equal(mixture_add_pattern(mixture, 0, wrong, 1), WEFT_INVALID);
    assert_int_equal(mixture_add_pattern(mixture, 0, right, -1), WEFT_INVALID);
    assert_int_equal(mixture_add_pattern(mixture, 0, right, (double)NAN), WEFT_INVALID);
    assert_int_equal(mixture_add_pattern(mixture, 0, right, (double)INFINITY), WEFT_INVALID);
    assert_int_equal(mixture_add_pattern(mixture, 1, right, 1), WEFT_NOT_FOUND);
    mixture_set_workflow(mixture, 1, 2, 0);
    assert_int_equal(mixture_seal(mixture, &error), WEFT_INVALID);
    assert_non_null(strstr(error.message, "workflow 1 has no pattern"));
    assert_int_equal(mixture_add_pattern(mixture, 1, right, 0), WEFT_OK);
    assert_int_equal(mixture_seal(mixture, &error), WEFT_INVALID);
    assert_int_equal(mixture_add_pattern(mixture, 1, right, 1e-9), WEFT_OK);
    assert_int_equal(mixture_seal(mixture, &error), WEFT_OK);
    mixture_destroy(mixture);
    mixture_destroy(NULL);
}

static void weights_that_sum_to_one_are_kept_to_the_bit(ATTR_UNUSED void **state)
{
    const double weights[] = {0.1, 0.2, 0.7 + 1e-12};
    struct mixture *mixture = mixture_create(1, 1, 0);
    mixture_set_workflow(mixture, 0, 1, 1);
    const uint16_t placement[] = {0};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(mixture_add_pattern(mixture, 0, placement, weights[i]), WEFT_OK);
    }
    assert_int_equal(mixture_seal(mixture, NULL), WEFT_OK);
    assert_memory_equal(mixture->workflows[0].weights, weights, sizeof(weights));
    mixture_destroy(mixture);
}

static void a_mixture_belongs_to_its_cluster(ATTR_UNUSED void **state)
{
    struct fleet *fleet = fleet_create();
    struct catalogue *catalogue = catalogue_create();
    const struct fleet_worker device = {
        .device = fleet_device(fleet, "gpu"), .memory_bytes = 1, .gpu_units = 1};
    struct weft_error error;
    assert_true(fleet_add_machine(fleet, &device, 3, 1));
    for (uint32_t i = 0; i < 3; i++) {
        struct workflow *workflow = workflow_create(i == 0 ? "x" : i == 1 ? "y" : "z");
        const struct workflow_task tasks[] = {{.name = "a"}, {.name = "b"}};
        uint32_t index;
        assert_int_equal(workflow_add_task(workflow, &tasks[0], &index), WEFT_OK);
        if (i < 2) {
            assert_int_equal(workflow_add_task(workflow, &tasks[1], &index), WEFT_OK);
        }
        assert_int_equal(workflow_seal(workflow, &error), WEFT_OK);
        assert_int_equal(catalogue_add_workflow(catalogue, workflow), WEFT_OK);
    }
    struct mixture *mixture = two_workflows();
    assert_int_equal(mixture_seal(mixture, &error), WEFT_OK);
    assert_int_equal(mixture_check(mixture, catalogue, fleet, &error), WEFT_INVALID);
    assert_non_null(strstr(error.message, "4 workers"));
    assert_true(fleet_add_machine(fleet, &device, 1, 1));
    assert_int_equal(mixture_check(mixture, catalogue, fleet, &error), WEFT_OK);
    mixture->link_count = 3;
    assert_int_equal(mixture_check(mixture, catalogue, fleet, &error), WEFT_INVALID);
    assert_non_null(strstr(error.message, "3 links"));
    mixture->link_count = 4;
    mixture->workflows[2].task_count = 2;
    assert_int_equal(mixture_check(mixture, catalogue, fleet, &error), WEFT_INVALID);
    assert_non_null(strstr(error.message, "workflow z have 2 tasks, it has 1"));
    mixture->workflow_count = 2;
    assert_int_equal(mixture_check(mixture, catalogue, fleet, &error), WEFT_INVALID);
    mixture->workflow_count = 3;
    mixture_destroy(mixture);
    catalogue_destroy(catalogue);
    fleet_destroy(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_are_drawn_by_their_weights),
        cmocka_unit_test(alias_tables_hold_every_weight),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(weights_that_sum_to_one_are_kept_to_the_bit),
        cmocka_unit_test(a_mixture_belongs_to_its_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
