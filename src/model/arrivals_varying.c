#include "model/arrivals_varying.h"

#include "base/assert.h"
#include "base/exact.h"
#include "base/units.h"
#include "model/fleet.h"

/* How long the phase that begins now lasts. At least a nanosecond: time goes on. */
static int64_t phase_length_ns(struct arrival_stream *stream)
{
    const struct arrivals_burst *burst = &stream->arrivals->burst;
    const int64_t mean_ns =
        stream->is_burst ? burst->length_ns : burst->every_ns - burst->length_ns;

    if (stream->arrivals->kind == ARRIVALS_BURST) {
        return mean_ns;
    }
    const double drawn_ns = (double)mean_ns * exact_exponential(&stream->phases);
    return drawn_ns < (double)DURATION_NS_MAX ? (int64_t)drawn_ns + 1 : DURATION_NS_MAX;
}

double arrivals_per_burst(const struct arrivals *arrivals)
{
    const struct arrivals_burst *burst = &arrivals->burst;
    const double calm_s = (double)(burst->every_ns - burst->length_ns) / NS_PER_S;
    const double burst_s = (double)burst->length_ns / NS_PER_S;

    return calm_s * arrivals->rate_per_s + burst_s * burst->rate_per_s;
}

void arrivals_begin_bursts(struct arrival_stream *stream)
{
    const struct arrivals_burst *burst = &stream->arrivals->burst;
    ASSERT(burst->rate_per_s > 0);
    ASSERT(burst->length_ns > 0 && burst->length_ns < burst->every_ns);
    ASSERT(burst->every_ns <= DURATION_NS_MAX);
    ASSERT(arrivals_per_burst(stream->arrivals) * ARRIVALS_IDLE_BURSTS_MAX >= 1);

    stream->is_burst = false;
    stream->phase_end_ns = phase_length_ns(stream);
}

/*
 * A Poisson process whose rate changes is one of rate 1 seen through a clock that runs
 * as fast as the rate: an exponential of mean 1 is used up at the rate of each phase in
 * turn. One draw an arrival, and no candidates to reject.
 */
bool arrivals_next_of_bursts(struct arrival_stream *stream)
{
    const struct arrivals *arrivals = stream->arrivals;
    double left = exact_exponential(&stream->gaps);

    for (;;) {
        const double rate_per_s =
            stream->is_burst ? arrivals->burst.rate_per_s : arrivals->rate_per_s;
        const double rate_per_ns = rate_per_s / NS_PER_S;
        const double phase_left_ns = (double)(stream->phase_end_ns - stream->at_ns);
        if (left < phase_left_ns * rate_per_ns) {
            return arrivals_advance(stream, left / rate_per_ns);
        }
        left -= phase_left_ns * rate_per_ns;
        stream->at_ns = stream->phase_end_ns;
        if (stream->at_ns > INT64_MAX - 2 * DURATION_NS_MAX) {
            return false; /* Centuries from now. */
        }
        stream->is_burst = !stream->is_burst;
        stream->phase_end_ns += phase_length_ns(stream);
    }
}

void arrivals_begin_shape(struct arrival_stream *stream)
{
    const struct arrivals_shape *shape = &stream->arrivals->shape;
    ASSERT(shape->period_ns > 0);
    ASSERT(shape->point_count >= 1 && shape->point_count <= ARRIVALS_SHAPE_POINTS_MAX);

    for (uint32_t i = 0; i < shape->point_count; i++) {
        ASSERT(shape->points[i] >= 0);
        stream->shape_mean += shape->points[i];
        if (shape->points[i] > stream->shape_peak) {
            stream->shape_peak = shape->points[i];
        }
    }
    /* Straight lines between even points that close the round: their mean is the points'. */
    stream->shape_mean /= shape->point_count;
    ASSERT(stream->shape_peak > 0);
}

static double shape_at(const struct arrivals_shape *shape, int64_t at_ns)
{
    const double part = (double)(at_ns % shape->period_ns) / (double)shape->period_ns;
    const double place = part * shape->point_count;
    uint32_t before = (uint32_t)place;
    if (before >= shape->point_count) { /* Rounded up at the very end. */
        before = shape->point_count - 1;
    }
    const uint32_t after = (before + 1) % shape->point_count;
    const double low = shape->points[before];
    return low + (place - before) * (shape->points[after] - low);
}

/*
 * Thinning: candidates come at the highest rate, and each is kept with the probability
 * that the rate of its time is of that. The mean is at least 1/96 of the peak, so few
 * are drawn in vain. Lewis and Shedler 1979.
 */
bool arrivals_next_of_shape(struct arrival_stream *stream)
{
    const struct arrivals *arrivals = stream->arrivals;
    const double peak_per_s = arrivals->rate_per_s * (stream->shape_peak / stream->shape_mean);

    for (;;) {
        const double gap_s = exact_exponential(&stream->gaps) / peak_per_s;
        if (!arrivals_advance(stream, gap_s * NS_PER_S)) {
            return false;
        }
        const double threshold = rng_unit(&stream->phases) * stream->shape_peak;
        if (threshold < shape_at(&arrivals->shape, stream->at_ns)) {
            return true;
        }
    }
}
