#include "engine/packet.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"

enum { ROOM_FIRST = 4096 };

void packet_start(struct packet *packet, uint32_t kind)
{
    ASSERT(packet->file_count == 0);
    packet->kind = kind;
    packet->is_short = false;
    packet->used = packet->start;
    const struct packet_head head = {.kind = kind};
    packet_put(packet, &head, sizeof(head));
}

void packet_put(struct packet *packet, const void *bytes, size_t count)
{
    if (packet->is_short || count > PACKET_BYTES_MAX - packet->used) {
        packet->is_short = true;
        return;
    }
    if (packet->used + count > packet->room) {
        size_t room = packet->room == 0 ? ROOM_FIRST : packet->room;
        while (room < packet->used + count) {
            room *= 2; /* Far from where it would overflow: see PACKET_BYTES_MAX. */
        }
        uint8_t *larger = memory_reserved_more(packet->bytes, room);
        if (larger == NULL) {
            packet->is_short = true;
            return;
        }
        packet->bytes = larger;
        packet->room = room;
    }
    if (count > 0) {
        memcpy(packet->bytes + packet->used, bytes, count);
    }
    packet->used += count;
}

bool packet_put_file(struct packet *packet, int file, bool is_owned, uint32_t *place_out)
{
    if (packet->file_count == PACKET_FILES_MAX) {
        return false;
    }
    packet->files[packet->file_count] = (struct packet_file){.file = file, .is_owned = is_owned};
    *place_out = packet->file_count++;
    return true;
}

bool packet_end(struct packet *packet)
{
    const struct packet_head head = {
        .kind = packet->kind,
        .file_count = packet->file_count,
        .bytes = packet->used - packet->start - sizeof(head),
    };
    if (!packet->is_short) {
        memcpy(packet->bytes + packet->start, &head, sizeof(head));
    }
    return !packet->is_short;
}

bool packet_hold(struct packet *packet)
{
    ASSERT(packet->file_count == 0);
    const bool is_good = packet_end(packet);
    packet->start = is_good ? packet->used : packet->start;
    return is_good;
}

void packet_clear(struct packet *packet)
{
    for (uint32_t i = 0; i < packet->file_count; i++) {
        if (packet->files[i].is_owned) {
            (void)close(packet->files[i].file); /* Its receiver has it. */
        }
    }
    packet->file_count = 0;
    packet->start = 0;
    packet->used = 0;
}

void packet_deinit(struct packet *packet)
{
    packet_clear(packet);
    free(packet->bytes);
    *packet = (struct packet){.bytes = NULL};
}

void reader_init(struct packet_reader *reader, const struct received *received)
{
    *reader = (struct packet_reader){.at = received->bytes, .left = received->count};
}

const uint8_t *reader_skip(struct packet_reader *reader, size_t count)
{
    if (reader->is_bad || count > reader->left) {
        reader->is_bad = true;
        return NULL;
    }
    const uint8_t *at = reader->at;
    reader->at += count;
    reader->left -= count;
    return at;
}

void reader_take(struct packet_reader *reader, void *out, size_t count)
{
    const uint8_t *at = reader_skip(reader, count);
    if (at == NULL) {
        memset(out, 0, count);
    } else if (count > 0) {
        memcpy(out, at, count);
    }
}
