#include "document/repository.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "document/served.h"
#include "document/stock.h"
#include "document/workflow_document.h"
#include "model/builtin.h"

/* Everything that lives while a repository is being read, and no longer. */
struct loading {
    struct repository *repository;
    struct stock stock;
};

bool repository_is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static void read_settings(struct loading *loading)
{
    struct weft_error error = {.status = WEFT_OK};
    struct tree *tree = NULL;

    if (loading->stock.settings == NULL) {
        return;
    }
    if (tree_load(loading->stock.settings, &tree, &error) != WEFT_OK ||
        settings_read(tree->root, &loading->repository->settings, &error) != WEFT_OK) {
        stock_error(&loading->stock, &error);
    }
    tree_destroy(tree);
}

/* Take over @workflow, which was read from @node. */
static void add_workflow(
    struct loading *loading, const struct tree_node *node, struct workflow *workflow)
{
    struct repository *repository = loading->repository;
    const struct tree_node *name = tree_find(node, "workflow");
    struct weft_error error = {.status = WEFT_OK};

    enum weft_status status = served_check(node, workflow, &loading->stock, &error);
    if (status == WEFT_OK && stock_find_model(&loading->stock, workflow->name) != NULL) {
        status = error_set(
            &error, WEFT_INVALID,
            "%s:%u: '%s' is a model of the repository; give the workflow "
            "another name",
            node->file, name->key_line, workflow->name);
    }
    if (status == WEFT_OK) {
        status = catalogue_add_workflow(repository->catalogue, workflow);
        if (status != WEFT_OK) {
            (void)error_set(
                &error, status,
                status == WEFT_EXISTS ? "%s:%u: a second workflow is called '%s'"
                                      : "%s:%u: one workflow too many: '%s'",
                node->file, name->key_line, workflow->name);
        }
    }
    if (status != WEFT_OK) {
        stock_error(&loading->stock, &error);
        workflow_destroy(workflow);
    }
}

static void read_workflow(struct loading *loading, const char *path)
{
    struct weft_error error = {.status = WEFT_OK};
    struct workflow *workflow = NULL;
    struct tree *tree = NULL;

    if (tree_load(path, &tree, &error) != WEFT_OK ||
        workflow_read(tree->root, loading->repository->catalogue, &workflow, &error) != WEFT_OK) {
        stock_error(&loading->stock, &error);
    } else {
        add_workflow(loading, tree->root, workflow);
    }
    tree_destroy(tree);
}

/* @found as a workflow of its own: one task, which takes the request and gives the answer. */
static void add_alone(struct loading *loading, const struct stock_model *found)
{
    struct repository *repository = loading->repository;
    struct workflow *workflow = workflow_create(found->name);
    struct workflow_task task = {.model_count = 1};
    uint32_t number = 0;

    (void)snprintf(task.name, sizeof(task.name), "%s", found->name);
    task.run = catalogue_find_model(repository->catalogue, found->name);
    task.models[0] = task.run;
    const bool is_added = workflow_add_task(workflow, &task, &number) == WEFT_OK &&
                          workflow_seal(workflow, NULL) == WEFT_OK;
    if (!is_added || catalogue_add_workflow(repository->catalogue, workflow) != WEFT_OK) {
        stock_fault(
            &loading->stock, "%s: more than %d models and workflows", found->path, WORKFLOWS_MAX);
        workflow_destroy(workflow);
    }
}

/* Models first, in the order of their names, whoever uses them. */
static void number_models(struct loading *loading)
{
    for (uint32_t i = 0; i < loading->stock.model_count; i++) {
        (void)catalogue_model(loading->repository->catalogue, loading->stock.models[i].name);
    }
}

static void fill_files(struct loading *loading)
{
    struct repository *repository = loading->repository;
    const uint32_t model_count = repository->catalogue->model_count;

    repository->files = memory_zeroed(model_count + 1, sizeof(*repository->files));
    for (uint32_t i = 0; i < model_count; i++) {
        struct repository_file *file = &repository->files[i];
        const char *function = NULL;
        if (i < loading->stock.model_count) {
            file->kind = REPOSITORY_ONNX;
            file->path = arena_text(&repository->arena, loading->stock.models[i].path);
            file->bytes = loading->stock.models[i].bytes;
            file->version = loading->stock.models[i].version;
        } else if (!builtin_is_reserved(repository->catalogue->models[i])) {
            const struct folder_entry *entry =
                stock_find_function(&loading->stock, repository->catalogue->models[i], &function);
            file->kind = REPOSITORY_FUNCTION;
            file->path = arena_text(&repository->arena, entry->path);
            file->bytes = entry->bytes;
            (void)snprintf(file->function, sizeof(file->function), "%s", function);
        }
    }
}

