#include "queueing/delay.h"

#include <math.h>

#include "base/exact.h"
#include "base/numbers.h"

/* An exponential of this rate, or 0. */
struct chance {
    double busy;
    double rate;
};

struct delay delay_at(double fixed, double wait, double load)
{
    return (struct delay){.fixed = fixed, .wait = wait, .busy = wait > 0 ? load : 0};
}

/*
 * With probability q and rate r the mean is q / r and the second moment 2 q / r^2. Where
 * that would make q larger than 1, all of it waits and what is too much is certain.
 */
struct delay delay_fit(double fixed, double wait, double variance)
{
    if (wait <= 0 || variance <= 0) {
        return (struct delay){.fixed = fixed + wait};
    }
    if (variance < wait * wait) {
        const double spread = sqrt(variance);
        return (struct delay){.fixed = fixed + wait - spread, .wait = spread, .busy = 1};
    }
    const double busy = 2 * wait * wait / (wait * wait + variance);
    return (struct delay){.fixed = fixed, .wait = wait, .busy = busy};
}

double delay_variance(const struct delay *delay)
{
    return delay->wait > 0 ? delay->wait * delay->wait * (2 / delay->busy - 1) : 0;
}

/* What of the wait of @delay is left after @later, counted from its fixed part. */
static struct chance chance_after(const struct delay *delay, double later)
{
    if (delay->wait <= 0) {
        return (struct chance){.busy = 0, .rate = 1};
    }
    const double rate = delay->busy / delay->wait;
    return (struct chance){.busy = delay->busy * exact_exp(-rate * later), .rate = rate};
}

/*
 * From the later of the fixed parts on, both are exponential or 0. By inclusion and
 * exclusion: the larger of two exponentials is their sum less the smaller one.
 */
struct delay delay_max(const struct delay *a, const struct delay *b)
{
    const double fixed = max_double(a->fixed, b->fixed);
    const struct chance one = chance_after(a, fixed - a->fixed);
    const struct chance two = chance_after(b, fixed - b->fixed);
    const double both = one.busy * two.busy;
    const double rate = one.rate + two.rate;
    const double mean = one.busy / one.rate + two.busy / two.rate - both / rate;
    const double half_second =
        one.busy / (one.rate * one.rate) + two.busy / (two.rate * two.rate) - both / (rate * rate);
    return delay_fit(fixed, mean, 2 * half_second - mean * mean);
}

double delay_exceeds(const struct delay *a, const struct delay *b)
{
    if (a->fixed > b->fixed) {
        const struct chance late = chance_after(b, a->fixed - b->fixed);
        const struct chance own = chance_after(a, 0);
        return 1 - late.busy * (1 - own.busy * late.rate / (own.rate + late.rate));
    }
    const struct chance late = chance_after(a, b->fixed - a->fixed);
    const struct chance other = chance_after(b, 0);
    return late.busy * (1 - other.busy * late.rate / (other.rate + late.rate));
}
