/*
 * infer.c - one inference request: received, given to the runtime, answered.
 *
 * Which state follows which is in infer.h. Reading and writing long JSON happens on another thread.
 * The bytes of binary tensors go from the socket into the tensor (infer_receive.c) and from the
 * tensor to the socket.
 */
#include "server/infer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/waker.h"
#include "trace/text.h"

void infer_release(struct infer *infer)
{
    struct server *server = infer->server;
    infer_move(&infer->state, INFER_RELEASED);
    for (uint32_t i = 0; i < infer->output_count; i++) {
        runtime_release(infer->runtime, infer->outputs[i]);
    }
    list_remove(&server->infers, &infer->link);
    http_hold_end(&infer->hold);
    free(infer->outputs);
    free(infer->bundles);
    free(infer->body);
    oip_response_deinit(&infer->response);
    oip_request_deinit(&infer->request);
    if (server->spare_count < SERVER_SPARES) {
        server->spares[server->spare_count++] = infer;
    } else {
        free(infer);
    }
    if (server->is_stopped) {
        server_release(server);
    } else {
        server_check_drained(server);
    }
}

static void on_response_released(void *context)
{
    infer_release(context);
}

/* No client waits for it any more. */
static void leave(struct infer *infer)
{
    ASSERT(infer->exchange != NULL);
    ASSERT(infer->server->open > 0);
    infer->exchange = NULL;
    infer->server->open--;
}

/* The client hears why, now. */
static void refuse(struct infer *infer, uint32_t status, const char *cause, const char *extra)
{
    struct http_exchange *exchange = infer->exchange;
    struct server *server = infer->server;
    ASSERT(status >= 400 && status < 600);
    server->answers[status / 100]++;
    leave(infer);
    http_respond_error(exchange, status, cause, extra);
}

void infer_refuse_error(struct infer *infer, enum weft_status status, const struct weft_error *why)
{
    uint32_t code = 500;
    if (status == WEFT_INVALID) {
        code = 400;
    } else if (status == WEFT_LIMIT) {
        code = 413;
    } else if (status == WEFT_NO_MEMORY || status == WEFT_BUSY) {
        code = 503;
    }
    refuse(infer, code, why->message, code == 503 ? "Retry-After: 1\r\n" : NULL);
}

/* What is in flight leaves no room for more of it: for now, or ever. */
void infer_refuse_held(struct infer *infer, enum http_held held)
{
    char cause[160];
    const bool is_temporary = held != HTTP_HELD_NEVER;
    (void)snprintf(cause, sizeof(cause), "refused: %s", http_held_text(held));
    refuse(infer, is_temporary ? 503 : 413, cause, is_temporary ? "Retry-After: 1\r\n" : NULL);
}

static void put_us(struct text *text, const char *name, int64_t ns)
{
    text_put(text, name);
    text_put_number(text, ns < 0 ? 0 : (uint64_t)ns / 1000);
}

static void set_headers(const struct infer *infer, char *extra, size_t room)
{
    const struct metrics_timing *time = &infer->timing;
    struct text text;
    text_init(&text, extra, room);
    put_us(&text, "weft-timing: total_us=", infer->latency_ns);
    put_us(&text, ",queue_us=", time->queue_ns);
    put_us(&text, ",run_us=", time->run_ns);
    put_us(&text, ",other_us=", time->other_ns);
    text_put(&text, "\r\nweft-job: ");
    text_put_number(&text, infer->job.node);
    text_put(&text, ".");
    text_put_number(&text, job_count(infer->job));
    text_put(&text, "\r\n");
    if (request_key_is_set(infer->key)) {
        const char(*members)[NAME_BYTES_MAX] = infer->server->options.members;
        text_add(
            &text, "weft-deputy: %s\r\n",
            infer->deputy == NODE_NONE ? "none" : members[infer->deputy]);
    }
    if (infer->response.part_count > 0) {
        text_put(&text, "Inference-Header-Content-Length: ");
        text_put_number(&text, infer->response.length);
        text_put(&text, "\r\n");
    }
}

/* What results look like is remembered: for metadata. */
static void learn(struct infer *infer)
{
    const struct oip_answer answer = infer_answer(infer);
    for (uint32_t i = 0; i < infer->request.output_count; i++) {
        const uint32_t result = infer->request.outputs[i].result;
        const struct weft_tensor *tensor = oip_answer_tensor(&answer, result);
        if (tensor != NULL) {
            models_learn(infer->server, infer->workflow, result, tensor);
        }
    }
}

