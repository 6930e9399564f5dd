/*
 * http.h - HTTP/1.1 on a libuv loop: connections, requests one after another, responses.
 *
 * A connection has one request at a time; what a client sends ahead waits in its buffer,
 * so that answers come in order and memory has a bound. Bodies are received into memory
 * that a receiver names. A client that is too slow, too large or malformed loses its
 * own connection, and no other notices. One thread: that of the loop.
 */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include <weft/status.h>

#include "protocol/http_head.h"

struct http_exchange;
struct http_server;
struct tls_context;
struct uv_loop_s;

enum {
    HTTP_PARTS_MAX = 66,     /* Of a body: JSON, then one per tensor. */
    HTTP_EXTRA_BYTES = 512,  /* Of further headers. */
    HTTP_ADDRESS_BYTES = 96, /* "host:port" */
};

struct http_part {
    const void *bytes;
    size_t length;
};

struct http_response {
    uint32_t status;
    const char *type;  /* Of the body. NULL: there is none. */
    const char *extra; /* Further headers, each with its CR LF. NULL: none. Copied. */
    uint32_t part_count;
    const struct http_part *parts;  /* Copied; what they point to is borrowed until released. */
    void (*release)(void *context); /* Called once, when the parts are not needed. May be NULL. */
    void *context;
};

/*
 * A head has come. Answer at once with http_respond(), or keep @exchange and name with
 * http_exchange_set() what takes the rest of the request. @head is valid during the call.
 */
typedef void (*http_begin)(
    void *context, struct http_exchange *exchange, const struct http_head *head);

/* What takes a request that was not answered at once. All are given its pointer. */
struct http_receiver {
    /* Where the next bytes of the body go: *room_out > 0 of them. */
    uint8_t *(*room)(void *request, size_t *room_out);

    /* @count bytes are there. It may answer: the rest of the body is then thrown away. */
    void (*took)(void *request, size_t count);

    /* The body is complete, or there is none. Answer now or later. */
    void (*end)(void *request);

    /* The client is gone before it was answered. Do not respond any more. */
    void (*gone)(void *request);
};

/* Bounds. All zero means the defaults. */
struct http_limits {
    uint32_t connections_max;         /* 8192 */
    uint32_t address_connections_max; /* Of one client's address: a quarter of all. */
    uint64_t body_bytes_max;          /* 1 GiB */
    uint64_t held_bytes_max;          /* Of requests and answers in flight: 4 GiB. */
    uint64_t address_held_bytes_max;  /* Of one client's address: half of all. */
    uint32_t head_ms;                 /* From the first byte of a head to its last: 10 s. */
    uint32_t idle_ms;                 /* Between requests: 75 s. */
    uint32_t grace_ms;                /* How long a body or response may stall in all: 30 s. */
    uint32_t bytes_per_s_min;         /* The rate below which one counts as stalling: 1024. */
    uint32_t answer_ms;               /* A response that is not read by then is given up: 15 min. */
};

struct http_options {
    struct uv_loop_s *loop;
    const char *address; /* "host:port", "[::1]:port" or ":port"; port 0: any. Copied. */
    int socket; /* One that listens there already, which the server then owns. 0: there is none. */
    struct tls_context *tls; /* NULL: plain. Borrowed. */
    http_begin begin;
    void *context; /* Of begin. */
    struct http_limits limits;
};

struct http_counts {
    uint64_t accepted;
    uint64_t refused; /* Above a limit of connections. */
    uint64_t requests;
    uint64_t faults; /* Malformed heads or bodies. */
    uint64_t slow;   /* Connections that were closed for being too slow. */
    uint64_t bytes_in;
    uint64_t bytes_out;
    uint32_t open;
};

/*
 * Listen. On success the caller owns *server_out.
 *
 * Errors: WEFT_INVALID for a malformed address; WEFT_IO if it cannot be listened on.
 */
enum weft_status http_server_start(
    const struct http_options *options, struct http_server **server_out, struct weft_error *error);

/*
 * Close everything; `gone` is called for what is open. The memory is released by the loop,
 * which must run once more, or end. NULL is allowed.
 */
void http_server_stop(struct http_server *server);

/*
 * Stop listening, and give the socket away: new connections wait for its next owner. Those that are
 * open stay until http_server_stop(). 0 if there is no descriptor for it.
 */
int http_server_leave(struct http_server *server);

/* What it listens on, with the port that was chosen. Borrowed. */
const char *http_server_address(const struct http_server *server);

struct http_counts http_server_counts(const struct http_server *server);

/* From now on every response closes its connection, and idle ones are closed. */
void http_server_drain(struct http_server *server);

/*
 * Answer every open request with 503 and @cause, whatever became of it; `gone` is called for each.
 * Returns how many there were.
 */
uint32_t http_server_abandon(struct http_server *server, const char *cause);

/* Close connections that are too slow, or whose clients have left: a few times per second. */
void http_server_sweep(struct http_server *server);

/* @receiver, which is borrowed, takes the rest of the request, under the name of @request. */
void http_exchange_set(
    struct http_exchange *exchange, const struct http_receiver *receiver, void *request);

/*
 * Whether its connection is above the limits: it may ask about the server's health, everything
 * else should be refused.
 */
bool http_exchange_is_spare(const struct http_exchange *exchange);

/* Whether a body follows, and how long it is; UINT64_MAX if it comes in chunks. */
uint64_t http_exchange_body_bytes(const struct http_exchange *exchange);

/* Whether it comes from this machine, over its loopback interface. */
bool http_exchange_is_local(const struct http_exchange *exchange);

/* Answer. @exchange is invalid afterwards. */
void http_respond(struct http_exchange *exchange, const struct http_response *response);

/* The same with a text of type JSON, which is copied. */
void http_respond_json(
    struct http_exchange *exchange, uint32_t status, const char *json, const char *extra);

/* The same with {"error": cause}. */
void http_respond_error(
    struct http_exchange *exchange, uint32_t status, const char *cause, const char *extra);

#endif /* SERVER_HTTP_H */
