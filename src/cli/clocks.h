/*
 * clocks.h - how the clocks of several traces stand to each other.
 *
 * Every process counts time from its own start. What a record of one caused in another cannot have
 * been earlier, in either direction; the fastest trips there and back bound the difference from
 * both sides, and the middle is taken.
 */
#ifndef CLI_CLOCKS_H
#define CLI_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

enum { CLOCKS_MAX = 64 };

struct clocks {
    uint32_t count;
    int64_t trips_ns[CLOCKS_MAX][CLOCKS_MAX]; /* The shortest from one to another, as they tell. */
    int64_t ahead_ns[CLOCKS_MAX];             /* Of the first. */
    int64_t error_ns[CLOCKS_MAX];             /* At most. */
    bool is_known[CLOCKS_MAX];
};

void clocks_init(struct clocks *clocks, uint32_t count);

/* What happened at @from_ns by the clock @from has caused what happened at @to_ns by @to. */
void clocks_note(struct clocks *clocks, uint32_t from, int64_t from_ns, uint32_t to, int64_t to_ns);

/* Compare all with the first, over others where that is better. False if one is not known. */
bool clocks_compare(struct clocks *clocks);

#endif /* CLI_CLOCKS_H */
