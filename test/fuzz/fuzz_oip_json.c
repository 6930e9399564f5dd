/* fuzz_oip_json.c - any text as an inference request: refused, or read and given back. */
#include "fuzz/fuzz.h"
#include "fuzz/oip_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct workflow *workflow;
    struct oip_request request;
    struct weft_error error;
    const struct oip_bounds bounds = {.binary_bytes_max = 0};
    if (workflow == NULL) {
        workflow = oip_target(/* has_inputs */ true);
    }
    if (oip_request_read((const char *)data, size, workflow, &bounds, &request, &error) ==
        WEFT_OK) {
        ASSERT(request.bundle->count <= BUNDLE_TENSORS_MAX);
        for (uint32_t i = 0; i < request.bundle->count; i++) {
            const struct weft_tensor *tensor = &request.bundle->tensors[i];
            const uint64_t bytes = tensor_bytes(tensor->dtype, tensor->rank, tensor->shape);
            ASSERT(tensor->dtype == WEFT_BYTES ? tensor_texts_fit(tensor) : bytes == tensor->bytes);
        }
        oip_echo(workflow, &request);
        oip_request_deinit(&request);
    }
    return 0;
}
