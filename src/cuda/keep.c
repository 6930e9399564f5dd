/*
 * keep.c - when weights become the keeper's.
 *
 * To end writing to them and to hand them on takes the driver a tenth of a millisecond, in which
 * runs start late, the one that the load was for first of all; and of what leaves again at once it
 * would be in vain. So it is done some time after the load, while nothing else is to be done.
 */
#include "base/units.h"
#include "cuda/versions.h"
#include "engine/monotonic.h"

enum { LATE_FACTOR = 10 }; /* After so many times as long it comes before loads. */

#define AFTER_NS (10 * NS_PER_MS)

static int64_t after_ns(const struct engine_cuda *engine)
{
    return engine->options.keep_after_ns == 0 ? AFTER_NS : engine->options.keep_after_ns;
}

void cuda_keep_later(struct engine_cuda *engine, uint32_t group)
{
    engine->groups[group].keep_ns = monotonic_ns() + after_ns(engine);
}

void cuda_keep_now(struct engine_cuda *engine, uint32_t group)
{
    const uint32_t first = cuda_place_first(group);
    engine->groups[group].keep_ns = 0;
    for (uint32_t i = first; i < first + ARTIFACT_VERSIONS_MAX; i++) {
        if (engine->models[i].is_open) {
            cuda_block_shut(&engine->device, &engine->models[i].weights.block);
            cuda_keep_at(engine, i);
        }
    }
}

void cuda_keep_at(struct engine_cuda *engine, uint32_t place)
{
    struct cuda_block *block = &engine->models[place].weights.block;
    if (block->count == 0 || !engine->models[place].is_tried || !engine->keeper.is_there) {
        return;
    }
    for (uint32_t i = 0; i < block->count; i++) {
        struct cuda_piece *piece = &block->pieces[i];
        if (piece->file < 0 &&
            engine->driver.block_export(
                &piece->file, piece->handle, CUDA_HANDLE_FILE, /* flags */ 0) != CUDA_SUCCESS) {
            return; /* It is copied again some day. */
        }
    }
    cuda_keeper_give(&engine->keeper, cuda_name_of(engine, place), block);
}

uint32_t cuda_keep_next(const struct engine_cuda *engine)
{
    const struct cuda_group *groups = engine->groups;
    uint32_t next = UINT32_MAX;
    for (uint32_t i = 0; i < cuda_group_count(engine); i++) {
        if (groups[i].keep_ns != 0 &&
            (next == UINT32_MAX || groups[i].keep_ns < groups[next].keep_ns)) {
            next = i;
        }
    }
    return next;
}

bool cuda_keep_is_due(const struct engine_cuda *engine, uint32_t group, bool has_job)
{
    const int64_t late_ns = has_job ? LATE_FACTOR * after_ns(engine) : 0;
    return group != UINT32_MAX && monotonic_ns() >= engine->groups[group].keep_ns + late_ns;
}

void cuda_keep_await(struct engine_cuda *engine, uint32_t group)
{
    if (group == UINT32_MAX) {
        (void)pthread_cond_wait(&engine->changed, engine->options.lock);
        return;
    }
    const int64_t until_ns = engine->groups[group].keep_ns;
    const struct timespec until = {
        .tv_sec = (time_t)(until_ns / NS_PER_S), .tv_nsec = (long)(until_ns % NS_PER_S)};
    (void)pthread_cond_timedwait(&engine->changed, engine->options.lock, &until);
}
