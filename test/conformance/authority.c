#include "conformance/authority.h"

#include <stdio.h>
#include <stdlib.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/assert.h"

enum { VALID_S = 3600, TEXT_BYTES = 128 };

struct authority {
    EVP_PKEY *key;
    X509 *certificate;
};

static void add_extension(X509 *certificate, int kind, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, kind, value);
    ASSERT(extension != NULL && X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

static X509 *make(EVP_PKEY *key, const char *name, long serial)
{
    X509 *certificate = X509_new();
    ASSERT(certificate != NULL && X509_set_version(certificate, X509_VERSION_3) == 1);
    ASSERT(X509_set_pubkey(certificate, key) == 1);
    ASSERT(ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial) == 1);
    ASSERT(X509_gmtime_adj(X509_getm_notBefore(certificate), -60) != NULL);
    ASSERT(X509_gmtime_adj(X509_getm_notAfter(certificate), VALID_S) != NULL);
    X509_NAME *subject = X509_get_subject_name(certificate);
    ASSERT(
        X509_NAME_add_entry_by_txt(
            subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0) == 1);
    return certificate;
}

static void write_certificate(X509 *certificate, const char *path)
{
    FILE *file = fopen(path, "wb");
    ASSERT(file != NULL && PEM_write_X509(file, certificate) == 1);
    ASSERT(fclose(file) == 0);
}

struct authority *authority_create(const char *path)
{
    struct authority *authority = calloc(1, sizeof(*authority));
    ASSERT(authority != NULL);
    authority->key = EVP_EC_gen("P-256");
    authority->certificate = make(authority->key, "authority", 1);
    ASSERT(
        X509_set_issuer_name(
            authority->certificate, X509_get_subject_name(authority->certificate)) == 1);
    add_extension(authority->certificate, NID_basic_constraints, "critical,CA:TRUE");
    ASSERT(X509_sign(authority->certificate, authority->key, EVP_sha256()) > 0);
    write_certificate(authority->certificate, path);
    return authority;
}

void authority_destroy(struct authority *authority)
{
    X509_free(authority->certificate);
    EVP_PKEY_free(authority->key);
    free(authority);
}

void authority_sign(
    const struct authority *authority, const char *name, const char *certificate_path,
    const char *key_path)
{
    char text[TEXT_BYTES];
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = make(key, name, 2);
    ASSERT(X509_set_issuer_name(certificate, X509_get_subject_name(authority->certificate)) == 1);
    (void)snprintf(text, sizeof(text), "DNS:%s", name);
    add_extension(certificate, NID_subject_alt_name, text);
    ASSERT(X509_sign(certificate, authority->key, EVP_sha256()) > 0);
    write_certificate(certificate, certificate_path);
    FILE *file = fopen(key_path, "wb");
    ASSERT(file != NULL && PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1);
    ASSERT(fclose(file) == 0);
    X509_free(certificate);
    EVP_PKEY_free(key);
}