static void respond(struct infer *infer)
{
    struct http_exchange *exchange = infer->exchange;
    struct server *server = infer->server;
    char extra[HTTP_EXTRA_BYTES];
    struct http_part parts[1 + OIP_OUTPUTS_MAX];
    parts[0] = (struct http_part){infer->response.json, infer->response.length};
    for (uint32_t i = 0; i < infer->response.part_count; i++) {
        const struct weft_tensor *tensor = infer->response.parts[i];
        parts[i + 1] = (struct http_part){tensor->data, tensor->bytes};
    }
    set_headers(infer, extra, sizeof(extra));
    learn(infer);
    const struct http_response response = {
        .status = 200,
        .type = infer->response.part_count > 0 ? "application/octet-stream" : "application/json",
        .extra = extra,
        .part_count = infer->response.part_count + 1,
        .parts = parts,
        .release = on_response_released,
        .context = infer,
    };
    server->answers[2]++;
    infer_move(&infer->state, INFER_SENDING);
    leave(infer);
    http_respond(exchange, &response);
}

/* What is held now is what was made, and its JSON as long as it has become. */
static void hold_written(struct infer *infer)
{
    uint64_t bytes = infer->response.length;
    for (uint32_t i = 0; i < infer->output_count; i++) {
        bytes += infer->bundles[i] == NULL ? 0 : infer->bundles[i]->bytes;
    }
    (void)http_hold_set(&infer->hold, bytes); /* Not more than what was estimated. */
}

static void written(struct infer *infer)
{
    hold_written(infer);
    if (infer->exchange == NULL) {
        infer_release(infer);
    } else if (infer->status != WEFT_OK) {
        infer_refuse_error(infer, infer->status, &infer->error);
        infer_release(infer);
    } else {
        respond(infer);
    }
}

static void write_response(struct infer *infer)
{
    const struct oip_answer answer = infer_answer(infer);
    infer->status = oip_response_write(&answer, &infer->response, &infer->error);
}

/* The answer is there, and may not be held until its client has read it. */
static void refuse_answer(struct infer *infer, enum http_held held, uint64_t bytes)
{
    char cause[224];
    const bool is_temporary = held != HTTP_HELD_NEVER;
    (void)snprintf(
        cause, sizeof(cause), "%sthe answer takes up to %" PRIu64 " bytes: %s",
        is_temporary ? "refused: " : "", bytes, http_held_text(held));
    refuse(infer, is_temporary ? 503 : 500, cause, is_temporary ? "Retry-After: 1\r\n" : NULL);
}

/* The job has ended well. */
static void answer_well(struct infer *infer)
{
    uint64_t made_bytes = 0;
    infer_move(&infer->state, INFER_WRITING);
    infer->bundles = malloc(((size_t)infer->output_count + 1) * sizeof(struct bundle *));
    if (infer->bundles == NULL) {
        refuse(infer, 503, "no memory for the answer", "Retry-After: 1\r\n");
        infer_release(infer);
        return;
    }
    for (uint32_t i = 0; i < infer->output_count; i++) {
        uint64_t bytes;
        infer->bundles[i] = runtime_contents(infer->runtime, infer->outputs[i], &bytes);
        made_bytes += infer->bundles[i] == NULL ? 0 : infer->bundles[i]->bytes;
    }
    const struct oip_answer answer = infer_answer(infer);
    const uint64_t json_bytes = oip_response_estimate(&answer);
    const enum http_held held = http_hold_set(&infer->hold, made_bytes + json_bytes);
    if (held != HTTP_HELD) {
        refuse_answer(infer, held, made_bytes + json_bytes);
        infer_release(infer);
    } else if (json_bytes > LOOP_BYTES_MAX) {
        infer_work(infer, write_response, written);
    } else {
        write_response(infer);
        written(infer);
    }
}

static void say_late(struct infer *infer)
{
    char cause[96];
    const int64_t target_ns = infer_workflow(infer)->slo_ns; /* Of a policy that insists on it. */
    (void)snprintf(
        cause, sizeof(cause), "late: not done within its deadline of %.3f ms",
        (double)(infer->deadline_ns != 0 ? infer->deadline_ns : target_ns) / 1e6);
    refuse(infer, 504, cause, /* extra */ NULL);
}

