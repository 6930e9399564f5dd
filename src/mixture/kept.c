#include "mixture/kept.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "mixture/draft.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/workflow.h"

void kept_deinit(struct kept *kept)
{
    free(kept->streams);
    free(kept->shares);
    free(kept->spots);
    free(kept->sizes);
    *kept = (struct kept){0};
}

static uint32_t task_count(const struct draft *draft, uint32_t stream)
{
    return draft->workload->streams[stream].workflow->task_count;
}

static void reserve(struct kept *kept, const struct draft *draft)
{
    const uint32_t count = draft->patterns.count;
    const uint32_t spots = draft->patterns.spot_count;
    if (count > kept->capacity || spots > kept->spot_capacity) {
        kept_deinit(kept);
        kept->capacity = 2 * count;
        kept->spot_capacity = 2 * spots;
        kept->streams = memory_zeroed(kept->capacity, sizeof(*kept->streams));
        kept->shares = memory_zeroed(kept->capacity, sizeof(*kept->shares));
        kept->spots = memory_zeroed(kept->spot_capacity, sizeof(*kept->spots));
        kept->sizes = memory_zeroed(draft->sites->site_count, sizeof(*kept->sizes));
    }
}

void kept_take(struct kept *kept, const struct draft *draft)
{
    ASSERT(draft->descent.count == draft->patterns.count);
    reserve(kept, draft);
    kept->spot_count = 0;
    kept->count = draft->patterns.count;
    kept->mean_ns = draft->congestion.mean_ns;
    memcpy(kept->shares, draft->descent.shares, kept->count * sizeof(*kept->shares));
    for (uint32_t i = 0; i < draft->sites->site_count; i++) {
        kept->sizes[i] = draft->sites->sites[i].size;
    }
    for (uint32_t i = 0; i < kept->count; i++) {
        const struct pattern *pattern = &draft->patterns.items[i];
        const uint32_t tasks = task_count(draft, pattern->stream);
        kept->streams[i] = pattern->stream;
        memcpy(
            kept->spots + kept->spot_count, draft->patterns.spots + pattern->spot_first,
            tasks * sizeof(*kept->spots));
        kept->spot_count += tasks;
    }
}

void kept_restore(const struct kept *kept, struct draft *draft)
{
    const struct spot *spots = kept->spots;
    draft_forget(draft);
    for (uint32_t i = 0; i < draft->sites->site_count; i++) {
        sites_resize(draft->sites, i, kept->sizes[i]);
    }
    for (uint32_t i = 0; i < kept->count; i++) {
        const struct pattern_of of = {
            .sites = draft->sites,
            .stream = &draft->workload->streams[kept->streams[i]],
            .number = kept->streams[i],
            .requeue = draft->workload->requeue,
        };
        const uint32_t index = patterns_add(&draft->patterns, &of, spots);
        ASSERT(index == i);
        draft->counts[kept->streams[i]]++;
        spots += task_count(draft, kept->streams[i]);
    }
    descent_admit(&draft->descent, 1);
    memcpy(draft->descent.shares, kept->shares, kept->count * sizeof(*kept->shares));
    (void)draft_settle(draft);
}
