#include "service/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/numbers.h"
#include "console/progress.h"
#include "engine/monotonic.h"
#include "function/function.h"
#include "onnx/file.h"
#include "onnx/run.h"
#include "profile/estimate.h"
#include "service/measure_gpu.h"
#include "service/nursery.h"
#include "service/synthetic.h"

enum {
    LOADS = 3,       /* That are timed, after one that fills the cache. */
    RUNS_MIN = 5,    /* Of each point, after one that is not counted. */
    RUNS_MAX = 1000, /* Of each point, at most. */
};

#define POINT_NS_MAX INT64_C(50000000)   /* Enough for a point, once it has RUNS_MIN. */
#define RUN_NS_MAX   INT64_C(1000000000) /* Longer batches are not tried. */

struct measurement {
    const struct measure_options *options;
    const struct ort *ort;
    struct onnx_model *model;
    struct measure_figures *figures;
    struct onnx_digest digest;
    struct estimate_bytes bytes[MEASURE_POINTS_MAX];
};

static enum weft_status load(struct measurement *measurement, struct weft_error *error)
{
    const struct measure_options *options = measurement->options;
    const struct onnx_options onnx = {
        .path = options->file->path,
        .name = options->name,
        .folder = options->cache,
        .rows_max = options->file->batch_max,
        .has_turns = true,
        .digest = &measurement->digest,
    };
    return onnx_model_load(measurement->ort, &onnx, &measurement->model, error);
}

static uint32_t copy_ports(const struct onnx_ports *ports, struct workflow_input *out)
{
    const uint32_t count = ports->count < MEASURE_PORTS_MAX ? ports->count : MEASURE_PORTS_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const struct onnx_port *port = &ports->items[i];
        out[i] = (struct workflow_input){
            .dtype = port->dtype, .rank = port->rank, .is_any_rank = port->is_any_rank};
        memcpy(out[i].name, port->name, sizeof(out[i].name));
        memcpy(out[i].shape, port->shape, sizeof(out[i].shape));
    }
    return count;
}

/* One run of @inputs, and what it took and needed. */
static enum weft_status run(
    const struct measurement *measurement, const struct bundle *inputs, int64_t *run_ns_out,
    struct onnx_usage *usage_out, struct weft_error *error)
{
    struct onnx_task task = {.inputs = inputs->tensors, .input_count = inputs->count};
    const int64_t started_ns = thread_ns();
    onnx_run(measurement->model, NULL, &task, /* task_count */ 1, usage_out);
    *run_ns_out = thread_ns() - started_ns;
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
    struct estimate_times times = {.count = 0};
    uint64_t most = 0;
    int64_t spent_ns = 0;
    enum weft_status status = WEFT_OK;
    struct measure_figures *figures = measurement->figures;
    struct bundle *inputs =
        synthetic_bundle(figures->signature.inputs, figures->signature.input_count, items);
    if (inputs == NULL) {
        return error_set(error, WEFT_NO_MEMORY, "no memory for made-up inputs");
    }
    for (uint32_t i = 0; i <= RUNS_MAX && status == WEFT_OK; i++) {
        int64_t run_ns = 0;
        struct onnx_usage usage = {.run_count = 0};
        status = run(measurement, inputs, &run_ns, &usage, error);
        most = max_u64(most, usage.workspace_bytes);
        if (status == WEFT_OK && i > 0 && !usage.is_odd) {
            estimate_add(&times, run_ns);
            spent_ns += run_ns;
        }
        if (times.count >= RUNS_MIN && spent_ns > POINT_NS_MAX) {
            break;
        }
    }
    bundle_destroy(inputs);
    if (status == WEFT_OK && times.count > 0) {
        measurement->bytes[figures->point_count] =
            (struct estimate_bytes){.items = items, .bytes = most};
        figures->points[figures->point_count++] = estimate_point(&times, items);
    }
    return status;
}

/* 1, 2, 4 ... items, as far as the model takes more and it does not take too long. */
static enum weft_status measure_runs(struct measurement *measurement, struct weft_error *error)
{
    const uint32_t most = measurement->options->file->batch_max;
    for (uint32_t i = 0; i < MEASURE_POINTS_MAX; i++) {
        const uint32_t items = 1U << i;
        if (i > 0 && (onnx_model_alone(measurement->model) != NULL || (most > 0 && items > most) ||
                      measurement->figures->points[i - 1].run_ns > RUN_NS_MAX / 2)) {
            break;
        }
        const enum weft_status status = measure_point(measurement, items, error);
        if (status != WEFT_OK) {
            return i == 0 ? status : WEFT_OK; /* What cannot be batched runs alone. */
        }
    }
    return WEFT_OK;
}

