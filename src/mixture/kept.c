#include "mixture/kept.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "mixture/attempt.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/workflow.h"

void kept_deinit(struct kept *kept)
{
    free(kept->streams);
    free(kept->shares);
    free(kept->seats);
    free(kept->sizes);
    *kept = (struct kept){0};
}

static uint32_t task_count(const struct attempt *attempt, uint32_t stream)
{
    return attempt->workload->streams[stream].workflow->task_count;
}

static void reserve(struct kept *kept, const struct attempt *attempt)
{
    const uint32_t count = attempt->patterns.count;
    const uint32_t seats = attempt->patterns.seat_count;
    if (count > kept->capacity || seats > kept->seat_capacity) {
        kept_deinit(kept);
        kept->capacity = 2 * count;
        kept->seat_capacity = 2 * seats;
        kept->streams = memory_zeroed(kept->capacity, sizeof(*kept->streams));
        kept->shares = memory_zeroed(kept->capacity, sizeof(*kept->shares));
        kept->seats = memory_zeroed(kept->seat_capacity, sizeof(*kept->seats));
        kept->sizes = memory_zeroed(attempt->sites->site_count, sizeof(*kept->sizes));
    }
}

void kept_take(struct kept *kept, const struct attempt *attempt)
{
    ASSERT(attempt->descent.count == attempt->patterns.count);
    reserve(kept, attempt);
    kept->seat_count = 0;
    kept->count = attempt->patterns.count;
    kept->mean_ns = attempt->congestion.mean_ns;
    memcpy(kept->shares, attempt->descent.shares, kept->count * sizeof(*kept->shares));
    for (uint32_t i = 0; i < attempt->sites->site_count; i++) {
        kept->sizes[i] = attempt->sites->sites[i].size;
    }
    for (uint32_t i = 0; i < kept->count; i++) {
        const struct pattern *pattern = &attempt->patterns.items[i];
        const uint32_t tasks = task_count(attempt, pattern->stream);
        kept->streams[i] = pattern->stream;
        memcpy(
            kept->seats + kept->seat_count, attempt->patterns.seats + pattern->seat_first,
            tasks * sizeof(*kept->seats));
        kept->seat_count += tasks;
    }
}

void kept_restore(const struct kept *kept, struct attempt *attempt)
{
    const struct seat *seats = kept->seats;
    attempt_forget(attempt);
    for (uint32_t i = 0; i < attempt->sites->site_count; i++) {
        sites_resize(attempt->sites, i, kept->sizes[i]);
    }
    for (uint32_t i = 0; i < kept->count; i++) {
        const struct pattern_of of = {
            .sites = attempt->sites,
            .stream = &attempt->workload->streams[kept->streams[i]],
            .number = kept->streams[i],
            .requeue = attempt->workload->requeue,
        };
        const uint32_t index = patterns_add(&attempt->patterns, &of, seats);
        ASSERT(index == i);
        attempt->counts[kept->streams[i]]++;
        seats += task_count(attempt, kept->streams[i]);
    }
    descent_admit(&attempt->descent, 1);
    memcpy(attempt->descent.shares, kept->shares, kept->count * sizeof(*kept->shares));
    (void)attempt_settle(attempt);
}
