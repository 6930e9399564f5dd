#include "mixture/descent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/exact.h"
#include "base/memory.h"
#include "mixture/congestion.h"
#include "mixture/pattern.h"
#include "mixture/quasi_newton.h"
#include "mixture/sites.h"
#include "mixture/workload.h"

#define LOGIT_STEP_MAX 3.0     /* No share changes by more than this factor of e in one step. */
#define LOGIT_MIN      (-60.0) /* Below the largest of its block: a share that is as good as 0. */
#define ARMIJO         1e-4
#define MIRROR_STEP    0.5  /* As long as nothing is known about the curvature. */
#define SIZE_MIN       0.05 /* Of a site, in machines: queues need copies. */

enum { HALVINGS_MAX = 30, IDLE_MAX = 3, VECTORS = 6 };

/* What one run works with. A variable is the logarithm of a share, or of the size of a site. */
struct vectors {
    uint32_t count;       /* Variables: patterns, then sites. */
    uint32_t block_count; /* Streams, then classes of machines: each a simplex. */
    double *logits;       /* Where we are. */
    double *tried;        /* Where we may go. */
    double *gradient;     /* In the logits. */
    double *older;        /* The gradient before. */
    double *metric;       /* Of the mirror step. */
    double *direction;
    double *sums;     /* By block, while something is being summed. */
    double *largest;  /* By block. */
    uint32_t *blocks; /* By variable. */
};

void descent_init(struct descent *descent, struct congestion *congestion, struct sites *sites)
{
    *descent = (struct descent){
        .congestion = congestion,
        .sites = sites,
        .evaluations_max = UINT64_MAX,
    };
}

void descent_deinit(struct descent *descent)
{
    free(descent->shares);
}

static const struct pattern *pattern_at(const struct descent *descent, uint32_t index)
{
    return &descent->congestion->patterns->items[index];
}

void descent_normalise(struct descent *descent)
{
    const uint32_t stream_count = descent->congestion->workload->stream_count;
    double *sums = memory_zeroed(stream_count, sizeof(*sums));
    for (uint32_t i = 0; i < descent->count; i++) {
        sums[pattern_at(descent, i)->stream] += descent->shares[i];
    }
    for (uint32_t i = 0; i < descent->count; i++) {
        const double sum = sums[pattern_at(descent, i)->stream];
        descent->shares[i] = sum > 0 ? descent->shares[i] / sum : 0;
    }
    free(sums);
}

void descent_admit(struct descent *descent, double part)
{
    const uint32_t stream_count = descent->congestion->workload->stream_count;
    const uint32_t total = descent->congestion->patterns->count;
    if (total > descent->capacity) {
        descent->shares = memory_zeroed_more(
            descent->shares, descent->count, 2 * (size_t)total, sizeof(*descent->shares));
        descent->capacity = 2 * total;
    }
    double *sums = memory_zeroed(2 * (size_t)stream_count, sizeof(*sums));
    double *fresh = sums + stream_count;
    for (uint32_t i = 0; i < total; i++) {
        const uint32_t stream = pattern_at(descent, i)->stream;
        if (i < descent->count) {
            sums[stream] += descent->shares[i];
        } else {
            fresh[stream] += 1;
        }
    }
    for (uint32_t i = 0; i < total; i++) {
        const uint32_t stream = pattern_at(descent, i)->stream;
        const double given = sums[stream] > 0 ? part : 1;
        if (i >= descent->count) {
            descent->shares[i] = given / fresh[stream];
        } else if (fresh[stream] > 0) {
            descent->shares[i] *= (1 - given) / sums[stream];
        }
    }
    descent->count = total;
    free(sums);
}

static uint32_t block_of(const struct descent *descent, uint32_t variable)
{
    if (variable < descent->count) {
        return pattern_at(descent, variable)->stream;
    }
    return descent->congestion->workload->stream_count +
           descent->sites->sites[variable - descent->count].machines;
}

