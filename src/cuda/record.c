/*
 * record.c - the thread that runs packages for the first time, and records graphs.
 *
 * It is the only one that calls libtorch, which keeps plans by thread. What it does first: graphs
 * for batches that can run on none that is there; packages that have never run, for loads; graphs
 * that batches wanted, those of waiting batches first; and, while nothing runs, graphs ahead, for
 * shares that batches use. Between two graphs it looks again.
 */
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "cuda/versions.h"

enum { PAUSE_NS = 100000 }; /* Several turns of the thread that launches. */

/* ── One graph ──────────────────────────────────────────────────────────────────────────── */

static enum weft_status open_package(
    struct engine_cuda *engine, struct cuda_model *model, uint32_t package,
    struct weft_error *error)
{
    return model->packages[package] != NULL
               ? WEFT_OK
               : cuda_package_open(
                     &engine->torch, &model->manifest, package, model->weights.address,
                     &model->packages[package], error);
}

/* Make a graph of @package of @model on @share. Errors: WEFT_CANCELLED if the model is to leave. */
static enum weft_status make_graph(
    struct engine_cuda *engine, struct cuda_model *model, uint32_t package,
    const struct cuda_share *share, struct cuda_graph *graph_out, struct weft_error *error)
{
    const struct cuda_manifest *manifest = &model->manifest;
    const uint32_t runs = model->is_warm[package] ? 1 : CUDA_WARM_RUNS;
    enum weft_status status = open_package(engine, model, package, error);
    if (status != WEFT_OK) {
        return status;
    }
    struct cuda_package *opened = model->packages[package];
    status = cuda_graph_begin(&engine->device, share, opened, manifest, graph_out, error);
    if (status != WEFT_OK) {
        return status;
    }
    for (uint32_t i = 0; i < runs && status == WEFT_OK; i++) {
        status = cuda_graph_warm(graph_out, opened, manifest, error);
        if (status == WEFT_OK && atomic_load(&model->is_leaving)) {
            status = error_set(error, WEFT_CANCELLED, "the model leaves");
        }
    }
    if (status == WEFT_OK) {
        status = cuda_graph_record(graph_out, opened, manifest, error);
    }
    if (status == WEFT_FAILED && runs < CUDA_WARM_RUNS) { /* What it wants is found by then. */
        status = cuda_graph_warm(graph_out, opened, manifest, error);
        if (status == WEFT_OK) {
            status = cuda_graph_record(graph_out, opened, manifest, error);
        }
    }
    if (status != WEFT_OK) {
        cuda_graph_close(graph_out);
    }
    model->is_warm[package] = model->is_warm[package] || status == WEFT_OK;
    return status;
}

/*
 * Make the graph at @spot, on its share, which the caller holds. Under the lock, which is given up
 * meanwhile.
 */
static enum weft_status record(
    struct engine_cuda *engine, const struct cuda_spot *spot, const struct cuda_share *share,
    struct weft_error *error)
{
    struct cuda_model *model = &engine->models[spot->place];
    struct cuda_graph *graph = cuda_graphs_remove_oldest(engine);
    enum weft_status status;
    while (graph != NULL) {
        cuda_unlock(engine);
        cuda_graph_close(graph);
        free(graph);
        cuda_lock(engine);
        graph = cuda_graphs_remove_oldest(engine);
    }
    const bool has_room = engine->graph_count < engine->options.graphs_max;
    graph = memory_zeroed(1, sizeof(*graph));
    cuda_batches_disturb(engine);
    engine->is_recording = true;
    cuda_unlock(engine);
    if (has_room) {
        status = make_graph(engine, model, spot->package, share, graph, error);
    } else {
        status = error_set(error, WEFT_LIMIT, "the GPU runs as many graphs as there may be");
    }
    cuda_mind(engine, status, error);
    cuda_lock(engine);
    engine->is_recording = false;
    if (status != WEFT_OK) {
        free(graph);
        return status;
    }
    cuda_graphs_add(engine, spot, graph);
    return WEFT_OK;
}

/* ── For batches that wait, and for loads ───────────────────────────────────────────────── */

