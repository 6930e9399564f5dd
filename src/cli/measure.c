#include "cli/measure.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/progress.h"
#include "cli/synthetic.h"
#include "engine/onnx_run.h"
#include "profile/fit.h"

enum {
    LOADS = 3,       /* That are timed, after one that fills the cache. */
    RUNS_MIN = 5,    /* Of each point, after one that is not counted; */
    RUNS_MAX = 1000, /* and at most, */
    POINTS_MAX = 6,  /* of 1, 2, 4 ... 32 items. */
};

#define POINT_NS_MAX INT64_C(50000000)   /* Enough for a point, once it has RUNS_MIN. */
#define RUN_NS_MAX   INT64_C(1000000000) /* Longer batches are not tried. */

struct measurement {
    const struct measure_options *options;
    struct onnx_model *model;
    struct measure_signature *signature;
    uint32_t point_count;
    struct profile_point points[POINTS_MAX];
    struct fit_bytes bytes[POINTS_MAX];
};

static enum weft_status load(
    const struct measure_options *options, struct onnx_digest *digest, struct onnx_model **out,
    struct weft_error *error)
{
    const struct onnx_options onnx = {
        .path = options->file->path,
        .name = options->name,
        .folder = options->cache,
        .rows_max = options->file->batch_max,
        .digest = digest,
    };
    return onnx_model_load(options->ort, &onnx, out, error);
}

static uint32_t copy_ports(const struct onnx_ports *ports, struct workflow_input *out)
{
    const uint32_t count = ports->count < MEASURE_PORTS_MAX ? ports->count : MEASURE_PORTS_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const struct onnx_port *port = &ports->items[i];
        out[i] = (struct workflow_input){.dtype = port->dtype, .rank = port->rank};
        memcpy(out[i].name, port->name, sizeof(out[i].name));
        memcpy(out[i].shape, port->shape, sizeof(out[i].shape));
    }
    return count;
}

/* One run of @inputs. */
static enum weft_status run(
    const struct measurement *measurement, const struct bundle *inputs, int64_t *run_ns_out,
    uint64_t *bytes_out, struct weft_error *error)
{
    struct onnx_task task = {.inputs = inputs->tensors, .input_count = inputs->count};
    struct onnx_usage usage = {.run_count = 0};
    const int64_t started_ns = progress_clock_ns();
    onnx_run(measurement->model, NULL, &task, /* task_count */ 1, &usage);
    *run_ns_out = progress_clock_ns() - started_ns;
    *bytes_out = usage.workspace_bytes;
    if (task.output == NULL) {
        return error_set(error, WEFT_FAILED, "%s", task.error.message);
    }
    bundle_destroy(task.output);
    return WEFT_OK;
}

/* Run @items items again and again. False, without a point, if that fails. */
static enum weft_status measure_point(
    struct measurement *measurement, uint32_t items, struct weft_error *error)
{
    struct fit_times times = {.count = 0};
    uint64_t most = 0;
    int64_t spent_ns = 0;
    enum weft_status status = WEFT_OK;
    struct bundle *inputs = synthetic_bundle(
        measurement->signature->inputs, measurement->signature->input_count, items);
    if (inputs == NULL) {
        return error_set(error, WEFT_NO_MEMORY, "no memory for made-up inputs");
    }
    for (uint32_t i = 0; i <= RUNS_MAX && status == WEFT_OK; i++) {
        int64_t run_ns = 0;
        uint64_t bytes = 0;
        status = run(measurement, inputs, &run_ns, &bytes, error);
        most = bytes > most ? bytes : most;
        if (status == WEFT_OK && i > 0) {
            fit_add(&times, run_ns);
            spent_ns += run_ns;
        }
        if (i >= RUNS_MIN && spent_ns > POINT_NS_MAX) {
            break;
        }
    }
    bundle_destroy(inputs);
    if (status == WEFT_OK) {
        measurement->points[measurement->point_count] = fit_point(&times, items);
        measurement->bytes[measurement->point_count] =
            (struct fit_bytes){.items = items, .bytes = most};
        measurement->point_count++;
    }
    return status;
}

/* 1, 2, 4 ... items, as far as the model takes more and it does not take too long. */
static enum weft_status measure_runs(struct measurement *measurement, struct weft_error *error)
{
    const uint32_t most = measurement->options->file->batch_max;
    for (uint32_t i = 0; i < POINTS_MAX; i++) {
        const uint32_t items = 1U << i;
        if (i > 0 && (!measurement->model->has_rows || (most > 0 && items > most) ||
                      measurement->points[i - 1].run_ns > RUN_NS_MAX / 2)) {
            break;
        }
        const enum weft_status status = measure_point(measurement, items, error);
        if (status != WEFT_OK) {
            return i == 0 ? status : WEFT_OK; /* What cannot be batched runs alone. */
        }
    }
    return WEFT_OK;
}

/* Load it a few times; the last one stays. */
static enum weft_status measure_loads(
    struct measurement *measurement, struct profile_model *known, struct weft_error *error)
{
    struct onnx_digest digest = {.bytes = 0};
    struct fit_times times = {.count = 0};
    const uint32_t loads = measurement->options->depth == MEASURE_LOOK ? 0 : LOADS;
    enum weft_status status = load(measurement->options, &digest, &measurement->model, error);
    for (uint32_t i = 0; i < loads && status == WEFT_OK; i++) {
        onnx_model_unload(measurement->model);
        measurement->model = NULL;
        const int64_t started_ns = progress_clock_ns();
        status = load(measurement->options, &digest, &measurement->model, error);
        fit_add(&times, progress_clock_ns() - started_ns);
    }
    if (status == WEFT_OK && loads > 0) {
        known->resident_bytes = onnx_model_bytes(measurement->model);
        known->load_bytes = known->resident_bytes;
        known->load_fixed_ns = fit_point(&times, /* items */ 1).run_ns;
    }
    return status;
}

enum weft_status measure_model(
    const struct measure_options *options, struct profile *profile, uint32_t model, uint32_t device,
    struct measure_signature *signature_out, struct weft_error *error)
{
    struct profile_model *known = &profile->models[model];
    struct measurement measurement = {.options = options, .signature = signature_out};
    enum weft_status status = measure_loads(&measurement, known, error);
    if (status != WEFT_OK) {
        return status;
    }
    signature_out->input_count = copy_ports(&measurement.model->inputs, signature_out->inputs);
    signature_out->output_count = copy_ports(&measurement.model->outputs, signature_out->outputs);
    if (options->depth == MEASURE_RUNS) {
        status = measure_runs(&measurement, error);
    }
    if (measurement.point_count > 0) {
        profile_forget(profile, model, device);
        fit_workspace(
            measurement.bytes, measurement.point_count, &known->workspace_bytes,
            &known->workspace_bytes_per_item);
    }
    for (uint32_t i = 0; i < measurement.point_count; i++) {
        profile_put_point(profile, model, device, &measurement.points[i]);
    }
    onnx_model_unload(measurement.model);
    return status;
}
