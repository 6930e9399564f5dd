#include "model/arrivals.h"

#include "base/assert.h"
#include "base/exact.h"
#include "base/units.h"
#include "model/arrivals_varying.h"
#include "model/catalogue.h"
#include "model/fleet.h"

#define END_OF_NS  (INT64_MAX - DURATION_NS_MAX)
#define SCALED_MAX ((double)(INT64_C(1) << 62))

static bool has_list(const struct arrivals *arrivals)
{
    return arrivals->kind == ARRIVALS_LIST || arrivals->kind == ARRIVALS_TRACE;
}

static void begin_kind(struct arrival_stream *stream)
{
    const struct arrivals *arrivals = stream->arrivals;

    switch (arrivals->kind) {
    case ARRIVALS_POISSON:
    case ARRIVALS_CONSTANT:
    case ARRIVALS_LIST:
        break;
    case ARRIVALS_GAMMA:
        ASSERT(arrivals->cv > 0);
        break;
    case ARRIVALS_BURST:
    case ARRIVALS_MMPP:
        arrivals_begin_bursts(stream);
        break;
    case ARRIVALS_DIURNAL:
        arrivals_begin_shape(stream);
        break;
    case ARRIVALS_TRACE:
        ASSERT(arrivals->speed > 0);
        ASSERT(!arrivals->repeat || arrivals_lap_ns(arrivals) > 0);
        break;
    }
}

void arrival_stream_init(
    struct arrival_stream *stream, const struct arrivals *arrivals,
    const struct catalogue *catalogue, uint64_t seed)
{
    ASSERT(has_list(arrivals) || arrivals->rate_per_s > 0);
    ASSERT(catalogue->workflow_count > 0);

    *stream = (struct arrival_stream){
        .arrivals = arrivals,
        .workflow_count = catalogue->workflow_count,
        .gaps = rng_stream(seed, RNG_ARRIVALS, 0),
        .workflows = rng_stream(seed, RNG_WORKFLOW, 0),
        .phases = rng_stream(seed, RNG_ARRIVALS, 1),
    };
    for (uint32_t i = 0; i < stream->workflow_count; i++) {
        ASSERT(arrivals->mix[i] >= 0);
        stream->weight += arrivals->mix[i];
    }
    begin_kind(stream);
}

bool arrivals_advance(struct arrival_stream *stream, double gap_ns)
{
    const int64_t whole_ns =
        gap_ns < (double)DURATION_NS_MAX ? (int64_t)(gap_ns + 0.5) : DURATION_NS_MAX;
    if (whole_ns > END_OF_NS - stream->at_ns) {
        return false; /* Centuries from now. */
    }
    stream->at_ns += whole_ns;
    return true;
}

/* With shape 1/cv^2 the standard deviation is cv times the mean; the scale gives that mean. */
static double gamma_gap_ns(struct arrival_stream *stream, double mean_ns)
{
    const double cv2 = stream->arrivals->cv * stream->arrivals->cv;
    const double drawn = exact_gamma(&stream->gaps, 1.0 / cv2);
    return mean_ns * cv2 * drawn;
}

static uint32_t next_workflow(struct arrival_stream *stream)
{
    if (stream->weight <= 0) {
        return rng_below(&stream->workflows, stream->workflow_count);
    }
    const double target = rng_unit(&stream->workflows) * stream->weight;
    double passed = 0;
    uint32_t chosen = 0;
    for (uint32_t i = 0; i < stream->workflow_count; i++) {
        if (stream->arrivals->mix[i] <= 0) {
            continue;
        }
        chosen = i; /* Rounding may leave the target past the last one with a weight. */
        passed += stream->arrivals->mix[i];
        if (target < passed) {
            break;
        }
    }
    return chosen;
}

/* At speed 1 exactly: every time of a list is a whole number that a double holds. */
static int64_t scaled_ns(const struct arrivals *arrivals, int64_t ns)
{
    if (arrivals->kind == ARRIVALS_LIST) {
        return ns;
    }
    const double scaled = (double)ns / arrivals->speed + 0.5;
    return scaled < SCALED_MAX ? (int64_t)scaled : INT64_C(1) << 62;
}

/* Whether there is another row; a trace that repeats starts again for it. */
static bool find_row(struct arrival_stream *stream)
{
    const struct arrivals *arrivals = stream->arrivals;

    if (stream->next < arrivals->list_count) {
        return true;
    }
    if (!arrivals->repeat || arrivals->list_count == 0) {
        return false;
    }
    const int64_t lap_ns = scaled_ns(arrivals, arrivals_lap_ns(arrivals));
    if (lap_ns > END_OF_NS - stream->lap_ns) {
        return false;
    }
    stream->lap_ns += lap_ns;
    stream->next = 0;
    return true;
}

static bool next_of_list(struct arrival_stream *stream, struct arrival *arrival_out)
{
    if (!find_row(stream)) {
        return false;
    }
    struct arrival arrival = stream->arrivals->list[stream->next];
    const int64_t at_ns = scaled_ns(stream->arrivals, arrival.at_ns);
    if (at_ns > END_OF_NS - stream->lap_ns) {
        return false;
    }
    arrival.at_ns = stream->lap_ns + at_ns;
    if (arrival.workflow == ARRIVAL_WORKFLOW_ANY) {
        arrival.workflow = next_workflow(stream);
    }
    ASSERT(arrival.at_ns >= stream->at_ns);
    ASSERT(arrival.workflow < stream->workflow_count);
    stream->next++;
    stream->at_ns = arrival.at_ns;
    *arrival_out = arrival;
    return true;
}

