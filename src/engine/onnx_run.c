#include "engine/onnx_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "engine/ort_memory.h"

/* The tasks of a call, with their inputs in the order of the model. */
struct job {
    struct onnx_model *model;
    struct OrtRunOptions *options;
    struct onnx_task *tasks;
    uint32_t task_count;
    struct onnx_usage *usage;
    const struct weft_tensor *bound[BATCH_TASKS_MAX][BUNDLE_TENSORS_MAX];
    uint64_t rows[BATCH_TASKS_MAX];
    bool is_open[BATCH_TASKS_MAX]; /* Neither run nor failed. */
};

/* Tasks that may share runs. */
struct group {
    uint32_t count;
    uint32_t members[BATCH_TASKS_MAX];
    uint64_t rows;
};

/* One call of the library. */
struct run {
    struct OrtValue *inputs[BUNDLE_TENSORS_MAX];
    struct OrtValue *outputs[BUNDLE_TENSORS_MAX];
    void *gathered[BUNDLE_TENSORS_MAX]; /* Owned; NULL if an input is used where it lies. */
    uint64_t gathered_bytes;
};

/* An output of a run, where the library has it. */
struct made {
    struct weft_tensor tensor; /* Its data is borrowed. */
    uint64_t row_bytes;
};

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
    if (port->rank == 0) {
        return true; /* A scalar, or a rank that only the library knows. */
    }
    bool is_fit = given->rank == port->rank;
    for (uint32_t i = 0; i < port->rank && is_fit; i++) {
        const bool is_row = i == 0 && has_rows;
        is_fit = is_row || port->shape[i] < 0 || port->shape[i] == given->shape[i];
    }
    return is_fit;
}

static enum weft_status bind_input(
    struct job *job, uint32_t index, const struct onnx_port *port,
    const struct weft_tensor **bound_out)
{
    const struct onnx_model *model = job->model;
    struct onnx_task *task = &job->tasks[index];
    char wanted[ONNX_SHAPE_BYTES];
    char got[ONNX_SHAPE_BYTES];
    const struct weft_tensor *given = find_input(task, port->name);
    if (given == NULL) {
        return error_set(
            &task->error, WEFT_NOT_FOUND, "model '%s': input '%s' (%s) is not given", model->name,
            port->name, onnx_shape_text(wanted, port->dtype, port->rank, port->shape));
    }
    if (!fits(port, given, atomic_load(&model->has_rows)) ||
        given->bytes != tensor_bytes(given->dtype, given->rank, given->shape)) {
        return error_set(
            &task->error, WEFT_INVALID, "model '%s': input '%s' wants %s, and is given %s",
            model->name, port->name, onnx_shape_text(wanted, port->dtype, port->rank, port->shape),
            onnx_shape_text(got, given->dtype, given->rank, given->shape));
    }
    *bound_out = given;
    return WEFT_OK;
}

static enum weft_status bind_task(struct job *job, uint32_t index)
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
        if ((uint64_t)job->bound[index][i]->shape[0] != job->rows[index]) {
            return error_set(
                &task->error, WEFT_INVALID,
                "model '%s': input '%s' has %lld rows, and '%s' has %llu", job->model->name,
                ports->items[i].name, (long long)job->bound[index][i]->shape[0],
                ports->items[0].name, (unsigned long long)job->rows[index]);
        }
    }
    return WEFT_OK;
}

/* Whether the rows of @a and @b can lie in one tensor, for every input. */
static bool are_alike(const struct job *job, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < job->model->inputs.count; i++) {
        const struct weft_tensor *one = job->bound[a][i];
        const struct weft_tensor *other = job->bound[b][i];
        for (uint32_t k = 1; k < one->rank; k++) {
            if (one->shape[k] != other->shape[k]) {
                return false;
            }
        }
    }
    return true;
}

static uint64_t row_bytes(const struct weft_tensor *tensor)
{
    return tensor->shape[0] == 0 ? 0 : tensor->bytes / (uint64_t)tensor->shape[0];
}

/* Copy rows @first to @end of the group's input @input, laid one after another, to @to. */
static void gather(
    const struct job *job, const struct group *group, uint32_t input, const uint64_t range[2],
    uint8_t *to)
{
    uint64_t start = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        const uint32_t task = group->members[i];
        const struct weft_tensor *from = job->bound[task][input];
        const uint64_t end = start + job->rows[task];
        const uint64_t low = start > range[0] ? start : range[0];
        const uint64_t high = end < range[1] ? end : range[1];
        if (low < high) {
            const uint64_t bytes = (high - low) * row_bytes(from);
            memcpy(to, (const uint8_t *)from->data + (low - start) * row_bytes(from), bytes);
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
        bytes = (uint64_t)rows * row_bytes(like);
    }
    return ort->api.CreateTensorWithDataAsOrtValue(
        ort->memory, data, bytes, shape, like->rank, onnx_type_of(like->dtype), value_out);
}

