/*
 * etcd_call.h - calls to an etcd by its JSON gateway: several endpoints, TLS, a user's token.
 *
 * A call goes to the endpoint that answered last, and to the others if it does not.
 */
#ifndef DIRECTORY_ETCD_CALL_H
#define DIRECTORY_ETCD_CALL_H

#include <jansson.h>

#include "client/http_call.h"

enum { ETCD_ENDPOINTS_MAX = 16, ETCD_TOKEN_BYTES = 512, ETCD_SECRET_BYTES = 256 };

struct etcd {
    uint32_t endpoint_count;
    uint32_t endpoint; /* Where to call first. */
    struct http_url endpoints[ETCD_ENDPOINTS_MAX];
    const char *ca_file;          /* Borrowed. NULL: the system's. */
    char user[ETCD_SECRET_BYTES]; /* "": none. */
    char password[ETCD_SECRET_BYTES];
    char token[ETCD_TOKEN_BYTES]; /* "": not asked for yet. */
};

/*
 * POST @body, whose reference is taken, to @path. Of an answer that comes in lines, @lines are
 * waited for and the last is meant; 0: it is one object. The caller owns *answer_out; it is NULL if
 * lines did not come.
 *
 * Errors: WEFT_IO, also if etcd cannot do what is asked.
 */
enum weft_status etcd_call(
    struct etcd *etcd, const char *path, json_t *body, uint32_t lines, json_t **answer_out,
    struct weft_error *error);

/* Add "HOST:PORT,HOST:PORT". Errors: WEFT_INVALID. */
enum weft_status etcd_add_endpoints(
    struct etcd *etcd, const char *text, bool is_tls, struct weft_error *error);

/* Read "USER:PASSWORD" from the file at @path. Errors: WEFT_INVALID. */
enum weft_status etcd_read_user(struct etcd *etcd, const char *path, struct weft_error *error);

/* A 64-bit number, which the gateway writes as a text; 0 if there is none. */
uint64_t etcd_number(const json_t *object, const char *key);

/* @text in base64, as a new JSON string; and the reverse, in @out. False if it does not fit. */
json_t *etcd_bytes(const char *text, size_t bytes);
bool etcd_take_bytes(const json_t *string, char *out, size_t capacity, size_t *bytes_out);

#endif /* DIRECTORY_ETCD_CALL_H */
