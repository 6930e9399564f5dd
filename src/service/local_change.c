/*
 * local_change.c - models that clients load and unload while they are served.
 *
 * A load looks at the files first, on another thread. What cannot be used changes nothing: a
 * model that was served stays as it is in memory. Shapes and names were told to clients and
 * to workflows when the server started, so a file that replaces another must have the same.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/units.h"
#include "runtime/runtime.h"
#include "service/local_index.h"
#include "service/preparation.h"
#include "service/rollout.h"

/* One model of a change. */
struct looked {
    uint32_t model;
    uint32_t version; /* Its newest. 0: it has none. */
    uint32_t hash;
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

struct file_mark local_change_mark(
    const struct repository *repository, uint32_t model, uint32_t version)
{
    char forms[EDITION_FORMS][PATH_MAX];
    struct file_mark mark = {.bytes = 0};
    const uint32_t count = edition_has_versions(repository, model)
                               ? edition_forms(repository, model, version, forms)
                               : 0;
    for (uint32_t i = 0; i < count; i++) { /* Of several, one that changes is enough. */
        struct stat found;
        if (stat(forms[i], &found) != 0) {
            return (struct file_mark){.bytes = 0};
        }
        mark.bytes += (uint64_t)found.st_size;
        mark.inode = mark.inode * 31 + found.st_ino;
        mark.changed_ns += found.st_mtim.tv_sec * NS_PER_S + (int64_t)found.st_mtim.tv_nsec;
    }
    return mark;
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

/*
 * Functions of one shared object may rely on one another: with some of them in @models, the others
 * change as well, unless a client has unloaded them.
 */
static void add_beside(const struct local_index *index, struct model_set *models)
{
    const struct repository *repository = index->measured->repository;
    const uint32_t count = repository->catalogue->model_count;
    struct edition newest;
    rollout_begin(index->rollout, &newest);
    for (uint32_t i = 0; i < count; i++) {
        const struct repository_file *one = &repository->files[i];
        for (uint32_t k = 0; k < count && one->kind == REPOSITORY_FUNCTION; k++) {
            const struct repository_file *other = &repository->files[k];
            if (model_set_has(models, i) && other->kind == REPOSITORY_FUNCTION &&
                strcmp(one->path, other->path) == 0 && !model_set_has(&newest.unloaded, k)) {
                model_set_add(models, k);
            }
        }
    }
}

/* On another thread. */
static void look(void *argument)
{
    struct change *change = argument;
    const struct measured *measured = change->index->measured;
    const struct repository *repository = measured->repository;
    for (uint32_t i = 0; i < change->count; i++) {
        struct looked *item = &change->items[i];
        const bool has_versions = edition_has_versions(repository, item->model);
        item->version = has_versions ? edition_find_version(repository, item->model) : 0;
        item->mark = local_change_mark(repository, item->model, item->version);
        if (has_versions) {
            item->status =
                preparation_hash(repository, item->model, item->version, &item->hash, &item->error);
        }
        if (item->status == WEFT_OK) {
            item->status =
                measured_look(measured, item->model, item->version, &item->signature, &item->error);
        }
    }
}

/* The version of @model in the newest edition. */
static uint32_t served_version(const struct local_index *index, uint32_t model)
{
    struct edition newest;
    rollout_begin(index->rollout, &newest);
    return newest.models[model].version;
}

/* Whether @item may be served; its error says why not. */
static bool is_usable(const struct local_index *index, struct looked *item)
{
    const struct measure_look *known = &index->measured->looks[item->model];
    const bool is_known = known->signature.output_count > 0;
    const struct repository_file *file = &index->measured->repository->files[item->model];
    if (item->status == WEFT_OK && file->cuda != NULL && known->fault[0] == '\0' &&
        item->version == served_version(index, item->model) &&
        !is_same_mark(&index->marks[item->model], &item->mark)) {
        item->status = error_set(
            &item->error, WEFT_INVALID,
            "model '%s': files that GPUs run cannot be replaced; give them a version of their own",
            index->measured->repository->catalogue->models[item->model]);
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

/* Let @edition have @item, unless it has it already. */
static void take(struct local_index *index, const struct looked *item, struct edition *edition)
{
    struct measured *measured = index->measured;
    const uint32_t model = item->model;
    const bool is_served =
        measured->looks[model].fault[0] == '\0' && !model_set_has(&edition->unloaded, model);
    if (is_served && is_same_mark(&index->marks[model], &item->mark) &&
        item->version == edition->models[model].version) {
        return; /* As it is. */
    }
    index->marks[model] = item->mark;
    model_set_remove(&edition->unloaded, model);
    edition->models[model] = (struct edition_model){item->version, item->hash};
    measured_take(measured, model, &item->signature);
}

static void on_looked(void *argument)
{
    struct change *change = argument;
    struct local_index *index = change->index;
    struct looked *bad = NULL;
    for (uint32_t i = 0; i < change->count; i++) {
        struct looked *item = &change->items[i];
        model_set_remove(&index->looking, item->model);
        if (index->runtime != NULL && bad == NULL && !is_usable(index, item)) {
            bad = item;
        }
    }
    if (index->runtime == NULL) { /* No client is served any more. */
        change->changed(change->asker, WEFT_INVALID, "the server ends");
    } else if (bad != NULL) {
        change->changed(change->asker, WEFT_INVALID, bad->error.message);
    } else {
        struct edition edition;
        rollout_begin(index->rollout, &edition);
        for (uint32_t i = 0; i < change->count; i++) {
            take(index, &change->items[i], &edition);
        }
        if (change->workflow != UINT32_MAX) {
            edition.closed[change->workflow] = false;
        }
        rollout_change(index->rollout, &edition, change->changed, change->asker);
    }
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
    add_beside(index, &models);
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

enum weft_status local_change_unload(void *context, const char *name, struct weft_error *error)
{
    struct local_index *index = context;
    ASSERT(index->runtime != NULL);
    const struct repository *repository = index->measured->repository;
    struct edition edition;
    struct model_set models;
    uint32_t workflow;
    if (!find_models(repository, name, &models, &workflow)) {
        return error_set(error, WEFT_NOT_FOUND, "there is no model '%s'", name);
    }
    rollout_begin(index->rollout, &edition);
    if (workflow != UINT32_MAX && !repository_is_alone(repository, workflow)) {
        edition.closed[workflow] = true; /* Others may use its models. */
    } else {
        for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
            if (model_set_has(&models, i)) {
                model_set_add(&edition.unloaded, i);
            }
        }
    }
    rollout_change(index->rollout, &edition, /* changed */ NULL, /* asker */ NULL);
    return WEFT_OK;
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
        const uint32_t version = edition_find_version(repository, i);
        const struct file_mark mark = local_change_mark(repository, i, version);
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
