#include "fabric/framed.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include <uv.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "fabric/stream.h"
#include "fabric/ucx.h"
#include "wire/bytes.h"

enum {
    TURN_BYTES_MAX = 4 << 20, /* Read or written before others have their turn. */
    AHEAD_BYTES = 16 * 1024,  /* Read at once, though it may be data, which is then copied. */
    HANDLES = 2,
};

struct framed {
    struct framed_owner owner;
    struct stream *stream;
    uv_poll_t poll;
    uv_idle_t idle; /* Runs while there is more to do than a turn allowed. */
    uint32_t handles_open;
    bool is_closing;
    bool is_over;
    bool reads_more; /* There may be more to read, whatever the socket says. */
    int events;      /* That the socket is watched for. */

    uint8_t *in; /* What was read: frames, the last of them perhaps not whole. */
    size_t in_room;
    size_t in_at;
    size_t in_count;
    size_t missing;   /* Of the last, as far as that is known. */
    size_t data_left; /* Of the data frame that is being read. */

    uint8_t *out;
    size_t out_count;
    size_t out_at;
    bool out_wakes;      /* Not all that is in it is quiet. */
    const uint8_t *data; /* Follows what is in the buffer. */
    size_t data_count;
};

static void pump(struct framed *framed);

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct framed *framed = poll->data;
    (void)status; /* What is wrong with the socket is said when it is read. */
    framed->reads_more = framed->reads_more || events != UV_WRITABLE;
    if (framed->reads_more) {
        stream_note_socket(framed->stream);
    }
    pump(framed);
}

static void on_idle(uv_idle_t *idle)
{
    (void)uv_idle_stop(idle); /* Never fails. */
    pump(idle->data);
}

static void on_closed(uv_handle_t *handle)
{
    struct framed *framed = handle->data;
    framed->handles_open--;
    if (framed->handles_open > 0) {
        return;
    }
    stream_destroy(framed->stream);
    free(framed->in);
    free(framed->out);
    free(framed);
}

struct framed *framed_create(
    struct uv_loop_s *loop, struct stream *stream, int socket, const struct framed_owner *owner)
{
    struct framed *framed = memory_reserved_zeroed(1, sizeof(*framed));
    const size_t room = FRAME_HEAD_BYTES + FRAME_FIRST_BYTES_MAX;
    uint8_t *in = memory_reserved(room);
    uint8_t *out = memory_reserved(FRAME_HEAD_BYTES + FRAME_BYTES_MAX);
    if (framed == NULL || in == NULL || out == NULL ||
        uv_poll_init(loop, &framed->poll, socket) != 0) {
        free(framed);
        free(in);
        free(out);
        stream_destroy(stream);
        return NULL;
    }
    (void)uv_idle_init(loop, &framed->idle); /* Never fails. */
    framed->owner = *owner;
    framed->stream = stream;
    framed->in = in;
    framed->in_room = room;
    framed->out = out;
    framed->handles_open = HANDLES;
    framed->reads_more = true; /* Where memory is shared, only a read asks to be woken. */
    framed->poll.data = framed;
    framed->idle.data = framed;
    framed_flush(framed);
    return framed;
}

void framed_close(struct framed *framed)
{
    if (framed == NULL || framed->is_closing) {
        return;
    }
    framed->is_closing = true;
    stream_close_lanes(framed->stream);
    uv_close((uv_handle_t *)&framed->poll, on_closed);
    uv_close((uv_handle_t *)&framed->idle, on_closed);
}

bool framed_widen(struct framed *framed)
{
    uint8_t *in = memory_reserved_more(framed->in, FRAME_HEAD_BYTES + FRAME_BYTES_MAX);
    if (in == NULL) {
        return false;
    }
    framed->in = in;
    framed->in_room = FRAME_HEAD_BYTES + FRAME_BYTES_MAX;
    return true;
}

bool framed_has_room(const struct framed *framed, size_t count)
{
    return framed->data_count == 0 && FRAME_HEAD_BYTES + count <= FRAME_HEAD_BYTES +
                                                                      (size_t)FRAME_BYTES_MAX -
                                                                      framed->out_count;
}

static void put_head(struct framed *framed, uint8_t kind, size_t count)
{
    struct bytes_writer writer = {
        .bytes = framed->out + framed->out_count, .count_max = FRAME_HEAD_BYTES};
    bytes_put(&writer, count, 4);
    bytes_put(&writer, kind, 1);
    framed->out_count += FRAME_HEAD_BYTES;
}

bool framed_put_quietly(struct framed *framed, uint8_t kind, const uint8_t *body, size_t count)
{
    ASSERT(kind != FRAME_DATA);
    if (!framed_has_room(framed, count)) {
        return false;
    }
    put_head(framed, kind, count);
    if (count > 0) {
        memcpy(framed->out + framed->out_count, body, count);
    }
    framed->out_count += count;
    return true;
}

