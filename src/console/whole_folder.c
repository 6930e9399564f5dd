#include "console/whole_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"

static enum weft_status fail(const char *path, int cause, struct weft_error *error)
{
    return error_set(error, WEFT_IO, "%s: %s", path, strerror(cause));
}

static char *joined(const char *left, const char *middle, const char *right)
{
    const size_t bytes = strlen(left) + strlen(middle) + strlen(right) + 1;
    char *text = memory_zeroed(bytes, 1);
    (void)snprintf(text, bytes, "%s%s%s", left, middle, right);
    return text;
}

/* "a/b///" is "a/b": the folder beside it must not be one inside it. */
static char *without_slashes(const char *path)
{
    char *text = joined(path, "", "");
    size_t length = strlen(text);
    while (length > 1 && text[length - 1] == '/') {
        length--;
        text[length] = '\0';
    }
    return text;
}

static void release(struct whole_folder *whole)
{
    free(whole->path);
    free(whole->temporary);
    *whole = (struct whole_folder){0};
}

static bool is_name(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* Fail if something is at @path that a new folder would not simply take the place of. */
static enum weft_status check_place(const char *path, struct weft_error *error)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return errno == ENOENT ? WEFT_OK : fail(path, errno, error);
    }
    bool is_empty = true;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        is_empty = is_empty && !is_name(entry);
    }
    (void)closedir(folder); /* Only read. */
    if (!is_empty) {
        return error_set(error, WEFT_EXISTS, "%s: the folder is not empty", path);
    }
    return WEFT_OK;
}

enum weft_status whole_folder_open(
    struct whole_folder *whole, const char *path, struct weft_error *error)
{
    struct whole_folder opened = {.path = without_slashes(path)};
    enum weft_status status = check_place(opened.path, error);

    if (status == WEFT_OK) {
        opened.temporary = joined(opened.path, ".", "XXXXXX");
        if (mkdtemp(opened.temporary) == NULL) {
            status = fail(opened.path, errno, error);
        }
    }
    if (status != WEFT_OK) {
        release(&opened);
        return status;
    }
    /* As mkdir() would have made it: mkdtemp() keeps others out. */
    const mode_t mask = umask(0);
    (void)umask(mask);
    (void)chmod(opened.temporary, 0777 & ~mask); /* Some file systems have no modes. */
    *whole = opened;
    return WEFT_OK;
}

char *whole_folder_file(const struct whole_folder *whole, const char *name)
{
    ASSERT(whole->temporary != NULL);
    return joined(whole->temporary, "/", name);
}

enum weft_status whole_folder_commit(struct whole_folder *whole, struct weft_error *error)
{
    ASSERT(whole->temporary != NULL);
    if (rename(whole->temporary, whole->path) != 0) {
        const enum weft_status status = fail(whole->path, errno, error);
        whole_folder_discard(whole);
        return status;
    }
    release(whole);
    return WEFT_OK;
}

void whole_folder_discard(struct whole_folder *whole)
{
    DIR *folder = whole->temporary == NULL ? NULL : opendir(whole->temporary);
    if (folder != NULL) {
        for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
            char *file = whole_folder_file(whole, entry->d_name);
            if (is_name(entry)) {
                (void)unlink(file); /* What stays keeps the folder, which is seen. */
            }
            free(file);
        }
        (void)closedir(folder); /* Only read. */
        (void)rmdir(whole->temporary);
    }
    release(whole);
}
