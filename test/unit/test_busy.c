/* Covers: src/runtime/busy.c src/model/slowing.h */
#include "runtime/busy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"

static bool is_near(double a, double b)
{
    return a - b < 1e-9 && b - a < 1e-9;
}

static void expect(struct slowing slowing, double beside, double crowded)
{
    assert_true(is_near(slowing.beside, beside));
    assert_true(is_near(slowing.crowded, crowded));
}

static void threads_meet_the_other_processors(ATTR_UNUSED void **state)
{
    expect(slowing_of(/* threads */ 1, /* processors */ 1), 0, 0);
    expect(slowing_of(3, 1), 0, 2);
    expect(slowing_of(1, 2), 0, 0);
    expect(slowing_of(2, 2), 1, 0);
    expect(slowing_of(3, 2), 1, 0.5);
    expect(slowing_of(3, 5), 0.5, 0);
    const struct slowing both = {.beside = 0.5, .crowded = 0.5};
    assert_true(is_near(slowing_factor(&both, /* interference */ 0.4), 1.8));
}

/* A machine with @processors, and a worker that is none. */
static struct fleet *machine(uint32_t processors)
{
    struct fleet *fleet = fleet_create();
    (void)fleet_device(fleet, "any");
    const struct fleet_worker gpu = {.memory_bytes = 1, .gpu_units = 1};
    struct fleet_worker processor = gpu;
    processor.splits = true;
    assert_true(fleet_add_machine(fleet, &gpu, /* count */ 1, /* cpu_units */ 8));
    assert_true(fleet_add_machine(fleet, &processor, processors, /* cpu_units */ 8));
    return fleet;
}

static void what_a_batch_met_is_an_average(ATTR_UNUSED void **state)
{
    struct fleet *fleet = machine(2);
    struct busy busy;
    busy_init(&busy, fleet, /* node */ 0);
    assert_int_equal(busy.processors, 0);
    busy_init(&busy, fleet, /* node */ 1);
    assert_int_equal(busy.processors, 2);
    const struct slowing first = busy_begin(&busy, 1000, /* threads */ 1);
    const struct slowing split = busy_begin(&busy, 1100, /* threads */ 2);
    expect(busy_end(&busy, 1200, 1, first, 200), 0.5, 0.25); /* Alone, then three on two. */
    expect(busy_end(&busy, 1300, 2, split, 200), 1, 0.25);   /* The other part is beside, too. */
    assert_int_equal(busy.threads, 0);
    const struct slowing late = busy_begin(&busy, 9000, 1);
    expect(busy_end(&busy, 9500, 1, late, 500), 0, 0);
    expect(busy_end(&busy, 9500, 0, late, /* took_ns */ 0), 0, 0);
    fleet_destroy(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_meet_the_other_processors),
        cmocka_unit_test(what_a_batch_met_is_an_average),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
