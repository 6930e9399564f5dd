#include "mixture/program.h"

#include <math.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "mixture/draft.h"
#include "mixture/draft_mixture.h"
#include "mixture/levels.h"
#include "mixture/mixture.h"
#include "mixture/sites.h"
#include "mixture/warm_start.h"
#include "mixture/workload.h"
#include "model/catalogue.h"

enum {
    RESTARTS = 4,
    PATTERNS_MAX = 64,
    EVALUATIONS_MAX = 20000000,

    /* Parts of a class whose sizes are found with the shares: kinds of use there may be. */
    PARTS_MIN = 2,
    PARTS_MAX = 6,

    /* A class of no more machines than this is not divided into parts, but into machines. */
    SINGLES_MAX = 6,

    /* Starts on levels are quick: so many instead of one. */
    STARTS_VARIED = 2,

    /* So many kinds of machines more than without the load of others are too many. */
    VARIED_MIN = 8,

    /* With more starts than usual, the best is disturbed and goes on, so often. */
    DISTURBED = 2,
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

static bool is_background(const struct program_background *background)
{
    return background->load >= 0 && !isinf(background->load) && background->residual_ns >= 0 &&
           !isinf(background->residual_ns);
}

static enum weft_status check_backgrounds(
    const struct program_input *input, struct weft_error *error)
{
    for (uint32_t i = 0; i < input->fleet->worker_count && input->workers != NULL; i++) {
        if (!is_background(&input->workers[i])) {
            return error_set(error, WEFT_INVALID, "the background of worker %u is not a load", i);
        }
    }
    for (uint32_t i = 0; i < links_count(input->fleet) && input->links != NULL; i++) {
        if (!is_background(&input->links[i])) {
            return error_set(error, WEFT_INVALID, "the background of link %u is not a load", i);
        }
    }
    return WEFT_OK;
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

/* How many parts classes of equal machines have in start @index; 1 is an even use of all. */
static uint32_t choose_parts(
    const struct program_input *input, const struct workload *workload, uint32_t index)
{
    if (index == 0) {
        return 1;
    }
    if (input->fleet->node_count <= SINGLES_MAX) {
        return SINGLES_MAX;
    }
    uint32_t parts = workload->stream_count + (index % 2 == 0 ? 2 : 1);
    parts = parts < PARTS_MIN ? PARTS_MIN : parts;
    return parts > PARTS_MAX ? PARTS_MAX : parts;
}

/* The sites of start number @index: if machines are @varied, those of one level together. */
static struct sites *group(
    const struct program_input *input, const struct workload *workload, uint32_t index, bool varied)
{
    uint32_t *levels = varied ? levels_find(input) : NULL;
    const struct sites_options options = {
        .parts = varied ? 1 : choose_parts(input, workload, index),
        .uses = levels,
        .average = varied,
    };
    struct sites *sites = sites_create(input, &options);
    free(levels);
    return sites;
}

/* Start number @index of the program. NULL if it found nothing feasible; see @error. */
static struct draft *start(
    const struct program_input *input, const struct program_options *options,
    const struct workload *workload, uint32_t index, bool varied, struct weft_error *error)
{
    struct sites *sites = group(input, workload, index, varied);
    struct draft *draft = draft_open(workload, sites, options->plain_joins);
    draft->descent.sizes_are_free = index > 0 && sites->site_count > sites->class_count &&
                                    sites->site_count < input->fleet->node_count;
    draft->descent.evaluations_max = options->evaluations_max / options->restarts;
    draft_seed(draft);
    draft_seed_idle(draft, index % 2 == 1 ? PART_IDLE_FIRST : PART_IDLE_LAST);
    draft->patterns_max = 0;
    for (uint32_t i = 0; i < workload->stream_count; i++) {
        if (draft->counts[i] == 0) {
            (void)error_set(
                error, WEFT_REFUSED, "workflow %s has no placement: what it needs is full",
                workload->streams[i].workflow->name);
            draft_destroy(draft);
            return NULL;
        }
        const uint32_t most = draft->counts[i] + options->patterns_max;
        draft->patterns_max = most > draft->patterns_max ? most : draft->patterns_max;
    }
    if (index > 0) {
        draft_perturb(draft, options->seed, index);
    }
    const bool is_feasible =
        draft_solve(draft) && draft_round(draft) && !isinf(draft_settle(draft));
    if (!is_feasible) {
        (void)refuse(draft, congestion_busiest(&draft->congestion), error);
        draft_destroy(draft);
        return NULL;
    }
    return draft;
}

/* By site of single machines: its kind (levels.h). */
static uint32_t *find_kinds(const struct program_input *input, const struct sites *sites)
{
    uint32_t *levels = levels_find(input);
    uint32_t *kinds = memory_zeroed(sites->site_count, sizeof(*kinds));
    for (uint32_t i = 0; i < sites->site_count; i++) {
        kinds[i] = levels[sites->classes[sites->sites[i].machines].nodes[0]] / LEVELS_COUNT;
    }
    free(levels);
    return kinds;
}

/*
 * Machines were taken together: take them apart, each a site of its own, if @draw is not 0 from
 * shares that are disturbed by that draw. NULL if that is not feasible: see @error.
 */
static struct draft *refine(
    const struct program_input *input, const struct program_options *options,
    const struct workload *workload, const struct draft *rough, uint32_t draw,
    struct weft_error *error)
{
    struct mixture *mixture = draft_to_mixture(rough, input, /* turns */ 1);
    struct sites *sites = draft_sites_of(mixture, input, false);
    struct draft *draft = draft_open(workload, sites, options->plain_joins);
    double *targets = memory_zeroed(sites->queue_count, sizeof(*targets));
    for (uint32_t i = 0; i < sites->site_count; i++) {
        const uint32_t node = sites->classes[sites->sites[i].machines].nodes[0];
        for (uint32_t slot = 0; slot < sites->sites[i].slot_count; slot++) {
            targets[sites->sites[i].worker_first + slot] =
                mixture->worker_load[sites_worker(sites, node, slot)];
        }
    }
    draft->kinds = find_kinds(input, sites);
    draft->descent.evaluations_max = options->evaluations_max;
    const bool is_known = draft_from_mixture(draft, mixture, /* least */ 0, error) == WEFT_OK;
    if (is_known && draw > 0) {
        draft_perturb(draft, options->seed, draw);
    }
    const bool is_feasible =
        is_known && draft_refine(draft, targets) && !isinf(draft_settle(draft));
    free(targets);
    draft->response.evaluations += draft_evaluations(rough);
    mixture_destroy(mixture);
    if (!is_feasible) {
        (void)refuse(draft, congestion_busiest(&draft->congestion), error);
        draft_destroy(draft);
        return NULL;
    }
    return draft;
}

/* Whether so many machines differ only in the load of others that they are better averaged. */
static bool is_varied(const struct program_input *input)
{
    const struct sites_options average = {.average = true};
    const struct sites_options exact = {0};
    struct sites *few = sites_create(input, &average);
    struct sites *many = sites_create(input, &exact);
    const bool varied = many->class_count > few->class_count + VARIED_MIN;
    sites_destroy(few);
    sites_destroy(many);
    return varied;
}

static void polish(const struct program_options *options, struct draft *draft)
{
    draft->descent.evaluations_max = options->evaluations_max;
    draft_polish(draft, /* turns */ options->restarts - 1);
}

/*
 * Equal machines need not be used alike, but no slope tells them apart: disturb their shares.
 * Returns the better of @best and what comes of that; the other is gone.
 */
static struct draft *disturb(
    const struct program_input *input, const struct program_options *options,
    const struct workload *workload, struct draft *best, uint32_t draw)
{
    struct draft *other = refine(input, options, workload, best, draw, /* error */ NULL);
    if (other != NULL) {
        polish(options, other);
    }
    const bool is_better = other != NULL && other->congestion.mean_ns < best->congestion.mean_ns;
    draft_destroy(is_better ? best : other);
    return is_better ? other : best;
}

/* The best of several starts, and it alone taken further. */
static struct draft *solve_anew(
    const struct program_input *input, const struct program_options *options,
    const struct workload *workload, uint64_t *evaluations, struct weft_error *error)
{
    struct draft *best = NULL;
    const bool varied = is_varied(input);
    const uint32_t starts = options->restarts * (varied ? STARTS_VARIED : 1);
    for (uint32_t i = 0; i < starts; i++) {
        struct draft *draft = start(input, options, workload, i, varied, error);
        *evaluations += draft != NULL ? draft_evaluations(draft) : 0;
        if (draft != NULL &&
            (best == NULL || draft->congestion.mean_ns < best->congestion.mean_ns)) {
            draft_destroy(best);
            best = draft;
        } else {
            draft_destroy(draft);
        }
    }
    const uint64_t before = best != NULL ? draft_evaluations(best) : 0;
    if (best != NULL && varied) {
        struct draft *apart = refine(input, options, workload, best, /* draw */ 0, error);
        draft_destroy(best);
        best = apart;
    }
    if (best != NULL) {
        polish(options, best);
        for (uint32_t i = 1; i <= DISTURBED && options->restarts > RESTARTS; i++) {
            best = disturb(input, options, workload, best, i);
        }
        *evaluations += draft_evaluations(best) - before;
    }
    return best;
}

/* From nothing, if the @warm start led nowhere or to less than is to be expected. */
static struct draft *solve_better(
    const struct program_input *input, const struct program_options *options,
    const struct workload *workload, struct draft *warm, uint64_t *evaluations,
    struct weft_error *error)
{
    if (warm != NULL && !warm_start_is_poor(warm, options->start)) {
        return warm;
    }
    struct draft *anew = solve_anew(input, options, workload, evaluations, error);
    const bool is_better =
        warm == NULL || (anew != NULL && anew->congestion.mean_ns < warm->congestion.mean_ns);
    draft_destroy(is_better ? warm : anew);
    return is_better ? anew : warm;
}

enum weft_status program_solve(
    const struct program_input *input, const struct program_options *options,
    struct mixture **mixture_out, struct program_report *report_out, struct weft_error *error)
{
    const struct program_options full = with_defaults(options);
    struct workload *workload;
    uint64_t evaluations = 0;
    enum weft_status status = check_backgrounds(input, error);
    if (status == WEFT_OK && full.start != NULL) {
        status = mixture_check(full.start, input->catalogue, input->fleet, error);
    }
    if (status == WEFT_OK) {
        status = workload_create(input, full.items, &workload, error);
    }
    if (status != WEFT_OK) {
        return status;
    }
    workload->requeue = full.requeue;
    struct draft *draft = NULL;
    if (full.start != NULL) {
        draft = warm_start_solve(input, &full, workload, &evaluations);
    }
    draft = solve_better(input, &full, workload, draft, &evaluations, error);
    if (draft != NULL) {
        *mixture_out = draft_to_mixture(draft, input, DRAFT_TURNS_MAX);
        report(draft, evaluations, report_out);
    }
    status = draft != NULL ? WEFT_OK : WEFT_REFUSED;
    draft_destroy(draft);
    workload_destroy(workload);
    return status;
}

enum weft_status program_predict(
    const struct program_input *input, const struct program_options *options,
    struct mixture *mixture, struct program_report *report_out, struct weft_error *error)
{
    const struct program_options full = with_defaults(options);
    struct workload *workload;
    ASSERT(mixture->sealed);
    enum weft_status status = check_backgrounds(input, error);
    if (status == WEFT_OK) {
        status = mixture_check(mixture, input->catalogue, input->fleet, error);
    }
    if (status == WEFT_OK) {
        status = workload_create(input, full.items, &workload, error);
    }
    if (status != WEFT_OK) {
        return status;
    }
    workload->requeue = full.requeue;
    struct sites *sites = draft_sites_of(mixture, input, false);
    struct draft *draft = draft_open(workload, sites, full.plain_joins);
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
