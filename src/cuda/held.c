/* held.c - the graphs that an engine for GPUs has, and those that it should have. */
#include "base/assert.h"
#include "cuda/versions.h"
#include "engine/monotonic.h"

void cuda_graphs_add(
    struct engine_cuda *engine, const struct cuda_spot *spot, struct cuda_graph *graph)
{
    struct cuda_model *model = &engine->models[spot->place];
    ASSERT(engine->graph_count < CUDA_GRAPHS_MAX && *cuda_graph_at(engine, spot) == NULL);
    *cuda_graph_at(engine, spot) = graph;
    model->recorded[spot->package] |= spot->share < CUDA_TRIAL ? UINT64_C(1) << spot->share : 0;
    engine->graphs[engine->graph_count++] = *spot;
    engine->graph_bytes += graph->bytes;
    graph->used_ns = monotonic_ns();
}

bool cuda_graphs_have_room(const struct engine_cuda *engine)
{
    return engine->graph_count < engine->options.graphs_max / 2 &&
           engine->graph_bytes < engine->graph_bytes_max / 2;
}

struct cuda_graph *cuda_graphs_remove_oldest(struct engine_cuda *engine)
{
    uint32_t oldest = UINT32_MAX;
    if (engine->graph_count < engine->options.graphs_max &&
        engine->graph_bytes < engine->graph_bytes_max) {
        return NULL;
    }
    for (uint32_t i = 0; i < engine->graph_count; i++) {
        const struct cuda_graph *graph = *cuda_graph_at(engine, &engine->graphs[i]);
        if (!graph->share->is_taken &&
            (oldest == UINT32_MAX ||
             graph->used_ns < (*cuda_graph_at(engine, &engine->graphs[oldest]))->used_ns)) {
            oldest = i;
        }
    }
    if (oldest == UINT32_MAX) {
        return NULL;
    }
    const struct cuda_spot spot = engine->graphs[oldest];
    struct cuda_graph *graph = *cuda_graph_at(engine, &spot);
    *cuda_graph_at(engine, &spot) = NULL;
    if (spot.share < CUDA_TRIAL) {
        engine->models[spot.place].recorded[spot.package] &= ~(UINT64_C(1) << spot.share);
    }
    engine->graphs[oldest] = engine->graphs[--engine->graph_count];
    engine->graph_bytes -= graph->bytes;
    return graph;
}

void cuda_graphs_forget(struct engine_cuda *engine, uint32_t place)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < engine->graph_count; i++) {
        if (engine->graphs[i].place == place) {
            engine->graph_bytes -= (*cuda_graph_at(engine, &engine->graphs[i]))->bytes;
        } else {
            engine->graphs[kept++] = engine->graphs[i];
        }
    }
    engine->graph_count = kept;
    kept = 0;
    for (uint32_t i = 0; i < engine->want_count; i++) {
        if (engine->wants[i].spot.place != place) {
            engine->wants[kept++] = engine->wants[i];
        }
    }
    engine->want_count = kept;
}

void cuda_graphs_want(struct engine_cuda *engine, const struct cuda_spot *spot)
{
    for (uint32_t i = 0; i < engine->want_count; i++) {
        const struct cuda_spot *other = &engine->wants[i].spot;
        if (other->place == spot->place && other->package == spot->package &&
            other->share == spot->share) {
            engine->wants[i].batches++;
            return;
        }
    }
    if (engine->want_count < CUDA_WANTS_MAX) { /* Or else a later batch wants it again. */
        engine->wants[engine->want_count++] = (struct cuda_want){.spot = *spot, .batches = 1};
    }
    (void)pthread_cond_signal(&engine->records);
}

void cuda_graphs_look_ahead(struct engine_cuda *engine)
{
    engine->ahead_left = cuda_place_count(engine);
    (void)pthread_cond_signal(&engine->records);
}

void cuda_batches_disturb(struct engine_cuda *engine)
{
    for (struct cuda_batch *batch = engine->batches; batch != NULL; batch = batch->next) {
        batch->is_disturbed = batch->is_disturbed || batch->state == BATCH_RUNS;
    }
}

uint32_t cuda_units_of(const struct engine_cuda *engine, uint32_t place)
{
    const struct engine_cuda_options *options = &engine->options;
    return cuda_shares_part(
        &engine->shares, cuda_worker_at(engine, place) - options->worker, options->worker_count);
}
