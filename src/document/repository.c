#include "document/repository.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "document/reader.h"
#include "document/repository_scan.h"
#include "document/served_workflow.h"
#include "document/workflow_document.h"
#include "model/builtin.h"

/* Everything that lives while a repository is being read, and no longer. */
struct loading {
    struct repository *repository;
    struct repository_scan scan;
};

bool repository_is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The tree of the file at @path, whose errors are noted. NULL if it has none; that is noted, too.
 */
static struct tree *open_tree(
    struct loading *loading, const char *path, struct tree_listener *listener)
{
    struct weft_error error = {.status = WEFT_OK};
    struct tree *tree = NULL;

    *listener = repository_scan_listener(&loading->scan);
    if (tree_load(path, &tree, &error) != WEFT_OK) {
        repository_scan_error(&loading->scan, &error);
        return NULL;
    }
    tree->listener = listener;
    return tree;
}

static void read_settings(struct loading *loading)
{
    struct tree_listener listener;
    struct tree *tree = loading->scan.settings == NULL
                            ? NULL
                            : open_tree(loading, loading->scan.settings, &listener);

    if (tree != NULL) { /* The listener notes what is wrong. */
        (void)settings_read(tree->root, &loading->repository->settings, NULL);
    }
    tree_destroy(tree);
}

/* Take over @workflow, which was read from @node. */
static void add_workflow(
    struct loading *loading, const struct tree_node *node, struct workflow *workflow)
{
    struct repository *repository = loading->repository;
    struct reader reader = {.error = NULL};
    const struct tree_node *name = tree_find(node, "workflow");

    reader_keep(&reader, served_workflow_check(node, workflow, &loading->scan, NULL));
    reader_go_on(&reader);
    if (repository_scan_find_model(&loading->scan, workflow->name) != NULL) {
        reader_fail(
            &reader, name, "'%s' is a model of the repository; give the workflow another name",
            workflow->name);
    }
    const enum weft_status status = reader_is_good(&reader)
                                        ? catalogue_add_workflow(repository->catalogue, workflow)
                                        : reader.status;
    if (status == WEFT_OK) {
        repository->documents[repository->catalogue->workflow_count - 1] =
            arena_text(&repository->arena, node->file);
    } else {
        reader_fail(
            &reader, name,
            status == WEFT_EXISTS ? "a second workflow is called '%s'"
                                  : "one workflow too many: '%s'",
            workflow->name);
        workflow_destroy(workflow);
    }
}

static void read_workflow(struct loading *loading, const char *path)
{
    struct workflow *workflow = NULL;
    struct tree_listener listener;
    struct tree *tree = open_tree(loading, path, &listener);

    if (tree == NULL) {
        return;
    }
    if (workflow_read(tree->root, loading->repository->catalogue, &workflow, NULL) == WEFT_OK) {
        add_workflow(loading, tree->root, workflow);
    } else { /* What it names may be missing besides. */
        (void)served_workflow_check(tree->root, /* workflow */ NULL, &loading->scan, NULL);
    }
    tree_destroy(tree);
}

/* @found as a workflow of its own: one task, which takes the request and gives the answer. */
static void add_alone(struct loading *loading, const struct scanned_model *found)
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
        repository_scan_fault(
            &loading->scan, "%s: more than %d models and workflows",
            found->path == NULL ? found->cuda : found->path, WORKFLOWS_MAX);
        workflow_destroy(workflow);
    }
}

/* Models first, in the order of their names, whichever task uses them. */
static void number_models(struct loading *loading)
{
    for (uint32_t i = 0; i < loading->scan.model_count; i++) {
        (void)catalogue_model(loading->repository->catalogue, loading->scan.models[i].name);
    }
}

static void fill_files(struct loading *loading)
{
    struct repository *repository = loading->repository;
    const uint32_t model_count = repository->catalogue->model_count;

    repository->files = memory_zeroed(model_count + 1, sizeof(*repository->files));
    for (uint32_t i = 0; i < model_count; i++) {
        struct repository_file *file = &repository->files[i];
        if (i < loading->scan.model_count) {
            const struct scanned_model *found = &loading->scan.models[i];
            file->kind = REPOSITORY_MODEL;
            file->path = found->path == NULL ? NULL : arena_text(&repository->arena, found->path);
            file->bytes = found->bytes;
            file->cuda = found->cuda == NULL ? NULL : arena_text(&repository->arena, found->cuda);
            file->cuda_bytes = found->cuda_bytes;
            file->version = found->version;
        } else if (!builtin_is_reserved(repository->catalogue->models[i])) {
            struct scanned_function found;
            const bool is_there = repository_scan_find_function(
                &loading->scan, repository->catalogue->models[i], &found);
            ASSERT(is_there); /* Its workflow was checked. */
            file->kind = REPOSITORY_FUNCTION;
            file->path = arena_text(&repository->arena, found.path);
            file->bytes = found.bytes;
            file->version = found.version;
            (void)snprintf(file->function, sizeof(file->function), "%s", found.name);
        }
    }
}

