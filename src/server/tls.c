#include "server/tls.h"

#include <limits.h>
#include <stdlib.h>

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/error.h"
#include "base/memory.h"

struct tls_context {
    SSL_CTX *ssl;
};

struct tls_session {
    SSL *ssl; /* Owns both. */
    BIO *in;
    BIO *out;
};

/*
 * OpenSSL takes the reserve: where it has no memory for what goes with a private key, it signs
 * wrongly with it from then on.
 */
static void *take(size_t bytes, const char *file, int line)
{
    (void)file;
    (void)line;
    return memory_reserved(bytes);
}

static void *take_more(void *memory, size_t bytes, const char *file, int line)
{
    (void)file;
    (void)line;
    if (bytes == 0) {
        free(memory);
        return NULL;
    }
    return memory_reserved_more(memory, bytes);
}

static void give(void *memory, const char *file, int line)
{
    (void)file;
    (void)line;
    free(memory);
}

static const char *cause(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_last_error());
    return text == NULL ? "unknown cause" : text;
}

enum weft_status tls_context_create(
    const char *certificate, const char *key, struct tls_context **context_out,
    struct weft_error *error)
{
    (void)CRYPTO_set_mem_functions(take, take_more, give); /* Fails where it has begun already. */
    ERR_clear_error();
    SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());
    if (ssl == NULL) {
        return error_set(error, WEFT_NO_MEMORY, "TLS: %s", cause());
    }
    enum weft_status status = WEFT_OK;
    (void)SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
    (void)SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    (void)SSL_CTX_set_mode(
        ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                 SSL_MODE_RELEASE_BUFFERS);
    if (SSL_CTX_use_certificate_chain_file(ssl, certificate) != 1) {
        status = error_set(error, WEFT_INVALID, "%s: no certificate: %s", certificate, cause());
    } else if (SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1) {
        status = error_set(error, WEFT_INVALID, "%s: no usable key: %s", key, cause());
    }
    if (status != WEFT_OK) {
        SSL_CTX_free(ssl);
        return status;
    }
    *context_out = memory_zeroed(1, sizeof(**context_out));
    (*context_out)->ssl = ssl;
    return WEFT_OK;
}

void tls_context_destroy(struct tls_context *context)
{
    if (context != NULL) {
        SSL_CTX_free(context->ssl);
        free(context);
    }
}

struct tls_session *tls_session_create(struct tls_context *context)
{
    if (!memory_has_reserve()) {
        return NULL;
    }
    struct tls_session *session = calloc(1, sizeof(*session));
    SSL *ssl = SSL_new(context->ssl);
    BIO *in = BIO_new(BIO_s_mem());
    BIO *out = BIO_new(BIO_s_mem());
    if (session == NULL || ssl == NULL || in == NULL || out == NULL) {
        free(session);
        SSL_free(ssl);
        (void)BIO_free(in); /* NULL is allowed. */
        (void)BIO_free(out);
        return NULL;
    }
    (void)BIO_set_mem_eof_return(in, -1); /* Empty means: more will come. */
    SSL_set_bio(ssl, in, out);
    SSL_set_accept_state(ssl);
    *session = (struct tls_session){.ssl = ssl, .in = in, .out = out};
    return session;
}

void tls_session_destroy(struct tls_session *session)
{
    if (session != NULL) {
        SSL_free(session->ssl);
        free(session);
    }
}

bool tls_receive(struct tls_session *session, const void *bytes, size_t count)
{
    return count <= INT_MAX && BIO_write(session->in, bytes, (int)count) == (int)count;
}

int tls_read(struct tls_session *session, void *plain, size_t room)
{
    ERR_clear_error();
    const int got = SSL_read(session->ssl, plain, room > INT_MAX ? INT_MAX : (int)room);
    if (got > 0) {
        return got;
    }
    const int why = SSL_get_error(session->ssl, got);
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

bool tls_write(struct tls_session *session, const void *plain, size_t count)
{
    const char *bytes = plain;
    ERR_clear_error();
    while (count > 0) {
        const int wrote = SSL_write(session->ssl, bytes, count > INT_MAX ? INT_MAX : (int)count);
        if (wrote <= 0) {
            return false;
        }
        bytes += wrote;
        count -= (size_t)wrote;
    }
    return true;
}

size_t tls_pending(struct tls_session *session, void *cipher, size_t room)
{
    const int got = BIO_read(session->out, cipher, room > INT_MAX ? INT_MAX : (int)room);
    return got > 0 ? (size_t)got : 0;
}

bool tls_equal(const void *left, const void *right, size_t count)
{
    return CRYPTO_memcmp(left, right, count) == 0;
}
