/* load.c - the thread that loads weights. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "cuda/versions.h"

/* What an earlier process has left with the keeper. Asked once: later, this one knows better. */
static enum weft_status take_kept(
    struct engine_cuda *engine, uint32_t place, struct cuda_block *block_out,
    struct weft_error *error)
{
    struct cuda_model *model = &engine->models[place];
    if (model->is_asked) {
        return WEFT_NOT_FOUND;
    }
    model->is_asked = true;
    const struct keeper_name name = cuda_name_of(engine, place);
    if (cuda_keeper_take(&engine->keeper, name, model->weights.range_bytes, block_out, error) !=
        WEFT_OK) {
        return WEFT_NOT_FOUND;
    }
    const enum weft_status status = cuda_check(
        &engine->driver, cuda_block_import(&engine->device, block_out), "import weights", error);
    if (status == WEFT_OK) {
        cuda_blocks_adopt(&engine->blocks, block_out);
    } else {
        cuda_block_release(&engine->device, block_out);
    }
    return status;
}

/* Memory to fill. What was just dropped may still be the keeper's: it has let go once it answers.
 */
static enum weft_status take_new(
    struct engine_cuda *engine, uint32_t place, struct cuda_block *block_out,
    struct weft_error *error)
{
    const uint64_t bytes = engine->models[place].weights.range_bytes;
    struct weft_error ignored;
    struct cuda_block none;
    enum weft_status status = cuda_blocks_take(&engine->blocks, bytes, block_out, error);
    if (status == WEFT_NO_MEMORY && cuda_versions_release(engine)) {
        status = cuda_blocks_take(&engine->blocks, bytes, block_out, error);
    }
    if (status == WEFT_NO_MEMORY &&
        cuda_keeper_take(
            &engine->keeper, cuda_name_of(engine, place), /* bytes: of none */ 0, &none,
            &ignored) == WEFT_NOT_FOUND) {
        status = cuda_blocks_take(&engine->blocks, bytes, block_out, error);
    }
    return status;
}

/* A load, and whose. */
struct loading {
    struct engine_cuda *engine;
    struct cuda_job *job;
};

static bool is_cancelled(void *context)
{
    const struct loading *loading = context;
    return atomic_load(&loading->job->is_cancelled);
}

static bool is_busy(void *context)
{
    const struct loading *loading = context;
    return atomic_load_explicit(&loading->engine->is_busy, memory_order_relaxed);
}

/*
 * A batch waits for most loads: it comes soon. It would not if its model is tried first; and while
 * others run, nothing is asleep that would have to be woken.
 */
static void on_last(void *context)
{
    const struct loading *loading = context;
    struct engine_cuda *engine = loading->engine;
    cuda_lock(engine);
    if (engine->options.soon != NULL && !loading->job->is_revision &&
        engine->models[loading->job->place].is_tried && engine->batches == NULL) {
        engine->options.soon(engine->base.host.context);
    }
    cuda_unlock(engine);
}

/* The memory waits for other weights, unless a keeper has it that may not hear of that. */
void cuda_weights_give_up(struct engine_cuda *engine, uint32_t place)
{
    struct cuda_block block = cuda_weights_unmap(&engine->models[place].weights);
    cuda_keeper_drop(&engine->keeper, cuda_name_of(engine, place));
    bool is_exported = false;
    for (uint32_t i = 0; i < block.count; i++) {
        is_exported = is_exported || block.pieces[i].file >= 0;
    }
    if (!is_exported || engine->keeper.is_there) {
        cuda_blocks_give(&engine->blocks, &block);
    } else {
        cuda_blocks_drop(&engine->blocks, &block);
    }
}

/*
 * The next place after @after, UINT32_MAX at first, where another worker has the version that is at
 * @place. UINT32_MAX: there is none.
 */
static uint32_t next_twin(const struct engine_cuda *engine, uint32_t place, uint32_t after)
{
    const uint32_t step = engine->options.artifacts->count;
    uint32_t group =
        after == UINT32_MAX ? cuda_group_at(place) % step : cuda_group_at(after) + step;
    for (; group < cuda_group_count(engine); group += step) {
        const uint32_t other = cuda_version_find(engine, group, engine->models[place].version);
        if (other != UINT32_MAX && other != place) {
            return other;
        }
    }
    return UINT32_MAX;
}

