#include "mixture/program.h"

#include <math.h>

#include "base/assert.h"
#include "base/bitset.h"
#include "base/error.h"
#include "base/numbers.h"
#include "mixture/draft.h"
#include "mixture/draft_mixture.h"
#include "mixture/mixture.h"
#include "mixture/sites.h"
#include "mixture/warm_start.h"
#include "mixture/workload.h"
#include "model/catalogue.h"

enum {
    RESTARTS = 6,
    PATTERNS_MAX = 64,
    EVALUATIONS_MAX = 20000000,

    /* Parts of a class whose sizes are found with the shares: kinds of use there may be. */
    PARTS_MIN = 2,
    PARTS_MAX = 6,

    /* A fleet of no more machines than this is not divided into parts, but into machines. */
    SINGLES_MAX = 6,
};

/* Of a stream, on the placements that are best on an idle fleet: mostly those, or few. */
#define PART_IDLE_FIRST 0.9
#define PART_IDLE_LAST  0.1

/* The options with defaults in place of zeros. */
static struct program_options with_defaults(const struct program_options *options)
{
    struct program_options full = *options;
    full.restarts = full.restarts == 0 ? (uint32_t)RESTARTS : full.restarts;
    full.patterns_max = full.patterns_max == 0 ? (uint32_t)PATTERNS_MAX : full.patterns_max;
    full.evaluations_max =
        full.evaluations_max == 0 ? (uint64_t)EVALUATIONS_MAX : full.evaluations_max;
    full.items = full.items == 0 ? 1 : full.items;
    return full;
}

/* What a person calls queue @index. */
static enum weft_status refuse(const struct draft *draft, uint32_t index, struct weft_error *error)
{
    const struct sites *sites = draft->sites;
    const struct queue_site *queue = &sites->queues[index];
    const double percent = 100 * draft->congestion.loads[index];
    const struct fleet *fleet = sites->fleet;
    if (queue->bytes_per_ns <= 0) {
        const struct site *site = &sites->sites[queue->site];
        const uint32_t node = sites->classes[site->machines].nodes[0];
        const uint32_t worker = sites_worker(sites, node, queue->slot);
        return error_set(
            error, WEFT_REFUSED,
            "the load is too high: worker %u (%s) and those like it would be busy %.0f %%", worker,
            fleet->devices[fleet->workers[worker].device], percent);
    }
    if (queue->site == QUEUE_NONE) {
        return error_set(
            error, WEFT_REFUSED, "the load is too high: the core link would be busy %.0f %%",
            percent);
    }
    const struct site *site = &sites->sites[queue->site];
    return error_set(
        error, WEFT_REFUSED,
        "the load is too high: the link %s machine %u, and those like it, would be busy %.0f %%",
        site->up == index ? "from" : "to", sites->classes[site->machines].nodes[0], percent);
}

static void report(struct draft *draft, uint64_t evaluations, struct program_report *report_out)
{
    if (report_out == NULL) {
        return;
    }
    const struct congestion *congestion = &draft->congestion;
    *report_out = (struct program_report){
        .mean_ns = congestion->mean_ns,
        .load_max = congestion->loads[congestion_busiest(congestion)],
        .gap = isinf(congestion->mean_ns) ? 0 : draft_gap(draft),
        .evaluations = evaluations,
    };
    for (uint32_t i = 0; i < draft->descent.count; i++) {
        const struct pattern *pattern = &draft->patterns.items[i];
        const double share = draft->descent.shares[i];
        report_out->patterns += share > 1e-7 ? 1 : 0;
        report_out->idle_ns += share * pattern->idle_ns *
                               draft->workload->streams[pattern->stream].rate /
                               draft->workload->rate;
    }
}

/* How many machines are there. */
static uint32_t machine_count(const struct program_input *input)
{
    const uint32_t count = input->fleet->node_count;
    return input->away == NULL ? count : count - bitset_count(input->away, bitset_words(count));
}

/* How many parts classes of equal machines have in start @index; 1 is an even use of all. */
static uint32_t choose_parts(
    const struct program_input *input, const struct workload *workload, uint32_t index)
{
    if (index == 0) {
        return 1;
    }
    if (machine_count(input) <= SINGLES_MAX) {
        return SINGLES_MAX;
    }
    uint32_t parts = workload->stream_count + (index % 2 == 0 ? 2 : 1);
    parts = parts < PARTS_MIN ? PARTS_MIN : parts;
    return parts > PARTS_MAX ? PARTS_MAX : parts;
}

