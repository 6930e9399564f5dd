#include "function/function.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"

/* A shared object that has been loaded. */
struct library {
    struct library *next;
    const struct weft_function_table *table;
    char path[FUNCTION_PATH_BYTES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct library *libraries; /* Under the lock; what is in the list never changes. */

static enum weft_status check_table(
    const struct weft_function_table *table, const char *path, struct weft_error *error)
{
    if (table == NULL) {
        return error_set(error, WEFT_INVALID, "%s: no WEFT_FUNCTIONS in it", path);
    }
    if (table->version != WEFT_FUNCTION_VERSION) {
        return error_set(
            error, WEFT_INVALID, "%s is for version %u of functions, not %d: compile it again",
            path, table->version, WEFT_FUNCTION_VERSION);
    }
    return WEFT_OK;
}

/* Under the lock. */
static enum weft_status load(
    const char *path, const struct library **library_out, struct weft_error *error)
{
    struct library *library = libraries;
    while (library != NULL && strcmp(library->path, path) != 0) {
        library = library->next;
    }
    if (library != NULL) {
        *library_out = library;
        return WEFT_OK;
    }
    if (access(path, R_OK) != 0) {
        return error_set(error, WEFT_NOT_FOUND, "%s: no such shared object", path);
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        return error_set(error, WEFT_INVALID, "%s", dlerror());
    }
    const struct weft_function_table *table = dlsym(handle, "weft_functions");
    const enum weft_status status = check_table(table, path, error);
    if (status != WEFT_OK) {
        (void)dlclose(handle); /* Nothing of it was used. */
        return status;
    }
    library = memory_zeroed(1, sizeof(*library));
    (void)snprintf(library->path, sizeof(library->path), "%s", path);
    library->table = table;
    library->next = libraries;
    libraries = library;
    *library_out = library;
    return WEFT_OK;
}

/* The library at @path, which becomes @full. */
static enum weft_status find_library(
    const char *path, char full[static FUNCTION_PATH_BYTES], const struct library **library_out,
    struct weft_error *error)
{
    const char *folder = strchr(path, '/') == NULL ? "./" : ""; /* dlopen() would search. */
    if (snprintf(full, FUNCTION_PATH_BYTES, "%s%s", folder, path) >= FUNCTION_PATH_BYTES) {
        return error_set(error, WEFT_LIMIT, "the path of a shared object is too long: %s", path);
    }
    (void)pthread_mutex_lock(&lock);
    const enum weft_status status = load(full, library_out, error);
    (void)pthread_mutex_unlock(&lock);
    return status;
}

void function_load(const char *path)
{
    char full[FUNCTION_PATH_BYTES];
    const struct library *library = NULL;
    (void)find_library(path, full, &library, NULL); /* The first call tries again, and says why. */
}

enum weft_status function_open(
    const char *path, const char *name, struct function *function_out, struct weft_error *error)
{
    char full[FUNCTION_PATH_BYTES];
    const struct library *library = NULL;
    const enum weft_status status = find_library(path, full, &library, error);
    if (status != WEFT_OK || library == NULL) {
        return status;
    }
    for (uint32_t i = 0; i < library->table->count; i++) {
        const struct weft_function_entry *entry = &library->table->entries[i];
        if (strcmp(entry->name, name) == 0) {
            *function_out = (struct function){.run = entry->run};
            (void)snprintf(function_out->name, sizeof(function_out->name), "%s", name);
            memcpy(function_out->folder, full, sizeof(full));
            *strrchr(function_out->folder, '/') = '\0';
            return WEFT_OK;
        }
    }
    return error_set(error, WEFT_NOT_FOUND, "%s: no function '%s' in it", path, name);
}

/* A call under way: what `inside` of weft_call points to. */
struct inside {
    const struct function *function;
    const struct function_host *host;
    struct function_task *task;
    uint64_t bytes_max;
    struct weft_error model_error; /* Of the last model that failed. */
    struct bundle **runs;          /* Outputs of models: they stay until the function returns. */
    uint32_t run_count;
    uint32_t run_capacity;
};

/* The first thing that went wrong is why. */
static void note(struct inside *inside, const struct weft_error *error)
{
    if (inside->task->error.status == WEFT_OK) {
        inside->task->error = *error;
    }
}

/* Memory for @tensor: in the room of the task while that lasts. NULL if there is none. */
static void *lay_output(struct function_task *task, struct weft_tensor *tensor)
{
    struct function_room *room = task->room;
    if (room == NULL) {
        return bundle_add(task->output, tensor);
    }
    const uint64_t at = function_align(room->used);
    room->used = at + tensor->bytes;
    if (room->used > room->bytes) {
        return bundle_add(task->output, tensor);
    }
    tensor->data = room->data + at;
    return bundle_add_borrowed(task->output, tensor) ? tensor->data : NULL;
}

static void *make_output(
    void *context, const char *name, enum weft_dtype dtype, uint32_t rank, const int64_t *shape,
    uint64_t bytes)
{
    struct inside *inside = context;
    struct bundle *output = inside->task->output;
    struct weft_tensor tensor = {.dtype = dtype, .rank = rank, .bytes = bytes};
    struct weft_error error = {.status = WEFT_OK};
    if (rank <= WEFT_RANK_MAX && rank > 0) {
        memcpy(tensor.shape, shape, rank * sizeof(*shape));
    }
    if ((uint32_t)dtype < WEFT_DTYPES && dtype != WEFT_BYTES && rank <= WEFT_RANK_MAX) {
        tensor.bytes = tensor_bytes(dtype, rank, shape);
    }
    const size_t length = strnlen(name, sizeof(tensor.name));
    memcpy(tensor.name, name, length == sizeof(tensor.name) ? length : length + 1);
    enum weft_status status =
        bundle_check_tensor(&tensor, inside->bytes_max - output->bytes, &error);
    if (status == WEFT_OK && bundle_find(output, tensor.name) != NULL) {
        status = error_set(&error, WEFT_EXISTS, "output '%s' is made twice", name);
    }
    if (status == WEFT_OK && output->count == BUNDLE_TENSORS_MAX) {
        status = error_set(&error, WEFT_LIMIT, "more than %d outputs", BUNDLE_TENSORS_MAX);
    }
    void *room = status == WEFT_OK ? lay_output(inside->task, &tensor) : NULL;
    if (status == WEFT_OK && room == NULL) {
        (void)error_set(&error, WEFT_NO_MEMORY, "no memory for output '%s'", name);
    }
    if (room == NULL) {
        if (error.status != WEFT_NO_MEMORY) {
            error.status = WEFT_FAILED; /* The mistake is the function's, not its client's. */
        }
        note(inside, &error);
    }
    return room;
}

static void give_items(void *context, uint32_t items)
{
    ((struct inside *)context)->task->output->items = items;
}

static void keep_run(struct inside *inside, struct bundle *output)
{
    if (inside->run_count == inside->run_capacity) {
        const uint32_t capacity = inside->run_capacity == 0 ? 16 : 2 * inside->run_capacity;
        struct bundle **larger = memory_zeroed(capacity, sizeof(struct bundle *));
        for (uint32_t i = 0; i < inside->run_count; i++) {
            larger[i] = inside->runs[i];
        }
        free(inside->runs);
        inside->runs = larger;
        inside->run_capacity = capacity;
    }
    inside->runs[inside->run_count++] = output;
}

static enum weft_status run_model(
    void *context, const char *model, const struct weft_tensor *inputs, uint32_t input_count,
    const struct weft_tensor **outputs_out, uint32_t *output_count_out)
{
    struct inside *inside = context;
    struct weft_error *error = &inside->model_error;
    struct bundle *output = NULL;
    if (inside->host->run == NULL) {
        return error_set(error, WEFT_NOT_FOUND, "models cannot be run here");
    }
    if (input_count > BUNDLE_TENSORS_MAX || inside->run_count == FUNCTION_MODEL_RUNS_MAX) {
        return error_set(
            error, WEFT_LIMIT, "more than %d inputs, or %d runs of models", BUNDLE_TENSORS_MAX,
            FUNCTION_MODEL_RUNS_MAX);
    }
    const enum weft_status status =
        inside->host->run(inside->host->context, model, inputs, input_count, &output, error);
    if (status != WEFT_OK) {
        return status; /* Whether the task fails of it is for the function to say. */
    }
    keep_run(inside, output);
    *outputs_out = output->tensors;
    *output_count_out = output->count;
    return WEFT_OK;
}

static void say_failure(void *context, const char *message)
{
    struct weft_error error;
    (void)error_set(&error, WEFT_INVALID, "%s", message);
    note(context, &error);
}

static int ask_cancelled(void *context)
{
    const struct function_host *host = ((struct inside *)context)->host;
    return host->is_cancelled != NULL && host->is_cancelled(host->context);
}

static const char *say_folder(void *context)
{
    return ((struct inside *)context)->function->folder;
}

/* What @status, which the function returned, makes of its task. */
static void judge(const struct inside *inside, int status)
{
    struct function_task *task = inside->task;
    if (task->error.status == WEFT_OK && (status > 0 || status < WEFT_LOST)) {
        (void)error_set(&task->error, WEFT_FAILED, "it returned %d, which is not a status", status);
    } else if (task->error.status == WEFT_OK && status == (int)inside->model_error.status) {
        task->error = inside->model_error; /* It passes on what a model said. */
    } else if (task->error.status == WEFT_OK && status != WEFT_OK) {
        const enum weft_status known = (enum weft_status)status;
        (void)error_set(&task->error, known, "%s", weft_status_text(known));
    }
    if (task->error.status == WEFT_OK &&
        bundle_check_texts(task->output, &task->error) == WEFT_OK) {
        return;
    }
    const struct weft_error why = task->error;
    (void)error_set(
        &task->error, why.status, "function '%s': %.170s", inside->function->name, why.message);
    bundle_destroy(task->output);
    task->output = NULL;
}

void function_run(
    const struct function *function, const struct function_host *host, struct function_task *task)
{
    struct inside inside = {.function = function, .host = host, .task = task};
    inside.bytes_max =
        host->output_bytes_max == 0 ? FUNCTION_OUTPUT_BYTES_MAX : host->output_bytes_max;
    task->error.status = WEFT_OK;
    task->output = bundle_create();
    if (task->output == NULL) {
        (void)error_set(&task->error, WEFT_NO_MEMORY, "no memory for outputs");
        return;
    }
    task->output->items = task->items;
    const struct weft_call call = {
        .inside = &inside,
        .items = task->items,
        .input_count = task->input_count,
        .inputs = task->inputs,
        .output = make_output,
        .give_items = give_items,
        .run = run_model,
        .fail = say_failure,
        .is_cancelled = ask_cancelled,
        .folder = say_folder,
    };
    judge(&inside, (int)function->run(&call));
    for (uint32_t i = 0; i < inside.run_count; i++) {
        bundle_destroy(inside.runs[i]);
    }
    free(inside.runs);
}