bool framed_put(struct framed *framed, uint8_t kind, const uint8_t *body, size_t count)
{
    const bool is_put = framed_put_quietly(framed, kind, body, count);
    framed->out_wakes = framed->out_wakes || is_put;
    return is_put;
}

bool framed_put_data(struct framed *framed, const void *data, size_t count)
{
    ASSERT(count > 0 && count <= FRAME_DATA_BYTES_MAX);
    if (!framed_has_room(framed, 0)) {
        return false;
    }
    put_head(framed, FRAME_DATA, count);
    framed->data = data;
    framed->data_count = count;
    framed->out_wakes = true;
    return true;
}

void framed_flush(struct framed *framed)
{
    if (!framed->is_closing) {
        (void)uv_idle_start(&framed->idle, on_idle); /* Never fails. */
    }
}

static void on_inlet_ready(void *context)
{
    struct framed *framed = context;
    framed->reads_more = true;
    pump(framed);
}

/* There is room in the outlet, or it is over: UCX is still at work. */
static void on_outlet_ready(void *context)
{
    struct framed *framed = context;
    framed->reads_more = true;
    framed_flush(framed);
}

const uint8_t *framed_open_inlet(struct framed *framed, struct ucx *ucx)
{
    struct ucx_inlet *inlet = ucx_inlet_create(ucx, on_inlet_ready, framed);
    if (inlet == NULL) {
        return NULL;
    }
    stream_use_inlet(framed->stream, inlet);
    return ucx_inlet_token(inlet);
}

bool framed_open_outlet(
    struct framed *framed, struct ucx *ucx, const uint8_t *address, const uint8_t *token)
{
    ASSERT(framed->out_at == framed->out_count && framed->data_count == 0);
    struct ucx_outlet *outlet = ucx_outlet_create(ucx, address, token, on_outlet_ready, framed);
    if (outlet != NULL) {
        stream_use_outlet(framed->stream, outlet);
    }
    return outlet != NULL;
}

const struct stream *framed_stream(const struct framed *framed)
{
    return framed->stream;
}

static void end(struct framed *framed, const char *cause)
{
    if (framed->is_over || framed->is_closing) {
        return;
    }
    framed->is_over = true;
    (void)uv_poll_stop(&framed->poll);
    (void)uv_idle_stop(&framed->idle);
    framed->owner.on_over(framed->owner.context, cause);
}

static bool is_open(const struct framed *framed)
{
    return !framed->is_over && !framed->is_closing;
}

static size_t unread(const struct framed *framed)
{
    return framed->in_count - framed->in_at;
}

/* Hand over @count bytes of data, which are where they belong. */
static void take_data(struct framed *framed, size_t count)
{
    framed->data_left -= count;
    if (!framed->owner.on_data(framed->owner.context, count)) {
        end(framed, "data that makes no sense");
    }
}

/* Where data goes now, and how much of it. NULL, and the end, if none is expected. */
static void *data_place(struct framed *framed, size_t *room_out)
{
    void *place = framed->owner.data_room(framed->owner.context, room_out);
    *room_out = min_size(*room_out, framed->data_left);
    if (place == NULL) {
        end(framed, "data that nothing announced");
    }
    return place;
}

/* Data that was read together with what came before it. */
static void copy_data(struct framed *framed)
{
    size_t room = 0;
    void *place = data_place(framed, &room);
    if (place != NULL) {
        room = min_size(room, unread(framed));
        memcpy(place, framed->in + framed->in_at, room);
        framed->in_at += room;
        take_data(framed, room);
    }
}

/* Take the next frame out of the buffer. False if it is not all there. */
static bool take_frame(struct framed *framed)
{
    struct bytes_reader reader = {.bytes = framed->in + framed->in_at, .count = unread(framed)};
    const size_t count = (size_t)bytes_take(&reader, 4);
    const uint8_t kind = (uint8_t)bytes_take(&reader, 1);
    if (reader.is_short) {
        framed->missing = FRAME_HEAD_BYTES - unread(framed);
        return false;
    }
    if (kind == FRAME_DATA) {
        framed->in_at += FRAME_HEAD_BYTES;
        framed->data_left = count;
        if (count == 0 || count > FRAME_DATA_BYTES_MAX) {
            end(framed, "a frame that makes no sense");
        }
        return true;
    }
    if (count > framed->in_room - FRAME_HEAD_BYTES) {
        end(framed, "a frame that is too long");
        return true;
    }
    if (reader.count < count) {
        framed->missing = count - reader.count;
        return false;
    }
    framed->in_at += FRAME_HEAD_BYTES + count;
    if (!framed->owner.on_frame(framed->owner.context, kind, reader.bytes, count)) {
        end(framed, "a message that makes no sense");
    }
    return true;
}

