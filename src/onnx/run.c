/* run.c - which tasks share a call, and to whom its rows belong. */
#include "onnx/run.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "engine/monotonic.h"
#include "onnx/inside.h"
#include "onnx/rows.h"

/* Whether the rows of @a and @b can lie in one tensor, for every input. */
static bool are_alike(const struct onnx_job *job, uint32_t a, uint32_t b)
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

/* As schedulers count them: the largest number stands for all above it. */
static uint32_t items_of(uint64_t rows)
{
    return rows < ITEMS_MAX ? (uint32_t)rows : ITEMS_MAX;
}

static void fail(struct onnx_task *task, const struct weft_error *why)
{
    bundle_destroy(task->output);
    task->output = NULL;
    task->error = *why;
}

/* Room for @tensor in the output of @task; NULL, and its error says so, if there is none. */
static void *add_output(struct onnx_task *task, const struct weft_tensor *tensor)
{
    void *room = bundle_add(task->output, tensor);
    if (room == NULL) {
        (void)error_set(&task->error, WEFT_NO_MEMORY, "no memory for output '%s'", tensor->name);
    }
    return room;
}

/* Let the output of @task be empty. False, and its error says so, if there is no memory. */
static bool start_output(struct onnx_task *task)
{
    bundle_destroy(task->output);
    task->output = bundle_create();
    if (task->output == NULL) {
        (void)error_set(&task->error, WEFT_NO_MEMORY, "no memory for outputs");
    }
    return task->output != NULL;
}

/* Run @index alone, as it is. */
static void run_whole(struct onnx_job *job, uint32_t index)
{
    struct onnx_task *task = &job->tasks[index];
    struct onnx_call call;
    struct weft_error error = {.status = WEFT_OK};
    const bool has_rows = atomic_load(&job->model->has_rows);
    bool rows_match = true;
    onnx_call_begin(job, &call);
    enum weft_status status = onnx_call_take_whole(job, index, &call, &error);
    if (status == WEFT_OK) {
        status = onnx_call_run(job, &call, has_rows ? job->rows[index] : 1, &error);
    }
    for (uint32_t i = 0; i < job->model->outputs.count && status == WEFT_OK; i++) {
        struct weft_tensor made;
        status = onnx_call_look(job, &call, i, &made, &error);
        void *data = status == WEFT_OK ? add_output(task, &made) : NULL;
        if (status == WEFT_OK && data == NULL) {
            error = task->error;
            status = WEFT_NO_MEMORY;
        }
        if (data != NULL && made.bytes > 0) { /* The library has no place for nothing. */
            memcpy(data, made.data, made.bytes);
        }
        rows_match = rows_match && made.rank > 0 && (uint64_t)made.shape[0] == job->rows[index];
    }
    onnx_call_end(job, &call);
    job->is_open[index] = false;
    if (status != WEFT_OK) {
        fail(task, &error);
        return;
    }
    task->output->items = items_of(job->rows[index]);
    if (has_rows && !rows_match && job->rows[index] > 0) { /* No rows teach nothing. */
        atomic_store(&job->model->has_rows, false);
    }
}

/* Give @taker, which has @rows in all, @part of @made. False if that does not fit with what it has
 * from other runs. */
static bool deal_to(
    struct onnx_task *taker, const struct weft_tensor *made, const struct onnx_part *part,
    uint64_t rows)
{
    const struct onnx_span span = onnx_span(made, part->at, part->count);
    struct weft_tensor mine = *made;
    mine.shape[0] = (int64_t)rows;
    if (made->dtype == WEFT_BYTES && part->row > 0) { /* Other runs made those before. */
        return bundle_extend(taker->output, mine.name, span.data, span.bytes);
    }
    const uint64_t row_bytes = span.bytes / part->count;
    mine.bytes = made->dtype == WEFT_BYTES ? span.bytes : row_bytes * rows;
    const struct weft_tensor *known = bundle_find(taker->output, mine.name);
    if (known != NULL && known->bytes != mine.bytes) {
        return false; /* Another run of this task made rows of another size. */
    }
    uint8_t *to = known == NULL ? add_output(taker, &mine) : known->data;
    if (to != NULL && span.bytes > 0) {
        memcpy(to + part->row * row_bytes, span.data, span.bytes);
    }
    return to != NULL;
}

