/*
 * inside.h - the parts of onnx_run(): its tasks, and one call of the library. For the files
 * of onnx_run alone.
 */
#ifndef ONNX_INSIDE_H
#define ONNX_INSIDE_H

#include <pthread.h>

#include "onnx/run.h"

/* The tasks of a call, with their inputs in the order of the model. */
struct onnx_job {
    struct onnx_model *model;
    struct OrtRunOptions *options;
    struct onnx_task *tasks;
    uint32_t task_count;
    uint32_t parts;       /* That rows are split into; 0: as 1. */
    pthread_mutex_t lock; /* Of usage, outputs and what is open, while parts run. */
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
    struct OrtValue *outputs[BUNDLE_TENSORS_MAX]; /* As the library counts them. */
    void *gathered[BUNDLE_TENSORS_MAX];           /* Owned. NULL: an input is used where it lies. */
    void *converted[BUNDLE_TENSORS_MAX]; /* Owned. NULL: an output is used where the library has it.
                                          */
    uint64_t gathered_bytes;
};

/* parts.c */

/* Run rows @range of @group; false if tasks must run alone instead. From any thread. */
typedef bool (*onnx_range_run)(
    struct onnx_job *job, const struct onnx_group *group, const uint64_t range[2]);

/* Run all rows of @group by @run, at most @rows_max at a time, in the parts of @job. */
bool onnx_run_parts(
    struct onnx_job *job, const struct onnx_group *group, uint64_t rows_max, onnx_range_run run);

/* bind.c */

/* Find the inputs of task @index by their names; false, and it has failed, if they do not fit. */
bool onnx_bind(struct onnx_job *job, uint32_t index);

/* call.c */

/* What a task has of a range of rows of its group. */
struct onnx_part {
    uint64_t row; /* The first, as the task counts its rows. */
    uint64_t at;  /* The first, as the range counts them. */
    uint64_t count;
};

/* The part of member @index of @group in @range; false if it has none. */
bool onnx_part_of(
    const struct onnx_job *job, const struct onnx_group *group, uint32_t index,
    const uint64_t range[2], struct onnx_part *part_out);

/* Nothing is in @call yet, of as much as the model has: it is large, and most of it is not used. */
void onnx_call_begin(const struct onnx_job *job, struct onnx_call *call);

/* The inputs of rows @range of @group; used where they lie, if they are all of one task. */
enum weft_status onnx_call_take_rows(
    const struct onnx_job *job, const struct onnx_group *group, const uint64_t range[2],
    struct onnx_call *call, struct weft_error *error);

/* The inputs of @task as they are. */
enum weft_status onnx_call_take_whole(
    const struct onnx_job *job, uint32_t task, struct onnx_call *call, struct weft_error *error);

/* Call the library for @rows rows, and add to the usage of @job what that took. */
enum weft_status onnx_call_run(
    struct onnx_job *job, struct onnx_call *call, uint64_t rows, struct weft_error *error);

/* Look at output @index. The data of *made_out is borrowed from @call. */
enum weft_status onnx_call_look(
    const struct onnx_job *job, struct onnx_call *call, uint32_t index,
    struct weft_tensor *made_out, struct weft_error *error);

/*
 * Type, shape and data of @value, a tensor; @tensor has its name. Data is the library's but for
 * texts, which the caller frees.
 */
enum weft_status onnx_look_at_tensor(
    const struct ort *ort, struct OrtValue *value, struct weft_tensor *tensor,
    struct weft_error *error);

/* Give everything back, outputs too. */
void onnx_call_end(struct onnx_job *job, struct onnx_call *call);

/* texts.c */

/* Where @count rows of a tensor lie, from row @first on. */
struct onnx_span {
    uint8_t *data;
    uint64_t bytes;
};
struct onnx_span onnx_span(const struct weft_tensor *tensor, uint64_t first, uint64_t count);

/* Make a tensor of the library of @texts, which fit their shape. */
enum weft_status onnx_texts_give(
    const struct ort *ort, const struct weft_tensor *texts, struct OrtValue **value_out,
    struct weft_error *error);

/* Data and bytes of @texts, whose shape is known, from @value. The caller frees the data. */
enum weft_status onnx_texts_take(
    const struct ort *ort, const struct OrtValue *value, struct weft_tensor *texts,
    struct weft_error *error);

/* maps.c: all but name and type of @out from a sequence of maps. The caller frees the data. */
enum weft_status onnx_maps_take(
    const struct ort *ort, const struct OrtValue *maps, bool is_keys, struct weft_tensor *out,
    struct weft_error *error);

#endif /* ONNX_INSIDE_H */
