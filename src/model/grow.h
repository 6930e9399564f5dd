/*
 * grow.h - arrays that are filled one by one while something is being built.
 *
 * Such an array keeps no capacity beside its count: it has room for the smallest
 * power of two that holds the count, and for GROW_MIN at least.
 */
#ifndef MODEL_GROW_H
#define MODEL_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { GROW_MIN = 8 };

/*
 * Make room for one element after the @count that @array holds. The old array, which
 * may be NULL, is released; the caller owns the one returned.
 */
static inline void *grow(void *array, uint32_t count, size_t element_bytes)
{
    const bool is_full = count < GROW_MIN ? array == NULL : (count & (count - 1)) == 0;
    if (!is_full) {
        return array;
    }
    const uint32_t capacity = count < GROW_MIN ? (uint32_t)GROW_MIN : 2 * count;
    void *larger = memory_zeroed(capacity, element_bytes);
    if (array != NULL) {
        memcpy(larger, array, count * element_bytes);
        free(array);
    }
    return larger;
}

#endif /* MODEL_GROW_H */
