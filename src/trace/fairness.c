#include "trace/fairness.h"

#include <stdbool.h>

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
