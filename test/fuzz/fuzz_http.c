/*
 * fuzz_http.c - any bytes on a connection: heads, paths and chunked bodies.
 *
 * Whether bytes come at once or one by one, they are understood in the same way.
 */
#include <string.h>

#include "base/assert.h"
#include "fuzz/fuzz.h"
#include "protocol/http_head.h"

enum { BODY_BYTES_MAX = 1 << 16 };

/* Read the chunks in @bytes, @step at a time. Returns the bytes of their data. */
static size_t read_chunks(
    const char *bytes, size_t count, size_t step, enum http_got *got_out, uint64_t *sum_out)
{
    struct http_chunks chunks = {0};
    struct http_fault fault;
    size_t at = 0;
    size_t seen = 0;
    size_t data_bytes = 0;
    *got_out = HTTP_MORE;
    *sum_out = 0;
    while (*got_out == HTTP_MORE && at < count) {
        if (seen == at) {
            seen = count - at < step ? count : at + step;
        }
        struct http_span data;
        size_t used = 0;
        const struct http_span there = {bytes + at, seen - at};
        *got_out = http_chunks_read(&chunks, there, &used, &data, &fault);
        if (*got_out == HTTP_BAD) {
            break;
        }
        ASSERT(used > 0);
        ASSERT(used <= there.length);
        for (size_t i = 0; i < data.length; i++) {
            *sum_out = *sum_out * 31 + (unsigned char)data.bytes[i];
        }
        data_bytes += data.length;
        at += used;
    }
    return data_bytes;
}

static void check_body(const char *bytes, size_t count)
{
    enum http_got whole;
    enum http_got slow;
    uint64_t whole_sum;
    uint64_t slow_sum;
    const size_t whole_bytes = read_chunks(bytes, count, count, &whole, &whole_sum);
    const size_t slow_bytes = read_chunks(bytes, count, 1, &slow, &slow_sum);
    ASSERT(whole == slow);
    ASSERT(whole_bytes == slow_bytes);
    ASSERT(whole_sum == slow_sum);
}

static void check_path(const struct http_head *head)
{
    static struct http_path path;
    struct http_fault fault;
    if (http_path_read(head->target, &path, &fault) != HTTP_DONE) {
        ASSERT(fault.status == 400);
        return;
    }
    for (uint32_t i = 0; i < path.count; i++) {
        ASSERT(strcmp(path.segments[i], "..") != 0);
        ASSERT(strchr(path.segments[i], '/') == NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    struct http_head head;
    struct http_head slow_head;
    struct http_fault fault = {0, NULL};
    struct http_fault slow_fault = {0, NULL};
    size_t scanned = 0;
    if (size > BODY_BYTES_MAX) {
        return 0;
    }
    const enum http_got whole = http_head_read(bytes, size, &scanned, &head, &fault);
    enum http_got slow = HTTP_MORE;
    scanned = 0;
    for (size_t i = 1; i <= size && slow == HTTP_MORE; i++) {
        slow = http_head_read(bytes, i, &scanned, &slow_head, &slow_fault);
    }
    if (size < HTTP_HEAD_BYTES_MAX) { /* Past that, the first is refused. */
        ASSERT(slow == whole);
        ASSERT(slow_fault.status == fault.status);
    }
    scanned = 0;
    (void)http_reply_read(bytes, size, &scanned, &slow_head, &slow_fault);
    if (whole != HTTP_DONE) {
        check_body(bytes, size);
        return 0;
    }
    ASSERT(head.bytes <= size);
    ASSERT(!(head.is_chunked && head.has_length));
    check_path(&head);
    check_body(bytes + head.bytes, size - head.bytes);
    return 0;
}
