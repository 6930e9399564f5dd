#include "service/local_repository.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/units.h"
#include "onnx/local.h"
#include "process/process.h"
#include "profile/builtin.h"
#include "runtime/remote.h"
#include "service/gpu_watch.h"
#include "service/local_notes.h"
#include "service/rollout.h"
#include "service/synthetic.h"

#define TELL_NS NS_PER_S        /* Between two times that other nodes are told. */
#define SAVE_NS (60 * NS_PER_S) /* Between two times that the profile is saved. */

enum {
    TOLD_MAX = 16,         /* At a time, */
    TOLD_JOINED_MAX = 4096 /* and to a node that has joined. */
};

enum weft_status local_repository_open(
    struct local_repository *local, struct repository *repository, struct nursery *nursery,
    bool is_silent, struct log *log, struct weft_error *error)
{
    ASSERT(nursery == NULL || nursery->repository == repository);
    struct machine machine;
    struct local_notes notes = {.log = log, .is_silent = is_silent};
    struct model_set rehearsed = {0};
    struct measure_request request = {.nursery = nursery, .rehearsed = &rehearsed};
    *local = (struct local_repository){.log = log};
    enum weft_status status =
        samples_load(repository->folder, repository->catalogue, &local->samples, error);
    if (status != WEFT_OK) {
        return status;
    }
    samples_models(local->samples, &rehearsed);
    if (nursery != NULL) {
        machine = nursery->machine;
    } else {
        machine_read(&machine);
    }
    local_notes_cache(log);
    local_notes_start(&notes, &request);
    status = measure_repository(repository, &machine, &request, &local->measured, error);
    local_notes_end(&notes);
    if (status != WEFT_OK) {
        samples_destroy(local->samples);
        return status;
    }
    local_notes_workflows(log, &local->measured);
    local->nursery = nursery;
    local->artifacts = artifacts_of(repository);
    for (uint32_t i = 0; i < local->artifacts.count; i++) {
        local->artifacts.items[i].bytes =
            local->measured.document.profile->models[i].resident_bytes;
    }
    local->kinds_met = local->measured.kind_count;
    local->refine = refine_create(local->measured.document.profile);
    local_index_init(&local->index, &local->measured);
    local->index.log = log;
    local->rollout = rollout_create(&local->index, &local->artifacts);
    local->index.rollout = local->rollout;
    if (repository->settings.is_member) { /* While no client waits for this thread. */
        rollout_read(local->rollout, local_notes_read, &notes);
        local_notes_end(&notes);
    }
    local->shown = local_index_parts(&local->index);
    return WEFT_OK;
}

static void save(struct local_repository *local)
{
    struct weft_error error = {.status = WEFT_OK};
    if (refine_count(local->refine) == local->saved) {
        return;
    }
    local->saved = refine_count(local->refine);
    refine_learn_workspaces(local->refine);
    const bool is_saved = measured_save(&local->measured, &error) == WEFT_OK;
    if (!is_saved && !local->measured.is_unsaved) { /* Once; it serves all the same. */
        local_notes_unsaved(local->log, error.message);
    }
    local->measured.is_unsaved = !is_saved;
}

void local_repository_close(struct local_repository *local)
{
    if (local->refine != NULL) {
        save(local);
    }
    refine_destroy(local->refine);
    samples_destroy(local->samples);
    rollout_destroy(local->rollout);
    artifacts_free(&local->artifacts);
    local_index_deinit(&local->index);
    measured_close(&local->measured);
}

/* A process ended that was not told to: what waited for it is told, and so is the operator. */
static void on_ended(void *context, uint32_t worker, const char *message)
{
    const struct local_repository *local = context;
    const struct log_field fields[] = {log_number("worker", worker), log_text("cause", message)};
    log_say(local->log, LOG_ERROR, "engine process ended", 2, fields);
}

