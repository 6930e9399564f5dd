#include "engine/lender.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "engine/segment.h"

struct lender {
    atomic_uint references;
    atomic_uchar *slots;  /* Its ledger; NULL: none. */
    pthread_mutex_t lock; /* Of what follows. */
    uint32_t count;
    struct mapping *mappings[LENDER_MAPPINGS_MAX];
    uint64_t idle_bytes; /* Of mappings that are not in use. */
    uint64_t last_use;
    struct lender_watch watch;
};

bool lender_is_safe(int file, uint64_t bytes)
{
    struct stat stat;
    const int seals = fcntl(file, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(file, &stat) == 0 &&
           stat.st_size >= 0 && bytes <= (uint64_t)stat.st_size;
}

struct lender *lender_create(int ledger_file)
{
    void *slots = NULL;
    if (ledger_file >= 0) {
        slots = !lender_is_safe(ledger_file, SEGMENTS_MAX)
                    ? MAP_FAILED
                    : mmap(
                          NULL, SEGMENTS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, ledger_file,
                          /* offset */ 0);
    }
    struct lender *lender = slots == MAP_FAILED ? NULL : memory_reserved_zeroed(1, sizeof(*lender));
    if (lender == NULL) {
        return NULL;
    }
    atomic_init(&lender->references, 1);
    lender->slots = slots;
    (void)pthread_mutex_init(&lender->lock, NULL);
    return lender;
}

struct lender *lender_share(struct lender *lender)
{
    const unsigned before = atomic_fetch_add(&lender->references, 1);
    ASSERT(before > 0);
    return lender;
}

void lender_set_watch(struct lender *lender, const struct lender_watch *watch)
{
    (void)pthread_mutex_lock(&lender->lock);
    lender->watch = *watch;
    (void)pthread_mutex_unlock(&lender->lock);
}

static void destroy(const struct lender *lender, struct mapping *mapping)
{
    if (lender->watch.unmapped != NULL) {
        lender->watch.unmapped(lender->watch.context, mapping->data);
    }
    (void)munmap(mapping->data, mapping->bytes); /* It is our mapping. */
    (void)close(mapping->file);
    free(mapping);
}

void lender_release(struct lender *lender)
{
    if (lender == NULL || atomic_fetch_sub(&lender->references, 1) > 1) {
        return;
    }
    for (uint32_t i = 0; i < lender->count; i++) {
        destroy(lender, lender->mappings[i]);
    }
    if (lender->slots != NULL) {
        (void)munmap((void *)(uintptr_t)lender->slots, SEGMENTS_MAX);
    }
    (void)pthread_mutex_destroy(&lender->lock);
    free(lender);
}

void lender_free(struct lender *lender, uint32_t slot)
{
    ASSERT(slot < SEGMENTS_MAX);
    if (lender->slots != NULL) {
        atomic_store_explicit(&lender->slots[slot], SEGMENT_FREE, memory_order_release);
    }
}

/* Unmap what was unused for longest. False if everything is in use. Under the lock. */
static bool drop_oldest(struct lender *lender)
{
    uint32_t oldest = lender->count;
    for (uint32_t i = 0; i < lender->count; i++) {
        const struct mapping *mapping = lender->mappings[i];
        if (mapping->users == 0 &&
            (oldest == lender->count || mapping->used < lender->mappings[oldest]->used)) {
            oldest = i;
        }
    }
    if (oldest == lender->count) {
        return false;
    }
    lender->idle_bytes -= lender->mappings[oldest]->bytes;
    destroy(lender, lender->mappings[oldest]);
    lender->mappings[oldest] = lender->mappings[--lender->count];
    return true;
}

/* The mapping of @key that is there; NULL if there is none. Under the lock. */
static struct mapping *find(struct lender *lender, uint64_t key, size_t bytes)
{
    for (uint32_t i = 0; i < lender->count; i++) {
        struct mapping *mapping = lender->mappings[i];
        if (mapping->key == key && mapping->bytes >= bytes) {
            lender->idle_bytes -= mapping->users == 0 ? mapping->bytes : 0;
            mapping->users++;
            return mapping;
        }
    }
    return NULL;
}

/* Map all of @file, whatever part of it is used today. Under the lock. */
static struct mapping *add(struct lender *lender, uint64_t key, int file)
{
    struct stat stat;
    if (lender->count == LENDER_MAPPINGS_MAX && !drop_oldest(lender)) {
        return NULL;
    }
    struct mapping *mapping = fstat(file, &stat) == 0 ? memory_reserved(sizeof(*mapping)) : NULL;
    if (mapping == NULL) {
        return NULL;
    }
    *mapping =
        (struct mapping){.key = key, .bytes = (size_t)stat.st_size, .file = file, .users = 1};
    mapping->data =
        mmap(NULL, mapping->bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file, /* offset */ 0);
    if (mapping->data == MAP_FAILED) {
        free(mapping);
        return NULL;
    }
    lender->mappings[lender->count++] = mapping;
    if (lender->watch.mapped != NULL) {
        lender->watch.mapped(lender->watch.context, mapping->data, mapping->bytes);
    }
    return mapping;
}

struct mapping *lender_map(struct lender *lender, uint64_t key, int file, size_t bytes)
{
    (void)pthread_mutex_lock(&lender->lock);
    struct mapping *mapping = find(lender, key, bytes);
    if (mapping != NULL) {
        (void)close(file); /* It is the one that is there. */
    } else if (lender_is_safe(file, bytes)) {
        mapping = add(lender, key, file);
    }
    (void)pthread_mutex_unlock(&lender->lock);
    return mapping;
}

void lender_unmap(struct lender *lender, struct mapping *mapping)
{
    (void)pthread_mutex_lock(&lender->lock);
    ASSERT(mapping->users > 0);
    mapping->used = ++lender->last_use;
    if (--mapping->users == 0) {
        lender->idle_bytes += mapping->bytes;
    }
    while (lender->idle_bytes > LENDER_KEPT_MAX && drop_oldest(lender)) {
    }
    (void)pthread_mutex_unlock(&lender->lock);
}
