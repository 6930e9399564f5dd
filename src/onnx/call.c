/* call.c - one call of the library: rows into tensors, and a look at what comes out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "onnx/inside.h"
#include "onnx/ort_memory.h"

bool onnx_part_of(
    const struct onnx_job *job, const struct onnx_group *group, uint32_t index,
    const uint64_t range[2], struct onnx_part *part_out)
{
    uint64_t start = 0;
    for (uint32_t i = 0; i < index; i++) {
        start += job->rows[group->members[i]];
    }
    const uint64_t end = start + job->rows[group->members[index]];
    const uint64_t low = start > range[0] ? start : range[0];
    const uint64_t high = end < range[1] ? end : range[1];
    *part_out = (struct onnx_part){.row = low - start, .at = low - range[0], .count = high - low};
    return low < high;
}

/* Lay rows @range of input @input of the group one after another. NULL if there is no memory. */
static void *gather(
    const struct onnx_job *job, const struct onnx_group *group, uint32_t input,
    const uint64_t range[2], uint64_t *bytes_out)
{
    struct onnx_span spans[BATCH_TASKS_MAX] = {{NULL, 0}};
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        struct onnx_part part;
        if (onnx_part_of(job, group, i, range, &part)) {
            spans[i] = onnx_span(job->bound[group->members[i]][input], part.row, part.count);
            bytes += spans[i].bytes;
        }
    }
    uint8_t *data = aligned_alloc(64, (bytes / 64 + 1) * 64);
    uint8_t *to = data;
    for (uint32_t i = 0; i < group->count && data != NULL; i++) {
        if (spans[i].bytes > 0) {
            memcpy(to, spans[i].data, spans[i].bytes);
            to += spans[i].bytes;
        }
    }
    *bytes_out = bytes;
    return data;
}

void onnx_call_begin(const struct onnx_job *job, struct onnx_call *call)
{
    const struct onnx_model *model = job->model;
    for (uint32_t i = 0; i < model->inputs.count; i++) {
        call->inputs[i] = NULL;
        call->gathered[i] = NULL;
    }
    for (uint32_t i = 0; i < model->outputs.source_count; i++) {
        call->outputs[i] = NULL;
    }
    for (uint32_t i = 0; i < model->outputs.count; i++) {
        call->converted[i] = NULL;
    }
    call->gathered_bytes = 0;
}

static enum weft_status make_value(
    const struct onnx_model *model, const struct weft_tensor *tensor, struct OrtValue **value_out,
    struct weft_error *error)
{
    const struct ort *ort = model->ort;
    if (tensor->dtype == WEFT_BYTES) {
        return onnx_texts_give(ort, tensor, value_out, error);
    }
    return ort_check(
        ort,
        ort->api.CreateTensorWithDataAsOrtValue(
            ort->memory, tensor->data, tensor->bytes, tensor->shape, tensor->rank,
            onnx_type_of(tensor->dtype), value_out),
        model->name, error);
}

/* The inputs of rows @range of @group; where they lie, if they are all of one task. */
enum weft_status onnx_call_take_rows(
    const struct onnx_job *job, const struct onnx_group *group, const uint64_t range[2],
    struct onnx_call *call, struct weft_error *error)
{
    const struct onnx_model *model = job->model;
    uint32_t first = 0;
    struct onnx_part part;
    while (!onnx_part_of(job, group, first, range, &part)) {
        first++;
    }
    const uint32_t task = group->members[first];
    const bool is_one = part.count == range[1] - range[0];
    for (uint32_t i = 0; i < model->inputs.count; i++) {
        struct weft_tensor tensor = *job->bound[task][i];
        if (is_one) {
            const struct onnx_span span = onnx_span(&tensor, part.row, part.count);
            tensor.data = span.data;
            tensor.bytes = span.bytes;
        } else {
            tensor.data = gather(job, group, i, range, &tensor.bytes);
            if (tensor.data == NULL) {
                return error_set(error, WEFT_NO_MEMORY, "no memory for a batch");
            }
            call->gathered[i] = tensor.data;
            call->gathered_bytes += tensor.bytes;
        }
        tensor.shape[0] = (int64_t)(range[1] - range[0]);
        const enum weft_status status = make_value(model, &tensor, &call->inputs[i], error);
        if (status != WEFT_OK) {
            return status;
        }
    }
    return WEFT_OK;
}

/* The inputs of @task as they are. */
enum weft_status onnx_call_take_whole(
    const struct onnx_job *job, uint32_t task, struct onnx_call *call, struct weft_error *error)
{
    const struct onnx_model *model = job->model;
    enum weft_status status = WEFT_OK;
    for (uint32_t i = 0; i < model->inputs.count && status == WEFT_OK; i++) {
        status = make_value(model, job->bound[task][i], &call->inputs[i], error);
    }
    return status;
}

static enum weft_status say_failed(
    const struct onnx_model *model, struct OrtStatus *outcome, struct weft_error *error)
{
    char what[NAME_BYTES_MAX + 16];
    (void)snprintf(what, sizeof(what), "model '%s'", model->name);
    return ort_check(model->ort, outcome, what, error);
}

