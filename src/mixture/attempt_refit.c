/* attempt_refit.c - placements on sites that have lost their machines: see attempt.h. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mixture/attempt.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/workflow.h"

#define SHARE_USED   1e-6
#define SHARE_ENOUGH 0.5 /* Of a stream: what is left can take over the rest. */

static bool fits(const struct sites *sites, struct seat seat)
{
    return seat.copy + 1.0 <= sites->sites[seat.site].size;
}

/* The lowest copy of @site that no task is on. */
static uint16_t free_copy(const struct seat *seats, uint32_t task_count, uint32_t site)
{
    uint16_t copy = 0;
    for (uint32_t i = 0; i < task_count; i++) {
        if (seats[i].site == site && seats[i].copy == copy) {
            copy++;
            i = UINT32_MAX; /* From the first task again: they are in no order. */
        }
    }
    return copy;
}

/* A machine of the same class for that of @lost: of the site that has most to spare. */
static bool find_other(
    const struct sites *sites, const struct seat *seats, uint32_t task_count, struct seat lost,
    struct seat *other_out)
{
    double most = 0;
    *other_out = lost;
    for (uint32_t i = 0; i < sites->site_count; i++) {
        const struct seat seat = {(uint16_t)i, free_copy(seats, task_count, i), 0};
        const double spare = sites->sites[i].size - seat.copy;
        if (sites->sites[i].machines == sites->sites[lost.site].machines && fits(sites, seat) &&
            spare > most) {
            most = spare;
            *other_out = seat;
        }
    }
    return most > 0;
}

/* Give every machine that is not there another one. False if there are too few. */
static bool move_lost(const struct sites *sites, struct seat *seats, uint32_t task_count)
{
    for (uint32_t i = 0; i < task_count; i++) {
        const struct seat lost = seats[i];
        struct seat other;
        if (fits(sites, lost)) {
            continue;
        }
        if (!find_other(sites, seats, task_count, lost, &other)) {
            return false;
        }
        for (uint32_t k = 0; k < task_count; k++) {
            if (seat_same_machine(seats[k], lost)) {
                seats[k].site = other.site;
                seats[k].copy = other.copy;
            }
        }
    }
    return true;
}

static uint32_t task_count_of(const struct attempt *attempt, uint32_t index)
{
    const uint32_t stream = attempt->patterns.items[index].stream;
    return attempt->workload->streams[stream].workflow->task_count;
}

static bool is_lost(const struct attempt *attempt, uint32_t index)
{
    const struct seat *seats = attempt->patterns.seats + attempt->patterns.items[index].seat_first;
    for (uint32_t i = 0; i < task_count_of(attempt, index); i++) {
        if (!fits(attempt->sites, seats[i])) {
            return true;
        }
    }
    return false;
}

/* Pattern @index on machines that are there: its number, UINT32_MAX if it is no new one. */
static uint32_t add_moved(struct attempt *attempt, uint32_t index)
{
    struct seat seats[WORKFLOW_TASKS_MAX];
    const struct pattern pattern = attempt->patterns.items[index];
    const uint32_t task_count = task_count_of(attempt, index);
    memcpy(seats, attempt->patterns.seats + pattern.seat_first, task_count * sizeof(*seats));
    return move_lost(attempt->sites, seats, task_count)
               ? attempt_add(attempt, pattern.stream, seats)
               : UINT32_MAX;
}

void attempt_refit(struct attempt *attempt)
{
    struct descent *descent = &attempt->descent;
    const uint32_t known = descent->count;
    double *before = memory_zeroed(2 * (size_t)known + 1, sizeof(*before));
    double *fresh = before + known; /* No more are added than there are. */
    double *left = memory_zeroed(attempt->workload->stream_count, sizeof(*left));
    memcpy(before, descent->shares, known * sizeof(*before));
    for (uint32_t i = 0; i < known; i++) {
        left[attempt->patterns.items[i].stream] += is_lost(attempt, i) ? 0 : before[i];
    }
    for (uint32_t i = 0; i < known; i++) {
        const bool moves = before[i] > SHARE_USED && is_lost(attempt, i) &&
                           left[attempt->patterns.items[i].stream] < SHARE_ENOUGH;
        const uint32_t index = moves ? add_moved(attempt, i) : UINT32_MAX;
        if (index != UINT32_MAX) {
            *(index < known ? &before[index] : &fresh[index - known]) += before[i];
        }
    }
    descent_admit(descent, ATTEMPT_SHARE_FRESH);
    memcpy(descent->shares, before, known * sizeof(*before));
    memcpy(descent->shares + known, fresh, (descent->count - known) * sizeof(*before));
    free(left);
    free(before);
}