static bool record_for_batch(struct engine_cuda *engine)
{
    struct cuda_batch *batch = engine->batches;
    while (batch != NULL && batch->state != BATCH_RECORDS) {
        batch = batch->next;
    }
    if (batch == NULL) {
        return false;
    }
    const struct cuda_spot spot = {batch->place, batch->package, batch->share->number};
    struct weft_error error = {.status = WEFT_OK};
    if (record(engine, &spot, batch->share, &error) != WEFT_OK) {
        batch->error = error;
    }
    batch->state = BATCH_READY;
    return true;
}

/* The load goes back to the loading thread, before others: it may be all that others wait for. */
static void end_trial(struct engine_cuda *engine, struct cuda_job *job)
{
    engine->trials = job->next;
    engine->is_trial_wanted = false;
    job->kind = JOB_TRIED;
    job->next = engine->jobs;
    engine->jobs = job;
    (void)pthread_cond_broadcast(&engine->changed);
}

/*
 * The share for a first run. Where shares are streams it is one that batches use: a GPU on which
 * work came from several streams runs every graph more slowly from then on.
 */
static struct cuda_share *take_share_of_trial(struct engine_cuda *engine, struct cuda_job *job)
{
    struct cuda_share *share = NULL;
    if (engine->shares.are_streams) {
        const enum weft_status status =
            cuda_shares_take(&engine->shares, 0, /* units */ 0, &share, &job->error);
        cuda_mind(engine, status, &job->error);
    }
    engine->is_trial_wanted = share == NULL && engine->trial.is_taken;
    if (share == NULL && !engine->trial.is_taken) {
        engine->trial.is_taken = true;
        share = &engine->trial;
    }
    return share;
}

/*
 * Run one package of a model that is loaded for the first time: plans are found now, and what
 * cannot run is known. Its graph is kept.
 */
static bool try_next(struct engine_cuda *engine)
{
    struct cuda_job *job = engine->trials;
    if (job == NULL) {
        return false;
    }
    if (atomic_load(&job->is_cancelled) || job->error.status != WEFT_OK ||
        job->package == engine->models[job->place].manifest.package_count) {
        end_trial(engine, job);
        return true;
    }
    struct cuda_share *share = take_share_of_trial(engine, job);
    if (share == NULL) {
        return job->error.status != WEFT_OK; /* Batches have all of them: until one ends. */
    }
    const struct cuda_spot spot = {job->place, job->package, share->number};
    if (*cuda_graph_at(engine, &spot) != NULL || /* Of a trial that ended with a later package. */
        record(engine, &spot, share, &job->error) == WEFT_OK) {
        job->package++;
    }
    cuda_shares_give(&engine->shares, share);
    return true;
}

/* ── For batches to come ────────────────────────────────────────────────────────────────── */

static struct cuda_share *share_at(struct engine_cuda *engine, const struct cuda_spot *spot)
{
    return spot->share == CUDA_TRIAL ? &engine->trial : &engine->shares.shares[spot->share];
}

/* Whether the graph at @spot should still be made. */
static bool is_missing(struct engine_cuda *engine, const struct cuda_spot *spot)
{
    const struct cuda_model *model = &engine->models[spot->place];
    return model->is_there && *cuda_graph_at(engine, spot) == NULL &&
           (spot->share == CUDA_TRIAL ? !model->has_failed[spot->package]
                                      : (model->failed[spot->package] >> spot->share & 1) == 0);
}

/* And whether it can be made now. */
static bool can_be_made(struct engine_cuda *engine, const struct cuda_spot *spot)
{
    return is_missing(engine, spot) && cuda_shares_is_free(&engine->shares, share_at(engine, spot));
}

/* Make the graph at @spot. */
static void record_aside(struct engine_cuda *engine, const struct cuda_spot *spot)
{
    struct cuda_model *model = &engine->models[spot->place];
    struct cuda_share *share = share_at(engine, spot);
    struct weft_error error = {.status = WEFT_OK};
    cuda_shares_hold(&engine->shares, share);
    model->users++;
    engine->recording = share;
    const enum weft_status status = record(engine, spot, share, &error);
    engine->recording = NULL;
    if (status != WEFT_OK && status != WEFT_CANCELLED) {
        model->has_failed[spot->package] |= spot->share == CUDA_TRIAL;
        model->failed[spot->package] |= spot->share == CUDA_TRIAL ? 0 : UINT64_C(1) << spot->share;
    }
    cuda_shares_give(&engine->shares, share);
    model->users--;
    (void)pthread_cond_broadcast(&engine->changed);
}

