/*
 * lobby.h - a server that is not ready yet: it listens while models are measured.
 *
 * Takes the ports at once, so that one that is taken is found before anything is measured, and
 * answers on a thread of its own: it is live, it is not ready, and requests should be tried again.
 * Then the server takes over the same sockets, so that no client is turned away.
 *
 *     lobby_open(&options, &lobby, &error);
 *     ...                                    measure
 *     lobby_leave(lobby, &sockets);
 *     server_start(&options, ...)            with these sockets
 *     lobby_destroy(lobby);
 */
#ifndef SERVER_LOBBY_H
#define SERVER_LOBBY_H

#include "server/access.h"
#include "server/http.h"

struct lobby;

struct lobby_options {
    const char *http; /* As in struct server_options. */
    const char *metrics;
    const char *tls_certificate;
    const char *tls_key;
    struct http_limits limits;
    struct access_options access;
};

/* Listening sockets, which the caller owns. 0: there is none. */
struct lobby_sockets {
    int http;
    int metrics;
};

/*
 * Listen, and answer until lobby_leave(). On success the caller owns *lobby_out.
 *
 * Errors: those of http_server_start() and access_open(); WEFT_IO without a thread.
 */
enum weft_status lobby_open(
    const struct lobby_options *options, struct lobby **lobby_out, struct weft_error *error);

/* Where it listens. Borrowed until it is left; NULL if it does not. */
const char *lobby_http_address(const struct lobby *lobby);
const char *lobby_metrics_address(const struct lobby *lobby);

/* Finish what was begun, which takes half a second at most, and give the sockets away. */
void lobby_leave(struct lobby *lobby, struct lobby_sockets *sockets_out);

/* Close everything. NULL is allowed. */
void lobby_destroy(struct lobby *lobby);

#endif /* SERVER_LOBBY_H */
