#include "trace/fairness.h"

#include <stdbool.h>

#include "base/numbers.h"
#include "trace/quantiles.h"

/* A missed SLO is worse than any slow-down. */
static bool is_worse(const struct fairness_row *row, const struct fairness_row *than)
{
    const double hits = FIGURE_IS_NONE(row->slo_hit_rate) ? 1 : row->slo_hit_rate;
    const double others = FIGURE_IS_NONE(than->slo_hit_rate) ? 1 : than->slo_hit_rate;
    if (hits != others) {
        return hits < others;
    }
    return row->slowdown > than->slowdown ||
           (FIGURE_IS_NONE(than->slowdown) && !FIGURE_IS_NONE(row->slowdown));
}

void fairness_judge(struct fairness *fairness)
{
    double sum = 0;
    double squares = 0;
    uint32_t count = 0;
    fairness->worst = UINT32_MAX;
    for (uint32_t i = 0; i < fairness->count; i++) {
        const struct fairness_row *row = &fairness->rows[i];
        if (FIGURE_IS_NONE(row->slowdown) && FIGURE_IS_NONE(row->slo_hit_rate)) {
            continue;
        }
        if (!FIGURE_IS_NONE(row->slowdown)) {
            sum += row->slowdown;
            squares += row->slowdown * row->slowdown;
            count++;
        }
        if (fairness->worst == UINT32_MAX || is_worse(row, &fairness->rows[fairness->worst])) {
            fairness->worst = i;
        }
    }
    fairness->index = count == 0 || squares <= 0 ? FIGURE_NONE : sum * sum / (count * squares);
}

/* Those of @priority. False: no workflow has it. */
static bool judge_level(
    const struct fairness *fairness, uint32_t priority, struct fairness_level *level_out)
{
    double slowdowns = 0;
    uint64_t counted = 0;
    uint64_t jobs = 0;
    uint64_t hits = 0;
    bool is_used = false;
    for (uint32_t i = 0; i < fairness->count; i++) {
        const struct fairness_row *row = &fairness->rows[i];
        if (min_u32(row->priority, PRIORITY_MAX) != priority) {
            continue;
        }
        is_used = true;
        jobs += row->slo_jobs;
        hits += row->slo_hits;
        if (!FIGURE_IS_NONE(row->slowdown)) {
            slowdowns += row->slowdown * (double)row->counted;
            counted += row->counted;
        }
    }
    *level_out = (struct fairness_level){
        .priority = priority,
        .slowdown = counted == 0 ? FIGURE_NONE : slowdowns / (double)counted,
        .slo_hit_rate = jobs == 0 ? FIGURE_NONE : (double)hits / (double)jobs,
    };
    return is_used;
}

uint32_t fairness_levels(
    const struct fairness *fairness, struct fairness_level levels_out[PRIORITY_MAX + 1])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i <= PRIORITY_MAX; i++) {
        count += judge_level(fairness, PRIORITY_MAX - i, &levels_out[count]) ? 1 : 0;
    }
    return count;
}
