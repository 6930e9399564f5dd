/* A copy of a mixture draws what the original draws, and needs nothing of it. */
#include "mixture/mixture_copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/attributes.h"
#include "mixture/mixture.h"

enum { WORKERS = 7, PATTERNS = 13, DRAWS = 500 };

/* Workflow 1 has no patterns. */
static struct mixture *made(void)
{
    struct mixture *mixture = mixture_create(/* workflows */ 3, WORKERS, /* links */ 5);
    for (uint32_t workflow = 0; workflow < 3; workflow += 2) {
        mixture_set_workflow(mixture, workflow, /* task_count */ workflow + 1, 10.0 + workflow);
        for (uint32_t i = 0; i < PATTERNS; i++) {
            const uint16_t placement[3] = {
                (uint16_t)(i % WORKERS), (uint16_t)(i * 3 % WORKERS), (uint16_t)(i / 2)};
            assert_int_equal(mixture_add_pattern(mixture, workflow, placement, i), WEFT_OK);
        }
    }
    assert_int_equal(mixture_seal(mixture, NULL), WEFT_OK);
    mixture->mean_ns = 4e6;
    mixture->worker_load[6] = 0.5;
    mixture->link_load[4] = 0.25;
    return mixture;
}

static void draw_all(const struct mixture *mixture, uint16_t *drawn_out)
{
    struct rng rng = rng_from_seed(3);
    for (uint32_t i = 0; i < DRAWS; i++) {
        const uint32_t workflow = i % 2 * 2;
        const uint16_t *placement = mixture_draw(mixture, workflow, &rng);
        drawn_out[i] = placement[workflow];
    }
}

static void check(const struct mixture *copy, const uint16_t *expected)
{
    uint16_t drawn[DRAWS];
    draw_all(copy, drawn);
    assert_memory_equal(drawn, expected, sizeof(drawn));
    assert_true(copy->sealed);
    assert_false(mixture_has(copy, 1));
    assert_true(copy->mean_ns == 4e6);
    assert_true(copy->worker_load[6] == 0.5);
    assert_true(copy->link_load[4] == 0.25);
    assert_true(copy->workflows[2].rate_per_s == 12);
    assert_true(copy->workflows[2].weights[2] == 2.0 / 78);
}

static void copies_draw_the_same(ATTR_UNUSED void **state)
{
    uint16_t expected[DRAWS];
    struct arena arena;
    struct mixture *mixture = made();
    draw_all(mixture, expected);
    arena_init(&arena);
    struct mixture *loose = mixture_copy(mixture);
    const struct mixture *kept = mixture_copy_to(&arena, mixture);
    mixture_destroy(mixture);
    check(loose, expected);
    free(loose);
    check(kept, expected);
    arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_draw_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
