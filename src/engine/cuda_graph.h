/*
 * cuda_graph.h - a run of a package, recorded: inputs from host memory, the model, outputs to host
 * memory.
 *
 * A graph belongs to one package and one share of the device, and always runs on its processors.
 * Inputs are read by a kernel, since a copy would wait behind weights that are under way; outputs
 * are copied out at the end, since the memory they lie in is used by every graph of the share.
 * Recorded by one thread, warm from then on; launched and asked after by another.
 */
#ifndef ENGINE_CUDA_GRAPH_H
#define ENGINE_CUDA_GRAPH_H

#include "engine/cuda_share.h"
#include "engine/cuda_torch.h"

struct cuda_graph {
    const struct cuda_device *device;
    const struct cuda_share *share;
    uint32_t rows;
    uint8_t *host;                     /* Inputs, then outputs. */
    uint64_t device_in;                /* Inputs again. */
    uint64_t input_bytes;              /* Of all, with gaps. */
    uint64_t input_at[CUDA_PORTS_MAX]; /* In host memory, for all rows. */
    uint64_t output_at[CUDA_PORTS_MAX];
    struct CUgraphExec_st *graph;
    struct CUevent_st *event;
};

/*
 * Run @package, of @rows rows, on @share until it is warm, and record it. Its weights must be
 * there. On success cuda_graph_close() releases it.
 *
 * Errors: WEFT_NO_MEMORY if the share or the device has no more; WEFT_LOST; WEFT_FAILED.
 */
enum weft_status cuda_graph_open(
    const struct cuda_device *device, const struct cuda_share *share, struct cuda_package *package,
    const struct cuda_manifest *manifest, struct cuda_graph *graph_out, struct weft_error *error);
void cuda_graph_close(struct cuda_graph *graph);

/* Start it. Errors: those of cuda_check(). */
enum weft_status cuda_graph_launch(struct cuda_graph *graph, struct weft_error *error);

/* WEFT_OK if what was launched is over, WEFT_BUSY if it is not. Errors: those of cuda_check(). */
enum weft_status cuda_graph_poll(struct cuda_graph *graph, struct weft_error *error);

#endif /* ENGINE_CUDA_GRAPH_H */
