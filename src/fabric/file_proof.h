/*
 * file_proof.h - what shows that a node of the cluster said something, over plain HTTP.
 *
 * With a secret it is a code that only those who know it can make; with certificates, a signature
 * and the certificate of the node that signed. Every proof is of one use (@label) and answers the
 * @nonce of the other side, so that it can be used nowhere else and not again later.
 */
#ifndef FABRIC_FILE_PROOF_H
#define FABRIC_FILE_PROOF_H

#include <stdbool.h>
#include <stddef.h>

struct trust;

enum {
    FILE_PROOF_BYTES = 6144, /* With the zero at its end: of certificates of any usual size. */
    FILE_NONCE_BYTES = 33,   /* Digits, and a zero. */
};

/* Digits that cannot be guessed. False if the system has none. */
bool file_nonce(char nonce_out[static FILE_NONCE_BYTES]);

/* Show that this node says @text. False if its certificate is too large, or there is no memory. */
bool file_proof_make(
    const struct trust *trust, const char *label, const char *nonce, const char *text,
    char proof_out[static FILE_PROOF_BYTES]);

/* Whether @proof shows that a node said @text; with certificates and a @name, the one so called. */
bool file_proof_check(
    const struct trust *trust, const char *label, const char *nonce, const char *text,
    const char *proof, const char *name);

#endif /* FABRIC_FILE_PROOF_H */