/* Let the model leave memory as the engine does, and come back: how long that takes. */
static enum weft_status load_again(
    struct measurement *measurement, int64_t *load_ns_out, struct weft_error *error)
{
    enum weft_status status = WEFT_OK;
    const bool sleeps = onnx_model_sleep(measurement->model);
    if (!sleeps) {
        onnx_model_unload(measurement->model);
        measurement->model = NULL;
    }
    const int64_t started_ns = progress_clock_ns();
    if (sleeps) {
        onnx_model_wake(measurement->model);
    } else {
        status = load(measurement, error);
    }
    *load_ns_out = progress_clock_ns() - started_ns;
    return status;
}

/* Load it a few times; the last one stays. */
static enum weft_status measure_loads(struct measurement *measurement, struct weft_error *error)
{
    struct estimate_times times = {.count = 0};
    const uint32_t loads = measurement->options->depth >= MEASURE_ROWS ? 0 : LOADS;
    enum weft_status status = load(measurement, error);
    for (uint32_t i = 0; i < loads && status == WEFT_OK; i++) {
        int64_t load_ns;
        status = load_again(measurement, &load_ns, error);
        estimate_add(&times, load_ns);
    }
    if (status == WEFT_OK && loads > 0) {
        measurement->figures->has_loads = true;
        measurement->figures->resident_bytes = onnx_model_bytes(measurement->model);
        measurement->figures->load_ns = estimate_point(&times, /* items */ 1).run_ns;
    }
    return status;
}

/* The first run after a load waits for what the load has left in files. */
static enum weft_status measure_first_runs(
    struct measurement *measurement, struct weft_error *error)
{
    struct measure_figures *figures = measurement->figures;
    struct estimate_times times = {.count = 0};
    enum weft_status status = WEFT_OK;
    struct bundle *inputs =
        synthetic_bundle(figures->signature.inputs, figures->signature.input_count, 1);
    for (uint32_t i = 0; i < LOADS && status == WEFT_OK && inputs != NULL; i++) {
        int64_t load_ns;
        int64_t run_ns = 0;
        struct onnx_usage usage;
        status = load_again(measurement, &load_ns, error);
        if (status == WEFT_OK) {
            status = run(measurement, inputs, &run_ns, &usage, error);
        }
        estimate_add(&times, run_ns);
    }
    bundle_destroy(inputs);
    if (status == WEFT_OK && times.count > 0) {
        const int64_t first_ns = estimate_point(&times, /* items */ 1).run_ns;
        figures->first_run_ns = max_i64(first_ns - figures->points[0].run_ns, 0);
    }
    return status;
}

/* Tasks that differ share a run: that is when the engine looks whether they may. */
static void share_a_run(struct measurement *measurement)
{
    const struct measure_signature *signature = &measurement->figures->signature;
    struct bundle *one = synthetic_bundle(signature->inputs, signature->input_count, 1);
    struct bundle *other = synthetic_bundle(signature->inputs, signature->input_count, 2);
    if (one != NULL && other != NULL) {
        struct onnx_usage usage;
        synthetic_vary(other);
        struct onnx_task tasks[2] = {
            {.inputs = one->tensors, .input_count = one->count},
            {.inputs = other->tensors, .input_count = other->count},
        };
        onnx_run(measurement->model, NULL, tasks, 2, &usage);
        bundle_destroy(tasks[0].output);
        bundle_destroy(tasks[1].output);
    }
    bundle_destroy(one);
    bundle_destroy(other);
}

/* Whether tasks may share runs, and if not, why. */
static void look_at_rows(struct measurement *measurement)
{
    if (onnx_model_alone(measurement->model) == NULL) {
        share_a_run(measurement);
    }
    const char *alone = onnx_model_alone(measurement->model);
    if (alone != NULL) {
        (void)snprintf(
            measurement->figures->alone, sizeof(measurement->figures->alone), "%s", alone);
    }
}

