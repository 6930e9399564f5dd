#include "plan/attempt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/rng.h"
#include "model/workflow.h"
#include "plan/expected.h"
#include "plan/sites.h"
#include "plan/workload.h"

#define SHARE_FRESH 0.02 /* What new patterns of a stream get together. */
#define GAP_MIN     1e-6 /* Relative: a better pattern has to gain more than this. */
#define LOAD_START  0.9  /* On the way to a feasible point, the first load of the fullest. */
#define GROWTH_MIN  1e-4 /* A stage on that way that gains less leads nowhere. */

enum { ROUNDS_MAX = 40, STAGES_MAX = 80, STUCK_MAX = 4, ALIKE_MAX = 64, SHIFTS_MAX = 12 };

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

void attempt_destroy(struct attempt *attempt)
{
    if (attempt == NULL) {
        return;
    }
    response_deinit(&attempt->response);
    descent_deinit(&attempt->descent);
    congestion_deinit(&attempt->congestion);
    patterns_deinit(&attempt->patterns);
    sites_destroy(attempt->sites);
    free(attempt->counts);
    free(attempt);
}

uint64_t attempt_evaluations(const struct attempt *attempt)
{
    return attempt->congestion.evaluations + attempt->response.evaluations;
}

static bool is_spent(const struct attempt *attempt)
{
    return attempt_evaluations(attempt) >= attempt->descent.evaluations_max;
}

