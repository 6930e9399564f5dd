/*
 * framed.h - frames over a stream, on a loop: small ones through a buffer, data past it.
 *
 *     count  kind  body
 *     4      1     count bytes
 *
 * What kinds mean is its owner's affair, but for FRAME_DATA: the bodies of such frames are read
 * straight to where the owner wants them, and written straight from where they lie. Callbacks come
 * from the loop, never from inside a call. Bounded: a frame that is too long ends the connection,
 * and what does not fit the buffer is not taken.
 */
#ifndef FABRIC_FRAMED_H
#define FABRIC_FRAMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct framed;
struct stream;
struct ucx;
struct uv_loop_s;

enum {
    FRAME_HEAD_BYTES = 5,
    FRAME_DATA = 0,              /* All other kinds are the owner's. */
    FRAME_FIRST_BYTES_MAX = 512, /* Of a body, until framed_widen(). */
    FRAME_BYTES_MAX = 160 * 1024,
    FRAME_DATA_BYTES_MAX = 1 << 20,
};

struct framed_owner {
    void *context;

    /* A frame has come; @body is valid during the call. False: it makes no sense. */
    bool (*on_frame)(void *context, uint8_t kind, const uint8_t *body, size_t count);

    /*
     * Data comes: where the next *@room_out bytes of it go, at most. NULL: none is expected. Once
     * they are there on_data() is told how many.
     */
    void *(*data_room)(void *context, size_t *room_out);
    bool (*on_data)(void *context, size_t count);

    /* Everything put so far has left: there is room for more. */
    void (*on_drained)(void *context);

    /* It is over, for the reason @cause: nothing more comes. The owner closes it. */
    void (*on_over)(void *context, const char *cause);
};

/* Take over @stream. NULL, with the stream destroyed, if there is no memory or descriptor. */
struct framed *framed_create(
    struct uv_loop_s *loop, struct stream *stream, int socket, const struct framed_owner *owner);

/* No callback comes any more; the loop releases it. NULL is allowed. May be called by callbacks. */
void framed_close(struct framed *framed);

/* The other side is known now: frames may have FRAME_BYTES_MAX. False if there is no memory. */
bool framed_widen(struct framed *framed);

/* Put a frame, which leaves when the loop runs. False if there is no room for it yet. */
bool framed_put(struct framed *framed, uint8_t kind, const uint8_t *body, size_t count);

/* The same for one that does not wake a side that shares memory and does not attend. */
bool framed_put_quietly(struct framed *framed, uint8_t kind, const uint8_t *body, size_t count);

/*
 * Put a frame of @count bytes at @data, 1 to FRAME_DATA_BYTES_MAX, which must stay there until
 * on_drained(): nothing can be put before. False if there is no room yet.
 */
bool framed_put_data(struct framed *framed, const void *data, size_t count);

/* Whether a frame with a body of @count bytes can be put. */
bool framed_has_room(const struct framed *framed, size_t count);

/* Whether this side attends to frames that were put quietly, as it does at first. */
void framed_attend(struct framed *framed, bool attends);

/* Hand over what has come quietly, now: only from the loop. */
void framed_glance(struct framed *framed);

/* Look at the socket at the next turn of the loop: something may have been put. */
void framed_flush(struct framed *framed);

/*
 * From now on frames come by an inlet of @ucx, whose token this returns: NULL if there is none, and
 * all stays as it was. Frames that are put leave as before.
 */
const uint8_t *framed_open_inlet(struct framed *framed, struct ucx *ucx);

/*
 * From now on frames leave by an outlet of @ucx, to the inlet with @token at @address; frames come
 * as before. Everything put so far has left. False if there is none, and all stays as it was.
 */
bool framed_open_outlet(
    struct framed *framed, struct ucx *ucx, const uint8_t *address, const uint8_t *token);

const struct stream *framed_stream(const struct framed *framed);

#endif /* FABRIC_FRAMED_H */
