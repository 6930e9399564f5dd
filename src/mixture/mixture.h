/*
 * mixture.h - where jobs go, at random: placements of each workflow with probabilities.
 *
 * A mixture is solved ahead for known rates (mixture/program.h), or read from a document, and
 * then only drawn from: one draw gives a job the workers of all its tasks, without looking
 * at any queue. It is filled piece by piece and sealed; sealed, threads may share it.
 *
 *     struct mixture *mixture = mixture_create(workflows, workers, links);
 *     mixture_set_workflow(mixture, 0, tasks, rate_per_s);
 *     mixture_add_pattern(mixture, 0, placement, weight);    ... and so on
 *     status = mixture_seal(mixture, &error);
 *
 * The predictions may be filled in at any time; 0 is "not known".
 */
#ifndef MIXTURE_MIXTURE_H
#define MIXTURE_MIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

#include "base/limits.h"
#include "mixture/alias.h"
#include "model/ids.h"

struct catalogue;
struct fleet;

enum {
    /* Of one workflow: 16 Ki workers with a handful of shapes each, or 8 times that on one. */
    MIXTURE_PATTERNS_MAX = 1 << 17,
};

struct mixture_workflow {
    uint32_t task_count; /* 0 until it is set: it has no patterns then. */
    uint32_t pattern_count;
    uint16_t *placements; /* task_count entries a pattern, each a worker. */
    double *weights;      /* By pattern. Once sealed they sum to 1. */
    struct alias *table;  /* Once sealed. */
    double rate_per_s;    /* What the mixture was solved for. */
    double mean_ns;       /* Predicted, from arrival to answer. */
};

struct mixture {
    bool sealed;
    uint32_t workflow_count; /* Numbered as in the catalogue. */
    uint32_t worker_count;   /* Numbered as in the fleet. */
    uint32_t link_count;     /* Numbered as in model/links_route.h. */
    struct mixture_workflow *workflows;
    double mean_ns;      /* Predicted, over all jobs. */
    double *worker_load; /* Predicted utilisation, what others put there included. */
    double *link_load;   /* 0 for links without a limit. */
};

/* An empty mixture: no workflow has a pattern. The caller owns it. */
struct mixture *mixture_create(uint32_t workflow_count, uint32_t worker_count, uint32_t link_count);

/* Release @mixture. NULL is allowed. */
void mixture_destroy(struct mixture *mixture);

/* Say how many tasks @workflow has and its rate, once, before its patterns. */
void mixture_set_workflow(
    struct mixture *mixture, uint32_t workflow, uint32_t task_count, double rate_per_s);

/*
 * Add a pattern: @placement has a worker for each task and is copied. Weights are relative
 * until the seal. The same placement may come twice.
 *
 * Errors: WEFT_INVALID for a weight that is negative or not finite, or a worker that does
 * not exist; WEFT_LIMIT past MIXTURE_PATTERNS_MAX; WEFT_NOT_FOUND before the workflow is set.
 */
enum weft_status mixture_add_pattern(
    struct mixture *mixture, uint32_t workflow, const uint16_t *placement, double weight);

/*
 * Make the weights of each workflow sum to 1 and prepare the draws. Sums that are 1 within
 * 1e-9 are left as they are, so that what was saved is read back as it was.
 *
 * Errors: WEFT_INVALID if a workflow that was set has no pattern of a positive weight, with
 * its number in @error. The mixture stays open.
 */
enum weft_status mixture_seal(struct mixture *mixture, struct weft_error *error);

/*
 * Whether the sealed @mixture belongs to this cluster: the same numbers of workflows, links and
 * workers, and as many tasks in every workflow that has patterns.
 *
 * Errors: WEFT_INVALID, with what differs in @error.
 */
enum weft_status mixture_check(
    const struct mixture *mixture, const struct catalogue *catalogue, const struct fleet *fleet,
    struct weft_error *error);

/* Whether jobs of @workflow can be drawn. */
static inline bool mixture_has(const struct mixture *mixture, uint32_t workflow)
{
    return workflow < mixture->workflow_count && mixture->workflows[workflow].pattern_count > 0;
}

/* Pattern @index of @workflow: a worker for each task. */
static inline const uint16_t *mixture_placement(
    const struct mixture *mixture, uint32_t workflow, uint32_t index)
{
    const struct mixture_workflow *mixed = &mixture->workflows[workflow];
    return mixed->placements + (size_t)index * mixed->task_count;
}

/* One draw from @rng: the index of a pattern of @workflow, which has some. Sealed only. */
static inline uint32_t mixture_draw_index(
    const struct mixture *mixture, uint32_t workflow, struct rng *rng)
{
    const struct mixture_workflow *mixed = &mixture->workflows[workflow];
    return alias_draw(mixed->table, mixed->pattern_count, rng);
}

/* The same, and the placement itself: task_count workers, of the mixture. */
static inline const uint16_t *mixture_draw(
    const struct mixture *mixture, uint32_t workflow, struct rng *rng)
{
    return mixture_placement(mixture, workflow, mixture_draw_index(mixture, workflow, rng));
}

#endif /* MIXTURE_MIXTURE_H */