static bool is_known(const struct attempt *attempt, uint32_t stream, const struct seat *seats)
{
    const size_t bytes = attempt->workload->streams[stream].workflow->task_count * sizeof(*seats);
    for (uint32_t i = 0; i < attempt->patterns.count; i++) {
        const struct pattern *pattern = &attempt->patterns.items[i];
        if (pattern->stream == stream &&
            memcmp(attempt->patterns.seats + pattern->seat_first, seats, bytes) == 0) {
            return true;
        }
    }
    return false;
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

uint32_t attempt_add(struct attempt *attempt, uint32_t stream, const struct seat *seats)
{
    const struct pattern_of of = {
        .sites = attempt->sites,
        .stream = &attempt->workload->streams[stream],
        .number = stream,
        .requeue = attempt->workload->requeue,
    };
    if (attempt->counts[stream] >= attempt->patterns_max || is_known(attempt, stream, seats)) {
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

/* The machines of a placement, as they come. */
static uint32_t list_machines(const struct seat *seats, uint32_t count, struct seat *machines_out)
{
    uint32_t machines = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = 0;
        while (at < machines && !seat_same_machine(machines_out[at], seats[i])) {
            at++;
        }
        if (at == machines) {
            machines_out[machines++] = seats[i];
        }
    }
    return machines;
}

/*
 * @found with its machines on other sites: machine number i moves on by digit i of @number,
 * written to the base of the number of sites. False if a site is too small for that.
 */
static bool move_machines(
    const struct sites *sites, uint32_t task_count, uint32_t number, struct seat *seats)
{
    struct seat machines[WORKFLOW_TASKS_MAX];
    struct seat moved[WORKFLOW_TASKS_MAX];
    const uint32_t count = list_machines(seats, task_count, machines);
    for (uint32_t i = 0; i < count; i++, number /= sites->site_count) {
        const uint32_t site = (machines[i].site + number) % sites->site_count;
        uint16_t copy = 0;
        for (uint32_t k = 0; k < i; k++) {
            copy = (uint16_t)(copy + (moved[k].site == site ? 1 : 0));
        }
        if (copy > 0 && copy + 1.0 > sites->sites[site].size) {
            return false;
        }
        moved[i] = (struct seat){.site = (uint16_t)site, .copy = copy};
    }
    for (uint32_t i = 0; i < task_count; i++) {
        uint32_t at = 0;
        while (!seat_same_machine(machines[at], seats[i])) {
            at++;
        }
        if (seats[i].slot >= sites->sites[moved[at].site].slot_count) {
            return false;
        }
        seats[i].site = moved[at].site;
        seats[i].copy = moved[at].copy;
    }
    return true;
}

/*
 * The shape of @found on other sites: where one is good, others may be. All ways to choose
 * them if there are few, else some of those that use neighbours. Returns how many are new.
 */
static uint32_t add_alike(struct attempt *attempt, uint32_t stream, const struct seat *found)
{
    const struct sites *sites = attempt->sites;
    const uint32_t task_count = attempt->workload->streams[stream].workflow->task_count;
    struct seat seats[WORKFLOW_TASKS_MAX];
    const uint32_t machines = list_machines(found, task_count, seats);
    uint64_t ways = 1;
    uint64_t along = 0; /* All machines move by one site. */
    for (uint32_t i = 0; i < machines && ways <= ALIKE_MAX; i++) {
        along += ways;
        ways *= sites->site_count;
    }
    const bool all = ways <= ALIKE_MAX;
    const uint32_t count =
        all ? (uint32_t)ways : (sites->site_count < ALIKE_MAX ? sites->site_count : ALIKE_MAX);
    uint32_t added = 0;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(seats, found, task_count * sizeof(*seats));
        const uint64_t number = all ? i : i * along;
        if (number <= UINT32_MAX && move_machines(sites, task_count, (uint32_t)number, seats)) {
            added += attempt_add(attempt, stream, seats) != UINT32_MAX ? 1 : 0;
        }
    }
    return added;
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
            (void)add_alike(attempt, stream, found);
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
    if (isinf(congestion_evaluate(&attempt->congestion, attempt->descent.shares))) {
        return (double)INFINITY;
    }
    count_joins(attempt);
    return congestion_evaluate(&attempt->congestion, attempt->descent.shares);
}

/* The mean slope of a stream: what all of its shares would have at a stationary point. */
static double mean_slope(const struct attempt *attempt, uint32_t stream)
{
    double sum = 0;
    for (uint32_t i = 0; i < attempt->descent.count; i++) {
        if (attempt->patterns.items[i].stream == stream) {
            sum += attempt->descent.shares[i] * attempt->congestion.slopes[i];
        }
    }
    return sum;
}

/* Ask every stream for a better pattern. Returns how many there were. */
static uint32_t extend(struct attempt *attempt)
{
    struct seat found[WORKFLOW_TASKS_MAX];
    uint32_t added = 0;
    for (uint32_t stream = 0; stream < attempt->workload->stream_count; stream++) {
        const double mean = mean_slope(attempt, stream);
        const double best = response_find(&attempt->response, stream, found);
        if (!(best < mean * (1 - GAP_MIN))) {
            continue;
        }
        if (attempt_add(attempt, stream, found) != UINT32_MAX) {
            added++;
            added += add_alike(attempt, stream, found);
        }
    }
    descent_admit(&attempt->descent, SHARE_FRESH);
    return added;
}

double attempt_gap(struct attempt *attempt)
{
    struct seat found[WORKFLOW_TASKS_MAX];
    double gap = 0;
    congestion_slopes(&attempt->congestion);
    for (uint32_t stream = 0; stream < attempt->workload->stream_count; stream++) {
        const double mean = mean_slope(attempt, stream);
        const double best = response_find(&attempt->response, stream, found);
        if (best < mean) {
            gap += attempt->workload->streams[stream].rate / attempt->workload->rate *
                   (mean - best) / attempt->congestion.mean_ns;
        }
    }
    return gap;
}

/* By how much all rates could grow until the fullest queue has half of the room it has now. */
static double growth(const struct attempt *attempt, double part)
{
    double least = (double)INFINITY;
    for (uint32_t i = 0; i < attempt->sites->queue_count; i++) {
        const double others = attempt->sites->queues[i].load;
        const double load = attempt->congestion.loads[i];
        if (load > others) {
            const double limit = part > 0 ? others + part * (1 - others) : (1 + load) / 2;
            const double factor = (limit - others) / (load - others);
            least = factor < least ? factor : least;
        }
    }
    return least;
}

/*
 * From rates that are low enough to the true ones: at each stage the descent makes room where
 * it is missing, because waits are longest there.
 */
static bool find_feasible(struct attempt *attempt)
{
    struct congestion *congestion = &attempt->congestion;
    uint32_t stuck = 0;
    if (!isinf(congestion_evaluate(congestion, attempt->descent.shares))) {
        return true;
    }
    congestion->scale *= growth(attempt, LOAD_START);
    for (uint32_t stage = 0; stage < STAGES_MAX && stuck < STUCK_MAX; stage++) {
        (void)descent_run(&attempt->descent, 20, 1e-4);
        const double factor = growth(attempt, 0);
        if (congestion->scale * factor >= 1) {
            congestion->scale = 1;
            return !isinf(congestion_evaluate(congestion, attempt->descent.shares));
        }
        stuck = factor < 1 + GROWTH_MIN ? stuck + 1 : 0;
        if (attempt->patterns_max > 0 && stage % 4 == 0) {
            congestion_slopes(congestion);
            (void)extend(attempt);
        }
        congestion->scale *= factor;
        (void)congestion_evaluate(congestion, attempt->descent.shares);
    }
    congestion->scale = 1;
    (void)congestion_evaluate(congestion, attempt->descent.shares);
    return false;
}

bool attempt_solve(struct attempt *attempt)
{
    struct descent *descent = &attempt->descent;
    if (!find_feasible(attempt)) {
        return false;
    }
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        (void)attempt_settle(attempt);
        (void)descent_run(descent, 60, 1e-5);
        congestion_slopes(&attempt->congestion);
        if (is_spent(attempt) || extend(attempt) == 0) {
            break;
        }
    }
    (void)attempt_settle(attempt);
    (void)descent_run(descent, 400, 1e-8);
    return true;
}

