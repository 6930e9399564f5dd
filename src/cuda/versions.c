#include "cuda/versions.h"

#include <limits.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/error.h"

uint32_t cuda_version_find(const struct engine_cuda *engine, uint32_t group, uint32_t version)
{
    const uint32_t first = cuda_place_first(group);
    for (uint32_t i = first; i < first + ARTIFACT_VERSIONS_MAX; i++) {
        if (engine->models[i].is_open && engine->models[i].version == version) {
            return i;
        }
    }
    return UINT32_MAX;
}

uint32_t cuda_version_meant(const struct engine_cuda *engine, uint32_t group, uint32_t edition)
{
    const struct artifact_versions *versions = &engine->groups[group].versions;
    const uint32_t at = artifact_version_at(versions, edition);
    return at < versions->count ? cuda_version_find(engine, group, versions->items[at].version)
                                : UINT32_MAX;
}

static enum weft_status open_at(
    struct engine_cuda *engine, uint32_t place, const struct artifact_versions *versions,
    uint32_t at, struct weft_error *error)
{
    struct cuda_model *model = &engine->models[place];
    const struct artifact *artifact =
        &engine->options.artifacts->items[cuda_model_at(engine, place)];
    char folder[PATH_MAX];
    if (!artifact_path(artifact->cuda, versions->items[at].version, folder, sizeof(folder))) {
        return error_set(error, WEFT_LIMIT, "%s: its path is too long", artifact->cuda);
    }
    enum weft_status status = cuda_manifest_read(folder, &model->manifest, error);
    if (status != WEFT_OK) {
        return status;
    }
    status =
        cuda_weights_open(&engine->device, model->manifest.weights_bytes, &model->weights, error);
    if (status != WEFT_OK) {
        cuda_manifest_free(&model->manifest);
        return status;
    }
    model->manifest.since_ns =
        versions->since_ns[at] != 0 ? versions->since_ns[at] : artifact->cuda_since_ns;
    model->manifest.compare = engine->options.compare;
    cuda_lock(engine);
    atomic_store(&model->is_leaving, false);
    model->version = versions->items[at].version;
    model->is_open = true;
    cuda_unlock(engine);
    return WEFT_OK;
}

enum weft_status cuda_version_open(
    struct engine_cuda *engine, uint32_t group, const struct artifact_versions *versions,
    uint32_t at, uint32_t *place_out, struct weft_error *error)
{
    uint32_t place = cuda_version_find(engine, group, versions->items[at].version);
    const uint32_t number = cuda_model_at(engine, cuda_place_first(group));
    *place_out = place;
    if (engine->options.artifacts->items[number].cuda == NULL) {
        return error_set(
            error, WEFT_INVALID, "model '%s' has no packages for a GPU",
            engine->options.catalogue->models[number]);
    }
    if (place != UINT32_MAX) {
        return WEFT_OK;
    }
    place = cuda_place_first(group);
    while (engine->models[place].is_open) {
        place++;
    }
    ASSERT(cuda_group_at(place) == group); /* Others were closed before. */
    *place_out = place;
    return open_at(engine, place, versions, at, error);
}

/* What @place has registered may serve others: then it is one of theirs from now on. */
static void pass_file_on(struct engine_cuda *engine, uint32_t place)
{
    struct cuda_weights *weights = &engine->models[place].weights;
    for (uint32_t i = 0; i < cuda_place_count(engine); i++) {
        struct cuda_weights *other = &engine->models[i].weights;
        if (i != place && engine->models[i].is_open && weights->file != NULL &&
            other->file == weights->file && !weights->is_file_lent) {
            other->is_file_lent = false;
            weights->is_file_lent = true;
        }
    }
}

/* Close what nothing uses any more. */
static void close_at(struct engine_cuda *engine, uint32_t place)
{
    struct cuda_model *model = &engine->models[place];
    for (uint32_t i = 0; i < model->manifest.package_count; i++) {
        for (uint32_t k = 0; k <= CUDA_TRIAL; k++) {
            if (model->graphs[i][k] != NULL) {
                cuda_graph_close(model->graphs[i][k]);
                free(model->graphs[i][k]);
            }
        }
        cuda_package_close(model->packages[i]);
    }
    cuda_weights_close(&model->weights);
    cuda_manifest_free(&model->manifest);
}

void cuda_version_close(struct engine_cuda *engine, uint32_t place)
{
    struct cuda_model *model = &engine->models[place];
    if (!model->is_open) {
        return;
    }
    cuda_lock(engine);
    model->is_there = false;
    atomic_store(&model->is_leaving, true);
    while (model->users > 0 && !engine->ends) { /* Cancelled, but they run; or it is recorded. */
        (void)pthread_cond_wait(&engine->changed, engine->options.lock);
    }
    if (model->users > 0) { /* All is closed in a moment. */
        cuda_unlock(engine);
        return;
    }
    cuda_graphs_forget(engine, place);
    model->is_open = false;
    cuda_unlock(engine);
    cuda_weights_give_up(engine, place);
    pass_file_on(engine, place);
    close_at(engine, place);
    cuda_lock(engine);
    *model = (struct cuda_model){.is_open = false};
    cuda_unlock(engine);
}

void cuda_versions_close_others(
    struct engine_cuda *engine, uint32_t group, const struct artifact_versions *versions)
{
    const uint32_t first = cuda_place_first(group);
    for (uint32_t i = first; i < first + ARTIFACT_VERSIONS_MAX; i++) {
        bool is_listed = false;
        for (uint32_t k = 0; k < versions->count; k++) {
            is_listed = is_listed || versions->items[k].version == engine->models[i].version;
        }
        if (!is_listed) {
            cuda_version_close(engine, i);
        }
    }
}

bool cuda_versions_release(struct engine_cuda *engine)
{
    bool has_any = false;
    for (uint32_t i = 0; i < cuda_place_count(engine); i++) {
        const struct cuda_group *group = &engine->groups[cuda_group_at(i)];
        if (engine->models[i].weights.block.count != 0 && !group->is_resident &&
            !group->is_trying && cuda_group_at(i) != engine->job->group) {
            cuda_weights_give_up(engine, i);
            has_any = true;
        }
    }
    return has_any;
}

void cuda_versions_close_all(struct engine_cuda *engine)
{
    for (uint32_t i = 0; i < cuda_place_count(engine); i++) {
        if (engine->models[i].is_open) {
            close_at(engine, i);
        }
    }
    free(engine->models);
    free(engine->groups);
}
