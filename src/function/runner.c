#include "function/runner.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "function/sandbox.h"

struct runner {
    struct function_channel *channel;
    const char *path;
};

enum {
    MAPPED_BYTES_MIN = 32 << 20, /* The most that the C library allows. */
    KEPT_BYTES_MAX = 64 << 20,
};

/* Models are resident in the other process: ask it. */
static enum weft_status run_model(
    void *context, const char *model, const struct weft_tensor *inputs, uint32_t input_count,
    struct bundle **output_out, struct weft_error *error)
{
    const struct runner *runner = context;
    struct function_message message = {
        .kind = FUNCTION_RUN,
        .tensor_count = input_count,
        .file_at = runner->channel->made.used, /* Before that are outputs. */
    };
    struct bundle *output = NULL;
    (void)snprintf(message.text, sizeof(message.text), "%s", model);
    if (!function_send(runner->channel, &message, inputs, /* deadline_ns */ 0) ||
        function_receive(runner->channel, &message, &output, UINT64_MAX, 0) != FUNCTION_RECEIVED) {
        return error_set(
            error, WEFT_CANCELLED, "the result of model '%s' is no longer wanted", model);
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
        .inputs = inputs->tensors,
        .input_count = inputs->count,
        .items = message.items,
        .room = &runner->channel->made,
    };
    task.room->used = 0;
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

struct argument {
    bool says;      /* What the kernel lacks. */
    bool has_shelf; /* There is a file more. */
    char path[FUNCTION_PATH_BYTES];
};

_Static_assert(sizeof(struct argument) <= FORK_ARGUMENT_BYTES, "it can be passed");

/* Give up what functions of @path do not need, before it is loaded; @folder becomes its own. */
static void enter(
    const char *path, const struct function_limits *limits, bool says,
    char folder[static FUNCTION_PATH_BYTES])
{
    (void)snprintf(folder, FUNCTION_PATH_BYTES, "%s", path);
    char *slash = strrchr(folder, '/');
    (void)snprintf(slash == NULL ? folder : slash, 3, slash == NULL ? "." : "/.");
    function_sandbox_environment();
    function_sandbox_enter(folder, limits, says);
}

enum weft_status function_runner_look(
    const char *path, const char *name, const struct function_limits *limits,
    struct weft_error *error)
{
    char folder[FUNCTION_PATH_BYTES];
    struct function function;
    enter(path, limits, /* says */ false, folder);
    return function_open(path, name, &function, error);
}

/* The life of a runner: answer calls until the other end is closed. */
static void be_runner(const void *context, const void *given)
{
    const struct function_limits limits = *(const struct function_limits *)context;
    const struct argument *argument = given;
    struct function_channel channel = {
        .socket = FORK_FILE_FIRST,
        .to_there = FORK_FILE_FIRST + 1,
        .from_there = FORK_FILE_FIRST + 2,
        .shelf = {.file = argument->has_shelf ? FORK_FILE_FIRST + 3 : -1}};
    const struct runner runner = {.channel = &channel, .path = argument->path};
    const pid_t parent = getppid();
    char folder[FUNCTION_PATH_BYTES];
    enter(argument->path, &limits, argument->says, folder);
    if (getppid() != parent) { /* Its death was not our end while the user changed. */
        _exit(EXIT_FAILURE);
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* A crash loses at most a line. */
    function_channel_map(&channel);
    function_load(argument->path);
    function_sandbox_close(folder, &limits, argument->says);
    /* Fresh pages cost more than most functions: keep those of the tensors of a call. */
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES_MIN);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES_MAX);
    while (answer(&runner)) {
    }
}

enum weft_status function_runners_start(
    struct fork_server *server, const struct function_limits *limits, struct weft_error *error)
{
    const struct fork_options options = {
        .run = be_runner,
        .context = limits,
        .name = "weft-function",
        .printed = "function printed",
        .key = "file",
        .ended = "function process ended",
        .is_leaf = true,
    };
    return fork_server_start(server, &options, error);
}

enum weft_status function_runner_start(
    struct fork_server *server, const char *path, struct function_runner *runner_out,
    struct weft_error *error)
{
    static atomic_bool has_said;
    const struct function_limits *limits = server->options.context;
    const char *slash = strrchr(path, '/');
    struct argument argument = {.says = !atomic_exchange(&has_said, true)};
    struct function_channels channels;
    (void)snprintf(argument.path, sizeof(argument.path), "%s", path);
    if (!function_channels_open(&channels, limits->output_bytes_max)) {
        return error_set(error, WEFT_IO, "no files for the functions of %s", path);
    }
    argument.has_shelf = channels.there.shelf.file >= 0;
    const struct fork_order order = {
        .argument = &argument,
        .bytes = sizeof(argument),
        .label = slash == NULL ? path : slash + 1,
        .files =
            {channels.there.socket, channels.there.to_there, channels.there.from_there,
             channels.there.shelf.file},
        .file_count = argument.has_shelf ? 4 : 3,
    };
    runner_out->channel = channels.here;
    const enum weft_status status = fork_server_fork(server, &order, &runner_out->child, error);
    if (status != WEFT_OK) {
        function_channel_close(&runner_out->channel);
    }
    function_channel_close(&channels.there);
    return status;
}

void function_runner_end(
    struct fork_server *server, struct function_runner *runner, struct fork_ended *ended_out)
{
    fork_server_end(server, &runner->child, ended_out);
    function_channel_close(&runner->channel);
}