/* The job has ended in another way. */
static void answer_badly(struct infer *infer)
{
    char extra[48];
    char cause[sizeof(infer->error.message) + 16];
    const int64_t retry_s =
        infer->retry_after_ns / 1000000000 + (infer->retry_after_ns % 1000000000 > 0 ? 1 : 0);
    const char *reason = infer->error.message;
    if (infer->status == WEFT_CANCELLED) { /* By its deadline: the client is there. */
        say_late(infer);
        return;
    }
    if (infer->status == WEFT_EXISTS) {
        refuse(infer, 409, reason, /* extra */ NULL);
        return;
    }
    if (infer->status == WEFT_REFUSED || infer->status == WEFT_BUSY) {
        (void)snprintf(
            extra, sizeof(extra), "Retry-After: %" PRId64 "\r\n", retry_s < 1 ? 1 : retry_s);
        (void)snprintf(cause, sizeof(cause), "refused: %s", reason);
        refuse(infer, 503, cause, extra);
        return;
    }
    if (infer->status == WEFT_INVALID) {
        refuse(infer, 400, reason, /* extra */ NULL);
        return;
    }
    (void)snprintf(cause, sizeof(cause), "the job failed: %s", reason);
    refuse(infer, 500, cause, /* extra */ NULL);
}

static void finish(struct infer *infer)
{
    if (infer->exchange == NULL) {
        infer_release(infer);
    } else if (infer->status == WEFT_OK) {
        answer_well(infer);
    } else {
        answer_badly(infer);
        infer_release(infer);
    }
}

/* What an engine said, or the reason of the node. */
static const char *cause_of(const struct runtime_answer *answer)
{
    if (answer->reason == REASON_KEY_REUSED) {
        return "another request had this Idempotency-Key";
    }
    if (answer->reason == REASON_DUPLICATE) {
        return "asked for again with the same Idempotency-Key";
    }
    if (answer->message != NULL && answer->message[0] != '\0') {
        return answer->message;
    }
    const char *reason = reason_name(answer->reason);
    return reason[0] == '\0' ? weft_status_text(answer->status) : reason;
}

/* The answer's handles become ours; without memory for them they are released. */
static void keep_outputs(struct infer *infer, const struct runtime_answer *answer)
{
    const size_t count = answer->output_count;
    if (count == 0) {
        return;
    }
    infer->outputs = malloc(count * sizeof(*infer->outputs));
    if (infer->outputs == NULL) {
        infer->status = error_set(&infer->error, WEFT_BUSY, "no memory for the answer");
        for (size_t i = 0; i < count; i++) {
            runtime_release(infer->runtime, answer->outputs[i]);
        }
        return;
    }
    infer->output_count = answer->output_count;
    (void)memcpy(infer->outputs, answer->outputs, count * sizeof(*infer->outputs));
}

static enum weft_status status_of(const struct runtime_answer *answer)
{
    if (answer->reason == REASON_KEY_REUSED || answer->reason == REASON_DUPLICATE) {
        return WEFT_EXISTS;
    }
    /* A job cannot help it if a model was unloaded meanwhile. */
    return answer->reason == REASON_UNAVAILABLE ? WEFT_REFUSED : answer->status;
}

static void on_answered(void *context, const struct runtime_answer *answer)
{
    struct infer *infer = context;
    ASSERT(infer->state == INFER_RUNNING);
    infer->status = status_of(answer);
    infer->deputy = answer->deputy;
    infer->latency_ns = answer->latency_ns;
    infer->retry_after_ns = answer->retry_after_ns;
    if (infer->status != WEFT_OK) {
        (void)snprintf(infer->error.message, sizeof(infer->error.message), "%s", cause_of(answer));
    }
    keep_outputs(infer, answer);
    infer->job = answer->job;
    if (infer->exchange != NULL && answer->job.number != 0) {
        (void)metrics_timing(infer->server->metrics, answer->job, &infer->timing);
    }
    finish(infer);
}

/* The first extent of all inputs, if it is the same: 0 if they differ, or have none. */
static uint64_t common_rows(const struct bundle *bundle)
{
    int64_t rows = 0;
    for (uint32_t i = 0; i < bundle->count; i++) {
        const struct weft_tensor *tensor = &bundle->tensors[i];
        const int64_t mine = tensor->rank == 0 ? 0 : tensor->shape[0];
        if (i > 0 && mine != rows) {
            return 0;
        }
        rows = mine;
    }
    return (uint64_t)rows;
}

/* Where rows count items, and the client does not say otherwise, there are as many as rows. */
static void count_items(const struct infer *infer)
{
    const struct server_repository *repository = &infer->server->options.repository;
    struct bundle *bundle = infer->request.bundle;
    const uint64_t rows = common_rows(bundle);
    if (infer->request.says_items || rows == 0 || repository->rows_max == NULL) {
        return;
    }
    const uint32_t most = repository->rows_max(repository->context, infer->workflow);
    if (most > 0) {
        bundle->items = rows < most ? (uint32_t)rows : most;
    }
}

