/*
 * scatter.h - why runs of one model differ: busy processors beside them, and chance.
 *
 * Each run is compared with what was expected of it alone. A line through these ratios and through
 * how busy the other processors were gives the interference; it begins as that which is known,
 * and counts as SCATTER_PRIOR runs. What the line does not explain is kept for the last runs, and
 * its quantiles say how run times scatter.
 */
#ifndef PROFILE_SCATTER_H
#define PROFILE_SCATTER_H

#include <stdbool.h>
#include <stdint.h>

#include "model/slowing.h"
#include "profile/profile.h"

enum {
    SCATTER_PRIOR = 64,
    SCATTER_RUNS_MAX = 256, /* What is longer past is forgotten. */
    SCATTER_KEPT = 512,     /* Runs whose quantiles are taken at most. */
    SCATTER_LEAST = 64,     /* The same, at least. */
    SCATTER_EVERY = 32,     /* They are taken whenever so many have come. */
    SCATTER_LATER = 256,    /* The same, once SCATTER_KEPT have come. */
};

/* The most that interference can be: runs take five times as long. */
#define SCATTER_INTERFERENCE_MAX 4.0

struct scatter {
    uint32_t runs;
    double beside; /* A mean, as is `ratio`. */
    double ratio;
    double variance; /* Of what was beside; so is `covariance`. */
    double covariance;
    uint32_t count; /* Of runs that were kept so far. */
    float kept[SCATTER_KEPT];
};

/* Nothing was seen yet; @interference is known. */
void scatter_init(struct scatter *scatter, double interference);

/*
 * A run took @ratio times as long as is expected alone, and met @slowing. *@interference follows;
 * @quantiles, PROFILE_QUANTILES of them, from time to time.
 */
void scatter_add(
    struct scatter *scatter, double ratio, const struct slowing *slowing, double *interference,
    double *quantiles);

#endif /* PROFILE_SCATTER_H */