/* What one worker has registered serves all. */
static void borrow_file(struct engine_cuda *engine, uint32_t place)
{
    uint32_t other = UINT32_MAX;
    while ((other = next_twin(engine, place, other)) != UINT32_MAX) {
        cuda_weights_borrow_file(&engine->models[place].weights, &engine->models[other].weights);
    }
}

/* What has run on one worker runs on all: plans are there, and the rest is the matter of a few
 * milliseconds, for the first batch. */
static bool has_tried_twin(const struct engine_cuda *engine, uint32_t place)
{
    uint32_t other = UINT32_MAX;
    bool is_tried = false;
    while (!is_tried && (other = next_twin(engine, place, other)) != UINT32_MAX) {
        is_tried = engine->models[other].is_tried;
    }
    return is_tried;
}

static enum weft_status copy_weights(
    struct engine_cuda *engine, struct cuda_job *job, struct weft_error *error)
{
    struct cuda_model *model = &engine->models[job->place];
    struct loading loading = {engine, job};
    const struct cuda_beside beside = {is_cancelled, is_busy, on_last, &loading};
    struct cuda_block block;
    char path[4096];
    borrow_file(engine, job->place);
    if (snprintf(path, sizeof(path), "%s/%s", model->manifest.folder, model->manifest.weights) >=
        (int)sizeof(path)) {
        return error_set(error, WEFT_LIMIT, "the path of the weights is too long");
    }
    enum weft_status status = cuda_manifest_check(&model->manifest, path, error);
    if (status == WEFT_OK) {
        status = take_new(engine, job->place, &block, error);
    }
    return status == WEFT_OK
               ? cuda_weights_fill(&model->weights, &block, path, engine->copies, &beside, error)
               : status;
}

/* Weights. Of what an earlier process has tried, code is opened with its first use. */
static enum weft_status load_model(
    struct engine_cuda *engine, struct cuda_job *job, struct weft_error *error)
{
    struct cuda_model *model = &engine->models[job->place];
    struct cuda_block block;
    if (model->weights.block.count != 0) {
        return WEFT_OK; /* It was brought before, or left for this load. */
    }
    model->is_tried = model->is_tried ||
                      (!job->is_revision && engine->groups[job->group].was_tried) ||
                      has_tried_twin(engine, job->place);
    const enum weft_status status = take_kept(engine, job->place, &block, error);
    if (status == WEFT_OK) {
        model->is_tried = true;
        return cuda_weights_map(&model->weights, &block, error);
    }
    return status == WEFT_NOT_FOUND ? copy_weights(engine, job, error) : status;
}

/* Packages of @job that have never run are the recording thread's. */
static void let_try(struct engine_cuda *engine, struct cuda_job *job)
{
    struct cuda_job **link = &engine->trials;
    cuda_lock(engine);
    while (*link != NULL) {
        link = &(*link)->next;
    }
    engine->groups[job->group].is_trying = true;
    engine->job = NULL;
    job->kind = JOB_TRY;
    job->package = 0;
    job->next = NULL;
    *link = job;
    (void)pthread_cond_signal(&engine->records);
    cuda_unlock(engine);
}

static bool is_tried(const struct engine_cuda *engine, uint32_t group, uint32_t version)
{
    const uint32_t place = cuda_version_find(engine, group, version);
    return place != UINT32_MAX && engine->models[place].is_tried;
}

/*
 * Bring what is not here of the versions of @job, one after the other. False if one has to be tried
 * before it goes on.
 */
static bool bring(struct engine_cuda *engine, struct cuda_job *job)
{
    struct weft_error error = {.status = WEFT_OK};
    enum weft_status status = WEFT_OK;
    for (; job->at < job->versions.count && status == WEFT_OK; job->at++) {
        if (atomic_load(&job->is_cancelled)) {
            return true;
        }
        if (job->is_revision &&
            is_tried(engine, job->group, job->versions.items[job->at].version)) {
            continue;
        }
        status =
            cuda_version_open(engine, job->group, &job->versions, job->at, &job->place, &error);
        if (status == WEFT_OK) {
            status = load_model(engine, job, &error);
        }
        cuda_mind(engine, status, &error);
        if (status == WEFT_OK && !engine->models[job->place].is_tried) {
            let_try(engine, job);
            return false;
        }
    }
    if (status != WEFT_OK) {
        job->error = error;
    }
    return true;
}

