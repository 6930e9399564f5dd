/*
 * listening.h - the server in front of a cluster, as a command line asks for it.
 */
#ifndef SERVICE_LISTENING_H
#define SERVICE_LISTENING_H

#include <stdbool.h>

#include <weft/status.h>

#include "base/limits.h"
#include "console/arguments.h"
#include "server/http.h"

enum { LISTENING_URL_BYTES = 128 };

#define LISTENING_URL_DEFAULT "http://127.0.0.1:8000" /* Where clients look by default. */

struct lobby;
struct runtime;
struct scenario;
struct server;
struct server_repository;

/* What stands behind the server. All are borrowed. */
struct listening_parts {
    struct runtime *runtime;
    const struct scenario *scenario;
    const struct server_repository *repository; /* NULL: clients are told of workflows alone. */
    const struct server_files *files;           /* For other nodes. NULL: there are none. */
    struct lobby *lobby;                        /* Which it takes over from. NULL: from none. */
    const char (*members)[NAME_BYTES_MAX];      /* As in struct server_options. */
};

/* Where clients reach a cluster. */
struct listen_where {
    const char *http;    /* "host:port". NULL: nowhere; the rest is ignored then. */
    const char *metrics; /* NULL: beside http, on port 8002; "none": nowhere. */
    const char *tls_certificate;
    const char *tls_key;
    const char *token_file;
    struct argument_list limits_given; /* "NAME=VALUE" each. */
    struct http_limits limits;         /* What those mean. All zero: the defaults. */
    const char *admin_token_file;
    const char *management; /* "local", "off" or "on". NULL: local. */
    bool ignores_priority;  /* What clients say of it. */
};

/*
 * Take the ports that @where names before there is anything to serve; *lobby_out stays NULL if it
 * names none. The caller owns it.
 *
 * Errors: those of lobby_open(); WEFT_INVALID for what cannot be understood.
 */
enum weft_status listening_begin(
    const struct listen_where *where, struct lobby **lobby_out, struct weft_error *error);

/*
 * Listen as @where says, which may be NULL; *server_out stays NULL if it says nowhere. The
 * caller owns it.
 *
 * Errors: those of server_start(), and the same.
 */
enum weft_status listening_open(
    const struct listen_where *where, const struct listening_parts *parts,
    struct server **server_out, struct weft_error *error);

/* The address of clients, with its scheme. */
void listening_url(
    const struct server *server, const struct listen_where *where, char out[LISTENING_URL_BYTES]);

/* One line that says where, for people and for the program that started this. */
void listening_print(const struct server *server, const struct listen_where *where);

#endif /* SERVICE_LISTENING_H */
