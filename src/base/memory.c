#include "base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

enum { LARGE_BYTES = 1 << 17 };

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
    void *memory = calloc(count, element_bytes);
    if (memory == NULL) {
        fail(count, element_bytes);
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
    void *memory = aligned_alloc(CACHE_LINE_BYTES, whole_lines(count, element_bytes));
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
        memory = realloc(memory, whole_lines(count, element_bytes));
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
