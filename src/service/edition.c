#include "service/edition.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "document/repository.h"
#include "engine/artifact.h"
#include "service/sums.h"

enum { BITS_DIGITS = (MODELS_MAX + WORKFLOWS_MAX) / 4 };

static const char digits[] = "0123456789abcdef";

bool edition_has_versions(const struct repository *repository, uint32_t model)
{
    const struct repository_file *file = &repository->files[model];
    return file->kind != REPOSITORY_BUILTIN && (file->path != NULL || file->cuda != NULL);
}

bool edition_file(
    const struct repository *repository, uint32_t model, uint32_t version,
    struct edition_paths *paths_out, struct repository_file *file_out)
{
    const struct repository_file *found = &repository->files[model];
    *file_out = *found;
    if (version == 0) {
        return true;
    }
    if (found->kind == REPOSITORY_FUNCTION) {
        file_out->path = paths_out->path;
        return artifact_function_path(
            found->path, version, paths_out->path, sizeof(paths_out->path));
    }
    file_out->path = found->path == NULL ? NULL : paths_out->path;
    file_out->cuda = found->cuda == NULL ? NULL : paths_out->cuda;
    return (found->path == NULL ||
            artifact_path(found->path, version, paths_out->path, sizeof(paths_out->path))) &&
           (found->cuda == NULL ||
            artifact_path(found->cuda, version, paths_out->cuda, sizeof(paths_out->cuda)));
}

uint32_t edition_forms(
    const struct repository *repository, uint32_t model, uint32_t version,
    char out[static EDITION_FORMS][PATH_MAX])
{
    struct edition_paths paths;
    struct repository_file file;
    uint32_t count = 0;
    if (!edition_file(repository, model, version, &paths, &file)) {
        return 0;
    }
    if (file.path != NULL) {
        (void)snprintf(out[count++], PATH_MAX, "%s", file.path);
    }
    if (file.cuda != NULL) {
        const int length = snprintf(out[count++], PATH_MAX, "%s/" SUMS_FILE, file.cuda);
        count = length > 0 && length < PATH_MAX ? count : 0;
    }
    return count;
}

static bool has_bit(const struct edition *edition, uint32_t bit)
{
    return bit < MODELS_MAX ? model_set_has(&edition->unloaded, bit)
                            : edition->closed[bit - MODELS_MAX];
}

bool edition_write(
    const struct edition *edition, const struct repository *repository, char *out, size_t room)
{
    struct text text;
    text_init(&text, out, room);
    for (uint32_t i = 0; i < BITS_DIGITS; i++) {
        uint32_t digit = 0;
        for (uint32_t bit = 0; bit < 4; bit++) {
            digit |= has_bit(edition, 4 * i + bit) ? UINT32_C(1) << bit : 0;
        }
        text_add(&text, "%c", digits[digit]);
    }
    const char *before = ";";
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        if (edition_has_versions(repository, i)) {
            text_add(
                &text, "%s%" PRIu32 ":%08" PRIx32, before, edition->models[i].version,
                edition->models[i].hash);
            before = ",";
        }
    }
    return text.length + 1 < room;
}

/* Read "VERSION:HASH" at @at, which is then behind it. False: it is none. */
static bool read_model(const char **at, struct edition_model *model_out)
{
    char *end = NULL;
    const unsigned long version = strtoul(*at, &end, 10);
    if (end == *at || *end != ':' || version == 0 || version > UINT32_MAX) {
        return false;
    }
    const char *hash = end + 1;
    model_out->version = (uint32_t)version;
    model_out->hash = (uint32_t)strtoul(hash, &end, 16);
    *at = end;
    return end == hash + 8;
}

bool edition_read(
    const char *text, const struct repository *repository, struct edition *edition_out)
{
    struct edition edition = {.number = 0};
    if (strlen(text) < BITS_DIGITS || strspn(text, digits) != BITS_DIGITS) {
        return false;
    }
    for (uint32_t i = 0; i < 4 * BITS_DIGITS; i++) {
        const uint32_t digit = (uint32_t)(strchr(digits, text[i / 4]) - digits);
        if ((digit >> i % 4 & 1) != 0 && i < MODELS_MAX) {
            model_set_add(&edition.unloaded, i);
        } else if (i >= MODELS_MAX) {
            edition.closed[i - MODELS_MAX] = (digit >> i % 4 & 1) != 0;
        }
    }
    const char *at = text + BITS_DIGITS;
    char before = ';';
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        if (!edition_has_versions(repository, i)) {
            continue;
        }
        if (*at++ != before || !read_model(&at, &edition.models[i])) {
            return false;
        }
        before = ',';
    }
    *edition_out = edition;
    return *at == '\0';
}

bool edition_is_same(
    const struct edition *a, const struct edition *b, const struct repository *repository)
{
    bool is_same = memcmp(&a->unloaded, &b->unloaded, sizeof(a->unloaded)) == 0 &&
                   memcmp(a->closed, b->closed, sizeof(a->closed)) == 0;
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        is_same = is_same && a->models[i].version == b->models[i].version &&
                  a->models[i].hash == b->models[i].hash;
    }
    return is_same;
}

uint32_t edition_find_version(const struct repository *repository, uint32_t model)
{
    char forms[EDITION_FORMS][PATH_MAX];
    char path[PATH_MAX];
    const struct repository_file *file = &repository->files[model];
    uint32_t highest = file->version;
    if (!edition_has_versions(repository, model)) {
        return highest;
    }
    if (file->kind == REPOSITORY_FUNCTION) {
        (void)artifact_function_path(file->path, 1, path, sizeof(path)); /* It is in the folder. */
    } else {
        (void)snprintf(path, sizeof(path), "%s", file->path != NULL ? file->path : file->cuda);
        *strrchr(path, '/') = '\0'; /* A version lies in a folder. */
    }
    if (strrchr(path, '/') != NULL) {
        *strrchr(path, '/') = '\0';
    }
    DIR *folder = opendir(path);
    for (const struct dirent *at = folder == NULL ? NULL : readdir(folder); at != NULL;
         at = readdir(folder)) {
        const uint32_t version = repository_version(at->d_name);
        if (version > highest && edition_forms(repository, model, version, forms) > 0 &&
            access(forms[0], R_OK) == 0) {
            highest = version;
        }
    }
    if (folder != NULL) {
        (void)closedir(folder); /* It was only read. */
    }
    return highest;
}
