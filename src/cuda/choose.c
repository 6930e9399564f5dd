/*
 * choose.c - the share that a batch runs on.
 *
 * A graph is of one share, and takes many times as long to record as to run. So a batch whose share
 * has no graph of its package takes another that has, and lets its own be recorded meanwhile: one
 * with as many units or more; or the whole device, beside all shares, on the stream of first runs;
 * or one with fewer units. If all that have one are in use, it waits for those. Only a batch whose
 * package has no graph at all waits for a recording.
 */
#include "cuda/inside.h"

/* Whether a graph of the package of @batch is being made for another batch. */
static bool is_made_for_another(const struct engine_cuda *engine, const struct cuda_batch *batch)
{
    for (const struct cuda_batch *other = engine->batches; other != NULL; other = other->next) {
        if (other->state == BATCH_RECORDS && other->place == batch->place &&
            other->package == batch->package) {
            return true;
        }
    }
    return false;
}

static void want(struct engine_cuda *engine, struct cuda_batch *batch, uint32_t share)
{
    const struct cuda_spot spot = {batch->place, batch->package, share};
    const uint64_t failed = engine->models[batch->place].failed[batch->package];
    if (batch->has_wanted || (failed >> share & 1) != 0) {
        return;
    }
    batch->has_wanted = true;
    batch->wanted = share;
    cuda_graphs_want(engine, &spot);
}

/* A stream that only a recording has would have come first. */
static uint32_t number_wanted(const struct engine_cuda *engine, const struct cuda_share *share)
{
    const struct cuda_share *recording = engine->recording;
    return engine->shares.are_streams && recording != NULL && recording->number < share->number
               ? recording->number
               : share->number;
}

/* The stream of first runs, if it has a graph for @batch and is free. */
static struct cuda_share *take_trial(struct engine_cuda *engine, const struct cuda_batch *batch)
{
    struct cuda_share *trial = &engine->trial;
    if (engine->models[batch->place].graphs[batch->package][CUDA_TRIAL] == NULL ||
        trial->is_taken || engine->is_trial_wanted) {
        return NULL;
    }
    trial->is_taken = true;
    return trial;
}

static struct cuda_share *take_recorded(
    struct engine_cuda *engine, const struct cuda_batch *batch, uint32_t within)
{
    const uint64_t known = engine->models[batch->place].recorded[batch->package];
    struct cuda_share *share = cuda_shares_take_known(
        &engine->shares, within, batch->units, /* least */ batch->units, known);
    if (share == NULL) {
        share = take_trial(engine, batch);
    }
    return share != NULL ? share
                         : cuda_shares_take_known(
                               &engine->shares, within, batch->units, /* least */ 1, known);
}

void cuda_batch_take_share(struct engine_cuda *engine, struct cuda_batch *batch)
{
    const struct cuda_model *model = &engine->models[batch->place];
    const uint32_t within = cuda_units_of(engine, batch->place);
    struct cuda_share *share = NULL;
    const enum weft_status status =
        cuda_shares_take(&engine->shares, within, batch->units, &share, &batch->error);
    cuda_mind(engine, status, &batch->error);
    if (status != WEFT_OK) {
        return;
    }
    if (share != NULL && model->graphs[batch->package][share->number] == NULL) {
        if (model->recorded[batch->package] == 0 &&
            model->graphs[batch->package][CUDA_TRIAL] == NULL &&
            !is_made_for_another(engine, batch)) {
            batch->share = share;
            return;
        }
        want(engine, batch, number_wanted(engine, share));
        cuda_shares_give(&engine->shares, share);
        share = take_recorded(engine, batch, within);
        batch->is_disturbed = true;
    } else if (
        share == NULL && engine->recording != NULL && (engine->recording->units & within) != 0) {
        share = take_recorded(engine, batch, within); /* Its units may be used for a recording. */
        batch->is_disturbed = true;
    }
    batch->share = share;
}
