#include "mixture/draft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/rng.h"
#include "mixture/mean_length.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/workflow.h"

#define GAP_MIN       1e-6 /* Relative: a better pattern has to gain more than this. */
#define SHARE_REVIVED 1e-3
#define SHARE_USED    1e-6
#define SHARE_LEAST   1e-9

enum { ROUNDS_MAX = 40 };

struct draft *draft_create(const struct workload *workload, struct sites *sites)
{
    struct draft *draft = memory_zeroed(1, sizeof(*draft));
    sites_add_ingress(sites, workload);
    draft->workload = workload;
    draft->sites = sites;
    draft->patterns_max = UINT32_MAX;
    draft->counts = memory_zeroed(workload->stream_count, sizeof(*draft->counts));
    patterns_init(&draft->patterns);
    congestion_init(&draft->congestion, workload, sites, &draft->patterns);
    descent_init(&draft->descent, &draft->congestion, sites);
    response_init(&draft->response, &draft->congestion);
    return draft;
}

void draft_destroy(struct draft *draft)
{
    if (draft == NULL) {
        return;
    }
    response_deinit(&draft->response);
    descent_deinit(&draft->descent);
    congestion_deinit(&draft->congestion);
    patterns_deinit(&draft->patterns);
    sites_destroy(draft->sites);
    free(draft->counts);
    free(draft);
}

uint64_t draft_evaluations(const struct draft *draft)
{
    return draft->congestion.evaluations + draft->response.evaluations;
}

struct pattern_of draft_pattern_of(const struct draft *draft, uint32_t stream)
{
    ASSERT(stream < draft->workload->stream_count);
    return (struct pattern_of){
        .sites = draft->sites,
        .stream = &draft->workload->streams[stream],
        .number = stream,
        .requeue = draft->workload->requeue,
    };
}

/* A pattern that the descent has left is worth a second try if it is found again. */
static uint32_t revive(struct draft *draft, uint32_t index)
{
    struct descent *descent = &draft->descent;
    if (index >= descent->count || descent->shares[index] >= SHARE_USED) {
        return UINT32_MAX;
    }
    descent->shares[index] = SHARE_REVIVED;
    return index;
}

/* Whether whole sites have the machines for @spots. Others may still grow. */
static bool has_room(const struct draft *draft, uint32_t stream, const struct spot *spots)
{
    const uint32_t tasks = draft->workload->streams[stream].workflow->task_count;
    for (uint32_t i = 0; i < tasks && !draft->descent.sizes_are_free; i++) {
        if (spots[i].copy + 1.0 > draft->sites->sites[spots[i].site].size) {
            return false;
        }
    }
    return true;
}

uint32_t draft_add(struct draft *draft, uint32_t stream, const struct spot *spots)
{
    const struct pattern_of of = draft_pattern_of(draft, stream);
    if (!has_room(draft, stream, spots)) {
        return UINT32_MAX;
    }
    const uint32_t known = patterns_find(&draft->patterns, &of, spots);
    if (known != UINT32_MAX) {
        return revive(draft, known);
    }
    if (draft->counts[stream] >= draft->patterns_max) {
        return UINT32_MAX;
    }
    const uint32_t index = patterns_add(&draft->patterns, &of, spots);
    draft->counts[stream] += index != UINT32_MAX ? 1 : 0;
    return index;
}

static void seed_whole(struct draft *draft, uint32_t stream)
{
    const struct sites *sites = draft->sites;
    struct spot spots[WORKFLOW_TASKS_MAX];
    for (uint32_t i = 0; i < sites->site_count; i++) {
        for (uint32_t slot = 0; slot < sites->sites[i].slot_count; slot++) {
            for (uint32_t k = 0; k < WORKFLOW_TASKS_MAX; k++) {
                spots[k] = (struct spot){.site = (uint16_t)i, .slot = (uint16_t)slot};
            }
            (void)draft_add(draft, stream, spots);
        }
    }
}

void draft_seed(struct draft *draft, double part)
{
    struct spot found[WORKFLOW_TASKS_MAX];
    struct congestion *congestion = &draft->congestion;
    for (uint32_t stream = 0; stream < draft->workload->stream_count; stream++) {
        seed_whole(draft, stream);
    }
    descent_admit(&draft->descent, 1);
    double *nothing = memory_zeroed(draft->patterns.count + 1, sizeof(*nothing));
    (void)congestion_evaluate(congestion, nothing);
    congestion_slopes(congestion);
    free(nothing);
    for (uint32_t i = 0; i < 2 * draft->workload->stream_count; i++) {
        const enum response_start start = i % 2 == 0 ? RESPONSE_TOGETHER : RESPONSE_APART;
        if (!isinf(response_find(&draft->response, i / 2, start, found))) {
            (void)draft_add(draft, i / 2, found);
            (void)draft_add_shape(draft, i / 2, found, (double)INFINITY);
        }
    }
    descent_admit(&draft->descent, part);
}

