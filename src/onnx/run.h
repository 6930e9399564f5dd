/*
 * run.h - running a loaded model for several tasks at once.
 *
 * Tasks whose inputs differ only in their first extents share a run: their rows are laid one
 * after another, and the rows of the outputs are dealt out again. A task with more rows than
 * a run may have, or than run best at a time, takes several. Where rows mean nothing to the model,
 * each task runs alone. A task that does not fit the model fails alone.
 */
#ifndef ONNX_RUN_H
#define ONNX_RUN_H

#include "engine/bundle.h"
#include "onnx/model.h"

struct onnx_task {
    const struct weft_tensor *inputs; /* By name; the model may know fewer. */
    uint32_t input_count;
    struct bundle *output;   /* Made here; the caller owns it. NULL if the task failed. */
    struct weft_error error; /* Why. */
};

/* What the runs needed, all in all. */
struct onnx_usage {
    uint32_t run_count;
    uint32_t rows_most;       /* Of one run; 1 if rows mean nothing. */
    uint64_t workspace_bytes; /* The most that a run took beside the model and its inputs. */
    int64_t left_bytes;       /* What the model keeps from now on. */
    bool is_odd;              /* It took longer than it will again: see turns.h. */
};

/*
 * Run @model for each of @tasks. A set `terminate` of @options, from any thread, makes it
 * return soon: tasks that have no output then fail.
 */
void onnx_run(
    struct onnx_model *model, struct OrtRunOptions *options, struct onnx_task *tasks,
    uint32_t task_count, struct onnx_usage *usage_out);

/* The same with rows split into @parts, each on a thread of its own, where rows are told apart. */
void onnx_run_split(
    struct onnx_model *model, struct OrtRunOptions *options, struct onnx_task *tasks,
    uint32_t task_count, uint32_t parts, struct onnx_usage *usage_out);

#endif /* ONNX_RUN_H */
