/* draft_round.c - sites of whole machines: see draft.h. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "mixture/draft.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/workflow.h"

enum { EXTENSIONS_MAX = 10 };

/* What is on a site, in machines: the load of its fullest worker or link. */
static double used_machines(const struct draft *draft, uint32_t site)
{
    double most = 0;
    for (uint32_t i = 0; i < draft->sites->queue_count; i++) {
        const struct queue_site *queue = &draft->sites->queues[i];
        if (queue->site == site) {
            const double used = (draft->congestion.loads[i] - queue->load) * queue->copies;
            most = used > most ? used : most;
        }
    }
    return most;
}

/* Whether pattern @index needs more machines of a site than there are. */
static bool is_misfit(const struct draft *draft, uint32_t index)
{
    const struct pattern *pattern = &draft->patterns.items[index];
    const uint32_t tasks = draft->workload->streams[pattern->stream].workflow->task_count;
    for (uint32_t i = 0; i < tasks; i++) {
        const struct spot spot = draft->patterns.spots[pattern->spot_first + i];
        if (spot.copy + 1.0 > draft->sites->sites[spot.site].size) {
            return true;
        }
    }
    return false;
}

/* What does not fit any more is divided among the others. False if nothing of a stream does. */
static bool drop_misfits(struct draft *draft)
{
    const uint32_t stream_count = draft->workload->stream_count;
    double *sums = memory_zeroed(stream_count, sizeof(*sums));
    bool fits = true;
    for (uint32_t i = 0; i < draft->descent.count; i++) {
        draft->descent.shares[i] = is_misfit(draft, i) ? 0 : draft->descent.shares[i];
        sums[draft->patterns.items[i].stream] += draft->descent.shares[i];
    }
    for (uint32_t i = 0; i < stream_count; i++) {
        fits = fits && sums[i] > 0;
    }
    descent_normalise(&draft->descent);
    free(sums);
    return fits;
}

/* Whole sizes of the sites of @group by largest remainders; none that is used gets nothing. */
static void round_class(struct draft *draft, uint32_t group)
{
    struct sites *sites = draft->sites;
    const uint32_t total = sites->classes[group].node_count;
    double *wanted = memory_zeroed(sites->site_count, sizeof(*wanted));
    uint32_t *whole = memory_zeroed(sites->site_count, sizeof(*whole));
    uint32_t sum = 0;
    for (uint32_t i = 0; i < sites->site_count; i++) {
        wanted[i] = sites->sites[i].machines == group ? sites->sites[i].size : -1;
        if (wanted[i] >= 0 && wanted[i] < 0.5 && used_machines(draft, i) < 0.25) {
            wanted[i] = -1;
        }
        if (wanted[i] >= 0) {
            whole[i] = wanted[i] < 1 ? 1 : (uint32_t)wanted[i];
            sum += whole[i];
        }
    }
    while (sum != total) {
        uint32_t best = UINT32_MAX;
        for (uint32_t i = 0; i < sites->site_count; i++) {
            const double rest = wanted[i] - whole[i];
            if (wanted[i] < 0 || (sum > total && whole[i] == 1)) {
                continue;
            }
            const bool better =
                best == UINT32_MAX || (sum < total ? rest > wanted[best] - whole[best]
                                                   : rest < wanted[best] - whole[best]);
            best = better ? i : best;
        }
        ASSERT(best != UINT32_MAX);
        whole[best] += sum < total ? 1U : UINT32_MAX;
        sum += sum < total ? 1U : UINT32_MAX;
    }
    for (uint32_t i = 0; i < sites->site_count; i++) {
        if (sites->sites[i].machines == group) {
            sites_resize(sites, i, whole[i] > 0 ? whole[i] : SITE_EMPTY);
        }
    }
    free(whole);
    free(wanted);
}

/* Other patterns may be the better ones on whole machines. They are kept if they are. */
static void extend_whole(struct draft *draft)
{
    struct descent *descent = &draft->descent;
    const double before_ns = draft_settle(draft);
    const uint32_t known = descent->count;
    double *kept = memory_zeroed(known, sizeof(*kept));
    memcpy(kept, descent->shares, known * sizeof(*kept));
    for (uint32_t i = 0; i < EXTENSIONS_MAX && draft_evaluations(draft) < descent->evaluations_max;
         i++) {
        congestion_slopes(&draft->congestion);
        if (draft_extend(draft) == 0) {
            break;
        }
        (void)descent_run(descent, 60, 1e-5);
        (void)draft_settle(draft);
    }
    (void)descent_run(descent, 200, 1e-8);
    if (draft_settle(draft) > before_ns) { /* Joins are not seen on the way. */
        memcpy(descent->shares, kept, known * sizeof(*kept));
        memset(descent->shares + known, 0, (descent->count - known) * sizeof(*kept));
        (void)draft_settle(draft);
    }
    free(kept);
}

bool draft_round(struct draft *draft)
{
    if (!draft->descent.sizes_are_free) {
        return true;
    }
    draft->descent.sizes_are_free = false;
    for (uint32_t group = 0; group < draft->sites->class_count; group++) {
        round_class(draft, group);
    }
    if (!drop_misfits(draft) || !draft_find_feasible(draft)) {
        return false;
    }
    (void)descent_run(&draft->descent, 200, 1e-8);
    extend_whole(draft);
    return true;
}
