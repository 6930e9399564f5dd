/*
 * draft.h - a mixture while it is being found: machines as sites, patterns, and their shares.
 *
 * A draft begins with every stream whole on each worker, and on the placement that would be best
 * on an idle cluster. Then shares are improved, each stream is asked for a better pattern at the
 * tolls reached, and so on until there is none. See program.h for the whole.
 */
#ifndef MIXTURE_DRAFT_H
#define MIXTURE_DRAFT_H

#include <stdbool.h>
#include <stdint.h>

#include "mixture/congestion.h"
#include "mixture/descent.h"
#include "mixture/pattern.h"
#include "mixture/response.h"

/* What new patterns of a stream get of it together, at first. */
#define DRAFT_SHARE_FRESH 0.02

struct draft {
    const struct workload *workload;
    struct sites *sites;
    struct patterns patterns;
    struct congestion congestion;
    struct descent descent;
    struct response response;
    uint32_t patterns_max; /* Of a stream. */
    uint32_t *counts;      /* Patterns by stream. */
};

/*
 * Borrow @workload; take over @sites, and put the inputs of requests on their links. The caller
 * releases the draft with draft_destroy().
 */
struct draft *draft_create(const struct workload *workload, struct sites *sites);

/* Release @draft. NULL is allowed. */
void draft_destroy(struct draft *draft);

/* What a pattern of @stream is of. */
struct pattern_of draft_pattern_of(const struct draft *draft, uint32_t stream);

/*
 * Add a placement of @stream, a spot for each task, unless it is there, cannot run, has no room,
 * or there are too many. Its index; UINT32_MAX if it was not added. One that is there but has
 * lost its share gets a little of it again.
 */
uint32_t draft_add(struct draft *draft, uint32_t stream, const struct spot *spots);

/*
 * Add the shape of @found on other sites: where one is good, others may be. All ways to choose
 * the sites if there are few, else some of those that use neighbours; of these, what costs less
 * than @limit. Returns how many are new.
 */
uint32_t draft_add_shape(
    struct draft *draft, uint32_t stream, const struct spot *found, double limit);

/*
 * Every stream whole on each worker, with equal shares; and @part of it on the placements that are
 * best on an idle cluster. Where all would gain by sharing out their work, no single job may.
 */
void draft_seed(struct draft *draft, double part);

/* Away from where equal things have equal shares, which no descent would leave. */
void draft_perturb(struct draft *draft, uint64_t seed, uint32_t index);

/* Ask every stream for a better pattern, at the slopes there. Returns how many there were. */
uint32_t draft_extend(struct draft *draft);

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

/* Make the size of every site a whole number of machines. False if that is not feasible. */
bool draft_round(struct draft *draft);

/* Count what joins cost at the loads reached, and evaluate with that. The mean time. */
double draft_settle(struct draft *draft);

/* What all streams would gain at most by better patterns, relative to the mean time. */
double draft_gap(struct draft *draft);

/* Of single patterns. */
uint64_t draft_evaluations(const struct draft *draft);

#endif /* MIXTURE_DRAFT_H */
