/*
 * access.h - who may ask, and who may manage the server.
 *
 * Clients bring a token, if one is asked for. Management, which is to load and unload models and to
 * ask what happened to a job, needs a token of its own or, without one, a client on this machine
 * that no proxy stands before.
 * Written once, then only read.
 */
#ifndef SERVER_ACCESS_H
#define SERVER_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

enum { ACCESS_TOKEN_BYTES_MAX = 512 };

struct http_head;

/* Who may manage the server, where there is no token for that. */
enum access_management {
    ACCESS_LOCAL, /* Clients on this machine. */
    ACCESS_NOBODY,
    ACCESS_EVERYBODY,
};

struct access_options {
    const char *token_file;       /* What clients must bring as bearer token. NULL: nothing. */
    const char *admin_token_file; /* The same for management; it is good anywhere else, too. */
    enum access_management management;
};

struct access_token {
    char bytes[ACCESS_TOKEN_BYTES_MAX];
    size_t length; /* 0: none is asked for. */
};

struct access {
    struct access_token client;
    struct access_token admin;
    enum access_management management;
};

/*
 * Read the files.
 *
 * Errors: WEFT_IO for one that cannot be read, WEFT_INVALID for one that holds no token.
 */
enum weft_status access_open(
    const struct access_options *options, struct access *access_out, struct weft_error *error);

/* Whether a request with @head may be answered at all. */
bool access_is_client(const struct access *access, const struct http_head *head);

/*
 * Whether a request with @head may manage the server; @is_local: it came from this machine. If not,
 * *cause_out says why not. Returns the status of the answer; 200: it may.
 */
uint32_t access_to_management(
    const struct access *access, const struct http_head *head, bool is_local,
    const char **cause_out);

#endif /* SERVER_ACCESS_H */