static struct engine *make_engine(
    void *context, const struct engine_host *host, struct uv_loop_s *loop, struct weft_error *error)
{
    struct local_repository *local = context;
    const struct settings *settings = &local->measured.repository->settings;
    struct engine *engine = NULL;
    enum weft_status status;
    if (local->nursery != NULL && settings->isolate == ISOLATE_ALL) {
        const struct engine_process_options options = {
            .fleet = local->measured.fleet,
            .catalogue = local->measured.repository->catalogue,
            .artifacts = &local->artifacts,
            .server = &local->nursery->server,
            .loop = loop,
            .run_ns_max = settings->run_ns_max,
            .keeps_weights = true,
            .spin_ns = settings->gpus.spin_ns,
            .host = *host,
            .on_ended = on_ended,
            .context = local,
        };
        status = engine_process_create(&options, &engine, error);
    } else {
        const struct engine_local_options options = {
            .fleet = local->measured.fleet,
            .catalogue = local->measured.repository->catalogue,
            .artifacts = &local->artifacts,
            .loop = loop,
            .isolate = settings->isolate != ISOLATE_NOTHING,
            .function_limits = function_limits_of(settings),
            .host = *host,
        };
        status = engine_local_create(&options, &engine, error);
    }
    return status == WEFT_OK ? engine : NULL;
}

/* Tell the other nodes up to @most things that they have not heard. */
static void tell_some(struct local_repository *local, uint32_t most)
{
    struct learnt news;
    for (uint32_t i = 0; i < most && refine_tell(local->refine, &news); i++) {
        news.kind = hash_text(local->measured.fleet->devices[news.device]);
        runtime_tell_learnt(local->runtime, &news);
    }
}

/* Tell the other nodes what has changed, if it is time to. Nothing is told of an idle node. */
static void tell(struct local_repository *local)
{
    if (local->runtime == NULL) { /* Samples are tried before there is anyone to tell. */
        return;
    }
    const int64_t now_ns = runtime_now_ns(local->runtime);
    if (now_ns - local->told_ns < TELL_NS) {
        return;
    }
    local->told_ns = now_ns;
    tell_some(local, TOLD_MAX);
}

/* The number of the kind of device that node @from has and that has this hash. WORKER_NONE: none.
 */
static uint32_t find_kind(const struct fleet *fleet, uint32_t from, uint64_t kind)
{
    const struct fleet_node *node = &fleet->nodes[from];
    for (uint32_t i = 0; i < node->worker_count; i++) {
        const uint32_t device = fleet->workers[node->worker_first + i].device;
        if (hash_text(fleet->devices[device]) == kind) {
            return device;
        }
    }
    return WORKER_NONE;
}

/*
 * Of kinds that it does not have, a node cannot know anything. Of those that this machine does not
 * have, nothing is known but what such nodes say.
 */
static void on_learnt(void *context, uint32_t from, const struct learnt *heard)
{
    struct local_repository *local = context;
    struct learnt learnt = *heard;
    struct profile *profile = local->measured.document.profile;
    learnt.device = find_kind(local->measured.fleet, from, heard->kind);
    if (learnt.device == WORKER_NONE || learnt.model >= profile->model_count) {
        return;
    }
    if (learnt.device >= local->measured.kind_count) {
        profile->models[learnt.model].barred &= ~(UINT32_C(1) << learnt.device);
        (void)refine_hear(local->refine, &learnt);
    } else if (refine_hear(local->refine, &learnt)) {
        model_set_add(&local->measured.document.listed, learnt.model);
    }
}

static void on_joined(void *context)
{
    struct local_repository *local = context;
    const bool differs = local->measured.fleet->has_slots;
    refine_tell_again(local->refine, differs ? local->measured.kind_count : 0);
    if (differs) { /* It may wait for that before it places anything here. */
        tell_some(local, TOLD_JOINED_MAX);
    }
}

/* Until a node that has them says otherwise, nothing but what takes no time runs on new kinds. */
static void on_machine(void *context)
{
    struct local_repository *local = context;
    const uint32_t device_count = local->measured.fleet->device_count;
    struct profile *profile = local->measured.document.profile;
    for (; local->kinds_met < device_count; local->kinds_met++) {
        for (uint32_t i = 0; i < profile->model_count; i++) {
            if (local->measured.repository->files[i].kind != REPOSITORY_BUILTIN) {
                profile->models[i].barred |= UINT32_C(1) << local->kinds_met;
            }
        }
    }
    profile_add_builtin(profile, local->measured.repository->catalogue, device_count);
}

/* The units of a GPU that a batch had, as profiles learn them. */
static uint32_t share_of(const struct fleet_worker *worker, struct config config)
{
    return config.gpu > 0 && config.gpu < worker->gpu_units ? config.gpu : REFINE_ALL_UNITS;
}