/* Deal the rows @range of @made out to the members of @group. False if it has other rows. */
static bool deal(
    struct onnx_job *job, const struct onnx_group *group, const uint64_t range[2],
    const struct weft_tensor *made)
{
    if (made->rank == 0 || (uint64_t)made->shape[0] != range[1] - range[0]) {
        return false;
    }
    for (uint32_t i = 0; i < group->count; i++) {
        const uint32_t task = group->members[i];
        struct onnx_part part;
        if (onnx_part_of(job, group, i, range, &part) && job->is_open[task] &&
            !deal_to(&job->tasks[task], made, &part, job->rows[task])) {
            return false;
        }
    }
    return true;
}

/* Run rows @range of @group. False if tasks must run alone instead. */
static bool run_rows(struct onnx_job *job, const struct onnx_group *group, const uint64_t range[2])
{
    struct onnx_call call;
    struct weft_error error = {.status = WEFT_OK};
    bool is_dealt = true;
    onnx_call_begin(job, &call);
    enum weft_status status = onnx_call_take_rows(job, group, range, &call, &error);
    if (status == WEFT_OK) {
        status = onnx_call_run(job, &call, range[1] - range[0], &error);
    }
    for (uint32_t i = 0; i < job->model->outputs.count && status == WEFT_OK && is_dealt; i++) {
        struct weft_tensor made;
        status = onnx_call_look(job, &call, i, &made, &error);
        (void)pthread_mutex_lock(&job->lock);
        is_dealt = status == WEFT_OK && deal(job, group, range, &made);
        (void)pthread_mutex_unlock(&job->lock);
        if (status == WEFT_OK && !is_dealt && made.rank > 0 &&
            (uint64_t)made.shape[0] != range[1] - range[0]) {
            atomic_store(&job->model->has_rows, false);
        }
    }
    onnx_call_end(job, &call);
    if (status != WEFT_OK && group->count == 1) {
        (void)pthread_mutex_lock(&job->lock);
        fail(&job->tasks[group->members[0]], &error);
        job->is_open[group->members[0]] = false;
        (void)pthread_mutex_unlock(&job->lock);
        return true;
    }
    return status == WEFT_OK && is_dealt;
}

static void run_group(struct onnx_job *job, const struct onnx_group *group);

/* Sharing did not work: once more, each by itself; and if that does not, in one piece. */
static void run_alone(struct onnx_job *job, const struct onnx_group *group)
{
    for (uint32_t i = 0; i < group->count; i++) {
        const uint32_t member = group->members[i];
        if (!start_output(&job->tasks[member])) {
            job->is_open[member] = false;
            continue;
        }
        if (group->count == 1) {
            run_whole(job, member);
            continue;
        }
        const struct onnx_group single = {
            .count = 1, .members = {member}, .rows = job->rows[member]};
        run_group(job, &single);
    }
}

/* Whether the rows of @group are to run on several threads. */
static bool is_split(const struct onnx_job *job, const struct onnx_group *group)
{
    return job->parts > 1 && group->rows > 1 && atomic_load(&job->model->has_rows);
}

/* Of one row of @group, on average: rows of texts differ. */
static uint64_t row_bytes_of(const struct onnx_job *job, const struct onnx_group *group)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        for (uint32_t k = 0; k < job->model->inputs.count; k++) {
            bytes += job->bound[group->members[i]][k]->bytes;
        }
    }
    return bytes / group->rows;
}

/* Whether the first and last rows of @task are not the same: only then can they show anything. */
static bool are_ends_different(const struct onnx_job *job, uint32_t task)
{
    const uint64_t last = job->rows[task] - 1;
    for (uint32_t i = 0; i < job->model->inputs.count; i++) {
        const struct onnx_span one = onnx_span(job->bound[task][i], 0, 1);
        const struct onnx_span other = onnx_span(job->bound[task][i], last, 1);
        if (one.bytes != other.bytes || memcmp(one.data, other.data, one.bytes) != 0) {
            return true;
        }
    }
    return false;
}

/* Whether the inputs of tasks @a and @b are not the same: only then can their rows show anything.
 */
static bool are_different(const struct onnx_job *job, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < job->model->inputs.count; i++) {
        const struct weft_tensor *one = job->bound[a][i];
        const struct weft_tensor *other = job->bound[b][i];
        if (one->bytes != other->bytes ||
            (one->bytes > 0 && memcmp(one->data, other->data, one->bytes) != 0)) {
            return true;
        }
    }
    return false;
}

/* Run @member once more, alone: does it make the same as in company? Unknown if that fails. */
static enum onnx_rows look_alone(struct onnx_job *job, uint32_t member)
{
    struct onnx_task *task = &job->tasks[member];
    struct bundle *together = task->output;
    enum onnx_rows rows = ROWS_UNKNOWN;
    task->output = bundle_create();
    if (task->output != NULL) {
        run_whole(job, member);
    }
    if (task->output != NULL) {
        rows = onnx_rows_agree(together, task->output) ? ROWS_APART : ROWS_MIXED;
    }
    bundle_destroy(task->output);
    task->output = together;
    task->error.status = WEFT_OK;
    return rows;
}

