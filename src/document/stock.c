#include "document/stock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "document/check.h"
#include "model/builtin.h"

#define CONFIG_FILE     "config.pbtxt" /* Triton's; not read. */
#define FUNCTION_FOLDER "functions"
#define PROFILE_FOLDER  "profiles"

enum { FILE_BYTES_MAX = NAME_BYTES_MAX + 3 }; /* With ".so". */

/* Note what is wrong with one file; the first such note is the error of the whole. */
static void add_problem(struct stock *stock, enum weft_status status, const char *message)
{
    if (stock->status == WEFT_OK) {
        stock->status = error_set(stock->error, status, "%s", message);
    }
    if (stock->listener->on_problem != NULL) {
        stock->listener->on_problem(stock->listener->context, message);
    }
}

void stock_error(struct stock *stock, const struct weft_error *error)
{
    add_problem(stock, error->status, error->message);
}

void stock_fault(struct stock *stock, const char *format, ...)
{
    struct weft_error error = {.status = WEFT_INVALID};
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(error.message, sizeof(error.message), format, arguments);
    va_end(arguments);
    stock_error(stock, &error);
}

static void ignore(const struct stock *stock, const struct folder_entry *entry)
{
    if (stock->listener->on_ignored != NULL) {
        stock->listener->on_ignored(stock->listener->context, entry->path);
    }
}

