#include "service/gpu_watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "cuda/nvml.h"
#include "runtime/runtime.h"

enum { PERIOD_S = 1 };

struct gpu_watch {
    struct nvml nvml;
    pthread_t thread;
    pthread_mutex_t lock; /* Of the rest. */
    pthread_cond_t changed;
    bool ends;
    uint32_t count;
    struct server_gpu gpus[SERVER_GPUS_MAX];
};

static void look(struct gpu_watch *watch)
{
    for (uint32_t i = 0; i < watch->count; i++) {
        const struct nvml_figures seen = nvml_read(&watch->nvml, i);
        (void)pthread_mutex_lock(&watch->lock);
        watch->gpus[i].memory_used_bytes = seen.memory_used_bytes;
        watch->gpus[i].utilisation = seen.utilisation;
        watch->gpus[i].clock_hz = seen.clock_hz;
        watch->gpus[i].power_w = seen.power_w;
        watch->gpus[i].celsius = seen.celsius;
        (void)pthread_mutex_unlock(&watch->lock);
    }
}

static void *be_watch(void *argument)
{
    struct gpu_watch *watch = argument;
    (void)pthread_mutex_lock(&watch->lock);
    while (!watch->ends) {
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until); /* It is always there. */
        until.tv_sec += PERIOD_S;
        (void)pthread_cond_timedwait(&watch->changed, &watch->lock, &until);
        (void)pthread_mutex_unlock(&watch->lock);
        look(watch);
        (void)pthread_mutex_lock(&watch->lock);
    }
    (void)pthread_mutex_unlock(&watch->lock);
    return NULL;
}

struct gpu_watch *gpu_watch_start(const struct fleet *fleet, const struct runtime *runtime)
{
    struct gpu_watch *watch = memory_zeroed(1, sizeof(*watch));
    for (uint32_t i = 0; i < fleet->worker_count && watch->count < SERVER_GPUS_MAX; i++) {
        const struct fleet_worker *worker = &fleet->workers[i];
        if (worker->sharing == SHARES_SM && worker->partition == 0 &&
            runtime_has_worker(runtime, i)) {
            watch->gpus[watch->count++].worker = i;
        }
    }
    if (watch->count == 0 || nvml_open(getenv("WEFT_NVML"), &watch->nvml, NULL) != WEFT_OK) {
        free(watch);
        return NULL;
    }
    (void)pthread_mutex_init(&watch->lock, NULL);
    (void)pthread_cond_init(&watch->changed, NULL);
    look(watch);
    if (pthread_create(&watch->thread, NULL, be_watch, watch) != 0) {
        nvml_close(&watch->nvml);
        free(watch);
        return NULL;
    }
    return watch;
}

void gpu_watch_stop(struct gpu_watch *watch)
{
    if (watch == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&watch->lock);
    watch->ends = true;
    (void)pthread_cond_broadcast(&watch->changed);
    (void)pthread_mutex_unlock(&watch->lock);
    (void)pthread_join(watch->thread, NULL);
    nvml_close(&watch->nvml);
    (void)pthread_mutex_destroy(&watch->lock);
    (void)pthread_cond_destroy(&watch->changed);
    free(watch);
}

uint32_t gpu_watch_read(struct gpu_watch *watch, struct server_gpu *out)
{
    if (watch == NULL) {
        return 0;
    }
    (void)pthread_mutex_lock(&watch->lock);
    for (uint32_t i = 0; i < watch->count; i++) {
        out[i] = watch->gpus[i];
    }
    (void)pthread_mutex_unlock(&watch->lock);
    return watch->count;
}
