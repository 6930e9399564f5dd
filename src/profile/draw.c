#include "profile/draw.h"

#include <stddef.h>

#include "base/exact.h"

static double draw_normal(double mean_ns, double sd_ns, struct rng *rng)
{
    const double normal = exact_normal(rng);
    const double spread_ns = mean_ns + normal * sd_ns;
    return spread_ns > mean_ns / 10 ? spread_ns : mean_ns / 10; /* Nothing runs in no time. */
}

/* Shape (mean / sd)^2 and scale sd^2 / mean have this mean and standard deviation. */
static double draw_gamma(double mean_ns, double sd_ns, struct rng *rng)
{
    const double ratio = mean_ns / sd_ns;
    const double gamma = exact_gamma(rng, ratio * ratio);
    return gamma * (sd_ns / ratio);
}

/* Between two quantiles all is equally likely. */
static double draw_measured(double mean_ns, const double *quantiles, struct rng *rng)
{
    const double unit = rng_unit(rng);
    uint32_t i = 0;
    while (i + 2 < PROFILE_QUANTILES && unit >= profile_shares[i + 1]) {
        i++;
    }
    const double low = quantiles[i];
    const double part = (unit - profile_shares[i]) / (profile_shares[i + 1] - profile_shares[i]);
    return mean_ns * (low + part * (quantiles[i + 1] - low));
}

static double draw(const struct estimate *estimate, struct rng *rng)
{
    const double mean_ns = (double)estimate->run_ns;
    const double sd_ns = (double)estimate->sd_ns;
    if (estimate->quantiles != NULL) {
        return draw_measured(mean_ns, estimate->quantiles, rng);
    }
    switch (estimate->distribution) {
    case DISTRIBUTION_NORMAL:
        return sd_ns > 0 ? draw_normal(mean_ns, sd_ns, rng) : mean_ns;
    case DISTRIBUTION_EXPONENTIAL:
        return mean_ns * exact_exponential(rng);
    case DISTRIBUTION_GAMMA:
        return sd_ns > 0 && mean_ns > 0 ? draw_gamma(mean_ns, sd_ns, rng) : mean_ns;
    case DISTRIBUTION_DETERMINISTIC:
        return mean_ns;
    }
    ASSERT(false);
    return mean_ns;
}

double profile_draw_ns(const struct estimate *estimate, double noise, struct rng *rng)
{
    double run_ns = draw(estimate, rng);
    if (noise > 0) {
        const double unit = rng_unit(rng);
        run_ns *= 1 + (2 * unit - 1) * noise;
    }
    return run_ns < (double)DURATION_NS_MAX ? run_ns : (double)DURATION_NS_MAX;
}
