/*
 * measure.h - what a model for GPUs costs on a card: loads, runs by rows and share, memory.
 *
 * Runs are graphs, as the engine launches them, from inputs in host memory to outputs there. Shares
 * of 1, 2, 4 ... units are measured alone. For interference, half of the device runs beside the
 * other half, or a stream beside three others, and all run the same. One of the parts that a device
 * is cut into runs beside all others as in a server: each part has weights of its own and runs two
 * models in turn, of those that may be there, by packages for as many rows. It is measured alone
 * after all of them have recorded their graphs, which makes a device slower. Done in a process of
 * its own, which can be used for nothing else.
 */
#ifndef CUDA_MEASURE_H
#define CUDA_MEASURE_H

#include <stdint.h>

#include <weft/status.h>

#include "profile/profile.h"

enum {
    CUDA_MEASURE_POINTS_MAX = 192,
    CUDA_MEASURE_OTHERS_MAX = 5, /* Models that run beside the one that is measured. */
    CUDA_INTERFERENCE_MAX = 9,
};

struct cuda_measure_options {
    const char *driver; /* As in struct engine_cuda_options, like the next two. */
    const char *torch;
    uint32_t gpu;
    const char *folder; /* Of the model. */
    bool are_streams;   /* As in struct cuda_shares. */
    uint32_t workers;   /* That the device is cut into: one of them is what is measured. 0: one. */
    const char *const *others; /* Folders of models that run beside it, if the device is cut. */
    uint32_t other_count;      /* The first CUDA_MEASURE_OTHERS_MAX count. */
};

struct cuda_measured {
    uint64_t resident_bytes;
    int64_t load_ns; /* Of one whose code is there. */
    uint64_t workspace_bytes;
    double interference; /* As in struct profile_curve. */
    uint32_t point_count;
    struct profile_point points[CUDA_MEASURE_POINTS_MAX];
};

/*
 * Measure the model at options->folder.
 *
 * Errors: those of engine_cuda_create(), cuda_manifest_read() and cuda_graph_open().
 */
enum weft_status cuda_measure(
    const struct cuda_measure_options *options, struct cuda_measured *measured_out,
    struct weft_error *error);

#endif /* CUDA_MEASURE_H */
