/*
 * saturation.h - the search for the highest rate that something still keeps up with.
 *
 * Pure: it says which rate to try next and is told what came of it. Many searches can
 * therefore go on side by side, each waiting for its runs.
 *
 *     struct saturation search;
 *     saturation_init(&search, scenario_rate, 0.05);
 *     while (search.verdict == SATURATION_OPEN) {
 *         saturation_tell(&search, is_stable_at(search.rate_next));
 *     }
 *
 * The rate is doubled until it is too high, or halved until it is not, and what is
 * between is bisected. A wrong answer costs accuracy, never an end: the number of tries
 * is bounded by SATURATION_TRIES_MAX whatever is told.
 */
#ifndef LAB_SATURATION_H
#define LAB_SATURATION_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SATURATION_DOUBLINGS_MAX = 16, /* To 65,536 times the first rate. */
    SATURATION_HALVINGS_MAX = 10,  /* To a thousandth of it. */
    SATURATION_BISECTIONS_MAX = 12,
    SATURATION_TRIES_MAX = 1 + SATURATION_DOUBLINGS_MAX + SATURATION_BISECTIONS_MAX,
};

#define SATURATION_PRECISION_MIN 0.001 /* 12 bisections of a factor of two do better. */

enum saturation_verdict {
    SATURATION_OPEN,
    SATURATION_FOUND,  /* Stable at rate_low, not at rate_high. */
    SATURATION_NEVER,  /* Not even at rate_high, the lowest rate tried. There is no rate_low. */
    SATURATION_ALWAYS, /* Even at rate_low, the highest rate tried. There is no rate_high. */
};

struct saturation {
    enum saturation_verdict verdict;
    double precision;   /* Of the bracket: its width over rate_low. */
    double rate_next;   /* To be tried, while open. */
    double rate_low;    /* The highest that was stable; 0: none yet. */
    double rate_high;   /* The lowest above it that was not; 0: none yet. */
    uint32_t try_count; /* Told so far. */
};

/* Start at @rate_first, above 0. @precision is at least SATURATION_PRECISION_MIN. */
void saturation_init(struct saturation *search, double rate_first, double precision);

/* Whether it was stable at rate_next. The search is open. */
void saturation_tell(struct saturation *search, bool is_stable);

/* How many tries it will take, if the rates to come are near: for a progress bar. */
uint32_t saturation_tries_left(const struct saturation *search);

/* Of how many runs with different seeds enough were stable: three quarters. */
bool saturation_is_majority(uint32_t stable_count, uint32_t count);

/* To five digits: what tables and commands show is then the very rate that was run. */
double saturation_round(double rate);

#endif /* LAB_SATURATION_H */
