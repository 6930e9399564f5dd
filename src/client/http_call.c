#include "client/http_call.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "client/http_answer.h"
#include "protocol/buffer.h"
#include "runtime/clock.h"

enum { PIECE_BYTES = 65536 };

/* A connection while it is used. */
struct line {
    const struct http_call *call;
    int descriptor;
    SSL_CTX *context;
    SSL *ssl; /* NULL: plain. */
    struct clock clock;
    int64_t end_ns; /* When it has taken too long. */
    struct weft_error *error;
};

enum weft_status http_url_parse(
    const char *text, struct http_url *url_out, struct weft_error *error)
{
    static const char *const schemes[2] = {"http://", "https://"};
    struct http_url url = {.is_tls = false};
    const char *host = NULL;
    for (uint32_t i = 0; i < 2 && host == NULL; i++) {
        if (strncasecmp(text, schemes[i], strlen(schemes[i])) == 0) {
            url.is_tls = i == 1;
            host = text + strlen(schemes[i]);
        }
    }
    if (host == NULL) {
        host = text; /* "host:port", as Triton's clients write it. */
    }
    const size_t length = strcspn(host, "/");
    const char *colon = memchr(host, ':', length);
    if (host[0] == '[') {
        const char *bracket = memchr(host, ']', length);
        colon = bracket == NULL || bracket[1] != ':' ? NULL : bracket + 1;
    }
    const size_t host_bytes = colon == NULL ? length : (size_t)(colon - host);
    const size_t port_bytes = colon == NULL ? 0 : length - host_bytes - 1;
    if (host_bytes == 0 || host_bytes >= sizeof(url.host) || port_bytes >= sizeof(url.port) ||
        (host[length] != '\0' && host[length + 1] != '\0')) {
        return error_set(error, WEFT_INVALID, "'%s' is not a URL; use http://HOST:PORT", text);
    }
    const bool is_bracketed = host[0] == '[' && host[host_bytes - 1] == ']';
    (void)snprintf(
        url.host, sizeof(url.host), "%.*s", (int)(host_bytes - (is_bracketed ? 2 : 0)),
        host + (is_bracketed ? 1 : 0));
    if (port_bytes == 0) {
        (void)snprintf(url.port, sizeof(url.port), "%s", url.is_tls ? "443" : "8000");
    } else {
        (void)snprintf(url.port, sizeof(url.port), "%.*s", (int)port_bytes, colon + 1);
    }
    *url_out = url;
    return WEFT_OK;
}

enum weft_status http_urls_parse(
    const char *text, uint32_t max, struct http_url *urls_out, uint32_t *count_out,
    struct weft_error *error)
{
    char one[HTTP_HOST_BYTES + 64];
    uint32_t count = 0;
    const char *at = text;
    for (;;) {
        const size_t length = strcspn(at, ",");
        if (count == max) {
            return error_set(error, WEFT_INVALID, "more than %" PRIu32 " addresses", max);
        }
        if (length >= sizeof(one)) {
            return error_set(error, WEFT_INVALID, "'%.60s...' is too long for a URL", at);
        }
        (void)snprintf(one, sizeof(one), "%.*s", (int)length, at);
        const enum weft_status status = http_url_parse(one, &urls_out[count], error);
        if (status != WEFT_OK) {
            return status;
        }
        count++;
        if (at[length] == '\0') {
            *count_out = count;
            return WEFT_OK;
        }
        at += length + 1;
    }
}

static uint32_t seconds_of(const struct http_call *call)
{
    return call->timeout_s == 0 ? HTTP_CALL_SECONDS : call->timeout_s;
}

static uint64_t bytes_max_of(const struct http_call *call)
{
    return call->answer_bytes_max == 0 ? HTTP_ANSWER_BYTES : call->answer_bytes_max;
}

static enum weft_status fail(const struct line *line, const char *what, const char *cause)
{
    const struct http_url *url = line->call->url;
    return error_set(line->error, WEFT_IO, "%s:%s: %s: %s", url->host, url->port, what, cause);
}

static enum weft_status fail_late(const struct line *line, const char *what)
{
    const struct http_url *url = line->call->url;
    return error_set(
        line->error, WEFT_IO, "%s:%s: %s: it takes longer than %" PRIu32 " s", url->host, url->port,
        what, seconds_of(line->call));
}

