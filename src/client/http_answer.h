/*
 * http_answer.h - reading what a server answers, piece by piece, within bounds.
 *
 * A client trusts no server: a head is bounded like that of a request, a body by
 * body_bytes_max, and its framing (a length, chunks, or the end of the connection) is read as
 * strictly as a server reads a request's. Reads memory and nothing else.
 */
#ifndef CLIENT_HTTP_ANSWER_H
#define CLIENT_HTTP_ANSWER_H

#include "protocol/buffer.h"
#include "protocol/http_head.h"

enum { HTTP_INTERIMS_MAX = 8 }; /* Answers of 1xx before the one that counts. */

enum http_answer_state {
    HTTP_ANSWER_HEAD,
    HTTP_ANSWER_LENGTH,
    HTTP_ANSWER_CHUNKS,
    HTTP_ANSWER_REST, /* All until the server hangs up is body. */
    HTTP_ANSWER_DONE,
};

struct http_answer {
    bool keeps_body;         /* Otherwise it is counted, and dropped. */
    uint64_t body_bytes_max; /* More than that is a fault. */

    enum http_answer_state state;
    struct http_head head; /* Complete in all states but the first; points into bytes. */
    uint64_t left;         /* Of a body whose length is known. */
    uint64_t body_bytes;   /* Seen so far. */
    struct buffer body;    /* Owned: http_answer_deinit(). */
    struct http_chunks chunks;
    uint32_t interims;
    size_t head_bytes;
    size_t scanned;
    char bytes[HTTP_HEAD_BYTES_MAX];
};

/* Only what has a meaning is set: the room for the head is large. */
void http_answer_init(struct http_answer *answer, bool keeps_body, uint64_t body_bytes_max);

void http_answer_deinit(struct http_answer *answer);

/*
 * Take the next @bytes, at least one. HTTP_DONE: the answer is complete; *used_out says how many
 * of them belong to it. HTTP_BAD fills @fault_out; its status is 503 if there is no memory.
 */
enum http_got http_answer_take(
    struct http_answer *answer, struct http_span bytes, size_t *used_out,
    struct http_fault *fault_out);

/* The server has hung up: HTTP_DONE if that ends the answer, otherwise HTTP_BAD. */
enum http_got http_answer_end(struct http_answer *answer, struct http_fault *fault_out);

#endif /* CLIENT_HTTP_ANSWER_H */
