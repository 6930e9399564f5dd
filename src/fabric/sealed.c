#include "fabric/sealed.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <openssl/bio.h>
#include <openssl/crypto.h>

#include "base/memory.h"
#include "base/numbers.h"

enum {
    IN_BYTES = 256 * 1024, /* Read at once. */
    OUT_BYTES = 20 * 1024, /* A record, which is all that waits but for a handshake. */
};

/* Bytes on their way. */
struct stock {
    uint8_t *bytes;
    size_t room;
    size_t at;
    size_t count;
};

struct sealed {
    int socket;
    int flags; /* Of send(), for what does not wait here. */
    bool was_short;
    struct stock in;
    struct stock out;
};

static size_t stock_left(const struct stock *stock)
{
    return stock->count - stock->at;
}

static bool is_for_later(void)
{
    return errno == EAGAIN || errno == EINTR || errno == ENOTCONN; /* The last: it connects. */
}

/* Keep what could not be sent. */
static bool keep(struct stock *out, const uint8_t *bytes, size_t count)
{
    if (out->count + count > out->room) {
        const size_t room = out->count + count + OUT_BYTES;
        uint8_t *more = memory_reserved_more(out->bytes, room);
        if (more == NULL) {
            errno = ENOMEM;
            return false;
        }
        out->bytes = more;
        out->room = room;
    }
    memcpy(out->bytes + out->count, bytes, count);
    out->count += count;
    return true;
}

/* Send some: how many bytes, 0 if there is no room, -1 with errno. */
static ptrdiff_t send_some(int socket, const uint8_t *bytes, size_t count, int flags)
{
    const ptrdiff_t sent = send(socket, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL | flags);
    return sent < 0 && is_for_later() ? 0 : sent;
}

/* As BIO_write(): all of it, or -1 with errno. */
static int on_write(BIO *bio, const char *given, int count)
{
    struct sealed *sealed = BIO_get_data(bio);
    const uint8_t *bytes = (const uint8_t *)given;
    size_t left = count > 0 ? (size_t)count : 0;
    while (left > 0 && sealed_is_sent(sealed)) {
        const ptrdiff_t sent = send_some(sealed->socket, bytes, left, sealed->flags);
        if (sent < 0) {
            return -1;
        }
        if (sent == 0) {
            break;
        }
        bytes += sent;
        left -= (size_t)sent;
    }
    return left == 0 || keep(&sealed->out, bytes, left) ? count : -1;
}

/* Read what is asked for from the socket, and what follows it to the stock. As BIO_read(). */
static int read_socket(struct sealed *sealed, BIO *bio, char *bytes, size_t count)
{
    struct stock *in = &sealed->in;
    struct iovec parts[2] = {
        {.iov_base = bytes, .iov_len = count}, {.iov_base = in->bytes, .iov_len = in->room}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    const ptrdiff_t got = recvmsg(sealed->socket, &message, MSG_DONTWAIT);
    sealed->was_short = got < (ptrdiff_t)(count + in->room);
    in->at = 0;
    in->count = 0;
    if (got < 0) {
        if (is_for_later()) {
            BIO_set_retry_read(bio);
        }
        return -1;
    }
    in->count = (size_t)got - min_size((size_t)got, count);
    return (int)min_size((size_t)got, count);
}

static int on_read(BIO *bio, char *bytes, int count)
{
    struct sealed *sealed = BIO_get_data(bio);
    struct stock *in = &sealed->in;
    BIO_clear_retry_flags(bio);
    if (count <= 0) {
        return 0;
    }
    if (stock_left(in) == 0) {
        return read_socket(sealed, bio, bytes, (size_t)count);
    }
    const size_t some = min_size(stock_left(in), (size_t)count);
    memcpy(bytes, in->bytes + in->at, some);
    in->at += some;
    return (int)some;
}

/* OpenSSL asks for more than it needs: it must be able to flush. */
static long on_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

/* One for the process, as OpenSSL has its own: streams keep it. */
static BIO_METHOD *method;
static CRYPTO_ONCE method_once = CRYPTO_ONCE_STATIC_INIT;

static void make_method(void)
{
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sealed");
    if (method != NULL) {
        (void)BIO_meth_set_write(method, on_write); /* None ever fails. */
        (void)BIO_meth_set_read(method, on_read);
        (void)BIO_meth_set_ctrl(method, on_control);
    }
}

struct bio_st *sealed_bio(struct sealed *sealed)
{
    (void)CRYPTO_THREAD_run_once(&method_once, make_method); /* Or there is no method. */
    BIO *bio = method == NULL ? NULL : BIO_new(method);
    if (bio != NULL) {
        BIO_set_data(bio, sealed);
        BIO_set_init(bio, 1);
    }
    return bio;
}

struct sealed *sealed_create(int socket)
{
    struct sealed *sealed = memory_reserved_zeroed(1, sizeof(*sealed));
    uint8_t *in = memory_reserved(IN_BYTES);
    if (sealed == NULL || in == NULL) {
        free(sealed);
        free(in);
        return NULL;
    }
    sealed->socket = socket;
    sealed->in = (struct stock){.bytes = in, .room = IN_BYTES};
    return sealed;
}

void sealed_destroy(struct sealed *sealed)
{
    if (sealed != NULL) {
        free(sealed->in.bytes);
        free(sealed->out.bytes);
        free(sealed);
    }
}

void sealed_expect_more(struct sealed *sealed, bool is_more)
{
    sealed->flags = is_more ? MSG_MORE : 0;
}

bool sealed_flush(struct sealed *sealed)
{
    struct stock *out = &sealed->out;
    while (stock_left(out) > 0) {
        const ptrdiff_t sent =
            send_some(sealed->socket, out->bytes + out->at, stock_left(out), /* flags */ 0);
        if (sent <= 0) {
            return sent == 0;
        }
        out->at += (size_t)sent;
    }
    out->at = 0;
    out->count = 0;
    return true;
}

bool sealed_is_sent(const struct sealed *sealed)
{
    return stock_left(&sealed->out) == 0;
}

bool sealed_has_bytes(const struct sealed *sealed)
{
    return stock_left(&sealed->in) > 0;
}

bool sealed_was_short(const struct sealed *sealed)
{
    return sealed->was_short;
}