/* The caller releases logits and blocks, which own all of it. */
static struct vectors open_vectors(const struct descent *descent, struct quasi_newton *known_out)
{
    const struct sites *sites = descent->sites;
    const uint32_t count = descent->count + (descent->sizes_are_free ? sites->site_count : 0);
    const uint32_t block_count = descent->congestion->workload->stream_count + sites->class_count;
    double *memory = memory_zeroed(
        (size_t)count * (VECTORS + 2 * QUASI_NEWTON_MEMORY) + 2 * (size_t)block_count,
        sizeof(*memory));
    double *ring = memory + (size_t)VECTORS * count;
    double *by_block = ring + (size_t)2 * QUASI_NEWTON_MEMORY * count;
    const struct vectors vectors = {
        .count = count,
        .block_count = block_count,
        .logits = memory,
        .tried = memory + count,
        .gradient = memory + 2 * (size_t)count,
        .older = memory + 3 * (size_t)count,
        .metric = memory + 4 * (size_t)count,
        .direction = memory + 5 * (size_t)count,
        .sums = by_block,
        .largest = by_block + block_count,
        .blocks = memory_zeroed(count, sizeof(uint32_t)),
    };
    for (uint32_t i = 0; i < count; i++) {
        vectors.blocks[i] = block_of(descent, i);
    }
    *known_out = (struct quasi_newton){
        .count = count,
        .step = count,
        .moves = ring,
        .turns = ring + (size_t)QUASI_NEWTON_MEMORY * count,
    };
    return vectors;
}

/* Logits from shares and sizes. */
static void take_logarithms(const struct descent *descent, const struct vectors *vectors)
{
    for (uint32_t i = 0; i < vectors->count; i++) {
        const double value = i < descent->count ? descent->shares[i]
                                                : descent->sites->sites[i - descent->count].size;
        vectors->logits[i] = value > 0 ? exact_log(value) : (double)-INFINITY;
    }
}

/* Shares and sizes from logits, which are shifted to have 0 as the largest of a block. */
static void apply(struct descent *descent, const struct vectors *vectors, double *logits)
{
    double *largest = vectors->largest;
    double *sums = vectors->sums;
    for (uint32_t i = 0; i < vectors->block_count; i++) {
        largest[i] = (double)-INFINITY;
        sums[i] = 0;
    }
    for (uint32_t i = 0; i < vectors->count; i++) {
        const uint32_t block = vectors->blocks[i];
        largest[block] = logits[i] > largest[block] ? logits[i] : largest[block];
    }
    for (uint32_t i = 0; i < vectors->count; i++) {
        const uint32_t block = vectors->blocks[i];
        if (isinf(logits[i])) { /* A share of 0 stays that. */
            vectors->direction[i] = 0;
            continue;
        }
        logits[i] -= largest[block];
        logits[i] = logits[i] < LOGIT_MIN ? LOGIT_MIN : logits[i];
        const double value = exact_exp(logits[i]);
        sums[block] += value;
        vectors->direction[i] = value; /* Not needed while a point is being tried. */
    }
    for (uint32_t i = 0; i < vectors->block_count; i++) {
        sums[i] = 1 / sums[i]; /* Not used where a block has no variable. */
    }
    for (uint32_t i = 0; i < descent->count; i++) {
        descent->shares[i] = vectors->direction[i] * sums[vectors->blocks[i]];
    }
    for (uint32_t i = descent->count; i < vectors->count; i++) {
        const uint32_t site = i - descent->count;
        const uint32_t nodes =
            descent->sites->classes[descent->sites->sites[site].machines].node_count;
        const double size = vectors->direction[i] * sums[vectors->blocks[i]] * nodes;
        sites_resize(descent->sites, site, size > SIZE_MIN ? size : SIZE_MIN);
    }
}

/* The derivative in the share of a pattern, or in the part of its class that a site has. */
static double slope_of(const struct descent *descent, uint32_t variable)
{
    const struct congestion *congestion = descent->congestion;
    if (variable < descent->count) {
        return congestion->slopes[variable];
    }
    const uint32_t site = variable - descent->count;
    const uint32_t nodes = descent->sites->classes[descent->sites->sites[site].machines].node_count;
    return congestion_size_slope(congestion, site) * nodes;
}

/*
 * In the logits a slope counts as much as the share, against the mean of its block. The
 * mirror step divides that by the share again, and is relative: blocks of rare jobs move as
 * fast as the others.
 */
static void find_gradient(const struct descent *descent, const struct vectors *vectors)
{
    const struct congestion *congestion = descent->congestion;
    const struct workload *workload = congestion->workload;
    double *means = vectors->sums;
    for (uint32_t i = 0; i < vectors->block_count; i++) {
        means[i] = 0;
    }
    for (uint32_t i = 0; i < vectors->count; i++) {
        const bool is_pattern = i < descent->count;
        const struct site *site = is_pattern ? NULL : &descent->sites->sites[i - descent->count];
        const double share = is_pattern
                                 ? descent->shares[i]
                                 : site->size / descent->sites->classes[site->machines].node_count;
        vectors->gradient[i] = slope_of(descent, i);
        vectors->metric[i] = share;
        means[vectors->blocks[i]] += share * vectors->gradient[i];
    }
    for (uint32_t i = 0; i < vectors->count; i++) {
        const uint32_t block = vectors->blocks[i];
        const bool is_pattern = i < descent->count;
        const double weight = is_pattern ? workload->streams[block].rate / workload->rate : 1;
        const double scale = is_pattern ? weight * means[block] : congestion->mean_ns;
        const double share = vectors->metric[i] > 1e-12 ? vectors->metric[i] : 1e-12;
        vectors->gradient[i] = weight * vectors->metric[i] * (vectors->gradient[i] - means[block]);
        vectors->metric[i] = vectors->metric[i] > 0 ? 1 / (share * scale) : 0;
    }
}

