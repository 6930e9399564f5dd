/* oip_target.h - workflows to aim requests at, for both fuzzers of the protocol. */
#ifndef FUZZ_OIP_TARGET_H
#define FUZZ_OIP_TARGET_H

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "protocol/oip_response.h"

/* One task, with inputs called like their types, or none; results likewise. */
static inline struct workflow *oip_target(bool has_inputs)
{
    struct workflow *workflow = workflow_create("w");
    const struct workflow_task task = {.name = "t"};
    uint32_t index;
    ASSERT(workflow_add_task(workflow, &task, &index) == WEFT_OK);
    for (enum weft_dtype dtype = WEFT_BOOL; has_inputs && dtype < WEFT_DTYPES; dtype++) {
        struct workflow_result result = {.task = 0};
        memcpy(result.name, dtype_name(dtype), strlen(dtype_name(dtype)) + 1);
        memcpy(result.output, dtype_name(dtype), strlen(dtype_name(dtype)) + 1);
        ASSERT(workflow_add_result(workflow, &result) == WEFT_OK);
    }
    ASSERT(workflow_seal(workflow, NULL) == WEFT_OK);
    return workflow;
}

/* Answer @request with its own inputs: what was read can be written. */
static inline void oip_echo(const struct workflow *workflow, const struct oip_request *request)
{
    const struct bundle *bundles[1] = {request->bundle};
    const struct oip_answer answer = {
        .workflow = workflow, .request = request, .bundle_count = 1, .bundles = bundles};
    struct oip_response response;
    struct weft_error error;
    const enum weft_status status = oip_response_write(&answer, &response, &error);
    ASSERT(status == WEFT_OK || status == WEFT_FAILED);
    if (status == WEFT_OK) {
        ASSERT(response.length <= oip_response_estimate(&answer));
        oip_response_deinit(&response);
    }
}

#endif /* FUZZ_OIP_TARGET_H */
