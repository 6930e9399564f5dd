#include "mixture/alias.h"

#include <stdlib.h>

#include "base/memory.h"

#define WHOLE 0x1p64

/* Of an entry that has @part of an even chance: all of it if nothing is to give away. */
static uint64_t keep_of(double part)
{
    return part < 1 ? (uint64_t)(part * WHOLE) : UINT64_MAX;
}

void alias_build(const double *weights, uint32_t count, struct alias *table_out)
{
    double *parts = memory_zeroed(count, sizeof(*parts));
    uint32_t *stack = memory_zeroed(count, sizeof(*stack)); /* Small from below, large above. */
    uint32_t small = 0;
    uint32_t large = count;
    double sum = 0;
    uint32_t heaviest = 0;
    for (uint32_t i = 0; i < count; i++) {
        ASSERT(weights[i] >= 0);
        sum += weights[i];
        heaviest = weights[i] > weights[heaviest] ? i : heaviest;
    }
    ASSERT(sum > 0);
    for (uint32_t i = 0; i < count; i++) {
        parts[i] = weights[i] / sum * count;
        table_out[i] = (struct alias){.keep = UINT64_MAX, .other = i};
        if (parts[i] < 1) {
            stack[small++] = i;
        } else {
            stack[--large] = i;
        }
    }
    while (small > 0 && large < count) {
        const uint32_t giver = stack[large];
        const uint32_t taker = stack[--small];
        table_out[taker] = (struct alias){.keep = keep_of(parts[taker]), .other = giver};
        parts[giver] -= 1 - parts[taker];
        if (parts[giver] < 1) {
            large++;
            stack[small++] = giver;
        }
    }
    while (small > 0) { /* Whole but for rounding; or nothing, if its weight is 0. */
        const uint32_t left = stack[--small];
        if (weights[left] <= 0) {
            table_out[left] = (struct alias){.keep = 0, .other = heaviest};
        }
    }
    free(stack);
    free(parts);
}