/* The tasks of @group have shared a run, for the first time with this model: may they? */
static bool are_apart(struct onnx_job *job, const struct onnx_group *group)
{
    const uint32_t first = group->members[0];
    const uint32_t last = group->members[group->count - 1];
    atomic_uchar *known = &job->model->rows->rows;
    const unsigned char before = atomic_load(known);
    if (group->count == 1 || job->model->rows_max == 1 || before == ROWS_APART) {
        return true;
    }
    const bool is_different = are_different(job, first, last);
    if (before == ROWS_ALIKE && !is_different) {
        return true;
    }
    enum onnx_rows rows = look_alone(job, first);
    if (rows == ROWS_APART) {
        rows = is_different ? look_alone(job, last) : ROWS_ALIKE;
    }
    atomic_store(known, (unsigned char)rows);
    return rows != ROWS_MIXED;
}

/* Run @group, at most @rows_max rows at a time. */
static void run_in_turns(struct onnx_job *job, const struct onnx_group *group, uint64_t rows_max)
{
    const unsigned char rows = atomic_load(&job->model->rows->rows);
    const bool splits = is_split(job, group);
    /* Who asks for parts knows from the measurement that rows are told apart. */
    const bool is_whole =
        rows == ROWS_MIXED || (rows != ROWS_APART && !job->model->is_sure && !splits);
    if (group->count == 1 && ((group->rows <= rows_max && !splits) || is_whole)) {
        run_whole(job, group->members[0]);
        return;
    }
    if (!onnx_run_parts(job, group, rows_max, run_rows)) {
        run_alone(job, group);
        return;
    }
    if (!job->is_open[group->members[0]] && group->count == 1) {
        return; /* Failed. */
    }
    if (!are_apart(job, group)) {
        run_alone(job, group);
        return;
    }
    for (uint32_t i = 0; i < group->count; i++) {
        const uint32_t task = group->members[i];
        job->tasks[task].output->items = items_of(job->rows[task]);
        job->is_open[task] = false;
    }
}

/* Run a task of several rows in two halves, and at once: may its rows run in turns? */
static void show_apart(struct onnx_job *job, const struct onnx_group *group)
{
    const uint32_t task = group->members[0];
    if (!are_ends_different(job, task) ||
        !onnx_run_parts(job, group, group->rows - group->rows / 2, run_rows)) {
        run_alone(job, group);
        return;
    }
    if (!job->is_open[task]) {
        return; /* Failed. */
    }
    const enum onnx_rows rows = look_alone(job, task);
    if (rows != ROWS_UNKNOWN) {
        atomic_store(&job->model->rows->rows, (unsigned char)rows);
    }
    if (rows != ROWS_APART) {
        run_alone(job, group);
        return;
    }
    job->tasks[task].output->items = items_of(job->rows[task]);
    job->is_open[task] = false;
    job->usage->is_odd = true;
}

static bool have_outputs(const struct onnx_job *job, const struct onnx_group *group)
{
    bool have_all = true;
    for (uint32_t i = 0; i < group->count; i++) {
        have_all = have_all && job->tasks[group->members[i]].output != NULL;
    }
    return have_all;
}

/* Try @turn with @group, and take note of the processor time, which other programs do not change.
 */
static void try_turn(
    struct onnx_job *job, const struct onnx_group *group, const struct onnx_turn *turn)
{
    struct onnx_model *model = job->model;
    const int64_t started_ns = thread_ns();
    run_in_turns(job, group, turn->rows);
    const int64_t took_ns = thread_ns() - started_ns;
    if (!have_outputs(job, group)) {
        return; /* It was cut short. */
    }
    const struct onnx_trial trial =
        onnx_turns_tell(&model->rows->turns, turn, took_ns, row_bytes_of(job, group) * group->rows);
    job->usage->is_odd = job->usage->is_odd || trial.is_worse;
    if (trial.is_over && model->turns_path != NULL) {
        onnx_turns_save(&model->rows->turns, model->turns_path);
    }
}

