#include "fabric/stream.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "fabric/rings.h"
#include "fabric/sealed.h"
#include "fabric/trust.h"
#include "fabric/ucx.h"

enum { CAUSE_BYTES = 120 };

struct stream {
    int socket;
    SSL *tls; /* NULL: plain. */
    struct sealed *sealed;
    bool was_short; /* The last read of a plain one: it took all that was there. */

    bool is_shared;      /* Bytes go through rings once both sides have shaken hands. */
    bool is_shaken;      /* They have. */
    struct rings *rings; /* NULL: none, or the other side has not passed them yet. */

    struct ucx_inlet *inlet; /* NULL: what comes is read from the socket. */
    bool has_beside;         /* Something has come there that was not looked at. */
    struct ucx_outlet *outlet;
    char cause[CAUSE_BYTES];
};

static void note_cause(struct stream *stream, const char *text)
{
    if (stream->cause[0] == '\0') {
        (void)snprintf(stream->cause, sizeof(stream->cause), "%s", text);
    }
}

static bool open_tls(struct stream *stream, const struct trust *trust, bool is_dialer)
{
    if (trust_tls(trust) == NULL) {
        return true;
    }
    stream->tls = SSL_new(trust_tls(trust));
    stream->sealed = sealed_create(stream->socket);
    BIO *both = stream->sealed == NULL ? NULL : sealed_bio(stream->sealed);
    if (stream->tls == NULL || both == NULL) {
        SSL_free(stream->tls); /* NULL is allowed. */
        (void)BIO_free(both);
        sealed_destroy(stream->sealed);
        return false;
    }
    SSL_set_bio(stream->tls, both, both);
    if (is_dialer) {
        SSL_set_connect_state(stream->tls);
    } else {
        SSL_set_accept_state(stream->tls);
    }
    return true;
}

struct stream *stream_create(const struct trust *trust, int socket, bool is_dialer)
{
    struct stream *stream = memory_reserved_zeroed(1, sizeof(*stream));
    if (stream == NULL) {
        return NULL;
    }
    stream->socket = socket;
    if (!open_tls(stream, trust, is_dialer)) {
        free(stream);
        return NULL;
    }
    return stream;
}

struct stream *stream_create_shared(const struct trust *trust, int socket, bool is_dialer)
{
    struct rings *rings = is_dialer ? rings_create(socket) : NULL;
    if (is_dialer && rings == NULL) {
        return NULL;
    }
    struct stream *stream = stream_create(trust, socket, is_dialer);
    if (stream == NULL) {
        rings_destroy(rings);
        return NULL;
    }
    if (stream->tls != NULL) {
        /* Nothing but wake-ups may follow the handshake. Of a number this size: never fails. */
        (void)SSL_set_num_tickets(stream->tls, 0);
    }
    stream->is_shared = true;
    stream->rings = rings;
    return stream;
}

void stream_use_inlet(struct stream *stream, struct ucx_inlet *inlet)
{
    stream->inlet = inlet;
    stream->has_beside = true; /* It may have been read with what came before. */
}

void stream_note_socket(struct stream *stream)
{
    stream->has_beside = true;
}

void stream_use_outlet(struct stream *stream, struct ucx_outlet *outlet)
{
    stream->outlet = outlet;
}

void stream_close_lanes(struct stream *stream)
{
    ucx_inlet_destroy(stream->inlet); /* NULL is allowed. */
    ucx_outlet_destroy(stream->outlet);
    stream->inlet = NULL;
    stream->outlet = NULL;
}

void stream_destroy(struct stream *stream)
{
    if (stream == NULL) {
        return;
    }
    stream_close_lanes(stream);
    SSL_free(stream->tls);
    sealed_destroy(stream->sealed);
    rings_destroy(stream->rings);
    (void)close(stream->socket); /* What was sent is the kernel's affair. */
    free(stream);
}

