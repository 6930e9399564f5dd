/*
 * alias.h - draw one of many with given probabilities, in the same few steps for any number.
 *
 * Walker's alias method as Vose builds it: every entry keeps a part of its own chance and
 * gives the rest to one other. One random number chooses the entry and the part.
 */
#ifndef MIXTURE_ALIAS_H
#define MIXTURE_ALIAS_H

#include <stdint.h>

#include "base/rng.h"

struct alias {
    uint64_t keep;  /* Below this 64-bit number, the entry itself is drawn. */
    uint32_t other; /* From it on, this one is. */
};

/*
 * Build the table of @count weights, which are not negative and not all 0. What has the
 * weight 0 is never drawn.
 */
void alias_build(const double *weights, uint32_t count, struct alias *table_out);

/* One draw: the entry is the high word of a product, and its part the low one. */
static inline uint32_t alias_draw(const struct alias *table, uint32_t count, struct rng *rng)
{
    const rng_product product = (rng_product)rng_next(rng) * count;
    const uint32_t entry = (uint32_t)(product >> 64);
    return (uint64_t)product < table[entry].keep ? entry : table[entry].other;
}

#endif /* MIXTURE_ALIAS_H */
