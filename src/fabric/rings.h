/*
 * rings.h - bytes between two processes through memory that both have mapped.
 *
 * Two rings, one for each direction, in a file in memory that can neither shrink nor grow. One side
 * makes the file and passes it over a Unix socket. Afterwards that socket carries wake-ups alone,
 * and its end says that the other process is gone.
 *
 * Nothing in the memory is trusted. Each side keeps its own positions to itself, a position of the
 * other side that is impossible ends the connection, and bytes are copied before they are read.
 */
#ifndef FABRIC_RINGS_H
#define FABRIC_RINGS_H

#include <stdbool.h>
#include <stddef.h>

struct iovec;
struct rings;

enum {
    RINGS_FORTH_BYTES = 1 << 20, /* From the side that made them. */
    RINGS_BACK_BYTES = 64 * 1024,
    RINGS_CONTROL_BYTES = 4096, /* Positions and flags; the rings follow. */
    RINGS_FILE_BYTES = RINGS_CONTROL_BYTES + RINGS_FORTH_BYTES + RINGS_BACK_BYTES,
};

/*
 * Make rings and pass them over @socket, which is borrowed. NULL if the system gives no memory, or
 * the socket does not take them.
 */
struct rings *rings_create(int socket);

/*
 * Take the rings that were passed over @socket, which is borrowed. NULL, with *@cause_out, if what
 * came cannot be used, and with NULL there if nothing has come yet.
 */
struct rings *rings_accept(int socket, const char **cause_out);

/* NULL is allowed. The socket stays open. */
void rings_destroy(struct rings *rings);

/*
 * Read up to @room bytes: how many; -1 if the connection is over. 0: there are none, and the socket
 * becomes readable when there are.
 */
ptrdiff_t rings_read(struct rings *rings, void *bytes, size_t room);

/*
 * Write bytes of @parts, one after the other: how many; -1 if the connection is over. 0: there is
 * no room, and the socket becomes readable, and has been read, when there is. @is_quiet: if
 * there was room for all of it, a reader that does not attend sleeps on.
 */
ptrdiff_t rings_write(
    struct rings *rings, const struct iovec *parts, int part_count, bool is_quiet);

/*
 * Whether this side attends: as it does at first, it is woken for quiet bytes, too. Else it looks
 * for them itself, whenever it is awake. Whether there are bytes to read.
 */
bool rings_attend(struct rings *rings, bool attends);

/* Whether there are bytes to read. */
bool rings_has_bytes(const struct rings *rings);

/* Why the connection is over, as a short text. */
const char *rings_cause(const struct rings *rings);

#endif /* FABRIC_RINGS_H */
