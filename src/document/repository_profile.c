#include "document/repository_profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "document/folder.h"
#include "document/path.h"
#include "profile/builtin.h"

#define FOLDER "profiles"
#define ENDING ".profile.json"

/* "FOLDER/profiles/DEVICE_LIBRARY.profile.json" */
static enum weft_status make_path(
    const struct repository *repository, const char *device, const char *library,
    char out[DOCUMENT_PATH_BYTES_MAX], struct weft_error *error)
{
    const int length = snprintf(
        out, DOCUMENT_PATH_BYTES_MAX, "%s/" FOLDER "/%s_%s" ENDING, repository->folder, device,
        library);
    if (length < 0 || length >= DOCUMENT_PATH_BYTES_MAX) {
        return error_set(error, WEFT_LIMIT, "%s: the path is too long", repository->folder);
    }
    return WEFT_OK;
}

static void pin(const struct repository *repository, struct profile *profile)
{
    for (uint32_t i = 0; i < profile->model_count; i++) {
        profile->models[i].pinned |= repository->files[i].pinned;
    }
}

/* Read the file at @path, as far as catalogue and fleet know its names. */
static enum weft_status read_file(
    const struct repository *repository, struct fleet *fleet, const char *path,
    struct profile_document *document_out, struct weft_error *error)
{
    struct tree *tree = NULL;

    enum weft_status status = tree_load(path, &tree, error);
    if (status != WEFT_OK) {
        return status;
    }
    status =
        profile_read(tree->root, PROFILE_KNOWN, repository->catalogue, fleet, document_out, error);
    tree_destroy(tree);
    return status;
}

static void complete(
    const struct repository *repository, const struct fleet *fleet, struct profile *profile)
{
    profile_add_builtin(profile, repository->catalogue, fleet->device_count);
    pin(repository, profile);
}

/* A file may have figures of other devices too; they have files of their own. */
static void keep_only(struct profile *profile, const struct fleet *fleet, const char *device)
{
    for (uint32_t i = 0; i < profile->model_count; i++) {
        for (uint32_t k = 0; k < fleet->device_count; k++) {
            if (strcmp(fleet->devices[k], device) != 0) {
                profile_forget(profile, i, k);
            }
        }
    }
}

enum weft_status repository_profile_load(
    const struct repository *repository, struct fleet *fleet, const char *device,
    const char *library, struct profile_document *document_out, struct weft_error *error)
{
    char path[DOCUMENT_PATH_BYTES_MAX];
    struct profile_document document = {.listed = {{0}}};
    struct stat status_of;

    enum weft_status status = make_path(repository, device, library, path, error);
    if (status != WEFT_OK) {
        return status;
    }
    if (stat(path, &status_of) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        document.profile = profile_create(repository->catalogue->model_count);
    } else {
        status = read_file(repository, fleet, path, &document, error);
        if (status != WEFT_OK) {
            return status;
        }
        keep_only(document.profile, fleet, device);
    }
    complete(repository, fleet, document.profile);
    *document_out = document;
    return WEFT_OK;
}

enum weft_status repository_profile_save(
    const struct repository *repository, const struct fleet *fleet, const char *device,
    const char *library, const struct profile_document *document, struct weft_error *error)
{
    char path[DOCUMENT_PATH_BYTES_MAX];

    const enum weft_status status = make_path(repository, device, library, path, error);
    if (status != WEFT_OK) {
        return status;
    }
    char *slash = strrchr(path, '/');
    *slash = '\0';
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        return error_set(error, WEFT_IO, "%s: cannot be made: %s", path, strerror(errno));
    }
    *slash = '/';
    return profile_save(path, repository->catalogue, fleet, document, error);
}

/* Whether the profile at @path has figures of @wanted or, if that is "", of which first. */
static bool has_device(const char *path, const char *wanted, char device_out[NAME_BYTES_MAX])
{
    struct tree *tree = NULL;
    bool is_found = false;

    if (tree_load(path, &tree, NULL) != WEFT_OK) {
        return false;
    }
    const struct tree_node *models = tree_find(tree->root, "models");
    for (const struct tree_node *model = models == NULL ? NULL : models->first;
         model != NULL && !is_found; model = model->next) {
        const struct tree_node *devices = tree_find(model, "devices");
        for (const struct tree_node *device = devices == NULL ? NULL : devices->first;
             device != NULL && !is_found; device = device->next) {
            is_found = wanted[0] == '\0' || strcmp(device->key, wanted) == 0;
            (void)snprintf(device_out, NAME_BYTES_MAX, "%s", is_found ? device->key : "");
        }
    }
    tree_destroy(tree);
    return is_found;
}

enum weft_status repository_profile_any(
    struct repository *repository, const char *wanted, char device_out[NAME_BYTES_MAX],
    const char **path_out, struct weft_error *error)
{
    char path[DOCUMENT_PATH_BYTES_MAX];
    struct folder folder = {.count = 0};

    const int length = snprintf(path, sizeof(path), "%s/" FOLDER, repository->folder);
    if (length < 0 || (size_t)length >= sizeof(path) ||
        folder_list(&repository->arena, repository->folder, path, &folder, NULL) != WEFT_OK) {
        folder.count = 0;
    }
    for (uint32_t i = 0; i < folder.count; i++) {
        const char *name = folder.entries[i].name;
        const size_t bytes = strlen(name);
        if (folder.entries[i].status == WEFT_OK && bytes > strlen(ENDING) &&
            strcmp(name + bytes - strlen(ENDING), ENDING) == 0 &&
            has_device(folder.entries[i].path, wanted, device_out)) {
            *path_out = folder.entries[i].path;
            return WEFT_OK;
        }
    }
    return error_set(
        error, WEFT_NOT_FOUND, "%s/" FOLDER ": no profile%s%s; 'weft profile %s' measures one",
        repository->folder, wanted[0] == '\0' ? "" : " of device ", wanted, repository->folder);
}

enum weft_status repository_profile_read(
    const struct repository *repository, struct fleet *fleet, const char *path,
    struct profile_document *document_out, struct weft_error *error)
{
    const struct catalogue *catalogue = repository->catalogue;
    struct profile_document document = {.listed = {{0}}};

    const enum weft_status status = read_file(repository, fleet, path, &document, error);
    if (status != WEFT_OK) {
        return status;
    }
    complete(repository, fleet, document.profile);
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        for (uint32_t k = 0; k < workflow->task_count; k++) {
            const uint32_t run = workflow->tasks[k].run;
            if (!profile_is_measured(document.profile, run, /* device */ 0)) {
                profile_destroy(document.profile);
                return error_set(
                    error, WEFT_NOT_FOUND, "%s: no run time of '%s' on device '%s'", path,
                    catalogue->models[run], fleet->devices[0]);
            }
        }
    }
    *document_out = document;
    return WEFT_OK;
}