bool attempt_refresh(struct attempt *attempt)
{
    if (!find_feasible(attempt)) {
        return false;
    }
    (void)attempt_settle(attempt);
    (void)descent_run(&attempt->descent, 60, 1e-6);
    return true;
}

/* What is on a site, in machines: the load of its fullest worker or link. */
static double used_machines(const struct attempt *attempt, uint32_t site)
{
    double most = 0;
    for (uint32_t i = 0; i < attempt->sites->queue_count; i++) {
        const struct queue_site *queue = &attempt->sites->queues[i];
        if (queue->site == site) {
            const double used = (attempt->congestion.loads[i] - queue->load) * queue->copies;
            most = used > most ? used : most;
        }
    }
    return most;
}

/* Whether pattern @index needs more machines of a site than there are. */
static bool is_misfit(const struct attempt *attempt, uint32_t index)
{
    const struct pattern *pattern = &attempt->patterns.items[index];
    const uint32_t tasks = attempt->workload->streams[pattern->stream].workflow->task_count;
    for (uint32_t i = 0; i < tasks; i++) {
        const struct seat seat = attempt->patterns.seats[pattern->seat_first + i];
        if (seat.copy + 1.0 > attempt->sites->sites[seat.site].size) {
            return true;
        }
    }
    return false;
}

/* What does not fit any more is divided among the others. False if nothing of a stream does. */
static bool drop_misfits(struct attempt *attempt)
{
    const uint32_t stream_count = attempt->workload->stream_count;
    double *sums = memory_zeroed(stream_count, sizeof(*sums));
    bool fits = true;
    for (uint32_t i = 0; i < attempt->descent.count; i++) {
        attempt->descent.shares[i] = is_misfit(attempt, i) ? 0 : attempt->descent.shares[i];
        sums[attempt->patterns.items[i].stream] += attempt->descent.shares[i];
    }
    for (uint32_t i = 0; i < stream_count; i++) {
        fits = fits && sums[i] > 0;
    }
    descent_normalise(&attempt->descent);
    free(sums);
    return fits;
}

