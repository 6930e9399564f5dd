#include "directory/etcd_call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/error.h"
#include "base/memory.h"

enum {
    CALL_SECONDS = 1, /* Twice that is less than a lease. */
    ANSWER_BYTES_MAX = 4 << 20,
    ENDPOINT_BYTES = 160,
};

enum { HTTP_OK = 200, HTTP_BAD_REQUEST = 400, HTTP_UNAUTHORIZED = 401, HTTP_SERVER_ERROR = 500 };

uint64_t etcd_number(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? 0 : strtoull(text, NULL, 10);
}

json_t *etcd_bytes(const char *text, size_t bytes)
{
    char *encoded = memory_zeroed(4 * (bytes / 3 + 1) + 1, 1);
    const int length =
        EVP_EncodeBlock((unsigned char *)encoded, (const unsigned char *)text, (int)bytes);
    json_t *string = json_stringn(encoded, (size_t)length);
    free(encoded);
    return string;
}

bool etcd_take_bytes(const json_t *string, char *out, size_t capacity, size_t *bytes_out)
{
    const char *text = json_string_value(string);
    const size_t length = text == NULL ? 0 : strlen(text);
    if (length == 0 || length % 4 != 0 || length / 4 * 3 >= capacity) {
        return false;
    }
    const int bytes =
        EVP_DecodeBlock((unsigned char *)out, (const unsigned char *)text, (int)length);
    if (bytes < 0) {
        return false;
    }
    const size_t padding =
        (text[length - 1] == '=' ? 1U : 0U) + (text[length - 2] == '=' ? 1U : 0U);
    *bytes_out = (size_t)bytes - padding;
    out[*bytes_out] = '\0';
    return true;
}

enum weft_status etcd_add_endpoints(
    struct etcd *etcd, const char *text, bool is_tls, struct weft_error *error)
{
    char one[ENDPOINT_BYTES];
    const char *at = text;
    do {
        const size_t length = strcspn(at, ",");
        if (etcd->endpoint_count == ETCD_ENDPOINTS_MAX) {
            return error_set(
                error, WEFT_INVALID, "more than %d endpoints of etcd", ETCD_ENDPOINTS_MAX);
        }
        if (length == 0 || memchr(at, ':', length) == NULL ||
            snprintf(one, sizeof(one), "%s://%.*s", is_tls ? "https" : "http", (int)length, at) >=
                (int)sizeof(one) ||
            http_url_parse(one, &etcd->endpoints[etcd->endpoint_count], NULL) != WEFT_OK) {
            return error_set(
                error, WEFT_INVALID, "'%.100s' is not a list of HOST:PORT,HOST:PORT", text);
        }
        etcd->endpoint_count++;
        at += length + (at[length] == ',' ? 1 : 0);
    } while (*at != '\0');
    return WEFT_OK;
}

enum weft_status etcd_read_user(struct etcd *etcd, const char *path, struct weft_error *error)
{
    char line[2 * ETCD_SECRET_BYTES] = "";
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return error_set(error, WEFT_INVALID, "%s: cannot be read: %s", path, strerror(errno));
    }
    const bool is_read = fgets(line, sizeof(line), file) != NULL;
    (void)fclose(file); /* It was only read. */
    line[strcspn(line, "\r\n")] = '\0';
    char *colon = strchr(line, ':');
    const bool is_good = is_read && colon != NULL && colon > line &&
                         colon - line < ETCD_SECRET_BYTES && strlen(colon + 1) < ETCD_SECRET_BYTES;
    if (is_good) {
        *colon = '\0';
        (void)snprintf(etcd->user, sizeof(etcd->user), "%.255s", line);
        (void)snprintf(etcd->password, sizeof(etcd->password), "%.255s", colon + 1);
    }
    OPENSSL_cleanse(line, sizeof(line));
    return is_good ? WEFT_OK
                   : error_set(error, WEFT_INVALID, "%s: must be one line, USER:PASSWORD", path);
}

/* What etcd says is wrong. */
static enum weft_status fail(
    const struct http_url *url, const struct http_reply *reply, struct weft_error *error)
{
    json_t *json = json_loadb(reply->body, reply->body_bytes, JSON_DISABLE_EOF_CHECK, NULL);
    const char *cause = json_string_value(json_object_get(json, "error"));
    const bool has_no_user = cause != NULL && strstr(cause, "user name is empty") != NULL;
    const enum weft_status status = error_set(
        error, WEFT_IO, "etcd at %s:%s: %.150s%s", url->host, url->port,
        cause == NULL ? "its answer makes no sense" : cause,
        has_no_user ? "; it asks for a user, see '--etcd-user-file'" : "");
    json_decref(json);
    return status;
}

