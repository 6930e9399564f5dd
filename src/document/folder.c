#include "document/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "document/path.h"

static enum weft_status fail(const char *path, const char *cause, struct weft_error *error)
{
    return error_set(error, WEFT_IO, "%s: %s", path, cause);
}

static int is_seen(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_name(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

/* Whether the real path @inner lies under the real path @outer. */
static bool is_under(const char *outer, const char *inner)
{
    const size_t length = strlen(outer);
    return strncmp(outer, inner, length) == 0 &&
           (inner[length] == '/' || (length > 0 && outer[length - 1] == '/'));
}

/* What is wrong with the file or folder at @path; NULL if nothing. */
static const char *find_fault(const char *root, const char *path, struct stat *status_out)
{
    if (stat(path, status_out) != 0) {
        return errno == ELOOP    ? "a link that leads in a circle"
               : errno == ENOENT ? "a link that leads nowhere"
                                 : strerror(errno);
    }
    if (!S_ISDIR(status_out->st_mode) && !S_ISREG(status_out->st_mode)) {
        return "neither a file nor a folder";
    }
    char *outer = realpath(root, NULL);
    char *inner = realpath(path, NULL);
    const char *fault = outer == NULL || inner == NULL ? "cannot be found"
                        : !is_under(outer, inner)      ? "a link that leads out of the repository"
                                                       : NULL;
    free(outer);
    free(inner);
    return fault;
}

static void look_at(struct arena *arena, const char *root, struct folder_entry *entry)
{
    struct stat status = {.st_size = 0};
    const char *fault = find_fault(root, entry->path, &status);

    entry->is_folder = fault == NULL && S_ISDIR(status.st_mode);
    entry->bytes = fault == NULL ? (uint64_t)status.st_size : 0;
    if (fault != NULL) {
        struct weft_error error = {.status = WEFT_OK};
        entry->status = fail(entry->path, fault, &error);
        entry->problem = arena_text(arena, error.message);
    }
}

static enum weft_status add_entries(
    struct arena *arena, const char *root, const char *path, struct dirent *const *names,
    struct folder *folder, struct weft_error *error)
{
    char joined[DOCUMENT_PATH_BYTES_MAX];

    if (folder->count > FOLDER_ENTRIES_MAX) {
        return error_set(error, WEFT_LIMIT, "%s: more than %d entries", path, FOLDER_ENTRIES_MAX);
    }
    folder->entries = arena_alloc(arena, (folder->count + 1) * sizeof(*folder->entries));
    for (uint32_t i = 0; i < folder->count; i++) {
        const int length = snprintf(joined, sizeof(joined), "%s/%s", path, names[i]->d_name);
        if (length < 0 || (size_t)length >= sizeof(joined)) {
            return error_set(error, WEFT_LIMIT, "%s: a path is too long", path);
        }
        folder->entries[i] = (struct folder_entry){
            .name = arena_text(arena, names[i]->d_name), .path = arena_text(arena, joined)};
        look_at(arena, root, &folder->entries[i]);
    }
    return WEFT_OK;
}

enum weft_status folder_list(
    struct arena *arena, const char *root, const char *path, struct folder *folder_out,
    struct weft_error *error)
{
    struct dirent **names = NULL;

    const int count = scandir(path, &names, is_seen, by_name);
    if (count < 0) {
        return fail(path, strerror(errno), error);
    }
    struct folder folder = {.count = (uint32_t)count};
    const enum weft_status status = add_entries(arena, root, path, names, &folder, error);
    for (int i = 0; i < count; i++) {
        free(names[i]);
    }
    free(names);
    if (status == WEFT_OK) {
        *folder_out = folder;
    }
    return status;
}

const struct folder_entry *folder_find(const struct folder *folder, const char *name)
{
    for (uint32_t i = 0; i < folder->count; i++) {
        if (strcmp(folder->entries[i].name, name) == 0) {
            return &folder->entries[i];
        }
    }
    return NULL;
}
