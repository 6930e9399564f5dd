/* infer_head.c - what the head of an inference request says, before its body has come. */
#include <string.h>

#include "model/fleet.h"
#include "server/infer.h"

/* "500" or "500.25" milliseconds, above 0 and at most DURATION_NS_MAX. */
static bool read_ms(struct http_span text, int64_t *ns_out)
{
    const char *point = memchr(text.bytes, '.', text.length);
    const size_t whole_bytes = point == NULL ? text.length : (size_t)(point - text.bytes);
    uint64_t ms = 0;
    if (!http_span_number((struct http_span){text.bytes, whole_bytes}, &ms) ||
        ms > (uint64_t)DURATION_NS_MAX / 1000000 || whole_bytes + 1 == text.length) {
        return false;
    }
    int64_t part_ns = 0;
    int64_t digit_ns = 100000;
    for (size_t i = whole_bytes + 1; i < text.length; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9') {
            return false;
        }
        part_ns += (text.bytes[i] - '0') * digit_ns; /* Less than a nanosecond is left out. */
        digit_ns /= 10;
    }
    *ns_out = (int64_t)ms * 1000000 + part_ns;
    return *ns_out > 0 && *ns_out <= DURATION_NS_MAX;
}

const char *infer_head_read(
    const struct http_head *head, struct infer_head *infer_out, uint32_t *status_out)
{
    const struct http_span *coding = http_head_find(head, "content-encoding");
    const struct http_span *type = http_head_find(head, "content-type");
    const struct http_span *slo = http_head_find(head, "x-slo-ms");
    const struct http_span *json = http_head_find(head, "inference-header-content-length");
    *infer_out = (struct infer_head){.has_json_bytes = json != NULL};
    *status_out = 415;
    if (coding != NULL && !http_span_is(*coding, "identity")) {
        return "compressed requests are not supported";
    }
    if (type != NULL && type->length >= 10 &&
        http_span_is((struct http_span){type->bytes, 10}, "multipart/")) {
        return "a request is JSON, optionally followed by binary tensors";
    }
    if (!head->has_length && !head->is_chunked) {
        *status_out = 411;
        return "the request has no Content-Length";
    }
    *status_out = 400;
    if (slo != NULL && !read_ms(*slo, &infer_out->slo_ns)) {
        return "x-slo-ms is not a number of milliseconds between 0 and 13 days";
    }
    if (json != NULL && !http_span_number(*json, &infer_out->json_bytes)) {
        return "Inference-Header-Content-Length is not a number";
    }
    return infer_key_read(head, infer_out);
}
