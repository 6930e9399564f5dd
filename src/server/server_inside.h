/*
 * server_inside.h - what a server is made of. For the files of this layer alone.
 */
#ifndef SERVER_SERVER_INSIDE_H
#define SERVER_SERVER_INSIDE_H

#include "base/list.h"
#include "model/catalogue.h"
#include "runtime/runtime.h"
#include "server/metrics.h"
#include "server/server.h"
#include "server/tls.h"

enum {
    LOOP_BYTES_MAX = 65536, /* Of JSON that is read or written on the loop: some 0.5 ms. */
    SMALL_BODY_BYTES_MAX = 65536,
};

/*
 * Type and shape of a result of a workflow, as answers show them: how many extents it has, but not
 * how long these are, for the next answer may differ.
 */
struct learned {
    bool is_known;
    enum weft_dtype dtype;
    uint32_t rank;
    int64_t shape[WEFT_RANK_MAX];
};

enum { SERVER_SPARES = 32 };

struct server {
    struct server_options options;
    struct runtime *runtime;
    const struct catalogue *catalogue;
    struct http_server *http;
    struct http_server *metrics_http;
    struct tls_context *tls;
    struct metrics *metrics;
    struct recent *recent;
    struct access access;
    struct learned **learned;               /* By workflow and result. */
    char (*versions)[SERVER_VERSION_BYTES]; /* By workflow. */
    struct list infers;                     /* All inference requests not released. */
    struct infer *spares[SERVER_SPARES];    /* Released, for the next ones: malloc() is slow, */
    uint32_t spare_count;                   /* since they have some kilobytes. */
    uint32_t open;                          /* Inference requests without an answer. */
    uint32_t works;                         /* On other threads. */
    uint64_t answers[6]; /* Inference responses by the first digit of their status. */
    bool is_draining;
    bool is_drained;
    bool is_stopped;
};

/* server.c: the last work of a stopped server has come back. */
void server_release(struct server *server);

/* server.c: after a request was released; says so if it was the last of a drain. */
void server_check_drained(struct server *server);

/* routes.c */
void route_begin(void *context, struct http_exchange *exchange, const struct http_head *head);

/* routes.c: the same as respond_buffer(), as text of metrics. */
void metrics_respond(struct http_exchange *exchange, struct buffer *buffer, bool is_good);
void route_metrics(void *context, struct http_exchange *exchange, const struct http_head *head);

/* models.c: what there is, and how it does. */
void models_server(struct server *server, struct http_exchange *exchange);
void models_ready(struct server *server, struct http_exchange *exchange, uint32_t workflow);
void models_metadata(struct server *server, struct http_exchange *exchange, uint32_t workflow);
void models_config(struct server *server, struct http_exchange *exchange, uint32_t workflow);

/* One workflow, or all for UINT32_MAX. */
void models_stats(struct server *server, struct http_exchange *exchange, uint32_t workflow);

/* Why requests for @workflow are refused now, in @text. NULL: they are not. */
enum { MODELS_OBSTACLE_BYTES = 256 };
const char *models_obstacle(
    const struct server *server, uint32_t workflow, char text[static MODELS_OBSTACLE_BYTES]);

/* Answer with what @buffer holds, which is given away; @is_good is false: memory ran out. */
void respond_buffer(
    struct http_exchange *exchange, struct buffer *buffer, const char *type, bool is_good);

/* The same, as JSON. */
void models_respond(struct http_exchange *exchange, struct buffer *buffer, bool is_good);

/* repository.c: what there is to say of workflow number @workflow. */
void repository_entry(
    const struct server *server, uint32_t workflow, struct server_entry *entry_out);

/* cluster.c: the workers of the cluster, as this node sees them. */
void cluster_begin(struct server *server, struct http_exchange *exchange);

/* files.c: what another node asks for. */
void files_begin(
    struct server *server, struct http_exchange *exchange, const struct http_head *head);

/* repository.c: "index", "load" or "unload" of @name. */
enum repository_verb { REPOSITORY_INDEX, REPOSITORY_LOAD, REPOSITORY_UNLOAD };
void repository_begin(
    struct server *server, struct http_exchange *exchange, enum repository_verb verb,
    const char *name);

/* jobs.c: what is known of the job called @name. */
void jobs_respond(struct server *server, struct http_exchange *exchange, const char *name);

/* models.c: result @result of workflow number @workflow has come out as @tensor. */
void models_learn(
    struct server *server, uint32_t workflow, uint32_t result, const struct weft_tensor *tensor);

/* infer.c */
void infer_begin(
    struct server *server, struct http_exchange *exchange, const struct http_head *head,
    uint32_t workflow);

/* Forget all that are open: the server stops. */
void infer_forget(struct server *server);

#endif /* SERVER_SERVER_INSIDE_H */
