#include "trace/stability.h"

#define SLACK_JOBS 8 /* A difference of so few is none. */

/* Of a part of the arrivals, which is not empty. */
struct level {
    int64_t lowest;
    int64_t highest;
    double mean;
};

static struct level level_of(const int64_t *backlogs, uint64_t first, uint64_t end)
{
    struct level level = {.lowest = backlogs[first], .highest = backlogs[first]};
    double sum = 0;
    for (uint64_t i = first; i < end; i++) {
        level.lowest = backlogs[i] < level.lowest ? backlogs[i] : level.lowest;
        level.highest = backlogs[i] > level.highest ? backlogs[i] : level.highest;
        sum += (double)backlogs[i];
    }
    level.mean = sum / (double)(end - first);
    return level;
}

bool stability_of(const int64_t *backlogs, uint64_t count)
{
    const uint64_t eighth = count / 8;
    if (eighth == 0) {
        return true; /* Too short to say anything. */
    }
    const struct level before = level_of(backlogs, eighth, count / 2);
    const struct level last = level_of(backlogs, count - 2 * eighth, count);
    const struct level earlier = level_of(backlogs, 0, count - 2 * eighth);
    const struct level latest = level_of(backlogs, count - eighth, count);
    const bool has_left = (double)last.lowest > before.mean + SLACK_JOBS;
    const bool has_broken_out = latest.lowest > earlier.highest + SLACK_JOBS;
    return !has_left && !has_broken_out;
}
