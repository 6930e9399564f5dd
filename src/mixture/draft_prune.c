/* draft_prune.c - without patterns that the descent has left: see draft.h. */
#include <stdlib.h>

#include "base/memory.h"
#include "mixture/draft.h"
#include "mixture/workload.h"

void draft_prune(struct draft *draft, double near, double least)
{
    struct patterns kept;
    struct descent *descent = &draft->descent;
    const uint32_t stream_count = draft->workload->stream_count;
    double *means = memory_zeroed(stream_count, sizeof(*means));
    patterns_init(&kept);
    for (uint32_t i = 0; i < stream_count; i++) {
        means[i] = draft_mean_slope(draft, i);
        draft->counts[i] = 0;
    }
    for (uint32_t i = 0; i < descent->count; i++) {
        const struct pattern *pattern = &draft->patterns.items[i];
        if (descent->shares[i] <= least &&
            draft->congestion.slopes[i] >= means[pattern->stream] * (1 + near)) {
            continue;
        }
        const struct pattern_of of = {
            .sites = draft->sites,
            .stream = &draft->workload->streams[pattern->stream],
            .number = pattern->stream,
            .requeue = draft->workload->requeue,
        };
        const uint32_t index =
            patterns_add(&kept, &of, draft->patterns.spots + pattern->spot_first);
        descent->shares[index] = descent->shares[i];
        draft->congestion.extras_ns[index] = draft->congestion.extras_ns[i];
        draft->counts[pattern->stream]++;
    }
    for (uint32_t i = kept.count; i < descent->count; i++) {
        draft->congestion.extras_ns[i] = 0; /* Others will have these numbers. */
    }
    descent->count = kept.count;
    patterns_deinit(&draft->patterns);
    draft->patterns = kept;
    pattern_index_clear(&draft->index);
    congestion_forget(&draft->congestion);
    descent_normalise(descent);
    free(means);
}
