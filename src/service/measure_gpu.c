#include "service/measure_gpu.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cuda/manifest.h"
#include "cuda/measure.h"
#include "service/machine.h"
#include "service/sums.h"

_Static_assert((int)CUDA_MEASURE_POINTS_MAX <= (int)MEASURE_FIGURES_MAX, "all points have room");

/* Rows of @ports, any number of them. */
static uint32_t copy_ports(
    const struct cuda_port *ports, uint32_t count, struct workflow_input *out)
{
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (struct workflow_input){
            .dtype = ports[i].dtype, .rank = ports[i].rank + 1, .shape = {-1}};
        (void)snprintf(out[i].name, sizeof(out[i].name), "%s", ports[i].name);
        memcpy(out[i].shape + 1, ports[i].shape, ports[i].rank * sizeof(*out[i].shape));
    }
    return count;
}

static enum weft_status read_signature(
    const struct measure_options *options, struct measure_figures *figures_out,
    struct weft_error *error)
{
    struct measure_signature *signature = &figures_out->signature;
    struct cuda_manifest manifest;
    *figures_out = (struct measure_figures){.is_gpu = true};
    const enum weft_status status = cuda_manifest_read(options->file->cuda, &manifest, error);
    if (status == WEFT_OK) {
        signature->input_count =
            copy_ports(manifest.inputs, manifest.input_count, signature->inputs);
        signature->output_count =
            copy_ports(manifest.outputs, manifest.output_count, signature->outputs);
        cuda_manifest_free(&manifest);
    }
    return status;
}

enum weft_status measure_gpu_look(
    const struct measure_options *options, struct measure_figures *figures_out,
    struct weft_error *error)
{
    const enum weft_status status = read_signature(options, figures_out, error);
    return status == WEFT_OK ? sums_check(options->file->cuda, options->cache, error) : status;
}

enum weft_status measure_gpu_here(
    const struct measure_options *options, struct measure_figures *figures_out,
    struct weft_error *error)
{
    static struct cuda_measured measured; /* Large for a stack. */
    const struct cuda_measure_options cuda = {
        .driver = machine_cuda_driver(),
        .torch = machine_cuda_torch(),
        .gpu = options->gpu,
        .folder = options->file->cuda,
        .are_streams = options->are_streams,
        .workers = options->gpu_workers,
        .others = options->others,
        .other_count = options->other_count,
    };
    enum weft_status status = read_signature(options, figures_out, error);
    if (status == WEFT_OK) {
        status = cuda_measure(&cuda, &measured, error);
    }
    if (status == WEFT_OK) {
        figures_out->has_loads = true;
        figures_out->resident_bytes = measured.resident_bytes;
        figures_out->load_ns = measured.load_ns;
        figures_out->workspace_bytes = measured.workspace_bytes;
        figures_out->interference = measured.interference;
        figures_out->point_count = measured.point_count;
        memcpy(
            figures_out->points, measured.points, measured.point_count * sizeof(*measured.points));
    }
    return status;
}
