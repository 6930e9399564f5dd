/*
 * packet.h - what goes between a process and its engine processes.
 *
 * A packet is a kind, some bytes, and open files: memory of large tensors, which is passed and
 * not copied. The sender writes plain values one after another; the receiver reads them in the
 * same order through a reader that never leaves the packet, since the other side may have lost
 * its mind. channel.h carries packets.
 *
 *     packet_start(&packet, KIND);                    channel_receive(&channel, &received)
 *     packet_put(&packet, &value, sizeof(value));     reader_take(&reader, &value, sizeof(value))
 *     channel_send(&channel, &packet);
 *
 * Several may be sent as one message: packet_hold() ends one, and the next is put behind it.
 */
#ifndef ENGINE_PACKET_H
#define ENGINE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PACKET_FILES_MAX = 250, PACKET_BYTES_MAX = 1 << 27 };

/* Before the bytes of a packet; the channel fills it in. */
struct packet_head {
    uint32_t kind;
    uint32_t file_count;
    uint64_t bytes;
};

struct packet {
    uint32_t kind;
    bool is_short; /* There was no memory for all that was put. */
    uint8_t *bytes;
    size_t start; /* Where it begins: behind those that are held. */
    size_t used;
    size_t room;
    uint32_t file_count;
    struct packet_file {
        int file;
        bool is_owned; /* Closed with the packet; otherwise borrowed until it is sent. */
    } files[PACKET_FILES_MAX];
};

/* Empty, for @kind, behind what is held; what room it had is used again. All zero is a packet that
 * never had any. */
void packet_start(struct packet *packet, uint32_t kind);

/* Add @count bytes. */
void packet_put(struct packet *packet, const void *bytes, size_t count);

/* Add @file, and say its place in *place_out. False if there is no room for one more. */
bool packet_put_file(struct packet *packet, int file, bool is_owned, uint32_t *place_out);

/* Complete it. False if there was no memory for it. */
bool packet_end(struct packet *packet);

/* The same; it has no files, and is sent with the next one. */
bool packet_hold(struct packet *packet);

/* Close the files that are its own, and forget what is held; it may be started again. */
void packet_clear(struct packet *packet);

/* The same, and release it. */
void packet_deinit(struct packet *packet);

/* A packet that came. Good until the next is received. */
struct received {
    uint32_t kind;
    const uint8_t *bytes;
    size_t count;
    uint32_t file_count;
    int files[PACKET_FILES_MAX]; /* Closed by the channel, unless taken: -1 from then on. */
};

/* Reads what a packet holds. */
struct packet_reader {
    const uint8_t *at;
    size_t left;
    bool is_bad; /* Something was read that is not there; whatever was read since is zero. */
};

void reader_init(struct packet_reader *reader, const struct received *received);

/* The next @count bytes. Zeroes, and the reader is bad from now on, if there are fewer. */
void reader_take(struct packet_reader *reader, void *out, size_t count);

/* Where the next @count bytes are; NULL, and the reader is bad, if there are fewer. */
const uint8_t *reader_skip(struct packet_reader *reader, size_t count);

#endif /* ENGINE_PACKET_H */
