/*
 * json_memory.h - memory of jansson that runs out on demand.
 */
#ifndef UNIT_JSON_MEMORY_H
#define UNIT_JSON_MEMORY_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <jansson.h>

static uint32_t json_memory_left; /* Blocks that can still be had. */

static void *json_memory_take(size_t size)
{
    if (json_memory_left == 0) {
        errno = ENOMEM; /* As malloc() does. */
        return NULL;
    }
    json_memory_left--;
    return malloc(size);
}

/* From now on jansson gets @blocks blocks, and then no more. */
static inline void json_memory_limit(uint32_t blocks)
{
    json_memory_left = blocks;
    json_set_alloc_funcs(json_memory_take, free);
}

static inline void json_memory_unlimit(void)
{
    json_set_alloc_funcs(malloc, free);
}

#endif /* UNIT_JSON_MEMORY_H */
