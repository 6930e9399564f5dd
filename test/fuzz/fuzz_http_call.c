/*
 * fuzz_http_call.c - any bytes as a server's answer.
 *
 * Covers: src/client/http_answer.c. Whether they come at once or one by one, they are understood
 * in the same way, and no more is kept than is allowed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "client/http_answer.h"
#include "fuzz/fuzz.h"

enum { BODY_BYTES_MAX = 4096, INPUT_BYTES_MAX = 24 << 10 };

/* Read @bytes, @step at a time, and the end of the connection. Returns how many were used. */
static size_t read_answer(
    struct http_answer *answer, struct http_span bytes, size_t step, enum http_got *got_out)
{
    struct http_fault fault = {0, NULL};
    size_t at = 0;
    *got_out = HTTP_MORE;
    while (*got_out == HTTP_MORE && at < bytes.length) {
        const size_t left = bytes.length - at;
        const struct http_span piece = {bytes.bytes + at, left < step ? left : step};
        size_t used = 0;
        *got_out = http_answer_take(answer, piece, &used, &fault);
        ASSERT(used <= piece.length);
        ASSERT(*got_out != HTTP_MORE || used == piece.length);
        at += used;
    }
    if (*got_out == HTTP_MORE) {
        *got_out = http_answer_end(answer, &fault);
    }
    ASSERT(*got_out == HTTP_DONE || fault.cause != NULL);
    ASSERT(answer->body_bytes <= BODY_BYTES_MAX);
    ASSERT(answer->body.length <= answer->body_bytes);
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct http_answer whole;
    static struct http_answer slow;
    static struct http_answer counted;
    const struct http_span bytes = {(const char *)data, size};
    enum http_got got[3];
    if (size > INPUT_BYTES_MAX) {
        return 0;
    }
    http_answer_init(&whole, /* keeps_body */ true, BODY_BYTES_MAX);
    http_answer_init(&slow, /* keeps_body */ true, BODY_BYTES_MAX);
    http_answer_init(&counted, /* keeps_body */ false, BODY_BYTES_MAX);
    const size_t used = read_answer(&whole, bytes, size + 1, &got[0]);
    const size_t used_slow = read_answer(&slow, bytes, 1, &got[1]);
    const size_t used_counted = read_answer(&counted, bytes, 7, &got[2]);
    ASSERT(got[0] == got[1]);
    ASSERT(got[0] == got[2]);
    if (got[0] == HTTP_DONE) {
        ASSERT(used == used_slow);
        ASSERT(used == used_counted);
        ASSERT(whole.head.status == slow.head.status);
        ASSERT(whole.body.length == slow.body.length);
        ASSERT(whole.body.length == counted.body_bytes);
        ASSERT(counted.body.bytes == NULL);
        ASSERT(
            whole.body.length == 0 ||
            memcmp(whole.body.bytes, slow.body.bytes, whole.body.length) == 0);
    }
    http_answer_deinit(&whole);
    http_answer_deinit(&slow);
    http_answer_deinit(&counted);
    return 0;
}
