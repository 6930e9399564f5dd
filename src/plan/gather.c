/* gather.c - the way back of spread.h: from a mixture of placements to patterns on sites. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "model/catalogue.h"
#include "plan/attempt.h"
#include "plan/mixture.h"
#include "plan/program.h"
#include "plan/sites.h"
#include "plan/spread.h"
#include "plan/workload.h"

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

/* How differently two machines of a class are used: 0 if they are alike. */
static uint32_t *find_uses(
    const struct mixture *mixture, const struct program_input *input, bool joined)
{
    const struct fleet *fleet = input->fleet;
    const uint32_t queue_count = input->catalogue->queue_count;
    double *chances = find_chances(mixture, input->catalogue);
    uint32_t *uses = memory_zeroed(fleet->node_count, sizeof(*uses));
    uint32_t *firsts = memory_zeroed(fleet->node_count, sizeof(*firsts));
    uint32_t count = 0;
    for (uint32_t node = 0; node < fleet->node_count; node++) {
        uint32_t use = 0;
        for (; use < count && joined; use++) {
            const struct fleet_node *a = &fleet->nodes[firsts[use]];
            const struct fleet_node *b = &fleet->nodes[node];
            const double *one = chances + (size_t)a->worker_first * queue_count;
            const double *two = chances + (size_t)b->worker_first * queue_count;
            bool alike = a->worker_count == b->worker_count;
            for (size_t i = 0; i < (size_t)a->worker_count * queue_count && alike; i++) {
                alike = fabs(one[i] - two[i]) <= ALIKE;
            }
            if (alike) {
                break;
            }
        }
        use = joined ? use : count;
        if (use == count) {
            firsts[count++] = node;
        }
        uses[node] = use;
    }
    free(firsts);
    free(chances);
    return uses;
}

struct sites *spread_sites(
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
static void seat_tasks(
    const struct sites *sites, const struct place *places, const uint16_t *placement,
    uint32_t task_count, struct seat *seats_out)
{
    for (uint32_t i = 0; i < task_count; i++) {
        const uint32_t node = sites->fleet->workers[placement[i]].node;
        struct seat seat = {
            .site = (uint16_t)places[node].site,
            .slot = (uint16_t)(placement[i] - places[node].worker_first),
        };
        for (uint32_t k = 0; k < i; k++) {
            if (sites->fleet->workers[placement[k]].node == node) {
                seat.copy = seats_out[k].copy;
                break;
            }
            if (seats_out[k].site == seat.site && seats_out[k].copy >= seat.copy) {
                seat.copy = (uint16_t)(seats_out[k].copy + 1);
            }
        }
        seats_out[i] = seat;
    }
}

static uint32_t find_pattern(
    const struct attempt *attempt, uint32_t from, const struct seat *seats, uint32_t task_count)
{
    for (uint32_t i = attempt->patterns.count; i-- > from;) { /* The newest is the likeliest. */
        const struct seat *known = attempt->patterns.seats + attempt->patterns.items[i].seat_first;
        if (memcmp(known, seats, task_count * sizeof(*seats)) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

static enum weft_status gather_stream(
    struct attempt *attempt, const struct mixture *mixture, uint32_t number,
    const struct place *places, double **weights)
{
    const struct stream *stream = &attempt->workload->streams[number];
    const struct mixture_workflow *mixed = &mixture->workflows[stream->number];
    const uint32_t from = attempt->patterns.count;
    const struct pattern_of of = {
        .sites = attempt->sites,
        .stream = stream,
        .number = number,
        .requeue = attempt->workload->requeue,
    };
    struct seat seats[WORKFLOW_TASKS_MAX];
    for (uint32_t i = 0; i < mixed->pattern_count; i++) {
        if (mixed->weights[i] <= 0) {
            continue;
        }
        seat_tasks(
            attempt->sites, places, mixture_placement(mixture, stream->number, i),
            mixed->task_count, seats);
        uint32_t index = find_pattern(attempt, from, seats, mixed->task_count);
        if (index == UINT32_MAX) {
            index = patterns_add(&attempt->patterns, &of, seats);
            if (index == UINT32_MAX) {
                return WEFT_NOT_FOUND;
            }
            attempt->counts[number]++;
        }
        (*weights)[index] += mixed->weights[i];
    }
    return attempt->patterns.count > from ? WEFT_OK : WEFT_NOT_FOUND;
}

enum weft_status spread_in(
    struct attempt *attempt, const struct mixture *mixture, struct weft_error *error)
{
    const struct workload *workload = attempt->workload;
    struct place *places = find_places(attempt->sites);
    size_t total = 1;
    for (uint32_t i = 0; i < mixture->workflow_count; i++) {
        total += mixture->workflows[i].pattern_count;
    }
    double *weights = memory_zeroed(total, sizeof(*weights));
    enum weft_status status = WEFT_OK;
    for (uint32_t i = 0; i < workload->stream_count && status == WEFT_OK; i++) {
        status = gather_stream(attempt, mixture, i, places, &weights);
        if (status != WEFT_OK) {
            (void)error_set(
                error, status, "workflow %s has no placement in the mixture that can run",
                workload->streams[i].workflow->name);
        }
    }
    if (status == WEFT_OK) {
        descent_admit(&attempt->descent, 1);
        memcpy(attempt->descent.shares, weights, attempt->descent.count * sizeof(*weights));
        descent_normalise(&attempt->descent);
    }
    free(weights);
    free(places);
    return status;
}
