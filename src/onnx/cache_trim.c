#include "onnx/cache_trim.h"

#include "base/units.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILES_MAX = 4096, NAME_BYTES = 160 };

#define ENDING ".ort"

/* What lies beside a model: model.h. It goes with it. */
static const char *const besides[] = {".packed", ".turns"};

enum { BESIDES = ARRAY_COUNT(besides) };

struct file {
    char name[NAME_BYTES];
    uint64_t bytes; /* With what lies beside it. */
    time_t used;
};

void onnx_cache_touch(const char *path)
{
    (void)utimensat(AT_FDCWD, path, NULL, 0); /* Otherwise it only counts as older than it is. */
}

/* The name of number @index of what lies beside @name. */
static void name_beside(const char *name, uint32_t index, char out[static NAME_BYTES + 16])
{
    (void)snprintf(out, NAME_BYTES + 16, "%.*s%s", NAME_BYTES - 1, name, besides[index]);
}

static uint64_t bytes_beside(int folder, const char *name)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < BESIDES; i++) {
        char beside[NAME_BYTES + 16];
        struct stat status;
        name_beside(name, i, beside);
        bytes += fstatat(folder, beside, &status, AT_SYMLINK_NOFOLLOW) == 0
                     ? (uint64_t)status.st_size
                     : 0;
    }
    return bytes;
}

/* False if it cannot be removed. */
static bool remove_file(int folder, const char *name)
{
    if (unlinkat(folder, name, 0) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < BESIDES; i++) {
        char beside[NAME_BYTES + 16];
        name_beside(name, i, beside);
        (void)unlinkat(folder, beside, 0); /* It may not be there. */
    }
    return true;
}

static bool read_file(int folder, const char *name, struct file *file_out)
{
    struct stat status;
    const size_t length = strlen(name);
    if (length >= NAME_BYTES || length <= strlen(ENDING) ||
        strcmp(name + length - strlen(ENDING), ENDING) != 0 ||
        fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) {
        return false;
    }
    memcpy(file_out->name, name, length + 1);
    file_out->bytes = (uint64_t)status.st_size + bytes_beside(folder, file_out->name);
    file_out->used = status.st_mtime;
    return true;
}

static int compare(const void *left, const void *right)
{
    const struct file *a = left;
    const struct file *b = right;
    return a->used == b->used ? strcmp(a->name, b->name)
                              : (a->used > b->used) - (a->used < b->used);
}

static void remove_oldest(
    int folder, const struct file *files, uint32_t count, uint64_t bytes_max, time_t before)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        bytes += files[i].bytes;
    }
    for (uint32_t i = 0; i < count && bytes > bytes_max && files[i].used < before; i++) {
        bytes -= remove_file(folder, files[i].name) ? files[i].bytes : 0;
    }
}

void onnx_cache_trim(const char *folder, uint64_t bytes_max, int64_t unused_s)
{
    DIR *opened = opendir(folder);
    struct file *files = opened == NULL ? NULL : calloc(FILES_MAX, sizeof(*files));
    if (files != NULL) {
        uint32_t count = 0;
        for (const struct dirent *entry = readdir(opened); entry != NULL && count < FILES_MAX;
             entry = readdir(opened)) {
            count += read_file(dirfd(opened), entry->d_name, &files[count]) ? 1 : 0;
        }
        qsort(files, count, sizeof(*files), compare);
        remove_oldest(dirfd(opened), files, count, bytes_max, time(NULL) - (time_t)unused_s);
    }
    free(files);
    if (opened != NULL) {
        (void)closedir(opened); /* Nothing was written to it. */
    }
}
