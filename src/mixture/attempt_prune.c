/* attempt_prune.c - without patterns that the descent has left: see attempt.h. */
#include <stdlib.h>

#include "base/memory.h"
#include "mixture/attempt.h"
#include "mixture/workload.h"

void attempt_prune(struct attempt *attempt, double near, double least)
{
    struct patterns kept;
    struct descent *descent = &attempt->descent;
    const uint32_t stream_count = attempt->workload->stream_count;
    double *means = memory_zeroed(stream_count, sizeof(*means));
    patterns_init(&kept);
    for (uint32_t i = 0; i < stream_count; i++) {
        means[i] = attempt_mean_slope(attempt, i);
        attempt->counts[i] = 0;
    }
    for (uint32_t i = 0; i < descent->count; i++) {
        const struct pattern *pattern = &attempt->patterns.items[i];
        if (descent->shares[i] <= least &&
            attempt->congestion.slopes[i] >= means[pattern->stream] * (1 + near)) {
            continue;
        }
        const struct pattern_of of = {
            .sites = attempt->sites,
            .stream = &attempt->workload->streams[pattern->stream],
            .number = pattern->stream,
            .requeue = attempt->workload->requeue,
        };
        const uint32_t index =
            patterns_add(&kept, &of, attempt->patterns.seats + pattern->seat_first);
        descent->shares[index] = descent->shares[i];
        attempt->congestion.extras_ns[index] = attempt->congestion.extras_ns[i];
        attempt->counts[pattern->stream]++;
    }
    for (uint32_t i = kept.count; i < descent->count; i++) {
        attempt->congestion.extras_ns[i] = 0; /* Others will have these numbers. */
    }
    descent->count = kept.count;
    patterns_deinit(&attempt->patterns);
    attempt->patterns = kept;
    pattern_index_clear(&attempt->index);
    congestion_forget(&attempt->congestion);
    descent_normalise(descent);
    free(means);
}
