/* attempt_round.c - sites of whole machines: see attempt.h. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "mixture/attempt.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/workflow.h"

enum { SHIFTS_MAX = 12, EXTENSIONS_MAX = 10 };

/* What is on a site, in machines: the load of its fullest worker or link. */
static double used_machines(const struct attempt *attempt, uint32_t site)
{
    double most = 0;
    for (uint32_t i = 0; i < attempt->sites->queue_count; i++) {
        const struct queue_site *queue = &attempt->sites->queues[i];
        if (queue->site == site) {
            const double used = (attempt->congestion.loads[i] - queue->load) * queue->copies;
            most = used > most ? used : most;
        }
    }
    return most;
}

/* Whether pattern @index needs more machines of a site than there are. */
static bool is_misfit(const struct attempt *attempt, uint32_t index)
{
    const struct pattern *pattern = &attempt->patterns.items[index];
    const uint32_t tasks = attempt->workload->streams[pattern->stream].workflow->task_count;
    for (uint32_t i = 0; i < tasks; i++) {
        const struct seat seat = attempt->patterns.seats[pattern->seat_first + i];
        if (seat.copy + 1.0 > attempt->sites->sites[seat.site].size) {
            return true;
        }
    }
    return false;
}

/* What does not fit any more is divided among the others. False if nothing of a stream does. */
static bool drop_misfits(struct attempt *attempt)
{
    const uint32_t stream_count = attempt->workload->stream_count;
    double *sums = memory_zeroed(stream_count, sizeof(*sums));
    bool fits = true;
    for (uint32_t i = 0; i < attempt->descent.count; i++) {
        attempt->descent.shares[i] = is_misfit(attempt, i) ? 0 : attempt->descent.shares[i];
        sums[attempt->patterns.items[i].stream] += attempt->descent.shares[i];
    }
    for (uint32_t i = 0; i < stream_count; i++) {
        fits = fits && sums[i] > 0;
    }
    descent_normalise(&attempt->descent);
    free(sums);
    return fits;
}

/* Whole sizes of the sites of @group by largest remainders; none that is used gets nothing. */
static void round_class(struct attempt *attempt, uint32_t group)
{
    struct sites *sites = attempt->sites;
    const uint32_t total = sites->classes[group].node_count;
    double *wanted = memory_zeroed(sites->site_count, sizeof(*wanted));
    uint32_t *whole = memory_zeroed(sites->site_count, sizeof(*whole));
    uint32_t sum = 0;
    for (uint32_t i = 0; i < sites->site_count; i++) {
        wanted[i] = sites->sites[i].machines == group ? sites->sites[i].size : -1;
        if (wanted[i] >= 0 && wanted[i] < 0.5 && used_machines(attempt, i) < 0.25) {
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

/* One machine from where it is worth least to where it is worth most, in one class. */
static bool shift_machine(struct attempt *attempt)
{
    struct sites *sites = attempt->sites;
    uint32_t from = UINT32_MAX;
    uint32_t to = UINT32_MAX;
    double gain = 0;
    for (uint32_t a = 0; a < sites->site_count; a++) {
        for (uint32_t b = 0; b < sites->site_count && sites->sites[a].size > 1.5; b++) {
            if (a == b || sites->sites[a].machines != sites->sites[b].machines ||
                sites->sites[b].size < 1) {
                continue;
            }
            const double gained = congestion_size_slope(&attempt->congestion, a) -
                                  congestion_size_slope(&attempt->congestion, b);
            if (gained > gain) {
                gain = gained;
                from = a;
                to = b;
            }
        }
    }
    if (from == UINT32_MAX) {
        return false;
    }
    const double before_ns = attempt->congestion.mean_ns;
    const size_t bytes = attempt->descent.count * sizeof(double);
    double *kept = memory_zeroed(attempt->descent.count, sizeof(*kept));
    memcpy(kept, attempt->descent.shares, bytes);
    sites_resize(sites, from, sites->sites[from].size - 1);
    sites_resize(sites, to, sites->sites[to].size + 1);
    const bool helps =
        drop_misfits(attempt) && descent_run(&attempt->descent, 40, 1e-7) < before_ns * (1 - 1e-9);
    if (!helps) {
        sites_resize(sites, from, sites->sites[from].size + 1);
        sites_resize(sites, to, sites->sites[to].size - 1);
        memcpy(attempt->descent.shares, kept, bytes);
        (void)congestion_evaluate(&attempt->congestion, attempt->descent.shares);
    }
    free(kept);
    return helps;
}

/* Other patterns may be the better ones on whole machines. They are kept if they are. */
static void extend_whole(struct attempt *attempt)
{
    struct descent *descent = &attempt->descent;
    const double before_ns = attempt_settle(attempt);
    const uint32_t known = descent->count;
    double *kept = memory_zeroed(known, sizeof(*kept));
    memcpy(kept, descent->shares, known * sizeof(*kept));
    for (uint32_t i = 0; i < EXTENSIONS_MAX && !attempt_is_spent(attempt); i++) {
        congestion_slopes(&attempt->congestion);
        if (attempt_extend(attempt) == 0) {
            break;
        }
        (void)descent_run(descent, 60, 1e-5);
        (void)attempt_settle(attempt);
    }
    (void)descent_run(descent, 200, 1e-8);
    if (attempt_settle(attempt) > before_ns) { /* Joins are not seen on the way. */
        memcpy(descent->shares, kept, known * sizeof(*kept));
        memset(descent->shares + known, 0, (descent->count - known) * sizeof(*kept));
        (void)attempt_settle(attempt);
    }
    free(kept);
}

bool attempt_round(struct attempt *attempt)
{
    if (!attempt->descent.sizes_are_free) {
        return true;
    }
    attempt->descent.sizes_are_free = false;
    for (uint32_t group = 0; group < attempt->sites->class_count; group++) {
        round_class(attempt, group);
    }
    const uint32_t patterns_max = attempt->patterns_max;
    attempt->patterns_max = UINT32_MAX;
    attempt_refit(attempt);
    attempt->patterns_max = 0; /* Until machines stay where they are. */
    if (!drop_misfits(attempt) || !attempt_find_feasible(attempt)) {
        return false;
    }
    (void)descent_run(&attempt->descent, 200, 1e-8);
    for (uint32_t i = 0; i < SHIFTS_MAX && shift_machine(attempt); i++) {
    }
    attempt->patterns_max = patterns_max;
    extend_whole(attempt);
    return true;
}
