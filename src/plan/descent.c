#include "plan/descent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/exact.h"
#include "base/memory.h"
#include "plan/congestion.h"
#include "plan/pattern.h"
#include "plan/sites.h"
#include "plan/workload.h"

#define LOGIT_STEP_MAX 3.0   /* No share changes by more than this factor of e in one step. */
#define LOGIT_MIN      -60.0 /* Below the largest of its block: a share that is as good as 0. */
#define ARMIJO         1e-4
#define SIZE_MIN       0.05 /* Of a site, in machines: queues need copies. */

enum { HALVINGS_MAX = 30, VECTORS = 5 };

/* Names for the parts of descent->memory. */
struct vectors {
    uint32_t count;   /* Variables: patterns, then sites. */
    double *logits;   /* Where we are, */
    double *tried;    /* and where we may go. */
    double *gradient; /* In the logits. */
    double *older;    /* The one before. */
    double *metric;   /* Of the mirror step. */
    double *moves;    /* DESCENT_MEMORY of them, */
    double *turns;    /* and how the gradient changed with each. */
    double *direction;
};

void descent_init(struct descent *descent, struct congestion *congestion, struct sites *sites)
{
    *descent =
        (struct descent){.congestion = congestion, .sites = sites, .evaluations_max = UINT64_MAX};
}

void descent_deinit(struct descent *descent)
{
    free(descent->shares);
    free(descent->memory);
}

/* Room for @count variables. */
static void reserve(struct descent *descent, uint32_t count)
{
    if (count <= descent->capacity) {
        return;
    }
    const uint32_t capacity = 2 * count;
    double *shares = memory_zeroed(capacity, sizeof(*shares));
    if (descent->count > 0) {
        memcpy(shares, descent->shares, descent->count * sizeof(*shares));
    }
    free(descent->shares);
    free(descent->memory);
    descent->shares = shares;
    descent->memory =
        memory_zeroed((size_t)capacity * (VECTORS + 1 + 2 * DESCENT_MEMORY), sizeof(double));
    descent->capacity = capacity;
}

