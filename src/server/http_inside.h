/*
 * http_inside.h - what a connection is made of. For the files of HTTP alone.
 */
#ifndef SERVER_HTTP_INSIDE_H
#define SERVER_HTTP_INSIDE_H

#include <uv.h>

#include "base/list.h"
#include "server/http.h"
#include "server/http_clients.h"
#include "server/tls.h"

enum {
    IN_BYTES_FIRST = 4096,
    HEAD_OUT_BYTES = 1024,
    HTTP_LINGER_MS = 2000,
    HTTP_SPARE_MS = 2000,        /* For the head of a request on a connection above the limits. */
    HTTP_ADDRESS_SPARES_MAX = 8, /* Connections above the limits that one address may have. */
    CIPHER_BYTES = 65536,        /* Taken from the socket, or encrypted, at once. */
};

_Static_assert(HEAD_OUT_BYTES >= HTTP_EXTRA_BYTES + 256, "a head of a response fits");

enum connection_state {
    CONNECTION_HEAD,   /* A head is being received, or waited for. */
    CONNECTION_BODY,   /* Its body is. */
    CONNECTION_WAIT,   /* The receiver has it. */
    CONNECTION_WRITE,  /* The response is on its way. */
    CONNECTION_LINGER, /* Nothing more is said; what comes is thrown away. */
    CONNECTION_CLOSED,
};

/* One request of a connection; it is the connection's own. */
struct http_exchange {
    struct connection *connection;
    const struct http_receiver *receiver; /* NULL: it is answered, or not begun. */
    void *request;                        /* The receiver's. */
    bool is_open;                         /* Begun, and not answered. */
    bool is_head;                         /* The body of the response is not sent. */
    bool keep_alive;
    bool is_old; /* HTTP/1.0, which wants to hear that it is kept. */
    bool has_body;
    bool is_chunked;
    bool is_skipped;    /* The body is thrown away. */
    uint64_t body_left; /* Without chunks. */
    uint64_t body_took;
    struct http_chunks chunks;
};

/* A response on its way. */
struct outgoing {
    char head[HEAD_OUT_BYTES];
    uint32_t buffer_count; /* The head, then the parts. */
    uint32_t buffer_next;
    uv_buf_t buffers[1 + HTTP_PARTS_MAX];
    void (*release)(void *context);
    void *context;
    char *copied;    /* A body of its own. */
    uint8_t *cipher; /* TLS: what is being written. */
    uint64_t bytes;  /* Of the whole response. */
    uint64_t sent;   /* Handed to the socket so far. */
    bool is_writing; /* A uv_write is under way. */
    uv_write_t request;
};

struct connection {
    uv_tcp_t tcp;
    struct http_server *server;
    struct list_link link; /* Of the server's. */
    enum connection_state state;
    bool is_reading;
    bool is_processing; /* Further up in the stack. */
    bool has_ended;     /* The client says no more. */
    bool is_idle;       /* Something was answered, and nothing has come since. */
    bool is_local;      /* It comes over this machine's loopback interface. */
    enum http_admission admission;
    struct http_client *client; /* NULL only while it is turned away. */
    struct tls_session *tls;
    char *in; /* What has come and is not taken. */
    size_t in_bytes;
    size_t in_max;
    size_t scanned;
    uint64_t since_ms; /* The beginning of what it is doing. */
    uint32_t turn;     /* Of the loop: in which it did what follows. */
    uint32_t turn_requests;
    uint64_t turn_bytes;
    bool is_waiting; /* For the next turn. */
    struct connection *next_waiting;
    struct http_exchange exchange;
    struct outgoing out;
    uv_shutdown_t shutdown;
};

struct http_server {
    uv_tcp_t tcp;
    uv_loop_t *loop;
    struct tls_context *tls;
    http_begin begin;
    void *context; /* Of begin. */
    struct http_limits limits;
    struct http_counts counts;
    struct list connections;
    struct http_clients *clients;
    char address[HTTP_ADDRESS_BYTES];
    int64_t date_s; /* Of `date`. */
    char date[64];  /* As responses carry it. */
    bool is_draining;
    bool is_stopped;
    bool is_offered;  /* A connection waits to be accepted: there was no memory for it. */
    uint32_t handles; /* Not yet closed; the last one releases the server. */
    uint8_t *cipher;  /* TLS: what was read from a socket. */
    uint32_t turn;    /* Of the loop; counted here. */
    uint32_t waiting_count;
    struct connection *waiting; /* For the next one. */
    uv_prepare_t prepare;
    uv_idle_t idle; /* Runs while any waits. */
};

/* http.c */

void connection_close(struct connection *connection);

/* A response has left: go on with what has come meanwhile. */
void connection_answered(struct connection *connection);

/* Accept what could not be accepted when it came. */
void http_accept_again(struct http_server *server);

/* http_process.c */

/* Take what is in the buffer, as far as it goes. */
void connection_process(struct connection *connection);

/* Refuse what has come, and say no more afterwards. */
void connection_refuse(struct connection *connection, const struct http_fault *fault);

/* @count bytes of the body are where the receiver wanted them. */
void connection_took(struct connection *connection, size_t count);

/* http_turn.c */

void http_turns_start(struct http_server *server);
void http_turns_stop(struct http_server *server, uv_close_cb on_closed);

/* Whether @connection may begin one more request in this turn; else it goes on in the next. */
bool http_turn_may_begin(struct connection *connection);

/* It has taken @bytes from its socket; false if it takes no more in this turn. */
bool http_turn_took(struct connection *connection, size_t bytes);

/* It waits no longer: it goes on, or is closed. */
void http_turn_leave(struct connection *connection);

/* http_write.c */

/* Write what is left of the response. */
void outgoing_push(struct connection *connection);

/* Forget the response, whether it was sent or not. */
void outgoing_release(struct connection *connection);

/* Send bytes outside of any response: the handshake of TLS, "100 Continue". */
void connection_send(struct connection *connection, const char *bytes, size_t count);

/* TLS: send what the session has to say. */
void connection_flush_tls(struct connection *connection);

#endif /* SERVER_HTTP_INSIDE_H */