/* What came of trying a version. Whether @job is over. */
static bool go_on(struct engine_cuda *engine, struct cuda_job *job)
{
    cuda_lock(engine);
    engine->groups[job->group].is_trying = false;
    engine->models[job->place].is_tried |= job->error.status == WEFT_OK;
    cuda_unlock(engine);
    job->at++;
    return job->error.status != WEFT_OK || bring(engine, job);
}

void cuda_load_give_up(struct engine_cuda *engine, uint32_t group)
{
    const uint32_t first = cuda_place_first(group);
    for (uint32_t i = first; i < first + ARTIFACT_VERSIONS_MAX; i++) {
        if (engine->models[i].is_open) {
            cuda_weights_give_up(engine, i);
        }
    }
}

/* All versions at the places of @group are there, as the host knows. Returns their bytes. */
static uint64_t set_there(struct engine_cuda *engine, uint32_t group)
{
    const uint32_t first = cuda_place_first(group);
    uint64_t bytes = 0;
    for (uint32_t i = first; i < first + ARTIFACT_VERSIONS_MAX; i++) {
        struct cuda_model *model = &engine->models[i];
        model->is_there = model->is_open;
        atomic_store(&model->is_leaving, false);
        bytes += model->is_open ? model->weights.range_bytes : 0;
    }
    return bytes;
}

/* What came of a load is known, and is told unless it was cancelled. */
static void end_load(struct engine_cuda *engine, struct cuda_job *job)
{
    struct cuda_group *group = &engine->groups[job->group];
    const enum weft_status status = job->error.status;
    if (status != WEFT_OK) {
        cuda_load_give_up(engine, job->group);
    }
    cuda_lock(engine);
    group->was_tried = false;
    group->is_revised = false;
    if (atomic_load(&job->is_cancelled)) {
        cuda_unlock(engine);
        cuda_load_give_up(engine, job->group);
        return;
    }
    engine->job = NULL; /* It can no longer be cancelled. */
    group->versions = job->versions;
    group->is_resident = status == WEFT_OK;
    const uint64_t bytes = status == WEFT_OK ? set_there(engine, job->group) : 0;
    cuda_graphs_look_ahead(engine);
    engine->base.host.done(
        engine->base.host.context,
        &(struct engine_done){
            .kind = ENGINE_LOADED,
            .status = status,
            .message = status == WEFT_OK ? NULL : job->error.message,
            .worker = cuda_worker_at(engine, cuda_place_first(job->group)),
            .model = cuda_model_at(engine, cuda_place_first(job->group)),
            .bytes = bytes,
        });
    cuda_unlock(engine);
    if (status == WEFT_OK) {
        cuda_keep_later(engine, job->group);
    }
}

/* A load begins. Whether it is over. */
static bool load(struct engine_cuda *engine, struct cuda_job *job)
{
    struct cuda_group *group = &engine->groups[job->group];
    if (job->versions.count == 0) {
        job->versions.count = 1; /* Version 0 is the folder of the table, for all editions. */
    }
    if (!group->is_told) {
        group->is_told = true;
        cuda_keeper_retain(&engine->keeper, job->group, &job->versions);
    }
    cuda_versions_close_others(engine, job->group, &job->versions);
    return bring(engine, job);
}

/* Whether anything of @group is used. */
static bool is_used(const struct engine_cuda *engine, uint32_t group)
{
    const uint32_t first = cuda_place_first(group);
    uint32_t users = 0;
    for (uint32_t i = first; i < first + ARTIFACT_VERSIONS_MAX; i++) {
        users += engine->models[i].users;
    }
    return users > 0;
}