static void run_group(struct onnx_job *job, const struct onnx_group *group)
{
    struct onnx_model *model = job->model;
    const uint64_t rows_max = model->rows_max == 0 ? UINT64_MAX : model->rows_max;
    const unsigned char rows = atomic_load(&model->rows->rows);
    const bool splits = is_split(job, group);
    const bool is_apart = rows == ROWS_APART;
    const bool may_part =
        model->has_turns && rows_max > 1 && group->rows > 1 && atomic_load(&model->has_rows);
    if (may_part && is_apart && !splits) {
        const struct onnx_turn turn =
            onnx_turns_choose(&model->rows->turns, group->rows, row_bytes_of(job, group), rows_max);
        if (turn.is_trial) {
            try_turn(job, group, &turn);
        } else {
            run_in_turns(job, group, turn.rows);
        }
    } else if (may_part && is_apart) {
        const struct onnx_turn turn =
            onnx_turns_best(&model->rows->turns, group->rows, row_bytes_of(job, group), rows_max);
        run_in_turns(job, group, turn.rows);
    } else if (
        may_part && rows != ROWS_MIXED && group->count == 1 && group->rows <= rows_max && !splits) {
        show_apart(job, group);
    } else {
        run_in_turns(job, group, rows_max);
    }
}

/* Whether the model says of what size the rows of all its outputs are. */
static bool are_rows_known(const struct onnx_model *model)
{
    for (uint32_t i = 0; i < model->outputs.count; i++) {
        const struct onnx_port *port = &model->outputs.items[i];
        for (uint32_t k = 1; k < port->rank; k++) {
            if (port->shape[k] < 0) {
                return false;
            }
        }
    }
    return true;
}

/* Without rows there is nothing to run: give the shapes that are known. */
static void make_empty(struct onnx_job *job, uint32_t index)
{
    struct onnx_task *task = &job->tasks[index];
    job->is_open[index] = false;
    for (uint32_t i = 0; i < job->model->outputs.count; i++) {
        const struct onnx_port *port = &job->model->outputs.items[i];
        struct weft_tensor tensor = {.dtype = port->dtype, .rank = port->rank};
        memcpy(tensor.name, port->name, sizeof(tensor.name));
        for (uint32_t k = 1; k < port->rank; k++) {
            tensor.shape[k] = port->shape[k] < 0 ? 0 : port->shape[k];
        }
        if (add_output(task, &tensor) == NULL) {
            const struct weft_error why = task->error;
            fail(task, &why);
            return;
        }
    }
    task->output->items = 0;
}

/*
 * A task without rows. What its rows would be like, if they were there, only a run can tell
 * where the model does not; one that cannot run without rows gives none of any size.
 */
static void run_empty(struct onnx_job *job, uint32_t index)
{
    struct onnx_task *task = &job->tasks[index];
    if (!are_rows_known(job->model)) {
        run_whole(job, index);
        if (task->error.status == WEFT_OK) {
            return;
        }
        task->error.status = WEFT_OK;
        if (!start_output(task)) {
            return;
        }
    }
    make_empty(job, index);
}

/* The open tasks that can share runs with @first. */
static struct onnx_group group_of(const struct onnx_job *job, uint32_t first)
{
    const bool has_rows =
        atomic_load(&job->model->has_rows) && atomic_load(&job->model->rows->rows) != ROWS_MIXED;
    struct onnx_group group = {.count = 0};
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
    onnx_run_split(model, options, tasks, task_count, /* parts */ 1, usage_out);
}

void onnx_run_split(
    struct onnx_model *model, struct OrtRunOptions *options, struct onnx_task *tasks,
    uint32_t task_count, uint32_t parts, struct onnx_usage *usage_out)
{
    struct onnx_job job; /* Not initialised: it is large, and a run may take a microsecond. */
    ASSERT(task_count <= BATCH_TASKS_MAX);
    job.model = model;
    job.options = options;
    job.tasks = tasks;
    job.task_count = task_count;
    job.parts = parts;
    job.usage = usage_out;
    (void)pthread_mutex_init(&job.lock, NULL);
    *usage_out = (struct onnx_usage){.run_count = 0};
    for (uint32_t i = 0; i < task_count; i++) {
        tasks[i].output = NULL;
        tasks[i].error.status = WEFT_OK;
        job.is_open[i] = onnx_bind(&job, i) && start_output(&tasks[i]);
    }
    for (uint32_t i = 0; i < task_count; i++) {
        if (!job.is_open[i]) {
            continue;
        }
        if (job.rows[i] == 0 && model->is_sure && atomic_load(&model->has_rows)) {
            run_empty(&job, i);
            continue;
        }
        const struct onnx_group group = group_of(&job, i);
        run_group(&job, &group);
    }
    (void)pthread_mutex_destroy(&job.lock);
}