/* Cut a direction whose largest entry would change a share by too much. Returns what is left. */
static double shorten(const struct vectors *vectors)
{
    double largest = 0;
    for (uint32_t i = 0; i < vectors->count; i++) {
        largest = fabs(vectors->direction[i]) > largest ? fabs(vectors->direction[i]) : largest;
    }
    if (!(largest > LOGIT_STEP_MAX)) {
        return 1;
    }
    for (uint32_t i = 0; i < vectors->count; i++) {
        vectors->direction[i] *= LOGIT_STEP_MAX / largest;
    }
    return LOGIT_STEP_MAX / largest;
}

/*
 * Go along the direction, whose slope is @slope_ns, until the mean time falls, by halves, and put
 * the way that was gone into @move. False if nothing of it helps: the point is then what it was.
 */
static bool try_direction(
    struct descent *descent, const struct vectors *vectors, double slope_ns, double *move)
{
    const uint32_t count = vectors->count;
    const double before_ns = descent->congestion->mean_ns;
    double step = 1;
    memcpy(move, vectors->direction, count * sizeof(*move));
    for (uint32_t i = 0; i < HALVINGS_MAX; i++, step /= 2) {
        for (uint32_t k = 0; k < count; k++) {
            vectors->tried[k] = vectors->logits[k] + step * move[k];
        }
        apply(descent, vectors, vectors->tried);
        const double mean_ns = congestion_evaluate(descent->congestion, descent->shares);
        if (mean_ns <= before_ns + ARMIJO * step * slope_ns) {
            for (uint32_t k = 0; k < count; k++) {
                move[k] = isinf(vectors->tried[k]) ? 0 : vectors->tried[k] - vectors->logits[k];
            }
            memcpy(vectors->logits, vectors->tried, count * sizeof(*move));
            return true;
        }
    }
    apply(descent, vectors, vectors->logits);
    (void)congestion_evaluate(descent->congestion, descent->shares);
    return false;
}

/* One step. False if there is none that helps. */
static bool step(struct descent *descent, const struct vectors *vectors, struct quasi_newton *known)
{
    struct congestion *congestion = descent->congestion;
    double slope_ns = quasi_newton_direction(
        known, vectors->gradient, vectors->metric, MIRROR_STEP, vectors->direction);
    if (slope_ns >= 0) {
        known->kept = 0;
        slope_ns = quasi_newton_direction(
            known, vectors->gradient, vectors->metric, MIRROR_STEP, vectors->direction);
    }
    slope_ns *= shorten(vectors);
    memcpy(vectors->older, vectors->gradient, vectors->count * sizeof(*vectors->older));
    const bool moved = try_direction(descent, vectors, slope_ns, quasi_newton_next(known));
    congestion_slopes(congestion);
    find_gradient(descent, vectors);
    if (moved) {
        quasi_newton_learn(known, vectors->older, vectors->gradient);
        return true;
    }
    if (known->kept == 0) {
        return false;
    }
    known->kept = 0; /* The curvature misleads: the mirror step alone. */
    return true;
}

double descent_run(struct descent *descent, uint32_t steps, double tolerance)
{
    struct congestion *congestion = descent->congestion;
    uint32_t idle = 0;
    ASSERT(descent->count == congestion->patterns->count);
    if (isinf(congestion_evaluate(congestion, descent->shares))) {
        return congestion->mean_ns;
    }
    struct quasi_newton known;
    const struct vectors vectors = open_vectors(descent, &known);
    take_logarithms(descent, &vectors);
    congestion_slopes(congestion);
    find_gradient(descent, &vectors);
    for (uint32_t i = 0;
         i < steps && idle < IDLE_MAX && congestion->evaluations < descent->evaluations_max; i++) {
        const double before_ns = congestion->mean_ns;
        if (!step(descent, &vectors, &known)) {
            break;
        }
        idle = before_ns - congestion->mean_ns > tolerance * before_ns ? 0 : idle + 1;
    }
    free(vectors.logits);
    free(vectors.blocks);
    return congestion->mean_ns;
}
