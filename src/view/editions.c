#include "view/editions.h"

#include "base/numbers.h"
#include "model/ids.h"

/* Two nodes that make one at the same time call it differently. */
enum { CHANGES_MAX = (1 << (EDITION_BITS - EDITION_NODE_BITS)) - 1 };

uint32_t edition_next(uint32_t newest, uint32_t node)
{
    const uint32_t change = (newest >> EDITION_NODE_BITS) + 1;
    return change > CHANGES_MAX
               ? 0
               : change << EDITION_NODE_BITS | (node & ((1 << EDITION_NODE_BITS) - 1));
}

uint32_t editions_newest(
    const struct edition_said *self, const struct edition_said *members, uint32_t count)
{
    uint32_t newest = self->newest;
    for (uint32_t i = 0; i < count; i++) {
        newest = max_u32(newest, members[i].newest);
    }
    return newest;
}

uint32_t editions_to_serve(
    const struct edition_said *self, const struct edition_said *members, uint32_t count)
{
    const uint32_t newest = editions_newest(self, members, count);
    bool is_held = self->held == newest;
    for (uint32_t i = 0; i < count; i++) {
        is_held = is_held && members[i].held == newest;
    }
    return is_held ? newest : self->serves;
}

uint32_t editions_oldest(
    const struct edition_said *self, const struct edition_said *members, uint32_t count)
{
    uint32_t oldest = min_u32(self->oldest, self->serves);
    for (uint32_t i = 0; i < count; i++) {
        oldest = min_u32(oldest, min_u32(members[i].oldest, members[i].serves));
    }
    return oldest;
}
