/*
 * stream.h - bytes to and from one peer, over a socket that never blocks: plain or with TLS; or, on
 * one machine, through shared memory.
 *
 * Two processes that share memory shake hands over a Unix socket, with TLS where there are
 * certificates, so that each knows who the other is. Everything else goes through rings (rings.h)
 * and is not encrypted: no other process sees it.
 */
#ifndef FABRIC_STREAM_H
#define FABRIC_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iovec;
struct stream;
struct trust;
struct ucx_inlet;
struct ucx_outlet;

/*
 * Take @socket, which may still be connecting, over. NULL if there is no memory: it is then the
 * caller's. @trust need not outlive the stream.
 */
struct stream *stream_create(const struct trust *trust, int socket, bool is_dialer);

/* The same through memory that two processes share: @socket is a connected Unix socket. */
struct stream *stream_create_shared(const struct trust *trust, int socket, bool is_dialer);

/*
 * From now on bytes come by @inlet, or leave by @outlet, which is taken over; the socket still says
 * when the other side is gone, and carries what goes the other way.
 */
void stream_use_inlet(struct stream *stream, struct ucx_inlet *inlet);
void stream_use_outlet(struct stream *stream, struct ucx_outlet *outlet);

/* Destroy these, if there are any: nothing more is read or written. */
void stream_close_lanes(struct stream *stream);

/* Closes the socket. NULL is allowed. */
void stream_destroy(struct stream *stream);

/* Read up to @room bytes: how many; 0 if none are there yet; -1 if the stream is over. */
ptrdiff_t stream_read(struct stream *stream, void *bytes, size_t room);

/*
 * Write bytes of @parts, one after the other; there is at least one. Returns how many: 0 if there
 * is no room yet, -1 if the stream is over. What was written need not stay where it was. What
 * @is_quiet does not wake a reader that shares memory and does not attend: see rings.h.
 */
ptrdiff_t stream_write(
    struct stream *stream, const struct iovec *parts, int part_count, bool is_quiet);

/*
 * Whether this side attends to what is quiet, as it does at first. Whether there are bytes to read
 * for which it was not woken.
 */
bool stream_attend(struct stream *stream, bool attends);

/* Whether there are bytes to read for which this side was not woken. */
bool stream_has_news(const struct stream *stream);

/*
 * Whether the stream goes on when the socket has room, if the caller @has_output: TLS itself
 * writes, too. Where memory is shared the socket is readable when there is room.
 */
bool stream_wants_to_write(const struct stream *stream, bool has_output);

/* The socket can be read, or is over: where there is an inlet it is not looked at without. */
void stream_note_socket(struct stream *stream);

/* Send what waits, as far as there is room. False if the stream is over. */
bool stream_flush(struct stream *stream);

/* Whether the last read took all that was there: the socket says when there is more. */
bool stream_is_drained(const struct stream *stream);

/* Whether bytes can be read though the socket may have none. */
bool stream_has_bytes(const struct stream *stream);

/* Whether the certificate of the other side is for @name. True where there are no certificates. */
bool stream_is_from(const struct stream *stream, const char *name);

/* Why the stream is over, as a short text. */
const char *stream_cause(const struct stream *stream);

#endif /* FABRIC_STREAM_H */
