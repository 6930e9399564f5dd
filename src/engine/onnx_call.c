/* onnx_call.c - one call of the library: rows into tensors, and a look at what comes out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "engine/onnx_inside.h"
#include "engine/ort_memory.h"

/* Copy rows @range of input @input of the group, laid one after another, to @to. */
static void gather(
    const struct onnx_job *job, const struct onnx_group *group, uint32_t input,
    const uint64_t range[2], uint8_t *to)
{
    uint64_t start = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        const uint32_t task = group->members[i];
        const struct weft_tensor *from = job->bound[task][input];
        const uint64_t end = start + job->rows[task];
        const uint64_t low = start > range[0] ? start : range[0];
        const uint64_t high = end < range[1] ? end : range[1];
        if (low < high) {
            const uint64_t bytes = (high - low) * onnx_row_bytes(from);
            memcpy(to, (const uint8_t *)from->data + (low - start) * onnx_row_bytes(from), bytes);
            to += bytes;
        }
        start = end;
    }
}

static struct OrtStatus *make_value(
    const struct ort *ort, const struct weft_tensor *like, void *data, int64_t rows,
    struct OrtValue **value_out)
{
    int64_t shape[WEFT_RANK_MAX] = {0};
    uint64_t bytes = like->bytes;
    memcpy(shape, like->shape, like->rank * sizeof(*shape));
    if (rows >= 0) {
        shape[0] = rows;
        bytes = (uint64_t)rows * onnx_row_bytes(like);
    }
    return ort->api.CreateTensorWithDataAsOrtValue(
        ort->memory, data, bytes, shape, like->rank, onnx_type_of(like->dtype), value_out);
}

/* The inputs of rows @range of @group; where they lie, if they are all of one task. */
enum weft_status onnx_call_take_rows(
    const struct onnx_job *job, const struct onnx_group *group, const uint64_t range[2],
    struct onnx_call *call, struct weft_error *error)
{
    const struct onnx_model *model = job->model;
    uint32_t first = 0;
    uint64_t start = 0;
    while (start + job->rows[group->members[first]] <= range[0]) {
        start += job->rows[group->members[first++]];
    }
    const uint32_t task = group->members[first];
    const bool is_one = range[1] <= start + job->rows[task];
    for (uint32_t i = 0; i < model->inputs.count; i++) {
        const struct weft_tensor *like = job->bound[task][i];
        uint8_t *data = (uint8_t *)like->data + (range[0] - start) * onnx_row_bytes(like);
        if (!is_one) {
            const uint64_t bytes = (range[1] - range[0]) * onnx_row_bytes(like);
            data = aligned_alloc(64, (bytes / 64 + 1) * 64);
            if (data == NULL) {
                return error_set(error, WEFT_NO_MEMORY, "no memory for a batch");
            }
            call->gathered[i] = data;
            call->gathered_bytes += bytes;
            gather(job, group, i, range, data);
        }
        const enum weft_status status = ort_check(
            model->ort,
            make_value(model->ort, like, data, (int64_t)(range[1] - range[0]), &call->inputs[i]),
            model->name, error);
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
        const struct weft_tensor *like = job->bound[task][i];
        status = ort_check(
            model->ort, make_value(model->ort, like, like->data, /* rows */ -1, &call->inputs[i]),
            model->name, error);
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
    const struct onnx_job *job, struct onnx_call *call, uint64_t rows, struct weft_error *error)
{
    const struct onnx_model *model = job->model;
    struct onnx_usage *usage = job->usage;
    struct ort_meter meter;
    ort_meter_start(&meter, /* is_load */ false);
    struct OrtStatus *outcome = model->ort->api.Run(
        model->session, job->options, model->inputs.names,
        (const struct OrtValue *const *)call->inputs, model->inputs.count, model->outputs.names,
        model->outputs.count, call->outputs);
    ort_meter_stop();
    const uint64_t needed = (uint64_t)meter.peak_bytes + call->gathered_bytes;
    usage->run_count++;
    usage->rows_most = rows > usage->rows_most ? (uint32_t)rows : usage->rows_most;
    usage->workspace_bytes = needed > usage->workspace_bytes ? needed : usage->workspace_bytes;
    usage->left_bytes += meter.now_bytes; /* The outputs are taken off when they are released. */
    if (outcome != NULL && meter.denied > 0) {
        (void)say_failed(model, outcome, NULL); /* It only says that there was no memory. */
        return error_set(
            error, WEFT_INVALID,
            "model '%s' asked for %llu bytes more; its worker may use %llu in all", model->name,
            (unsigned long long)meter.denied, (unsigned long long)ort_memory_limit());
    }
    return outcome == NULL ? WEFT_OK : say_failed(model, outcome, error);
}

void onnx_call_end(const struct onnx_job *job, struct onnx_call *call)
{
    const struct onnx_model *model = job->model;
    struct ort_meter meter;
    ort_meter_start(&meter, /* is_load */ false);
    for (uint32_t i = 0; i < model->inputs.count; i++) {
        if (call->inputs[i] != NULL) {
            model->ort->api.ReleaseValue(call->inputs[i]);
        }
        free(call->gathered[i]);
    }
    for (uint32_t i = 0; i < model->outputs.count; i++) {
        if (call->outputs[i] != NULL) {
            model->ort->api.ReleaseValue(call->outputs[i]);
        }
    }
    ort_meter_stop();
    job->usage->left_bytes += meter.now_bytes;
}

/* Look at output @index of @run. */
enum weft_status onnx_call_look(
    const struct onnx_job *job, struct onnx_call *call, uint32_t index, struct onnx_made *made,
    struct weft_error *error)
{
    const struct ort *ort = job->model->ort;
    const struct onnx_port *port = &job->model->outputs.items[index];
    struct OrtTensorTypeAndShapeInfo *info = NULL;
    uint32_t type = 0;
    size_t rank = 0;
    memset(made, 0, sizeof(*made));
    struct OrtStatus *outcome = ort->api.GetTensorTypeAndShape(call->outputs[index], &info);
    if (outcome == NULL) {
        outcome = ort->api.GetTensorElementType(info, &type);
    }
    if (outcome == NULL) {
        outcome = ort->api.GetDimensionsCount(info, &rank);
    }
    if (outcome == NULL && rank <= WEFT_RANK_MAX) {
        outcome = ort->api.GetDimensions(info, made->tensor.shape, rank);
    }
    if (outcome == NULL) {
        outcome = ort->api.GetTensorMutableData(call->outputs[index], &made->tensor.data);
    }
    if (info != NULL) {
        ort->api.ReleaseTensorTypeAndShapeInfo(info);
    }
    const enum weft_status status = ort_check(ort, outcome, port->name, error);
    if (status != WEFT_OK) {
        return status;
    }
    memcpy(made->tensor.name, port->name, sizeof(made->tensor.name));
    made->tensor.dtype = onnx_dtype_of(type);
    if (rank > WEFT_RANK_MAX || made->tensor.dtype == WEFT_DTYPES) {
        return error_set(
            error, WEFT_LIMIT, "model '%s': output '%s' has %zu extents", job->model->name,
            port->name, rank);
    }
    made->tensor.rank = (uint32_t)rank;
    made->tensor.bytes = tensor_bytes(made->tensor.dtype, made->tensor.rank, made->tensor.shape);
    made->row_bytes = rank > 0 ? onnx_row_bytes(&made->tensor) : 0;
    return WEFT_OK;
}
