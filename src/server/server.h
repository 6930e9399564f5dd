/*
 * server.h - Weft as a server: workflows as models of the Open Inference Protocol.
 *
 * Lives on the loop of a runtime and on its thread. Requests become jobs, answers become
 * responses; metrics are read from the same trace records as everything else.
 *
 *     server_start(&options, &server, &error);
 *     runtime_run(runtime);            with server_record() called for every record
 *     server_stop(server);
 *     runtime_destroy(runtime);
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/tensor.h>

#include "base/limits.h"
#include "server/access.h"
#include "server/http.h"
#include "server/lobby.h"

struct catalogue;
struct fleet;
struct record;
struct runtime;
struct server;

enum { SERVER_VERSION_BYTES = 16 };

/* One line of the index of a repository. */
struct server_entry {
    char name[NAME_BYTES_MAX];
    char version[SERVER_VERSION_BYTES];
    char state[16];       /* "READY", "UNAVAILABLE", "LOADING", "UNLOADING" */
    char reason[240];     /* Why it is not ready. */
    const char *platform; /* What runs it. */
    uint32_t batch_max;   /* Rows that a request may have, if the first extents count them. */
    const char *alone;    /* Why requests never share a run of it. NULL: they may. */
};

/* A change that @asker asked for has been made, or not: @message says why. */
typedef void (*server_changed)(void *asker, enum weft_status status, const char *message);

/*
 * The repository behind the server, if there is one. All are called on the loop's thread
 * and must not block. NULL tables and operations: every workflow of the catalogue is
 * ready, for ever.
 */
enum { SERVER_GPUS_MAX = 64 };

/* What is seen of a GPU. NAN: not known. */
struct server_gpu {
    uint32_t worker;          /* That runs there. */
    double memory_used_bytes; /* By all processes. */
    double utilisation;       /* The part of the time in which it did anything. */
    double clock_hz;
    double power_w;
    double celsius;
};

struct server_repository {
    void *context;

    /* Entry number @index; false past the last. Those of workflows come first, in their order. */
    bool (*entry)(void *context, uint32_t index, struct server_entry *entry_out);

    /*
     * Make workflow or model @name available, as it is now. @changed is called once: from
     * inside, or later from the loop, also if that is ending.
     */
    void (*load)(void *context, const char *name, server_changed changed, void *asker);

    /* Make it unavailable. */
    enum weft_status (*unload)(void *context, const char *name, struct weft_error *error);

    /* Whether requests for workflow number @workflow can be answered now. */
    bool (*is_ready)(void *context, uint32_t workflow);

    /*
     * The most items that a request for workflow number @workflow has, if it has as many as its
     * inputs have rows. 0: they do not count items, and it has one.
     */
    uint32_t (*rows_max)(void *context, uint32_t workflow);

    /* Type and shape of result @result of a workflow; false if they are not known. */
    bool (*describe)(
        void *context, uint32_t workflow, uint32_t result, struct weft_tensor *tensor_out);

    /* Figures of GPUs, in @out, which has room for SERVER_GPUS_MAX; how many. NULL: none. */
    uint32_t (*gpus)(void *context, struct server_gpu *out);
};

enum { SERVER_FILES_PATH_BYTES = 256, SERVER_FILES_PROOF_BYTES = 8192 };

/* What was fetched: @bytes, which are the server's from now on, or a status that is not 200. */
typedef void (*server_fetched)(void *asker, uint32_t status, char *bytes, size_t count);

/* Files that other nodes of a cluster fetch from "/v2/repository/files". */
struct server_files {
    void *context;

    /*
     * Fetch what @path asks for, if @proof says that it may. @fetched is called once: from inside,
     * or later from the loop, also if that is ending. NULL: there are none.
     */
    void (*fetch)(
        void *context, const char *path, const char *proof, server_fetched fetched, void *asker);
};

struct server_options {
    struct runtime *runtime; /* Borrowed, like the next two. It stays when idle. */
    const struct fleet *fleet;
    const struct catalogue *catalogue;
    const char *http;             /* "host:port" of the protocol. */
    const char *metrics;          /* The same for /metrics. NULL: none. */
    struct lobby_sockets sockets; /* That listen there already; the server then owns them. */
    const char *tls_certificate;  /* Files in PEM. NULL: no TLS. */
    const char *tls_key;
    struct access_options access;
    struct server_repository repository;
    struct server_files files;
    bool ignores_priority; /* Priorities that clients name are ignored. */

    /* Of a cluster where requests with keys survive their owner: the names of nodes. NULL: not. */
    const char (*members)[NAME_BYTES_MAX];
    struct http_limits limits;

    /* Called once, when everything that was in flight at server_drain() is answered. NULL: no. */
    void (*drained)(void *context);
    void *context;
};

/*
 * Listen. On success the caller owns *server_out.
 *
 * Errors: those of http_server_start(); WEFT_INVALID for unusable certificates, keys or tokens.
 */
enum weft_status server_start(
    const struct server_options *options, struct server **server_out, struct weft_error *error);

/* Close everything, before the runtime is destroyed. NULL is allowed. */
void server_stop(struct server *server);

/* Take the next trace record. NULL is allowed. */
void server_record(struct server *server, const struct record *record);

/* Where it listens, with the ports that were chosen. Borrowed; NULL if it does not. */
const char *server_http_address(const struct server *server);
const char *server_metrics_address(const struct server *server);

/* Take no more requests; say that it is not ready; call `drained` when all are answered. */
void server_drain(struct server *server);

/* Whether nothing is in flight, answers on their way included. NULL is allowed. */
bool server_is_drained(const struct server *server);

/*
 * Wait no longer: answer what is in flight with 503, and cancel it. After server_drain(). Returns
 * how many requests that were.
 */
uint32_t server_abandon(struct server *server);

/* Whether no client is connected. NULL is allowed. */
bool server_is_alone(const struct server *server);

/* Inference requests that are not answered yet. */
uint32_t server_open_count(const struct server *server);

#endif /* SERVER_SERVER_H */