static void on_ran(void *context, const struct runtime_ran *ran)
{
    struct local_repository *local = context;
    const struct fleet_worker *worker = &local->measured.fleet->workers[ran->worker];
    const bool is_gpu = worker->device != 0;
    const struct refine_ran seen = {
        .model = ran->model,
        .device = worker->device,
        .is_shared = ran->is_disturbed,
        .gpu = is_gpu ? share_of(worker, ran->config) : 0,
        .fresh_count = ran->fresh_count,
        .fresh = ran->fresh,
        .items = config_items(ran->config, ran->items),
        .slowing = ran->slowing,
        .run_ns = ran->run_ns,
        .handoff_ns = max_i64(ran->took_ns - ran->run_ns, 0),
    };
    refine_run(local->refine, &seen);
    for (uint32_t i = 0; i < ran->usage_count; i++) {
        const struct engine_usage *usage = &ran->usages[i];
        refine_workspace(local->refine, usage->model, usage->items, usage->bytes);
    }
    if (!is_gpu) {
        model_set_add(&local->measured.document.listed, ran->model);
    }
    tell(local);
}

static void on_loaded(void *context, const struct runtime_loaded *loaded)
{
    struct local_repository *local = context;
    if (local->measured.fleet->workers[loaded->worker].device != 0) {
        return;
    }
    refine_load(local->refine, loaded->model, loaded->load_ns, loaded->bytes);
    model_set_add(&local->measured.document.listed, loaded->model);
}

static struct handle make_inputs(
    void *context, struct runtime *runtime, uint32_t workflow, uint32_t items, uint32_t *number_out)
{
    const struct local_repository *local = context;
    const struct workflow *run = local->measured.repository->catalogue->workflows[workflow];
    struct bundle *bundle = samples_next(local->samples, workflow, number_out);
    if (bundle == NULL) {
        bundle = synthetic_bundle(run->inputs, run->input_count, items == 0 ? 1 : items);
    }
    const uint64_t bytes = bundle == NULL ? 0 : bundle->bytes;
    return runtime_tensor(runtime, bundle, bytes, bundle_destroy);
}

static void on_answer(
    void *context, const struct runtime *runtime, uint32_t workflow, uint32_t number,
    const struct runtime_answer *answer)
{
    const struct local_repository *local = context;
    samples_judge(local->samples, runtime, workflow, number, answer);
}

static void on_time(void *context)
{
    struct local_repository *local = context;
    save(local);
    runtime_call_at(
        local->runtime, runtime_now_ns(local->runtime) + SAVE_NS, /* background */ true, on_time,
        local);
}

static enum weft_status open_part(void *context, struct runtime *runtime, struct weft_error *error)
{
    struct local_repository *local = context;
    (void)error;
    local->runtime = runtime;
    local->index.gpus = gpu_watch_start(local->measured.fleet, runtime);
    local_index_join(&local->index, runtime);
    rollout_open(local->rollout);
    runtime_hear(
        runtime, &(struct runtime_hearing){
                     .context = local, .on_learnt = on_learnt, .on_joined = on_joined});
    runtime_call_at(
        runtime, runtime_now_ns(runtime) + SAVE_NS, /* background */ true, on_time, local);
    return WEFT_OK;
}

static void close_part(void *context)
{
    struct local_repository *local = context;
    save(local);
    local->runtime = NULL;
    rollout_close(local->rollout);
    local_index_leave(&local->index);
    gpu_watch_stop(local->index.gpus);
    local->index.gpus = NULL;
}

static void on_rehearsed(
    void *context, const struct runtime *runtime, uint32_t workflow,
    const struct runtime_answer *answer)
{
    struct local_repository *local = context;
    local_index_learn(&local->index, runtime, workflow, answer);
}

static void reload(void *context)
{
    struct local_repository *local = context;
    local_change_reload(&local->index);
}

struct service_parts local_repository_parts(struct local_repository *local)
{
    return (struct service_parts){
        .engine = {local, make_engine, on_ran, on_loaded},
        .context = local,
        .make_inputs = make_inputs,
        .on_answer = on_answer,
        .on_rehearsed = on_rehearsed,
        .repository = &local->shown,
        .index = &local->index,
        .open = open_part,
        .reload = reload,
        .on_machine = on_machine,
        .close = close_part,
    };
}
