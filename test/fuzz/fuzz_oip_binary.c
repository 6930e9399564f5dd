/*
 * fuzz_oip_binary.c - requests with bytes behind their JSON.
 *
 * The first two bytes of an input say how long the JSON is.
 */
#include "fuzz/fuzz.h"
#include "fuzz/oip_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct workflow *workflow;
    struct oip_request request;
    struct weft_error error;
    if (workflow == NULL) {
        workflow = oip_target(/* has_inputs */ true);
    }
    if (size < 2) {
        return 0;
    }
    const size_t announced = (size_t)data[0] | (size_t)data[1] << 8;
    const size_t json = announced < size - 2 ? announced : size - 2;
    const uint8_t *rest = data + 2 + json;
    const size_t rest_bytes = size - 2 - json;
    const struct oip_bounds bounds = {.binary_bytes_max = rest_bytes};
    const enum weft_status status =
        oip_request_read((const char *)data + 2, json, workflow, &bounds, &request, &error);
    if (status != WEFT_OK) {
        return 0;
    }
    ASSERT(request.binary_bytes <= rest_bytes);
    if (oip_request_fill(&request, rest, rest_bytes, &error) == WEFT_OK) {
        ASSERT(request.binary_bytes == rest_bytes);
        oip_echo(workflow, &request);
    }
    oip_request_deinit(&request);
    return 0;
}
