#include "base/memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

enum {
    LARGE_BYTES = 1 << 17,
    /* Each thread has a cache of blocks up to about this, in which calloc() of glibc 2.36 does not
       look: it takes several times as long as to find one there and zero it. */
    SMALL_BYTES = 1024,
};

/* Small pieces: they go back to the heap, from where they are taken again without the system. */
static _Atomic(void *) reserve[MEMORY_RESERVE_PIECES];
static atomic_bool is_wanted;
static atomic_bool is_given_up;

/* True if there was something, and trying again is worthwhile. */
ATTR_COLD static bool give_up_reserve(void)
{
    bool is_more = false;
    if (!atomic_load(&is_wanted)) {
        return false;
    }
    atomic_store(&is_given_up, true);
    for (size_t i = 0; i < MEMORY_RESERVE_PIECES; i++) {
        void *piece = atomic_exchange(&reserve[i], NULL);
        is_more = is_more || piece != NULL;
        free(piece);
    }
    return is_more;
}

static bool fill_reserve(void)
{
    for (size_t i = 0; i < MEMORY_RESERVE_PIECES; i++) {
        void *nothing = NULL;
        if (atomic_load(&reserve[i]) != NULL) {
            continue;
        }
        void *piece = malloc(MEMORY_RESERVE_PIECE_BYTES);
        if (piece == NULL) {
            return false;
        }
        (void)memset(piece, 1, MEMORY_RESERVE_PIECE_BYTES); /* Promised is not enough. */
        if (!atomic_compare_exchange_strong(&reserve[i], &nothing, piece)) {
            free(piece);
        }
    }
    return true;
}

void memory_keep_reserve(void)
{
    atomic_store(&is_wanted, true);
    atomic_store(&is_given_up, !fill_reserve());
}

void memory_drop_reserve(void)
{
    (void)give_up_reserve();
    atomic_store(&is_wanted, false);
    atomic_store(&is_given_up, false);
}

bool memory_has_reserve(void)
{
    if (atomic_load_explicit(&is_given_up, memory_order_relaxed)) {
        atomic_store(&is_given_up, false); /* Before: who gives it up meanwhile says so again. */
        if (!fill_reserve()) {
            atomic_store(&is_given_up, true);
            return false;
        }
    }
    return true;
}

bool memory_is_free(size_t bytes)
{
    void *volatile block = bytes > SIZE_MAX / 2 ? NULL : malloc(bytes > 0 ? bytes : 1);
    const bool is_free = block != NULL;
    free(block);
    return is_free;
}

void *memory_aligned(size_t bytes, size_t alignment, void **block_out)
{
    ASSERT(bytes <= SIZE_MAX - alignment);
    *block_out = malloc(bytes + alignment);
    const uintptr_t after = (uintptr_t)*block_out + alignment;
    return *block_out == NULL ? NULL : (void *)(after - after % alignment);
}

void *memory_reserved_more(void *memory, size_t bytes)
{
    const size_t count = bytes > 0 ? bytes : 1; /* NULL means one thing here. */
    void *more = realloc(memory, count);
    if (more == NULL && give_up_reserve()) {
        more = realloc(memory, count);
    }
    return more;
}

void *memory_reserved(size_t bytes)
{
    return memory_reserved_more(NULL, bytes);
}

void *memory_reserved_zeroed(size_t count, size_t element_bytes)
{
    size_t bytes;
    if (!__builtin_mul_overflow(count, element_bytes, &bytes) && bytes <= SMALL_BYTES) {
        void *small = memory_reserved(bytes);
        return small == NULL ? NULL : memset(small, 0, bytes);
    }
    void *zeroed = calloc(count, element_bytes);
    if (zeroed == NULL && give_up_reserve()) {
        zeroed = calloc(count, element_bytes);
    }
    return zeroed;
}

ATTR_COLD _Noreturn static void fail(size_t count, size_t element_bytes)
{
    (void)fprintf(stderr, "out of memory: %zu times %zu bytes\n", count, element_bytes);
    abort();
}

/* Also asks that the rounding to whole cache lines does not overflow. */
static void check(size_t count, size_t element_bytes)
{
    ASSERT(count > 0);
    ASSERT(element_bytes > 0);

    if (count > (SIZE_MAX - CACHE_LINE_BYTES) / element_bytes) {
        fail(count, element_bytes);
    }
}

void *memory_zeroed(size_t count, size_t element_bytes)
{
    check(count, element_bytes);
    void *memory = memory_reserved_zeroed(count, element_bytes);
    if (memory == NULL) {
        fail(count, element_bytes);
    }
    return memory;
}

void *memory_block(size_t bytes)
{
    void *memory = memory_reserved(bytes);
    if (memory == NULL) {
        fail(1, bytes);
    }
    return memory;
}

void *memory_zeroed_more(void *memory, size_t used, size_t count, size_t element_bytes)
{
    ASSERT(used <= count);
    void *more = memory_zeroed(count, element_bytes);
    if (used > 0) {
        memcpy(more, memory, used * element_bytes);
    }
    free(memory);
    return more;
}

static size_t whole_lines(size_t count, size_t element_bytes)
{
    const size_t bytes = count * element_bytes + CACHE_LINE_BYTES - 1;
    return bytes - bytes % CACHE_LINE_BYTES;
}

void *memory_lines(size_t count, size_t element_bytes)
{
    check(count, element_bytes);
    const size_t bytes = whole_lines(count, element_bytes);
    void *memory = aligned_alloc(CACHE_LINE_BYTES, bytes);
    if (memory == NULL && give_up_reserve()) {
        memory = aligned_alloc(CACHE_LINE_BYTES, bytes);
    }
    if (memory == NULL) {
        fail(count, element_bytes);
    }
    return memory;
}

void *memory_lines_more(void *memory, size_t before, size_t count, size_t element_bytes)
{
    ASSERT(before < count);
    check(count, element_bytes);
    if (before * element_bytes >= LARGE_BYTES) {
        memory = memory_reserved_more(memory, whole_lines(count, element_bytes));
        if (memory == NULL) {
            fail(count, element_bytes);
        }
        if ((uintptr_t)memory % CACHE_LINE_BYTES == 0) {
            return memory; /* Pages that were mapped elsewhere keep their lines. */
        }
    }
    void *more = memory_lines(count, element_bytes);
    if (before > 0) {
        memcpy(more, memory, before * element_bytes);
    }
    free(memory);
    return more;
}
