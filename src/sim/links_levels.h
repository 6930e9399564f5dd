/*
 * links_levels.h - a heap of levels: what is filled first comes first.
 *
 * For links_fair.c alone. The owner gives room for as many as it will add.
 */
#ifndef SIM_LINKS_LEVELS_H
#define SIM_LINKS_LEVELS_H

#include <stdint.h>

struct level {
    uint64_t level;
    uint32_t link;
};

struct levels {
    struct level *items;
    uint32_t count;
};

static inline void levels_sink(struct levels *levels, uint32_t place)
{
    struct level *items = levels->items;
    const struct level moved = items[place];
    for (uint32_t child = 2 * place + 1; child < levels->count; child = 2 * place + 1) {
        if (child + 1 < levels->count && items[child + 1].level < items[child].level) {
            child++;
        }
        if (items[child].level >= moved.level) {
            break;
        }
        items[place] = items[child];
        place = child;
    }
    items[place] = moved;
}

/* Add without order; levels_order() comes before anything is looked at. */
static inline void levels_add(struct levels *levels, struct level level)
{
    levels->items[levels->count] = level;
    levels->count++;
}

static inline void levels_order(struct levels *levels)
{
    for (uint32_t place = levels->count / 2; place-- > 0;) {
        levels_sink(levels, place);
    }
}

/* Take away the first; there must be one. */
static inline void levels_drop(struct levels *levels)
{
    levels->count--;
    levels->items[0] = levels->items[levels->count];
    levels_sink(levels, 0);
}

/* Raise the first to @level. */
static inline void levels_raise(struct levels *levels, uint64_t level)
{
    levels->items[0].level = level;
    levels_sink(levels, 0);
}

#endif /* SIM_LINKS_LEVELS_H */
