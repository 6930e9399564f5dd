/*
 * revise.c - other versions of a model, on all workers of a GPU, beside those that run.
 *
 * Where the model is, what is new stays until the load that follows, and where it is not, it is
 * brought all the same on one worker, to see whether it runs. The weights of both versions are then
 * on the device at once, before the host counts them: what was left for a load gives way if there
 * is no memory, and what runs does not.
 */
#include "base/assert.h"
#include "base/error.h"
#include "cuda/versions.h"

bool cuda_revise(struct engine *base, uint32_t model, const struct artifact_versions *versions)
{
    struct engine_cuda *engine = (struct engine_cuda *)base; /* base is the first member. */
    const struct engine_cuda_options *options = &engine->options;
    ASSERT(engine->revisions == 0 && versions->count > 0);
    engine->revision = (struct weft_error){.status = WEFT_OK};
    engine->revisions = options->worker_count;
    for (uint32_t i = 0; i < options->worker_count; i++) {
        cuda_add_job(
            engine, &(struct cuda_job){
                        .kind = JOB_REVISE,
                        .group = cuda_group_of(engine, options->worker + i, model),
                        .versions = *versions});
    }
    return true;
}

/* Whether the newest version of @job has run on some worker of this GPU. */
static bool is_tried(const struct engine_cuda *engine, const struct cuda_job *job)
{
    const uint32_t step = engine->options.artifacts->count;
    const uint32_t newest = job->versions.items[job->versions.count - 1].version;
    bool is_tried = false;
    for (uint32_t i = job->group % step; i < cuda_group_count(engine); i += step) {
        const uint32_t place = cuda_version_find(engine, i, newest);
        is_tried = is_tried || (place != UINT32_MAX && engine->models[place].is_tried);
    }
    return is_tried;
}

bool cuda_revise_begin(struct engine_cuda *engine, struct cuda_job *job)
{
    struct cuda_group *group = &engine->groups[job->group];
    cuda_versions_close_others(engine, job->group, &job->versions);
    job->place = UINT32_MAX;
    if (engine->revision.status != WEFT_OK) {
        return false;
    }
    if (group->is_resident) {
        return true;
    }
    job->is_temporary = true;
    job->at = job->versions.count - 1; /* The others have run somewhere. */
    return engine->revisions == 1 && !is_tried(engine, job);
}

void cuda_revise_end(struct engine_cuda *engine, struct cuda_job *job)
{
    struct cuda_group *group = &engine->groups[job->group];
    if (job->error.status != WEFT_OK && job->place != UINT32_MAX) {
        cuda_version_close(engine, job->place); /* What was here before has not failed. */
    } else if (job->is_temporary) {
        cuda_load_give_up(engine, job->group);
    } else {
        cuda_keep_later(engine, job->group);
    }
    cuda_lock(engine);
    group->is_revised = group->is_resident && job->error.status == WEFT_OK &&
                        artifact_must_reload(&group->versions, &job->versions);
    if (engine->revision.status == WEFT_OK && job->error.status != WEFT_OK) {
        engine->revision = job->error;
    }
    engine->revisions--;
    if (engine->revisions == 0) {
        engine->base.host.done(
            engine->base.host.context,
            &(struct engine_done){
                .kind = ENGINE_REVISED,
                .status = engine->revision.status,
                .message = engine->revision.status == WEFT_OK ? NULL : engine->revision.message,
                .worker = engine->options.worker,
                .model = cuda_model_at(engine, cuda_place_first(job->group)),
            });
    }
    cuda_unlock(engine);
}