static struct vectors name_vectors(const struct descent *descent)
{
    const size_t step = descent->capacity;
    double *memory = descent->memory;
    return (struct vectors){
        .count = descent->count + (descent->sizes_are_free ? descent->sites->site_count : 0),
        .logits = memory,
        .tried = memory + step,
        .gradient = memory + 2 * step,
        .older = memory + 3 * step,
        .metric = memory + 4 * step,
        .direction = memory + 5 * step,
        .moves = memory + 6 * step,
        .turns = memory + (6 + DESCENT_MEMORY) * step,
    };
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
    reserve(descent, total + descent->sites->site_count);
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

/* The blocks of the variables: streams, then classes of machines. */
static uint32_t block_count(const struct descent *descent)
{
    return descent->congestion->workload->stream_count + descent->sites->class_count;
}

static uint32_t block_of(const struct descent *descent, uint32_t variable)
{
    if (variable < descent->count) {
        return pattern_at(descent, variable)->stream;
    }
    return descent->congestion->workload->stream_count +
           descent->sites->sites[variable - descent->count].machines;
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
    const uint32_t blocks = block_count(descent);
    double *largest = memory_zeroed(2 * (size_t)blocks, sizeof(*largest));
    double *sums = largest + blocks;
    for (uint32_t i = 0; i < blocks; i++) {
        largest[i] = (double)-INFINITY;
    }
    for (uint32_t i = 0; i < vectors->count; i++) {
        const uint32_t block = block_of(descent, i);
        largest[block] = logits[i] > largest[block] ? logits[i] : largest[block];
    }
    for (uint32_t i = 0; i < vectors->count; i++) {
        const uint32_t block = block_of(descent, i);
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
    for (uint32_t i = 0; i < vectors->count; i++) {
        const double share = vectors->direction[i] / sums[block_of(descent, i)];
        if (i < descent->count) {
            descent->shares[i] = share;
            continue;
        }
        const uint32_t site = i - descent->count;
        const uint32_t nodes =
            descent->sites->classes[descent->sites->sites[site].machines].node_count;
        const double size = share * nodes;
        sites_resize(descent->sites, site, size > SIZE_MIN ? size : SIZE_MIN);
    }
    free(largest);
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
    const uint32_t blocks = block_count(descent);
    double *means = memory_zeroed(blocks, sizeof(*means));
    for (uint32_t i = 0; i < vectors->count; i++) {
        const bool is_pattern = i < descent->count;
        const struct site *site = is_pattern ? NULL : &descent->sites->sites[i - descent->count];
        const double share = is_pattern
                                 ? descent->shares[i]
                                 : site->size / descent->sites->classes[site->machines].node_count;
        vectors->gradient[i] = slope_of(descent, i);
        vectors->metric[i] = share;
        means[block_of(descent, i)] += share * vectors->gradient[i];
    }
    for (uint32_t i = 0; i < vectors->count; i++) {
        const uint32_t block = block_of(descent, i);
        const bool is_pattern = i < descent->count;
        const double weight = is_pattern ? workload->streams[block].rate / workload->rate : 1;
        const double scale = is_pattern ? weight * means[block] : congestion->mean_ns;
        const double share = vectors->metric[i] > 1e-12 ? vectors->metric[i] : 1e-12;
        vectors->gradient[i] = weight * vectors->metric[i] * (vectors->gradient[i] - means[block]);
        vectors->metric[i] = vectors->metric[i] > 0 ? 1 / (share * scale) : 0;
    }
    free(means);
}

static double dot(const double *a, const double *b, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Limited-memory BFGS (Nocedal 1980) over the last @kept moves; the newest is at @newest. */
static void find_direction(
    const struct descent *descent, const struct vectors *vectors, uint32_t kept, uint32_t newest)
{
    const uint32_t count = vectors->count;
    double alphas[DESCENT_MEMORY];
    double *direction = vectors->direction;
    double scale = 0.5;
    for (uint32_t i = 0; i < count; i++) {
        direction[i] = -vectors->gradient[i];
    }
    for (uint32_t back = 0; back < kept; back++) {
        const uint32_t slot = (newest + DESCENT_MEMORY - back) % DESCENT_MEMORY;
        const double *move = vectors->moves + (size_t)slot * descent->capacity;
        const double *turn = vectors->turns + (size_t)slot * descent->capacity;
        alphas[back] = dot(move, direction, count) / dot(move, turn, count);
        for (uint32_t i = 0; i < count; i++) {
            direction[i] -= alphas[back] * turn[i];
        }
    }
    if (kept > 0) {
        const double *move = vectors->moves + (size_t)newest * descent->capacity;
        const double *turn = vectors->turns + (size_t)newest * descent->capacity;
        double length = 0;
        for (uint32_t i = 0; i < count; i++) {
            length += turn[i] * turn[i] * vectors->metric[i];
        }
        scale = dot(move, turn, count) / length;
    }
    for (uint32_t i = 0; i < count; i++) {
        direction[i] *= scale * vectors->metric[i];
    }
    for (uint32_t back = kept; back-- > 0;) {
        const uint32_t slot = (newest + DESCENT_MEMORY - back) % DESCENT_MEMORY;
        const double *move = vectors->moves + (size_t)slot * descent->capacity;
        const double *turn = vectors->turns + (size_t)slot * descent->capacity;
        const double beta = dot(turn, direction, count) / dot(move, turn, count);
        for (uint32_t i = 0; i < count; i++) {
            direction[i] += (alphas[back] - beta) * move[i];
        }
    }
}

/* Cut a direction whose largest entry would change a share by too much. */
static void shorten(const struct vectors *vectors)
{
    double largest = 0;
    for (uint32_t i = 0; i < vectors->count; i++) {
        largest = fabs(vectors->direction[i]) > largest ? fabs(vectors->direction[i]) : largest;
    }
    for (uint32_t i = 0; i < vectors->count && largest > LOGIT_STEP_MAX; i++) {
        vectors->direction[i] *= LOGIT_STEP_MAX / largest;
    }
}

/*
 * Go along the direction until the mean time falls, by halves. The move is kept in @slot.
 * False if nothing of it helps: the point is then what it was.
 */
static bool try_direction(struct descent *descent, const struct vectors *vectors, uint32_t slot)
{
    const uint32_t count = vectors->count;
    double *move = vectors->moves + (size_t)slot * descent->capacity;
    const double before_ns = descent->congestion->mean_ns;
    const double gain_ns = dot(vectors->gradient, vectors->direction, count);
    double step = 1;
    memcpy(move, vectors->direction, count * sizeof(*move));
    for (uint32_t i = 0; i < HALVINGS_MAX; i++, step /= 2) {
        for (uint32_t k = 0; k < count; k++) {
            vectors->tried[k] = vectors->logits[k] + step * move[k];
        }
        apply(descent, vectors, vectors->tried);
        const double mean_ns = congestion_evaluate(descent->congestion, descent->shares);
        if (mean_ns <= before_ns + ARMIJO * step * gain_ns) {
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

/* Keep how the gradient changed with the move in @slot, if the slope rises along it. */
static bool learn(const struct descent *descent, const struct vectors *vectors, uint32_t slot)
{
    const double *move = vectors->moves + (size_t)slot * descent->capacity;
    double *turn = vectors->turns + (size_t)slot * descent->capacity;
    for (uint32_t i = 0; i < vectors->count; i++) {
        turn[i] = vectors->gradient[i] - vectors->older[i];
    }
    const double curvature = dot(move, turn, vectors->count);
    const double size = sqrt(dot(move, move, vectors->count) * dot(turn, turn, vectors->count));
    return curvature > 1e-10 * size;
}

double descent_run(struct descent *descent, uint32_t steps, double tolerance)
{
    struct congestion *congestion = descent->congestion;
    reserve(descent, descent->count + descent->sites->site_count);
    const struct vectors vectors = name_vectors(descent);
    const size_t bytes = vectors.count * sizeof(double);
    uint32_t kept = 0;
    uint32_t newest = 0;
    uint32_t idle = 0;
    take_logarithms(descent, &vectors);
    if (isinf(congestion_evaluate(congestion, descent->shares))) {
        return congestion->mean_ns;
    }
    congestion_slopes(congestion);
    find_gradient(descent, &vectors);
    for (uint32_t i = 0; i < steps && congestion->evaluations < descent->evaluations_max; i++) {
        const double before_ns = congestion->mean_ns;
        find_direction(descent, &vectors, kept, newest);
        if (dot(vectors.gradient, vectors.direction, vectors.count) >= 0) {
            kept = 0;
            find_direction(descent, &vectors, kept, newest);
        }
        shorten(&vectors);
        memcpy(vectors.older, vectors.gradient, bytes);
        const uint32_t slot = (newest + 1) % DESCENT_MEMORY;
        const bool moved = try_direction(descent, &vectors, slot);
        congestion_slopes(congestion);
        find_gradient(descent, &vectors);
        if (!moved && kept == 0) {
            break;
        }
        if (!moved) {
            kept = 0; /* The curvature misleads: the mirror step alone. */
            continue;
        }
        if (learn(descent, &vectors, slot)) {
            newest = slot;
            kept = kept < DESCENT_MEMORY ? kept + 1 : kept;
        } else if (kept == DESCENT_MEMORY) {
            kept--; /* Its slot was that of the oldest. */
        }
        idle = before_ns - congestion->mean_ns > tolerance * before_ns ? 0 : idle + 1;
        if (idle >= 3) {
            break;
        }
    }
    return congestion->mean_ns;
}