/* Start number @index of the program. NULL if it found nothing feasible; see @error. */
static struct draft *start(
    const struct program_input *input, const struct program_options *options,
    const struct workload *workload, uint32_t index, struct weft_error *error)
{
    const struct sites_options divided = {
        .away = input->away,
        .parts = choose_parts(input, workload, index),
    };
    struct sites *sites = sites_create(input->fleet, &divided);
    struct draft *draft = draft_create(workload, sites);
    draft->descent.sizes_are_free = index > 0 && sites->site_count > sites->class_count &&
                                    sites->site_count < sites->node_count;
    draft->descent.evaluations_max = options->evaluations_max / options->restarts;
    draft_seed(draft, index % 2 == 1 ? PART_IDLE_FIRST : PART_IDLE_LAST);
    draft->patterns_max = 0;
    for (uint32_t i = 0; i < workload->stream_count; i++) {
        draft->patterns_max =
            max_u32(draft->patterns_max, draft->counts[i] + options->patterns_max);
    }
    if (index > 0) {
        draft_perturb(draft, options->seed, index);
    }
    if (draft_solve(draft) && draft_round(draft) && !isinf(draft_settle(draft))) {
        return draft;
    }
    (void)refuse(draft, congestion_busiest(&draft->congestion), error);
    draft_destroy(draft);
    return NULL;
}

/* The better of two drafts, either of which may be NULL; the other is gone. */
static struct draft *better_of(struct draft *a, struct draft *b)
{
    const bool second = a == NULL || (b != NULL && b->congestion.mean_ns < a->congestion.mean_ns);
    draft_destroy(second ? a : b);
    return second ? b : a;
}

/* The best of several starts, and the @warm one, if that is not NULL. */
static struct draft *solve_anew(
    const struct program_input *input, const struct program_options *options,
    const struct workload *workload, struct draft *warm, uint64_t *evaluations,
    struct weft_error *error)
{
    struct draft *best = warm;
    for (uint32_t i = 0; i < options->restarts; i++) {
        struct draft *draft = start(input, options, workload, i, error);
        *evaluations += draft != NULL ? draft_evaluations(draft) : 0;
        best = better_of(best, draft);
    }
    return best;
}

/* What jobs ask for, once all that was given has been looked at. */
static enum weft_status open_workload(
    const struct program_input *input, const struct program_options *options,
    const struct mixture *mixture, struct workload **workload_out, struct weft_error *error)
{
    enum weft_status status = WEFT_OK;
    if (mixture != NULL) {
        status = mixture_check(mixture, input->catalogue, input->fleet, error);
    }
    if (status == WEFT_OK) {
        status = workload_create(input, options->items, workload_out, error);
    }
    if (status == WEFT_OK) {
        (*workload_out)->requeue = options->requeue;
        (*workload_out)->plain_joins = options->plain_joins;
    }
    return status;
}

enum weft_status program_solve(
    const struct program_input *input, const struct program_options *options,
    struct mixture **mixture_out, struct program_report *report_out, struct weft_error *error)
{
    const struct program_options full = with_defaults(options);
    struct workload *workload;
    struct draft *draft = NULL;
    uint64_t evaluations = 0;
    const enum weft_status status = open_workload(input, &full, full.start, &workload, error);
    if (status != WEFT_OK) {
        return status;
    }
    if (full.start != NULL) {
        draft = warm_start_solve(input, &full, workload, &evaluations);
    }
    const bool has_lost = machine_count(input) < input->fleet->node_count;
    if (draft == NULL || has_lost || warm_start_is_poor(draft, full.start)) {
        draft = solve_anew(input, &full, workload, draft, &evaluations, error);
    }
    if (draft != NULL) {
        *mixture_out = draft_to_mixture(draft, input);
        report(draft, evaluations, report_out);
    }
    const bool is_solved = draft != NULL;
    draft_destroy(draft);
    workload_destroy(workload);
    return is_solved ? WEFT_OK : WEFT_REFUSED;
}

enum weft_status program_predict(
    const struct program_input *input, const struct program_options *options,
    struct mixture *mixture, struct program_report *report_out, struct weft_error *error)
{
    const struct program_options full = with_defaults(options);
    struct workload *workload;
    ASSERT(mixture->sealed);
    enum weft_status status = open_workload(input, &full, mixture, &workload, error);
    if (status != WEFT_OK) {
        return status;
    }
    struct sites *sites = draft_sites_of(mixture, input, /* joined */ false);
    struct draft *draft = draft_create(workload, sites);
    status = draft_from_mixture(draft, mixture, /* least */ 0, error);
    if (status == WEFT_OK) {
        (void)draft_settle(draft);
        for (uint32_t i = 0; i < mixture->workflow_count; i++) {
            mixture->workflows[i].rate_per_s = input->rates_per_s[i];
        }
        draft_predict(draft, mixture);
        report(draft, draft_evaluations(draft), report_out);
    }
    draft_destroy(draft);
    workload_destroy(workload);
    return status;
}
