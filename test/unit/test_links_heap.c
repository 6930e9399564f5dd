#include "sim/links_heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"

enum { LINKS = 50 };

static void the_lowest_comes_first_and_of_equal_ones_the_lower_index(ATTR_UNUSED void **state)
{
    static const uint32_t order[] = {4, 1, 3, 0};
    struct links_heap heap;
    links_heap_init(&heap, 5);
    links_heap_set(&heap, 0, UINT64_MAX);
    links_heap_set(&heap, 3, 7);
    links_heap_set(&heap, 1, 7);
    links_heap_set(&heap, 4, 0);
    assert_false(links_heap_has(&heap, 2));
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(heap.count, 4 - i);
        assert_int_equal(links_heap_first(&heap), order[i]);
        links_heap_drop(&heap, order[i]);
        assert_false(links_heap_has(&heap, order[i]));
    }
    links_heap_drop(&heap, 2); /* Absent. */
    assert_int_equal(heap.count, 0);
    links_heap_deinit(&heap);
}

static void the_second_is_what_all_others_have_at_least(ATTR_UNUSED void **state)
{
    struct links_heap heap;
    links_heap_init(&heap, 4);
    links_heap_set(&heap, 0, 5);
    assert_true(links_heap_second(&heap) == UINT64_MAX);
    links_heap_set(&heap, 1, 9);
    assert_int_equal(links_heap_second(&heap), 9);
    links_heap_set(&heap, 2, 8);
    assert_int_equal(links_heap_second(&heap), 8);
    links_heap_set(&heap, 3, 5);
    assert_int_equal(links_heap_second(&heap), 5);
    links_heap_deinit(&heap);
}

/* Against a table: set, raised, lowered and dropped at random. */
static void it_agrees_with_a_table(ATTR_UNUSED void **state)
{
    struct rng rng = rng_stream(1, RNG_TEST, 0);
    struct links_heap heap;
    uint64_t keys[LINKS];
    bool is_there[LINKS] = {false};
    links_heap_init(&heap, LINKS);
    for (uint32_t i = 0; i < 20000; i++) {
        const uint32_t link = rng_below(&rng, LINKS);
        if (rng_below(&rng, 3) == 0) {
            links_heap_drop(&heap, link);
            is_there[link] = false;
        } else {
            keys[link] = rng_below(&rng, 30);
            links_heap_set(&heap, link, keys[link]);
            is_there[link] = true;
        }
        uint32_t first = LINKS;
        uint32_t count = 0;
        for (uint32_t j = 0; j < LINKS; j++) {
            assert_int_equal(links_heap_has(&heap, j), is_there[j]);
            count += is_there[j];
            first = is_there[j] && (first == LINKS || keys[j] < keys[first]) ? j : first;
        }
        assert_int_equal(heap.count, count);
        if (count > 0) {
            assert_int_equal(links_heap_first(&heap), first);
            assert_int_equal(links_heap_key(&heap), keys[first]);
        }
    }
    links_heap_deinit(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lowest_comes_first_and_of_equal_ones_the_lower_index),
        cmocka_unit_test(the_second_is_what_all_others_have_at_least),
        cmocka_unit_test(it_agrees_with_a_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
