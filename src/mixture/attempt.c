#include "mixture/attempt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "mixture/expected.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/workflow.h"

#define GAP_MIN       1e-6 /* Relative: a better pattern has to gain more than this. */
#define SHARE_REVIVED 1e-3
#define SHARE_LEAST   1e-9
#define SHARE_USED    1e-6
#define SLOPE_NEAR    0.02 /* Relative: a pattern that costs so little more may be of use yet. */

enum { ROUNDS_MAX = 40 };

struct attempt *attempt_create(const struct workload *workload, struct sites *sites)
{
    struct attempt *attempt = memory_zeroed(1, sizeof(*attempt));
    attempt->workload = workload;
    attempt->sites = sites;
    attempt->patterns_max = UINT32_MAX;
    attempt->counts = memory_zeroed(workload->stream_count, sizeof(*attempt->counts));
    patterns_init(&attempt->patterns);
    congestion_init(&attempt->congestion, workload, sites, &attempt->patterns);
    descent_init(&attempt->descent, &attempt->congestion, sites);
    response_init(&attempt->response, &attempt->congestion, false);
    return attempt;
}

struct attempt *attempt_open(const struct workload *workload, struct sites *sites, bool plain_joins)
{
    sites_add_ingress(sites, workload);
    struct attempt *attempt = attempt_create(workload, sites);
    attempt->plain_joins = plain_joins;
    attempt->response.plain_joins = plain_joins;
    return attempt;
}

void attempt_destroy(struct attempt *attempt)
{
    if (attempt == NULL) {
        return;
    }
    response_deinit(&attempt->response);
    descent_deinit(&attempt->descent);
    congestion_deinit(&attempt->congestion);
    pattern_index_deinit(&attempt->index);
    patterns_deinit(&attempt->patterns);
    sites_destroy(attempt->sites);
    free(attempt->counts);
    free(attempt->kinds);
    free(attempt);
}

void attempt_forget(struct attempt *attempt)
{
    patterns_clear(&attempt->patterns);
    pattern_index_clear(&attempt->index);
    congestion_forget(&attempt->congestion);
    for (uint32_t i = 0; i < attempt->congestion.capacity; i++) {
        attempt->congestion.extras_ns[i] = 0; /* Others will have these numbers. */
    }
    for (uint32_t i = 0; i < attempt->workload->stream_count; i++) {
        attempt->counts[i] = 0;
    }
    attempt->descent.count = 0;
}

uint64_t attempt_evaluations(const struct attempt *attempt)
{
    return attempt->congestion.evaluations + attempt->response.evaluations;
}

bool attempt_is_spent(const struct attempt *attempt)
{
    return attempt_evaluations(attempt) >= attempt->descent.evaluations_max;
}

/* A pattern that the descent has left is worth a second try if it is found again. */
static uint32_t revive(struct attempt *attempt, uint32_t index)
{
    struct descent *descent = &attempt->descent;
    if (index >= descent->count || descent->shares[index] >= SHARE_USED) {
        return UINT32_MAX;
    }
    descent->shares[index] = SHARE_REVIVED;
    return index;
}

/* Whether a placement needs a queue that others have filled. */
static bool is_blocked(const struct attempt *attempt, const struct pattern *pattern)
{
    for (uint32_t i = 0; i < pattern->demand_count; i++) {
        const uint32_t queue = attempt->patterns.demands[pattern->demand_first + i].queue;
        if (attempt->sites->queues[queue].load >= 1) {
            return true;
        }
    }
    return false;
}

/* Whether whole sites have the machines for @seats. Others may still grow. */
static bool has_room(const struct attempt *attempt, uint32_t stream, const struct seat *seats)
{
    const uint32_t tasks = attempt->workload->streams[stream].workflow->task_count;
    for (uint32_t i = 0; i < tasks && !attempt->descent.sizes_are_free; i++) {
        if (seats[i].copy + 1.0 > attempt->sites->sites[seats[i].site].size) {
            return false;
        }
    }
    return true;
}

uint32_t attempt_add(struct attempt *attempt, uint32_t stream, const struct seat *seats)
{
    if (!has_room(attempt, stream, seats)) {
        return UINT32_MAX;
    }
    const struct pattern_of of = {
        .sites = attempt->sites,
        .stream = &attempt->workload->streams[stream],
        .number = stream,
        .requeue = attempt->workload->requeue,
    };
    const uint32_t known = pattern_index_find(
        &attempt->index, &attempt->patterns, stream, seats, of.stream->workflow->task_count);
    if (known != UINT32_MAX) {
        return revive(attempt, known);
    }
    if (attempt->counts[stream] >= attempt->patterns_max) {
        return UINT32_MAX;
    }
    const uint32_t index = patterns_add(&attempt->patterns, &of, seats);
    if (index == UINT32_MAX) {
        return UINT32_MAX;
    }
    if (is_blocked(attempt, &attempt->patterns.items[index])) {
        patterns_drop_last(&attempt->patterns);
        return UINT32_MAX;
    }
    attempt->counts[stream]++;
    return index;
}

void attempt_seed(struct attempt *attempt)
{
    const struct sites *sites = attempt->sites;
    struct seat seats[WORKFLOW_TASKS_MAX];
    for (uint32_t stream = 0; stream < attempt->workload->stream_count; stream++) {
        for (uint32_t i = 0; i < sites->site_count; i++) {
            for (uint32_t slot = 0; slot < sites->sites[i].slot_count; slot++) {
                const struct seat seat = {.site = (uint16_t)i, .slot = (uint16_t)slot};
                for (uint32_t k = 0; k < WORKFLOW_TASKS_MAX; k++) {
                    seats[k] = seat;
                }
                (void)attempt_add(attempt, stream, seats);
            }
        }
    }
    descent_admit(&attempt->descent, 1);
}

