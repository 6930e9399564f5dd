/* gather.c - the way back of spread.h: from a mixture of placements to patterns on sites. */
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

/* Machines that are used differently, one of each use, by the chances that they have in all. */
struct uses {
    const struct fleet *fleet;
    uint32_t queue_count;
    double *chances;
    double *sums;     /* By machine: of its chances. */
    uint32_t *firsts; /* By use: a machine of it. */
    uint32_t *sorted; /* Uses by the sums of those machines. */
    uint32_t count;
};

/* Whether two machines get every task with the same chance. */
static bool is_alike(const struct uses *uses, uint32_t a, uint32_t b)
{
    const struct fleet_node *one = &uses->fleet->nodes[a];
    const struct fleet_node *two = &uses->fleet->nodes[b];
    const double *left = uses->chances + (size_t)one->worker_first * uses->queue_count;
    const double *right = uses->chances + (size_t)two->worker_first * uses->queue_count;
    bool alike = one->worker_count == two->worker_count;
    for (size_t i = 0; i < (size_t)one->worker_count * uses->queue_count && alike; i++) {
        alike = fabs(left[i] - right[i]) <= ALIKE;
    }
    return alike;
}

/* The first of the sorted uses whose sum is @least or more. */
static uint32_t find_sum(const struct uses *uses, double least)
{
    uint32_t low = 0;
    uint32_t high = uses->count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (uses->sums[uses->firsts[uses->sorted[middle]]] < least) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The use of @node: the first that is alike, or a new one. */
static uint32_t find_use(struct uses *uses, uint32_t node, bool joined)
{
    const double sum = uses->sums[node];
    const size_t cells = (size_t)uses->fleet->nodes[node].worker_count * uses->queue_count;
    const double margin = 2 * ALIKE * (double)cells; /* Whoever is alike is nearer than that. */
    uint32_t use = uses->count;
    for (uint32_t i = find_sum(uses, sum - margin); i < uses->count && joined; i++) {
        const uint32_t other = uses->sorted[i];
        if (uses->sums[uses->firsts[other]] > sum + margin) {
            break;
        }
        use = other < use && is_alike(uses, uses->firsts[other], node) ? other : use;
    }
    if (use == uses->count) {
        const uint32_t at = find_sum(uses, sum);
        memmove(
            uses->sorted + at + 1, uses->sorted + at, (uses->count - at) * sizeof(*uses->sorted));
        uses->sorted[at] = use;
        uses->firsts[use] = node;
        uses->count++;
    }
    return use;
}

/* How differently machines are used: those with one number are alike. */
static uint32_t *find_uses(
    const struct mixture *mixture, const struct program_input *input, bool joined)
{
    const struct fleet *fleet = input->fleet;
    struct uses uses = {.fleet = fleet, .queue_count = input->catalogue->queue_count};
    uint32_t *use_of = memory_zeroed(fleet->node_count, sizeof(*use_of));
    uses.chances = find_chances(mixture, input->catalogue);
    uses.sums = memory_zeroed(fleet->node_count, sizeof(*uses.sums));
    uses.firsts = memory_zeroed(fleet->node_count, sizeof(*uses.firsts));
    uses.sorted = memory_zeroed(fleet->node_count, sizeof(*uses.sorted));
    for (uint32_t node = 0; node < fleet->node_count; node++) {
        const struct fleet_node *machine = &fleet->nodes[node];
        const double *chances = uses.chances + (size_t)machine->worker_first * uses.queue_count;
        for (size_t i = 0; i < (size_t)machine->worker_count * uses.queue_count; i++) {
            uses.sums[node] += chances[i];
        }
        use_of[node] = find_use(&uses, node, joined);
    }
    free(uses.sorted);
    free(uses.firsts);
    free(uses.sums);
    free(uses.chances);
    return use_of;
}

struct sites *draft_sites_of(
    const struct mixture *mixture, const struct program_input *input, bool joined)
{
    uint32_t *uses = find_uses(mixture, input, joined);
    const struct sites_options options = {.uses = uses};
    struct sites *sites = sites_create(input, &options);
    free(uses);
    return sites;
}

/* Where each machine is: its site, and which of it. */
struct place {
    uint32_t site;
    uint32_t worker_first;
};

static struct place *find_places(const struct sites *sites)
{
    struct place *places = memory_zeroed(sites->fleet->node_count, sizeof(*places));
    for (uint32_t i = 0; i < sites->site_count; i++) {
        const struct machine_class *machines = &sites->classes[sites->sites[i].machines];
        for (uint32_t k = 0; k < machines->node_count; k++) {
            const uint32_t node = machines->nodes[k];
            places[node] = (struct place){i, sites->fleet->nodes[node].worker_first};
        }
    }
    return places;
}

/* Seats of a placement: the machines of a site are numbered as they come. */
static void spot_tasks(
    const struct sites *sites, const struct place *places, const uint16_t *placement,
    uint32_t task_count, struct spot *spots_out)
{
    for (uint32_t i = 0; i < task_count; i++) {
        const uint32_t node = sites->fleet->workers[placement[i]].node;
        struct spot spot = {
            .site = (uint16_t)places[node].site,
            .slot = (uint16_t)(placement[i] - places[node].worker_first),
        };
        for (uint32_t k = 0; k < i; k++) {
            if (sites->fleet->workers[placement[k]].node == node) {
                spot.copy = spots_out[k].copy;
                break;
            }
            if (spots_out[k].site == spot.site && spots_out[k].copy >= spot.copy) {
                spot.copy = (uint16_t)(spots_out[k].copy + 1);
            }
        }
        spots_out[i] = spot;
    }
}

static enum weft_status gather_stream(
    struct draft *draft, const struct mixture *mixture, uint32_t number, const struct place *places,
    double least, double *weights)
{
    const struct stream *stream = &draft->workload->streams[number];
    const struct mixture_workflow *mixed = &mixture->workflows[stream->number];
    const uint32_t from = draft->patterns.count;
    const struct pattern_of of = {
        .sites = draft->sites,
        .stream = stream,
        .number = number,
        .requeue = draft->workload->requeue,
    };
    struct spot spots[WORKFLOW_TASKS_MAX];
    for (uint32_t i = 0; i < mixed->pattern_count; i++) {
        if (mixed->weights[i] <= least / mixed->pattern_count) {
            continue;
        }
        spot_tasks(
            draft->sites, places, mixture_placement(mixture, stream->number, i), mixed->task_count,
            spots);
        uint32_t index =
            pattern_index_find(&draft->index, &draft->patterns, number, spots, mixed->task_count);
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

/* Machines that stand apart give as many patterns as there are placements. */
static void reserve(struct draft *draft, const struct mixture *mixture)
{
    size_t count = 0;
    size_t tasks = 0;
    size_t edges = 0;
    if (draft->sites->site_count < draft->sites->fleet->node_count) {
        return;
    }
    for (uint32_t i = 0; i < draft->workload->stream_count; i++) {
        const struct stream *stream = &draft->workload->streams[i];
        const size_t placements = mixture->workflows[stream->number].pattern_count;
        count += placements;
        tasks += placements * stream->workflow->task_count;
        edges += placements * stream->workflow->edge_count;
    }
    patterns_reserve(&draft->patterns, count, tasks, edges);
}

enum weft_status draft_from_mixture(
    struct draft *draft, const struct mixture *mixture, double least, struct weft_error *error)
{
    const struct workload *workload = draft->workload;
    struct place *places = find_places(draft->sites);
    size_t total = 1;
    for (uint32_t i = 0; i < mixture->workflow_count; i++) {
        total += mixture->workflows[i].pattern_count;
    }
    double *weights = memory_zeroed(total, sizeof(*weights));
    enum weft_status status = WEFT_OK;
    reserve(draft, mixture);
    for (uint32_t i = 0; i < workload->stream_count && status == WEFT_OK; i++) {
        status = gather_stream(draft, mixture, i, places, least, weights);
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
    free(places);
    return status;
}
