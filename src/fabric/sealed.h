/*
 * sealed.h - encrypted bytes between TLS and a socket that never blocks.
 *
 * OpenSSL hands over one record of 16 KiB after the other. Each goes straight from its buffer to
 * the socket; what the socket has no room for waits here. What comes is read in large pieces, and
 * handed on as OpenSSL asks for it: the head of a record, then the rest. Both cost less than what
 * OpenSSL itself has for them: its memory clears all that it ever held for each use, and its
 * read-ahead asks the system once more for the end of each last record.
 */
#ifndef FABRIC_SEALED_H
#define FABRIC_SEALED_H

#include <stdbool.h>

struct bio_st;
struct sealed;

/* NULL if there is no memory. @socket is borrowed. */
struct sealed *sealed_create(int socket);

/* After the BIO. NULL is allowed. */
void sealed_destroy(struct sealed *sealed);

/* What OpenSSL reads and writes, for SSL_set_bio(). NULL: no memory. The caller owns it. */
struct bio_st *sealed_bio(struct sealed *sealed);

/*
 * Whether more follows at once on what is written from now on: the system then waits for it, and
 * sends full segments.
 */
void sealed_expect_more(struct sealed *sealed, bool is_more);

/* Send what waits, as far as there is room. False, with errno, if the socket is broken. */
bool sealed_flush(struct sealed *sealed);

/* Whether all that was encrypted has been sent. */
bool sealed_is_sent(const struct sealed *sealed);

/* Whether there are bytes here that OpenSSL has not asked for yet. */
bool sealed_has_bytes(const struct sealed *sealed);

/* Whether the last read from the socket took all that was there. */
bool sealed_was_short(const struct sealed *sealed);

#endif /* FABRIC_SEALED_H */
