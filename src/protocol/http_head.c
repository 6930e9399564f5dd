#include "protocol/http_head.h"

#include "base/units.h"

#include <string.h>

static enum http_got bad(struct http_fault *fault_out, uint32_t status, const char *cause)
{
    *fault_out = (struct http_fault){.status = status, .cause = cause};
    return HTTP_BAD;
}

/* Letters, digits and marks: what names of methods and headers are made of (RFC 9110, 5.6.2). */
static bool is_token(unsigned char c)
{
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) {
        return true;
    }
    return c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL;
}

static char lower(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return (char)(c + ('a' - 'A'));
    }
    return c;
}

bool http_span_is(struct http_span span, const char *text)
{
    for (size_t i = 0; i < span.length; i++) {
        if (text[i] == '\0' || lower(span.bytes[i]) != lower(text[i])) {
            return false;
        }
    }
    return text[span.length] == '\0';
}

bool http_span_number(struct http_span span, uint64_t *number_out)
{
    uint64_t number = 0;
    if (span.length == 0 || span.length > 18) {
        return false;
    }
    for (size_t i = 0; i < span.length; i++) {
        if (span.bytes[i] < '0' || span.bytes[i] > '9') {
            return false;
        }
        number = number * 10 + (uint64_t)(span.bytes[i] - '0');
    }
    *number_out = number;
    return true;
}

const struct http_span *http_head_find(const struct http_head *head, const char *name)
{
    for (uint32_t i = 0; i < head->header_count; i++) {
        if (http_span_is(head->headers[i].name, name)) {
            return &head->headers[i].value;
        }
    }
    return NULL;
}

/*
 * Look for the empty line. Every line must end in CR LF; a CR elsewhere is found later, by
 * the reader of the line.
 */
static enum http_got find_end(
    const char *bytes, size_t count, size_t *scanned, size_t *end_out, struct http_fault *fault_out)
{
    for (size_t i = *scanned; i < count; i++) {
        const char *line_end = memchr(bytes + i, '\n', count - i);
        if (line_end == NULL) {
            break;
        }
        i = (size_t)(line_end - bytes);
        if (i == 0 || bytes[i - 1] != '\r') {
            return bad(fault_out, 400, "a line of the head ends without CR");
        }
        if (i == 1 || (i >= 3 && bytes[i - 2] == '\n')) {
            *end_out = i + 1;
            return HTTP_DONE;
        }
    }
    *scanned = count;
    return HTTP_MORE;
}

/* The next line of @rest, without its end. There must be one. */
static struct http_span take_line(struct http_span *rest)
{
    const char *end = memchr(rest->bytes, '\n', rest->length);
    const size_t taken = (size_t)(end - rest->bytes) + 1;
    const struct http_span line = {rest->bytes, taken - 2};
    rest->bytes += taken;
    rest->length -= taken;
    return line;
}

static enum http_method method_of(struct http_span name)
{
    static const struct {
        const char *name;
        enum http_method method;
    } methods[] = {
        {"GET", HTTP_GET}, {"HEAD", HTTP_HEAD}, {"POST", HTTP_POST}, {"OPTIONS", HTTP_OPTIONS}};
    for (size_t i = 0; i < ARRAY_COUNT(methods); i++) {
        if (name.length == strlen(methods[i].name) &&
            memcmp(name.bytes, methods[i].name, name.length) == 0) {
            return methods[i].method;
        }
    }
    return HTTP_OTHER;
}

static enum http_got read_version(
    struct http_span text, struct http_head *head, struct http_fault *fault_out)
{
    if (text.length != 8 || memcmp(text.bytes, "HTTP/", 5) != 0 || text.bytes[6] != '.') {
        return bad(fault_out, 400, "the request line has no HTTP version");
    }
    if (text.bytes[5] != '1' || (text.bytes[7] != '0' && text.bytes[7] != '1')) {
        return bad(fault_out, 505, "only HTTP/1.0 and HTTP/1.1 are supported");
    }
    head->minor = (uint32_t)(text.bytes[7] - '0');
    return HTTP_DONE;
}

