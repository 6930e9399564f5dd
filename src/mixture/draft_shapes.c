/* draft_shapes.c - a shape that was found, on other sites: see draft.h. */
#include <string.h>

#include "base/assert.h"
#include "mixture/draft.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/workflow.h"

enum { ALIKE_MAX = 64 };

/* The machines of a placement, as they come. */
static uint32_t list_machines(const struct spot *spots, uint32_t count, struct spot *machines_out)
{
    uint32_t machines = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = 0;
        while (at < machines && !spot_same_machine(machines_out[at], spots[i])) {
            at++;
        }
        if (at == machines) {
            machines_out[machines++] = spots[i];
        }
    }
    return machines;
}

/*
 * @found with its machines on other sites: machine number i moves on by digit i of @number,
 * written to the base of the number of sites. False if a site is too small for that.
 */
static bool move_machines(
    const struct sites *sites, uint32_t task_count, uint32_t number, struct spot *spots)
{
    struct spot machines[WORKFLOW_TASKS_MAX];
    struct spot moved[WORKFLOW_TASKS_MAX];
    const uint32_t count = list_machines(spots, task_count, machines);
    for (uint32_t i = 0; i < count; i++, number /= sites->site_count) {
        const uint32_t site = (machines[i].site + number) % sites->site_count;
        uint16_t copy = 0;
        for (uint32_t k = 0; k < i; k++) {
            copy = (uint16_t)(copy + (moved[k].site == site ? 1 : 0));
        }
        if (sites->sites[site].size <= SITE_EMPTY ||
            (copy > 0 && copy + 1.0 > sites->sites[site].size)) {
            return false;
        }
        moved[i] = (struct spot){.site = (uint16_t)site, .copy = copy};
    }
    for (uint32_t i = 0; i < task_count; i++) {
        uint32_t at = 0;
        while (at < count && !spot_same_machine(machines[at], spots[i])) {
            at++;
        }
        ASSERT(at < count);
        if (spots[i].slot >= sites->sites[moved[at].site].slot_count) {
            return false;
        }
        spots[i].site = moved[at].site;
        spots[i].copy = moved[at].copy;
    }
    return true;
}

uint32_t draft_add_shape(
    struct draft *draft, uint32_t stream, const struct spot *found, double limit)
{
    const struct sites *sites = draft->sites;
    const uint32_t task_count = draft->workload->streams[stream].workflow->task_count;
    struct spot spots[WORKFLOW_TASKS_MAX];
    const uint32_t machines = list_machines(found, task_count, spots);
    uint64_t ways = 1;
    uint64_t along = 0; /* All machines move by one site. */
    for (uint32_t i = 0; i < machines && ways <= ALIKE_MAX; i++) {
        along += ways;
        ways *= sites->site_count;
    }
    const bool all = ways <= ALIKE_MAX;
    const uint32_t count =
        all ? (uint32_t)ways : (sites->site_count < ALIKE_MAX ? sites->site_count : ALIKE_MAX);
    uint32_t added = 0;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(spots, found, task_count * sizeof(*spots));
        const uint64_t number = all ? i : i * along;
        if (number <= UINT32_MAX && move_machines(sites, task_count, (uint32_t)number, spots) &&
            response_cost(&draft->response, stream, spots) < limit) {
            added += draft_add(draft, stream, spots) != UINT32_MAX ? 1 : 0;
        }
    }
    return added;
}
