/*
 * local_change.c - models that clients load and unload while they are served.
 *
 * A load looks at the files first, on another thread. What cannot be used changes nothing: a
 * model that was served stays as it is in memory. Shapes and names were told to clients and
 * to workflows when the server started, so a file that replaces another must have the same.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "runtime/runtime.h"
#include "service/local_index.h"

/* One model of a change. */
struct looked {
    uint32_t model;
    enum weft_status status;
    struct file_mark mark; /* From before it was read. */
    struct weft_error error;
    struct measure_signature signature;
};

struct change {
    struct local_index *index;
    uint32_t workflow; /* Whose models they are; UINT32_MAX: of none. */
    uint32_t count;
    struct looked *items;
    server_changed changed;
    void *asker;
};

/* The file behind a model or function; the folder of a model for GPUs alone. */
static const char *path_of(const struct repository_file *file)
{
    return file->path == NULL ? file->cuda : file->path;
}

struct file_mark local_change_mark(const struct repository_file *file)
{
    struct stat found;
    const char *path = path_of(file);
    if (path == NULL || stat(path, &found) != 0) {
        return (struct file_mark){.bytes = 0};
    }
    return (struct file_mark){
        .bytes = (uint64_t)found.st_size,
        .inode = found.st_ino,
        .changed_ns = found.st_mtim.tv_sec * INT64_C(1000000000) + (int64_t)found.st_mtim.tv_nsec,
    };
}

static bool is_same_mark(const struct file_mark *left, const struct file_mark *right)
{
    return left->bytes == right->bytes && left->inode == right->inode &&
           left->changed_ns == right->changed_ns;
}

/* The models behind @name, a workflow or a model of the repository: false if it is neither. */
static bool find_models(
    const struct repository *repository, const char *name, struct model_set *models_out,
    uint32_t *workflow_out)
{
    const struct catalogue *catalogue = repository->catalogue;
    const uint32_t number = catalogue_find_workflow(catalogue, name);
    const uint32_t model = catalogue_find_model(catalogue, name);
    *models_out = (struct model_set){{0}};
    *workflow_out = number;
    if (number == UINT32_MAX && model != MODEL_NONE) {
        model_set_add(models_out, model);
    }
    for (uint32_t i = 0; number != UINT32_MAX && i < catalogue->workflows[number]->task_count;
         i++) {
        const struct workflow_task *task = &catalogue->workflows[number]->tasks[i];
        for (uint32_t k = 0; k < task->model_count; k++) {
            model_set_add(models_out, task->models[k]);
        }
    }
    for (uint32_t i = 0; i < catalogue->model_count; i++) {
        if (repository->files[i].kind == REPOSITORY_BUILTIN) {
            model_set_remove(models_out, i);
        }
    }
    return number != UINT32_MAX || !model_set_is_empty(models_out);
}

/* On another thread. */
static void look(void *argument)
{
    struct change *change = argument;
    const struct measured *measured = change->index->measured;
    for (uint32_t i = 0; i < change->count; i++) {
        struct looked *item = &change->items[i];
        const struct repository_file *file = &measured->repository->files[item->model];
        item->mark = local_change_mark(file);
        if (file->kind == REPOSITORY_MODEL) {
            item->status = measured_look(measured, item->model, &item->signature, &item->error);
        }
    }
}

/* Whether @item may be served; its error says why not. */
static bool is_usable(const struct local_index *index, struct looked *item)
{
    const struct measure_look *known = &index->measured->looks[item->model];
    const bool is_known = known->signature.output_count > 0;
    const struct repository_file *file = &index->measured->repository->files[item->model];
    if (item->status == WEFT_OK && file->cuda != NULL &&
        !is_same_mark(&index->marks[item->model], &item->mark)) {
        item->status = error_set(
            &item->error, WEFT_INVALID, "%s: models for GPUs are read once; restart the server",
            file->cuda);
    }
    if (item->status == WEFT_OK && is_known &&
        !measure_is_same(&known->signature, &item->signature)) {
        item->status = error_set(
            &item->error, WEFT_INVALID,
            "%s: its inputs or outputs differ from those of the file it replaces; restart the "
            "server",
            path_of(file));
    }
    return item->status == WEFT_OK;
}

