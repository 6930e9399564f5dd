#include "policy/weft_learn.h"

#include "base/hash.h"
#include "base/numbers.h"

/* A new value counts one part in this many; of a queue the first ones more. */
enum { ALL_WEIGHT = 64, QUEUE_WEIGHT = 16, CONFIG_WEIGHT = 8, WORKER_WEIGHT = 2 };

/*
 * Of a queue with fewer batches nothing is said about workers, as it may be the profile that is
 * wrong; and of fewer in all, or of a model, nothing about the profile.
 */
enum { QUEUE_KNOWN = 8, ALL_KNOWN = 8, MODEL_KNOWN = 16 };

/* A ratio that is off by less than one part in this many may be chance. */
enum { CONFIG_DOUBT = 16, WORKER_DOUBT = 4 };

/* Ratios are kept within these. */
enum { RATIO_MIN = WEFT_LEARN_ONE / 4, RATIO_MAX = WEFT_LEARN_ONE * 16 };

static uint32_t config_at(uint32_t queue, uint32_t device, struct config config)
{
    uint64_t hash = hash_mix(queue, device);
    hash = hash_mix(hash, config.batch);
    hash = hash_mix(hash, config.cpu);
    return (uint32_t)(hash_mix(hash, config.gpu) % WEFT_LEARN_CONFIGS);
}

static uint32_t queue_at(uint32_t queue, uint32_t device)
{
    return (uint32_t)(hash_mix(queue, device) % WEFT_LEARN_QUEUES);
}

/* The ratio of a worker, which fades. */
static int64_t worker_ratio(const struct weft_learn *learn, uint32_t worker, int64_t now_ns)
{
    const struct weft_learnt_worker *known = &learn->workers[worker % WEFT_LEARN_WORKERS];
    const int64_t passed_ns = min_i64(now_ns - known->at_ns, WEFT_LEARN_SPAN_NS);
    const int64_t left = WEFT_LEARN_ONE - passed_ns / (WEFT_LEARN_SPAN_NS / WEFT_LEARN_ONE);
    return WEFT_LEARN_ONE + known->ratio * left / WEFT_LEARN_ONE;
}

static int64_t believed(int64_t ratio, int64_t doubt)
{
    const int64_t off = ratio - WEFT_LEARN_ONE;
    return max_i64(off, -off) > WEFT_LEARN_ONE / doubt ? ratio : WEFT_LEARN_ONE;
}

static bool is_faster(const struct weft_learnt_worker *worker)
{
    return believed(WEFT_LEARN_ONE + worker->ratio, WORKER_DOUBT) < WEFT_LEARN_ONE;
}

static int64_t bounded(int64_t ratio)
{
    return max_i64(min_i64(ratio, RATIO_MAX), RATIO_MIN);
}

static int64_t ratio_of(int64_t run_ns, int64_t planned_ns)
{
    return min_i64(run_ns, DURATION_NS_MAX / WEFT_LEARN_ONE) * WEFT_LEARN_ONE /
           max_i64(planned_ns, 1);
}

static bool is_off(const struct weft_learnt_queue *model)
{
    return model->count >= MODEL_KNOWN &&
           believed(WEFT_LEARN_ONE + model->ratio, CONFIG_DOUBT) != WEFT_LEARN_ONE;
}

/* A batch of @model took @ratio. */
static void note_model(struct weft_learn *learn, uint32_t model, int64_t ratio)
{
    struct weft_learnt_queue *known = &learn->models[model % WEFT_LEARN_QUEUES];
    learn->models_off -= is_off(known) ? 1 : 0;
    known->count += known->count < QUEUE_WEIGHT ? 1 : 0;
    known->ratio += (int32_t)((ratio - WEFT_LEARN_ONE - known->ratio) / known->count);
    learn->models_off += is_off(known) ? 1 : 0;
}

void weft_learn_ran(struct weft_learn *learn, uint32_t model, int64_t planned_ns, int64_t run_ns)
{
    note_model(learn, model, bounded(ratio_of(run_ns, planned_ns)));
}

