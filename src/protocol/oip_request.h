/*
 * oip_request.h - an inference request of the Open Inference Protocol, version 2.
 *
 * JSON alone, or JSON followed by the bytes of tensors (Triton's binary extension). What
 * comes out is a bundle that fits the workflow, and what the client wants to see of the
 * answer. Reads memory and nothing else: it may run on any thread.
 */
#ifndef PROTOCOL_OIP_REQUEST_H
#define PROTOCOL_OIP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

#include "engine/bundle.h"
#include "model/workflow.h"

enum { OIP_ID_BYTES_MAX = 128, OIP_OUTPUTS_MAX = BUNDLE_TENSORS_MAX };

struct oip_output {
    uint32_t result; /* Of the workflow. */
    bool is_binary;
};

struct oip_request {
    char id[OIP_ID_BYTES_MAX]; /* "": none. */
    struct bundle *bundle;     /* Owned. NULL once it is passed on. */
    bool is_binary;            /* What is not asked for by name. */
    int64_t timeout_ns;        /* 0: none. */
    uint32_t priority;
    bool says_items; /* The items of the bundle are as the client says; otherwise 1. */
    uint32_t output_count;
    uint32_t binary_count;
    uint64_t binary_bytes; /* In all. */
    struct oip_output outputs[OIP_OUTPUTS_MAX];
    uint32_t binary[BUNDLE_TENSORS_MAX]; /* Tensors whose bytes follow the JSON, in this order. */
};

/* An empty one, in the caller's memory; its lists are long, and not set. */
void oip_request_init(struct oip_request *request);

/* What a request may take. */
struct oip_bounds {
    uint64_t binary_bytes_max; /* That may follow the JSON. */

    /* Asked for leave before room for a tensor is made. NULL: all is granted. */
    enum weft_status (*hold)(void *context, uint64_t bytes, struct weft_error *error);
    void *context;
};

/*
 * Read the JSON part. Room for tensors whose bytes follow is in the bundle, not filled. On
 * success the caller owns the request and gives it back with oip_request_deinit().
 *
 * Errors: WEFT_INVALID, and @error names the input, the element and the cause;
 * WEFT_NO_MEMORY; those of the bounds' hold.
 */
enum weft_status oip_request_read(
    const char *json, size_t length, const struct workflow *workflow,
    const struct oip_bounds *bounds, struct oip_request *request_out, struct weft_error *error);

/* Whether oip_request_check() has anything to look at. */
bool oip_request_needs_check(const struct oip_request *request);

/* All bytes are in place: check what can be wrong with them. Errors: WEFT_INVALID. */
enum weft_status oip_request_check(const struct oip_request *request, struct weft_error *error);

/* Copy @bytes, which followed the JSON, into place, and check them. Errors: WEFT_INVALID. */
enum weft_status oip_request_fill(
    struct oip_request *request, const uint8_t *bytes, uint64_t count, struct weft_error *error);

void oip_request_deinit(struct oip_request *request);

/* "[1,-1,3]" into @out. Returns @out. */
enum { OIP_SHAPE_BYTES = 176 };
char *oip_shape_text(char out[static OIP_SHAPE_BYTES], uint32_t rank, const int64_t *shape);

#endif /* PROTOCOL_OIP_REQUEST_H */