enum weft_status onnx_call_run(
    struct onnx_job *job, struct onnx_call *call, uint64_t rows, struct weft_error *error)
{
    const struct onnx_model *model = job->model;
    struct onnx_usage *usage = job->usage;
    struct ort_meter meter;
    ort_meter_start(&meter);
    struct OrtStatus *outcome = model->ort->api.Run(
        model->session, job->options, model->inputs.names,
        (const struct OrtValue *const *)call->inputs, model->inputs.count, model->outputs.names,
        model->outputs.source_count, call->outputs);
    ort_meter_stop();
    const uint64_t needed = (uint64_t)meter.peak_bytes + call->gathered_bytes;
    (void)pthread_mutex_lock(&job->lock);
    usage->run_count++;
    usage->rows_most = rows > usage->rows_most ? (uint32_t)rows : usage->rows_most;
    usage->workspace_bytes = needed > usage->workspace_bytes ? needed : usage->workspace_bytes;
    usage->left_bytes += meter.now_bytes; /* The outputs are taken off when they are released. */
    (void)pthread_mutex_unlock(&job->lock);
    if (outcome != NULL && meter.denied > 0) {
        (void)say_failed(model, outcome, NULL); /* It only says that there was no memory. */
        return error_set(
            error, WEFT_INVALID,
            "model '%s' asked for %llu bytes more; its worker may use %llu in all", model->name,
            (unsigned long long)meter.denied, (unsigned long long)ort_memory_limit());
    }
    return outcome == NULL ? WEFT_OK : say_failed(model, outcome, error);
}

void onnx_call_end(struct onnx_job *job, struct onnx_call *call)
{
    const struct onnx_model *model = job->model;
    struct ort_meter meter;
    ort_meter_start(&meter);
    for (uint32_t i = 0; i < model->inputs.count; i++) {
        if (call->inputs[i] != NULL) {
            model->ort->api.ReleaseValue(call->inputs[i]);
        }
        free(call->gathered[i]);
    }
    for (uint32_t i = 0; i < model->outputs.source_count; i++) {
        if (call->outputs[i] != NULL) {
            model->ort->api.ReleaseValue(call->outputs[i]);
        }
    }
    for (uint32_t i = 0; i < model->outputs.count; i++) {
        free(call->converted[i]);
    }
    ort_meter_stop();
    (void)pthread_mutex_lock(&job->lock);
    job->usage->left_bytes += meter.now_bytes;
    (void)pthread_mutex_unlock(&job->lock);
}

enum weft_status onnx_look_at_tensor(
    const struct ort *ort, struct OrtValue *value, struct weft_tensor *tensor,
    struct weft_error *error)
{
    struct OrtTensorTypeAndShapeInfo *info = NULL;
    uint32_t type = 0;
    size_t rank = 0;
    struct OrtStatus *outcome = ort->api.GetTensorTypeAndShape(value, &info);
    if (outcome == NULL) {
        outcome = ort->api.GetTensorElementType(info, &type);
    }
    if (outcome == NULL) {
        outcome = ort->api.GetDimensionsCount(info, &rank);
    }
    if (outcome == NULL && rank <= WEFT_RANK_MAX) {
        outcome = ort->api.GetDimensions(info, tensor->shape, rank);
    }
    if (info != NULL) {
        ort->api.ReleaseTensorTypeAndShapeInfo(info);
    }
    enum weft_status status = ort_check(ort, outcome, tensor->name, error);
    if (status != WEFT_OK) {
        return status;
    }
    tensor->dtype = onnx_dtype_of(type);
    tensor->rank = (uint32_t)rank;
    if (rank > WEFT_RANK_MAX || tensor->dtype == WEFT_DTYPES) {
        return error_set(
            error, WEFT_LIMIT,
            "output '%s' is of a type that cannot be passed, or has %zu dimensions", tensor->name,
            rank);
    }
    if (tensor->dtype == WEFT_BYTES) {
        return onnx_texts_take(ort, value, tensor, error);
    }
    tensor->bytes = tensor_bytes(tensor->dtype, tensor->rank, tensor->shape);
    return ort_check(ort, ort->api.GetTensorMutableData(value, &tensor->data), tensor->name, error);
}

enum weft_status onnx_call_look(
    const struct onnx_job *job, struct onnx_call *call, uint32_t index, struct weft_tensor *made,
    struct weft_error *error)
{
    const struct onnx_model *model = job->model;
    const struct onnx_port *port = &model->outputs.items[index];
    struct OrtValue *value = call->outputs[port->source];
    *made = (struct weft_tensor){.dtype = port->dtype};
    memcpy(made->name, port->name, sizeof(made->name));
    const enum weft_status status =
        port->part == PART_WHOLE
            ? onnx_look_at_tensor(model->ort, value, made, error)
            : onnx_maps_take(model->ort, value, port->part == PART_KEYS, made, error);
    if (status == WEFT_OK && (port->part != PART_WHOLE || made->dtype == WEFT_BYTES)) {
        call->converted[index] = made->data;
    }
    if (status == WEFT_OK && made->dtype != port->dtype) {
        return error_set(
            error, WEFT_FAILED, "model '%s': output '%s' is %s, and its file says %s", model->name,
            port->name, dtype_name(made->dtype), dtype_name(port->dtype));
    }
    return status;
}
