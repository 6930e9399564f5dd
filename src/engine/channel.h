/*
 * channel.h - packets over a stream socket, in both directions.
 *
 * The process with an event loop never waits: what the socket does not take at once is kept and
 * sent when it can be. Of one thread at a time in each direction.
 *
 * Beside the socket there may be a tray (tray.h): while that is open, what fits into it goes there.
 */
#ifndef ENGINE_CHANNEL_H
#define ENGINE_CHANNEL_H

#include "engine/packet.h"

struct tray;
struct unsent;

struct channel {
    int socket;
    struct tray *tray_in;  /* Borrowed, like the next one; NULL: there is none. */
    struct tray *tray_out; /* A packet that is sent goes there if it can. */
    uint8_t *in;           /* What has come of the next packets. */
    size_t in_used;
    size_t in_room;
    size_t in_taken; /* Of the packet that was received last. */
    bool is_drained; /* The last read left nothing: another one would find nothing. */
    int files[2 * PACKET_FILES_MAX];
    uint32_t file_count;
    struct received received;
    struct unsent *first; /* What the socket did not take yet. */
    struct unsent *last;
};

/* @socket becomes the channel's. */
void channel_init(struct channel *channel, int socket);

/* Close it, and forget what was not sent. */
void channel_deinit(struct channel *channel);

/*
 * Send @packet, or as much as the socket takes now and the rest with channel_flush(). False if
 * the other side is gone or there is no memory. The packet is cleared.
 */
bool channel_send(struct channel *channel, struct packet *packet);

/* The same, waiting until the socket has taken all. */
bool channel_send_wait(struct channel *channel, struct packet *packet);

/* Go on sending. False if the other side is gone. */
bool channel_flush(struct channel *channel);

/* Whether the socket is to be waited for until it takes more. */
bool channel_is_blocked(const struct channel *channel);

enum channel_receipt {
    CHANNEL_RECEIVED,
    CHANNEL_EMPTY, /* No whole packet has come yet. */
    CHANNEL_GONE,
    CHANNEL_NONSENSE,
};

/*
 * The next packet; *received_out is good until the next call. @waits: for it; otherwise looks
 * whether it is there. Once it has said that there is none, look again when the socket is ready.
 */
enum channel_receipt channel_receive(
    struct channel *channel, bool waits, struct received **received_out);

/*
 * The next packet of a channel over which other threads send meanwhile: waits for it. A thread
 * that sleeps in recvmsg() is woken whenever the other side has read something, for there is room
 * to write then; one that sleeps in poll() is not.
 */
enum channel_receipt channel_await(struct channel *channel, struct received **received_out);

#endif /* ENGINE_CHANNEL_H */
