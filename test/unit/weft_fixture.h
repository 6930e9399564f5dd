/*
 * weft_fixture.h - a cluster whose tasks weft places one by one, as they become ready.
 */
#ifndef UNIT_WEFT_FIXTURE_H
#define UNIT_WEFT_FIXTURE_H

#include "base/units.h"
#include "policy_fixture.h"

/* @task_count tasks, each of a model of its own that takes @run_ns. Nothing joins them yet. */
static inline void weft_tasks(struct cluster *cluster, uint32_t task_count, int64_t run_ns)
{
    for (uint32_t model = 0; model < task_count; model++) {
        cluster_run(cluster, model, /* device */ 0, /* items */ 1, run_ns);
        (void)cluster_task(cluster, model);
    }
}

/* Seat weft with @options, of the form ":name=value". */
static inline void weft_seat(struct cluster *cluster, const char *options)
{
    char text[160];
    (void)snprintf(text, sizeof(text), "weft%s", options);
    cluster_seat(cluster, text);
}

/* Where @task goes, whose input of @bytes is on worker 0; others have gone where @placement says.
 */
static inline uint32_t weft_place_beside(
    struct cluster *cluster, uint32_t task, uint64_t bytes, const uint16_t *placement)
{
    const struct input_facts from = {.worker = 0, .bytes = bytes};
    const struct task_facts facts = {
        .job = &cluster->job,
        .placement = placement,
        .task = task,
        .items = 1,
        .planned = WORKER_NONE,
        .here = 0,
        .input_count = 1,
        .inputs = &from,
    };
    return policy_place_task(&cluster->seat, &facts);
}

/* Where @task goes, whose input of @bytes is on worker 0, like the first task. */
static inline uint32_t weft_place(struct cluster *cluster, uint32_t task, uint64_t bytes)
{
    const uint16_t placement[4] = {0, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND};
    assert_in_range(cluster->graph->task_count, 1, ARRAY_COUNT(placement));
    return weft_place_beside(cluster, task, bytes, placement);
}

#endif /* UNIT_WEFT_FIXTURE_H */
