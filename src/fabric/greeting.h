/*
 * greeting.h - what two nodes say first, so that each knows who the other is and what it knows.
 *
 *     dialer ── HELLO ──► listener       who I am, who you should be, what all must agree on
 *            ◄── WELCOME ──              who I am, and a proof that I know the secret
 *            ── PROOF ──►                and mine
 */
#ifndef FABRIC_GREETING_H
#define FABRIC_GREETING_H

#include "fabric/trust.h"
#include "wire/bytes.h"

enum {
    HELLO_BYTES = 54,
    WELCOME_BYTES = 56,

    /* Of frames, which messages and rows travel in; those have a WIRE_VERSION of their own. */
    FRAME_VERSION = 2,

    /* Both, as a hello has them: frames in the first byte, what is in them in the second. */
    GREETING_FRAMES = 256,
    GREETING_VERSION = FRAME_VERSION + GREETING_FRAMES * WIRE_VERSION,
};

_Static_assert((int)FRAME_VERSION < GREETING_FRAMES, "it has one byte");
_Static_assert(GREETING_VERSION <= UINT16_MAX, "both have two");

struct hello {
    uint32_t from;
    uint32_t to;
    uint64_t from_incarnation;
    uint64_t to_incarnation; /* As the directory says; the listener must have it. */
    uint64_t agreement;      /* Of fleet and catalogue: numbers mean the same here and there. */
    uint8_t nonce[TRUST_NONCE_BYTES];
};

struct welcome {
    uint64_t incarnation;
    uint8_t nonce[TRUST_NONCE_BYTES];
    uint8_t proof[TRUST_PROOF_BYTES];
};

void hello_encode(const struct hello *hello, uint8_t bytes_out[HELLO_BYTES]);

/*
 * The version of @bytes if they begin a hello of any version, or 0. What it is read from stays
 * where it is in all versions, and so does FRAME_REFUSED: nodes of different versions understand
 * so much of each other.
 */
uint16_t hello_version(const uint8_t *bytes, size_t count);

/* False for anything that hello_encode() of this version cannot have written. */
bool hello_decode(const uint8_t *bytes, size_t count, struct hello *hello_out);

void welcome_encode(const struct welcome *welcome, uint8_t bytes_out[WELCOME_BYTES]);
bool welcome_decode(const uint8_t *bytes, size_t count, struct welcome *welcome_out);

/*
 * What each side proves: that it knows the secret, and has read both greetings as they were sent.
 * The two proofs of a connection differ, so neither side can send the other's back.
 */
void greeting_prove(
    const struct trust *trust, const struct hello *hello, const struct welcome *welcome,
    bool is_dialer, uint8_t proof_out[TRUST_PROOF_BYTES]);
bool greeting_is_proven(
    const struct trust *trust, const struct hello *hello, const struct welcome *welcome,
    bool is_dialer, const uint8_t proof[TRUST_PROOF_BYTES]);

#endif /* FABRIC_GREETING_H */
