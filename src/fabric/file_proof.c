#include "fabric/file_proof.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/memory.h"
#include "base/text.h"
#include "fabric/trust.h"

enum {
    CERTIFICATE_BYTES_MAX = 3072,
    SIGNATURE_BYTES_MAX = 1024,
    CODE_DIGITS = 2 * TRUST_PROOF_BYTES,
};

_Static_assert(
    4 * (CERTIFICATE_BYTES_MAX + SIGNATURE_BYTES_MAX + 4) / 3 + 2 < FILE_PROOF_BYTES,
    "a certificate and a signature fit");

bool file_nonce(char nonce_out[static FILE_NONCE_BYTES])
{
    uint8_t bytes[TRUST_NONCE_BYTES];
    _Static_assert(FILE_NONCE_BYTES == 2 * TRUST_NONCE_BYTES + 1, "two digits for each byte");
    if (!trust_nonce(bytes)) {
        return false;
    }
    text_hex(nonce_out, bytes, sizeof(bytes));
    return true;
}

/* What is proven; the caller owns it. */
static char *statement(const char *label, const char *nonce, const char *text)
{
    const size_t room = strlen(label) + strlen(nonce) + strlen(text) + 8;
    char *whole = memory_zeroed(room, 1);
    (void)snprintf(whole, room, "weft\n%s\n%s\n%s", label, nonce, text);
    return whole;
}

static void make_code(const struct trust *trust, const char *whole, char code_out[CODE_DIGITS + 1])
{
    uint8_t code[TRUST_PROOF_BYTES];
    trust_prove(trust, (const uint8_t *)whole, strlen(whole), code);
    text_hex(code_out, code, sizeof(code));
}

/* Keys of Edwards curves hash by themselves. */
static const EVP_MD *digest_for(const EVP_PKEY *key)
{
    const int kind = EVP_PKEY_get_base_id(key);
    return kind == EVP_PKEY_ED25519 || kind == EVP_PKEY_ED448 ? NULL : EVP_sha256();
}

static size_t sign(const struct trust *trust, const char *whole, uint8_t *signature_out)
{
    EVP_PKEY *key = SSL_CTX_get0_privatekey(trust_tls(trust));
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    size_t count = SIGNATURE_BYTES_MAX;
    const bool is_made =
        context != NULL && key != NULL && EVP_PKEY_get_size(key) <= SIGNATURE_BYTES_MAX &&
        EVP_DigestSignInit(context, NULL, digest_for(key), NULL, key) == 1 &&
        EVP_DigestSign(context, signature_out, &count, (const uint8_t *)whole, strlen(whole)) == 1;
    EVP_MD_CTX_free(context);
    return is_made ? count : 0;
}

/* "CERTIFICATE SIGNATURE", in base64. */
static bool make_signed(const struct trust *trust, const char *whole, char *proof_out)
{
    uint8_t certificate[CERTIFICATE_BYTES_MAX];
    uint8_t signature[SIGNATURE_BYTES_MAX];
    uint8_t *end = certificate;
    const X509 *own = SSL_CTX_get0_certificate(trust_tls(trust));
    const int bytes = own == NULL ? -1 : i2d_X509(own, NULL);
    if (bytes <= 0 || bytes > CERTIFICATE_BYTES_MAX || i2d_X509(own, &end) != bytes) {
        return false;
    }
    const size_t count = sign(trust, whole, signature);
    int at = EVP_EncodeBlock((uint8_t *)proof_out, certificate, bytes);
    proof_out[at++] = ' ';
    (void)EVP_EncodeBlock((uint8_t *)proof_out + at, signature, (int)count);
    return count > 0;
}

bool file_proof_make(
    const struct trust *trust, const char *label, const char *nonce, const char *text,
    char proof_out[static FILE_PROOF_BYTES])
{
    bool is_made = true;
    char *whole = statement(label, nonce, text);
    if (trust_tls(trust) == NULL) {
        make_code(trust, whole, proof_out);
    } else {
        is_made = make_signed(trust, whole, proof_out);
    }
    ERR_clear_error();
    free(whole);
    return is_made;
}

/* The bytes of @count characters of base64. 0: they are none, or too many for @room. */
static size_t decode(const char *text, size_t count, uint8_t *out, size_t room)
{
    if (count == 0 || count % 4 != 0 || count / 4 * 3 > room) {
        return 0;
    }
    const int bytes = EVP_DecodeBlock(out, (const uint8_t *)text, (int)count);
    const size_t padding = (text[count - 1] == '=' ? 1u : 0u) + (text[count - 2] == '=' ? 1u : 0u);
    return bytes < 0 ? 0 : (size_t)bytes - padding;
}

/* Whether the authority of this cluster has signed @certificate, for a node called @name. */
static bool is_trusted(const struct trust *trust, X509 *certificate, const char *name)
{
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    const bool is_good =
        context != NULL &&
        X509_STORE_CTX_init(context, SSL_CTX_get_cert_store(trust_tls(trust)), certificate, NULL) ==
            1 &&
        X509_verify_cert(context) == 1 &&
        (name == NULL || X509_check_host(certificate, name, strlen(name), 0, NULL) == 1);
    X509_STORE_CTX_free(context);
    return is_good;
}

static bool is_signed_by(
    X509 *certificate, const char *whole, const uint8_t *signature, size_t signature_bytes)
{
    EVP_PKEY *key = X509_get0_pubkey(certificate);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const bool is_good =
        context != NULL && key != NULL &&
        EVP_DigestVerifyInit(context, NULL, digest_for(key), NULL, key) == 1 &&
        EVP_DigestVerify(
            context, signature, signature_bytes, (const uint8_t *)whole, strlen(whole)) == 1;
    EVP_MD_CTX_free(context);
    return is_good;
}

static bool check_signed(
    const struct trust *trust, const char *whole, const char *proof, const char *name)
{
    uint8_t bytes[CERTIFICATE_BYTES_MAX + 4];
    uint8_t signature[SIGNATURE_BYTES_MAX + 4];
    const char *space = strchr(proof, ' ');
    if (space == NULL) {
        return false;
    }
    const size_t count = decode(proof, (size_t)(space - proof), bytes, sizeof(bytes));
    const size_t signature_bytes =
        decode(space + 1, strlen(space + 1), signature, sizeof(signature));
    const uint8_t *at = bytes;
    X509 *certificate = count == 0 ? NULL : d2i_X509(NULL, &at, (long)count);
    const bool is_good = certificate != NULL && signature_bytes > 0 &&
                         is_trusted(trust, certificate, name) &&
                         is_signed_by(certificate, whole, signature, signature_bytes);
    X509_free(certificate);
    return is_good;
}

bool file_proof_check(
    const struct trust *trust, const char *label, const char *nonce, const char *text,
    const char *proof, const char *name)
{
    char code[CODE_DIGITS + 1];
    bool is_good;
    char *whole = statement(label, nonce, text);
    if (trust_tls(trust) == NULL) {
        make_code(trust, whole, code);
        is_good = strlen(proof) == CODE_DIGITS && CRYPTO_memcmp(code, proof, CODE_DIGITS) == 0;
    } else {
        is_good = check_signed(trust, whole, proof, name);
    }
    ERR_clear_error();
    free(whole);
    return is_good;
}
