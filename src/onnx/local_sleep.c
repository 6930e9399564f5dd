/*
 * local_sleep.c - models that have left memory, and come back without being made again.
 *
 * To make a model, its graph is read, kernels are chosen and weights packed: up to a tenth of a
 * second. Its weights are pages of files, which can leave and come back alone. So a model that is
 * unloaded keeps the rest, some hundred kilobytes, as long as all that sleep on a worker stay
 * within SLEEP_BYTES_MAX; beyond it those end that have slept longest.
 */
#include <string.h>

#include "onnx/local_inside.h"

#define SLEEP_BYTES_MAX (UINT64_C(64) << 20)

static bool is_over(const struct local_worker *worker)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < local_place_count(worker->engine); i++) {
        bytes += worker->asleep[i] == NULL ? 0 : onnx_model_bytes_asleep(worker->asleep[i]);
    }
    return bytes > SLEEP_BYTES_MAX;
}

/* The one that has slept longest leaves the list; NULL if none sleeps. */
static struct onnx_model *take_oldest(struct local_worker *worker)
{
    struct onnx_model **oldest = NULL;
    for (uint32_t i = 0; i < local_place_count(worker->engine); i++) {
        struct onnx_model **at = &worker->asleep[i];
        if (*at != NULL && (oldest == NULL || (*at)->slept < (*oldest)->slept)) {
            oldest = at;
        }
    }
    if (oldest == NULL) {
        return NULL;
    }
    struct onnx_model *model = *oldest;
    *oldest = NULL;
    return model;
}

void local_sleep(struct local_worker *worker, uint32_t place, struct onnx_model *model)
{
    if (!onnx_model_sleep(model)) {
        onnx_model_unload(model);
        return;
    }
    (void)pthread_mutex_lock(&worker->engine->sleep_lock);
    struct onnx_model *ended = worker->asleep[place];
    worker->asleep[place] = model;
    model->slept = ++worker->sleeps;
    for (; ended != NULL || is_over(worker); ended = NULL) {
        onnx_model_unload(ended != NULL ? ended : take_oldest(worker));
    }
    (void)pthread_mutex_unlock(&worker->engine->sleep_lock);
}

struct onnx_model *local_wake(
    struct local_worker *worker, uint32_t place, const struct onnx_digest *digest)
{
    (void)pthread_mutex_lock(&worker->engine->sleep_lock);
    struct onnx_model *model = worker->asleep[place];
    worker->asleep[place] = NULL;
    (void)pthread_mutex_unlock(&worker->engine->sleep_lock);
    if (model != NULL && memcmp(model->digest.hash, digest->hash, sizeof(digest->hash)) != 0) {
        onnx_model_unload(model);
        return NULL;
    }
    if (model != NULL) {
        onnx_model_wake(model);
    }
    return model;
}

void local_end_sleepers(struct local_worker *worker)
{
    struct onnx_model *model;
    while ((model = take_oldest(worker)) != NULL) {
        onnx_model_unload(model);
    }
}
