#include "cuda/ahead.h"

#include <limits.h>

#include "base/memory.h"
#include "cuda/versions.h"

/* Where the newest version of model number @number lies. False if it has no packages. */
static bool find_folder(struct engine_cuda *engine, uint32_t number, char *folder_out, size_t room)
{
    cuda_lock(engine); /* Orders change versions. */
    const struct artifact *artifact = &engine->options.artifacts->items[number];
    const struct artifact_versions *versions = &artifact->versions;
    const uint32_t version =
        versions->count == 0 ? 0 : versions->items[versions->count - 1].version;
    const bool is_found =
        artifact->cuda != NULL && artifact_path(artifact->cuda, version, folder_out, room);
    cuda_unlock(engine);
    return is_found;
}

/* Read the size of one more model. */
static void read_next(struct engine_cuda *engine)
{
    struct cuda_ahead *ahead = &engine->ahead;
    struct cuda_manifest manifest;
    struct weft_error error;
    char folder[PATH_MAX];
    const uint32_t number = ahead->read++;
    if (ahead->sizes == NULL) {
        ahead->sizes = memory_zeroed(engine->options.artifacts->count, sizeof(*ahead->sizes));
    }
    if (find_folder(engine, number, folder, sizeof(folder)) &&
        cuda_manifest_read(folder, &manifest, &error) == WEFT_OK) { /* Else its load says why. */
        ahead->sizes[ahead->count++] = manifest.weights_bytes;
        cuda_manifest_free(&manifest);
    }
    if (ahead->read == engine->options.artifacts->count) {
        cuda_blocks_want(
            &engine->blocks, ahead->sizes, ahead->count, engine->options.worker_count,
            engine->options.memory_bytes);
    }
}

bool cuda_ahead_step(struct engine_cuda *engine)
{
    if (engine->options.memory_bytes == 0) {
        return false;
    }
    if (engine->ahead.read < engine->options.artifacts->count) {
        read_next(engine);
        return true;
    }
    return cuda_blocks_fill(&engine->blocks);
}