static void take(struct local_index *index, const struct looked *item)
{
    struct measured *measured = index->measured;
    const uint32_t model = item->model;
    const bool is_served =
        measured->looks[model].fault[0] == '\0' && !model_set_has(&index->unloaded, model);
    if (is_served && is_same_mark(&index->marks[model], &item->mark)) {
        return; /* As it is. */
    }
    index->marks[model] = item->mark;
    model_set_remove(&index->unloaded, model);
    if (measured->repository->files[model].kind == REPOSITORY_MODEL) {
        measured_take(measured, model, &item->signature);
    }
    runtime_set_available(index->runtime, model, /* is_available */ true);
}

static void on_followed(void *asker, enum weft_status status, const char *message);

/* Let others know of a change that did not come from them. */
static void tell(const struct local_index *index)
{
    if (index->on_changed != NULL) {
        index->on_changed(index->context);
    }
}

static void on_looked(void *argument)
{
    struct change *change = argument;
    struct local_index *index = change->index;
    const struct looked *bad = NULL;
    for (uint32_t i = 0; i < change->count; i++) {
        struct looked *item = &change->items[i];
        model_set_remove(&index->looking, item->model);
        if (index->runtime == NULL) {
            continue; /* No client is served any more. */
        }
        if (is_usable(index, item)) {
            take(index, item);
        } else if (bad == NULL) {
            bad = item;
        }
    }
    if (bad == NULL && change->workflow != UINT32_MAX) {
        index->closed[change->workflow] = false;
    }
    if (bad == NULL && index->runtime != NULL && change->changed != on_followed) {
        tell(index);
    }
    change->changed(
        change->asker, bad == NULL ? WEFT_OK : WEFT_INVALID, bad == NULL ? "" : bad->error.message);
    free(change->items);
    free(change);
}

void local_change_load(void *context, const char *name, server_changed changed, void *asker)
{
    struct local_index *index = context;
    ASSERT(index->runtime != NULL);
    ASSERT(changed != NULL);
    const struct repository *repository = index->measured->repository;
    struct model_set models;
    uint32_t workflow;
    if (!find_models(repository, name, &models, &workflow)) {
        char message[NAME_BYTES_MAX + 64];
        (void)snprintf(message, sizeof(message), "there is no model '%s'", name);
        changed(asker, WEFT_NOT_FOUND, message);
        return;
    }
    struct change *change = memory_zeroed(1, sizeof(*change));
    change->index = index;
    change->workflow = workflow;
    change->changed = changed;
    change->asker = asker;
    change->items = memory_zeroed(model_set_count(&models) + 1, sizeof(*change->items));
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        if (model_set_has(&models, i)) {
            change->items[change->count].model = i;
            change->count++;
            model_set_add(&index->looking, i);
        }
    }
    runtime_work(index->runtime, look, on_looked, change);
}

static enum weft_status unload(
    struct local_index *index, const char *name, struct weft_error *error)
{
    ASSERT(index->runtime != NULL);
    const struct repository *repository = index->measured->repository;
    struct model_set models;
    uint32_t workflow;
    if (!find_models(repository, name, &models, &workflow)) {
        return error_set(error, WEFT_NOT_FOUND, "there is no model '%s'", name);
    }
    if (workflow != UINT32_MAX && !repository_is_alone(repository, workflow)) {
        index->closed[workflow] = true; /* Others may use its models. */
        return WEFT_OK;
    }
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        if (model_set_has(&models, i)) {
            model_set_add(&index->unloaded, i);
            runtime_set_available(index->runtime, i, /* is_available */ false);
        }
    }
    return WEFT_OK;
}

