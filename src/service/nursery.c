#include "service/nursery.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/units.h"
#include "cuda/measure.h"
#include "function/runner.h"
#include "onnx/ort_memory.h"
#include "process/process.h"
#include "service/edition.h"
#include "service/measure_gpu.h"
#include "service/sums.h"

enum {
    NURSERY_MEASURE = PROCESS_KINDS, /* Another kind of process. */
    MEASURE_MS_MAX = 600000,         /* For one model, loads and all. */
};

/* For a process that measures. The beginning is that of every argument. */
struct measure_argument {
    struct process_argument head;
    uint32_t model;
    uint32_t version;
    enum measure_depth depth;
    bool is_gpu;
    bool is_apart;
    uint32_t gpu;
    bool has_cache;
    char cache[256];
};

_Static_assert(sizeof(struct measure_argument) <= FORK_ARGUMENT_BYTES, "it can be passed");

/* What such a process says. */
struct measure_answer {
    enum weft_status status;
    struct weft_error error;
    struct measure_figures figures;
};

/* NULL is allowed, and what NULL is copied to. */
static char *copy_text(const char *text)
{
    if (text == NULL) {
        return NULL;
    }
    const size_t bytes = strlen(text) + 1;
    char *copy = memory_zeroed(bytes, 1);
    memcpy(copy, text, bytes);
    return copy;
}

struct artifacts artifacts_of(const struct repository *repository)
{
    static const enum artifact_kind kinds[] = {
        [REPOSITORY_BUILTIN] = ARTIFACT_NONE,
        [REPOSITORY_MODEL] = ARTIFACT_ONNX,
        [REPOSITORY_FUNCTION] = ARTIFACT_FUNCTION,
    };
    struct artifacts artifacts = {.count = repository->catalogue->model_count};
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* It is always there. Sums are compared later. */
    artifacts.items = memory_zeroed(artifacts.count + 1, sizeof(*artifacts.items));
    for (uint32_t i = 0; i < artifacts.count; i++) {
        const struct repository_file *file = &repository->files[i];
        struct artifact *artifact = &artifacts.items[i];
        artifact->kind = file->path == NULL ? ARTIFACT_NONE : kinds[file->kind];
        artifact->batch_max = file->batch_max;
        artifact->run_ns_max = file->time_ns;
        (void)snprintf(artifact->function, sizeof(artifact->function), "%s", file->function);
        artifact->path = copy_text(file->path);
        artifact->cuda = copy_text(file->cuda);
        artifact->cuda_since_ns = now.tv_sec * NS_PER_S + now.tv_nsec;
    }
    return artifacts;
}

void artifacts_free(struct artifacts *artifacts)
{
    for (uint32_t i = 0; i < artifacts->count; i++) {
        free(artifacts->items[i].path);
        free(artifacts->items[i].cuda);
    }
    free(artifacts->items);
}

struct function_limits function_limits_of(const struct settings *settings)
{
    return (struct function_limits){
        .run_ns_max = settings->functions.time_ns,
        .memory_bytes_max = settings->functions.memory_bytes,
        .output_bytes_max = settings->functions.output_bytes,
        .no_sandbox = settings->functions.is_open,
    };
}

