#include "trace/details.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "trace/tally.h"

static struct details *allocate(
    uint32_t workflow_count, uint32_t task_count, uint32_t model_count, uint32_t worker_count)
{
    struct details *details = memory_zeroed(1, sizeof(*details));
    *details = (struct details){
        .workflow_count = workflow_count,
        .workflows = memory_zeroed(workflow_count + 1, sizeof(*details->workflows)),
        .task_count = task_count,
        .tasks = memory_zeroed(task_count + 1, sizeof(*details->tasks)),
        .model_count = model_count,
        .models = memory_zeroed(model_count + 1, sizeof(*details->models)),
        .worker_count = worker_count,
        .workers = memory_zeroed(worker_count + 1, sizeof(*details->workers)),
    };
    return details;
}

struct details *details_create(const struct fleet *fleet, const struct catalogue *catalogue)
{
    return allocate(
        catalogue->workflow_count, catalogue->queue_count, catalogue->model_count,
        fleet->worker_count);
}

struct details *details_copy(const struct details *details)
{
    struct details *copy = allocate(
        details->workflow_count, details->task_count, details->model_count, details->worker_count);
    copy->total = details->total;
    memcpy(
        copy->workflows, details->workflows, details->workflow_count * sizeof(*details->workflows));
    memcpy(copy->tasks, details->tasks, details->task_count * sizeof(*details->tasks));
    memcpy(copy->models, details->models, details->model_count * sizeof(*details->models));
    memcpy(copy->workers, details->workers, details->worker_count * sizeof(*details->workers));
    return copy;
}

void details_destroy(struct details *details)
{
    if (details == NULL) {
        return;
    }
    free(details->workflows);
    free(details->tasks);
    free(details->models);
    free(details->workers);
    free(details);
}

/* The tasks of a batch share it. */
static double part_of_batch(const struct record *record)
{
    return record->batch == 0 ? 1.0 : 1.0 / (double)record->batch;
}

static struct details_task *task_of(
    struct details *details, const struct catalogue *catalogue, const struct record *record)
{
    const struct workflow *workflow = catalogue->workflows[record->workflow];
    ASSERT(record->task < workflow->task_count);
    return &details->tasks[workflow->queue_first + record->task];
}

static void add_started(
    struct details *details, const struct tally *tally, const struct record *record)
{
    const struct catalogue *catalogue = tally_catalogue(tally);
    const struct workflow_task *kind = &catalogue->workflows[record->workflow]->tasks[record->task];
    const struct latency_task *known = tally_task(tally, record);
    struct details_task *task = task_of(details, catalogue, record);
    struct details_worker *worker = &details->workers[record->worker];
    task->started++;
    task->batches += part_of_batch(record);
    task->items += (double)record->value * part_of_batch(record);
    if (known != NULL) {
        task->loading_ns += known->loading_ns;
        task->queued_ns += known->started_ns - known->queued_ns - known->loading_ns;
    }
    worker->started++;
    worker->batches += part_of_batch(record);
    for (uint32_t i = 0; i < kind->model_count; i++) {
        details->models[kind->models[i]].needed++;
    }
}

static void add_ended(
    struct details *details, const struct tally *tally, const struct record *record)
{
    const double units = (double)tally_fleet(tally)->workers[record->worker].gpu_units;
    const double share = record->gpu == 0 ? 1.0 : (double)record->gpu / units;
    task_of(details, tally_catalogue(tally), record)->running_ns += record->value;
    details->workers[record->worker].busy_ns +=
        (double)record->value * share * part_of_batch(record);
}

void details_add(struct details *details, const struct tally *tally, const struct record *record)
{
    switch (record->kind) {
    case RECORD_STARTED:
        add_started(details, tally, record);
        return;
    case RECORD_ENDED:
        add_ended(details, tally, record);
        return;
    case RECORD_LOADING:
        details->models[record->model].loads++;
        details->workers[record->worker].loads++;
        return;
    case RECORD_LOADED: {
        const int64_t took_ns = tally_load_ns(tally, record->worker, record->model);
        details->models[record->model].loaded++;
        details->models[record->model].loading_ns += took_ns;
        details->workers[record->worker].loading_ns += took_ns;
        return;
    }
    case RECORD_EVICTED:
        details->models[record->model].evictions++;
        details->workers[record->worker].evictions++;
        return;
    default:
        return;
    }
}
