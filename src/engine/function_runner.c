#include "engine/function_runner.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

struct runner {
    const struct function_channel *channel;
    const char *path;
};

/* Models are resident in the other process: ask it. */
static enum weft_status run_model(
    void *context, const char *model, const struct weft_tensor *inputs, uint32_t input_count,
    struct bundle **output_out, struct weft_error *error)
{
    const struct runner *runner = context;
    struct function_message message = {.kind = FUNCTION_RUN, .tensor_count = input_count};
    struct bundle *output = NULL;
    (void)snprintf(message.text, sizeof(message.text), "%s", model);
    if (!function_send(runner->channel, &message, inputs, /* deadline_ns */ 0) ||
        function_receive(runner->channel, &message, &output, UINT64_MAX, 0) != FUNCTION_RECEIVED) {
        return error_set(error, WEFT_CANCELLED, "nobody waits for model '%s'", model);
    }
    if (message.status != WEFT_OK) {
        bundle_destroy(output);
        return error_set(error, (enum weft_status)message.status, "%s", message.text);
    }
    *output_out = output;
    return WEFT_OK;
}

/* One call; false if there are no more. */
static bool answer(const struct runner *runner)
{
    struct function_message message;
    struct bundle *inputs = NULL;
    struct function function;
    if (function_receive(runner->channel, &message, &inputs, UINT64_MAX, 0) != FUNCTION_RECEIVED) {
        return false;
    }
    struct function_task task = {
        .inputs = inputs->tensors, .input_count = inputs->count, .items = message.items};
    const struct function_host host = {
        .context = (void *)(uintptr_t)runner,
        .run = run_model,
        .output_bytes_max = message.bytes_max,
    };
    if (function_open(runner->path, message.text, &function, &task.error) == WEFT_OK) {
        function_run(&function, &host, &task);
    }
    struct function_message back = {.kind = FUNCTION_RETURN, .status = task.error.status};
    if (task.output != NULL) {
        back.items = task.output->items;
        back.tensor_count = task.output->count;
    } else {
        memcpy(back.text, task.error.message, sizeof(back.text));
    }
    (void)fflush(stdout); /* What the function printed belongs to this call. */
    const bool is_sent = function_send(
        runner->channel, &back, task.output == NULL ? NULL : task.output->tensors,
        /* deadline_ns */ 0);
    bundle_destroy(task.output);
    bundle_destroy(inputs);
    return is_sent;
}

void function_runner_main(const struct function_channel *channel, const char *path)
{
    const struct runner runner = {.channel = channel, .path = path};
    while (answer(&runner)) {
    }
}