static enum http_got read_request_line(
    struct http_span line, struct http_head *head, struct http_fault *fault_out)
{
    size_t at = 0;
    while (at < line.length && is_token((unsigned char)line.bytes[at])) {
        at++;
    }
    if (at == 0 || at == line.length || line.bytes[at] != ' ') {
        return bad(fault_out, 400, "the request line does not begin with a method");
    }
    head->method = method_of((struct http_span){line.bytes, at});
    const size_t first = ++at;
    while (at < line.length && line.bytes[at] > ' ' && line.bytes[at] < 0x7f) {
        at++;
    }
    head->target = (struct http_span){line.bytes + first, at - first};
    if (head->target.length > HTTP_TARGET_BYTES_MAX) {
        return bad(fault_out, 414, "the target is too long");
    }
    if (head->target.length == 0 || at == line.length || line.bytes[at] != ' ') {
        return bad(fault_out, 400, "the request line has no target");
    }
    at++;
    return read_version((struct http_span){line.bytes + at, line.length - at}, head, fault_out);
}

static enum http_got read_status_line(
    struct http_span line, struct http_head *head, struct http_fault *fault_out)
{
    if (line.length < 12 || line.bytes[8] != ' ') {
        return bad(fault_out, 400, "the reply has no status line");
    }
    uint64_t status;
    if (read_version((struct http_span){line.bytes, 8}, head, fault_out) != HTTP_DONE) {
        return HTTP_BAD;
    }
    if (!http_span_number((struct http_span){line.bytes + 9, 3}, &status) || status < 100) {
        return bad(fault_out, 400, "the reply has no status");
    }
    head->status = (uint32_t)status;
    return HTTP_DONE;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static enum http_got read_header(
    struct http_span line, struct http_head *head, struct http_fault *fault_out)
{
    size_t at = 0;
    if (head->header_count == HTTP_HEADERS_MAX) {
        return bad(fault_out, 431, "too many headers");
    }
    while (at < line.length && is_token((unsigned char)line.bytes[at])) {
        at++;
    }
    if (at == 0 || at == line.length || line.bytes[at] != ':') {
        return bad(fault_out, 400, "a header is not of the form 'name: value'");
    }
    struct http_header *header = &head->headers[head->header_count++];
    header->name = (struct http_span){line.bytes, at};
    size_t first = at + 1;
    size_t end = line.length;
    while (first < end && is_blank(line.bytes[first])) {
        first++;
    }
    while (end > first && is_blank(line.bytes[end - 1])) {
        end--;
    }
    for (size_t i = first; i < end; i++) {
        const unsigned char c = (unsigned char)line.bytes[i];
        if ((c < ' ' && c != '\t') || c == 0x7f) {
            return bad(fault_out, 400, "a header holds a control character");
        }
    }
    header->value = (struct http_span){line.bytes + first, end - first};
    return HTTP_DONE;
}

/* Whether the list @value, "a, b", has member @word. */
static bool list_has(struct http_span value, const char *word)
{
    size_t at = 0;
    while (at < value.length) {
        size_t end = at;
        while (end < value.length && value.bytes[end] != ',') {
            end++;
        }
        struct http_span member = {value.bytes + at, end - at};
        while (member.length > 0 && is_blank(member.bytes[0])) {
            member.bytes++;
            member.length--;
        }
        while (member.length > 0 && is_blank(member.bytes[member.length - 1])) {
            member.length--;
        }
        if (http_span_is(member, word)) {
            return true;
        }
        at = end + 1;
    }
    return false;
}

static enum http_got note_length(
    struct http_head *head, struct http_span value, struct http_fault *fault_out)
{
    if (head->has_length) {
        return bad(fault_out, 400, "Content-Length is given twice");
    }
    if (!http_span_number(value, &head->length)) {
        return bad(fault_out, 400, "Content-Length is not a number");
    }
    head->has_length = true;
    return HTTP_DONE;
}

static enum http_got note_coding(
    struct http_head *head, struct http_span value, struct http_fault *fault_out)
{
    if (head->is_chunked) {
        return bad(fault_out, 400, "Transfer-Encoding is given twice");
    }
    if (!http_span_is(value, "chunked")) {
        return bad(fault_out, 501, "only the transfer coding 'chunked' is supported");
    }
    head->is_chunked = true;
    return HTTP_DONE;
}

/* What the headers say about the message itself. */
static enum http_got read_framing(struct http_head *head, struct http_fault *fault_out)
{
    head->keep_alive = head->minor == 1;
    for (uint32_t i = 0; i < head->header_count; i++) {
        const struct http_header *header = &head->headers[i];
        enum http_got got = HTTP_DONE;
        if (http_span_is(header->name, "content-length")) {
            got = note_length(head, header->value, fault_out);
        } else if (http_span_is(header->name, "transfer-encoding")) {
            got = note_coding(head, header->value, fault_out);
        } else if (http_span_is(header->name, "connection")) {
            if (list_has(header->value, "close")) {
                head->keep_alive = false;
            } else if (list_has(header->value, "keep-alive")) {
                head->keep_alive = true;
            }
        } else if (http_span_is(header->name, "expect")) {
            head->expects_continue = http_span_is(header->value, "100-continue");
            if (!head->expects_continue) {
                got = bad(fault_out, 417, "Expect supports only 100-continue");
            }
        }
        if (got != HTTP_DONE) {
            return got;
        }
    }
    if (head->is_chunked && head->has_length) {
        return bad(fault_out, 400, "Content-Length and Transfer-Encoding exclude each other");
    }
    if (head->is_chunked && head->minor == 0) {
        return bad(fault_out, 400, "chunked bodies need HTTP/1.1");
    }
    return HTTP_DONE;
}

static enum http_got read_headers(
    struct http_span rest, struct http_head *head, struct http_fault *fault_out)
{
    while (rest.length > 2) {
        const struct http_span line = take_line(&rest);
        const enum http_got got = read_header(line, head, fault_out);
        if (got != HTTP_DONE) {
            return got;
        }
    }
    return read_framing(head, fault_out);
}

static enum http_got check_host(const struct http_head *head, struct http_fault *fault_out)
{
    uint32_t hosts = 0;
    for (uint32_t i = 0; i < head->header_count; i++) {
        hosts += http_span_is(head->headers[i].name, "host") ? 1 : 0;
    }
    if (hosts > 1 || (hosts == 0 && head->minor == 1)) {
        return bad(fault_out, 400, "a request needs exactly one Host header");
    }
    return HTTP_DONE;
}

/* Empty lines before a request line are left over from the request before (RFC 9112, 2.2). */
static size_t leading_lines(const char *bytes, size_t count)
{
    size_t at = 0;
    while (at + 1 < count && at < 4 && bytes[at] == '\r' && bytes[at + 1] == '\n') {
        at += 2;
    }
    return at;
}

/* A head of @bytes, of which nothing else is known. */
static void start_head(struct http_head *head, size_t bytes)
{
    memset(head, 0, offsetof(struct http_head, headers));
    head->bytes = bytes;
}

enum http_got http_head_read(
    const char *bytes, size_t count, size_t *scanned, struct http_head *head_out,
    struct http_fault *fault_out)
{
    const size_t skipped = leading_lines(bytes, count);
    size_t end = 0;
    size_t looked = *scanned > skipped ? *scanned - skipped : 0;
    enum http_got got = find_end(bytes + skipped, count - skipped, &looked, &end, fault_out);
    *scanned = looked + skipped;
    if (got == HTTP_MORE && count >= HTTP_HEAD_BYTES_MAX) {
        return memchr(bytes + skipped, '\n', count - skipped) == NULL
                   ? bad(fault_out, 414, "the request line is too long")
                   : bad(fault_out, 431, "the head is too long");
    }
    if (got != HTTP_DONE) {
        return got;
    }
    start_head(head_out, skipped + end);
    struct http_span rest = {bytes + skipped, end};
    got = read_request_line(take_line(&rest), head_out, fault_out);
    if (got == HTTP_DONE) {
        got = read_headers(rest, head_out, fault_out);
    }
    return got == HTTP_DONE ? check_host(head_out, fault_out) : got;
}

enum http_got http_reply_read(
    const char *bytes, size_t count, size_t *scanned, struct http_head *head_out,
    struct http_fault *fault_out)
{
    size_t end = 0;
    enum http_got got = find_end(bytes, count, scanned, &end, fault_out);
    if (got == HTTP_MORE && count >= HTTP_HEAD_BYTES_MAX) {
        return bad(fault_out, 431, "the head of the reply is too long");
    }
    if (got != HTTP_DONE) {
        return got;
    }
    start_head(head_out, end);
    struct http_span rest = {bytes, end};
    got = read_status_line(take_line(&rest), head_out, fault_out);
    return got == HTTP_DONE ? read_headers(rest, head_out, fault_out) : got;
}

const char *http_status_text(uint32_t status)
{
    static const struct {
        uint32_t status;
        const char *text;
    } texts[] = {
        {200, "OK"},
        {204, "No Content"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {425, "Too Early"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        if (texts[i].status == status) {
            return texts[i].text;
        }
    }
    return "Status";
}