/* Move to the time of the next arrival. */
static bool advance(struct arrival_stream *stream)
{
    const double mean_ns = NS_PER_S / stream->arrivals->rate_per_s;

    switch (stream->arrivals->kind) {
    case ARRIVALS_POISSON:
        return arrivals_advance(stream, mean_ns * exact_exponential(&stream->gaps));
    case ARRIVALS_CONSTANT:
        return arrivals_advance(stream, mean_ns);
    case ARRIVALS_GAMMA:
        return arrivals_advance(stream, gamma_gap_ns(stream, mean_ns));
    case ARRIVALS_BURST:
    case ARRIVALS_MMPP:
        return arrivals_next_of_bursts(stream);
    case ARRIVALS_DIURNAL:
        return arrivals_next_of_shape(stream);
    case ARRIVALS_LIST:
    case ARRIVALS_TRACE:
        break;
    }
    ASSERT(false); /* Their rows are not drawn. */
    return false;
}

bool arrival_stream_next(struct arrival_stream *stream, struct arrival *arrival_out)
{
    if (has_list(stream->arrivals)) {
        return next_of_list(stream, arrival_out);
    }
    if (!advance(stream)) {
        return false;
    }
    const uint32_t workflow = next_workflow(stream);
    *arrival_out = (struct arrival){.at_ns = stream->at_ns, .workflow = workflow, .items = 1};
    return true;
}

int64_t arrivals_lap_ns(const struct arrivals *arrivals)
{
    const uint32_t count = arrivals->list_count;

    if (count == 0) {
        return 0;
    }
    const int64_t last_ns = arrivals->list[count - 1].at_ns;
    return count == 1 ? last_ns : last_ns + (last_ns - arrivals->list[0].at_ns) / (count - 1);
}

void arrivals_set_speed(struct arrivals *arrivals, double speed)
{
    ASSERT(arrivals->kind == ARRIVALS_TRACE);
    ASSERT(speed > 0);

    const double lap_s = (double)arrivals_lap_ns(arrivals) / NS_PER_S;
    arrivals->speed = speed;
    arrivals->rate_per_s = lap_s > 0 ? speed * arrivals->list_count / lap_s : 0;
}

bool arrivals_set_rate(struct arrivals *arrivals, double rate_per_s)
{
    ASSERT(rate_per_s > 0);

    if (arrivals->kind == ARRIVALS_LIST) {
        return false;
    }
    if (arrivals->kind == ARRIVALS_TRACE) {
        const double lap_s = (double)arrivals_lap_ns(arrivals) / NS_PER_S;
        if (lap_s <= 0) {
            return false;
        }
        arrivals->speed = rate_per_s * lap_s / arrivals->list_count;
    }
    if (arrivals->rate_per_s > 0) {
        arrivals->burst.rate_per_s *= rate_per_s / arrivals->rate_per_s;
    }
    arrivals->rate_per_s = rate_per_s;
    return true;
}

double arrivals_mean_rate(const struct arrivals *arrivals)
{
    if (arrivals->kind == ARRIVALS_BURST || arrivals->kind == ARRIVALS_MMPP) {
        return arrivals_per_burst(arrivals) * NS_PER_S / (double)arrivals->burst.every_ns;
    }
    if (arrivals->kind == ARRIVALS_LIST) {
        const int64_t lap_ns = arrivals_lap_ns(arrivals);
        return lap_ns > 0 ? (double)arrivals->list_count * NS_PER_S / (double)lap_ns : 0;
    }
    return arrivals->rate_per_s;
}

/* The part of the requests that each workflow gets, not summing to anything yet. */
static void count_shares(const struct arrivals *arrivals, uint32_t count, double *shares_out)
{
    double weight = 0;

    for (uint32_t i = 0; i < count; i++) {
        weight += arrivals->mix[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        shares_out[i] = weight > 0 ? arrivals->mix[i] : 1;
    }
    if (!has_list(arrivals) || arrivals->list_count == 0 ||
        arrivals->list[0].workflow == ARRIVAL_WORKFLOW_ANY) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        shares_out[i] = 0;
    }
    for (uint32_t i = 0; i < arrivals->list_count; i++) {
        shares_out[arrivals->list[i].workflow]++;
    }
}

bool arrivals_rates(
    const struct arrivals *arrivals, const struct catalogue *catalogue, double *rates_out)
{
    const uint32_t count = catalogue->workflow_count;
    const double rate_per_s = arrivals_mean_rate(arrivals);
    double sum = 0;

    if (!(rate_per_s > 0)) {
        return false;
    }
    count_shares(arrivals, count, rates_out);
    for (uint32_t i = 0; i < count; i++) {
        sum += rates_out[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        rates_out[i] = rate_per_s * rates_out[i] / sum;
    }
    return true;
}

int64_t arrivals_draw_patience_ns(const struct arrivals *arrivals, struct rng *rng)
{
    if (!arrivals->patience_is_mean) {
        return arrivals->patience_ns;
    }
    return 1 + (int64_t)((double)arrivals->patience_ns * exact_exponential(rng));
}
