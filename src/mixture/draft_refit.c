/* draft_refit.c - placements on sites that have lost their machines: see draft.h. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mixture/draft.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/workflow.h"

#define SHARE_USED   1e-6
#define SHARE_ENOUGH 0.5 /* Of a stream: what is left can take over the rest. */

static bool fits(const struct sites *sites, struct spot spot)
{
    return spot.copy + 1.0 <= sites->sites[spot.site].size;
}

/* The lowest copy of @site that no task is on. */
static uint16_t free_copy(const struct spot *spots, uint32_t task_count, uint32_t site)
{
    uint16_t copy = 0;
    for (uint32_t i = 0; i < task_count; i++) {
        if (spots[i].site == site && spots[i].copy == copy) {
            copy++;
            i = UINT32_MAX; /* From the first task again: they are in no order. */
        }
    }
    return copy;
}

/* A machine of the same class for that of @lost: of the site that has most to spare. */
static bool find_other(
    const struct sites *sites, const struct spot *spots, uint32_t task_count, struct spot lost,
    struct spot *other_out)
{
    double most = 0;
    *other_out = lost;
    for (uint32_t i = 0; i < sites->site_count; i++) {
        const struct spot spot = {(uint16_t)i, free_copy(spots, task_count, i), 0};
        const double spare = sites->sites[i].size - spot.copy;
        if (sites->sites[i].machines == sites->sites[lost.site].machines && fits(sites, spot) &&
            spare > most) {
            most = spare;
            *other_out = spot;
        }
    }
    return most > 0;
}

/* Give every machine that is not there another one. False if there are too few. */
static bool move_lost(const struct sites *sites, struct spot *spots, uint32_t task_count)
{
    for (uint32_t i = 0; i < task_count; i++) {
        const struct spot lost = spots[i];
        struct spot other;
        if (fits(sites, lost)) {
            continue;
        }
        if (!find_other(sites, spots, task_count, lost, &other)) {
            return false;
        }
        for (uint32_t k = 0; k < task_count; k++) {
            if (spot_same_machine(spots[k], lost)) {
                spots[k].site = other.site;
                spots[k].copy = other.copy;
            }
        }
    }
    return true;
}

static uint32_t task_count_of(const struct draft *draft, uint32_t index)
{
    const uint32_t stream = draft->patterns.items[index].stream;
    return draft->workload->streams[stream].workflow->task_count;
}

static bool is_lost(const struct draft *draft, uint32_t index)
{
    const struct spot *spots = draft->patterns.spots + draft->patterns.items[index].spot_first;
    for (uint32_t i = 0; i < task_count_of(draft, index); i++) {
        if (!fits(draft->sites, spots[i])) {
            return true;
        }
    }
    return false;
}

/* Pattern @index on machines that are there: its number, UINT32_MAX if it is no new one. */
static uint32_t add_moved(struct draft *draft, uint32_t index)
{
    struct spot spots[WORKFLOW_TASKS_MAX];
    const struct pattern pattern = draft->patterns.items[index];
    const uint32_t task_count = task_count_of(draft, index);
    memcpy(spots, draft->patterns.spots + pattern.spot_first, task_count * sizeof(*spots));
    return move_lost(draft->sites, spots, task_count) ? draft_add(draft, pattern.stream, spots)
                                                      : UINT32_MAX;
}

void draft_refit(struct draft *draft)
{
    struct descent *descent = &draft->descent;
    const uint32_t known = descent->count;
    double *before = memory_zeroed(2 * (size_t)known + 1, sizeof(*before));
    double *fresh = before + known; /* No more are added than there are. */
    double *left = memory_zeroed(draft->workload->stream_count, sizeof(*left));
    memcpy(before, descent->shares, known * sizeof(*before));
    for (uint32_t i = 0; i < known; i++) {
        left[draft->patterns.items[i].stream] += is_lost(draft, i) ? 0 : before[i];
    }
    for (uint32_t i = 0; i < known; i++) {
        const bool moves = before[i] > SHARE_USED && is_lost(draft, i) &&
                           left[draft->patterns.items[i].stream] < SHARE_ENOUGH;
        const uint32_t index = moves ? add_moved(draft, i) : UINT32_MAX;
        if (index != UINT32_MAX) {
            *(index < known ? &before[index] : &fresh[index - known]) += before[i];
        }
    }
    descent_admit(descent, DRAFT_SHARE_FRESH);
    memcpy(descent->shares, before, known * sizeof(*before));
    memcpy(descent->shares + known, fresh, (descent->count - known) * sizeof(*before));
    free(left);
    free(before);
}
