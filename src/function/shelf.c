#include "function/shelf.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SHELF_BYTES = 64 << 20 }; /* Pages are taken when they are written, and kept. */

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Since Linux 5.1. */
#endif

static const struct function_shelf none = {.file = -1};

static bool map(struct function_shelf *shelf, int protection)
{
    void *data = mmap(NULL, SHELF_BYTES, protection, MAP_SHARED, shelf->file, /* offset */ 0);
    if (data == MAP_FAILED) {
        return false;
    }
    shelf->room = (struct function_room){.data = data, .bytes = SHELF_BYTES};
    return true;
}

void function_shelf_open(struct function_shelf *here, struct function_shelf *there)
{
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
    *here = none;
    *there = none;
    here->file = memfd_create("weft-shelf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (here->file < 0) {
        return;
    }
    if (ftruncate(here->file, SHELF_BYTES) != 0 || !map(here, PROT_READ | PROT_WRITE) ||
        fcntl(here->file, F_ADD_SEALS, seals) != 0) {
        function_shelf_close(here);
        return;
    }
    there->file = fcntl(here->file, F_DUPFD_CLOEXEC, 0);
    if (there->file < 0) {
        function_shelf_close(here);
    }
}

void function_shelf_map(struct function_shelf *shelf)
{
    if (shelf->file >= 0) {
        (void)map(shelf, PROT_READ); /* Without it, what lies there is read from the file. */
    }
}

void function_shelf_close(struct function_shelf *shelf)
{
    if (shelf->room.bytes > 0) {
        (void)munmap(shelf->room.data, shelf->room.bytes);
    }
    if (shelf->file >= 0) {
        (void)close(shelf->file); /* Nothing is lost: it was never to be kept. */
    }
    *shelf = none;
}

void function_shelf_clear(struct function_shelf *shelf)
{
    shelf->room.used = 0;
}

void function_shelf_lay(struct function_shelf *shelf, struct weft_tensor *tensor)
{
    struct function_room *room = &shelf->room;
    const uint64_t at = function_align(room->used);
    if (tensor->bytes == 0 || at > room->bytes || tensor->bytes > room->bytes - at) {
        return;
    }
    memcpy(room->data + at, tensor->data, tensor->bytes);
    tensor->data = room->data + at;
    room->used = at + tensor->bytes;
}

uint64_t function_shelf_place(const struct function_shelf *shelf, const struct weft_tensor *tensor)
{
    const uintptr_t first = (uintptr_t)shelf->room.data;
    const uintptr_t at = (uintptr_t)tensor->data;
    if (tensor->bytes == 0 || tensor->bytes > shelf->room.bytes || at < first ||
        at - first > shelf->room.bytes - tensor->bytes) {
        return 0;
    }
    return at - first + 1;
}

void *function_shelf_at(const struct function_shelf *shelf, uint64_t place, uint64_t bytes)
{
    const uint64_t room = shelf->room.bytes;
    if (place == 0 || place > room || bytes > room - (place - 1)) {
        return NULL;
    }
    return shelf->room.data + (place - 1);
}
