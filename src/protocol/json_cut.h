/*
 * json_cut.h - an inference request without its numbers.
 *
 * A JSON reader that builds an object for each number of a tensor takes fifty times the
 * memory of the tensor. So the arrays inputs[i].data are cut out of the text first, and
 * null is left in their place: what remains is small and is given to a general reader,
 * what was cut is read straight into the tensor.
 */
#ifndef PROTOCOL_JSON_CUT_H
#define PROTOCOL_JSON_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

enum {
    JSON_CUTS_MAX = 256, /* As many inputs as a bundle holds. */
    JSON_DEPTH_MAX = 16, /* Of what is not cut. */
    JSON_REST_BYTES_MAX = 1048576,
};

/* The array inputs[input].data, with its brackets. Into the text. */
struct json_cut {
    uint32_t input;
    const char *bytes;
    size_t length;
};

struct json_rest {
    char *text; /* What is left; owned: free(). */
    size_t length;
    uint32_t cut_count;
    struct json_cut cuts[JSON_CUTS_MAX];
};

/*
 * Cut @text. Only brackets and quotes are looked at: the reader of the rest and the cuts
 * finds what is not JSON.
 *
 * Errors, with *cause_out: WEFT_INVALID if brackets do not match or a bound is reached;
 * WEFT_NO_MEMORY. Nothing is owned then.
 */
enum weft_status json_cut(
    const char *text, size_t length, struct json_rest *rest_out, const char **cause_out);

#endif /* PROTOCOL_JSON_CUT_H */