/* The inputs of rows @range of @group; where they lie, if they are all of one task. */
static enum weft_status set_inputs(
    const struct job *job, const struct group *group, const uint64_t range[2], struct run *run,
    struct weft_error *error)
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
        uint8_t *data = (uint8_t *)like->data + (range[0] - start) * row_bytes(like);
        if (!is_one) {
            const uint64_t bytes = (range[1] - range[0]) * row_bytes(like);
            data = aligned_alloc(64, (bytes / 64 + 1) * 64);
            if (data == NULL) {
                return error_set(error, WEFT_NO_MEMORY, "no memory for a batch");
            }
            run->gathered[i] = data;
            run->gathered_bytes += bytes;
            gather(job, group, i, range, data);
        }
        const enum weft_status status = ort_check(
            model->ort,
            make_value(model->ort, like, data, (int64_t)(range[1] - range[0]), &run->inputs[i]),
            model->name, error);
        if (status != WEFT_OK) {
            return status;
        }
    }
    return WEFT_OK;
}

/* The inputs of @task as they are. */
static enum weft_status set_whole_inputs(
    const struct job *job, uint32_t task, struct run *run, struct weft_error *error)
{
    const struct onnx_model *model = job->model;
    enum weft_status status = WEFT_OK;
    for (uint32_t i = 0; i < model->inputs.count && status == WEFT_OK; i++) {
        const struct weft_tensor *like = job->bound[task][i];
        status = ort_check(
            model->ort, make_value(model->ort, like, like->data, /* rows */ -1, &run->inputs[i]),
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

static enum weft_status run_once(
    const struct job *job, struct run *run, uint64_t rows, struct weft_error *error)
{
    const struct onnx_model *model = job->model;
    struct onnx_usage *usage = job->usage;
    struct ort_meter meter;
    ort_meter_start(&meter, /* is_load */ false);
    struct OrtStatus *outcome = model->ort->api.Run(
        model->session, job->options, model->inputs.names,
        (const struct OrtValue *const *)run->inputs, model->inputs.count, model->outputs.names,
        model->outputs.count, run->outputs);
    ort_meter_stop();
    const uint64_t needed = (uint64_t)meter.peak_bytes + run->gathered_bytes;
    usage->run_count++;
    usage->rows_most = rows > usage->rows_most ? (uint32_t)rows : usage->rows_most;
    usage->workspace_bytes = needed > usage->workspace_bytes ? needed : usage->workspace_bytes;
    usage->left_bytes += meter.now_bytes; /* The outputs are taken off when they are released. */
    return outcome == NULL ? WEFT_OK : say_failed(model, outcome, error);
}

static void end_run(const struct job *job, struct run *run)
{
    const struct onnx_model *model = job->model;
    struct ort_meter meter;
    ort_meter_start(&meter, /* is_load */ false);
    for (uint32_t i = 0; i < model->inputs.count; i++) {
        if (run->inputs[i] != NULL) {
            model->ort->api.ReleaseValue(run->inputs[i]);
        }
        free(run->gathered[i]);
    }
    for (uint32_t i = 0; i < model->outputs.count; i++) {
        if (run->outputs[i] != NULL) {
            model->ort->api.ReleaseValue(run->outputs[i]);
        }
    }
    ort_meter_stop();
    job->usage->left_bytes += meter.now_bytes;
}

/* Look at output @index of @run. */
static enum weft_status look_at(
    const struct job *job, struct run *run, uint32_t index, struct made *made,
    struct weft_error *error)
{
    const struct ort *ort = job->model->ort;
    const struct onnx_port *port = &job->model->outputs.items[index];
    struct OrtTensorTypeAndShapeInfo *info = NULL;
    uint32_t type = 0;
    size_t rank = 0;
    memset(made, 0, sizeof(*made));
    struct OrtStatus *outcome = ort->api.GetTensorTypeAndShape(run->outputs[index], &info);
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
        outcome = ort->api.GetTensorMutableData(run->outputs[index], &made->tensor.data);
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
    made->row_bytes = rank > 0 ? row_bytes(&made->tensor) : 0;
    return WEFT_OK;
}

static enum weft_status fail(struct onnx_task *task, const struct weft_error *why)
{
    bundle_destroy(task->output);
    task->output = NULL;
    task->error = *why;
    return why->status;
}

static enum weft_status add_output(
    struct onnx_task *task, const struct weft_tensor *tensor, void **data_out)
{
    if (task->output == NULL) {
        task->output = bundle_create();
    }
    *data_out = task->output == NULL ? NULL : bundle_add(task->output, tensor);
    if (*data_out == NULL) {
        return error_set(&task->error, WEFT_NO_MEMORY, "no memory for output '%s'", tensor->name);
    }
    return WEFT_OK;
}

/* Run @index alone, as it is. */
static void run_whole(struct job *job, uint32_t index)
{
    struct onnx_task *task = &job->tasks[index];
    struct run run = {.gathered_bytes = 0};
    struct weft_error error = {.status = WEFT_OK};
    const bool has_rows = atomic_load(&job->model->has_rows);
    bool rows_match = true;
    enum weft_status status = set_whole_inputs(job, index, &run, &error);
    if (status == WEFT_OK) {
        status = run_once(job, &run, has_rows ? job->rows[index] : 1, &error);
    }
    for (uint32_t i = 0; i < job->model->outputs.count && status == WEFT_OK; i++) {
        struct made made;
        void *data;
        status = look_at(job, &run, i, &made, &error);
        if (status == WEFT_OK) {
            status = add_output(task, &made.tensor, &data);
            error = task->error;
        }
        if (status == WEFT_OK) {
            memcpy(data, made.tensor.data, made.tensor.bytes);
            rows_match = rows_match && made.tensor.rank > 0 &&
                         (uint64_t)made.tensor.shape[0] == job->rows[index];
        }
    }
    end_run(job, &run);
    job->is_open[index] = false;
    if (status != WEFT_OK) {
        (void)fail(task, &error);
        return;
    }
    task->output->items = (uint32_t)job->rows[index];
    if (has_rows && !rows_match) {
        atomic_store(&job->model->has_rows, false);
    }
}

/* Deal the rows @range of @made out to the members of @group. False if it has other rows. */
static bool deal(
    struct job *job, const struct group *group, const uint64_t range[2], const struct made *made)
{
    uint64_t start = 0;
    const uint8_t *from = made->tensor.data;
    if (made->tensor.rank == 0 || (uint64_t)made->tensor.shape[0] != range[1] - range[0]) {
        return false;
    }
    for (uint32_t i = 0; i < group->count; i++) {
        const uint32_t task = group->members[i];
        const uint64_t end = start + job->rows[task];
        const uint64_t low = start > range[0] ? start : range[0];
        const uint64_t high = end < range[1] ? end : range[1];
        if (low < high) {
            struct onnx_task *taker = &job->tasks[task];
            struct weft_tensor mine = made->tensor;
            mine.shape[0] = (int64_t)job->rows[task];
            mine.bytes = job->rows[task] * made->row_bytes;
            const struct weft_tensor *known =
                taker->output == NULL ? NULL : bundle_find(taker->output, mine.name);
            void *to = known == NULL ? NULL : known->data;
            if (known == NULL && add_output(taker, &mine, &to) != WEFT_OK) {
                return false;
            }
            if (known != NULL && known->bytes != mine.bytes) {
                return false; /* Another run of this task made rows of another size. */
            }
            memcpy(
                (uint8_t *)to + (low - start) * made->row_bytes, from,
                (high - low) * made->row_bytes);
            from += (high - low) * made->row_bytes;
        }
        start = end;
    }
    return true;
}

/* Run rows @range of @group. False if tasks must run alone instead. */
static bool run_rows(struct job *job, const struct group *group, const uint64_t range[2])
{
    struct run run = {.gathered_bytes = 0};
    struct weft_error error = {.status = WEFT_OK};
    bool is_dealt = true;
    enum weft_status status = set_inputs(job, group, range, &run, &error);
    if (status == WEFT_OK) {
        status = run_once(job, &run, range[1] - range[0], &error);
    }
    for (uint32_t i = 0; i < job->model->outputs.count && status == WEFT_OK && is_dealt; i++) {
        struct made made;
        status = look_at(job, &run, i, &made, &error);
        is_dealt = status == WEFT_OK && deal(job, group, range, &made);
        if (status == WEFT_OK && !is_dealt && made.tensor.rank > 0 &&
            (uint64_t)made.tensor.shape[0] != range[1] - range[0]) {
            atomic_store(&job->model->has_rows, false);
        }
    }
    end_run(job, &run);
    if (status != WEFT_OK && group->count == 1) {
        (void)fail(&job->tasks[group->members[0]], &error);
        job->is_open[group->members[0]] = false;
        return true;
    }
    return status == WEFT_OK && is_dealt;
}

static void run_group(struct job *job, const struct group *group);

/* Sharing did not work: once more, each by itself; and if that does not, in one piece. */
static void run_alone(struct job *job, const struct group *group)
{
    for (uint32_t i = 0; i < group->count; i++) {
        const uint32_t member = group->members[i];
        bundle_destroy(job->tasks[member].output);
        job->tasks[member].output = NULL;
        if (group->count == 1) {
            run_whole(job, member);
            continue;
        }
        const struct group single = {.count = 1, .members = {member}, .rows = job->rows[member]};
        run_group(job, &single);
    }
}

static void run_group(struct job *job, const struct group *group)
{
    const uint64_t rows_max = job->model->rows_max == 0 ? UINT64_MAX : job->model->rows_max;
    if (group->count == 1 && group->rows <= rows_max) {
        run_whole(job, group->members[0]);
        return;
    }
    for (uint64_t at = 0; at < group->rows; at += rows_max) {
        const uint64_t range[2] = {at, group->rows - at > rows_max ? at + rows_max : group->rows};
        if (!run_rows(job, group, range)) {
            run_alone(job, group);
            return;
        }
        if (!job->is_open[group->members[0]] && group->count == 1) {
            return; /* Failed. */
        }
        if (range[1] == group->rows) {
            break; /* rows_max may be too large to add. */
        }
    }
    for (uint32_t i = 0; i < group->count; i++) {
        const uint32_t task = group->members[i];
        job->tasks[task].output->items = (uint32_t)job->rows[task];
        job->is_open[task] = false;
    }
}

/* Without rows there is nothing to run: give the shapes that are known. */
static void make_empty(struct job *job, uint32_t index)
{
    struct onnx_task *task = &job->tasks[index];
    job->is_open[index] = false;
    for (uint32_t i = 0; i < job->model->outputs.count; i++) {
        const struct onnx_port *port = &job->model->outputs.items[i];
        struct weft_tensor tensor = {.dtype = port->dtype, .rank = port->rank};
        void *data;
        memcpy(tensor.name, port->name, sizeof(tensor.name));
        for (uint32_t k = 1; k < port->rank; k++) {
            tensor.shape[k] = port->shape[k] < 0 ? 0 : port->shape[k];
        }
        if (add_output(task, &tensor, &data) != WEFT_OK) {
            const struct weft_error why = task->error;
            (void)fail(task, &why);
            return;
        }
    }
    task->output->items = 0;
}

/* The open tasks that can share runs with @first. */
static struct group group_of(const struct job *job, uint32_t first)
{
    const bool has_rows = atomic_load(&job->model->has_rows);
    struct group group = {.count = 0};
    for (uint32_t i = first; i < job->task_count; i++) {
        if (i == first ||
            (has_rows && job->is_open[i] && job->rows[i] > 0 && are_alike(job, first, i))) {
            group.members[group.count++] = i;
            group.rows += job->rows[i];
        }
    }
    return group;
}

void onnx_run(
    struct onnx_model *model, struct OrtRunOptions *options, struct onnx_task *tasks,
    uint32_t task_count, struct onnx_usage *usage_out)
{
    struct job job; /* Not initialised: it is large, and a run may take a microsecond. */
    ASSERT(task_count <= BATCH_TASKS_MAX);
    job.model = model;
    job.options = options;
    job.tasks = tasks;
    job.task_count = task_count;
    job.usage = usage_out;
    *usage_out = (struct onnx_usage){.run_count = 0};
    for (uint32_t i = 0; i < task_count; i++) {
        tasks[i].output = NULL;
        tasks[i].error.status = WEFT_OK;
        job.is_open[i] = bind_task(&job, i) == WEFT_OK;
    }
    for (uint32_t i = 0; i < task_count; i++) {
        if (!job.is_open[i]) {
            continue;
        }
        if (job.rows[i] == 0 && atomic_load(&model->has_rows)) {
            make_empty(&job, i);
            continue;
        }
        const struct group group = group_of(&job, i);
        run_group(&job, &group);
    }
}
