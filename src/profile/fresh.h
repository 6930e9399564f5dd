/*
 * fresh.h - models that were loaded and have not run yet.
 *
 * Their first run takes longer: pages of weights are not mapped yet, and no cache has any of them.
 * Devices, real or not, and the nodes that plan for them count it in the same way: once for each
 * model of a task that is fresh.
 */
#ifndef PROFILE_FRESH_H
#define PROFILE_FRESH_H

#include "base/bitset.h"
#include "model/workflow.h"
#include "profile/profile.h"

/* What the first run with @model after a load takes longer on @device. */
static inline int64_t profile_first_run_ns(
    const struct profile *profile, uint32_t model, uint32_t device)
{
    return profile->models[model].curves[device].first_run_ns;
}

/*
 * What it costs in all that @model is not resident on @worker: its load, which other work may hide,
 * and what the first run takes longer.
 */
static inline int64_t profile_absent_ns(
    const struct profile *profile, uint32_t model, const struct fleet_worker *worker)
{
    return profile_load_ns(profile, model, worker) +
           profile_first_run_ns(profile, model, worker->device);
}

/* A task of @kind begins on @device: what it takes longer for its models, @fresh no more. */
static inline int64_t fresh_take_ns(
    struct model_set *fresh, const struct profile *profile, const struct workflow_task *kind,
    uint32_t device)
{
    int64_t sum_ns = 0;
    for (uint32_t i = 0; i < kind->model_count; i++) {
        if (model_set_has(fresh, kind->models[i])) {
            sum_ns += profile_first_run_ns(profile, kind->models[i], device);
            model_set_remove(fresh, kind->models[i]);
        }
    }
    return sum_ns;
}

#endif /* PROFILE_FRESH_H */