/* Whole sizes of the sites of @group by largest remainders; none that is used gets nothing. */
static void round_class(struct attempt *attempt, uint32_t group)
{
    struct sites *sites = attempt->sites;
    const uint32_t total = sites->classes[group].node_count;
    double *wanted = memory_zeroed(sites->site_count, sizeof(*wanted));
    uint32_t *whole = memory_zeroed(sites->site_count, sizeof(*whole));
    uint32_t sum = 0;
    for (uint32_t i = 0; i < sites->site_count; i++) {
        wanted[i] = sites->sites[i].machines == group ? sites->sites[i].size : -1;
        if (wanted[i] >= 0 && wanted[i] < 0.5 && used_machines(attempt, i) < 0.25) {
            wanted[i] = -1;
        }
        if (wanted[i] >= 0) {
            whole[i] = wanted[i] < 1 ? 1 : (uint32_t)wanted[i];
            sum += whole[i];
        }
    }
    while (sum != total) {
        uint32_t best = UINT32_MAX;
        for (uint32_t i = 0; i < sites->site_count; i++) {
            const double rest = wanted[i] - whole[i];
            if (wanted[i] < 0 || (sum > total && whole[i] == 1)) {
                continue;
            }
            const bool better =
                best == UINT32_MAX || (sum < total ? rest > wanted[best] - whole[best]
                                                   : rest < wanted[best] - whole[best]);
            best = better ? i : best;
        }
        ASSERT(best != UINT32_MAX);
        whole[best] += sum < total ? 1U : UINT32_MAX;
        sum += sum < total ? 1U : UINT32_MAX;
    }
    for (uint32_t i = 0; i < sites->site_count; i++) {
        if (sites->sites[i].machines == group) {
            sites_resize(sites, i, whole[i] > 0 ? whole[i] : SITE_EMPTY);
        }
    }
    free(whole);
    free(wanted);
}

/* One machine from where it is worth least to where it is worth most, in one class. */
static bool shift_machine(struct attempt *attempt)
{
    struct sites *sites = attempt->sites;
    uint32_t from = UINT32_MAX;
    uint32_t to = UINT32_MAX;
    double gain = 0;
    for (uint32_t a = 0; a < sites->site_count; a++) {
        for (uint32_t b = 0; b < sites->site_count && sites->sites[a].size > 1.5; b++) {
            if (a == b || sites->sites[a].machines != sites->sites[b].machines ||
                sites->sites[b].size < 1) {
                continue;
            }
            const double gained = congestion_size_slope(&attempt->congestion, a) -
                                  congestion_size_slope(&attempt->congestion, b);
            if (gained > gain) {
                gain = gained;
                from = a;
                to = b;
            }
        }
    }
    if (from == UINT32_MAX) {
        return false;
    }
    const double before_ns = attempt->congestion.mean_ns;
    const size_t bytes = attempt->descent.count * sizeof(double);
    double *kept = memory_zeroed(attempt->descent.count, sizeof(*kept));
    memcpy(kept, attempt->descent.shares, bytes);
    sites_resize(sites, from, sites->sites[from].size - 1);
    sites_resize(sites, to, sites->sites[to].size + 1);
    const bool helps =
        drop_misfits(attempt) && descent_run(&attempt->descent, 40, 1e-7) < before_ns * (1 - 1e-9);
    if (!helps) {
        sites_resize(sites, from, sites->sites[from].size + 1);
        sites_resize(sites, to, sites->sites[to].size - 1);
        memcpy(attempt->descent.shares, kept, bytes);
        (void)congestion_evaluate(&attempt->congestion, attempt->descent.shares);
    }
    free(kept);
    return helps;
}

bool attempt_round(struct attempt *attempt)
{
    if (!attempt->descent.sizes_are_free) {
        return true;
    }
    attempt->descent.sizes_are_free = false;
    for (uint32_t group = 0; group < attempt->sites->class_count; group++) {
        round_class(attempt, group);
    }
    attempt->patterns_max = 0; /* Their copies would have to fit, too. */
    if (!drop_misfits(attempt) || !find_feasible(attempt)) {
        return false;
    }
    (void)descent_run(&attempt->descent, 200, 1e-8);
    for (uint32_t i = 0; i < SHIFTS_MAX && shift_machine(attempt); i++) {
    }
    return true;
}