/* Read what is missing of a frame, if it is there, and a little of what follows. */
static ptrdiff_t read_ahead(struct framed *framed)
{
    memmove(framed->in, framed->in + framed->in_at, unread(framed));
    framed->in_count = unread(framed);
    framed->in_at = 0;
    const size_t room = framed->in_room - framed->in_count;
    ASSERT(framed->missing <= room);
    const ptrdiff_t got = stream_read(
        framed->stream, framed->in + framed->in_count,
        min_size(room, max_size(framed->missing, AHEAD_BYTES)));
    framed->in_count += got > 0 ? (size_t)got : 0;
    framed->missing = 0;
    return got;
}

/* Read once: data to where it belongs, all else to the buffer. Returns as stream_read(). */
static ptrdiff_t read_once(struct framed *framed)
{
    if (framed->data_left == 0) {
        return read_ahead(framed);
    }
    size_t room = 0;
    void *place = data_place(framed, &room);
    if (place == NULL) {
        return -1;
    }
    const ptrdiff_t got = stream_read(framed->stream, place, room);
    if (got > 0) {
        take_data(framed, (size_t)got);
    }
    return got;
}

/* Hand over what is in the buffer, but for a frame that is not all there. */
static void take_buffered(struct framed *framed)
{
    bool is_whole = true;
    while (is_open(framed) && unread(framed) > 0 && is_whole) {
        if (framed->data_left > 0) {
            copy_data(framed);
        } else {
            is_whole = take_frame(framed);
        }
    }
}

/* Whether there may be more to read. */
static bool read_some(struct framed *framed)
{
    for (size_t turn = 0; turn < TURN_BYTES_MAX && is_open(framed);) {
        const ptrdiff_t got = read_once(framed);
        if (got < 0) {
            end(framed, stream_cause(framed->stream));
        }
        if (got <= 0) {
            return false;
        }
        take_buffered(framed);
        if (stream_is_drained(framed->stream)) {
            return false; /* The loop says when there is more. */
        }
        turn += (size_t)got;
    }
    return is_open(framed);
}

/* Write what is in the buffer, then the data that follows it. Returns as stream_write(). */
static ptrdiff_t write_piece(struct framed *framed)
{
    const size_t buffered = framed->out_count - framed->out_at;
    const struct iovec parts[2] = {
        {.iov_base = framed->out + framed->out_at, .iov_len = buffered},
        {.iov_base = (void *)(uintptr_t)framed->data, .iov_len = framed->data_count},
    };
    const ptrdiff_t sent = stream_write(
        framed->stream, parts, framed->data_count > 0 ? 2 : 1, /* is_quiet */ !framed->out_wakes);
    if (sent > 0) {
        const size_t of_buffer = min_size((size_t)sent, buffered);
        framed->out_at += of_buffer;
        if ((size_t)sent > of_buffer) {
            framed->data += (size_t)sent - of_buffer;
            framed->data_count -= (size_t)sent - of_buffer;
        }
    }
    return sent;
}

static bool has_output(const struct framed *framed)
{
    return framed->out_at < framed->out_count || framed->data_count > 0;
}

/* Whether a turn was not enough. */
static bool write_some(struct framed *framed)
{
    if (!stream_flush(framed->stream)) {
        end(framed, stream_cause(framed->stream));
    }
    for (size_t turn = 0; turn < TURN_BYTES_MAX && is_open(framed);) {
        if (!has_output(framed)) {
            framed->out_at = 0;
            framed->out_count = 0;
            framed->out_wakes = false;
            framed->owner.on_drained(framed->owner.context);
            if (!is_open(framed) || !has_output(framed)) {
                return false;
            }
        }
        const ptrdiff_t sent = write_piece(framed);
        if (sent < 0) {
            end(framed, stream_cause(framed->stream));
        }
        if (sent <= 0) {
            return false;
        }
        turn += (size_t)sent;
    }
    return is_open(framed);
}

/* Let the loop look at the socket for what is waited for now. */
static void watch(struct framed *framed)
{
    const bool waits_for_room = stream_wants_to_write(framed->stream, has_output(framed));
    const int events = UV_READABLE | (waits_for_room ? UV_WRITABLE : 0);
    if (events == framed->events) {
        return;
    }
    framed->events = events;
    if (uv_poll_start(&framed->poll, events, on_poll) != 0) {
        end(framed, "the socket cannot be watched");
    }
}

static void pump(struct framed *framed)
{
    if (is_open(framed) && framed->reads_more) {
        framed->reads_more = read_some(framed);
    }
    const bool writes_more = is_open(framed) && write_some(framed);
    if (!is_open(framed)) {
        return;
    }
    framed->reads_more = framed->reads_more || stream_has_bytes(framed->stream);
    if (framed->reads_more || writes_more) {
        (void)uv_idle_start(&framed->idle, on_idle); /* Never fails. */
    }
    watch(framed);
}

void framed_attend(struct framed *framed, bool attends)
{
    if (is_open(framed) && stream_attend(framed->stream, attends)) {
        framed->reads_more = true;
        framed_flush(framed);
    }
}

void framed_glance(struct framed *framed)
{
    if (is_open(framed) && stream_has_news(framed->stream)) {
        framed->reads_more = true;
        pump(framed);
    }
}
