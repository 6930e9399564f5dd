#include "profile/estimate.h"

#include <math.h>

#include "base/assert.h"

void estimate_add(struct estimate_times *times, int64_t run_ns)
{
    const double off = (double)run_ns - times->mean_ns;
    times->count++;
    times->mean_ns += off / (double)times->count;
    times->squares += off * ((double)run_ns - times->mean_ns);
}

struct profile_point estimate_point(const struct estimate_times *times, uint32_t items)
{
    ASSERT(times->count > 0);
    const double variance = times->count > 1 ? times->squares / (double)(times->count - 1) : 0;
    return (struct profile_point){
        .items = items,
        .run_ns = (int64_t)(times->mean_ns + 0.5),
        .sd_ns = (int64_t)(sqrt(variance) + 0.5),
    };
}

void estimate_workspace(
    const struct estimate_bytes *samples, uint32_t count, uint64_t *fixed_out,
    uint64_t *per_item_out)
{
    uint64_t per_item = 0;
    uint64_t fixed = 0;
    if (count > 1) {
        const struct estimate_bytes *first = &samples[0];
        const struct estimate_bytes *last = &samples[count - 1];
        const uint64_t rise = last->bytes > first->bytes ? last->bytes - first->bytes : 0;
        ASSERT(last->items > first->items);
        per_item = rise / (last->items - first->items);
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t covered = per_item * samples[i].items;
        if (samples[i].bytes > covered && samples[i].bytes - covered > fixed) {
            fixed = samples[i].bytes - covered;
        }
    }
    *fixed_out = fixed;
    *per_item_out = per_item;
}
