/*
 * trust.h - how nodes know each other: by certificates of one authority, or by a shared secret.
 *
 * With certificates everything between nodes is encrypted (TLS 1.3, both sides checked), and a node
 * is who its certificate says. With a secret both sides prove that they know it, and nothing more:
 * for a machine alone, or a network that only they can reach.
 */
#ifndef FABRIC_TRUST_H
#define FABRIC_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

struct ssl_ctx_st;
struct trust;

enum { TRUST_PROOF_BYTES = 32, TRUST_NONCE_BYTES = 16 };

/* Files in PEM: the first three, or the secret alone. */
struct trust_files {
    const char *certificate;
    const char *key;
    const char *authority;
    const char *secret; /* 16 to 4096 bytes of any kind. */
};

/*
 * The caller owns *trust_out.
 *
 * Errors: WEFT_INVALID for a file that cannot be used, which @error names with the cause.
 */
enum weft_status trust_create(
    const struct trust_files *files, struct trust **trust_out, struct weft_error *error);

/* Whether other nodes will take this one for @name: not if it has a certificate for another. */
bool trust_is_for(const struct trust *trust, const char *name);

/* NULL is allowed. Streams that are left keep what they need. */
void trust_destroy(struct trust *trust);

/* NULL if there is only a secret. Borrowed. */
struct ssl_ctx_st *trust_tls(const struct trust *trust);

/* What shows that this side knows the secret: all zero if there is none to know. */
void trust_prove(
    const struct trust *trust, const uint8_t *text, size_t count,
    uint8_t proof_out[TRUST_PROOF_BYTES]);

/* Whether @proof is what trust_prove() makes of @text, in a time that tells nothing. */
bool trust_is_proven(
    const struct trust *trust, const uint8_t *text, size_t count,
    const uint8_t proof[TRUST_PROOF_BYTES]);

/* Bytes that cannot be guessed. False if the system has none. */
bool trust_nonce(uint8_t nonce_out[TRUST_NONCE_BYTES]);

#endif /* FABRIC_TRUST_H */
