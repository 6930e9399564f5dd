#include "serving/tls_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "base/assert.h"
#include "base/memory.h"

enum { REPLY_BYTES = 1 << 20, VALID_S = 3600 };

static FILE *open_new(char *path)
{
    const int descriptor = mkstemp(path);
    ASSERT(descriptor >= 0);
    FILE *file = fdopen(descriptor, "w");
    ASSERT(file != NULL);
    return file;
}

void tls_client_certify(char *certificate_path, char *key_path)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    ASSERT(key != NULL);
    ASSERT(certificate != NULL);
    ASSERT(X509_set_pubkey(certificate, key) == 1);
    ASSERT(ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1);
    ASSERT(X509_gmtime_adj(X509_getm_notBefore(certificate), 0) != NULL);
    ASSERT(X509_gmtime_adj(X509_getm_notAfter(certificate), VALID_S) != NULL);
    ASSERT(X509_sign(certificate, key, EVP_sha256()) > 0);
    FILE *file = open_new(certificate_path);
    ASSERT(PEM_write_X509(file, certificate) == 1);
    ASSERT(fclose(file) == 0);
    file = open_new(key_path);
    ASSERT(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1);
    ASSERT(fclose(file) == 0);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

char *tls_client_ask(int descriptor, const char *bytes, size_t count)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *session = SSL_new(context);
    char *reply = memory_zeroed(1, REPLY_BYTES);
    size_t length = 0;
    ASSERT(SSL_set_fd(session, descriptor) == 1);
    ASSERT(SSL_connect(session) == 1);
    (void)SSL_write(session, bytes, (int)count); /* A refusal may come before the end. */
    int got = 1;
    while (got > 0) {
        got = SSL_read(session, reply + length, (int)(REPLY_BYTES - 1 - length));
        length += got > 0 ? (size_t)got : 0;
    }
    SSL_free(session);
    SSL_CTX_free(context);
    return reply;
}
