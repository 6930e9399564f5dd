#include "base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"

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

void *memory_lines(size_t count, size_t element_bytes)
{
    check(count, element_bytes);
    const size_t bytes = count * element_bytes + CACHE_LINE_BYTES - 1;
    void *memory = aligned_alloc(CACHE_LINE_BYTES, bytes - bytes % CACHE_LINE_BYTES);
    if (memory == NULL) {
        fail(count, element_bytes);
    }
    return memory;
}