enum weft_status measure_here(
    const struct measure_options *options, struct measure_figures *figures_out,
    struct weft_error *error)
{
    struct measurement measurement = {.options = options, .figures = figures_out};
    *figures_out = (struct measure_figures){.point_count = 0};
    enum weft_status status = ort_open(&measurement.ort, error);
    if (status != WEFT_OK) {
        return status;
    }
    status = measure_loads(&measurement, error);
    if (status != WEFT_OK) {
        /* What is wrong with the file itself, if anything, says more than that it does not load. */
        const enum weft_status of_file = onnx_file_check(options->file->path, error);
        return of_file != WEFT_OK ? of_file : status;
    }
    struct measure_signature *signature = &figures_out->signature;
    signature->input_count = copy_ports(&measurement.model->inputs, signature->inputs);
    signature->output_count = copy_ports(&measurement.model->outputs, signature->outputs);
    if (options->depth != MEASURE_LOOK) {
        look_at_rows(&measurement);
    }
    if (options->depth == MEASURE_RUNS) {
        status = measure_runs(&measurement, error);
    }
    if (status == WEFT_OK && figures_out->point_count > 0) {
        status = measure_first_runs(&measurement, error);
    }
    estimate_workspace(
        measurement.bytes, figures_out->point_count, &figures_out->workspace_bytes,
        &figures_out->workspace_bytes_per_item);
    onnx_model_unload(measurement.model);
    return status;
}

/* Whether there is such a function. */
static enum weft_status look_for_function(
    const struct measure_options *options, struct measure_figures *figures_out,
    struct weft_error *error)
{
    struct function function;
    if (options->nursery != NULL) {
        return nursery_measure(options, figures_out, error);
    }
    *figures_out = (struct measure_figures){.point_count = 0};
    return options->is_shut
               ? WEFT_OK
               : function_open(options->file->path, options->file->function, &function, error);
}

/* On a GPU. What fails on one that is cut may be well: it may be a model beside it that failed. */
static enum weft_status measure_on_gpu(
    const struct measure_options *options, struct measure_figures *figures_out,
    struct weft_error *error)
{
    const enum weft_status status = nursery_measure(options, figures_out, error);
    if (status == WEFT_OK || options->nursery->repository->settings.gpus.workers <= 1) {
        return status;
    }
    struct measure_options apart = *options;
    apart.is_apart = true;
    return nursery_measure(&apart, figures_out, error);
}

enum weft_status measure_model(
    const struct measure_options *options, struct measure_figures *figures_out,
    struct weft_error *error)
{
    ASSERT(options->file->kind != REPOSITORY_BUILTIN);
    if (options->file->kind == REPOSITORY_FUNCTION) {
        return look_for_function(options, figures_out, error);
    }
    if (options->is_gpu) {
        const enum weft_status status = measure_gpu_look(options, figures_out, error);
        return status != WEFT_OK || options->depth >= MEASURE_ROWS
                   ? status
                   : measure_on_gpu(options, figures_out, error);
    }
    return options->nursery == NULL ? measure_here(options, figures_out, error)
                                    : nursery_measure(options, figures_out, error);
}

static bool is_same_ports(
    const struct workflow_input *left, uint32_t left_count, const struct workflow_input *right,
    uint32_t right_count)
{
    bool is_same = left_count == right_count;
    for (uint32_t i = 0; i < left_count && is_same; i++) {
        is_same = strcmp(left[i].name, right[i].name) == 0 && left[i].dtype == right[i].dtype &&
                  left[i].rank == right[i].rank && left[i].is_any_rank == right[i].is_any_rank &&
                  memcmp(left[i].shape, right[i].shape, left[i].rank * sizeof(int64_t)) == 0;
    }
    return is_same;
}

bool measure_is_same(const struct measure_signature *left, const struct measure_signature *right)
{
    return is_same_ports(left->inputs, left->input_count, right->inputs, right->input_count) &&
           is_same_ports(left->outputs, left->output_count, right->outputs, right->output_count);
}

void measure_apply(
    const struct measure_figures *figures, struct profile *profile, uint32_t model, uint32_t device)
{
    ASSERT(model < profile->model_count);
    ASSERT(figures->point_count <= MEASURE_FIGURES_MAX);
    struct profile_model *known = &profile->models[model];
    if (figures->point_count > 0) {
        profile_forget(profile, model, device);
        known->curves[device].first_run_ns = figures->first_run_ns;
        known->workspace_bytes = figures->workspace_bytes;
        known->workspace_bytes_per_item = figures->workspace_bytes_per_item;
    }
    for (uint32_t i = 0; i < figures->point_count; i++) {
        profile_put_point(profile, model, device, &figures->points[i]);
    }
    if (figures->has_loads) {
        known->resident_bytes = figures->resident_bytes;
        known->load_bytes = figures->resident_bytes;
    }
    if (figures->has_loads && figures->is_gpu) {
        known->curves[device].load_ns = figures->load_ns;
        known->curves[device].interference = figures->interference;
    } else if (figures->has_loads) {
        known->load_fixed_ns = figures->load_ns;
        known->alone = figures->alone[0] != '\0';
    }
}
