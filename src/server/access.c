#include "server/access.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "protocol/http_head.h"
#include "server/tls.h"

static enum weft_status read_token(
    const char *path, struct access_token *token, struct weft_error *error)
{
    if (path == NULL) {
        return WEFT_OK;
    }
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return error_set(error, WEFT_IO, "%s: %s", path, strerror(errno));
    }
    const size_t count = fread(token->bytes, 1, sizeof(token->bytes), file);
    const bool has_failed = ferror(file) != 0;
    (void)fclose(file); /* It was only read. */
    if (has_failed) {
        return error_set(error, WEFT_IO, "%s: cannot be read", path);
    }
    token->length = count;
    while (token->length > 0 &&
           (token->bytes[token->length - 1] == '\n' || token->bytes[token->length - 1] == '\r')) {
        token->length--;
    }
    if (token->length == 0 || count == sizeof(token->bytes)) {
        return error_set(
            error, WEFT_INVALID, "%s: a token has 1 to %d bytes", path, ACCESS_TOKEN_BYTES_MAX - 1);
    }
    return WEFT_OK;
}

enum weft_status access_open(
    const struct access_options *options, struct access *access_out, struct weft_error *error)
{
    *access_out = (struct access){.management = options->management};
    const enum weft_status status = read_token(options->token_file, &access_out->client, error);
    return status == WEFT_OK ? read_token(options->admin_token_file, &access_out->admin, error)
                             : status;
}

/* Whether @head brings @token, which is asked for. */
static bool brings(const struct http_head *head, const struct access_token *token)
{
    static const char scheme[] = "Bearer ";
    const struct http_span *given = http_head_find(head, "authorization");
    if (token->length == 0 || given == NULL ||
        given->length != sizeof(scheme) - 1 + token->length ||
        !http_span_is((struct http_span){given->bytes, sizeof(scheme) - 1}, scheme)) {
        return false;
    }
    return tls_equal(given->bytes + sizeof(scheme) - 1, token->bytes, token->length);
}

bool access_is_client(const struct access *access, const struct http_head *head)
{
    return access->client.length == 0 || brings(head, &access->client) ||
           brings(head, &access->admin);
}

/* Whether a proxy or a browser, which may well run on this machine, asks for another client. */
static bool is_forwarded(const struct http_head *head)
{
    static const char *const names[] = {
        "forwarded", "x-forwarded-for", "x-real-ip", "via", "origin"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (http_head_find(head, names[i]) != NULL) {
            return true;
        }
    }
    return false;
}

uint32_t access_to_management(
    const struct access *access, const struct http_head *head, bool is_local,
    const char **cause_out)
{
    if (access->management == ACCESS_NOBODY) {
        *cause_out = "management of this server is disabled";
        return 403;
    }
    if (access->admin.length > 0) {
        *cause_out = "the bearer token of the administrator is missing or wrong";
        return brings(head, &access->admin) ? 200 : 401;
    }
    *cause_out = "management is only for clients on the server's own machine";
    return access->management == ACCESS_EVERYBODY || (is_local && !is_forwarded(head)) ? 200 : 403;
}
