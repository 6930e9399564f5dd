#include "cli/listening.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
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
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(text == NULL ? "local" : text, modes[i].text) == 0) {
            *out = modes[i].management;
            return WEFT_OK;
        }
    }
    return error_set(
        error, WEFT_INVALID, "'--management' is 'local', 'off' or 'on', not '%s'", text);
}

enum weft_status listening_open(
    const struct listen_where *where, struct runtime *runtime, const struct scenario *scenario,
    const struct server_repository *repository, struct server **server_out,
    struct weft_error *error)
{
    char beside[HTTP_ADDRESS_BYTES];
    if (where == NULL || where->http == NULL) {
        return WEFT_OK;
    }
    const char *metrics = where->metrics;
    if (metrics == NULL) {
        choose_metrics(where->http, beside, sizeof(beside));
        metrics = beside;
    } else if (strcmp(metrics, "none") == 0) {
        metrics = NULL;
    }
    struct server_options options = {
        .runtime = runtime,
        .fleet = scenario->fleet,
        .catalogue = scenario->catalogue,
        .http = where->http,
        .metrics = metrics,
        .tls_certificate = where->tls_certificate,
        .tls_key = where->tls_key,
        .access = {.token_file = where->token_file, .admin_token_file = where->admin_token_file},
        .limits = where->limits,
    };
    const enum weft_status status =
        read_management(where->management, &options.access.management, error);
    if (status != WEFT_OK) {
        return status;
    }
    if (repository != NULL) {
        options.repository = *repository;
    }
    return server_start(&options, server_out, error);
}

static const char *scheme_of(const struct listen_where *where)
{
    return where->tls_certificate == NULL ? "http" : "https";
}

void listening_url(
    const struct server *server, const struct listen_where *where, char out[LISTENING_URL_BYTES])
{
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
