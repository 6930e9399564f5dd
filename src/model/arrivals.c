#include "model/arrivals.h"

#include "base/assert.h"
#include "base/exact.h"
#include "model/catalogue.h"
#include "model/fleet.h"

#define NS_PER_S 1e9

void arrival_stream_init(
    struct arrival_stream *stream, const struct arrivals *arrivals,
    const struct catalogue *catalogue, uint64_t seed)
{
    ASSERT(arrivals->kind == ARRIVALS_LIST || arrivals->rate_per_s > 0);
    ASSERT(catalogue->workflow_count > 0);

    *stream = (struct arrival_stream){
        .arrivals = arrivals,
        .workflow_count = catalogue->workflow_count,
        .gaps = rng_stream(seed, RNG_ARRIVALS, 0),
        .workflows = rng_stream(seed, RNG_WORKFLOW, 0),
    };
    for (uint32_t i = 0; i < stream->workflow_count; i++) {
        ASSERT(arrivals->mix[i] >= 0);
        stream->weight += arrivals->mix[i];
    }
}

/* In whole nanoseconds: to the nearest, and no longer than any duration. */
static int64_t next_gap_ns(struct arrival_stream *stream)
{
    double gap_ns = NS_PER_S / stream->arrivals->rate_per_s;
    if (stream->arrivals->kind == ARRIVALS_POISSON) {
        gap_ns *= exact_exponential(&stream->gaps);
    }
    if (!(gap_ns < (double)DURATION_NS_MAX)) {
        return DURATION_NS_MAX;
    }
    return (int64_t)(gap_ns + 0.5);
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

static bool next_of_list(struct arrival_stream *stream, struct arrival *arrival_out)
{
    if (stream->next == stream->arrivals->list_count) {
        return false;
    }
    const struct arrival *arrival = &stream->arrivals->list[stream->next];
    ASSERT(arrival->at_ns >= stream->at_ns);
    ASSERT(arrival->workflow < stream->workflow_count);
    stream->next++;
    stream->at_ns = arrival->at_ns;
    *arrival_out = *arrival;
    return true;
}

bool arrival_stream_next(struct arrival_stream *stream, struct arrival *arrival_out)
{
    if (stream->arrivals->kind == ARRIVALS_LIST) {
        return next_of_list(stream, arrival_out);
    }
    const int64_t gap_ns = next_gap_ns(stream);
    if (gap_ns > INT64_MAX - DURATION_NS_MAX - stream->at_ns) {
        return false; /* Centuries from now. */
    }
    stream->at_ns += gap_ns;
    const uint32_t workflow = next_workflow(stream);
    *arrival_out = (struct arrival){.at_ns = stream->at_ns, .workflow = workflow, .items = 1};
    return true;
}
