/*
 * oip_response.h - the answer to an inference request: JSON, and bytes behind it.
 *
 * Reads memory and nothing else: it may run on any thread.
 */
#ifndef PROTOCOL_OIP_RESPONSE_H
#define PROTOCOL_OIP_RESPONSE_H

#include "protocol/oip_request.h"

struct oip_response {
    char *json; /* Owned. */
    size_t length;
    uint32_t part_count; /* Bytes that follow, borrowed from the bundles. */
    const struct weft_tensor *parts[OIP_OUTPUTS_MAX];
};

/* An empty one, in the caller's memory; its parts are not set. */
void oip_response_init(struct oip_response *response);

/* What is answered with. */
struct oip_answer {
    const struct workflow *workflow;
    const char *version; /* NULL: "1". */
    const struct oip_request *request;
    uint32_t bundle_count; /* One a sink; NULL where an engine only pretended. */
    const struct bundle *const *bundles;
};

/* How many bytes the JSON of the answer takes at most. */
uint64_t oip_response_estimate(const struct oip_answer *answer);

/*
 * Write the answer. On success the caller owns @response_out and gives it back with
 * oip_response_deinit().
 *
 * Errors: WEFT_FAILED if an output that is asked for was not made; WEFT_NO_MEMORY.
 */
enum weft_status oip_response_write(
    const struct oip_answer *answer, struct oip_response *response_out, struct weft_error *error);

void oip_response_deinit(struct oip_response *response);

/* The tensor behind result number @result; NULL if there is none. */
const struct weft_tensor *oip_answer_tensor(const struct oip_answer *answer, uint32_t result);

#endif /* PROTOCOL_OIP_RESPONSE_H */
