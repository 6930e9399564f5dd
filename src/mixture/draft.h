/*
 * draft.h - one start of the program: its sites, the patterns found so far, their shares.
 *
 * An draft begins with everything on one worker, for every worker, and grows: shares are
 * improved, then each stream is asked for a better pattern at the tolls reached, and so on
 * until nobody has one. See program.h for the whole.
 */
#ifndef MIXTURE_DRAFT_H
#define MIXTURE_DRAFT_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/status.h>

#include "mixture/congestion.h"
#include "mixture/descent.h"
#include "mixture/pattern.h"
#include "mixture/pattern_index.h"
#include "mixture/response.h"

/* What new patterns of a stream get of it together, at first. */
#define DRAFT_SHARE_FRESH 0.02

/* How wide longest ways are blurred where shares are far from good, of the mean time. */
#define DRAFT_BLUR_FIRST 0.03

struct draft {
    const struct workload *workload;
    struct sites *sites;
    struct patterns patterns;
    struct pattern_index index; /* Of them. */
    struct congestion congestion;
    struct descent descent;
    struct response response;
    bool plain_joins;
    uint32_t patterns_max; /* Of a stream. */
    uint32_t *counts;      /* Patterns by stream. */
    uint32_t *kinds;       /* By site, each a machine: those of one kind differ in nothing but the
                              load of others. NULL if that is not known. */
};

/* Borrow @workload; take over @sites. The caller releases it with draft_destroy(). */
struct draft *draft_create(const struct workload *workload, struct sites *sites);

/* The same, with the inputs of requests on the links of the @sites. */
struct draft *draft_open(const struct workload *workload, struct sites *sites, bool plain_joins);

/* Release @draft. NULL is allowed. */
void draft_destroy(struct draft *draft);

/*
 * Add a placement of @stream, a spot for each task, unless it is there, cannot run, needs
 * what others have filled, or there are too many. Its index; UINT32_MAX if it was not added.
 */
uint32_t draft_add(struct draft *draft, uint32_t stream, const struct spot *spots);

/*
 * The shape of @found on other sites: where one is good, others may be. All ways to choose
 * them if there are few, else some of those that use neighbours; of these, what costs less
 * than @limit. Returns how many are new.
 */
uint32_t draft_add_shape(
    struct draft *draft, uint32_t stream, const struct spot *found, double limit);

/* Every stream whole on each worker, with equal shares. */
void draft_seed(struct draft *draft);

/*
 * The best placement of each stream if nobody else were there, on all sites: @part of the
 * stream goes there. Where many share a job's work, no single job may gain by beginning so.
 */
void draft_seed_idle(struct draft *draft, double part);

/* Away from where equal things have equal shares, which no descent would leave. */
void draft_perturb(struct draft *draft, uint64_t seed, uint32_t index);

/* Ask every stream for a better pattern, at the slopes there. Returns how many there were. */
uint32_t draft_extend(struct draft *draft);

/* The mean slope of a stream: what all of its shares would have at a stationary point. */
double draft_mean_slope(const struct draft *draft, uint32_t stream);

/* Forget all patterns. */
void draft_forget(struct draft *draft);

/*
 * Forget patterns that have no more than @least of their stream and whose slope is more than
 * the mean by @near of it, or more: every step costs time for each. Slopes are those there.
 */
void draft_prune(struct draft *draft, double near, double least);

/*
 * Improve the shares with longest ways blurred, by @first of the mean time to begin with and
 * less and less (blur.h). Patterns that come to no more than @least of their stream, and cost
 * more than others, are forgotten on the way; none if that is 0. The draft is settled then, and
 * not worse than if it had been before.
 */
void draft_sharpen(struct draft *draft, double first, double least);

/*
 * Let machines of one kind change their places, two by two, as long as that helps: one that
 * others leave alone is best where most wait. Returns how many pairs did.
 */
uint32_t draft_exchange(struct draft *draft);

/*
 * Change the shares, and add patterns, until every queue has less work than it can do. False
 * if that was not found; the loads are then those closest to it.
 */
bool draft_find_feasible(struct draft *draft);

/*
 * Improve shares and patterns until nothing helps, or the work allowed is done. False if no
 * feasible point was found; the loads are then those closest to it.
 */
bool draft_solve(struct draft *draft);

/* The same for a start that was good for other rates: a few steps, and no other patterns. */
bool draft_refresh(struct draft *draft);

/*
 * The same for a start on sites that have been taken apart: at first each machine gets what
 * brings it near the utilisation @targets of its queue; 0 for none.
 */
bool draft_refine(struct draft *draft, const double *targets);

/*
 * Improve a solved and settled draft for longer, in at most @turns turns: machines change their
 * places, patterns come, shares follow. It is never worse than it was.
 */
void draft_polish(struct draft *draft, uint32_t turns);

/* Make the size of every site a whole number of machines. False if that is not feasible. */
bool draft_round(struct draft *draft);

/*
 * Where sites have lost machines, move what was placed there to other machines of the class,
 * with its share, if it was most of a stream. What does not fit stays as well.
 */
void draft_refit(struct draft *draft);

/* Count what joins cost at the loads reached, and evaluate with that, unblurred. The mean time. */
double draft_settle(struct draft *draft);

/* What all streams would gain at most by better patterns, relative to the mean time. */
double draft_gap(struct draft *draft);

/* Of single patterns; and whether they are as many as are allowed. */
uint64_t draft_evaluations(const struct draft *draft);
bool draft_is_spent(const struct draft *draft);

#endif /* MIXTURE_DRAFT_H */
