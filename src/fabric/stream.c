#include "fabric/stream.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/memory.h"
#include "fabric/trust.h"

enum { CAUSE_BYTES = 120 };

struct stream {
    int socket;
    SSL *tls; /* NULL: plain. */
    bool wants_to_write;
    char cause[CAUSE_BYTES];
};

static void note_cause(struct stream *stream, const char *text)
{
    if (stream->cause[0] == '\0') {
        (void)strncpy(stream->cause, text, CAUSE_BYTES - 1); /* The last byte stays 0. */
    }
}

struct stream *stream_create(const struct trust *trust, int socket, bool is_dialer)
{
    struct stream *stream = memory_reserved_zeroed(1, sizeof(*stream));
    if (stream == NULL) {
        return NULL;
    }
    stream->socket = socket;
    if (trust_tls(trust) == NULL) {
        return stream;
    }
    stream->tls = SSL_new(trust_tls(trust));
    if (stream->tls == NULL || SSL_set_fd(stream->tls, socket) != 1) {
        SSL_free(stream->tls); /* NULL is allowed. The socket is not closed. */
        free(stream);
        return NULL;
    }
    if (is_dialer) {
        SSL_set_connect_state(stream->tls);
    } else {
        SSL_set_accept_state(stream->tls);
    }
    return stream;
}

void stream_destroy(struct stream *stream)
{
    if (stream == NULL) {
        return;
    }
    SSL_free(stream->tls);
    (void)close(stream->socket); /* What was sent is the kernel's affair. */
    free(stream);
}

/* What a call of OpenSSL that gave no bytes means. */
static ptrdiff_t tls_result(struct stream *stream, int result)
{
    switch (SSL_get_error(stream->tls, result)) {
    case SSL_ERROR_WANT_READ:
        return 0;
    case SSL_ERROR_WANT_WRITE:
        stream->wants_to_write = true;
        return 0;
    case SSL_ERROR_ZERO_RETURN:
        note_cause(stream, "closed by the peer");
        return -1;
    case SSL_ERROR_SYSCALL:
        note_cause(stream, errno == 0 ? "closed by the peer" : strerror(errno));
        return -1;
    default: {
        const long verdict = SSL_get_verify_result(stream->tls);
        const char *reason = ERR_reason_error_string(ERR_peek_last_error());
        if (verdict != X509_V_OK) {
            reason = X509_verify_cert_error_string(verdict);
        }
        note_cause(stream, reason == NULL ? "broken TLS" : reason);
        return -1;
    }
    }
}

static ptrdiff_t plain_result(struct stream *stream, ptrdiff_t result)
{
    if (result > 0) {
        return result;
    }
    if (result < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) {
        return 0; /* ENOTCONN: it is being connected. */
    }
    note_cause(stream, result == 0 ? "closed by the peer" : strerror(errno));
    return -1;
}

ptrdiff_t stream_read(struct stream *stream, void *bytes, size_t room)
{
    stream->wants_to_write = false;
    if (stream->tls == NULL) {
        return plain_result(stream, recv(stream->socket, bytes, room, MSG_DONTWAIT));
    }
    errno = 0;
    ERR_clear_error();
    const int result = SSL_read(stream->tls, bytes, room < INT_MAX ? (int)room : INT_MAX);
    return result > 0 ? result : tls_result(stream, result);
}

ptrdiff_t stream_write(struct stream *stream, const void *bytes, size_t count)
{
    if (stream->tls == NULL) {
        return plain_result(
            stream, send(stream->socket, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL));
    }
    errno = 0;
    ERR_clear_error();
    const int result = SSL_write(stream->tls, bytes, count < INT_MAX ? (int)count : INT_MAX);
    return result > 0 ? result : tls_result(stream, result);
}

bool stream_wants_to_write(const struct stream *stream)
{
    return stream->wants_to_write;
}

bool stream_has_bytes(const struct stream *stream)
{
    return stream->tls != NULL && SSL_pending(stream->tls) > 0;
}

bool stream_is_from(const struct stream *stream, const char *name)
{
    if (stream->tls == NULL) {
        return true;
    }
    X509 *certificate = SSL_get0_peer_certificate(stream->tls);
    return certificate != NULL &&
           X509_check_host(
               certificate, name, strlen(name), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, NULL) == 1;
}

const char *stream_cause(const struct stream *stream)
{
    return stream->cause[0] == '\0' ? "closed" : stream->cause;
}
