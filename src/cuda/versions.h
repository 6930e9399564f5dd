/*
 * versions.h - the versions of a model that are on a GPU side by side. For the files of the
 * engine alone.
 *
 * Model and worker are a group, in which each version has a place: a manifest, an address, packages
 * and graphs of its own. A load brings all versions that editions of the repository mean, and
 * batches run by the one that their jobs name. A revision comes before the load: it brings what is
 * new beside what runs, and tries it, so that the load that follows finds everything. It is told
 * again when no job names an old version any more: that one is closed.
 *
 * Of the loading thread, but for what is looked up for batches, under the lock.
 */
#ifndef CUDA_VERSIONS_H
#define CUDA_VERSIONS_H

#include "cuda/inside.h"

struct cuda_group {
    struct artifact_versions versions; /* What batches mean, as of the last load. */
    bool is_resident;                  /* As the host knows it. */
    bool is_trying;                    /* The recording thread has a load or revision of it. */
    bool is_revised;                   /* Weights stay when it leaves: it is loaded again. */
    bool was_tried;                    /* In an earlier process: so is what the next load brings. */
    bool is_told;                      /* To the keeper: which versions there are. */
    int64_t keep_ns;                   /* When its weights are to be kept. 0: they are, or none. */
};

/* The number of the group of @model at @worker, and of all. */
static inline uint32_t cuda_group_of(
    const struct engine_cuda *engine, uint32_t worker, uint32_t model)
{
    return (worker - engine->options.worker) * engine->options.artifacts->count + model;
}

static inline uint32_t cuda_group_count(const struct engine_cuda *engine)
{
    return engine->options.worker_count * engine->options.artifacts->count;
}

/* The first place of a group, that of another version is behind it; and of all. */
static inline uint32_t cuda_place_first(uint32_t group)
{
    return group * ARTIFACT_VERSIONS_MAX;
}

static inline uint32_t cuda_place_count(const struct engine_cuda *engine)
{
    return cuda_group_count(engine) * ARTIFACT_VERSIONS_MAX;
}

/* What is at a place. */
static inline uint32_t cuda_group_at(uint32_t place)
{
    return place / ARTIFACT_VERSIONS_MAX;
}

static inline uint32_t cuda_model_at(const struct engine_cuda *engine, uint32_t place)
{
    return cuda_group_at(place) % engine->options.artifacts->count;
}

static inline uint32_t cuda_worker_at(const struct engine_cuda *engine, uint32_t place)
{
    return engine->options.worker + cuda_group_at(place) / engine->options.artifacts->count;
}

/* Where @version of @group is open. UINT32_MAX: it is not. */
uint32_t cuda_version_find(const struct engine_cuda *engine, uint32_t group, uint32_t version);

/* Where the version is that @edition means by @group, as of its last load. UINT32_MAX: not here. */
uint32_t cuda_version_meant(const struct engine_cuda *engine, uint32_t group, uint32_t edition);

/*
 * Open number @at of @versions: its manifest, and an address. *place_out is where.
 *
 * Errors: WEFT_INVALID if it has no packages; those of cuda_manifest_read() and
 * cuda_weights_open().
 */
enum weft_status cuda_version_open(
    struct engine_cuda *engine, uint32_t group, const struct artifact_versions *versions,
    uint32_t at, uint32_t *place_out, struct weft_error *error);

/* Close what is open at @place, once nothing uses it, with its graphs and what the keeper has. */
void cuda_version_close(struct engine_cuda *engine, uint32_t place);

/* The same of all versions of @group that are not in @versions. */
void cuda_versions_close_others(
    struct engine_cuda *engine, uint32_t group, const struct artifact_versions *versions);

/*
 * Give up the weights of what has left, as the host knows it, but was left for a load to come.
 * False if there were none.
 */
bool cuda_versions_release(struct engine_cuda *engine);

/* Close everything, when the threads have ended. */
void cuda_versions_close_all(struct engine_cuda *engine);

/* load.c */

/* Unmap the weights at @place, which nothing uses; or all of @group. */
void cuda_weights_give_up(struct engine_cuda *engine, uint32_t place);
void cuda_load_give_up(struct engine_cuda *engine, uint32_t group);

/* keep.c; the loading thread's */

/* As the keeper knows what is at @place: it outlives this process, and with it places. */
static inline struct keeper_name cuda_name_of(const struct engine_cuda *engine, uint32_t place)
{
    return (struct keeper_name){cuda_group_at(place), engine->models[place].version};
}

/* The weights of @group, which are complete, can only be read and are kept; or are to be. */
void cuda_keep_now(struct engine_cuda *engine, uint32_t group);
void cuda_keep_later(struct engine_cuda *engine, uint32_t group);

/* The weights at @place, if any, outlive this process from now on, if there is a keeper. */
void cuda_keep_at(struct engine_cuda *engine, uint32_t place);

/* The group that is to be kept next. UINT32_MAX: none. */
uint32_t cuda_keep_next(const struct engine_cuda *engine);

/* Whether @group, or none, is to be kept now, @has_job or not. */
bool cuda_keep_is_due(const struct engine_cuda *engine, uint32_t group, bool has_job);

/* Wait for a job, or until @group is due. Under the lock. */
void cuda_keep_await(struct engine_cuda *engine, uint32_t group);

/* revise.c */

/* Let the loading thread revise @model: struct engine_ops. Under the lock. */
bool cuda_revise(struct engine *engine, uint32_t model, const struct artifact_versions *versions);

/* Whether @job, a revision that begins, has something to bring. */
bool cuda_revise_begin(struct engine_cuda *engine, struct cuda_job *job);

/* It is over; the host is told with the last. */
void cuda_revise_end(struct engine_cuda *engine, struct cuda_job *job);

#endif /* CUDA_VERSIONS_H */