static void forget_wants(struct engine_cuda *engine)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < engine->want_count; i++) {
        if (is_missing(engine, &engine->wants[i].spot)) {
            engine->wants[kept++] = engine->wants[i];
        }
    }
    engine->want_count = kept;
}

/* What a batch waits for that could run on another share; else what most batches wanted. */
static bool record_wanted(struct engine_cuda *engine)
{
    const struct cuda_want *most = NULL;
    forget_wants(engine);
    for (struct cuda_batch *batch = engine->batches; batch != NULL; batch = batch->next) {
        const struct cuda_spot spot = {batch->place, batch->package, batch->wanted};
        if (batch->state == BATCH_WAITS && batch->has_wanted && can_be_made(engine, &spot)) {
            record_aside(engine, &spot);
            return true;
        }
    }
    for (uint32_t i = 0; i < engine->want_count; i++) {
        const struct cuda_want *want = &engine->wants[i];
        if ((most == NULL || want->batches > most->batches) && can_be_made(engine, &want->spot)) {
            most = want;
        }
    }
    if (most != NULL) {
        const struct cuda_spot spot = most->spot;
        record_aside(engine, &spot);
    }
    return most != NULL;
}

/*
 * What is missing at @place: on the share that most batches used, of those that its worker has; or,
 * of a package that has no graph, on the stream of first runs.
 */
static bool find_ahead(struct engine_cuda *engine, uint32_t place, struct cuda_spot *spot_out)
{
    const struct cuda_model *model = &engine->models[place];
    const struct cuda_shares *shares = &engine->shares;
    uint32_t uses = 0;
    if (!model->is_there) {
        return false;
    }
    const uint32_t within = cuda_units_of(engine, place);
    for (uint32_t i = 0; i < model->manifest.package_count; i++) {
        for (uint32_t k = 0; k < shares->share_count; k++) {
            const struct cuda_spot spot = {place, i, k};
            const struct cuda_share *share = &shares->shares[k];
            if (share->uses > uses && (shares->are_streams || (share->units & ~within) == 0) &&
                can_be_made(engine, &spot)) {
                *spot_out = spot;
                uses = share->uses;
            }
        }
    }
    for (uint32_t i = 0; i < model->manifest.package_count && uses == 0; i++) {
        *spot_out = (struct cuda_spot){place, i, CUDA_TRIAL};
        if (model->recorded[i] == 0 && !shares->are_streams && can_be_made(engine, spot_out)) {
            return true;
        }
    }
    return uses > 0;
}

static bool record_ahead(struct engine_cuda *engine)
{
    engine->ahead_left = cuda_graphs_have_room(engine) ? engine->ahead_left : 0;
    while (engine->ahead_left > 0 && engine->batches == NULL) {
        struct cuda_spot spot;
        if (find_ahead(engine, engine->ahead_at, &spot)) {
            record_aside(engine, &spot);
            return true;
        }
        engine->ahead_at = (engine->ahead_at + 1) % cuda_place_count(engine);
        engine->ahead_left--;
    }
    return false;
}

/* A batch that waits takes the share of what was just recorded, before the next recording does. */
static void let_batches_run(struct engine_cuda *engine)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    const struct cuda_batch *batch = engine->batches;
    while (batch != NULL && batch->state != BATCH_WAITS) {
        batch = batch->next;
    }
    if (batch != NULL) {
        cuda_unlock(engine);
        (void)nanosleep(&pause, NULL);
        cuda_lock(engine);
    }
}

void *cuda_recorder_main(void *argument)
{
    struct engine_cuda *engine = argument;
    struct weft_error error;
    cuda_mind(engine, cuda_device_enter(&engine->device, &error), &error);
    cuda_lock(engine);
    while (!engine->ends) {
        if (record_for_batch(engine) || try_next(engine) || record_wanted(engine) ||
            record_ahead(engine)) {
            let_batches_run(engine);
        } else {
            (void)pthread_cond_wait(&engine->records, engine->options.lock);
        }
    }
    cuda_unlock(engine);
    return NULL;
}
