#include "runtime/timeline.h"

#include "base/assert.h"
#include "base/numbers.h"

enum { DUES_FIRST = 64 };

/*
 * In the queue times are doubled and begin with 1, which leaves 0 for what comes first of all, and
 * one before each time for what comes first then.
 */
enum { KEY_FIRST, KEY_ZERO };

/* Nothing waits for centuries: what is later comes then. */
#define AT_NS_MAX (INT64_MAX / 2 - 1)

static int64_t early_key(int64_t at_ns)
{
    ASSERT(at_ns >= 0);
    ASSERT(at_ns < INT64_MAX);
    return KEY_ZERO + 2 * min_i64(at_ns, AT_NS_MAX);
}

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
    add(timeline, early_key(at_ns) + 1, due);
}

void timeline_add_early(struct timeline *timeline, int64_t at_ns, const struct due *due)
{
    add(timeline, early_key(at_ns), due);
}

void timeline_add_first(struct timeline *timeline, const struct due *due)
{
    add(timeline, KEY_FIRST, due);
}

bool timeline_has_first(const struct timeline *timeline)
{
    struct timed_item item;
    return event_queue_peek(&timeline->queue, &item) && item.at_ns == KEY_FIRST;
}

int64_t timeline_next_ns(const struct timeline *timeline)
{
    struct timed_item item;
    if (!event_queue_peek(&timeline->queue, &item)) {
        return INT64_MAX;
    }
    return item.at_ns > KEY_FIRST ? (item.at_ns - KEY_ZERO) / 2 : 0;
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
