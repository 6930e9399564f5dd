#include "server/http_call.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/error.h"
#include "server/buffer.h"
#include "server/http_head.h"

enum { PIECE_BYTES = 65536 };

/* A connection while it is used. */
struct line {
    const struct http_call *call;
    int descriptor;
    SSL_CTX *context;
    SSL *ssl; /* NULL: plain. */
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
        return error_set(error, WEFT_INVALID, "'%s' is no URL: say http://HOST:PORT", text);
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

static enum weft_status fail(const struct line *line, const char *what, const char *cause)
{
    const struct http_url *url = line->call->url;
    return error_set(line->error, WEFT_IO, "%s:%s: %s: %s", url->host, url->port, what, cause);
}

static enum weft_status dial(struct line *line)
{
    const struct http_url *url = line->call->url;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const struct timeval patience = {.tv_sec = line->call->timeout_s};
    struct addrinfo *found = NULL;
    const int code = getaddrinfo(url->host, url->port, &hints, &found);
    if (code != 0) {
        return fail(line, "cannot be found", gai_strerror(code));
    }
    int cause = ECONNREFUSED;
    for (const struct addrinfo *at = found; at != NULL && line->descriptor < 0; at = at->ai_next) {
        const int descriptor = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, 0);
        if (descriptor < 0) {
            cause = errno;
            continue;
        }
        (void)setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        (void)setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        if (connect(descriptor, at->ai_addr, at->ai_addrlen) == 0) {
            line->descriptor = descriptor;
        } else {
            cause = errno;
            (void)close(descriptor);
        }
    }
    freeaddrinfo(found);
    return line->descriptor < 0 ? fail(line, "cannot connect", strerror(cause)) : WEFT_OK;
}

static enum weft_status shake_hands(struct line *line)
{
    const struct http_call *call = line->call;
    char host[HTTP_HOST_BYTES]; /* OpenSSL's macro casts const away. */
    (void)snprintf(host, sizeof(host), "%s", call->url->host);
    ERR_clear_error();
    line->context = SSL_CTX_new(TLS_client_method());
    line->ssl = line->context == NULL ? NULL : SSL_new(line->context);
    bool is_good = line->ssl != NULL;
    if (is_good) {
        SSL_CTX *context = line->context;
        is_good = call->ca_file == NULL
                      ? SSL_CTX_set_default_verify_paths(context) == 1
                      : SSL_CTX_load_verify_locations(context, call->ca_file, NULL) == 1;
        SSL_set_verify(line->ssl, SSL_VERIFY_PEER, NULL);
        is_good = is_good && SSL_set1_host(line->ssl, call->url->host) == 1 &&
                  SSL_set_tlsext_host_name(line->ssl, host) == 1 &&
                  SSL_set_fd(line->ssl, line->descriptor) == 1 && SSL_connect(line->ssl) == 1;
    }
    const char *cause = ERR_reason_error_string(ERR_peek_last_error());
    return is_good ? WEFT_OK : fail(line, "no TLS", cause == NULL ? "unknown cause" : cause);
}

static enum weft_status send_all(struct line *line, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        const int piece = count > PIECE_BYTES ? PIECE_BYTES : (int)count;
        const ssize_t sent = line->ssl == NULL
                                 ? send(line->descriptor, at, (size_t)piece, MSG_NOSIGNAL)
                                 : SSL_write(line->ssl, at, piece);
        if (sent <= 0) {
            return WEFT_OK; /* It may have answered before it hung up. */
        }
        at += sent;
        count -= (size_t)sent;
    }
    return WEFT_OK;
}

/* Receive until the server hangs up. */
static enum weft_status receive_all(struct line *line, struct buffer *buffer)
{
    ssize_t got = 1;
    while (got > 0) {
        char *room = buffer_room(buffer, PIECE_BYTES);
        if (room == NULL) {
            return fail(line, "cannot receive", "out of memory");
        }
        got = line->ssl == NULL ? recv(line->descriptor, room, PIECE_BYTES, 0)
                                : SSL_read(line->ssl, room, PIECE_BYTES);
        buffer->length += got > 0 ? (size_t)got : 0;
        if (got < 0 && line->ssl == NULL) {
            return fail(line, "no answer", errno == EAGAIN ? "it takes too long" : strerror(errno));
        }
    }
    return WEFT_OK;
}

static enum weft_status understand(
    const struct line *line, const struct buffer *buffer, struct http_reply *reply_out)
{
    struct http_head head;
    struct http_fault fault = {0, "it hung up"};
    size_t scanned = 0;
    const bool is_empty = buffer->length == 0;
    if (is_empty ||
        http_reply_read(buffer->bytes, buffer->length, &scanned, &head, &fault) != HTTP_DONE) {
        return fail(line, "no answer", fault.cause);
    }
    const size_t body_bytes = buffer->length - head.bytes;
    const struct http_span *json = http_head_find(&head, "inference-header-content-length");
    if (head.is_chunked || (head.has_length && head.length != body_bytes)) {
        return fail(line, "no answer", "it is cut off");
    }
    struct http_reply reply = {
        .status = head.status, .body_bytes = body_bytes, .json_bytes = body_bytes};
    if (json != NULL &&
        (!http_span_number(*json, &reply.json_bytes) || reply.json_bytes > body_bytes)) {
        return fail(line, "no answer", "its JSON is longer than its body");
    }
    reply.body = malloc(body_bytes + 1);
    if (reply.body == NULL) {
        return fail(line, "no answer", "out of memory");
    }
    (void)memcpy(reply.body, buffer->bytes + head.bytes, body_bytes);
    reply.body[body_bytes] = '\0';
    *reply_out = reply;
    return WEFT_OK;
}

static enum weft_status exchange(struct line *line, struct http_reply *reply_out)
{
    const struct http_call *call = line->call;
    struct buffer head = {.length = 0};
    struct buffer reply = {.length = 0};
    enum weft_status status = WEFT_OK;
    if (!buffer_add(
            &head,
            "%s %s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n",
            call->method, call->path, call->url->host, call->url->port, call->body_bytes,
            call->headers == NULL ? "" : call->headers)) {
        status = fail(line, "cannot ask", "out of memory");
    }
    if (status == WEFT_OK) {
        status = send_all(line, head.bytes, head.length);
    }
    if (status == WEFT_OK) {
        status = send_all(line, call->body, call->body_bytes);
    }
    if (status == WEFT_OK) {
        status = receive_all(line, &reply);
    }
    if (status == WEFT_OK) {
        status = understand(line, &reply, reply_out);
    }
    free(head.bytes);
    free(reply.bytes);
    return status;
}

enum weft_status http_call(
    const struct http_call *call, struct http_reply *reply_out, struct weft_error *error)
{
    struct line line = {.call = call, .descriptor = -1, .error = error};
    enum weft_status status = dial(&line);
    if (status == WEFT_OK && call->url->is_tls) {
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
