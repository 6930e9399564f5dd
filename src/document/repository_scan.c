#include "document/repository_scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "document/check.h"
#include "model/builtin.h"

#define CONFIG_FILE     "config.pbtxt" /* Triton's; not read. */
#define FUNCTION_FOLDER "functions"
#define INPUT_FOLDER    "inputs" /* Samples, which the service reads. */
#define PROFILE_FOLDER  "profiles"

enum { FILE_BYTES_MAX = NAME_BYTES_MAX + 3 }; /* With ".so". */

/* Note what is wrong with one file; the first such note is the error of the whole. */
static void add_problem(struct repository_scan *scan, enum weft_status status, const char *message)
{
    if (scan->status == WEFT_OK) {
        scan->status = error_set(scan->error, status, "%s", message);
    }
    if (scan->listener->on_problem != NULL) {
        scan->listener->on_problem(scan->listener->context, message);
    }
}

void repository_scan_error(struct repository_scan *scan, const struct weft_error *error)
{
    add_problem(scan, error->status, error->message);
}

void repository_scan_fault(struct repository_scan *scan, const char *format, ...)
{
    struct weft_error error = {.status = WEFT_INVALID};
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(error.message, sizeof(error.message), format, arguments);
    va_end(arguments);
    repository_scan_error(scan, &error);
}

static void on_error(void *context, const struct weft_error *error)
{
    repository_scan_error(context, error);
}

struct tree_listener repository_scan_listener(struct repository_scan *scan)
{
    return (struct tree_listener){.on_error = on_error, .context = scan};
}

static void ignore(const struct repository_scan *scan, const struct folder_entry *entry)
{
    if (scan->listener->on_ignored != NULL) {
        scan->listener->on_ignored(scan->listener->context, entry->path);
    }
}

/* False, and that is said, if the folder at @path cannot be listed. */
static bool list(struct repository_scan *scan, const char *path, struct folder *folder_out)
{
    struct weft_error error = {.status = WEFT_OK};

    if (folder_list(&scan->arena, scan->root, path, folder_out, &error) != WEFT_OK) {
        repository_scan_error(scan, &error);
        return false;
    }
    for (uint32_t i = 0; i < folder_out->count; i++) {
        if (folder_out->entries[i].status != WEFT_OK) {
            add_problem(scan, folder_out->entries[i].status, folder_out->entries[i].problem);
        }
    }
    return true;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text);
    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

static bool is_workflow_file(const struct folder_entry *entry)
{
    return !entry->is_folder && entry->status == WEFT_OK &&
           (strcmp(entry->name, REPOSITORY_WORKFLOW_FILE) == 0 ||
            ends_with(entry->name, "." REPOSITORY_WORKFLOW_FILE));
}

uint32_t repository_version(const char *name)
{
    if (name[0] < '1' || name[0] > '9' || strlen(name) > 9 ||
        name[strspn(name, "0123456789")] != '\0') {
        return 0;
    }
    return (uint32_t)strtoul(name, NULL, 10);
}

/* The number of a version folder; 0 if @entry is none. */
static uint32_t version_of(const struct folder_entry *entry)
{
    return entry->is_folder ? repository_version(entry->name) : 0;
}

static void note_document(struct repository_scan *scan, const struct folder_entry *entry)
{
    if (scan->document_count == REPOSITORY_DOCUMENTS_MAX) {
        repository_scan_fault(scan, "%s: more than %d workflows", entry->path, WORKFLOWS_MAX);
        return;
    }
    scan->documents[scan->document_count] = entry->path;
    scan->document_count++;
}

