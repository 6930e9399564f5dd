#include "node/batches.h"

#include <stddef.h>
#include <string.h>

#include "base/numbers.h"
#include "node/access.h"
#include "node/chains.h"
#include "node/model_cache.h"
#include "node/rows.h"
#include "profile/fresh.h"

/* A run counts one part in this many. */
enum { SLOWER_WEIGHT = 8, FASTER_WEIGHT = 4 };

#define SHARE_SLICE UINT32_C(256)

_Static_assert(GPU_UNITS_MAX < 256, "units and slice of a share are told apart");

static const struct workflow_task *kind_of(const struct node *node, const struct batch *batch)
{
    return &workflow_at(node, batch->workflow)->tasks[batch->task];
}

/* Processors belong to the machine: every worker's row shows them. */
void batches_changed(struct node *node, struct worker *worker, uint32_t slot)
{
    const uint32_t cpu = batch_at(node, slot)->config.cpu;
    rows_load_changed(node, worker);
    for (uint32_t i = 0; cpu > 0 && i < node->worker_count; i++) {
        if (&node->workers[i] != worker) {
            rows_load_changed(node, &node->workers[i]);
        }
    }
}

uint32_t batches_open(
    struct node *node, struct worker *worker, uint32_t workflow, uint32_t task,
    struct config config)
{
    const uint32_t slot = pool_take_raw(&node->pools->batches);
    ASSERT(slot != POOL_NONE);
    struct batch *batch = batch_at(node, slot);
    memset(batch, 0, offsetof(struct batch, tasks)); /* Those are many, and mostly not used. */
    batch->worker = worker->id;
    batch->workflow = workflow;
    batch->task = task;
    batch->config = config;
    batch->grant = POOL_NONE;
    batch->next = worker->batches;
    worker->batches = slot;
    ASSERT(config.cpu <= node->cpu_free);
    batch->share = sharing_take(worker->spec, &worker->shares, config.gpu);
    node->cpu_free -= config.cpu;
    return slot;
}

struct estimate batches_estimate(const struct node *node, const struct batch *batch)
{
    const struct fleet_worker *spec = &node->fleet->workers[batch->worker];
    const struct config shares = {
        .batch = batch->items,
        .cpu = batch->config.cpu,
        .gpu = batch->config.gpu == spec->gpu_units ? 0 : batch->config.gpu,
        .parts = batch->config.parts,
    };
    struct estimate estimate =
        profile_run(node->profile, kind_of(node, batch)->run, spec->device, batch->items, shares);
    estimate.run_ns += batch->first_run_ns;
    return estimate;
}

/*
 * Some runs take long by chance, so that only several of them make a worker slow. What is faster
 * than that counts more: a worker that has recovered is given little to show it with.
 */
void batches_learn(
    const struct node *node, struct worker *worker, const struct batch *batch, int64_t run_ns)
{
    const int64_t one = SLOWNESS_ONE;
    const int64_t planned_ns = max_i64(batches_estimate(node, batch).run_ns, 1);
    const int64_t took = min_i64(run_ns, DURATION_NS_MAX / one) * one / planned_ns;
    const int64_t known = worker->slowness;
    const int64_t weight = took > known ? SLOWER_WEIGHT : FASTER_WEIGHT;
    const int64_t slowness = known + (min_i64(took, SLOWNESS_MAX) - known) / weight;
    worker->slowness = (uint32_t)max_i64(slowness, one);
}

/* What the host calls a share: its units and, of an instance, where it starts. */
static uint32_t share_name(const struct share *share)
{
    return share->gpu + share->slice * SHARE_SLICE;
}

/* Whether @share can be used at once. Sizes stay ready; instances as long as they are there. */
static bool is_ready(const struct worker *worker, const struct share *share)
{
    if (worker->spec->reshape_ns == 0) {
        return true;
    }
    if (worker->spec->sharing == SHARES_MIG) {
        return !share->is_new;
    }
    return share->gpu == worker->spec->gpu_units ||
           bitset_has(worker->shares_ready, share->gpu - 1);
}

static void emit_launch(struct node *node, uint32_t slot)
{
    struct batch *batch = batch_at(node, slot);
    batch_state_move(&batch->state, BATCH_RUNNING);
    struct effect *effect = effect_add(node, EFFECT_LAUNCH);
    effect->launch = (struct effect_launch){
        .batch = slot,
        .worker = batch->worker,
        .workflow = batch->workflow,
        .task = batch->task,
        .config = batch->config,
        .slice = batch->share.slice,
        .items = batch->items,
        .task_count = batch->task_count,
        .edition = job_edition(visit_at(node, task_at(node, batch->tasks[0])->visit)->job),
    };
    for (uint32_t i = 0; i < batch->task_count; i++) {
        const struct task *task = task_at(node, batch->tasks[i]);
        struct record *record = trace_task(node, RECORD_STARTED, visit_at(node, task->visit), task);
        record->value = batch->items;
        record->batch = (uint16_t)batch->task_count;
        record->gpu = (uint16_t)batch->config.gpu;
        record->cpu =
            (uint16_t)max_u32(batch->config.cpu, batch->config.parts > 1 ? batch->config.parts : 0);
    }
}

