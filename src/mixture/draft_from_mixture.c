/* draft_from_mixture.c - placements on workers as patterns on sites: see draft_mixture.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "mixture/draft.h"
#include "mixture/draft_mixture.h"
#include "mixture/mixture.h"
#include "mixture/program.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/catalogue.h"

#define SITE_NONE UINT32_MAX

#define ALIKE 1e-6 /* Chances of two machines to get a task that differ by less are equal. */

/* By worker, then by queue of the catalogue: the chance that a job's task goes there. */
static double *find_chances(const struct mixture *mixture, const struct catalogue *catalogue)
{
    double *chances =
        memory_zeroed((size_t)mixture->worker_count * catalogue->queue_count + 1, sizeof(*chances));
    for (uint32_t i = 0; i < mixture->workflow_count; i++) {
        const struct mixture_workflow *mixed = &mixture->workflows[i];
        const uint32_t queue_first = catalogue->workflows[i]->queue_first;
        for (uint32_t k = 0; k < mixed->pattern_count; k++) {
            const uint16_t *placement = mixture_placement(mixture, i, k);
            for (uint32_t task = 0; task < mixed->task_count; task++) {
                chances[(size_t)placement[task] * catalogue->queue_count + queue_first + task] +=
                    mixed->weights[k];
            }
        }
    }
    return chances;
}

/* Whether two machines get every task with the same chance. */
static bool is_alike(
    const struct fleet *fleet, const double *chances, uint32_t queue_count, uint32_t a, uint32_t b)
{
    const struct fleet_node *one = &fleet->nodes[a];
    const struct fleet_node *two = &fleet->nodes[b];
    const double *left = chances + (size_t)one->worker_first * queue_count;
    const double *right = chances + (size_t)two->worker_first * queue_count;
    bool alike = one->worker_count == two->worker_count;
    for (size_t i = 0; i < (size_t)one->worker_count * queue_count && alike; i++) {
        alike = fabs(left[i] - right[i]) <= ALIKE;
    }
    return alike;
}

/* By machine: the first one that is used like it, which is itself if all are to stay apart. */
static uint32_t *find_uses(
    const struct mixture *mixture, const struct program_input *input, bool joined)
{
    const struct fleet *fleet = input->fleet;
    const uint32_t queue_count = input->catalogue->queue_count;
    double *chances = find_chances(mixture, input->catalogue);
    uint32_t *uses = memory_zeroed(fleet->node_count, sizeof(*uses));
    for (uint32_t node = 0; node < fleet->node_count; node++) {
        uint32_t first = joined ? 0 : node;
        uses[node] = node;
        while (uses[first] != first || !is_alike(fleet, chances, queue_count, first, node)) {
            first++; /* At last it is @node itself. */
        }
        uses[node] = first;
    }
    free(chances);
    return uses;
}

struct sites *draft_sites_of(
    const struct mixture *mixture, const struct program_input *input, bool joined)
{
    uint32_t *uses = find_uses(mixture, input, joined);
    struct sites *sites =
        sites_create(input->fleet, &(struct sites_options){.away = input->away, .uses = uses});
    free(uses);
    return sites;
}

/* By machine: its site, or SITE_NONE of one that is away. Each class of machines is one. */
static uint32_t *find_sites(const struct sites *sites)
{
    uint32_t *site_of = memory_zeroed(sites->fleet->node_count, sizeof(*site_of));
    ASSERT(sites->site_count == sites->class_count);
    for (uint32_t node = 0; node < sites->fleet->node_count; node++) {
        site_of[node] = SITE_NONE;
    }
    for (uint32_t i = 0; i < sites->site_count; i++) {
        const struct machine_class *machines = &sites->classes[sites->sites[i].machines];
        for (uint32_t k = 0; k < machines->node_count; k++) {
            site_of[machines->nodes[k]] = i;
        }
    }
    return site_of;
}

/*
 * A placement as spots: the machines of a site are numbered as they come. False if it names one
 * that is away.
 */
static bool find_spots(
    const struct sites *sites, const uint32_t *site_of, const uint16_t *placement,
    uint32_t task_count, struct spot *spots_out)
{
    const struct fleet *fleet = sites->fleet;
    for (uint32_t i = 0; i < task_count; i++) {
        const uint32_t node = fleet->workers[placement[i]].node;
        if (site_of[node] == SITE_NONE) {
            return false;
        }
        struct spot spot = {
            .site = (uint16_t)site_of[node],
            .slot = (uint16_t)(placement[i] - fleet->nodes[node].worker_first),
        };
        for (uint32_t k = 0; k < i; k++) {
            if (fleet->workers[placement[k]].node == node) {
                spot.copy = spots_out[k].copy;
                break;
            }
            if (spots_out[k].site == spot.site && spots_out[k].copy >= spot.copy) {
                spot.copy = (uint16_t)(spots_out[k].copy + 1);
            }
        }
        spots_out[i] = spot;
    }
    return true;
}

static enum weft_status take_stream(
    struct draft *draft, const struct mixture *mixture, uint32_t number, const uint32_t *site_of,
    double least, double *weights)
{
    const struct pattern_of of = draft_pattern_of(draft, number);
    const uint32_t workflow = of.stream->number;
    const struct mixture_workflow *mixed = &mixture->workflows[workflow];
    const uint32_t from = draft->patterns.count;
    const bool apart = draft->sites->site_count == draft->sites->node_count;
    struct spot spots[WORKFLOW_TASKS_MAX];
    for (uint32_t i = 0; i < mixed->pattern_count; i++) {
        if (mixed->weights[i] <= least / mixed->pattern_count ||
            !find_spots(
                draft->sites, site_of, mixture_placement(mixture, workflow, i), mixed->task_count,
                spots)) {
            continue;
        }
        /* On machines that stay apart placements are as different as they are in the mixture. */
        uint32_t index = apart ? UINT32_MAX : patterns_find(&draft->patterns, &of, spots);
        if (index == UINT32_MAX) {
            index = patterns_add(&draft->patterns, &of, spots);
            if (index == UINT32_MAX) {
                return WEFT_NOT_FOUND;
            }
            draft->counts[number]++;
        }
        weights[index] += mixed->weights[i];
    }
    return draft->patterns.count > from ? WEFT_OK : WEFT_NOT_FOUND;
}

enum weft_status draft_from_mixture(
    struct draft *draft, const struct mixture *mixture, double least, struct weft_error *error)
{
    const struct workload *workload = draft->workload;
    uint32_t *site_of = find_sites(draft->sites);
    size_t total = 1;
    for (uint32_t i = 0; i < mixture->workflow_count; i++) {
        total += mixture->workflows[i].pattern_count;
    }
    double *weights = memory_zeroed(total, sizeof(*weights));
    enum weft_status status = WEFT_OK;
    for (uint32_t i = 0; i < workload->stream_count && status == WEFT_OK; i++) {
        status = take_stream(draft, mixture, i, site_of, least, weights);
        if (status != WEFT_OK) {
            (void)error_set(
                error, status, "workflow %s has no placement in the mixture that can run",
                workload->streams[i].workflow->name);
        }
    }
    if (status == WEFT_OK) {
        descent_admit(&draft->descent, 1);
        memcpy(draft->descent.shares, weights, draft->descent.count * sizeof(*weights));
        descent_normalise(&draft->descent);
    }
    free(weights);
    free(site_of);
    return status;
}
