/*
 * http_call.h - one request to a server, waited for: what commands need of HTTP.
 *
 * Blocks, but not for longer than it is told, and takes no more memory than it is told: the
 * server may be anything. TLS is verified against the system's certificates, or those of a file.
 */
#ifndef CLIENT_HTTP_CALL_H
#define CLIENT_HTTP_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

enum {
    HTTP_HOST_BYTES = 128,
    HTTP_TOKEN_BYTES = 512,
    HTTP_CALL_SECONDS = 600,
    HTTP_ANSWER_BYTES = 64 << 20, /* JSON that is understood takes 20 times its text. */
};

/* "http://host:port", or "https://..."; the port may be left out. */
struct http_url {
    bool is_tls;
    char host[HTTP_HOST_BYTES];
    char port[8];
};

struct http_call {
    const struct http_url *url;
    const char *method;
    const char *path;
    const char *headers; /* Each with its CR LF. */
    const void *body;
    size_t body_bytes;
    const char *ca_file;       /* NULL: the system's. */
    uint32_t timeout_s;        /* For all but finding the address. 0: HTTP_CALL_SECONDS. */
    uint64_t answer_bytes_max; /* Of its body. 0: HTTP_ANSWER_BYTES. */

    /*
     * Of an answer that comes line by line, and may never end: how many are waited for. There may
     * be fewer when the time is over. 0: the whole of it.
     */
    uint32_t lines;
};

struct http_reply {
    uint32_t status;
    uint64_t json_bytes; /* Of the body, before tensors; all of it without them. */
    char *body;          /* Owned, and ends with a zero: free(). */
    size_t body_bytes;
};

/* Errors: WEFT_INVALID. */
enum weft_status http_url_parse(
    const char *text, struct http_url *url_out, struct weft_error *error);

/* "URL,URL": at most @max of them. Errors: WEFT_INVALID. */
enum weft_status http_urls_parse(
    const char *text, uint32_t max, struct http_url *urls_out, uint32_t *count_out,
    struct weft_error *error);

enum { HTTP_KEY_BYTES = 33 };

/* A key for a request, as no other client has it. */
void http_key_draw(char key_out[static HTTP_KEY_BYTES]);

/*
 * Make @call. Any answer that is complete is a success here.
 *
 * Errors: WEFT_IO, with the cause in @error, if there is no answer; WEFT_LIMIT if it is too
 * large; WEFT_NO_MEMORY.
 */
enum weft_status http_call(
    const struct http_call *call, struct http_reply *reply_out, struct weft_error *error);

#endif /* CLIENT_HTTP_CALL_H */
