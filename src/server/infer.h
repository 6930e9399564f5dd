/*
 * infer.h - what an inference request is made of. For the files that carry it along.
 */
#ifndef SERVER_INFER_H
#define SERVER_INFER_H

#include <uv.h>

#include "base/assert.h"
#include "base/list.h"
#include "protocol/oip_response.h"
#include "server/http_clients.h"
#include "server/server_inside.h"

/*
 *      RECEIVING ──► FILLING ──┐
 *          ├───────────────────┼─► READING ──► RUNNING ──► WRITING ──► SENDING
 *          └───► SKIPPING ─────┘
 *
 *      every state ──► RELEASED: refused, failed, sent, or the client has gone
 *
 * A client that goes while another thread is READING or WRITING, or while the job is RUNNING, is
 * noticed when that is over.
 */
enum infer_state {
    INFER_RECEIVING, /* The body comes, and is kept as it is. */
    INFER_FILLING,   /* Its JSON has been read, and what follows goes into tensors. */
    INFER_SKIPPING,  /* There was no memory for it: the rest is thrown away. */
    INFER_READING,   /* It has come, and is being read, here or on another thread. */
    INFER_RUNNING,   /* The runtime has it. */
    INFER_WRITING,   /* The answer is being written, here or on another thread. */
    INFER_SENDING,   /* The connection has the answer. */
    INFER_RELEASED,
    INFER_STATES
};

struct infer {
    enum infer_state state;
    struct server *server;
    struct runtime *runtime;
    struct http_exchange *exchange; /* NULL once it is answered, or its client has gone. */
    struct list_link link;          /* Of the server's. */
    uint32_t workflow;

    /* Receiving. */
    char *body;
    uint64_t body_bytes;
    uint64_t body_max;
    struct http_hold hold; /* The body; then its tensors; then the answer. */
    uint64_t length;       /* As announced; UINT64_MAX for chunks. */
    uint64_t json_bytes;   /* Of the body, before its binary part. */
    bool has_json_bytes;
    bool is_streamed; /* The JSON is read as soon as it is there. */
    uint32_t binary_next;
    uint64_t binary_at;

    /* Running. */
    int64_t deadline_ns;     /* After it came; 0: none. */
    struct request_key key;  /* All zero: none. */
    bool is_retry;           /* With a key: the client has asked before. */
    uint64_t runtime_client; /* What the runtime calls the client, for runtime_cancel(). */
    uv_work_t work;
    void (*work_run)(struct infer *infer);
    void (*work_done)(struct infer *infer);

    /* Answering. */
    enum weft_status status;
    struct weft_error error;
    int64_t latency_ns;
    int64_t retry_after_ns;
    struct metrics_timing timing;
    struct job_id job; /* What became of it. */
    uint32_t deputy;   /* The node that would have taken over; NODE_NONE: none. */
    uint32_t output_count;
    struct handle *outputs;
    const struct bundle **bundles;

    /* They are long, and not zero at first. */
    struct oip_request request;
    struct oip_response response;
};

static inline void infer_move(enum infer_state *state, enum infer_state to)
{
    static const uint8_t allowed[INFER_STATES] = {
        [INFER_RECEIVING] =
            1 << INFER_FILLING | 1 << INFER_SKIPPING | 1 << INFER_READING | 1 << INFER_RELEASED,
        [INFER_FILLING] = 1 << INFER_READING | 1 << INFER_RELEASED,
        [INFER_SKIPPING] = 1 << INFER_READING | 1 << INFER_RELEASED,
        [INFER_READING] = 1 << INFER_RUNNING | 1 << INFER_RELEASED,
        [INFER_RUNNING] = 1 << INFER_WRITING | 1 << INFER_RELEASED,
        [INFER_WRITING] = 1 << INFER_SENDING | 1 << INFER_RELEASED,
        [INFER_SENDING] = 1 << INFER_RELEASED,
    };
    _Static_assert(INFER_STATES <= 8, "a state is a bit of a byte");
    ASSERT((allowed[*state] >> to & 1) != 0);
    *state = to;
}

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

/* Forget it, wherever it stands. */
void infer_release(struct infer *infer);

/* What the head of a request says about the rest. */
struct infer_head {
    int64_t slo_ns; /* The deadline that the client names. 0: none. */
    uint64_t json_bytes;
    bool has_json_bytes;
    struct request_key key; /* All zero: none. */
    bool is_retry;          /* The client has asked before. */
};

/* What cannot be served, whatever the body says, and its status. NULL: @infer_out is filled. */
const char *infer_head_read(
    const struct http_head *head, struct infer_head *infer_out, uint32_t *status_out);

/* What @head says of the key of its request, in @infer_out; or what is wrong with that. */
const char *infer_key_read(const struct http_head *head, struct infer_head *infer_out);

/* The same for the same inputs. */
uint64_t infer_inputs_hash(const struct bundle *bundle);

/*
 * Start libuv's threads now: with the first work they would be, and the program would end if
 * there were no memory for them then.
 */
void infer_work_start(struct server *server);

/* Let @run do its work on another thread, and go on with @done on the loop. */
void infer_work(
    struct infer *infer, void (*run)(struct infer *infer), void (*done)(struct infer *infer));

#endif /* SERVER_INFER_H */
