/*
 * onnx_inside.h - the parts of onnx_run(): its tasks, and one call of the library. For the files
 * of onnx_run alone.
 */
#ifndef ENGINE_ONNX_INSIDE_H
#define ENGINE_ONNX_INSIDE_H

#include "engine/onnx_run.h"

/* The tasks of a call, with their inputs in the order of the model. */
struct onnx_job {
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
struct onnx_group {
    uint32_t count;
    uint32_t members[BATCH_TASKS_MAX];
    uint64_t rows;
};

/* One call of the library. */
struct onnx_call {
    struct OrtValue *inputs[BUNDLE_TENSORS_MAX];
    struct OrtValue *outputs[BUNDLE_TENSORS_MAX];
    void *gathered[BUNDLE_TENSORS_MAX]; /* Owned; NULL if an input is used where it lies. */
    uint64_t gathered_bytes;
};

/* An output of a run, where the library has it. */
struct onnx_made {
    struct weft_tensor tensor; /* Its data is borrowed. */
    uint64_t row_bytes;
};

/* The bytes of one row of @tensor. */
static inline uint64_t onnx_row_bytes(const struct weft_tensor *tensor)
{
    return tensor->shape[0] == 0 ? 0 : tensor->bytes / (uint64_t)tensor->shape[0];
}

/* onnx_bind.c */

/* Find the inputs of task @index by their names; false, and it has failed, if they do not fit. */
bool onnx_bind(struct onnx_job *job, uint32_t index);

/* onnx_call.c */

/* The inputs of rows @range of @group; used where they lie, if they are all of one task. */
enum weft_status onnx_call_take_rows(
    const struct onnx_job *job, const struct onnx_group *group, const uint64_t range[2],
    struct onnx_call *call, struct weft_error *error);

/* The inputs of @task as they are. */
enum weft_status onnx_call_take_whole(
    const struct onnx_job *job, uint32_t task, struct onnx_call *call, struct weft_error *error);

/* Call the library for @rows rows, and add to the usage of @job what that took. */
enum weft_status onnx_call_run(
    const struct onnx_job *job, struct onnx_call *call, uint64_t rows, struct weft_error *error);

/* Look at output @index. */
enum weft_status onnx_call_look(
    const struct onnx_job *job, struct onnx_call *call, uint32_t index, struct onnx_made *made_out,
    struct weft_error *error);

/* Give everything back, outputs too. */
void onnx_call_end(const struct onnx_job *job, struct onnx_call *call);

#endif /* ENGINE_ONNX_INSIDE_H */
