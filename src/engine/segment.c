#include "engine/segment.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

enum { STEPS = 4, PAGE_BYTES = 4096 };

/* The segments of this process. */
struct segments {
    pthread_mutex_t lock;
    int ledger_file; /* -1: none yet. */
    atomic_uchar *slots;
    struct segment *made[SEGMENTS_MAX]; /* By slot; NULL: none. */
    uint32_t end;                       /* Slots from here on were never used. */
    uint64_t last_key;                  /* Begins anywhere, so that processes do not meet. */
};

static struct segments segments = {.lock = PTHREAD_MUTEX_INITIALIZER, .ledger_file = -1};

/* A file in memory of @bytes that cannot shrink; -1 if there is none. */
static int make_file(const char *name, size_t bytes)
{
    const int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file >= 0 && (ftruncate(file, (off_t)bytes) != 0 ||
                      fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)) {
        (void)close(file); /* No other process has seen it. */
        return -1;
    }
    return file;
}

/* Make the ledger, if there is none. Under the lock. */
static bool has_ledger(void)
{
    if (segments.slots == NULL) {
        segments.ledger_file = make_file("weft-ledger", SEGMENTS_MAX);
        void *slots = segments.ledger_file < 0
                          ? MAP_FAILED
                          : mmap(
                                NULL, SEGMENTS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED,
                                segments.ledger_file, /* offset */ 0);
        const bool has_keys = getrandom(&segments.last_key, sizeof(segments.last_key), 0) ==
                              (ssize_t)sizeof(segments.last_key);
        segments.slots = slots == MAP_FAILED || !has_keys ? NULL : slots;
    }
    return segments.slots != NULL;
}

int segment_ledger_file(void)
{
    (void)pthread_mutex_lock(&segments.lock);
    const int file = has_ledger() ? segments.ledger_file : -1;
    (void)pthread_mutex_unlock(&segments.lock);
    return file;
}

/* Four sizes from one power of two to the next, so that at most a quarter lies idle. */
static size_t size_of(size_t bytes)
{
    const uint32_t power = 63 - (uint32_t)__builtin_clzll(bytes | (uint64_t)PAGE_BYTES * STEPS);
    const size_t step = ((size_t)1 << power) / STEPS;
    return (bytes + step - 1) / step * step;
}

static void destroy(struct segment *segment)
{
    segments.made[segment->slot] = NULL;
    (void)munmap(segment->data, segment->bytes); /* It is our mapping. */
    (void)close(segment->file);
    free(segment);
}

static bool is_free(const struct segment *segment)
{
    return atomic_load_explicit(&segments.slots[segment->slot], memory_order_acquire) ==
           SEGMENT_FREE;
}

/* A free segment of @bytes, or of less than twice as many; and keep few that are free. */
static struct segment *find(size_t bytes)
{
    struct segment *found = NULL;
    uint64_t kept = 0;
    for (uint32_t i = 0; i < segments.end; i++) {
        struct segment *segment = segments.made[i];
        if (segment == NULL || !is_free(segment)) {
            continue;
        }
        const bool fits = segment->bytes >= bytes && segment->bytes / 2 < bytes;
        if (fits && (found == NULL || segment->bytes < found->bytes)) {
            found = segment;
        } else if (kept + segment->bytes > SEGMENTS_KEPT_MAX) {
            destroy(segment);
        } else {
            kept += segment->bytes;
        }
    }
    return found;
}

/* Make one more, at a slot that has none. */
static struct segment *make(size_t bytes)
{
    uint32_t slot = 0;
    while (slot < SEGMENTS_MAX && segments.made[slot] != NULL) {
        slot++;
    }
    struct segment *segment = slot == SEGMENTS_MAX ? NULL : malloc(sizeof(*segment));
    if (segment == NULL) {
        return NULL;
    }
    *segment = (struct segment){.key = ++segments.last_key, .slot = slot, .bytes = size_of(bytes)};
    segment->file = make_file("weft-tensor", segment->bytes);
    if (segment->file >= 0) {
        /* All pages at once: faults one by one take longer than the copy into them. */
        segment->data = mmap(
            NULL, segment->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, segment->file,
            /* offset */ 0);
        /* From here on only this mapping can write. */
        if (segment->data != MAP_FAILED &&
            fcntl(segment->file, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0) {
            segments.made[slot] = segment;
            segments.end = slot >= segments.end ? slot + 1 : segments.end;
            return segment;
        }
        if (segment->data != MAP_FAILED) {
            (void)munmap(segment->data, segment->bytes);
        }
        (void)close(segment->file);
    }
    free(segment);
    return NULL;
}

struct segment *segment_take(size_t bytes)
{
    struct segment *segment = NULL;
    if (bytes == 0 || bytes > SIZE_MAX / 4) {
        return NULL;
    }
    (void)pthread_mutex_lock(&segments.lock);
    if (has_ledger()) {
        segment = find(bytes);
        segment = segment == NULL ? make(bytes) : segment;
    }
    if (segment != NULL) {
        atomic_store(&segments.slots[segment->slot], SEGMENT_USED);
    }
    (void)pthread_mutex_unlock(&segments.lock);
    return segment;
}

void segment_give(struct segment *segment)
{
    atomic_store_explicit(&segments.slots[segment->slot], SEGMENT_FREE, memory_order_release);
}

void segment_lend(struct segment *segment)
{
    atomic_store(&segments.slots[segment->slot], SEGMENT_LENT);
}

void segments_trim(void)
{
    (void)pthread_mutex_lock(&segments.lock);
    for (uint32_t i = 0; i < segments.end; i++) {
        if (segments.made[i] != NULL && is_free(segments.made[i])) {
            destroy(segments.made[i]);
        }
    }
    (void)pthread_mutex_unlock(&segments.lock);
}

void segments_forked(void)
{
    segments = (struct segments){.lock = PTHREAD_MUTEX_INITIALIZER, .ledger_file = -1};
}
