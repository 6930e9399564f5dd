/*
 * http_head.h - reading the head of an HTTP/1.1 message, strictly.
 *
 * Whatever two readers could understand in two ways is refused: lines that end in a bare
 * LF, folded headers, a space before a colon, a length given twice or beside chunks. A
 * head is read from one piece of memory, which the spans of the result point into.
 */
#ifndef PROTOCOL_HTTP_HEAD_H
#define PROTOCOL_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HTTP_HEADERS_MAX = 64,
    HTTP_HEAD_BYTES_MAX = 16384,
    HTTP_TARGET_BYTES_MAX = 4096,
    HTTP_SEGMENTS_MAX = 12, /* Of a path. The longest one that means something has seven. */
};

struct http_span {
    const char *bytes;
    size_t length;
};

struct http_header {
    struct http_span name;
    struct http_span value;
};

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_OPTIONS, HTTP_OTHER };

/* The head of a request, or of a reply. */
struct http_head {
    enum http_method method; /* Requests. */
    struct http_span target;
    uint32_t status; /* Replies. */
    uint32_t minor;  /* Of the version: 0 or 1. */
    bool keep_alive;
    bool is_chunked;
    bool expects_continue;
    bool has_length;
    uint64_t length;
    size_t bytes; /* Of the head itself, with the empty line. */
    uint32_t header_count;
    struct http_header headers[HTTP_HEADERS_MAX]; /* The others are not set. */
};

enum http_got { HTTP_MORE, HTTP_DONE, HTTP_BAD };

/* Why a message is refused, and what the client is told. */
struct http_fault {
    uint32_t status;
    const char *cause; /* Static. */
};

/*
 * Read the head of a request at the beginning of @bytes. *scanned, 0 at first, is how far
 * earlier calls with fewer bytes have looked. HTTP_BAD fills @fault_out.
 */
enum http_got http_head_read(
    const char *bytes, size_t count, size_t *scanned, struct http_head *head_out,
    struct http_fault *fault_out);

/* The same for a reply. */
enum http_got http_reply_read(
    const char *bytes, size_t count, size_t *scanned, struct http_head *head_out,
    struct http_fault *fault_out);

/* The value of header @name, in lower case; NULL if it is absent. */
const struct http_span *http_head_find(const struct http_head *head, const char *name);

/* Whether @span is @text, capital letters or not. */
bool http_span_is(struct http_span span, const char *text);

/* A number in decimal and nothing else. */
bool http_span_number(struct http_span span, uint64_t *number_out);

/* The parts of a path between slashes, decoded. */
struct http_path {
    uint32_t count;
    const char *segments[HTTP_SEGMENTS_MAX]; /* Into storage; each ends with a zero. */
    char storage[HTTP_TARGET_BYTES_MAX + 1];
};

/*
 * Cut @target, in origin or absolute form, into segments; a query is left out. HTTP_BAD:
 * a wrong escape, an escaped slash or control character, "." or "..".
 */
enum http_got http_path_read(
    struct http_span target, struct http_path *path_out, struct http_fault *fault_out);

/* A body in chunks: where its reader is. All zero before the first. */
struct http_chunks {
    uint32_t state;
    uint32_t digits;
    uint32_t extra_bytes; /* Of extensions and trailers, which are skipped. */
    uint64_t left;        /* Of this chunk. */
};

/*
 * Take what is framing from the front of @bytes, up to a piece of data, which *data_out is
 * then set to (length 0: none yet). *used_out says how many bytes were taken, data
 * included. HTTP_DONE at the end of the body.
 */
enum http_got http_chunks_read(
    struct http_chunks *chunks, struct http_span bytes, size_t *used_out,
    struct http_span *data_out, struct http_fault *fault_out);

/* The standard phrase of a status. */
const char *http_status_text(uint32_t status);

#endif /* PROTOCOL_HTTP_HEAD_H */
