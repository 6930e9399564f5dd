/* measure_gpu.h - the part of measure.h that concerns the form of a model for GPUs. */
#ifndef SERVICE_MEASURE_GPU_H
#define SERVICE_MEASURE_GPU_H

#include "service/measure.h"

/*
 * What the model takes and gives, as its manifest says, if its files are those that were exported.
 * Touches no GPU.
 *
 * Errors: those of sums_check() and cuda_manifest_read().
 */
enum weft_status measure_gpu_look(
    const struct measure_options *options, struct measure_figures *figures_out,
    struct weft_error *error);

/*
 * The same with everything that can be measured on GPU options->gpu; the sums are not looked at.
 * In a process that does nothing else.
 *
 * Errors: those of cuda_measure().
 */
enum weft_status measure_gpu_here(
    const struct measure_options *options, struct measure_figures *figures_out,
    struct weft_error *error);

#endif /* SERVICE_MEASURE_GPU_H */
