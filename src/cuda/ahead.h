/*
 * ahead.h - memory for weights that is taken before a model needs it.
 *
 * How much: what all models need together, on each worker, within what workers may have for models.
 * By the thread that loads, while it has nothing else to do: a manifest is read or a piece is taken
 * at a time. A model that comes before all are there takes what it lacks.
 */
#ifndef CUDA_AHEAD_H
#define CUDA_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

struct engine_cuda;

/* Models whose sizes are known. */
struct cuda_ahead {
    uint32_t read; /* So many manifests; */
    uint32_t count;
    uint64_t *sizes; /* and what those said that could be. */
};

/* Take some memory ahead. False if there is nothing left to do. By the loading thread. */
bool cuda_ahead_step(struct engine_cuda *engine);

#endif /* CUDA_AHEAD_H */