static bool is_name(const char *text)
{
    return strlen(text) < NAME_BYTES_MAX &&
           text[strspn(
               text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")] == '\0';
}

/* Note the form of @found for GPUs at @entry, which may be NULL. */
static void note_cuda(
    struct repository_scan *scan, const struct folder_entry *entry, struct scanned_model *found)
{
    struct folder inside;

    if (entry == NULL || !entry->is_folder || !list(scan, entry->path, &inside)) {
        return;
    }
    const struct folder_entry *weights = folder_find(&inside, REPOSITORY_WEIGHTS_FILE);
    found->cuda = entry->path;
    found->cuda_bytes = weights == NULL ? 0 : weights->bytes;
}

/* Note the model in the version folder @version of @model. */
static void note_model(
    struct repository_scan *scan, const struct folder_entry *model,
    const struct folder_entry *version)
{
    struct folder inside;

    if (!is_name(model->name) || builtin_is_reserved(model->name)) {
        repository_scan_fault(
            scan,
            "%s: a model has a name of letters, digits, '.', '_' and '-' that does not "
            "begin with '%s'",
            model->path, BUILTIN_PREFIX);
        return;
    }
    if (scan->model_count == MODELS_MAX) {
        repository_scan_fault(scan, "%s: more than %d models", model->path, MODELS_MAX);
        return;
    }
    /* Known even without its file: the tasks that use it are not at fault. */
    struct scanned_model *found = &scan->models[scan->model_count];
    *found = (struct scanned_model){.name = model->name, .version = version_of(version)};
    scan->model_count++;
    if (!list(scan, version->path, &inside)) {
        return;
    }
    const struct folder_entry *file = folder_find(&inside, REPOSITORY_MODEL_FILE);
    if (file != NULL && !file->is_folder) {
        found->path = file->path;
        found->bytes = file->bytes;
    }
    note_cuda(scan, folder_find(&inside, REPOSITORY_CUDA_FOLDER), found);
    if (found->path == NULL && found->cuda == NULL) {
        repository_scan_fault(
            scan, "%s: there is no file '%s' and no folder '%s'", version->path,
            REPOSITORY_MODEL_FILE, REPOSITORY_CUDA_FOLDER);
    }
}

/* The folder of one model was named; the repository around it is meant. */
static void say_one_model(struct repository_scan *scan, const struct folder_entry *version)
{
    const char *slash = strrchr(scan->root, '/');
    const int length = slash == NULL ? 1 : slash == scan->root ? 1 : (int)(slash - scan->root);

    repository_scan_fault(
        scan, "%s: this is a single model, with version %s; serve the folder around it: %.*s",
        scan->root, version->name, length, slash == NULL ? "." : scan->root);
}

/* A folder at the top: a model, workflows, both, or something else. */
static void scan_folder(struct repository_scan *scan, const struct folder_entry *entry)
{
    const struct folder_entry *newest = NULL;
    struct folder inside;
    bool is_known = false;

    if (!list(scan, entry->path, &inside)) {
        return;
    }
    if (version_of(entry) != 0 && folder_find(&inside, REPOSITORY_MODEL_FILE) != NULL) {
        say_one_model(scan, entry);
        return;
    }
    for (uint32_t i = 0; i < inside.count; i++) {
        const struct folder_entry *child = &inside.entries[i];
        if (version_of(child) != 0) {
            newest = newest == NULL || version_of(child) > version_of(newest) ? child : newest;
        } else if (is_workflow_file(child)) {
            note_document(scan, child);
            is_known = true;
        } else if (strcmp(child->name, REPOSITORY_MODEL_FILE) == 0) {
            repository_scan_fault(
                scan, "%s: a model lies in the folder of its version; move it to %s/1/%s",
                child->path, entry->path, REPOSITORY_MODEL_FILE);
            is_known = true;
        } else if (strcmp(child->name, CONFIG_FILE) == 0) {
            ignore(scan, child);
        }
    }
    if (newest != NULL) {
        note_model(scan, entry, newest);
    } else if (!is_known) {
        ignore(scan, entry);
    }
}

/* Every profile must be valid, even one for another machine. */
static void check_profiles(struct repository_scan *scan, const struct folder_entry *entry)
{
    struct folder inside;

    if (!list(scan, entry->path, &inside)) {
        return;
    }
    for (uint32_t i = 0; i < inside.count; i++) {
        struct tree_listener listener = repository_scan_listener(scan);
        enum document_kind kind = DOCUMENT_PROFILE;
        if (!ends_with(inside.entries[i].name, ".profile.json")) {
            ignore(scan, &inside.entries[i]);
        } else if (inside.entries[i].status == WEFT_OK) {
            /* The listener notes what is wrong. */
            (void)document_check(inside.entries[i].path, &listener, &kind, NULL);
        }
    }
}

/* Note the functions in the folder at @path, which are of @version. */
static bool scan_functions(
    struct repository_scan *scan, const char *path, uint32_t version, struct folder *inside_out)
{
    if (scan->function_count == REPOSITORY_FUNCTIONS_MAX) {
        repository_scan_fault(
            scan, "%s: more than %d versions of functions", path, REPOSITORY_FUNCTIONS_MAX);
        return false;
    }
    if (!list(scan, path, inside_out)) {
        return false;
    }
    scan->functions[scan->function_count] =
        (struct scanned_folder){.version = version, .folder = *inside_out};
    scan->function_count++;
    return true;
}

/* The folder of all functions: those of version 1 lie in it, others in the folder of theirs. */
static void scan_all_functions(struct repository_scan *scan, const char *path)
{
    struct folder first;
    struct folder inside;

    if (!scan_functions(scan, path, 1, &first)) {
        return;
    }
    for (uint32_t i = 0; i < first.count; i++) {
        const struct folder_entry *entry = &first.entries[i];
        const uint32_t version = version_of(entry);
        if (version == 1) {
            repository_scan_fault(
                scan, "%s: version 1 of functions lies in %s itself", entry->path, path);
        } else if (version != 0) {
            (void)scan_functions(scan, entry->path, version, &inside);
        }
    }
}

void repository_scan_all(struct repository_scan *scan)
{
    struct folder top;

    if (!list(scan, scan->root, &top)) {
        return;
    }
    for (uint32_t i = 0; i < top.count; i++) {
        const struct folder_entry *entry = &top.entries[i];
        if (entry->status != WEFT_OK) {
            continue;
        }
        if (entry->is_folder && strcmp(entry->name, FUNCTION_FOLDER) == 0) {
            scan_all_functions(scan, entry->path);
        } else if (entry->is_folder && strcmp(entry->name, PROFILE_FOLDER) == 0) {
            check_profiles(scan, entry);
        } else if (entry->is_folder && strcmp(entry->name, INPUT_FOLDER) == 0) {
            continue;
        } else if (entry->is_folder) {
            scan_folder(scan, entry);
        } else if (strcmp(entry->name, REPOSITORY_SETTINGS_FILE) == 0) {
            scan->settings = entry->path;
        } else if (is_workflow_file(entry)) {
            note_document(scan, entry);
        } else {
            ignore(scan, entry);
        }
    }
}

const struct scanned_model *repository_scan_find_model(
    const struct repository_scan *scan, const char *name)
{
    for (uint32_t i = 0; i < scan->model_count; i++) {
        if (strcmp(scan->models[i].name, name) == 0) {
            return &scan->models[i];
        }
    }
    return NULL;
}

bool repository_scan_find_function(
    const struct repository_scan *scan, const char *name, struct scanned_function *function_out)
{
    char file[FILE_BYTES_MAX];
    const char *dot = strrchr(name, '.');

    *function_out = (struct scanned_function){.version = 0};
    if (dot == NULL || dot == name || dot[1] == '\0' || dot - name >= NAME_BYTES_MAX) {
        return false;
    }
    (void)snprintf(file, sizeof(file), "%.*s.so", (int)(dot - name), name);
    for (uint32_t i = 0; i < scan->function_count; i++) {
        const struct scanned_folder *folder = &scan->functions[i];
        const struct folder_entry *entry = folder_find(&folder->folder, file);
        if (entry != NULL && !entry->is_folder && entry->status == WEFT_OK &&
            folder->version > function_out->version) {
            *function_out = (struct scanned_function){
                .name = dot + 1,
                .path = entry->path,
                .bytes = entry->bytes,
                .version = folder->version,
            };
        }
    }
    return function_out->version != 0;
}
