#include "service/listening.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/units.h"
#include "document/scenario.h"
#include "server/server.h"

#define METRICS_PORT ":8002"

/* The host that clients reach, on the port of metrics. */
static void choose_metrics(const char *http, char *address, size_t room)
{
    const char *colon = strrchr(http, ':');
    const size_t host = colon == NULL ? 0 : (size_t)(colon - http);
    (void)snprintf(address, room, "%.*s%s", (int)host, http, METRICS_PORT);
}

static enum weft_status read_management(
    const char *text, enum access_management *out, struct weft_error *error)
{
    static const struct {
        const char *text;
        enum access_management management;
    } modes[] = {{"local", ACCESS_LOCAL}, {"off", ACCESS_NOBODY}, {"on", ACCESS_EVERYBODY}};
    for (size_t i = 0; i < ARRAY_COUNT(modes); i++) {
        if (strcmp(text == NULL ? "local" : text, modes[i].text) == 0) {
            *out = modes[i].management;
            return WEFT_OK;
        }
    }
    return error_set(
        error, WEFT_INVALID, "'--management' is 'local', 'off' or 'on', not '%s'", text);
}

/* Everything of @where that a lobby and a server have in common. @room must live as long. */
static enum weft_status read_where(
    const struct listen_where *where, char room[static HTTP_ADDRESS_BYTES],
    struct lobby_options *options_out, struct weft_error *error)
{
    *options_out = (struct lobby_options){
        .http = where->http,
        .metrics = where->metrics,
        .tls_certificate = where->tls_certificate,
        .tls_key = where->tls_key,
        .limits = where->limits,
        .access = {.token_file = where->token_file, .admin_token_file = where->admin_token_file},
    };
    if (where->metrics == NULL) {
        choose_metrics(where->http, room, HTTP_ADDRESS_BYTES);
        options_out->metrics = room;
    } else if (strcmp(where->metrics, "none") == 0) {
        options_out->metrics = NULL;
    }
    if ((where->tls_certificate == NULL) != (where->tls_key == NULL)) {
        return error_set(error, WEFT_INVALID, "TLS needs both a certificate and a key");
    }
    return read_management(where->management, &options_out->access.management, error);
}

/* Say in @error, of a port that is taken, which option chooses another. */
static enum weft_status name_option(
    const struct lobby_options *options, enum weft_status status, struct weft_error *error)
{
    static const char taken[] = "address already in use";
    if (status == WEFT_OK || error == NULL || strstr(error->message, taken) == NULL) {
        return status;
    }
    const bool is_metrics =
        options->metrics != NULL && strstr(error->message, options->metrics) != NULL;
    const size_t length = strlen(error->message);
    (void)snprintf(
        error->message + length, sizeof(error->message) - length, "; '%s' chooses another",
        is_metrics ? "--metrics" : "--http");
    return status;
}

enum weft_status listening_begin(
    const struct listen_where *where, struct lobby **lobby_out, struct weft_error *error)
{
    char room[HTTP_ADDRESS_BYTES];
    struct lobby_options options;
    if (where == NULL || where->http == NULL) {
        return WEFT_OK;
    }
    const enum weft_status status = read_where(where, room, &options, error);
    if (status != WEFT_OK) {
        return status;
    }
    return name_option(&options, lobby_open(&options, lobby_out, error), error);
}

enum weft_status listening_open(
    const struct listen_where *where, const struct listening_parts *parts,
    struct server **server_out, struct weft_error *error)
{
    ASSERT(parts->runtime != NULL && parts->scenario != NULL);
    char room[HTTP_ADDRESS_BYTES];
    struct lobby_options common;
    if (where == NULL || where->http == NULL) {
        return WEFT_OK;
    }
    const enum weft_status status = read_where(where, room, &common, error);
    if (status != WEFT_OK) {
        return status;
    }
    struct server_options options = {
        .runtime = parts->runtime,
        .fleet = parts->scenario->fleet,
        .catalogue = parts->scenario->catalogue,
        .http = common.http,
        .metrics = common.metrics,
        .tls_certificate = common.tls_certificate,
        .tls_key = common.tls_key,
        .limits = common.limits,
        .access = common.access,
        .ignores_priority = where->ignores_priority,
        .members = parts->members,
    };
    if (parts->repository != NULL) {
        options.repository = *parts->repository;
    }
    if (parts->files != NULL) {
        options.files = *parts->files;
    }
    if (parts->lobby != NULL) {
        lobby_leave(parts->lobby, &options.sockets);
    }
    return name_option(&common, server_start(&options, server_out, error), error);
}

static const char *scheme_of(const struct listen_where *where)
{
    return where->tls_certificate == NULL ? "http" : "https";
}

void listening_url(
    const struct server *server, const struct listen_where *where, char out[LISTENING_URL_BYTES])
{
    ASSERT(where->http != NULL);
    (void)snprintf(
        out, LISTENING_URL_BYTES, "%s://%s", scheme_of(where), server_http_address(server));
}

void listening_print(const struct server *server, const struct listen_where *where)
{
    char url[LISTENING_URL_BYTES];
    const char *metrics = server_metrics_address(server);
    listening_url(server, where, url);
    (void)printf("listening on %s", url);
    if (metrics != NULL) {
        (void)printf(", metrics on %s://%s/metrics", scheme_of(where), metrics);
    }
    (void)printf("\n");
    (void)fflush(stdout); /* Whether it could be written is asked at the end. */
}
