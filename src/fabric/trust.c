#include "fabric/trust.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"

/* All that TLS 1.3 has but the rare, the fastest first: OpenSSL's own order has AES-256 first. */
#define CIPHERS "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

enum { SECRET_BYTES_MIN = 16, SECRET_BYTES_MAX = 4096 };

struct trust {
    SSL_CTX *tls; /* NULL: a secret. */
    size_t secret_bytes;
    uint8_t secret[SECRET_BYTES_MAX];
};

static const char *cause(void)
{
    const unsigned long code = ERR_peek_last_error();
    const char *text = ERR_reason_error_string(code);
    if (ERR_GET_REASON(code) == ERR_R_PEM_LIB || ERR_GET_REASON(code) == PEM_R_NO_START_LINE) {
        return "it has none in PEM";
    }
    return text == NULL ? "unknown cause" : text;
}

/* OpenSSL does not say why a file cannot be read. */
static enum weft_status check_readable(const char *path, struct weft_error *error)
{
    return access(path, R_OK) == 0
               ? WEFT_OK
               : error_set(error, WEFT_INVALID, "%s: %s", path, strerror(errno));
}

/*
 * Whether others will believe the certificate of @tls, if they have the same authority and their
 * clocks are right: who does not look finds out from their logs.
 */
static enum weft_status check_own(
    SSL_CTX *tls, const struct trust_files *files, struct weft_error *error)
{
    int verdict = X509_V_ERR_OUT_OF_MEM;
    X509_STORE_CTX *check = X509_STORE_CTX_new();
    if (check != NULL && X509_STORE_CTX_init(
                             check, SSL_CTX_get_cert_store(tls), SSL_CTX_get0_certificate(tls),
                             /* untrusted */ NULL) == 1) {
        verdict = X509_verify_cert(check) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(check);
    }
    X509_STORE_CTX_free(check); /* NULL is allowed. */
    switch (verdict) {
    case X509_V_OK:
        return WEFT_OK;
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return error_set(
            error, WEFT_INVALID, "%s: %s, by the clock of this machine", files->certificate,
            X509_verify_cert_error_string(verdict));
    default:
        return error_set(
            error, WEFT_INVALID, "%s: not signed by an authority in %s: %s", files->certificate,
            files->authority, X509_verify_cert_error_string(verdict));
    }
}

static enum weft_status use_files(
    SSL_CTX *tls, const struct trust_files *files, struct weft_error *error)
{
    if (check_readable(files->certificate, error) != WEFT_OK ||
        check_readable(files->key, error) != WEFT_OK ||
        check_readable(files->authority, error) != WEFT_OK) {
        return WEFT_INVALID;
    }
    if (SSL_CTX_use_certificate_chain_file(tls, files->certificate) != 1) {
        return error_set(
            error, WEFT_INVALID, "%s: no usable certificate: %s", files->certificate, cause());
    }
    if (SSL_CTX_use_PrivateKey_file(tls, files->key, SSL_FILETYPE_PEM) != 1) {
        return error_set(error, WEFT_INVALID, "%s: no usable key: %s", files->key, cause());
    }
    if (SSL_CTX_load_verify_locations(tls, files->authority, /* folder */ NULL) != 1) {
        return error_set(
            error, WEFT_INVALID, "%s: no usable certificate of an authority: %s", files->authority,
            cause());
    }
    return check_own(tls, files, error);
}

static enum weft_status make_tls(
    const struct trust_files *files, struct trust *trust, struct weft_error *error)
{
    ERR_clear_error();
    trust->tls = SSL_CTX_new(TLS_method());
    if (trust->tls == NULL) {
        return error_set(error, WEFT_NO_MEMORY, "TLS: %s", cause());
    }
    (void)SSL_CTX_set_min_proto_version(trust->tls, TLS1_3_VERSION);
    (void)SSL_CTX_set_ciphersuites(trust->tls, CIPHERS);
    (void)SSL_CTX_set_num_tickets(trust->tls, 0);
    (void)SSL_CTX_set_mode(
        trust->tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(trust->tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return use_files(trust->tls, files, error);
}

static enum weft_status read_secret(const char *path, struct trust *trust, struct weft_error *error)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return error_set(error, WEFT_INVALID, "%s: %s", path, strerror(errno));
    }
    uint8_t bytes[SECRET_BYTES_MAX + 1];
    const size_t count = fread(bytes, 1, sizeof(bytes), file);
    (void)fclose(file); /* It was only read. */
    const bool fits = count >= SECRET_BYTES_MIN && count <= SECRET_BYTES_MAX;
    if (fits) {
        memcpy(trust->secret, bytes, count);
        trust->secret_bytes = count;
    }
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return fits ? WEFT_OK
                : error_set(
                      error, WEFT_INVALID, "%s: a secret has %d to %d bytes", path,
                      SECRET_BYTES_MIN, SECRET_BYTES_MAX);
}

enum weft_status trust_create(
    const struct trust_files *files, struct trust **trust_out, struct weft_error *error)
{
    const bool is_tls =
        files->certificate != NULL && files->key != NULL && files->authority != NULL;
    if (!is_tls && files->secret == NULL) {
        return error_set(
            error, WEFT_INVALID,
            "nodes need a secret ('--cluster-secret-file'), or a certificate, its key and the "
            "authority's certificate ('--cluster-cert', '--cluster-key', '--cluster-ca')");
    }
    struct trust *trust = memory_zeroed(1, sizeof(*trust));
    const enum weft_status status =
        is_tls ? make_tls(files, trust, error) : read_secret(files->secret, trust, error);
    if (status != WEFT_OK) {
        trust_destroy(trust);
        return status;
    }
    *trust_out = trust;
    return WEFT_OK;
}

bool trust_is_for(const struct trust *trust, const char *name)
{
    X509 *own = trust->tls == NULL ? NULL : SSL_CTX_get0_certificate(trust->tls);
    return own == NULL || X509_check_host(own, name, strlen(name), 0, NULL) == 1;
}

void trust_destroy(struct trust *trust)
{
    if (trust == NULL) {
        return;
    }
    SSL_CTX_free(trust->tls); /* NULL is allowed. */
    OPENSSL_cleanse(trust->secret, sizeof(trust->secret));
    free(trust);
}

struct ssl_ctx_st *trust_tls(const struct trust *trust)
{
    return trust->tls;
}

void trust_prove(
    const struct trust *trust, const uint8_t *text, size_t count,
    uint8_t proof_out[TRUST_PROOF_BYTES])
{
    unsigned length = TRUST_PROOF_BYTES;
    memset(proof_out, 0, TRUST_PROOF_BYTES);
    if (trust->tls == NULL) {
        const uint8_t *made = HMAC(
            EVP_sha256(), trust->secret, (int)trust->secret_bytes, text, count, proof_out, &length);
        ASSERT(made != NULL && length == TRUST_PROOF_BYTES);
    }
}

bool trust_is_proven(
    const struct trust *trust, const uint8_t *text, size_t count,
    const uint8_t proof[TRUST_PROOF_BYTES])
{
    uint8_t expected[TRUST_PROOF_BYTES];
    trust_prove(trust, text, count, expected);
    return CRYPTO_memcmp(expected, proof, TRUST_PROOF_BYTES) == 0;
}

bool trust_nonce(uint8_t nonce_out[TRUST_NONCE_BYTES])
{
    return RAND_bytes(nonce_out, TRUST_NONCE_BYTES) == 1;
}