/* Note what OpenSSL says: what is wrong here, or what the other side has objected to. */
static void note_reason(struct stream *stream, long verdict)
{
    const char *reason = verdict == X509_V_OK ? ERR_reason_error_string(ERR_peek_last_error())
                                              : X509_verify_cert_error_string(verdict);
    static const char alert[] = " alert ";
    const char *said = reason == NULL ? NULL : strstr(reason, alert);
    char text[CAUSE_BYTES];
    if (verdict != X509_V_OK) {
        (void)snprintf(text, sizeof(text), "its certificate: %s", reason);
    } else if (said != NULL) {
        (void)snprintf(
            text, sizeof(text), "it objects to the certificate of this node: %s",
            said + strlen(alert));
    } else {
        (void)snprintf(text, sizeof(text), "%s", reason == NULL ? "broken TLS" : reason);
    }
    note_cause(stream, text);
}

/* What a call of OpenSSL that gave no bytes means. */
static ptrdiff_t tls_result(struct stream *stream, int result)
{
    switch (SSL_get_error(stream->tls, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: /* What it writes is always taken. */
        return 0;
    case SSL_ERROR_ZERO_RETURN:
        note_cause(stream, "closed by the peer");
        return -1;
    case SSL_ERROR_SYSCALL:
        note_cause(stream, errno == 0 ? "closed by the peer" : strerror(errno));
        return -1;
    default:
        note_reason(stream, SSL_get_verify_result(stream->tls));
        return -1;
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

/* Send what is encrypted, as far as there is room. False if the stream is over. */
static bool send_sealed(struct stream *stream)
{
    if (sealed_flush(stream->sealed)) {
        return true;
    }
    note_cause(stream, strerror(errno));
    return false;
}

static ptrdiff_t tls_read(struct stream *stream, void *bytes, size_t room)
{
    errno = 0;
    ERR_clear_error();
    const int result = SSL_read(stream->tls, bytes, room < INT_MAX ? (int)room : INT_MAX);
    return result > 0 ? result : tls_result(stream, result);
}

/* Write @bytes, as far as there is room; @is_more: something follows. */
static ptrdiff_t tls_write(struct stream *stream, const struct iovec *bytes, bool is_more)
{
    size_t done = 0;
    errno = 0;
    ERR_clear_error();
    while (done < bytes->iov_len && sealed_is_sent(stream->sealed)) {
        const size_t left = bytes->iov_len - done;
        sealed_expect_more(stream->sealed, is_more || left > SSL3_RT_MAX_PLAIN_LENGTH);
        const int result = SSL_write(
            stream->tls, (const uint8_t *)bytes->iov_base + done,
            (int)min_size(left, SSL3_RT_MAX_PLAIN_LENGTH));
        if (result <= 0) {
            const ptrdiff_t outcome = tls_result(stream, result);
            if (outcome < 0) {
                return outcome;
            }
            break;
        }
        done += (size_t)result;
    }
    sealed_expect_more(stream->sealed, false);
    return (ptrdiff_t)done;
}

static ptrdiff_t tls_write_parts(struct stream *stream, const struct iovec *parts, int part_count)
{
    ptrdiff_t written = 0;
    if (!send_sealed(stream)) {
        return -1;
    }
    for (int i = 0; i < part_count; i++) {
        const ptrdiff_t some = tls_write(stream, &parts[i], i + 1 < part_count);
        if (some < 0) {
            return -1;
        }
        written += some;
        if ((size_t)some < parts[i].iov_len) {
            break;
        }
    }
    return written;
}

/* Whether both sides have shaken hands, so that the rings can be used: 1, 0 or -1 as above. */
static ptrdiff_t shake_hands(struct stream *stream)
{
    if (stream->rings == NULL) {
        const char *cause;
        stream->rings = rings_accept(stream->socket, &cause);
        if (stream->rings == NULL && cause == NULL) {
            return 0;
        }
        if (stream->rings == NULL) {
            note_cause(stream, cause);
            return -1;
        }
    }
    if (stream->tls == NULL || stream->is_shaken) {
        return 1;
    }
    errno = 0;
    ERR_clear_error();
    const int result = SSL_do_handshake(stream->tls);
    const ptrdiff_t outcome = result == 1 ? 1 : tls_result(stream, result);
    if (!send_sealed(stream)) {
        return -1;
    }
    stream->is_shaken = outcome == 1 && sealed_is_sent(stream->sealed);
    return outcome == 1 && !stream->is_shaken ? 0 : outcome;
}

/* What a call for the rings says. */
static ptrdiff_t shared_result(struct stream *stream, ptrdiff_t result)
{
    if (result < 0) {
        note_cause(stream, rings_cause(stream->rings));
    }
    return result;
}

/* Read from the socket. */
static ptrdiff_t socket_read(struct stream *stream, void *bytes, size_t room)
{
    if (stream->tls == NULL) {
        const ptrdiff_t got = plain_result(stream, recv(stream->socket, bytes, room, MSG_DONTWAIT));
        stream->was_short = got < (ptrdiff_t)room;
        return got;
    }
    return tls_read(stream, bytes, room);
}

/* Read from the inlet; nothing but its end comes by the socket. */
static ptrdiff_t inlet_read(struct stream *stream, void *bytes, size_t room)
{
    uint8_t byte;
    const ptrdiff_t got = ucx_inlet_read(stream->inlet, bytes, room);
    if (got < 0) {
        note_cause(stream, "a message of UCX is missing");
    }
    if (got != 0 || !(stream->has_beside || stream_has_bytes(stream))) {
        return got;
    }
    stream->has_beside = false;
    const ptrdiff_t beside = socket_read(stream, &byte, 1);
    if (beside > 0) {
        note_cause(stream, "bytes beside UCX");
    }
    return beside == 0 ? 0 : -1;
}

ptrdiff_t stream_read(struct stream *stream, void *bytes, size_t room)
{
    if (stream->is_shared) {
        const ptrdiff_t ready = shake_hands(stream);
        return ready == 1 ? shared_result(stream, rings_read(stream->rings, bytes, room)) : ready;
    }
    return stream->inlet != NULL ? inlet_read(stream, bytes, room)
                                 : socket_read(stream, bytes, room);
}

ptrdiff_t stream_write(
    struct stream *stream, const struct iovec *parts, int part_count, bool is_quiet)
{
    if (stream->is_shared) {
        const ptrdiff_t ready = shake_hands(stream);
        return ready == 1
                   ? shared_result(stream, rings_write(stream->rings, parts, part_count, is_quiet))
                   : ready;
    }
    if (stream->outlet != NULL) {
        const ptrdiff_t sent = ucx_outlet_write(stream->outlet, parts, part_count);
        if (sent < 0) {
            note_cause(stream, "broken, as UCX says");
        }
        return sent;
    }
    if (stream->tls != NULL) {
        return tls_write_parts(stream, parts, part_count);
    }
    const struct msghdr message = {
        .msg_iov = (struct iovec *)(uintptr_t)parts, /* It is only read. */
        .msg_iovlen = (size_t)part_count,
    };
    return plain_result(stream, sendmsg(stream->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL));
}

bool stream_flush(struct stream *stream)
{
    return stream->tls == NULL || send_sealed(stream);
}

bool stream_wants_to_write(const struct stream *stream, bool has_output)
{
    const bool has_sealed = stream->tls != NULL && !sealed_is_sent(stream->sealed);
    return has_sealed || (has_output && !stream->is_shared && stream->outlet == NULL);
}

bool stream_is_drained(const struct stream *stream)
{
    if (stream->is_shared || stream->inlet != NULL) {
        return false; /* Only a read that finds nothing asks to be woken. */
    }
    return stream->tls == NULL ? stream->was_short
                               : sealed_was_short(stream->sealed) && !stream_has_bytes(stream);
}

bool stream_has_bytes(const struct stream *stream)
{
    return stream->tls != NULL && !stream->is_shared &&
           (sealed_has_bytes(stream->sealed) || SSL_has_pending(stream->tls) == 1);
}

bool stream_attend(struct stream *stream, bool attends)
{
    return stream->rings != NULL && rings_attend(stream->rings, attends);
}

bool stream_has_news(const struct stream *stream)
{
    return stream->rings != NULL && rings_has_bytes(stream->rings);
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
