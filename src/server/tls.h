/*
 * tls.h - TLS over memory: bytes of the socket in, bytes for the socket out.
 *
 * OpenSSL never sees a socket; the connection moves the bytes. TLS 1.2 and 1.3.
 */
#ifndef SERVER_TLS_H
#define SERVER_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

struct tls_context;
struct tls_session;

/* Certificate (chain) and key in PEM. Errors: WEFT_INVALID; @error names the file and the cause. */
enum weft_status tls_context_create(
    const char *certificate, const char *key, struct tls_context **context_out,
    struct weft_error *error);

/* NULL is allowed. Sessions that are left keep what they need. */
void tls_context_destroy(struct tls_context *context);

/* The server's side of one connection. NULL if there is no memory. */
struct tls_session *tls_session_create(struct tls_context *context);
void tls_session_destroy(struct tls_session *session);

/* Bytes have come from the socket. False if there is no memory for them. */
bool tls_receive(struct tls_session *session, const void *bytes, size_t count);

/*
 * Read up to @room bytes of plain text. Returns how many; 0 if more must be received
 * first; negative if the session is over or broken.
 */
int tls_read(struct tls_session *session, void *plain, size_t room);

/* Encrypt @count > 0 bytes. False if the session is broken. */
bool tls_write(struct tls_session *session, const void *plain, size_t count);

/* Take up to @room bytes that must go to the socket. Returns how many. */
size_t tls_pending(struct tls_session *session, void *cipher, size_t room);

/* Whether @left and @right are equal, in a time that depends on @count alone. */
bool tls_equal(const void *left, const void *right, size_t count);

#endif /* SERVER_TLS_H */