static bool send_all(int socket, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    while (bytes > 0) {
        const ssize_t sent = send(socket, at, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return false;
        }
        at += sent > 0 ? sent : 0;
        bytes -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

/* The forms for GPUs of models after @model, from the first again behind the last. */
static uint32_t list_others(
    const struct repository *repository, uint32_t model,
    const char *others_out[CUDA_MEASURE_OTHERS_MAX])
{
    const uint32_t count = repository->catalogue->model_count;
    uint32_t found = 0;
    for (uint32_t i = 1; i < count && found < CUDA_MEASURE_OTHERS_MAX; i++) {
        const struct repository_file *file = &repository->files[(model + i) % count];
        if (file->kind == REPOSITORY_MODEL && file->cuda != NULL) {
            others_out[found++] = file->cuda;
        }
    }
    return found;
}

static void be_measurer(
    const struct nursery *nursery, int socket, const struct measure_argument *argument)
{
    struct measure_answer *answer = memory_zeroed(1, sizeof(*answer));
    const struct repository *repository = nursery->repository;
    struct edition_paths paths;
    struct repository_file file;
    if (!edition_file(repository, argument->model, argument->version, &paths, &file)) {
        file = repository->files[argument->model];
    }
    const char *others[CUDA_MEASURE_OTHERS_MAX];
    const struct measure_options options = {
        .model = argument->model,
        .name = repository->catalogue->models[argument->model],
        .file = &file,
        .cache = argument->has_cache ? argument->cache : NULL,
        .depth = argument->depth,
        .is_gpu = argument->is_gpu,
        .gpu = argument->gpu,
        .are_streams = repository->settings.gpus.shares != SHARES_PROCESSORS,
        .gpu_workers = repository->settings.gpus.workers,
        .others = others,
        .other_count = argument->is_apart ? 0 : list_others(repository, argument->model, others),
    };
    ort_memory_set_limit(nursery->fleet->workers[0].memory_bytes);
    if (options.file->kind == REPOSITORY_FUNCTION) {
        const struct function_limits limits =
            function_limits_filled(function_limits_of(&repository->settings));
        answer->status = function_runner_look(
            options.file->path, options.file->function, &limits, &answer->error);
    } else {
        answer->status = options.is_gpu
                             ? measure_gpu_here(&options, &answer->figures, &answer->error)
                             : measure_here(&options, &answer->figures, &answer->error);
    }
    (void)send_all(socket, answer, sizeof(*answer)); /* Or no process waits any more. */
}

static void be_born(const void *context, const void *argument)
{
    const struct nursery *nursery = context;
    const struct process_argument *head = argument;
    if (head->kind < PROCESS_KINDS) {
        process_child_be(&nursery->engines, head);
    } else {
        be_measurer(nursery, FORK_FILE_FIRST, argument);
    }
}

/* What changed after the start: nothing is noted, it is read whenever it changes. */
static enum weft_status compare(const char *folder, struct weft_error *error)
{
    return sums_check(folder, /* cache */ NULL, error);
}

/* libtorch is opened before anything is forked that needs it. */
static void prepare(const void *context)
{
    const struct nursery *nursery = context;
    if (nursery->machine.gpu_count > 0) {
        engine_cuda_warm(nursery->cuda.torch);
    }
}

enum weft_status nursery_start(
    struct nursery *nursery, const struct repository *repository, const struct machine *machine,
    struct weft_error *error)
{
    const struct settings *settings = &repository->settings;
    *nursery = (struct nursery){
        .machine = *machine,
        .cuda =
            {.driver = machine_cuda_driver(),
             .torch = machine_cuda_torch(),
             .compare = compare,
             .are_streams = settings->gpus.shares != SHARES_PROCESSORS,
             .have_priorities = settings->gpus.shares == SHARES_PRIORITIES},
        .fleet = machine_fleet(
            machine, settings, settings->device[0] == '\0' ? machine->device : settings->device),
        .artifacts = artifacts_of(repository),
        .repository = repository,
    };
    nursery->engines = (struct process_child_options){
        .fleet = nursery->fleet,
        .catalogue = repository->catalogue,
        .artifacts = &nursery->artifacts,
        .local = {.isolate = true, .function_limits = function_limits_of(settings)},
        .bounds_memory = true,
        .cuda = machine->gpu_count > 0 ? &nursery->cuda : NULL,
        .gpu_count = machine->gpu_count,
    };
    struct fork_options children = process_fork_options(&nursery->engines);
    children.run = be_born;
    children.prepare = prepare;
    children.context = nursery;
    const enum weft_status status = fork_server_start(&nursery->server, &children, error);
    if (status != WEFT_OK) {
        artifacts_free(&nursery->artifacts);
        fleet_destroy(nursery->fleet);
    }
    return status;
}

void nursery_stop(struct nursery *nursery)
{
    fork_server_stop(&nursery->server);
    artifacts_free(&nursery->artifacts);
    fleet_destroy(nursery->fleet);
}

/* Wait for what the process has found out. WEFT_CRASHED: it ended before it said so. */
static enum weft_status receive_answer(int socket, struct measure_answer *answer_out)
{
    uint8_t *at = (uint8_t *)answer_out;
    size_t left = sizeof(*answer_out);
    while (left > 0) {
        struct pollfd ready = {.fd = socket, .events = POLLIN};
        const int count = poll(&ready, 1, MEASURE_MS_MAX);
        if (count == 0) {
            return WEFT_LIMIT;
        }
        const ssize_t bytes = count < 0 ? -1 : recv(socket, at, left, 0);
        if (bytes == 0 || (bytes < 0 && errno != EINTR)) {
            return WEFT_CRASHED;
        }
        at += bytes > 0 ? bytes : 0;
        left -= bytes > 0 ? (size_t)bytes : 0;
    }
    return WEFT_OK;
}

static bool is_port(const struct workflow_input *port)
{
    return port->rank <= WEFT_RANK_MAX && (uint32_t)port->dtype < WEFT_DTYPES &&
           memchr(port->name, '\0', sizeof(port->name)) != NULL;
}

/* A model may have written all over the process that measured it. */
static bool makes_sense(struct measure_answer *answer)
{
    const struct measure_signature *signature = &answer->figures.signature;
    bool is_good = answer->status <= WEFT_OK && answer->status >= WEFT_CRASHED &&
                   answer->figures.point_count <= MEASURE_FIGURES_MAX &&
                   answer->figures.interference >= 0 &&
                   answer->figures.interference <= CUDA_INTERFERENCE_MAX &&
                   signature->input_count <= MEASURE_PORTS_MAX &&
                   signature->output_count <= MEASURE_PORTS_MAX &&
                   memchr(answer->figures.alone, '\0', sizeof(answer->figures.alone)) != NULL;
    for (uint32_t i = 0; is_good && i < signature->input_count; i++) {
        is_good = is_port(&signature->inputs[i]);
    }
    for (uint32_t i = 0; is_good && i < signature->output_count; i++) {
        is_good = is_port(&signature->outputs[i]);
    }
    for (uint32_t i = 0; is_good && i < answer->figures.point_count; i++) {
        const struct profile_point *point = &answer->figures.points[i];
        is_good = point->run_ns >= 0 && point->run_ns <= DURATION_NS_MAX && point->sd_ns >= 0 &&
                  point->sd_ns <= DURATION_NS_MAX && point->items > 0 && point->interference >= 0 &&
                  point->interference <= CUDA_INTERFERENCE_MAX;
    }
    answer->error.message[sizeof(answer->error.message) - 1] = '\0';
    return is_good;
}

enum weft_status nursery_measure(
    const struct measure_options *options, struct measure_figures *figures_out,
    struct weft_error *error)
{
    ASSERT(options->nursery != NULL);
    struct measure_argument argument = {
        .head = {.kind = NURSERY_MEASURE},
        .model = options->model,
        .version = options->version,
        .depth = options->depth,
        .is_gpu = options->is_gpu,
        .is_apart = options->is_apart,
        .gpu = options->gpu,
        .has_cache = options->cache != NULL,
    };
    const struct fork_order order = {
        .argument = &argument, .bytes = sizeof(argument), .label = options->name};
    struct fork_child child;
    struct fork_ended ended;
    *figures_out = (struct measure_figures){.point_count = 0};
    if (options->cache != NULL &&
        snprintf(argument.cache, sizeof(argument.cache), "%s", options->cache) >=
            (int)sizeof(argument.cache)) {
        argument.has_cache = false; /* It is slower without, and nothing else. */
    }
    enum weft_status status = fork_server_fork(&options->nursery->server, &order, &child, error);
    if (status != WEFT_OK) {
        return status;
    }
    struct measure_answer *answer = memory_zeroed(1, sizeof(*answer));
    status = receive_answer(child.socket, answer);
    if (status == WEFT_OK && !makes_sense(answer)) {
        status = WEFT_CRASHED;
    }
    fork_server_end(&options->nursery->server, &child, &ended);
    if (status == WEFT_OK) {
        *figures_out = answer->figures;
        status = answer->status;
        if (status != WEFT_OK) {
            (void)error_set(error, status, "%s", answer->error.message);
        }
    } else if (status == WEFT_LIMIT) {
        (void)error_set(
            error, status, "model '%s' took more than %d s to be measured", options->name,
            MEASURE_MS_MAX / 1000);
    } else {
        (void)error_set(
            error, status, "model '%s': the process that measured it %s", options->name,
            ended.text);
    }
    free(answer);
    return status;
}
