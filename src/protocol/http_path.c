/* http_path.c - the target of a request, decoded once and without tricks. */
#include <string.h>

#include "protocol/http_head.h"

static enum http_got bad(struct http_fault *fault_out, const char *cause)
{
    *fault_out = (struct http_fault){.status = 400, .cause = cause};
    return HTTP_BAD;
}

/* The value of a hexadecimal digit; 16 if it is none. */
static uint32_t digit(char c)
{
    if (c >= '0' && c <= '9') {
        return (uint32_t)(c - '0');
    }
    if (c >= 'a' && c <= 'f') {
        return (uint32_t)(c - 'a') + 10;
    }
    return c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10 : 16;
}

/* Leave out "http://host" of an absolute target, and the query. */
static struct http_span path_of(struct http_span target)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < 2; i++) {
        const size_t length = strlen(schemes[i]);
        if (target.length > length &&
            http_span_is((struct http_span){target.bytes, length}, schemes[i])) {
            const char *slash = memchr(target.bytes + length, '/', target.length - length);
            const size_t left = slash == NULL ? 0 : target.length - (size_t)(slash - target.bytes);
            target = left == 0 ? (struct http_span){"/", 1} : (struct http_span){slash, left};
            break;
        }
    }
    const char *query = memchr(target.bytes, '?', target.length);
    if (query != NULL) {
        target.length = (size_t)(query - target.bytes);
    }
    return target;
}

/* Decode the character at *at of @path; negative if it is not a character of a path. */
static int decode(struct http_span path, size_t *at)
{
    if (path.bytes[*at] != '%') {
        return (unsigned char)path.bytes[(*at)++];
    }
    if (path.length - *at < 3) {
        return -1;
    }
    const uint32_t high = digit(path.bytes[*at + 1]);
    const uint32_t low = digit(path.bytes[*at + 2]);
    const uint32_t c = high * 16 + low;
    *at += 3;
    return high == 16 || low == 16 || c < ' ' || c == 0x7f || c == '/' || c == '\\' ? -1 : (int)c;
}

enum http_got http_path_read(
    struct http_span target, struct http_path *path_out, struct http_fault *fault_out)
{
    const struct http_span path = path_of(target);
    char *out = path_out->storage;
    path_out->count = 0;
    if (path.length == 0 || path.bytes[0] != '/') {
        return bad(fault_out, "the target is not a path");
    }
    if (path.length > HTTP_TARGET_BYTES_MAX) {
        return bad(fault_out, "the target is too long");
    }
    size_t at = 1;
    while (at <= path.length) {
        char *segment = out;
        while (at < path.length && path.bytes[at] != '/') {
            const int c = decode(path, &at);
            if (c < 0) {
                return bad(fault_out, "the target has an invalid or forbidden escape");
            }
            *out++ = (char)c;
        }
        *out++ = '\0';
        at++;
        if (strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0) {
            return bad(fault_out, "the target has a segment '.' or '..'");
        }
        if (path_out->count == HTTP_SEGMENTS_MAX) {
            return bad(fault_out, "the target has too many segments");
        }
        path_out->segments[path_out->count++] = segment;
    }
    return HTTP_DONE;
}