void attempt_seed_idle(struct attempt *attempt, double part)
{
    struct seat found[WORKFLOW_TASKS_MAX];
    struct congestion *congestion = &attempt->congestion;
    double *nothing = memory_zeroed(attempt->patterns.count + 1, sizeof(*nothing));
    (void)congestion_evaluate(congestion, nothing);
    congestion_slopes(congestion);
    free(nothing);
    for (uint32_t stream = 0; stream < attempt->workload->stream_count; stream++) {
        if (!isinf(response_find(&attempt->response, stream, found))) {
            (void)attempt_add(attempt, stream, found);
            (void)attempt_add_alike(attempt, stream, found, (double)INFINITY);
        }
    }
    descent_admit(&attempt->descent, part);
}

void attempt_perturb(struct attempt *attempt, uint64_t seed, uint32_t index)
{
    struct descent *descent = &attempt->descent;
    struct rng rng = rng_stream(seed, RNG_POLICY, index);
    for (uint32_t i = 0; i < descent->count; i++) {
        descent->shares[i] *= 0.5 + rng_unit(&rng);
    }
    descent_normalise(descent);
}

/* What joins cost at the prices reached, for each pattern. */
static void count_joins(struct attempt *attempt)
{
    struct congestion *congestion = &attempt->congestion;
    for (uint32_t i = 0; i < attempt->patterns.count && !attempt->plain_joins; i++) {
        const double plain_ns = congestion->lengths_ns[i] - congestion->extras_ns[i];
        congestion->extras_ns[i] = expected_length(congestion, &attempt->patterns, i) - plain_ns;
    }
}

double attempt_settle(struct attempt *attempt)
{
    attempt->congestion.blur_ns = 0;
    if (isinf(congestion_evaluate(&attempt->congestion, attempt->descent.shares))) {
        return (double)INFINITY;
    }
    count_joins(attempt);
    return congestion_evaluate(&attempt->congestion, attempt->descent.shares);
}

double attempt_mean_slope(const struct attempt *attempt, uint32_t stream)
{
    double sum = 0;
    for (uint32_t i = 0; i < attempt->descent.count; i++) {
        if (attempt->patterns.items[i].stream == stream) {
            sum += attempt->descent.shares[i] * attempt->congestion.slopes[i];
        }
    }
    return sum;
}

/*
 * Give new patterns a share, small enough not to fill the queues that they use. Without them
 * the shares were @before, of the first @known patterns.
 */
static void admit_carefully(struct attempt *attempt, const double *before, uint32_t known)
{
    struct descent *descent = &attempt->descent;
    descent_admit(descent, ATTEMPT_SHARE_FRESH);
    descent_normalise(descent);
    double part = 1;
    while (part > SHARE_LEAST) {
        part /= 8;
        if (!isinf(congestion_evaluate(&attempt->congestion, descent->shares))) {
            break;
        }
        for (uint32_t i = 0; i < descent->count; i++) {
            const double old = i < known ? before[i] : 0;
            descent->shares[i] = old + (descent->shares[i] - old) / 8;
        }
    }
}

uint32_t attempt_extend(struct attempt *attempt)
{
    struct seat found[WORKFLOW_TASKS_MAX];
    const uint32_t known = attempt->descent.count;
    double *before = memory_zeroed(known + 1, sizeof(*before));
    memcpy(before, attempt->descent.shares, known * sizeof(*before));
    uint32_t added = 0;
    for (uint32_t stream = 0; stream < attempt->workload->stream_count; stream++) {
        const double mean = attempt_mean_slope(attempt, stream);
        const double best = response_find(&attempt->response, stream, found);
        if (!(best < mean * (1 - GAP_MIN))) {
            continue;
        }
        if (attempt_add(attempt, stream, found) != UINT32_MAX) {
            added++;
            added += attempt_add_alike(attempt, stream, found, mean * (1 - GAP_MIN));
        }
    }
    admit_carefully(attempt, before, known);
    free(before);
    return added;
}

double attempt_gap(struct attempt *attempt)
{
    struct seat found[WORKFLOW_TASKS_MAX];
    double gap = 0;
    congestion_slopes(&attempt->congestion);
    for (uint32_t stream = 0; stream < attempt->workload->stream_count; stream++) {
        const double mean = attempt_mean_slope(attempt, stream);
        const double best = response_find(&attempt->response, stream, found);
        if (best < mean) {
            gap += attempt->workload->streams[stream].rate / attempt->workload->rate *
                   (mean - best) / attempt->congestion.mean_ns;
        }
    }
    return gap;
}

bool attempt_solve(struct attempt *attempt)
{
    struct descent *descent = &attempt->descent;
    if (!attempt_find_feasible(attempt)) {
        return false;
    }
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        (void)attempt_settle(attempt);
        (void)descent_run(descent, 60, 1e-5);
        congestion_slopes(&attempt->congestion);
        attempt_prune(attempt, SLOPE_NEAR, SHARE_USED);
        (void)congestion_evaluate(&attempt->congestion, descent->shares);
        congestion_slopes(&attempt->congestion);
        if (attempt_is_spent(attempt) || attempt_extend(attempt) == 0) {
            break;
        }
    }
    (void)attempt_settle(attempt);
    (void)descent_run(descent, 400, 1e-8);
    attempt_sharpen(attempt, ATTEMPT_BLUR_FIRST, /* least */ 0);
    return true;
}