static enum weft_status fail_memory(const struct line *line)
{
    const struct http_url *url = line->call->url;
    return error_set(
        line->error, WEFT_NO_MEMORY, "%s:%s: out of memory for a request or its answer", url->host,
        url->port);
}

/* Wait for one of @events. Returns those that came; 0 if the time is over. */
static short wait_for(struct line *line, short events)
{
    for (;;) {
        struct pollfd watched = {.fd = line->descriptor, .events = events};
        const int64_t left_ns = line->end_ns - clock_read(&line->clock);
        if (left_ns <= 0) {
            return 0;
        }
        const int64_t left_ms = left_ns / NS_PER_MS + 1;
        const int count = poll(&watched, 1, left_ms > INT32_MAX ? INT32_MAX : (int)left_ms);
        if (count > 0) {
            return watched.revents;
        }
        if (count < 0 && errno != EINTR) {
            return POLLERR; /* The call that was waited for says what it is. */
        }
    }
}

/* Connect to @address. Returns 0, or what is wrong. */
static int dial_one(struct line *line, const struct addrinfo *address)
{
    int cause = 0;
    line->descriptor = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, 0);
    if (line->descriptor < 0) {
        return errno;
    }
    if (fcntl(line->descriptor, F_SETFL, O_NONBLOCK) != 0 ||
        connect(line->descriptor, address->ai_addr, address->ai_addrlen) != 0) {
        cause = errno;
    }
    if (cause == EINPROGRESS) {
        socklen_t size = sizeof(cause);
        if (wait_for(line, POLLOUT) == 0) {
            cause = ETIMEDOUT;
        } else if (getsockopt(line->descriptor, SOL_SOCKET, SO_ERROR, &cause, &size) != 0) {
            cause = errno;
        }
    }
    if (cause != 0) {
        (void)close(line->descriptor);
        line->descriptor = -1;
    }
    return cause;
}

static enum weft_status dial(struct line *line)
{
    const struct http_url *url = line->call->url;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const int code = getaddrinfo(url->host, url->port, &hints, &found);
    if (code != 0) {
        return fail(line, "cannot be found", gai_strerror(code));
    }
    int cause = ECONNREFUSED;
    clock_init(&line->clock, CLOCK_KIND_REAL);
    line->end_ns = (int64_t)seconds_of(line->call) * NS_PER_S;
    for (const struct addrinfo *at = found; at != NULL && line->descriptor < 0; at = at->ai_next) {
        cause = dial_one(line, at);
    }
    freeaddrinfo(found);
    return line->descriptor < 0 ? fail(line, "cannot connect", strerror(cause)) : WEFT_OK;
}

/*
 * @result of a call to OpenSSL is not what was hoped for: wait for the connection if that helps.
 * True: try again.
 */
static bool wait_for_tls(struct line *line, int result, bool *is_late)
{
    const int code = SSL_get_error(line->ssl, result);
    if (code != SSL_ERROR_WANT_READ && code != SSL_ERROR_WANT_WRITE) {
        return false;
    }
    *is_late = wait_for(line, code == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT) == 0;
    return !*is_late;
}

static bool prepare_tls(struct line *line)
{
    const struct http_call *call = line->call;
    char host[HTTP_HOST_BYTES]; /* OpenSSL's macro casts const away. */
    (void)snprintf(host, sizeof(host), "%s", call->url->host);
    line->context = SSL_CTX_new(TLS_client_method());
    line->ssl = line->context == NULL ? NULL : SSL_new(line->context);
    if (line->ssl == NULL) {
        return false;
    }
    SSL_CTX *context = line->context;
    const bool has_trust = call->ca_file == NULL
                               ? SSL_CTX_set_default_verify_paths(context) == 1
                               : SSL_CTX_load_verify_locations(context, call->ca_file, NULL) == 1;
    SSL_set_verify(line->ssl, SSL_VERIFY_PEER, NULL);
    return has_trust && SSL_set1_host(line->ssl, call->url->host) == 1 &&
           SSL_set_tlsext_host_name(line->ssl, host) == 1 &&
           SSL_set_fd(line->ssl, line->descriptor) == 1;
}

