#include "fabric/stream.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/memory.h"
#include "fabric/rings.h"
#include "fabric/trust.h"
#include "fabric/ucx.h"

enum {
    CAUSE_BYTES = 120,
    SEALED_BYTES = 256 * 1024, /* Encrypted and sent at once: records are small, and calls dear. */
};

struct stream {
    int socket;
    SSL *tls;    /* NULL: plain. */
    BIO *sealed; /* What it has encrypted and has not been sent; owned by it. */
    bool wants_to_write;
    bool was_short; /* The last read of a plain one: it took all that was there. */

    bool is_shared;      /* Bytes go through rings once both sides have shaken hands. */
    bool is_shaken;      /* They have. */
    struct rings *rings; /* NULL: none, or the other side has not passed them yet. */

    struct ucx_inlet *inlet; /* NULL: what comes is read from the socket. */
    struct ucx_outlet *outlet;
    char cause[CAUSE_BYTES];
};

static void note_cause(struct stream *stream, const char *text)
{
    if (stream->cause[0] == '\0') {
        (void)strncpy(stream->cause, text, CAUSE_BYTES - 1); /* The last byte stays 0. */
    }
}

static bool open_tls(struct stream *stream, const struct trust *trust, bool is_dialer)
{
    if (trust_tls(trust) == NULL) {
        return true;
    }
    stream->tls = SSL_new(trust_tls(trust));
    stream->sealed = BIO_new(BIO_s_mem());
    if (stream->tls == NULL || stream->sealed == NULL ||
        SSL_set_rfd(stream->tls, stream->socket) != 1) {
        SSL_free(stream->tls); /* NULL is allowed. The socket is not closed. */
        (void)BIO_free(stream->sealed);
        return false;
    }
    SSL_set0_wbio(stream->tls, stream->sealed);
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
    rings_destroy(stream->rings);
    (void)close(stream->socket); /* What was sent is the kernel's affair. */
    free(stream);
}

/* What a call of OpenSSL that gave no bytes means. */
static ptrdiff_t tls_result(struct stream *stream, int result)
{
    switch (SSL_get_error(stream->tls, result)) {
    case SSL_ERROR_WANT_READ:
        return 0;
    case SSL_ERROR_WANT_WRITE: /* There is always room in memory. */
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

/* Send what is encrypted, as far as there is room. False if the stream is over. */
static bool send_sealed(struct stream *stream)
{
    char *bytes;
    long count = BIO_get_mem_data(stream->sealed, &bytes);
    long sent = 0;
    long skipped = 0;
    while (sent < count) {
        const ptrdiff_t some = plain_result(
            stream,
            send(
                stream->socket, bytes + sent, (size_t)(count - sent), MSG_DONTWAIT | MSG_NOSIGNAL));
        if (some < 0) {
            return false;
        }
        if (some == 0) {
            break;
        }
        sent += some;
    }
    if (sent == count) {
        (void)BIO_reset(stream->sealed); /* Of memory: never fails. */
    }
    while (sent < count && skipped < sent) { /* There is no call to drop some of it. */
        uint8_t dropped[4096];
        const long some =
            sent - skipped < (long)sizeof(dropped) ? sent - skipped : (long)sizeof(dropped);
        skipped += BIO_read(stream->sealed, dropped, (int)some);
    }
    stream->wants_to_write = sent < count;
    return true;
}

static ptrdiff_t tls_read(struct stream *stream, void *bytes, size_t room)
{
    errno = 0;
    ERR_clear_error();
    const int result = SSL_read(stream->tls, bytes, room < INT_MAX ? (int)room : INT_MAX);
    const ptrdiff_t got = result > 0 ? result : tls_result(stream, result);
    return send_sealed(stream) ? got : -1; /* A handshake has something to say. */
}

static ptrdiff_t tls_write(struct stream *stream, const uint8_t *bytes, size_t count)
{
    size_t done = 0;
    errno = 0;
    ERR_clear_error();
    while (done < count && BIO_ctrl_pending(stream->sealed) < SEALED_BYTES) {
        const size_t left = count - done;
        const int result =
            SSL_write(stream->tls, bytes + done, left < INT_MAX ? (int)left : INT_MAX);
        if (result <= 0) {
            const ptrdiff_t outcome = tls_result(stream, result);
            if (outcome < 0) {
                return outcome;
            }
            break;
        }
        done += (size_t)result;
    }
    return send_sealed(stream) ? (ptrdiff_t)done : -1;
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
    stream->is_shaken = outcome == 1 && !stream->wants_to_write;
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
    if (got != 0) {
        return got;
    }
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

ptrdiff_t stream_write(struct stream *stream, const struct iovec *parts, int part_count)
{
    if (stream->is_shared) {
        const ptrdiff_t ready = shake_hands(stream);
        return ready == 1 ? shared_result(stream, rings_write(stream->rings, parts, part_count))
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
        const int first = part_count > 1 && parts[0].iov_len == 0 ? 1 : 0;
        return tls_write(stream, parts[first].iov_base, parts[first].iov_len);
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
    return stream->wants_to_write || (has_output && !stream->is_shared && stream->outlet == NULL);
}

bool stream_is_drained(const struct stream *stream)
{
    if (stream->is_shared || stream->inlet != NULL) {
        return false; /* Only a read that finds nothing asks to be woken. */
    }
    return stream->tls == NULL ? stream->was_short : SSL_has_pending(stream->tls) == 0;
}

bool stream_has_bytes(const struct stream *stream)
{
    return stream->tls != NULL && !stream->is_shared && SSL_has_pending(stream->tls) == 1;
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
