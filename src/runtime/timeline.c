#include "runtime/timeline.h"

#include "base/assert.h"

enum { DUES_FIRST = 64 };

/* In the queue times are one later than they are: 0 is left for what comes first. */

void timeline_init(struct timeline *timeline)
{
    *timeline = (struct timeline){.background_count = 0};
    event_queue_init(&timeline->queue);
    pool_init(&timeline->dues, sizeof(struct due), DUES_FIRST, UINT32_MAX - 1);
}

void timeline_deinit(struct timeline *timeline)
{
    event_queue_deinit(&timeline->queue);
    pool_deinit(&timeline->dues);
}

static void add(struct timeline *timeline, int64_t key, const struct due *due)
{
    (void)pool_reserve(&timeline->dues, 1);
    const uint32_t slot = pool_take(&timeline->dues);
    ASSERT(slot != POOL_NONE);
    *(struct due *)pool_at(&timeline->dues, slot) = *due;
    timeline->background_count += due->background ? 1 : 0;
    event_queue_push(&timeline->queue, key, slot);
}

void timeline_add(struct timeline *timeline, int64_t at_ns, const struct due *due)
{
    ASSERT(at_ns >= 0);
    ASSERT(at_ns < INT64_MAX);
    add(timeline, at_ns + 1, due);
}

void timeline_add_first(struct timeline *timeline, const struct due *due)
{
    add(timeline, /* key */ 0, due);
}

int64_t timeline_next_ns(const struct timeline *timeline)
{
    struct timed_item item;
    if (!event_queue_peek(&timeline->queue, &item)) {
        return INT64_MAX;
    }
    return item.at_ns > 0 ? item.at_ns - 1 : 0;
}

struct due timeline_take(struct timeline *timeline)
{
    struct timed_item item;
    const bool found = event_queue_pop(&timeline->queue, &item);
    ASSERT(found);
    const struct due due = *(struct due *)pool_at(&timeline->dues, (uint32_t)item.payload);
    pool_give(&timeline->dues, (uint32_t)item.payload);
    timeline->background_count -= due.background ? 1 : 0;
    return due;
}

bool timeline_is_idle(const struct timeline *timeline)
{
    return event_queue_count(&timeline->queue) == timeline->background_count;
}