static void apply_settings(struct loading *loading)
{
    struct repository *repository = loading->repository;
    const struct settings *settings = &repository->settings;

    for (uint32_t i = 0; i < settings->model_count; i++) {
        const struct settings_model *said = &settings->models[i];
        const uint32_t model = catalogue_find_model(repository->catalogue, said->name);
        if (model == MODEL_NONE) {
            stock_fault(
                &loading->stock,
                "%s/%s:%u: '%s' is no model of the repository, nor a function in use",
                loading->stock.root, STOCK_SETTINGS_FILE, said->line, said->name);
            return;
        }
        if (said->time_ns != 0 && repository->files[model].kind != REPOSITORY_FUNCTION) {
            stock_fault(
                &loading->stock, "%s/%s:%u: 'time' is for functions, and '%s' is none",
                loading->stock.root, STOCK_SETTINGS_FILE, said->line, said->name);
            return;
        }
        repository->files[model].batch_max = said->batch_max;
        repository->files[model].time_ns = said->time_ns;
        repository->files[model].pinned = said->pinned;
    }
    for (uint32_t i = 0; i < repository->catalogue->workflow_count; i++) {
        struct workflow *workflow = repository->catalogue->workflows[i];
        workflow->slo_ns = workflow->slo_ns == 0 ? settings->slo_ns : workflow->slo_ns;
    }
}

static void load_all(struct loading *loading)
{
    struct repository *repository = loading->repository;

    stock_scan(&loading->stock);
    read_settings(loading);
    number_models(loading);
    for (uint32_t i = 0; i < loading->stock.document_count; i++) {
        read_workflow(loading, loading->stock.documents[i]);
    }
    repository->written = repository->catalogue->workflow_count;
    if (loading->stock.status != WEFT_OK) {
        return;
    }
    for (uint32_t i = 0; i < loading->stock.model_count; i++) {
        add_alone(loading, &loading->stock.models[i]);
    }
    if (repository->catalogue->workflow_count == 0) {
        stock_fault(
            &loading->stock, "%s: nothing to serve: no MODEL/1/%s and no %s", loading->stock.root,
            STOCK_MODEL_FILE, STOCK_WORKFLOW_FILE);
        return;
    }
    fill_files(loading);
    apply_settings(loading);
}

/* "a/b///" is "a/b". */
static const char *without_slashes(struct arena *arena, const char *path)
{
    char *text = arena_text(arena, path);
    size_t length = strlen(text);
    while (length > 1 && text[length - 1] == '/') {
        length--;
        text[length] = '\0';
    }
    return text;
}

enum weft_status repository_load(
    const char *folder, const struct repository_listener *listener,
    struct repository **repository_out, struct weft_error *error)
{
    static const struct repository_listener nobody = {.context = NULL};
    struct loading *loading = memory_zeroed(1, sizeof(*loading));

    struct repository *repository = memory_zeroed(1, sizeof(*repository));
    arena_init(&repository->arena);
    repository->folder = without_slashes(&repository->arena, folder);
    repository->catalogue = catalogue_create();
    settings_default(&repository->settings);
    loading->repository = repository;
    loading->stock.listener = listener == NULL ? &nobody : listener;
    loading->stock.root = repository->folder;
    loading->stock.error = error;
    arena_init(&loading->stock.arena);
    load_all(loading);
    const enum weft_status status = loading->stock.status;
    arena_deinit(&loading->stock.arena);
    free(loading);
    if (status != WEFT_OK) {
        repository_destroy(repository);
        return status;
    }
    *repository_out = repository;
    return WEFT_OK;
}

void repository_destroy(struct repository *repository)
{
    if (repository == NULL) {
        return;
    }
    catalogue_destroy(repository->catalogue);
    free(repository->files);
    arena_deinit(&repository->arena);
    free(repository);
}
