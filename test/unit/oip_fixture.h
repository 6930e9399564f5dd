/* oip_fixture.h - a workflow with declared inputs and results, for tests of the protocol. */
#ifndef UNIT_OIP_FIXTURE_H
#define UNIT_OIP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "protocol/oip_response.h"

/* Inputs image UINT8 [-1,2] and words BYTES [-1]; results mask (of task 0) and text (of task 1). */
static inline struct workflow *oip_workflow(void)
{
    struct workflow *workflow = workflow_create("ocr");
    const struct workflow_task tasks[2] = {{.name = "first"}, {.name = "second"}};
    const struct workflow_input inputs[2] = {
        {.name = "image", .dtype = WEFT_UINT8, .rank = 2, .shape = {-1, 2}},
        {.name = "words", .dtype = WEFT_BYTES, .rank = 1, .shape = {-1}},
    };
    const struct workflow_result results[2] = {
        {.task = 0, .name = "mask", .output = "m"}, {.task = 1, .name = "text", .output = "t"}};
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t index;
        assert_int_equal(workflow_add_task(workflow, &tasks[i], &index), WEFT_OK);
        assert_int_equal(workflow_add_input(workflow, &inputs[i]), WEFT_OK);
        assert_int_equal(workflow_add_result(workflow, &results[i]), WEFT_OK);
    }
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    return workflow;
}

#endif /* UNIT_OIP_FIXTURE_H */
