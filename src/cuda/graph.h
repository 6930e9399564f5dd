/*
 * graph.h - a run of a package, recorded: inputs from host memory, the model, outputs to host
 * memory.
 *
 * A graph belongs to one package and one share of the device, and always runs on its processors.
 * Inputs are read by a kernel, since a copy would wait behind weights that are under way. Each row
 * is read where a table says: in the graph's own memory, or where it came from, if that is
 * registered with the driver. Outputs are copied out at the end, since the memory they lie in is
 * used by every graph of the share. Recorded by one thread, warm from then on; launched and asked
 * after by another.
 */
#ifndef CUDA_GRAPH_H
#define CUDA_GRAPH_H

#include "cuda/share.h"
#include "cuda/torch.h"

enum {
    CUDA_WARM_RUNS = 2, /* The first finds plans and memory; a recording must ask for neither. */
};

struct cuda_graph {
    const struct cuda_device *device;
    const struct cuda_share *share;
    struct CUstream_st *stream; /* Where it is launched: one of its share. */
    int64_t run_ns;             /* The shortest that its owner has seen; 0: none. */
    int64_t most_ns;            /* The longest, from when it was warmed up on. */
    int64_t used_ns;            /* When that made or launched it last. */
    uint32_t rows;
    uint8_t *host;                      /* Inputs, addresses of their rows, then outputs. */
    uint64_t device_in;                 /* Inputs again. */
    uint64_t input_bytes;               /* Of all, with gaps. */
    uint64_t input_at[CUDA_PORTS_MAX];  /* In host memory, for all rows. */
    uint64_t row_bytes[CUDA_PORTS_MAX]; /* Of inputs. */
    uint64_t table_at[CUDA_PORTS_MAX];
    uint64_t output_at[CUDA_PORTS_MAX];
    uint64_t bytes; /* Of host memory, of which inputs are on the device as well. */
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

/* The same in steps, between which it can be given up with cuda_graph_close(): its memory; */
enum weft_status cuda_graph_begin(
    const struct cuda_device *device, const struct cuda_share *share, struct cuda_package *package,
    const struct cuda_manifest *manifest, struct cuda_graph *graph_out, struct weft_error *error);

/* a run, CUDA_WARM_RUNS times, or once if this thread has recorded @package before; */
enum weft_status cuda_graph_warm(
    struct cuda_graph *graph, struct cuda_package *package, const struct cuda_manifest *manifest,
    struct weft_error *error);

/* and the recording. */
enum weft_status cuda_graph_record(
    struct cuda_graph *graph, struct cuda_package *package, const struct cuda_manifest *manifest,
    struct weft_error *error);

void cuda_graph_close(struct cuda_graph *graph);

/* Let the next launch read row @row of input @port in the graph's own memory, as it does at first.
 */
void cuda_graph_own_row(struct cuda_graph *graph, uint32_t port, uint32_t row);

/*
 * Let the next launch read row @row of input @port at @data, which is registered with the driver
 * and stays until the run is over. False if rows of this input, or @data, are not laid out so that
 * this is possible.
 */
bool cuda_graph_set_row(struct cuda_graph *graph, uint32_t port, uint32_t row, const void *data);

/* Start it. Errors: those of cuda_check(). */
enum weft_status cuda_graph_launch(struct cuda_graph *graph, struct weft_error *error);

/* WEFT_OK if what was launched is over, WEFT_BUSY if it is not. Errors: those of cuda_check(). */
enum weft_status cuda_graph_poll(struct cuda_graph *graph, struct weft_error *error);

#endif /* CUDA_GRAPH_H */
