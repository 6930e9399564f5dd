/* http_chunks.c - a body in chunks (RFC 9112, 7.1): sizes, data, trailers that are skipped. */
#include "protocol/http_head.h"

enum { EXTRA_BYTES_MAX = 4096, DIGITS_MAX = 12 };

enum {
    AT_SIZE,
    AT_EXTENSION,
    AT_SIZE_END, /* Behind CR. */
    AT_DATA,
    AT_DATA_CR,
    AT_DATA_LF,
    AT_TRAILER, /* At the beginning of a line. */
    IN_TRAILER,
    AT_TRAILER_END, /* Behind CR of a trailer. */
    AT_END,         /* Behind CR of the empty line. */
    AT_NOTHING,
};

static int digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool take_size(struct http_chunks *chunks, char c)
{
    const int value = digit(c);
    if (value >= 0) {
        chunks->left = chunks->left * 16 + (uint64_t)value;
        chunks->digits++;
        return chunks->digits <= DIGITS_MAX;
    }
    if (chunks->digits == 0) {
        return false;
    }
    chunks->state = c == '\r' ? AT_SIZE_END : AT_EXTENSION;
    return c == '\r' || c == ';';
}

static bool take_extra(struct http_chunks *chunks, char c, uint32_t behind)
{
    if (c == '\r') {
        chunks->state = behind;
        return true;
    }
    chunks->extra_bytes++;
    return c != '\n' && c != '\0' && chunks->extra_bytes <= EXTRA_BYTES_MAX;
}

static bool take_size_end(struct http_chunks *chunks, char c)
{
    chunks->digits = 0;
    chunks->state = chunks->left == 0 ? AT_TRAILER : AT_DATA;
    return c == '\n';
}

static bool take_exactly(struct http_chunks *chunks, char c, char expected, uint32_t state)
{
    chunks->state = state;
    return c == expected;
}

/* One character that is not data. */
static bool take(struct http_chunks *chunks, char c)
{
    switch (chunks->state) {
    case AT_SIZE:
        return take_size(chunks, c);
    case AT_EXTENSION:
        return take_extra(chunks, c, AT_SIZE_END);
    case AT_SIZE_END:
        return take_size_end(chunks, c);
    case AT_DATA_CR:
        return take_exactly(chunks, c, '\r', AT_DATA_LF);
    case AT_DATA_LF:
        return take_exactly(chunks, c, '\n', AT_SIZE);
    case AT_TRAILER:
        chunks->state = IN_TRAILER;
        return take_extra(chunks, c, AT_END);
    case IN_TRAILER:
        return take_extra(chunks, c, AT_TRAILER_END);
    case AT_TRAILER_END:
        return take_exactly(chunks, c, '\n', AT_TRAILER);
    case AT_END:
        return take_exactly(chunks, c, '\n', AT_NOTHING);
    default:
        return false;
    }
}

enum http_got http_chunks_read(
    struct http_chunks *chunks, struct http_span bytes, size_t *used_out,
    struct http_span *data_out, struct http_fault *fault_out)
{
    size_t at = 0;
    *data_out = (struct http_span){.length = 0};
    while (at < bytes.length && chunks->state != AT_NOTHING && data_out->length == 0) {
        if (chunks->state != AT_DATA) {
            if (!take(chunks, bytes.bytes[at++])) {
                *fault_out =
                    (struct http_fault){.status = 400, .cause = "the body is not in proper chunks"};
                return HTTP_BAD;
            }
            continue;
        }
        const size_t there = bytes.length - at;
        data_out->bytes = bytes.bytes + at;
        data_out->length = chunks->left < there ? (size_t)chunks->left : there;
        chunks->left -= data_out->length;
        at += data_out->length;
        chunks->state = chunks->left == 0 ? AT_DATA_CR : AT_DATA;
    }
    *used_out = at;
    return chunks->state == AT_NOTHING ? HTTP_DONE : HTTP_MORE;
}