enum weft_status local_change_unload(void *context, const char *name, struct weft_error *error)
{
    const enum weft_status status = unload(context, name, error);
    if (status == WEFT_OK) {
        tell(context);
    }
    return status;
}

/* Digits, each of four bits. */
static void put_bit(char *out, uint32_t number)
{
    const char *digits = "0123456789abcdef";
    const uint32_t value = (uint32_t)(strchr(digits, out[number / 4]) - digits);
    out[number / 4] = digits[value | 1U << number % 4];
}

static bool has_bit(const char *state, uint32_t number)
{
    const char *digits = "0123456789abcdef";
    const char *digit =
        strlen(state) == LOCAL_STATE_BYTES - 1 ? strchr(digits, state[number / 4]) : NULL;
    return digit != NULL && ((digit - digits) >> number % 4 & 1) != 0;
}

void local_change_tell(const struct local_index *index, char out[static LOCAL_STATE_BYTES])
{
    const struct repository *repository = index->measured->repository;
    memset(out, '0', LOCAL_STATE_BYTES - 1);
    out[LOCAL_STATE_BYTES - 1] = '\0';
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        if (model_set_has(&index->unloaded, i)) {
            put_bit(out, i);
        }
    }
    for (uint32_t i = 0; i < repository->written; i++) {
        if (index->closed[i]) {
            put_bit(out, MODELS_MAX + i);
        }
    }
}

static void on_followed(void *asker, enum weft_status status, const char *message)
{
    const struct local_index *index = asker;
    const struct log_field cause = log_text("cause", message);
    if (status != WEFT_OK) {
        log_say(index->log, LOG_ERROR, "model not loaded", 1, &cause);
    }
}

void local_change_follow(struct local_index *index, const char *state)
{
    const struct repository *repository = index->measured->repository;
    for (uint32_t i = 0; i < repository->written; i++) {
        index->closed[i] = has_bit(state, MODELS_MAX + i);
    }
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        const char *name = repository->catalogue->models[i];
        const struct file_mark mark = local_change_mark(&repository->files[i]);
        const bool is_unloaded = model_set_has(&index->unloaded, i);
        if (repository->files[i].kind == REPOSITORY_BUILTIN) {
            continue;
        }
        if (has_bit(state, i) && !is_unloaded) {
            (void)unload(index, name, NULL); /* It is there. */
        } else if (!has_bit(state, i) && (is_unloaded || !is_same_mark(&index->marks[i], &mark))) {
            local_change_load(index, name, on_followed, index);
        }
    }
    log_say(index->log, LOG_INFO, "models as in the cluster", 0, NULL);
}

/* A model that is being read again because the operator says so. */
struct reload {
    struct log *log;
    const char *name; /* The catalogue's. */
};

static void on_reloaded(void *asker, enum weft_status status, const char *message)
{
    struct reload *reload = asker;
    const struct log_field fields[] = {log_text("model", reload->name), log_text("cause", message)};
    if (status == WEFT_OK) {
        log_say(reload->log, LOG_INFO, "model reloaded", 1, fields);
    } else {
        log_say(reload->log, LOG_ERROR, "model not reloaded", 2, fields);
    }
    free(reload);
}

void local_change_reload(struct local_index *index)
{
    const struct repository *repository = index->measured->repository;
    uint32_t count = 0;
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        if (path_of(&repository->files[i]) == NULL || model_set_has(&index->unloaded, i) ||
            model_set_has(&index->looking, i)) {
            continue;
        }
        const struct file_mark mark = local_change_mark(&repository->files[i]);
        if (is_same_mark(&index->marks[i], &mark) && index->measured->looks[i].fault[0] == '\0') {
            continue;
        }
        struct reload *reload = memory_zeroed(1, sizeof(*reload));
        *reload = (struct reload){.log = index->log, .name = repository->catalogue->models[i]};
        local_change_load(index, reload->name, on_reloaded, reload);
        count++;
    }
    const struct log_field changed = log_number("changed", count);
    log_say(index->log, LOG_INFO, "reload", 1, &changed);
}
