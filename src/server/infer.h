/*
 * infer.h - what an inference request is made of. For the files that carry it along.
 */
#ifndef SERVER_INFER_H
#define SERVER_INFER_H

#include <uv.h>

#include "protocol/oip_response.h"
#include "server/http_peers.h"
#include "server/server_inside.h"

struct infer {
    struct server *server;
    struct runtime *runtime;
    struct http_exchange *exchange; /* NULL once nobody waits, or it is answered. */
    struct infer *next;             /* Of the server's. */
    struct infer *previous;
    uint32_t workflow;

    /* Receiving. */
    char *body;
    uint64_t body_bytes;
    uint64_t body_max;
    struct http_hold hold; /* The body; then its tensors; then the answer. */
    uint64_t length;       /* As announced; UINT64_MAX for chunks. */
    uint64_t json_bytes;   /* Of the body, before its binary part. */
    bool has_json_bytes;
    bool is_streamed; /* The JSON is read as soon as it is there, */
    bool is_filling;  /* and then tensors are received in place. */
    bool is_lost;     /* There was no memory. */
    uint32_t binary_next;
    uint64_t binary_at;

    /* Running. */
    struct oip_request request;
    int64_t deadline_ns; /* After it came; 0: none. */
    uint64_t rows;       /* That all its inputs have; 0: they differ, or have none. */
    uint32_t items;      /* As it says. */
    uint64_t ticket;
    bool is_running; /* The runtime has it. */
    bool is_working; /* Another thread has it. */
    uv_work_t work;
    void (*work_run)(struct infer *infer);
    void (*work_done)(struct infer *infer);

    /* Answering. */
    enum weft_status status;
    struct weft_error error;
    int64_t latency_ns;
    int64_t retry_after_ns;
    bool is_late; /* Not done by its deadline, or sure not to be. */
    struct metrics_timing timing;
    uint32_t output_count;
    struct handle *outputs;
    const struct bundle **bundles;
    struct oip_response response;
};

static inline const struct workflow *infer_workflow(const struct infer *infer)
{
    return infer->server->catalogue->workflows[infer->workflow];
}

static inline struct oip_answer infer_answer(const struct infer *infer)
{
    return (struct oip_answer){
        .workflow = infer_workflow(infer),
        .version = infer->server->versions[infer->workflow],
        .request = &infer->request,
        .bundle_count = infer->output_count,
        .bundles = infer->bundles,
    };
}

/* Clients count from 1, the highest, and 0 is none: within a cluster larger is more urgent. */
static inline uint32_t infer_urgency(const struct infer *infer)
{
    const uint32_t priority = infer->request.priority;
    if (priority == 0 || infer->server->options.ignores_priority) {
        return 0;
    }
    return PRIORITY_MAX + 1 - (priority < PRIORITY_MAX ? priority : PRIORITY_MAX);
}

/* The tensor whose bytes are being received. */
static inline const struct weft_tensor *infer_filled(const struct infer *infer)
{
    return &infer->request.bundle->tensors[infer->request.binary[infer->binary_next]];
}

/* infer_receive.c: where the next bytes of the body go, that they have come, and that all have. */
uint8_t *infer_room(void *request, size_t *room_out);
void infer_took(void *request, size_t count);
void infer_end(void *request);

/* The request has been read, and is good or not, as its status says. */
void infer_was_read(struct infer *infer);

/* The client hears why it is not answered, now. Release it afterwards. */
void infer_refuse_error(struct infer *infer, enum weft_status status, const struct weft_error *why);
void infer_refuse_held(struct infer *infer, enum http_held held);

/* Nobody needs it any more. */
void infer_release(struct infer *infer);

/* What the head of a request says about the rest. */
struct infer_head {
    int64_t slo_ns; /* The deadline that the client names. 0: none. */
    uint64_t json_bytes;
    bool has_json_bytes;
};

/* What cannot be served, whatever the body says, and its status. NULL: @infer_out is filled. */
const char *infer_head_read(
    const struct http_head *head, struct infer_head *infer_out, uint32_t *status_out);

/*
 * Start libuv's threads now: with the first work they would be, and the program would end if
 * there were no memory for them then.
 */
void infer_work_start(struct server *server);

/* Let @run do its work on another thread, and go on with @done on the loop. */
void infer_work(
    struct infer *infer, void (*run)(struct infer *infer), void (*done)(struct infer *infer));

#endif /* SERVER_INFER_H */
