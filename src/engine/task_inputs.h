/*
 * task_inputs.h - which tensors a task takes of what was made before it, by its ports.
 */
#ifndef ENGINE_TASK_INPUTS_H
#define ENGINE_TASK_INPUTS_H

#include "engine/bundle.h"
#include "engine/engine.h"
#include "model/workflow.h"

/* A task of a workflow, with what comes to it. */
struct task_inputs {
    const struct workflow *workflow;
    uint32_t task;
    const struct engine_task *given; /* Its inputs, by edge. */
};

/*
 * The tensors that the task takes, at most BUNDLE_TENSORS_MAX, under the names of its ports;
 * without ports all tensors go by the names that they have. They are borrowed from the bundles.
 *
 * Errors: WEFT_NOT_FOUND if a port finds nothing; WEFT_LIMIT if there are too many.
 */
enum weft_status task_inputs_take(
    const struct task_inputs *inputs, struct weft_tensor *tensors_out, uint32_t *count_out,
    struct weft_error *error);

/*
 * Whether the tasks after @task, or the client, find in @output what they take, as the document
 * declares it.
 *
 * Errors: WEFT_FAILED, with what is missing or is otherwise than declared.
 */
enum weft_status task_output_check(
    const struct workflow *workflow, uint32_t task, const struct bundle *output,
    struct weft_error *error);

#endif /* ENGINE_TASK_INPUTS_H */
