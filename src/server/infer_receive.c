/* infer_receive.c - the body of an inference request: taken from the socket, and read. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/numbers.h"
#include "server/infer.h"

enum { BODY_BYTES_FIRST = 16384 };

/* Tensors are made beside the body, which stays until they are. Any thread. */
static enum weft_status hold_tensor(void *context, uint64_t bytes, struct weft_error *error)
{
    struct infer *infer = context;
    const enum http_held held = http_hold_set(&infer->hold, infer->hold.bytes + bytes);
    if (held == HTTP_HELD) {
        return WEFT_OK;
    }
    const enum weft_status status = held == HTTP_HELD_NEVER ? WEFT_LIMIT : WEFT_BUSY;
    return error_set(error, status, "refused: %s", http_held_text(held));
}

static void read_body(struct infer *infer)
{
    const struct workflow *workflow = infer_workflow(infer);
    const uint64_t json = infer->has_json_bytes ? infer->json_bytes : infer->body_bytes;
    if (json > infer->body_bytes) {
        infer->status = error_set(
            &infer->error, WEFT_INVALID, "Inference-Header-Content-Length is more than the body");
        return;
    }
    const uint64_t rest = infer->body_bytes - json;
    const struct oip_bounds bounds = {
        .binary_bytes_max = rest, .hold = hold_tensor, .context = infer};
    infer->status = oip_request_read(
        infer->body, (size_t)json, workflow, &bounds, &infer->request, &infer->error);
    if (infer->status == WEFT_OK) {
        infer->status = oip_request_fill(
            &infer->request, (const uint8_t *)infer->body + json, rest, &infer->error);
    }
}

/* The JSON of a streamed request is there: make room for the tensors behind it. */
static void read_streamed(struct infer *infer)
{
    const uint64_t rest = infer->length - infer->json_bytes;
    const struct oip_bounds bounds = {.binary_bytes_max = rest}; /* Held as they come. */
    infer->status = oip_request_read(
        infer->body, (size_t)infer->json_bytes, infer_workflow(infer), &bounds, &infer->request,
        &infer->error);
    if (infer->status == WEFT_OK && infer->request.binary_bytes != rest) {
        infer->status = error_set(
            &infer->error, WEFT_INVALID,
            "%" PRIu64 " bytes follow the JSON, its inputs name %" PRIu64, rest,
            infer->request.binary_bytes);
    }
    if (infer->status == WEFT_OK) {
        infer_move(&infer->state, INFER_FILLING);
        return;
    }
    infer_refuse_error(infer, infer->status, &infer->error);
    infer_release(infer);
}

/* Step over tensors that are full. */
static void skip_full(struct infer *infer)
{
    while (infer->binary_next < infer->request.binary_count &&
           infer->binary_at == infer_filled(infer)->bytes) {
        infer->binary_next++;
        infer->binary_at = 0;
    }
}

static bool make_room(struct infer *infer)
{
    const uint64_t most = infer->is_streamed ? infer->json_bytes : infer->length;
    const uint64_t larger =
        min_u64(infer->body_max == 0 ? BODY_BYTES_FIRST : 2 * infer->body_max, most);
    char *body = realloc(infer->body, (size_t)larger);
    if (body == NULL) {
        return false;
    }
    infer->body = body;
    infer->body_max = larger;
    return true;
}

uint8_t *infer_room(void *request, size_t *room_out)
{
    static uint8_t nowhere[BODY_BYTES_FIRST];
    struct infer *infer = request;
    if (infer->state == INFER_FILLING) {
        skip_full(infer);
        const struct weft_tensor *tensor = infer_filled(infer);
        *room_out = (size_t)(tensor->bytes - infer->binary_at);
        return (uint8_t *)tensor->data + infer->binary_at;
    }
    if (infer->state == INFER_RECEIVING && infer->body_bytes == infer->body_max &&
        !make_room(infer)) {
        infer_move(&infer->state, INFER_SKIPPING);
    }
    if (infer->state == INFER_SKIPPING) {
        *room_out = sizeof(nowhere);
        return nowhere;
    }
    *room_out = (size_t)(infer->body_max - infer->body_bytes);
    return (uint8_t *)infer->body + infer->body_bytes;
}

void infer_took(void *request, size_t count)
{
    struct infer *infer = request;
    ASSERT(infer->state < INFER_READING);
    const enum http_held held = http_hold_set(&infer->hold, infer->hold.bytes + count);
    if (held != HTTP_HELD) {
        infer_refuse_held(infer, held);
        infer_release(infer);
        return;
    }
    if (infer->state == INFER_FILLING) {
        infer->binary_at += count;
        ASSERT(infer->binary_at <= infer_filled(infer)->bytes);
    } else if (infer->state == INFER_RECEIVING) {
        infer->body_bytes += count;
        ASSERT(infer->body_bytes <= infer->body_max);
        if (infer->is_streamed && infer->body_bytes == infer->json_bytes) {
            read_streamed(infer);
        }
    }
}

static void check_filled(struct infer *infer)
{
    infer->status = oip_request_check(&infer->request, &infer->error);
}

void infer_end(void *request)
{
    struct infer *infer = request;
    const enum infer_state came = infer->state;
    infer_move(&infer->state, INFER_READING);
    if (came == INFER_SKIPPING) {
        infer->status = error_set(&infer->error, WEFT_NO_MEMORY, "no memory for the request");
        infer_was_read(infer);
    } else if (
        came == INFER_FILLING && infer->request.binary_bytes > LOOP_BYTES_MAX &&
        oip_request_needs_check(&infer->request)) {
        infer_work(infer, check_filled, infer_was_read);
    } else if (came == INFER_FILLING) {
        check_filled(infer);
        infer_was_read(infer);
    } else if (infer->body_bytes > LOOP_BYTES_MAX) {
        infer_work(infer, read_body, infer_was_read);
    } else {
        read_body(infer);
        infer_was_read(infer);
    }
}
