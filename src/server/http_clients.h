/*
 * http_clients.h - clients by their address: connections and bytes that are held for them.
 *
 * What there is for all has a bound, and of it what there is for one address, so that one
 * client cannot keep the others out. An address of IPv6 counts with its first 64 bits, which
 * is what one client is given. Bytes are held and given back on any thread, everything else is
 * done on that of the loop.
 */
#ifndef SERVER_HTTP_CLIENTS_H
#define SERVER_HTTP_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

struct http_exchange;
struct http_limits;
struct http_client;
struct http_clients;
struct sockaddr;

/* What a connection is. */
enum http_admission {
    HTTP_ADMITTED,
    HTTP_SPARE, /* Above a limit: it may ask how the server is, once, and nothing else. */
    HTTP_FULL,  /* Not even that. */
};

/* Why bytes cannot be held. */
enum http_held {
    HTTP_HELD,
    HTTP_HELD_BY_ALL,
    HTTP_HELD_BY_ADDRESS,
    HTTP_HELD_NEVER, /* More than one address may ever hold. */
};

/* Bytes that are held for a client, also after its connection. All zero: none. */
struct http_hold {
    struct http_client *client;
    uint64_t bytes;
};

/* @limits are borrowed, and complete. */
struct http_clients *http_clients_create(const struct http_limits *limits);

/* No more connections come. The memory is released with the last hold. NULL is allowed. */
void http_clients_destroy(struct http_clients *clients);

/* A connection from @address. The caller leaves *client_out; if there is no memory that is NULL. */
enum http_admission http_clients_enter(
    struct http_clients *clients, const struct sockaddr *address, struct http_client **client_out);

/* Whether @address is of this machine's loopback interface. */
bool http_client_is_local(const struct sockaddr *address);

/* A connection that was entered as @admission has ended. NULL is allowed. */
void http_client_leave(struct http_client *client, enum http_admission admission);

/* Hold nothing yet for the client of @exchange. The caller ends it. */
void http_hold_begin(struct http_hold *hold, const struct http_exchange *exchange);

/* Hold @bytes from now on instead of what was held. On failure that stays. Any thread. */
enum http_held http_hold_set(struct http_hold *hold, uint64_t bytes);

void http_hold_end(struct http_hold *hold);

/* What a client is told who cannot have it. */
const char *http_held_text(enum http_held held);

#endif /* SERVER_HTTP_CLIENTS_H */
