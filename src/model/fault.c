#include "model/fault.h"

#include "base/assert.h"
#include "base/exact.h"
#include "base/rng.h"
#include "base/units.h"
#include "model/fleet.h"

uint32_t fault_drawable_kinds(void)
{
    const uint32_t all = (UINT32_C(1) << FAULT_KIND_COUNT) - 1;
    return all & ~(UINT32_C(1) << FAULT_RESTART) & ~(UINT32_C(1) << FAULT_DRAIN) &
           ~(UINT32_C(1) << FAULT_POISON) & ~(UINT32_C(1) << FAULT_VERSION);
}

/* The @nth kind, from 0, of those in @kinds. */
static enum fault_kind nth_kind(uint32_t kinds, uint32_t nth)
{
    uint32_t kind = 0;
    while ((kinds >> kind & 1) == 0 || nth > 0) {
        nth -= kinds >> kind & 1;
        kind++;
    }
    ASSERT(kind < FAULT_KIND_COUNT);
    return (enum fault_kind)kind;
}

static uint32_t kind_count(uint32_t kinds)
{
    uint32_t count = 0;
    for (uint32_t kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        count += kinds >> kind & 1;
    }
    return count;
}

/* What it hits: neither node 0 nor its workers, so that one node can always go on. */
static uint32_t draw_victim(const struct fleet *fleet, enum fault_kind kind, struct rng *rng)
{
    const uint32_t first = fault_hits_worker(kind) ? fleet->nodes[1].worker_first : 1;
    const uint32_t count = fault_hits_worker(kind) ? fleet->worker_count : fleet->node_count;
    return first + rng_below(rng, count - first);
}

/*
 * Draw the faults of @random from @rng, at most @faults_max, by the time at which they
 * begin. @fleet has at least two nodes. Returns how many.
 */
static uint32_t draw_one(
    const struct fault_random *random, const struct fleet *fleet, struct rng *rng,
    struct fault *faults_out, uint32_t faults_max)
{
    uint32_t count = 0;
    double at_ns = 0;
    ASSERT(fleet->node_count > 1);
    ASSERT(random->kinds != 0);
    while (count + 2 <= faults_max) { /* A crash takes two. */
        at_ns += exact_exponential(rng) * NS_PER_S / random->rate_per_s;
        if (at_ns >= (double)random->until_ns) {
            break;
        }
        const uint32_t nth = rng_below(rng, kind_count(random->kinds));
        struct fault fault = {.at_ns = (int64_t)at_ns, .kind = nth_kind(random->kinds, nth)};
        fault.victim = draw_victim(fleet, fault.kind, rng);
        fault.for_ns = 1 + (int64_t)(exact_exponential(rng) * (double)random->for_ns);
        const double badness = rng_unit(rng);
        fault.factor = fault.kind == FAULT_SLOW ? 2 + 8 * badness : 0.1 + 0.4 * badness;
        const struct fault restart = {
            .at_ns = fault.at_ns + fault.for_ns,
            .kind = FAULT_RESTART,
            .victim = fault.victim,
        };
        if (fault.kind == FAULT_CRASH) {
            fault.for_ns = 0;
            faults_out[count++] = fault;
            faults_out[count++] = restart;
        } else {
            faults_out[count++] = fault;
        }
    }
    return count;
}

uint32_t fault_draw_all(
    const struct fault_random *randoms, uint32_t random_count, const struct fleet *fleet,
    uint64_t seed, struct fault *faults_out, uint32_t faults_max)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < random_count; i++) {
        struct rng rng = rng_stream(seed, RNG_FAULTS, /* 0 is what messages are lost by */ 1 + i);
        count += draw_one(&randoms[i], fleet, &rng, faults_out + count, faults_max - count);
    }
    return count;
}
