#include "mixture/warm_start.h"

#include <math.h>

#include "mixture/draft.h"
#include "mixture/draft_mixture.h"
#include "mixture/mixture.h"
#include "mixture/program.h"
#include "mixture/sites.h"
#include "mixture/workload.h"

/* Of an even share. All that have less were about to vanish, and are a hundredth together. */
#define SHARE_LEAST 0.01

#define POOR 1.05 /* Times what is to be expected. */

enum { STEPS_MAX = 60 };

struct draft *warm_start_solve(
    const struct program_input *input, const struct program_options *options,
    const struct workload *workload, uint64_t *evaluations)
{
    struct draft *draft =
        draft_create(workload, draft_sites_of(options->start, input, /* joined */ true));
    draft->patterns_max = options->patterns_max;
    draft->descent.evaluations_max = options->evaluations_max;
    bool is_feasible =
        draft_from_mixture(draft, options->start, SHARE_LEAST, /* error */ NULL) == WEFT_OK &&
        draft_find_feasible(draft);
    if (is_feasible) {
        (void)draft_settle(draft);
        (void)descent_run(&draft->descent, STEPS_MAX, 1e-5);
        is_feasible = !isinf(draft_settle(draft));
    }
    *evaluations += draft_evaluations(draft);
    if (!is_feasible) {
        draft_destroy(draft);
        return NULL;
    }
    return draft;
}

/* The mean utilisation of all workers. */
static double mean_load(const struct draft *draft)
{
    const struct sites *sites = draft->sites;
    double sum = 0;
    double count = 0;
    for (uint32_t i = 0; i < sites->site_count; i++) {
        const struct site *site = &sites->sites[i];
        for (uint32_t slot = 0; slot < site->slot_count; slot++) {
            sum += site->size * draft->congestion.loads[site->worker_first + slot];
            count += site->size;
        }
    }
    return sum / count;
}

/* How much longer queues are at a utilisation of @load than at @before, if they are. */
static double growth(double load, double before)
{
    const double longer = load < 1 && before > 0 ? load * (1 - before) / (before * (1 - load)) : 1;
    return longer > 1 ? longer : 1;
}

bool warm_start_is_poor(const struct draft *draft, const struct mixture *start)
{
    const struct workload *workload = draft->workload;
    double before = 0;
    double expected_ns = 0;
    for (uint32_t i = 0; i < start->worker_count; i++) {
        before += start->worker_load[i] / start->worker_count;
    }
    for (uint32_t i = 0; i < workload->stream_count; i++) {
        const double mean_ns = start->workflows[workload->streams[i].number].mean_ns;
        if (!(mean_ns > 0)) {
            return false;
        }
        expected_ns += workload->streams[i].rate / workload->rate * mean_ns;
    }
    expected_ns *= growth(mean_load(draft), before);
    return draft->congestion.mean_ns > POOR * expected_ns;
}
