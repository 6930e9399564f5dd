/* bind.c - from named tensors to the inputs of a model, and whether they fit. */
#include <string.h>

#include "base/error.h"
#include "onnx/inside.h"

static const struct weft_tensor *find_input(const struct onnx_task *task, const char *name)
{
    for (uint32_t i = 0; i < task->input_count; i++) {
        if (strcmp(task->inputs[i].name, name) == 0) {
            return &task->inputs[i];
        }
    }
    return NULL;
}

/* Whether @given fits @port but for its first extent, where that counts rows. */
static bool fits(const struct onnx_port *port, const struct weft_tensor *given, bool has_rows)
{
    if (given->dtype != port->dtype) {
        return false;
    }
    if (port->rank == 0 || port->is_any_rank) {
        return true; /* The library decides what a scalar may be. */
    }
    bool is_fit = given->rank == port->rank;
    for (uint32_t i = 0; i < port->rank && is_fit; i++) {
        const bool is_row = i == 0 && has_rows;
        is_fit = is_row || port->shape[i] < 0 || port->shape[i] == given->shape[i];
    }
    return is_fit;
}

static enum weft_status bind_input(
    struct onnx_job *job, uint32_t index, const struct onnx_port *port,
    const struct weft_tensor **bound_out)
{
    const struct onnx_model *model = job->model;
    struct onnx_task *task = &job->tasks[index];
    char wanted[DTYPE_SHAPE_BYTES];
    char got[DTYPE_SHAPE_BYTES];
    const struct weft_tensor *given = find_input(task, port->name);
    if (given == NULL) {
        return error_set(
            &task->error, WEFT_NOT_FOUND, "model '%s': input '%s' (%s) is not given", model->name,
            port->name, dtype_shape_text(wanted, port->dtype, port->rank, port->shape));
    }
    if (!fits(port, given, atomic_load(&model->has_rows)) ||
        (given->dtype == WEFT_BYTES
             ? !tensor_texts_fit(given)
             : given->bytes != tensor_bytes(given->dtype, given->rank, given->shape))) {
        return error_set(
            &task->error, WEFT_INVALID, "model '%s': input '%s' wants %s, and is given %s",
            model->name, port->name, dtype_shape_text(wanted, port->dtype, port->rank, port->shape),
            dtype_shape_text(got, given->dtype, given->rank, given->shape));
    }
    *bound_out = given;
    return WEFT_OK;
}

static enum weft_status bind_task(struct onnx_job *job, uint32_t index)
{
    const struct onnx_ports *ports = &job->model->inputs;
    struct onnx_task *task = &job->tasks[index];
    for (uint32_t i = 0; i < ports->count; i++) {
        const enum weft_status status =
            bind_input(job, index, &ports->items[i], &job->bound[index][i]);
        if (status != WEFT_OK) {
            return status;
        }
    }
    job->rows[index] = 1;
    if (!atomic_load(&job->model->has_rows)) {
        return WEFT_OK;
    }
    job->rows[index] = (uint64_t)job->bound[index][0]->shape[0];
    for (uint32_t i = 1; i < ports->count; i++) {
        if ((uint64_t)job->bound[index][i]->shape[0] == job->rows[index]) {
            continue;
        }
        if (!job->model->is_sure) { /* They count different things, then. */
            atomic_store(&job->model->has_rows, false);
            job->rows[index] = 1;
            return WEFT_OK;
        }
        return error_set(
            &task->error, WEFT_INVALID, "model '%s': input '%s' has %lld rows, and '%s' has %llu",
            job->model->name, ports->items[i].name, (long long)job->bound[index][i]->shape[0],
            ports->items[0].name, (unsigned long long)job->rows[index]);
    }
    return WEFT_OK;
}

bool onnx_bind(struct onnx_job *job, uint32_t index)
{
    return bind_task(job, index) == WEFT_OK;
}
