/*
 * attempt.h - one start of the program: its sites, the patterns found so far, their shares.
 *
 * An attempt begins with everything on one worker, for every worker, and grows: shares are
 * improved, then each stream is asked for a better pattern at the tolls reached, and so on
 * until nobody has one. See program.h for the whole.
 */
#ifndef MIXTURE_ATTEMPT_H
#define MIXTURE_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/status.h>

#include "mixture/congestion.h"
#include "mixture/descent.h"
#include "mixture/pattern.h"
#include "mixture/pattern_index.h"
#include "mixture/response.h"

/* What new patterns of a stream get of it together, at first. */
#define ATTEMPT_SHARE_FRESH 0.02

/* How wide longest ways are blurred where shares are far from good, of the mean time. */
#define ATTEMPT_BLUR_FIRST 0.03

struct attempt {
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

/* Borrow @workload; take over @sites. The caller releases it with attempt_destroy(). */
struct attempt *attempt_create(const struct workload *workload, struct sites *sites);

/* The same, with the inputs of requests on the links of the @sites. */
struct attempt *attempt_open(
    const struct workload *workload, struct sites *sites, bool plain_joins);

/* Release @attempt. NULL is allowed. */
void attempt_destroy(struct attempt *attempt);

/*
 * Add a placement of @stream, a seat for each task, unless it is there, cannot run, needs
 * what others have filled, or there are too many. Its index; UINT32_MAX if it was not added.
 */
uint32_t attempt_add(struct attempt *attempt, uint32_t stream, const struct seat *seats);

/*
 * The shape of @found on other sites: where one is good, others may be. All ways to choose
 * them if there are few, else some of those that use neighbours; of these, what costs less
 * than @limit. Returns how many are new.
 */
uint32_t attempt_add_alike(
    struct attempt *attempt, uint32_t stream, const struct seat *found, double limit);

/* Every stream whole on each worker, with equal shares. */
void attempt_seed(struct attempt *attempt);

/*
 * The best placement of each stream if nobody else were there, on all sites: @part of the
 * stream goes there. Where many share a job's work, no single job may gain by beginning so.
 */
void attempt_seed_idle(struct attempt *attempt, double part);

/* Away from where equal things have equal shares, which no descent would leave. */
void attempt_perturb(struct attempt *attempt, uint64_t seed, uint32_t index);

/* Ask every stream for a better pattern, at the slopes there. Returns how many there were. */
uint32_t attempt_extend(struct attempt *attempt);

/* The mean slope of a stream: what all of its shares would have at a stationary point. */
double attempt_mean_slope(const struct attempt *attempt, uint32_t stream);

/* Forget all patterns. */
void attempt_forget(struct attempt *attempt);

/*
 * Forget patterns that have no more than @least of their stream and whose slope is more than
 * the mean by @near of it, or more: every step costs time for each. Slopes are those there.
 */
void attempt_prune(struct attempt *attempt, double near, double least);

/*
 * Improve the shares with longest ways blurred, by @first of the mean time to begin with and
 * less and less (blur.h). Patterns that come to no more than @least of their stream, and cost
 * more than others, are forgotten on the way; none if that is 0. The attempt is settled then, and
 * not worse than if it had been before.
 */
void attempt_sharpen(struct attempt *attempt, double first, double least);

/*
 * Let machines of one kind change their places, two by two, as long as that helps: one that
 * others leave alone is best where most wait. Returns how many pairs did.
 */
uint32_t attempt_exchange(struct attempt *attempt);

/*
 * Change the shares, and add patterns, until every queue has less work than it can do. False
 * if that was not found; the loads are then those closest to it.
 */
bool attempt_find_feasible(struct attempt *attempt);

/*
 * Improve shares and patterns until nothing helps, or the work allowed is done. False if no
 * feasible point was found; the loads are then those closest to it.
 */
bool attempt_solve(struct attempt *attempt);

/* The same for a start that was good for other rates: a few steps, and no other patterns. */
bool attempt_refresh(struct attempt *attempt);

/*
 * The same for a start on sites that have been taken apart: at first each machine gets what
 * brings it near the utilisation @targets of its queue; 0 for none.
 */
bool attempt_refine(struct attempt *attempt, const double *targets);

/*
 * Improve a solved and settled attempt for longer, in at most @turns turns: machines change their
 * places, patterns come, shares follow. It is never worse than it was.
 */
void attempt_polish(struct attempt *attempt, uint32_t turns);

/* Make the size of every site a whole number of machines. False if that is not feasible. */
bool attempt_round(struct attempt *attempt);

/*
 * Where sites have lost machines, move what was placed there to other machines of the class,
 * with its share, if it was most of a stream. What does not fit stays as well.
 */
void attempt_refit(struct attempt *attempt);

/* Count what joins cost at the loads reached, and evaluate with that, unblurred. The mean time. */
double attempt_settle(struct attempt *attempt);

/* What all streams would gain at most by better patterns, relative to the mean time. */
double attempt_gap(struct attempt *attempt);

/* Of single patterns; and whether they are as many as are allowed. */
uint64_t attempt_evaluations(const struct attempt *attempt);
bool attempt_is_spent(const struct attempt *attempt);

#endif /* MIXTURE_ATTEMPT_H */