void weft_learn_note(
    struct weft_learn *learn, const struct weft_batch *batch, int64_t planned_ns, int64_t run_ns,
    int64_t now_ns)
{
    struct weft_learnt_worker *worker = &learn->workers[batch->worker % WEFT_LEARN_WORKERS];
    struct weft_learnt_queue *queue = &learn->queues[queue_at(batch->queue, batch->device)];
    int32_t *config = &learn->configs[config_at(batch->queue, batch->device, batch->config)];
    const int64_t took = ratio_of(run_ns, planned_ns);
    const int64_t of_worker = worker_ratio(learn, batch->worker, now_ns);
    const int64_t of_queue = WEFT_LEARN_ONE + queue->ratio;
    const int64_t of_config = WEFT_LEARN_ONE + *config;
    const int64_t here = bounded(took * WEFT_LEARN_ONE / of_worker); /* As if elsewhere. */
    const int64_t new_queue = bounded(here * WEFT_LEARN_ONE / of_config);
    const int64_t new_config = bounded(here * WEFT_LEARN_ONE / of_queue);
    const int64_t new_worker =
        bounded(took * WEFT_LEARN_ONE / max_i64(of_queue * of_config / WEFT_LEARN_ONE, 1));
    learn->all.count += learn->all.count < ALL_WEIGHT ? 1 : 0;
    learn->all.ratio += (int32_t)((here - WEFT_LEARN_ONE - learn->all.ratio) / learn->all.count);
    note_model(learn, batch->model, here);
    queue->count += queue->count < QUEUE_WEIGHT ? 1 : 0;
    queue->ratio += (int32_t)((new_queue - of_queue) / queue->count);
    *config += (int32_t)((new_config - of_config) / CONFIG_WEIGHT);
    if (queue->count >= QUEUE_KNOWN) {
        learn->workers_faster -= is_faster(worker) ? 1 : 0;
        worker->ratio =
            (int32_t)(of_worker - WEFT_LEARN_ONE + (new_worker - of_worker) / WORKER_WEIGHT);
        worker->at_ns = now_ns;
        learn->workers_faster += is_faster(worker) ? 1 : 0;
    }
}

int64_t weft_learnt_worker(const struct weft_learn *learn, uint32_t worker, int64_t now_ns)
{
    return believed(worker_ratio(learn, worker, now_ns), WORKER_DOUBT);
}

bool weft_learnt_is_any_faster(const struct weft_learn *learn)
{
    return learn->workers_faster > 0;
}

int64_t weft_learnt_all(const struct weft_learn *learn)
{
    const bool is_known = learn->all.count >= ALL_KNOWN;
    return is_known ? believed(WEFT_LEARN_ONE + learn->all.ratio, CONFIG_DOUBT) : WEFT_LEARN_ONE;
}

int64_t weft_learnt_model(const struct weft_learn *learn, uint32_t model)
{
    const struct weft_learnt_queue *known = &learn->models[model % WEFT_LEARN_QUEUES];
    return known->count >= MODEL_KNOWN ? believed(WEFT_LEARN_ONE + known->ratio, CONFIG_DOUBT)
                                       : max_i64(weft_learnt_all(learn), WEFT_LEARN_ONE);
}

bool weft_learnt_models_are_right(const struct weft_learn *learn)
{
    return learn->models_off == 0 && weft_learnt_all(learn) <= WEFT_LEARN_ONE;
}

int64_t weft_learnt_config(
    const struct weft_learn *learn, uint32_t queue, uint32_t device, struct config config)
{
    const struct weft_learnt_queue *known = &learn->queues[queue_at(queue, device)];
    if (known->count == 0) {
        return weft_learnt_all(learn);
    }
    const int64_t of_queue = WEFT_LEARN_ONE + known->ratio;
    const int64_t of_config = WEFT_LEARN_ONE + learn->configs[config_at(queue, device, config)];
    return believed(of_queue * of_config / WEFT_LEARN_ONE, CONFIG_DOUBT);
}

int64_t weft_learnt_more_ns(int64_t planned_ns, int64_t of_config, int64_t of_worker)
{
    const int64_t one = (int64_t)WEFT_LEARN_ONE * WEFT_LEARN_ONE;
    return planned_ns / one * (of_config * of_worker - one);
}