static void submit(struct infer *infer)
{
    struct bundle *bundle = infer->request.bundle;
    ASSERT(bundle != NULL);
    count_items(infer);
    const bool has_key = request_key_is_set(infer->key);
    const struct runtime_request request = {
        .workflow = infer->workflow,
        .items = bundle->items,
        .priority = infer_urgency(infer),
        .slo_ns = infer->deadline_ns,
        .inputs = runtime_tensor(infer->runtime, bundle, bundle->bytes, bundle_destroy),
        .key = infer->key,
        .inputs_hash = has_key ? infer_inputs_hash(bundle) : 0,
        .is_retry = infer->is_retry,
        .answered = on_answered,
        .context = infer,
    };
    infer->request.bundle = NULL;
    infer_move(&infer->state, INFER_RUNNING);
    infer->runtime_client = runtime_request(infer->runtime, NODE_NONE, &request);
}

/* The request has been read, and is good or not. */
void infer_was_read(struct infer *infer)
{
    free(infer->body);
    infer->body = NULL;
    if (infer->exchange == NULL) {
        infer_release(infer);
        return;
    }
    if (infer->status != WEFT_OK) {
        infer_refuse_error(infer, infer->status, &infer->error);
        infer_release(infer);
        return;
    }
    /* The body is gone. It can be more than before only by the numbers of a short JSON. */
    (void)http_hold_set(&infer->hold, infer->request.bundle->bytes);
    const int64_t timeout_ns = infer->request.timeout_ns;
    if (timeout_ns > 0 && (infer->deadline_ns == 0 || timeout_ns < infer->deadline_ns)) {
        infer->deadline_ns = timeout_ns;
    }
    submit(infer);
}

static void infer_gone(void *request)
{
    struct infer *infer = request;
    leave(infer);
    if (infer->state == INFER_RUNNING) {
        runtime_cancel(infer->runtime, infer->runtime_client);
    } else if (infer->state != INFER_READING && infer->state != INFER_WRITING) {
        infer_release(infer);
    }
}

static struct infer *create(
    struct server *server, struct http_exchange *exchange, uint32_t workflow)
{
    static const struct http_receiver receiver = {infer_room, infer_took, infer_end, infer_gone};
    struct infer *infer =
        server->spare_count > 0 ? server->spares[--server->spare_count] : malloc(sizeof(*infer));
    if (infer == NULL) {
        return NULL;
    }
    memset(infer, 0, offsetof(struct infer, request));
    oip_request_init(&infer->request);
    oip_response_init(&infer->response);
    infer->state = INFER_RECEIVING;
    infer->server = server;
    infer->runtime = server->runtime;
    infer->exchange = exchange;
    infer->workflow = workflow;
    list_push_front(&server->infers, &infer->link);
    server->open++;
    http_hold_begin(&infer->hold, exchange);
    http_exchange_set(exchange, &receiver, infer);
    return infer;
}

void infer_begin(
    struct server *server, struct http_exchange *exchange, const struct http_head *head,
    uint32_t workflow)
{
    uint32_t status = 0;
    char text[MODELS_OBSTACLE_BYTES];
    struct infer_head read;
    waker_expect(http_exchange_is_local(exchange));
    const char *obstacle = infer_head_read(head, &read, &status);
    if (obstacle == NULL) {
        status = 503;
        obstacle = memory_has_reserve() ? models_obstacle(server, workflow, text)
                                        : "refused: memory is short";
    }
    struct infer *infer = obstacle == NULL ? create(server, exchange, workflow) : NULL;
    if (infer == NULL) {
        server->answers[status / 100]++;
        http_respond_error(
            exchange, status, obstacle == NULL ? "no memory" : obstacle,
            status == 503 ? "Retry-After: 1\r\n" : NULL);
        return;
    }
    infer->deadline_ns = read.slo_ns;
    if (server->options.members != NULL) { /* Otherwise there is no other node to turn to. */
        infer->key = read.key;
        infer->is_retry = read.is_retry;
    }
    infer->length = http_exchange_body_bytes(exchange);
    infer->has_json_bytes = read.has_json_bytes;
    infer->json_bytes = read.json_bytes;
    infer->is_streamed = read.has_json_bytes && read.json_bytes > 0 &&
                         read.json_bytes <= LOOP_BYTES_MAX && infer->length != UINT64_MAX &&
                         read.json_bytes < infer->length;
}

/*
 * Connections are closed by now, so that no client waits. What another thread works on, or a
 * connection that closes still holds, goes when those are done.
 */
void infer_forget(struct server *server)
{
    struct list_link *next;
    for (struct list_link *at = server->infers.first; at != NULL; at = next) {
        struct infer *infer = LIST_ITEM(at, struct infer, link);
        next = at->next;
        if (infer->state == INFER_RUNNING) {
            infer_release(infer);
        }
    }
}