/* "; did you mean 'det'?", of the models and functions there are, or "". */
static const char *suggest_model(
    const struct catalogue *catalogue, const char *name, char out[READER_QUOTE_BYTES])
{
    const char *names[MODELS_MAX + 1] = {NULL};

    for (uint32_t i = 0; i < catalogue->model_count; i++) {
        names[i] = catalogue->models[i];
    }
    return reader_suggestion(name, names, out);
}

/* What the settings say of one model or function. */
static void apply_model(struct loading *loading, const struct settings_model *said)
{
    struct repository *repository = loading->repository;
    const uint32_t model = catalogue_find_model(repository->catalogue, said->name);
    char suggestion[READER_QUOTE_BYTES];

    if (model == MODEL_NONE) {
        repository_scan_fault(
            &loading->scan,
            "%s/%s:%u: '%s' is neither a model of the repository nor a function in use%s",
            loading->scan.root, REPOSITORY_SETTINGS_FILE, said->line, said->name,
            suggest_model(repository->catalogue, said->name, suggestion));
        return;
    }
    if (said->time_ns != 0 && repository->files[model].kind != REPOSITORY_FUNCTION) {
        repository_scan_fault(
            &loading->scan, "%s/%s:%u: 'time' is for functions, and '%s' is a model",
            loading->scan.root, REPOSITORY_SETTINGS_FILE, said->line, said->name);
    }
    repository->files[model].batch_max = said->batch_max;
    repository->files[model].time_ns = said->time_ns;
    repository->files[model].pinned = said->pinned;
}

static void apply_settings(struct loading *loading)
{
    struct repository *repository = loading->repository;
    const struct settings *settings = &repository->settings;

    for (uint32_t i = 0; i < settings->model_count; i++) {
        apply_model(loading, &settings->models[i]);
    }
    for (uint32_t i = 0; i < repository->catalogue->workflow_count; i++) {
        struct workflow *workflow = repository->catalogue->workflows[i];
        workflow->slo_ns = workflow->slo_ns == 0 ? settings->slo_ns : workflow->slo_ns;
    }
}

static void load_all(struct loading *loading)
{
    struct repository *repository = loading->repository;

    repository_scan_all(&loading->scan);
    read_settings(loading);
    number_models(loading);
    for (uint32_t i = 0; i < loading->scan.document_count; i++) {
        read_workflow(loading, loading->scan.documents[i]);
    }
    repository->written = repository->catalogue->workflow_count;
    if (loading->scan.status != WEFT_OK) {
        return;
    }
    for (uint32_t i = 0; i < loading->scan.model_count; i++) {
        add_alone(loading, &loading->scan.models[i]);
    }
    if (repository->catalogue->workflow_count == 0) {
        repository_scan_fault(
            &loading->scan, "%s: nothing to serve: no MODEL/1/%s and no %s", loading->scan.root,
            REPOSITORY_MODEL_FILE, REPOSITORY_WORKFLOW_FILE);
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
    static const struct repository_listener silent = {.context = NULL};
    struct loading *loading = memory_zeroed(1, sizeof(*loading));

    struct repository *repository = memory_zeroed(1, sizeof(*repository));
    arena_init(&repository->arena);
    repository->folder = without_slashes(&repository->arena, folder);
    repository->catalogue = catalogue_create();
    repository->documents =
        arena_alloc(&repository->arena, WORKFLOWS_MAX * sizeof(*repository->documents));
    settings_default(&repository->settings);
    loading->repository = repository;
    loading->scan.listener = listener == NULL ? &silent : listener;
    loading->scan.root = repository->folder;
    loading->scan.error = error;
    arena_init(&loading->scan.arena);
    load_all(loading);
    const enum weft_status status = loading->scan.status;
    arena_deinit(&loading->scan.arena);
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