static enum weft_status shake_hands(struct line *line)
{
    bool is_late = false;
    int result = 0;
    ERR_clear_error();
    if (prepare_tls(line)) {
        do {
            result = SSL_connect(line->ssl);
        } while (result != 1 && wait_for_tls(line, result, &is_late));
    }
    if (is_late) {
        return fail_late(line, "no TLS");
    }
    const char *cause = ERR_reason_error_string(ERR_peek_last_error());
    return result == 1 ? WEFT_OK : fail(line, "no TLS", cause == NULL ? "it hung up" : cause);
}

/* Send some of @bytes. Returns how many; 0 if no more can be sent, and *is_late says why. */
static size_t send_some(struct line *line, const char *bytes, size_t count, bool *is_late)
{
    const int piece = count > PIECE_BYTES ? PIECE_BYTES : (int)count;
    for (;;) {
        if (line->ssl != NULL) {
            const int sent = SSL_write(line->ssl, bytes, piece);
            if (sent > 0 || !wait_for_tls(line, sent, is_late)) {
                return sent > 0 ? (size_t)sent : 0;
            }
            continue;
        }
        const ssize_t sent = send(line->descriptor, bytes, (size_t)piece, MSG_NOSIGNAL);
        if (sent > 0) {
            return (size_t)sent;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            const short come = wait_for(line, POLLOUT | POLLIN);
            *is_late = come == 0;
            if ((come & POLLOUT) == 0) {
                return 0; /* It answers, or hangs up, before it has read all. */
            }
        } else if (errno != EINTR) {
            return 0;
        }
    }
}

/* Send @bytes, or as many as the server wants: it may have answered before it hung up. */
static enum weft_status send_all(struct line *line, const void *bytes, size_t count, bool *goes_on)
{
    const char *at = bytes;
    bool is_late = false;
    while (count > 0 && *goes_on) {
        const size_t sent = send_some(line, at, count, &is_late);
        at += sent;
        count -= sent;
        *goes_on = sent > 0;
    }
    return is_late ? fail_late(line, "it does not accept the request") : WEFT_OK;
}

/* Receive some bytes. Returns how many; 0: it hung up; -1: it broke; -2: it takes too long. */
static int receive_some(struct line *line, char *bytes)
{
    bool is_late = false;
    for (;;) {
        if (line->ssl != NULL) {
            const int got = SSL_read(line->ssl, bytes, PIECE_BYTES);
            if (got > 0 || !wait_for_tls(line, got, &is_late)) {
                const bool is_end = SSL_get_error(line->ssl, got) == SSL_ERROR_ZERO_RETURN;
                return got > 0 ? got : is_late ? -2 : is_end ? 0 : -1;
            }
            continue;
        }
        const ssize_t got = recv(line->descriptor, bytes, PIECE_BYTES, 0);
        if (got >= 0) {
            return (int)got;
        }
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
            return -1;
        }
        if (wait_for(line, POLLIN) == 0) {
            return -2;
        }
    }
}

static enum weft_status fail_bad(const struct line *line, const struct http_fault *fault)
{
    const struct http_url *url = line->call->url;
    if (fault->status == 413) {
        return error_set(
            line->error, WEFT_LIMIT, "%s:%s: the answer is longer than %" PRIu64 " bytes",
            url->host, url->port, bytes_max_of(line->call));
    }
    return fault->status == 503 ? fail_memory(line) : fail(line, "no answer", fault->cause);
}

/* Whether as many lines of the body are there as the caller wants. */
static bool has_lines(const struct line *line, const struct http_answer *answer)
{
    uint32_t count = 0;
    if (line->call->lines == 0 || answer->state == HTTP_ANSWER_HEAD) {
        return false;
    }
    for (size_t i = 0; i < answer->body.length; i++) {
        count += answer->body.bytes[i] == '\n' ? 1 : 0;
    }
    return count >= line->call->lines;
}

