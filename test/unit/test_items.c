#include "model/items.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"

static void without_a_rule_as_many_leave_as_came(ATTR_UNUSED void **state)
{
    const struct workflow_task task = {.run = 0};
    const struct job_id job = {.node = 1, .number = 2};

    assert_int_equal(items_given(&task, job, 0, 1), 1);
    assert_int_equal(items_given(&task, job, 3, 17), 17);
}

static void a_rule_gives_every_number_between_its_ends(ATTR_UNUSED void **state)
{
    const struct workflow_task task = {.gives = {.low = 3, .high = 6}};
    uint32_t counts[8] = {0};

    for (uint32_t i = 1; i <= 4000; i++) {
        const struct job_id job = {.node = i % 5, .number = i};
        const uint32_t items = items_given(&task, job, /* index */ 2, /* items_in */ 1);
        assert_in_range(items, 3, 6);
        counts[items]++;
    }
    for (uint32_t items = 3; items <= 6; items++) {
        assert_in_range(counts[items], 900, 1100);
    }
}

static void the_same_task_of_a_job_always_gives_the_same(ATTR_UNUSED void **state)
{
    const struct workflow_task task = {.gives = {.low = 0, .high = 1000000}};
    const struct job_id job = {.node = 3, .number = 9};
    const uint32_t items = items_given(&task, job, 1, 1);

    assert_int_equal(items_given(&task, job, 1, 5), items);
    assert_int_not_equal(items_given(&task, job, 2, 1), items);
}

static void an_output_has_the_bytes_of_all_edges_that_leave(ATTR_UNUSED void **state)
{
    struct workflow *workflow = workflow_create("fork");
    static const char *const names[] = {"a", "b", "c"};
    for (uint32_t i = 0; i < 3; i++) {
        struct workflow_task task = {.name = {names[i][0]}};
        uint32_t index;
        assert_int_equal(workflow_add_task(workflow, &task, &index), WEFT_OK);
    }
    const struct workflow_edge each = {.from = 0, .to = 1, .bytes = 10, .per_item = true};
    const struct workflow_edge whole = {.from = 0, .to = 2, .bytes = 7};
    assert_int_equal(workflow_add_edge(workflow, &each), WEFT_OK);
    assert_int_equal(workflow_add_edge(workflow, &whole), WEFT_OK);
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);

    assert_int_equal(items_output_bytes(workflow, 0, 4), 47);
    assert_int_equal(items_output_bytes(workflow, 1, 4), 0);
    workflow_destroy(workflow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_rule_as_many_leave_as_came),
        cmocka_unit_test(a_rule_gives_every_number_between_its_ends),
        cmocka_unit_test(the_same_task_of_a_job_always_gives_the_same),
        cmocka_unit_test(an_output_has_the_bytes_of_all_edges_that_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
