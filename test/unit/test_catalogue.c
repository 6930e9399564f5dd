#include "model/catalogue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "dies.h"

static struct workflow *sealed(const char *name, uint32_t task_count)
{
    struct workflow *workflow = workflow_create(name);
    for (uint32_t i = 0; i < task_count; i++) {
        struct workflow_task task = {.run = 0};
        uint32_t index;
        (void)snprintf(task.name, sizeof(task.name), "t%u", i);
        assert_int_equal(workflow_add_task(workflow, &task, &index), WEFT_OK);
    }
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    return workflow;
}

static void a_model_keeps_its_number(ATTR_UNUSED void **state)
{
    struct catalogue *catalogue = catalogue_create();
    char name[16];

    assert_int_equal(catalogue_find_model(catalogue, "m3"), MODEL_NONE);
    for (uint32_t i = 0; i < MODELS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "m%u", i);
        assert_int_equal(catalogue_model(catalogue, name), i);
        assert_int_equal(catalogue_model(catalogue, name), i);
    }
    assert_int_equal(catalogue_model(catalogue, "m3"), 3);
    assert_int_equal(catalogue_find_model(catalogue, "m255"), 255);
    assert_int_equal(catalogue_model(catalogue, "one more"), MODEL_NONE);
    assert_int_equal(catalogue->model_count, MODELS_MAX);
    catalogue_destroy(catalogue);
    catalogue_destroy(NULL);
}

static void queues_are_numbered_over_all_workflows(ATTR_UNUSED void **state)
{
    struct catalogue *catalogue = catalogue_create();

    assert_int_equal(catalogue_add_workflow(catalogue, sealed("read", 3)), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(catalogue, sealed("watch", 5)), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(catalogue, sealed("hear", 2)), WEFT_OK);

    assert_int_equal(catalogue_find_workflow(catalogue, "watch"), 1);
    assert_int_equal(catalogue_find_workflow(catalogue, "smell"), UINT32_MAX);
    assert_int_equal(catalogue->workflows[0]->queue_first, 0);
    assert_int_equal(catalogue->workflows[1]->queue_first, 3);
    assert_int_equal(catalogue->workflows[2]->queue_first, 8);
    assert_int_equal(catalogue->queue_count, 10);
    for (uint32_t i = 0; i < 10; i++) {
        const uint32_t workflow = i < 3 ? 0 : i < 8 ? 1 : 2;
        assert_int_equal(catalogue->queue_workflows[i], workflow);
    }
    assert_int_equal(catalogue->task_count_max, 5);
    catalogue_destroy(catalogue);
}

static void a_refused_workflow_stays_with_the_caller(ATTR_UNUSED void **state)
{
    struct catalogue *catalogue = catalogue_create();
    struct workflow *twin = sealed("w0", 9);
    struct workflow *extra = sealed("extra", 9);
    char name[16];

    for (uint32_t i = 0; i < WORKFLOWS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "w%u", i);
        assert_int_equal(catalogue_add_workflow(catalogue, sealed(name, 1)), WEFT_OK);
    }
    assert_int_equal(catalogue_add_workflow(catalogue, twin), WEFT_EXISTS);
    assert_int_equal(catalogue_add_workflow(catalogue, extra), WEFT_LIMIT);
    assert_int_equal(catalogue->workflow_count, WORKFLOWS_MAX);
    assert_int_equal(catalogue->queue_count, WORKFLOWS_MAX);
    assert_int_equal(catalogue->task_count_max, 1);
    workflow_destroy(twin);
    workflow_destroy(extra);
    catalogue_destroy(catalogue);
}

static void add_open(void *catalogue)
{
    (void)catalogue_add_workflow(catalogue, workflow_create("open"));
}

static void only_sealed_workflows_are_taken(ATTR_UNUSED void **state)
{
    struct catalogue *catalogue = catalogue_create();

    assert_true(dies(add_open, catalogue));
    catalogue_destroy(catalogue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_keeps_its_number),
        cmocka_unit_test(queues_are_numbered_over_all_workflows),
        cmocka_unit_test(a_refused_workflow_stays_with_the_caller),
        cmocka_unit_test(only_sealed_workflows_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
