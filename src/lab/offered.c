#include "lab/offered.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/units.h"
#include "model/builtin.h"
#include "model/items.h"

enum { JOBS = 4000 }; /* Drawn to take means over. */

struct drawing {
    const struct scenario *scenario;
    struct offered *offered;
    uint32_t counts[WORKFLOWS_MAX];
};

/* On the kind of device that runs it fastest. */
static double run_s(const struct scenario *scenario, uint32_t model, uint32_t items)
{
    int64_t best_ns = INT64_MAX;
    for (uint32_t i = 0; i < scenario->fleet->device_count; i++) {
        if (profile_is_measured(scenario->profile, model, i)) {
            const int64_t run_ns = profile_run_alone_ns(scenario->profile, model, i, items);
            best_ns = run_ns < best_ns ? run_ns : best_ns;
        }
    }
    return best_ns == INT64_MAX ? 0 : (double)best_ns / (double)NS_PER_S;
}

/* One job of workflow @number whose request has @items items. */
static void draw_job(struct drawing *drawing, uint32_t number, uint32_t items, struct job_id job)
{
    const struct scenario *scenario = drawing->scenario;
    const struct workflow *workflow = scenario->catalogue->workflows[number];
    uint32_t given[WORKFLOW_TASKS_MAX];
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        const uint32_t task = workflow->order[i];
        struct offered_task *sum = &drawing->offered->tasks[workflow->queue_first + task];
        uint32_t most = workflow->tasks[task].in_count == 0 ? items : 0;
        for (uint32_t k = 0; k < workflow->tasks[task].in_count; k++) {
            most = max_u32(most, given[workflow_in(workflow, task, k)->from]);
        }
        given[task] = items_given(&workflow->tasks[task], job, task, most);
        sum->items += most;
        sum->run_s += run_s(scenario, workflow->tasks[task].run, most);
    }
    drawing->counts[number]++;
}

static void draw_jobs(struct drawing *drawing)
{
    const struct scenario *scenario = drawing->scenario;
    struct arrival_stream stream;
    struct arrival arrival;
    struct job_id job = {.number = 0};
    arrival_stream_init(&stream, &scenario->arrivals, scenario->catalogue, scenario->seeds[0]);
    for (;
         job.number < JOBS && job.number < scenario->jobs && arrival_stream_next(&stream, &arrival);
         job.number++) {
        draw_job(drawing, arrival.workflow, max_u32(arrival.items, 1), job);
    }
    for (uint32_t i = 0; i < scenario->catalogue->workflow_count; i++) {
        if (drawing->counts[i] == 0) { /* Rare. */
            draw_job(drawing, i, /* items */ 1, job);
        }
    }
}

void offered_init(struct offered *offered, const struct scenario *scenario)
{
    const struct catalogue *catalogue = scenario->catalogue;
    struct drawing drawing = {.scenario = scenario, .offered = offered};
    *offered = (struct offered){.worker_count = scenario->fleet->worker_count};
    offered->tasks = memory_zeroed(catalogue->queue_count + 1, sizeof(*offered->tasks));
    if (arrivals_rates(&scenario->arrivals, catalogue, offered->rates)) {
        for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
            offered->rate_per_s += offered->rates[i];
        }
    }
    draw_jobs(&drawing);
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        for (uint32_t task = 0; task < workflow->task_count; task++) {
            struct offered_task *mean = &offered->tasks[workflow->queue_first + task];
            mean->items /= drawing.counts[i];
            mean->run_s /= drawing.counts[i];
            offered->busy += offered->rates[i] * mean->run_s;
        }
    }
}

void offered_deinit(struct offered *offered)
{
    free(offered->tasks);
    *offered = (struct offered){.tasks = NULL};
}
