/* local_life.c - the local engine comes and goes, with its threads. */
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "onnx/local_inside.h"

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void join_threads(struct engine_local *engine)
{
    for (uint32_t i = 0; i < engine->fleet->worker_count; i++) {
        struct local_worker *worker = &engine->workers[i];
        if (worker->engine == NULL) {
            continue; /* Never started. */
        }
        queue_close(&worker->loads);
        queue_close(&worker->runs);
        for (uint32_t k = 0; k < worker->runner_count; k++) {
            struct local_runner *runner = &worker->runners[k];
            (void)pthread_join(runner->thread, NULL); /* It is joinable. */
            if (runner->options != NULL) {
                runner->ort->api.ReleaseRunOptions(runner->options);
            }
            function_slot_deinit(&runner->slot);
            (void)pthread_mutex_destroy(&runner->lock);
        }
        if (worker->has_loader) {
            (void)pthread_join(worker->loader, NULL);
        }
    }
}

/* Everything that is left in @queue ends here. */
static void drain(struct engine_local *engine, struct queue *queue)
{
    struct queued *next;
    for (struct queued *at = queue_take_all(queue); at != NULL; at = next) {
        struct operation *operation = (struct operation *)at;
        next = at->next;
        local_release(engine, operation->loaded);
        local_end(engine, operation);
    }
}

static void release_workers(struct engine_local *engine)
{
    for (uint32_t i = 0; i < engine->fleet->worker_count; i++) {
        struct local_worker *worker = &engine->workers[i];
        if (worker->engine == NULL) {
            continue;
        }
        drain(engine, &worker->loads);
        drain(engine, &worker->runs);
        for (uint32_t model = 0; model < engine->artifacts->count; model++) {
            local_release(engine, worker->resident[model]);
        }
        local_end_sleepers(worker);
        queue_deinit(&worker->loads);
        queue_deinit(&worker->runs);
        free(worker->resident);
        free(worker->asleep);
        free(worker->runners);
    }
}

void local_destroy(struct engine *base)
{
    struct engine_local *engine = (struct engine_local *)base; /* base is its first member. */
    while (engine->runs != NULL) {
        local_give_up(engine, engine->runs);
    }
    join_threads(engine);
    release_workers(engine);
    drain(engine, &engine->done);
    if (engine->signal != NULL) {
        uv_close((uv_handle_t *)engine->signal, on_closed);
    }
    function_pool_destroy(engine->pool);
    queue_deinit(&engine->done);
    (void)pthread_mutex_destroy(&engine->digest_lock);
    (void)pthread_mutex_destroy(&engine->sleep_lock);
    free(engine->workers);
    free(engine->renewals);
    free(engine->digests);
    free(engine->rows);
    free(engine);
}

static bool start_runner(struct local_worker *worker)
{
    struct local_runner *runner = &worker->runners[worker->runner_count];
    runner->engine = worker->engine;
    runner->queue = &worker->runs;
    (void)pthread_mutex_init(&runner->lock, NULL);
    function_slot_init(&runner->slot);
    if (pthread_create(&runner->thread, NULL, local_runner_main, runner) != 0) {
        function_slot_deinit(&runner->slot);
        (void)pthread_mutex_destroy(&runner->lock);
        return false;
    }
    worker->runner_count++;
    return true;
}

static bool start_worker(struct engine_local *engine, uint32_t number, uint32_t threads)
{
    struct local_worker *worker = &engine->workers[number];
    const uint32_t units = engine->fleet->workers[number].gpu_units;
    uint32_t count = threads == 0 ? units : threads;
    count = count > ENGINE_LOCAL_THREADS_MAX ? ENGINE_LOCAL_THREADS_MAX : count;
    queue_init(&worker->loads);
    queue_init(&worker->runs);
    worker->engine = engine;
    worker->resident = memory_zeroed(engine->artifacts->count + 1, sizeof(struct local_model *));
    worker->asleep = memory_zeroed(local_place_count(engine) + 1, sizeof(struct onnx_model *));
    worker->runners = memory_zeroed(count, sizeof(*worker->runners));
    worker->has_loader = pthread_create(&worker->loader, NULL, local_loader_main, worker) == 0;
    bool is_good = worker->has_loader;
    for (uint32_t i = 0; i < count && is_good; i++) {
        is_good = start_runner(worker);
    }
    return is_good;
}

static void choose_cache(struct engine_local *engine, const char *given)
{
    if (given == NULL) {
        if (!onnx_cache_default_folder(engine->cache)) {
            engine->cache[0] = '\0';
        }
    } else if (
        snprintf(engine->cache, sizeof(engine->cache), "%s", given) >= (int)sizeof(engine->cache)) {
        engine->cache[0] = '\0'; /* No such folder can be opened: load models as they are. */
    }
}

/* Let the threads have something to wake @loop with. */
static void make_signal(struct engine_local *engine, struct uv_loop_s *loop)
{
    engine->signal = memory_zeroed(1, sizeof(*engine->signal));
    const int code = uv_async_init(loop, engine->signal, local_on_signal);
    ASSERT(code == 0); /* The loop has its descriptor for signals already. */
    engine->signal->data = engine;
    uv_unref((uv_handle_t *)engine->signal);
}

enum weft_status engine_local_create(
    const struct engine_local_options *options, struct engine **engine_out,
    struct weft_error *error)
{
    struct function_pool *pool = NULL;
    ASSERT(options->host.done != NULL);
    ASSERT((options->loop == NULL) != (options->lock == NULL));
    ASSERT(options->artifacts->count >= options->catalogue->model_count);
    /* First: what is forked should be small. */
    if (options->isolate &&
        function_pool_create(&options->function_limits, &pool, error) != WEFT_OK) {
        return WEFT_IO;
    }
    ort_silence();
    struct engine_local *engine = memory_zeroed(1, sizeof(*engine));
    engine->base.ops = &local_ops;
    engine->base.host = options->host;
    engine->fleet = options->fleet;
    engine->catalogue = options->catalogue;
    engine->artifacts = options->artifacts;
    engine->output_bytes_max = options->function_limits.output_bytes_max;
    engine->pool = pool;
    choose_cache(engine, options->cache);
    (void)pthread_mutex_init(&engine->digest_lock, NULL);
    (void)pthread_mutex_init(&engine->sleep_lock, NULL);
    queue_init(&engine->done);
    engine->workers = memory_zeroed(options->fleet->worker_count, sizeof(*engine->workers));
    engine->renewals = memory_zeroed(engine->artifacts->count + 1, sizeof(*engine->renewals));
    engine->digests = memory_zeroed(local_place_count(engine) + 1, sizeof(*engine->digests));
    engine->rows = memory_zeroed(local_place_count(engine) + 1, sizeof(*engine->rows));
    engine->lock = options->lock;
    engine->fetch = options->fetch;
    if (options->loop != NULL) {
        make_signal(engine, options->loop);
    }
    const struct engine_workers hosted = engine_workers_of(&options->host, options->fleet);
    for (uint32_t i = hosted.first; i < hosted.end; i++) {
        if (options->loop == NULL && i != options->worker) {
            continue;
        }
        if (!start_worker(engine, i, options->threads)) {
            local_destroy(&engine->base);
            return error_set(error, WEFT_IO, "no threads for worker %u", i);
        }
    }
    *engine_out = &engine->base;
    return WEFT_OK;
}
