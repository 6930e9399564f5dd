#include "client/http_answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/numbers.h"

void http_answer_init(struct http_answer *answer, bool keeps_body, uint64_t body_bytes_max)
{
    answer->keeps_body = keeps_body;
    answer->body_bytes_max = body_bytes_max;
    answer->state = HTTP_ANSWER_HEAD;
    answer->left = 0;
    answer->body_bytes = 0;
    answer->body = (struct buffer){.length = 0};
    answer->chunks = (struct http_chunks){.state = 0};
    answer->interims = 0;
    answer->head_bytes = 0;
    answer->scanned = 0;
}

void http_answer_deinit(struct http_answer *answer)
{
    free(answer->body.bytes);
    answer->body = (struct buffer){.length = 0};
}

static enum http_got bad(struct http_fault *fault_out, uint32_t status, const char *cause)
{
    *fault_out = (struct http_fault){status, cause};
    return HTTP_BAD;
}

/* The head says how the body ends. */
static enum http_got begin_body(struct http_answer *answer, struct http_fault *fault_out)
{
    const struct http_head *head = &answer->head;
    if (head->status == 204 || head->status == 304) { /* RFC 9112, 6.3: these have none. */
        answer->state = HTTP_ANSWER_DONE;
    } else if (head->is_chunked) {
        answer->state = HTTP_ANSWER_CHUNKS;
    } else if (head->has_length) {
        if (head->length > answer->body_bytes_max) {
            return bad(fault_out, 413, "it is too large");
        }
        answer->left = head->length;
        answer->state = head->length == 0 ? HTTP_ANSWER_DONE : HTTP_ANSWER_LENGTH;
    } else {
        answer->state = HTTP_ANSWER_REST;
    }
    return answer->state == HTTP_ANSWER_DONE ? HTTP_DONE : HTTP_MORE;
}

static enum http_got take_head(
    struct http_answer *answer, struct http_span bytes, size_t *used_out,
    struct http_fault *fault_out)
{
    const size_t room = sizeof(answer->bytes) - answer->head_bytes;
    const size_t count = min_size(bytes.length, room);
    const size_t before = answer->head_bytes;
    (void)memcpy(answer->bytes + before, bytes.bytes, count);
    answer->head_bytes += count;
    *used_out = count;
    const enum http_got got = http_reply_read(
        answer->bytes, answer->head_bytes, &answer->scanned, &answer->head, fault_out);
    if (got != HTTP_DONE) {
        return got;
    }
    *used_out = answer->head.bytes - before; /* What follows is body, or another head. */
    if (answer->head.status >= 200) {
        return begin_body(answer, fault_out);
    }
    if (answer->head.status == 101 || ++answer->interims > HTTP_INTERIMS_MAX) {
        return bad(fault_out, 502, "it sends too many interim answers");
    }
    answer->head_bytes = 0;
    answer->scanned = 0;
    return HTTP_MORE;
}

static enum http_got keep(
    struct http_answer *answer, struct http_span data, struct http_fault *fault_out)
{
    if (data.length > answer->body_bytes_max - answer->body_bytes) {
        return bad(fault_out, 413, "it is too large");
    }
    answer->body_bytes += data.length;
    if (answer->keeps_body && data.length > 0) {
        char *room = buffer_room(&answer->body, data.length);
        if (room == NULL) {
            return bad(fault_out, 503, "out of memory");
        }
        (void)memcpy(room, data.bytes, data.length);
        answer->body.length += data.length;
    }
    return HTTP_MORE;
}

static enum http_got take_body(
    struct http_answer *answer, struct http_span bytes, size_t *used_out,
    struct http_fault *fault_out)
{
    struct http_span data = bytes;
    enum http_got got = HTTP_MORE;
    *used_out = bytes.length;
    if (answer->state == HTTP_ANSWER_CHUNKS) {
        got = http_chunks_read(&answer->chunks, bytes, used_out, &data, fault_out);
        if (got == HTTP_BAD) {
            return got;
        }
    } else if (answer->state == HTTP_ANSWER_LENGTH) {
        data.length = bytes.length < answer->left ? bytes.length : (size_t)answer->left;
        answer->left -= data.length;
        *used_out = data.length;
        got = answer->left == 0 ? HTTP_DONE : HTTP_MORE;
    }
    if (keep(answer, data, fault_out) == HTTP_BAD) {
        return HTTP_BAD;
    }
    answer->state = got == HTTP_DONE ? HTTP_ANSWER_DONE : answer->state;
    return got;
}

enum http_got http_answer_take(
    struct http_answer *answer, struct http_span bytes, size_t *used_out,
    struct http_fault *fault_out)
{
    ASSERT(bytes.length > 0);
    enum http_got got = HTTP_MORE;
    *used_out = 0;
    ASSERT(answer->state != HTTP_ANSWER_DONE);
    while (got == HTTP_MORE && *used_out < bytes.length) {
        const struct http_span rest = {bytes.bytes + *used_out, bytes.length - *used_out};
        size_t used = 0;
        got = answer->state == HTTP_ANSWER_HEAD ? take_head(answer, rest, &used, fault_out)
                                                : take_body(answer, rest, &used, fault_out);
        *used_out += used;
    }
    return got;
}

enum http_got http_answer_end(struct http_answer *answer, struct http_fault *fault_out)
{
    if (answer->state == HTTP_ANSWER_REST) {
        answer->state = HTTP_ANSWER_DONE;
    }
    if (answer->state == HTTP_ANSWER_DONE) {
        return HTTP_DONE;
    }
    const bool is_empty = answer->state == HTTP_ANSWER_HEAD && answer->head_bytes == 0;
    return bad(fault_out, 502, is_empty ? "it hung up" : "it is cut off");
}