/* Send @text to one endpoint after the other, until one answers. */
static enum weft_status call_any(
    struct etcd *etcd, const char *path, const char *text, uint32_t lines,
    struct http_reply *reply_out, struct weft_error *error)
{
    char headers[ETCD_TOKEN_BYTES + 64] = "";
    enum weft_status status = WEFT_IO;
    if (etcd->token[0] != '\0') {
        (void)snprintf(headers, sizeof(headers), "Authorization: %s\r\n", etcd->token);
    }
    for (uint32_t i = 0; i < etcd->endpoint_count && status != WEFT_OK; i++) {
        const uint32_t endpoint = (etcd->endpoint + i) % etcd->endpoint_count;
        const struct http_call call = {
            .url = &etcd->endpoints[endpoint],
            .method = "POST",
            .path = path,
            .headers = headers,
            .body = text,
            .body_bytes = strlen(text),
            .ca_file = etcd->ca_file,
            .timeout_s = CALL_SECONDS,
            .answer_bytes_max = ANSWER_BYTES_MAX,
            .lines = lines,
        };
        status = http_call(&call, reply_out, error);
        if (status == WEFT_OK && reply_out->status >= HTTP_SERVER_ERROR) { /* It has no leader. */
            status = fail(call.url, reply_out, error);
            free(reply_out->body);
            reply_out->body = NULL;
        }
        if (status == WEFT_OK) {
            etcd->endpoint = endpoint;
        }
    }
    return status == WEFT_OK ? WEFT_OK : WEFT_IO;
}

/* The last of @lines of an answer, or all of it. */
static json_t *last_line(const struct http_reply *reply, uint32_t lines)
{
    const char *at = reply->body;
    for (uint32_t i = 1; i < lines && at != NULL; i++) {
        at = strchr(at, '\n');
        at = at == NULL ? NULL : at + 1;
    }
    return at == NULL ? NULL : json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
}

static enum weft_status sign_in(struct etcd *etcd, struct weft_error *error)
{
    struct http_reply reply = {.status = 0};
    json_t *body = json_pack("{s:s, s:s}", "name", etcd->user, "password", etcd->password);
    char *text = body == NULL ? NULL : json_dumps(body, JSON_COMPACT);
    json_decref(body);
    etcd->token[0] = '\0';
    if (text == NULL) {
        return error_set(error, WEFT_IO, "the user of etcd is not UTF-8");
    }
    enum weft_status status =
        call_any(etcd, "/v3/auth/authenticate", text, /* lines */ 0, &reply, error);
    OPENSSL_cleanse(text, strlen(text));
    free(text);
    if (status != WEFT_OK) {
        return status;
    }
    json_t *json = last_line(&reply, /* lines */ 0);
    const char *token = json_string_value(json_object_get(json, "token"));
    if (reply.status != HTTP_OK || token == NULL || strlen(token) >= sizeof(etcd->token) ||
        strpbrk(token, "\r\n") != NULL) {
        status = fail(&etcd->endpoints[etcd->endpoint], &reply, error);
    } else {
        (void)snprintf(etcd->token, sizeof(etcd->token), "%s", token);
    }
    json_decref(json);
    free(reply.body);
    return status;
}

/* Whether the token is the trouble: it runs out, and an etcd that was started again forgets it. */
static bool wants_token(const struct etcd *etcd, const struct http_reply *reply)
{
    return etcd->user[0] != '\0' &&
           (reply->status == HTTP_UNAUTHORIZED ||
            (reply->status == HTTP_BAD_REQUEST && strstr(reply->body, "user name is empty")));
}

enum weft_status etcd_call(
    struct etcd *etcd, const char *path, json_t *body, uint32_t lines, json_t **answer_out,
    struct weft_error *error)
{
    struct http_reply reply = {.status = 0};
    char *text = body == NULL ? NULL : json_dumps(body, JSON_COMPACT);
    json_decref(body);
    if (text == NULL) {
        return error_set(error, WEFT_IO, "what etcd should be asked is not UTF-8");
    }
    enum weft_status status = WEFT_OK;
    if (etcd->user[0] != '\0' && etcd->token[0] == '\0') {
        status = sign_in(etcd, error);
    }
    if (status == WEFT_OK) {
        status = call_any(etcd, path, text, lines, &reply, error);
    }
    if (status == WEFT_OK && wants_token(etcd, &reply)) {
        free(reply.body);
        reply.body = NULL;
        status = sign_in(etcd, error);
        if (status == WEFT_OK) {
            status = call_any(etcd, path, text, lines, &reply, error);
        }
    }
    free(text);
    if (status == WEFT_OK && reply.status != HTTP_OK) {
        status = fail(&etcd->endpoints[etcd->endpoint], &reply, error);
    } else if (status == WEFT_OK) {
        *answer_out = last_line(&reply, lines);
        if (*answer_out == NULL && lines == 0) {
            status = fail(&etcd->endpoints[etcd->endpoint], &reply, error);
        }
    }
    free(reply.body);
    return status;
}
