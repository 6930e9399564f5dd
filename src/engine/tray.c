#include "engine/tray.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "engine/lender.h"

/* As both processes see it. */
struct shared {
    _Atomic uint32_t state; /* enum tray_state, unless the sender is mad. */
    uint32_t count;
    uint8_t bytes[TRAY_BYTES_MAX];
};

_Static_assert(sizeof(struct shared) <= 16384, "four pages");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a lock would be of one process");

struct tray {
    struct shared *shared;
};

static struct tray *map(int file)
{
    void *shared =
        mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, /* offset */ 0);
    struct tray *tray = shared == MAP_FAILED ? NULL : memory_reserved_zeroed(1, sizeof(*tray));
    if (tray != NULL) {
        tray->shared = shared;
    } else if (shared != MAP_FAILED) {
        (void)munmap(shared, sizeof(struct shared)); /* It is our mapping. */
    }
    return tray;
}

struct tray *tray_create(int *file_out)
{
    const int file = memfd_create("weft-tray", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) {
        return NULL;
    }
    const bool is_good = ftruncate(file, sizeof(struct shared)) == 0 &&
                         fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
    struct tray *tray = is_good ? map(file) : NULL;
    if (tray == NULL) {
        (void)close(file);
        return NULL;
    }
    *file_out = file;
    return tray;
}

struct tray *tray_attach(int file)
{
    struct tray *tray = lender_is_safe(file, sizeof(struct shared)) ? map(file) : NULL;
    (void)close(file);
    return tray;
}

void tray_destroy(struct tray *tray)
{
    if (tray != NULL) {
        (void)munmap(tray->shared, sizeof(*tray->shared)); /* It is our mapping. */
        free(tray);
    }
}

/* From @before, if it is that, to @after. Returns what it was. */
static uint32_t change(struct tray *tray, uint32_t before, uint32_t after)
{
    uint32_t was = before;
    (void)atomic_compare_exchange_strong(&tray->shared->state, &was, after);
    return was;
}

void tray_open(struct tray *tray)
{
    (void)change(tray, TRAY_CLOSED, TRAY_OPEN);
}

enum tray_state tray_close(struct tray *tray)
{
    switch (change(tray, TRAY_OPEN, TRAY_CLOSED)) {
    case TRAY_OPEN:
        return TRAY_OPEN;
    case TRAY_FULL:
        return TRAY_FULL;
    default:
        return TRAY_CLOSED;
    }
}

size_t tray_take(struct tray *tray, void *bytes, size_t room)
{
    struct shared *shared = tray->shared;
    if (atomic_load(&shared->state) != TRAY_FULL) {
        return 0;
    }
    const uint32_t said = *(volatile uint32_t *)&shared->count; /* Once: it may change. */
    const size_t count = said < room ? said : room;
    memcpy(bytes, shared->bytes, count < TRAY_BYTES_MAX ? count : TRAY_BYTES_MAX);
    atomic_store(&shared->state, TRAY_CLOSED);
    return count < TRAY_BYTES_MAX ? count : TRAY_BYTES_MAX;
}

bool tray_put(struct tray *tray, const void *bytes, size_t count)
{
    struct shared *shared = tray->shared;
    if (atomic_load(&shared->state) != TRAY_OPEN) {
        return false;
    }
    if (count > TRAY_BYTES_MAX) {
        (void)change(tray, TRAY_OPEN, TRAY_CLOSED); /* It is at the socket. */
        return false;
    }
    memcpy(shared->bytes, bytes, count);
    shared->count = (uint32_t)count;
    return change(tray, TRAY_OPEN, TRAY_FULL) == TRAY_OPEN;
}