/* Whether time is over is also asked while bytes come: one at a time they could do so for ever. */
static enum weft_status receive_all(struct line *line, struct http_answer *answer)
{
    char bytes[PIECE_BYTES];
    struct http_fault fault = {0, NULL};
    enum http_got got = HTTP_MORE;
    while (got == HTTP_MORE && !has_lines(line, answer)) {
        errno = 0;
        const int count = receive_some(line, bytes);
        if (count == -2 || clock_read(&line->clock) > line->end_ns) {
            return line->call->lines > 0 && answer->state != HTTP_ANSWER_HEAD
                       ? WEFT_OK
                       : fail_late(line, "no answer");
        }
        if (count < 0) {
            return fail(line, "no answer", errno == 0 ? "it is cut off" : strerror(errno));
        }
        size_t used = 0;
        const struct http_span come = {bytes, (size_t)count};
        got = count == 0 ? http_answer_end(answer, &fault)
                         : http_answer_take(answer, come, &used, &fault);
        if (got == HTTP_DONE && used < (size_t)count) {
            return fail(line, "no answer", "it is longer than it says");
        }
    }
    return got == HTTP_BAD ? fail_bad(line, &fault) : WEFT_OK;
}

/* The body becomes the caller's. */
static enum weft_status understand(
    const struct line *line, struct http_answer *answer, struct http_reply *reply_out)
{
    const struct http_span *json = http_head_find(&answer->head, "inference-header-content-length");
    struct http_reply reply = {
        .status = answer->head.status,
        .body_bytes = answer->body.length,
        .json_bytes = answer->body.length,
    };
    if (json != NULL &&
        (!http_span_number(*json, &reply.json_bytes) || reply.json_bytes > reply.body_bytes)) {
        return fail(line, "no answer", "its JSON is longer than its body");
    }
    char *end = buffer_room(&answer->body, 1);
    if (end == NULL) {
        return fail_memory(line);
    }
    *end = '\0';
    reply.body = answer->body.bytes;
    answer->body = (struct buffer){.length = 0};
    *reply_out = reply;
    return WEFT_OK;
}

static enum weft_status send_request(struct line *line)
{
    const struct http_call *call = line->call;
    struct buffer head = {.length = 0};
    bool goes_on = true;
    if (!buffer_add(
            &head,
            "%s %s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n",
            call->method, call->path, call->url->host, call->url->port, call->body_bytes,
            call->headers == NULL ? "" : call->headers)) {
        free(head.bytes);
        return fail_memory(line);
    }
    enum weft_status status = send_all(line, head.bytes, head.length, &goes_on);
    if (status == WEFT_OK) {
        status = send_all(line, call->body, call->body_bytes, &goes_on);
    }
    free(head.bytes);
    return status;
}

static enum weft_status exchange(struct line *line, struct http_reply *reply_out)
{
    struct http_answer *answer = malloc(sizeof(*answer)); /* Too large for a stack. */
    if (answer == NULL) {
        return fail_memory(line);
    }
    http_answer_init(answer, /* keeps_body */ true, bytes_max_of(line->call));
    enum weft_status status = send_request(line);
    if (status == WEFT_OK) {
        status = receive_all(line, answer);
    }
    if (status == WEFT_OK) {
        status = understand(line, answer, reply_out);
    }
    http_answer_deinit(answer);
    free(answer);
    return status;
}

void http_key_draw(char key_out[static HTTP_KEY_BYTES])
{
    unsigned char bytes[(HTTP_KEY_BYTES - 1) / 2];
    const int drawn = RAND_bytes(bytes, sizeof(bytes));
    ASSERT(drawn == 1);
    text_hex(key_out, bytes, sizeof(bytes));
}

enum weft_status http_call(
    const struct http_call *call, struct http_reply *reply_out, struct weft_error *error)
{
    ASSERT(call->url != NULL && call->method != NULL);
    ASSERT(call->path[0] == '/');
    ASSERT(call->body != NULL || call->body_bytes == 0);
    struct line line = {.call = call, .descriptor = -1, .error = error};
    enum weft_status status = dial(&line);
    if (status == WEFT_OK && call->url->is_tls) {
        (void)signal(SIGPIPE, SIG_IGN); /* OpenSSL writes to sockets as to files. */
        status = shake_hands(&line);
    }
    if (status == WEFT_OK) {
        status = exchange(&line, reply_out);
    }
    SSL_free(line.ssl);
    SSL_CTX_free(line.context);
    if (line.descriptor >= 0) {
        (void)close(line.descriptor);
    }
    return status;
}
