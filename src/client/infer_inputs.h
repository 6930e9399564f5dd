/*
 * infer_inputs.h - from "name=value" on the command line to an inference request.
 *
 * The server is asked what its workflow takes; values become tensors of that type and
 * shape. What it does not declare is sent as it looks: files as UINT8, numbers as INT64 or
 * FP32, everything else as text.
 */
#ifndef CLIENT_INFER_INPUTS_H
#define CLIENT_INFER_INPUTS_H

#include "client/http_call.h"

enum { INFER_URLS_MAX = 16 };

struct infer_target {
    struct http_url url; /* Of them all, the one to ask. */
    uint32_t url_count;
    struct http_url urls[INFER_URLS_MAX]; /* Of servers that all answer the same. */
    const char *workflow;
    const char *ca_file;
    char headers[HTTP_TOKEN_BYTES + 96]; /* Of every request: the token. */
};

enum { HTTP_NOT_FOUND = 404, HTTP_UNAVAILABLE = 503 };

/* What the command line says about the server. NULL: the default, or nothing. */
struct infer_where {
    const char *url;
    const char *token_file;
    const char *ca_file;
};

struct infer_outputs {
    bool is_binary;
    uint32_t count; /* 0: all. */
    const char *const *names;
};

/* A request that can be sent, as often as wanted. */
struct infer_body {
    char *bytes; /* JSON, then tensors; owned: free(). */
    size_t length;
    size_t json_bytes;
};

/* Errors: WEFT_INVALID for a wrong URL, WEFT_IO for a token that cannot be read. */
enum weft_status infer_target_init(
    struct infer_target *target, const struct infer_where *where, const char *workflow,
    struct weft_error *error);

/*
 * Ask for @path; of the answer at most @bytes_max, or HTTP_ANSWER_BYTES for 0. The body is the
 * caller's. Errors: those of http_call(), WEFT_NOT_FOUND for what is not there, and WEFT_FAILED if
 * the answer is not good.
 */
enum weft_status infer_get(
    const struct infer_target *target, const char *path, uint64_t bytes_max,
    struct http_reply *reply_out, struct weft_error *error);

/* "name=value" each. */
struct infer_values {
    char *const *items;
    uint32_t count;
    bool fills; /* Declared inputs that are left out become zeros; otherwise it is an error. */
    uint64_t zeros_max; /* Bytes of all of those. 0: a gigabyte. */
};

/*
 * Build the request for what a server has @described as its workflow's inputs. Nothing that it
 * says is trusted.
 *
 * Errors: WEFT_IO if it is not a description; WEFT_INVALID for what it, or @values, have wrong;
 * WEFT_LIMIT if too much would have to be made up; WEFT_NO_MEMORY.
 */
enum weft_status infer_body_make(
    const struct http_reply *described, const struct infer_values *values,
    const struct infer_outputs *outputs, struct infer_body *body_out, struct weft_error *error);

/*
 * Ask the server what it takes, and build the request.
 *
 * Errors: those of infer_body_make(), and of http_call(); @error names the input and the cause.
 */
enum weft_status infer_body_build(
    const struct infer_target *target, const struct infer_values *values,
    const struct infer_outputs *outputs, struct infer_body *body_out, struct weft_error *error);

/* What the server said is wrong, "503: refused: full", for @reply that is not good. */
enum weft_status infer_explain(const struct http_reply *reply, struct weft_error *error);

#endif /* CLIENT_INFER_INPUTS_H */
