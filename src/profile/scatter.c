#include "profile/scatter.h"

#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"

/* A run that took this many times as long says nothing of what others do to it. */
#define RATIO_MAX 8.0

void scatter_init(struct scatter *scatter, double interference)
{
    /* As if runs had met anything from nothing to all, and had obeyed what is known. */
    *scatter = (struct scatter){
        .runs = SCATTER_PRIOR,
        .beside = 0.5,
        .ratio = 1 + interference / 2,
        .variance = 1.0 / 12,
        .covariance = interference / 12,
    };
}

static void follow(struct scatter *scatter, double ratio, double beside)
{
    scatter->runs += scatter->runs < SCATTER_RUNS_MAX ? 1 : 0;
    const double share = 1.0 / (double)scatter->runs;
    const double off_beside = beside - scatter->beside;
    const double off_ratio = min_double(ratio, RATIO_MAX) - scatter->ratio;
    scatter->beside += share * off_beside;
    scatter->ratio += share * off_ratio;
    scatter->variance = (1 - share) * (scatter->variance + share * off_beside * off_beside);
    scatter->covariance = (1 - share) * (scatter->covariance + share * off_beside * off_ratio);
}

/* By the line: how much longer with all others busy than with none, as a part of the latter. */
static double interference_of(const struct scatter *scatter, double known)
{
    if (scatter->variance <= 0) {
        return known;
    }
    const double slope = scatter->covariance / scatter->variance;
    const double alone = scatter->ratio - slope * scatter->beside;
    if (alone <= 0) {
        return known;
    }
    return min_double(max_double(slope / alone, 0), SCATTER_INTERFERENCE_MAX);
}

static int by_size(const void *a, const void *b)
{
    const float left = *(const float *)a;
    const float right = *(const float *)b;
    return (left > right) - (left < right);
}

/* The value that @share of @count sorted ones are below, between the two next to it. */
static double quantile(const float *sorted, uint32_t count, double share)
{
    const double place = share * (double)(count - 1);
    const uint32_t below = (uint32_t)place;
    const uint32_t above = min_u32(below + 1, count - 1);
    const double low = (double)sorted[below];
    return low + (place - (double)below) * ((double)sorted[above] - low);
}

/* Documents have no more digits. */
static double thousandths(double value)
{
    return (double)(int64_t)(1000 * value + 0.5) / 1000;
}

/* The last one is where it has to be for the mean of draws between the last two. */
static void take_quantiles(const struct scatter *scatter, double *quantiles)
{
    const uint32_t count = min_u32(scatter->count, SCATTER_KEPT);
    float sorted[SCATTER_KEPT];
    double sum = 0;
    uint32_t beyond = 0;
    memcpy(sorted, scatter->kept, count * sizeof(sorted[0]));
    qsort(sorted, count, sizeof(sorted[0]), by_size);
    for (uint32_t i = 0; i + 1 < PROFILE_QUANTILES; i++) {
        quantiles[i] = thousandths(quantile(sorted, count, profile_shares[i]));
    }
    const double last = quantiles[PROFILE_QUANTILES - 2];
    for (uint32_t i = count; i > 0 && ((double)sorted[i - 1] > last || beyond == 0); i--) {
        sum += (double)sorted[i - 1];
        beyond++;
    }
    quantiles[PROFILE_QUANTILES - 1] = thousandths(max_double(2 * sum / beyond - last, last));
}

void scatter_add(
    struct scatter *scatter, double ratio, const struct slowing *slowing, double *interference,
    double *quantiles)
{
    follow(scatter, ratio / (1 + slowing->crowded), slowing->beside);
    *interference = interference_of(scatter, *interference);
    scatter->kept[scatter->count % SCATTER_KEPT] =
        (float)(ratio / slowing_factor(slowing, *interference));
    scatter->count++;
    const uint32_t every = scatter->count > SCATTER_KEPT ? SCATTER_LATER : SCATTER_EVERY;
    if (scatter->count >= SCATTER_LEAST && scatter->count % every == 0) {
        take_quantiles(scatter, quantiles);
    }
}