/* Whether @kind runs a model whose items can be told apart. */
static bool can_split(const struct node *node, const struct workflow_task *kind)
{
    bool is_model = false;
    for (uint32_t i = 0; i < kind->model_count; i++) {
        is_model = is_model || kind->models[i] == kind->run;
    }
    return is_model && !node->profile->models[kind->run].alone;
}

static bool is_idle(const struct worker *worker)
{
    return worker->spec->splits && !worker->lost && worker->running == 0 && worker->queued == 0;
}

/*
 * Into how many parts to split @batch: one for each processor that would be idle. It has to gain
 * more time than the parts take longer in all, since others may want those processors soon.
 */
static uint32_t parts_of(
    const struct node *node, const struct worker *worker, const struct batch *batch)
{
    const struct workflow_task *kind = kind_of(node, batch);
    const uint32_t device = worker->spec->device;
    uint32_t parts = 1;
    if (!node->seat.pools || !worker->spec->splits || batch->items < 2 || !can_split(node, kind)) {
        return 1;
    }
    for (uint32_t i = 0; i < node->worker_count; i++) {
        const struct worker *other = &node->workers[i];
        parts += other != worker && is_idle(other) ? 1 : 0;
    }
    const struct config split = {.batch = batch->items, .parts = min_u32(parts, batch->items)};
    const struct config whole = {.batch = batch->items};
    const int64_t part_ns =
        profile_run(node->profile, kind->run, device, batch->items, split).run_ns;
    const int64_t whole_ns =
        profile_run(node->profile, kind->run, device, batch->items, whole).run_ns;
    return whole_ns - part_ns > split.parts * part_ns - whole_ns ? split.parts : 1;
}

void batches_start(struct node *node, struct worker *worker, uint32_t slot)
{
    struct batch *batch = batch_at(node, slot);
    const struct workflow_task *kind = kind_of(node, batch);
    batch->config.parts = parts_of(node, worker, batch);
    batch->workspace_bytes = profile_workspace_bytes(node->profile, kind->run, batch->items);
    batch->first_run_ns = fresh_take_ns(&worker->fresh, node->profile, kind, worker->spec->device);
    batch->ends_at_ns = now_ns(node) + slowed_ns(worker, batches_estimate(node, batch).run_ns);
    worker->running += batch->task_count;
    node->running += batch->task_count;
    worker->bank->used_bytes += batch->workspace_bytes;
    cache_use(node, worker, kind);
    chains_note(node, batch);
    batches_changed(node, worker, slot);

    if (is_ready(worker, &batch->share)) {
        emit_launch(node, slot);
        return;
    }
    batch_state_move(&batch->state, BATCH_SHAPING);
    struct effect *effect = effect_add(node, EFFECT_RESHAPE);
    effect->reshape.worker = worker->id;
    effect->reshape.share = share_name(&batch->share);
}

void batches_share_ready(struct node *node, struct worker *worker, uint32_t share)
{
    const uint32_t gpu = share % SHARE_SLICE;
    if (gpu == 0 || gpu > worker->spec->gpu_units) {
        return;
    }
    if (worker->spec->sharing != SHARES_MIG) {
        bitset_add(worker->shares_ready, gpu - 1);
    }
    struct record *record = trace(node, RECORD_SHAPED, REASON_NONE);
    record->worker = worker->id;
    record->value = gpu;
    for (uint32_t slot = worker->batches; slot != POOL_NONE; slot = batch_at(node, slot)->next) {
        const struct batch *batch = batch_at(node, slot);
        if (batch->state == BATCH_SHAPING && share_name(&batch->share) == share) {
            emit_launch(node, slot);
        }
    }
}

/* What waits for processors of this machine may have @cpu of them now. */
static void give_processors(struct node *node, uint32_t cpu)
{
    node->cpu_free += cpu;
    for (uint32_t i = 0; cpu > 0 && i < node->worker_count; i++) {
        node->workers[i].touched = node->workers[i].touched || node->workers[i].queued > 0;
    }
}

void batches_close(struct node *node, struct worker *worker, uint32_t slot)
{
    struct batch *batch = batch_at(node, slot);
    uint32_t *link = &worker->batches;
    while (*link != slot) {
        link = &batch_at(node, *link)->next;
    }
    *link = batch->next;
    sharing_give(worker->spec, &worker->shares, &batch->share, batch->state == BATCH_RUNNING);
    give_processors(node, batch->config.cpu);
    if (batch->state != BATCH_GATHERING) {
        worker->running -= batch->task_count;
        node->running -= batch->task_count;
        worker->bank->used_bytes -= batch->workspace_bytes;
        cache_unuse(node, worker, kind_of(node, batch));
    }
    batch_state_move(&batch->state, BATCH_GONE);
    batches_changed(node, worker, slot);
}