void draft_perturb(struct draft *draft, uint64_t seed, uint32_t index)
{
    struct descent *descent = &draft->descent;
    struct rng rng = rng_stream(seed, RNG_POLICY, index);
    for (uint32_t i = 0; i < descent->count; i++) {
        descent->shares[i] *= 0.5 + rng_unit(&rng);
    }
    descent_normalise(descent);
}

double draft_settle(struct draft *draft)
{
    struct congestion *congestion = &draft->congestion;
    if (isinf(congestion_evaluate(congestion, draft->descent.shares))) {
        return (double)INFINITY;
    }
    for (uint32_t i = 0; i < draft->patterns.count && !draft->workload->plain_joins; i++) {
        const double plain_ns = congestion->lengths_ns[i] - congestion->extras_ns[i];
        congestion->extras_ns[i] = mean_length(congestion, &draft->patterns, i) - plain_ns;
    }
    return congestion_evaluate(congestion, draft->descent.shares);
}

/* The mean slope of a stream: what all of its shares would have at a stationary point. */
static double mean_slope(const struct draft *draft, uint32_t stream)
{
    double sum = 0;
    for (uint32_t i = 0; i < draft->descent.count; i++) {
        if (draft->patterns.items[i].stream == stream) {
            sum += draft->descent.shares[i] * draft->congestion.slopes[i];
        }
    }
    return sum;
}

/*
 * Give new patterns a share, small enough not to fill the queues that they use. Without them
 * the shares were @before, of the first @known patterns.
 */
static void admit_carefully(struct draft *draft, const double *before, uint32_t known)
{
    struct descent *descent = &draft->descent;
    descent_admit(descent, DRAFT_SHARE_FRESH);
    descent_normalise(descent);
    double part = 1;
    while (part > SHARE_LEAST) {
        if (!isinf(congestion_evaluate(&draft->congestion, descent->shares))) {
            return;
        }
        for (uint32_t i = 0; i < descent->count; i++) {
            const double old = i < known ? before[i] : 0;
            descent->shares[i] = old + (descent->shares[i] - old) / 8;
        }
        part /= 8;
    }
}

uint32_t draft_extend(struct draft *draft)
{
    struct spot found[WORKFLOW_TASKS_MAX];
    const uint32_t known = draft->descent.count;
    double *before = memory_zeroed(known + 1, sizeof(*before));
    memcpy(before, draft->descent.shares, known * sizeof(*before));
    uint32_t added = 0;
    for (uint32_t stream = 0; stream < draft->workload->stream_count; stream++) {
        const double limit = mean_slope(draft, stream) * (1 - GAP_MIN);
        if (response_find(&draft->response, stream, RESPONSE_TOGETHER, found) < limit &&
            draft_add(draft, stream, found) != UINT32_MAX) {
            added += 1 + draft_add_shape(draft, stream, found, limit);
        }
    }
    admit_carefully(draft, before, known);
    free(before);
    return added;
}

double draft_gap(struct draft *draft)
{
    struct spot found[WORKFLOW_TASKS_MAX];
    double gap = 0;
    congestion_slopes(&draft->congestion);
    for (uint32_t stream = 0; stream < draft->workload->stream_count; stream++) {
        const double mean = mean_slope(draft, stream);
        const double best = response_find(&draft->response, stream, RESPONSE_TOGETHER, found);
        if (best < mean) {
            gap += draft->workload->streams[stream].rate / draft->workload->rate * (mean - best) /
                   draft->congestion.mean_ns;
        }
    }
    return gap;
}

bool draft_solve(struct draft *draft)
{
    if (!draft_find_feasible(draft)) {
        return false;
    }
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        (void)draft_settle(draft);
        (void)descent_run(&draft->descent, 60, 1e-5);
        congestion_slopes(&draft->congestion);
        if (draft_evaluations(draft) >= draft->descent.evaluations_max ||
            draft_extend(draft) == 0) {
            break;
        }
    }
    (void)draft_settle(draft);
    (void)descent_run(&draft->descent, 400, 1e-8);
    return true;
}
