#include "exif.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
    SEGMENT_HEAD = 4, /* 0xff, the kind, and two bytes of length, which counts itself. */
    KIND_EXIF = 0xe1,
    KIND_SCAN = 0xda, /* From here on there are only pixels. */
    ENTRY_BYTES = 12,
    TAG_ORIENTATION = 0x0112,
    ORIENTATIONS = 8,
};

/* A block in the form of TIFF: its numbers are in one of two orders. */
struct block {
    const uint8_t *bytes;
    uint64_t count;
    bool is_large_first;
};

/* The number of @width bytes at @at; 0 past the end. */
static uint32_t number_at(const struct block *block, uint64_t at, uint32_t width)
{
    uint32_t number = 0;
    if (at > block->count || block->count - at < width) {
        return 0;
    }
    for (uint32_t i = 0; i < width; i++) {
        const uint32_t place = block->is_large_first ? width - 1 - i : i;
        number |= (uint32_t)block->bytes[at + i] << (8 * place);
    }
    return number;
}

static uint32_t orientation_of(const struct block *block)
{
    const uint64_t table = number_at(block, 4, 4);
    const uint32_t entries = number_at(block, table, 2);
    for (uint32_t i = 0; i < entries; i++) {
        const uint64_t entry = table + 2 + (uint64_t)i * ENTRY_BYTES;
        if (number_at(block, entry, 2) == TAG_ORIENTATION) {
            const uint32_t orientation = number_at(block, entry + 8, 2);
            return orientation >= 1 && orientation <= ORIENTATIONS ? orientation : 1;
        }
    }
    return 1;
}

uint32_t exif_orientation(const uint8_t *bytes, uint64_t count)
{
    static const uint8_t mark[] = {'E', 'x', 'i', 'f', 0, 0};
    uint64_t at = 2; /* After the mark of a JPEG file. */
    while (at + SEGMENT_HEAD <= count && bytes[at] == 0xff && bytes[at + 1] != KIND_SCAN) {
        const uint64_t length = (uint64_t)bytes[at + 2] << 8 | bytes[at + 3];
        const uint8_t *inside = bytes + at + SEGMENT_HEAD;
        if (length < 2 || count - at - 2 < length) {
            return 1;
        }
        if (bytes[at + 1] == KIND_EXIF && length >= 2 + sizeof(mark) + 8 &&
            memcmp(inside, mark, sizeof(mark)) == 0) {
            const struct block block = {
                .bytes = inside + sizeof(mark),
                .count = length - 2 - sizeof(mark),
                .is_large_first = inside[sizeof(mark)] == 'M',
            };
            return orientation_of(&block);
        }
        at += 2 + length;
    }
    return 1;
}