static void unload(struct engine_cuda *engine, const struct cuda_job *job)
{
    struct cuda_group *group = &engine->groups[job->group];
    const uint32_t first = cuda_place_first(job->group);
    cuda_lock(engine);
    group->is_resident = false;
    for (uint32_t i = first; i < first + ARTIFACT_VERSIONS_MAX; i++) {
        engine->models[i].is_there = false;
        atomic_store(&engine->models[i].is_leaving, true);
    }
    while (is_used(engine, job->group) && !engine->ends) { /* Cancelled, but they run; or it is
                                                              recorded. */
        (void)pthread_cond_wait(&engine->changed, engine->options.lock);
    }
    cuda_unlock(engine);
    group->keep_ns = 0;
    if (!group->is_revised) {
        cuda_load_give_up(engine, job->group);
    }
    cuda_lock(engine);
    engine->base.host.done(
        engine->base.host.context, &(struct engine_done){
                                       .kind = ENGINE_UNLOADED,
                                       .worker = cuda_worker_at(engine, first),
                                       .model = cuda_model_at(engine, first),
                                   });
    cuda_unlock(engine);
}

/* Shares are made when a batch first needs them, in a millisecond or two. */
static void shape(struct engine_cuda *engine, const struct cuda_job *job)
{
    cuda_lock(engine);
    engine->base.host.done(
        engine->base.host.context, &(struct engine_done){
                                       .kind = ENGINE_SHAPED,
                                       .worker = job->worker,
                                       .gpu = job->gpu,
                                   });
    cuda_unlock(engine);
}

/* Another keeper: it gets what is complete. */
static void change_keeper(struct engine_cuda *engine, const struct cuda_job *job)
{
    cuda_keeper_close(&engine->keeper);
    cuda_keeper_open(&engine->keeper, job->socket);
    for (uint32_t i = 0; i < cuda_place_count(engine); i++) {
        cuda_keep_at(engine, i);
    }
}

/* All that @job brings is here, or cannot be. */
static bool end(struct engine_cuda *engine, struct cuda_job *job)
{
    if (job->is_revision) {
        cuda_revise_end(engine, job);
    } else {
        end_load(engine, job);
    }
    return true;
}

/* Whether @job is over. */
static bool work(struct engine_cuda *engine, struct cuda_job *job)
{
    switch (job->kind) {
    case JOB_LOAD:
        return atomic_load(&job->is_cancelled) || (load(engine, job) && end(engine, job));
    case JOB_REVISE:
        return (!cuda_revise_begin(engine, job) || bring(engine, job)) && end(engine, job);
    case JOB_TRIED:
        return go_on(engine, job) && end(engine, job);
    case JOB_UNLOAD:
        unload(engine, job);
        return true;
    case JOB_SHAPE:
        shape(engine, job);
        return true;
    case JOB_KEEPER:
        change_keeper(engine, job);
        return true;
    case JOB_TRY:
        break;
    }
    ASSERT(false);
    return true;
}

/* The link to the first job that can be done now; to none if there is none. A model that is tried
 * is left alone until that is over. */
static struct cuda_job **find_job(struct engine_cuda *engine)
{
    struct cuda_job **link = &engine->jobs;
    while (
        *link != NULL &&
        ((*link)->kind == JOB_LOAD || (*link)->kind == JOB_UNLOAD || (*link)->kind == JOB_REVISE) &&
        engine->groups[(*link)->group].is_trying) {
        link = &(*link)->next;
    }
    return link;
}

void *cuda_loader_main(void *argument)
{
    struct engine_cuda *engine = argument;
    struct weft_error error;
    bool takes_ahead = true;
    cuda_mind(engine, cuda_device_enter(&engine->device, &error), &error);
    cuda_lock(engine);
    while (!engine->ends) {
        struct cuda_job **link = find_job(engine);
        struct cuda_job *job = *link;
        const uint32_t kept = cuda_keep_next(engine);
        if (cuda_keep_is_due(engine, kept, /* has_job */ job != NULL)) {
            cuda_unlock(engine);
            cuda_keep_now(engine, kept);
            cuda_lock(engine);
            continue;
        }
        if (job == NULL && takes_ahead) {
            cuda_unlock(engine);
            takes_ahead = cuda_ahead_step(engine);
            cuda_lock(engine);
            continue;
        }
        if (job == NULL) {
            cuda_keep_await(engine, kept);
            continue;
        }
        *link = job->next;
        engine->job = job;
        cuda_unlock(engine);
        const bool is_over = work(engine, job);
        cuda_lock(engine);
        engine->job = NULL;
        if (is_over) {
            free(job);
        }
    }
    cuda_unlock(engine);
    return NULL;
}