/* False, and that is said, if the folder at @path cannot be listed. */
static bool list(struct stock *stock, const char *path, struct folder *folder_out)
{
    struct weft_error error = {.status = WEFT_OK};

    if (folder_list(&stock->arena, stock->root, path, folder_out, &error) != WEFT_OK) {
        stock_error(stock, &error);
        return false;
    }
    for (uint32_t i = 0; i < folder_out->count; i++) {
        if (folder_out->entries[i].status != WEFT_OK) {
            add_problem(stock, folder_out->entries[i].status, folder_out->entries[i].problem);
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
           (strcmp(entry->name, STOCK_WORKFLOW_FILE) == 0 ||
            ends_with(entry->name, "." STOCK_WORKFLOW_FILE));
}

/* The number of a version folder; 0 if @entry is none. */
static uint32_t version_of(const struct folder_entry *entry)
{
    if (!entry->is_folder || entry->name[0] < '1' || entry->name[0] > '9' ||
        strlen(entry->name) > 9 || entry->name[strspn(entry->name, "0123456789")] != '\0') {
        return 0;
    }
    return (uint32_t)strtoul(entry->name, NULL, 10);
}

static void note_document(struct stock *stock, const struct folder_entry *entry)
{
    if (stock->document_count == STOCK_DOCUMENTS_MAX) {
        stock_fault(stock, "%s: more than %d workflows", entry->path, WORKFLOWS_MAX);
        return;
    }
    stock->documents[stock->document_count] = entry->path;
    stock->document_count++;
}

static bool is_name(const char *text)
{
    return strlen(text) < NAME_BYTES_MAX &&
           text[strspn(
               text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")] == '\0';
}

/* Note the model in the version folder @version of @model. */
static void note_model(
    struct stock *stock, const struct folder_entry *model, const struct folder_entry *version)
{
    struct folder inside;

    if (!is_name(model->name) || builtin_is_reserved(model->name)) {
        stock_fault(
            stock,
            "%s: a model has a name of letters, digits, '.', '_' and '-' that does not "
            "begin with '%s'",
            model->path, BUILTIN_PREFIX);
        return;
    }
    if (stock->model_count == MODELS_MAX) {
        stock_fault(stock, "%s: more than %d models", model->path, MODELS_MAX);
        return;
    }
    /* Known even without its file: whoever uses it is not at fault. */
    struct stock_model *found = &stock->models[stock->model_count];
    *found = (struct stock_model){.name = model->name, .version = version_of(version)};
    stock->model_count++;
    if (!list(stock, version->path, &inside)) {
        return;
    }
    const struct folder_entry *file = folder_find(&inside, STOCK_MODEL_FILE);
    if (file == NULL || file->is_folder) {
        stock_fault(stock, "%s: there is no file '%s'", version->path, STOCK_MODEL_FILE);
        return;
    }
    found->path = file->path;
    found->bytes = file->bytes;
}

/* Whoever names the folder of one model means the repository around it. */
static void say_one_model(struct stock *stock, const struct folder_entry *version)
{
    const char *slash = strrchr(stock->root, '/');
    const int length = slash == NULL ? 1 : slash == stock->root ? 1 : (int)(slash - stock->root);

    stock_fault(
        stock, "%s: this is a single model, with version %s; serve the folder around it: %.*s",
        stock->root, version->name, length, slash == NULL ? "." : stock->root);
}

/* A folder at the top: a model, workflows, both, or something else. */
static void scan_folder(struct stock *stock, const struct folder_entry *entry)
{
    const struct folder_entry *newest = NULL;
    struct folder inside;
    bool is_known = false;

    if (!list(stock, entry->path, &inside)) {
        return;
    }
    if (version_of(entry) != 0 && folder_find(&inside, STOCK_MODEL_FILE) != NULL) {
        say_one_model(stock, entry);
        return;
    }
    for (uint32_t i = 0; i < inside.count; i++) {
        const struct folder_entry *child = &inside.entries[i];
        if (version_of(child) != 0) {
            newest = newest == NULL || version_of(child) > version_of(newest) ? child : newest;
        } else if (is_workflow_file(child)) {
            note_document(stock, child);
            is_known = true;
        } else if (strcmp(child->name, STOCK_MODEL_FILE) == 0) {
            stock_fault(
                stock, "%s: a model lies in the folder of its version; move it to %s/1/%s",
                child->path, entry->path, STOCK_MODEL_FILE);
            is_known = true;
        } else if (strcmp(child->name, CONFIG_FILE) == 0) {
            ignore(stock, child);
        }
    }
    if (newest != NULL) {
        note_model(stock, entry, newest);
    } else if (!is_known) {
        ignore(stock, entry);
    }
}

/* Every profile must be good, whatever it speaks of. */
static void check_profiles(struct stock *stock, const struct folder_entry *entry)
{
    struct folder inside;

    if (!list(stock, entry->path, &inside)) {
        return;
    }
    for (uint32_t i = 0; i < inside.count; i++) {
        struct weft_error error = {.status = WEFT_OK};
        enum document_kind kind = DOCUMENT_PROFILE;
        if (!ends_with(inside.entries[i].name, ".profile.json")) {
            ignore(stock, &inside.entries[i]);
        } else if (
            inside.entries[i].status == WEFT_OK &&
            document_check(inside.entries[i].path, &kind, &error) != WEFT_OK) {
            stock_error(stock, &error);
        }
    }
}

void stock_scan(struct stock *stock)
{
    struct folder top;

    if (!list(stock, stock->root, &top)) {
        return;
    }
    for (uint32_t i = 0; i < top.count; i++) {
        const struct folder_entry *entry = &top.entries[i];
        if (entry->status != WEFT_OK) {
            continue;
        }
        if (entry->is_folder && strcmp(entry->name, FUNCTION_FOLDER) == 0) {
            stock->has_functions = list(stock, entry->path, &stock->functions);
        } else if (entry->is_folder && strcmp(entry->name, PROFILE_FOLDER) == 0) {
            check_profiles(stock, entry);
        } else if (entry->is_folder) {
            scan_folder(stock, entry);
        } else if (strcmp(entry->name, STOCK_SETTINGS_FILE) == 0) {
            stock->settings = entry->path;
        } else if (is_workflow_file(entry)) {
            note_document(stock, entry);
        } else {
            ignore(stock, entry);
        }
    }
}

const struct stock_model *stock_find_model(const struct stock *stock, const char *name)
{
    for (uint32_t i = 0; i < stock->model_count; i++) {
        if (strcmp(stock->models[i].name, name) == 0) {
            return &stock->models[i];
        }
    }
    return NULL;
}

const struct folder_entry *stock_find_function(
    const struct stock *stock, const char *name, const char **function_out)
{
    char file[FILE_BYTES_MAX];
    const char *dot = strrchr(name, '.');

    if (dot == NULL || dot == name || dot[1] == '\0' || !stock->has_functions ||
        dot - name >= NAME_BYTES_MAX) {
        return NULL;
    }
    (void)snprintf(file, sizeof(file), "%.*s.so", (int)(dot - name), name);
    const struct folder_entry *entry = folder_find(&stock->functions, file);
    if (entry == NULL || entry->is_folder || entry->status != WEFT_OK) {
        return NULL;
    }
    *function_out = dot + 1;
    return entry;
}
