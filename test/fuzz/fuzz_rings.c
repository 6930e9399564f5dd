/*
 * fuzz_rings.c - whatever a peer writes to the memory it shares, and whenever, a read stays within
 * its room and a write within what was given.
 *
 * An input is a list of steps of ten bytes: what to do, where, and a number.
 */
#include <stdlib.h>

#include "base/assert.h"
#include "fabric/rings.h"
#include "fuzz/fuzz.h"
#include "unit/rings_file.h"

enum { STEP_BYTES = 10, HEAD_BYTES = 8, ROOM_BYTES = 4096 };

static void play(struct rings *rings, uint8_t *memory, const uint8_t *data, size_t size)
{
    uint8_t bytes[ROOM_BYTES] = {0};
    for (; size >= STEP_BYTES; data += STEP_BYTES, size -= STEP_BYTES) {
        uint64_t number;
        memcpy(&number, data + 2, sizeof(number));
        const size_t count = (size_t)(number % ROOM_BYTES) + 1;
        switch (data[0] % 3) {
        case 0: /* Positions and flags are in the first 576 bytes, each in its own line. */
            memcpy(memory + HEAD_BYTES + (size_t)data[1] * 8 % 568, &number, sizeof(number));
            break;
        case 1: {
            const ptrdiff_t got = rings_read(rings, bytes, count);
            ASSERT(got <= (ptrdiff_t)count);
            break;
        }
        default: {
            const struct iovec part = {.iov_base = bytes, .iov_len = count};
            ASSERT(rings_write(rings, &part, 1, /* is_quiet */ false) <= (ptrdiff_t)count);
            break;
        }
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int sockets[2];
    static uint8_t *memory;
    static int file;
    const char *cause;
    if (memory == NULL) {
        ASSERT(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
        struct rings *model = rings_create(sockets[0]); /* For its head. */
        ASSERT(model != NULL);
        file = rings_file_receive(sockets[1]);
        void *mapped = mmap(NULL, RINGS_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        ASSERT(mapped != MAP_FAILED);
        memory = mapped;
        rings_destroy(model);
    }
    memset(memory + HEAD_BYTES, 0, RINGS_CONTROL_BYTES - HEAD_BYTES);
    ASSERT(rings_file_pass(sockets[0], &file, 1));
    struct rings *rings = NULL;
    while (rings == NULL) { /* Wake-ups of the last input may come first. */
        rings = rings_accept(sockets[1], &cause);
        ASSERT(rings != NULL || cause != NULL);
    }
    play(rings, memory, data, size);
    rings_destroy(rings);
    return 0;
}
