#include "engine/artifact.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The last slash before @end, which is in @path. NULL: there is none. */
static const char *slash_before(const char *path, const char *end)
{
    while (end > path && *--end != '/') {
    }
    return *end == '/' ? end : NULL;
}

bool artifact_path(const char *path, uint32_t version, char *out, size_t room)
{
    const char *name = slash_before(path, path + strlen(path));
    const char *folder = name == NULL ? NULL : slash_before(path, name);
    if (version == 0 || folder == NULL) {
        return (size_t)snprintf(out, room, "%s", path) < room;
    }
    const int length =
        snprintf(out, room, "%.*s/%" PRIu32 "%s", (int)(folder - path), path, version, name);
    return length > 0 && (size_t)length < room;
}

/* Whether the folder whose name ends at @end, which is in @path, is that of all functions. */
static bool is_function_folder(const char *path, const char *end)
{
    const char *slash = slash_before(path, end);
    const char *name = slash == NULL ? path : slash + 1;
    return (size_t)(end - name) == strlen(ARTIFACT_FUNCTIONS) &&
           strncmp(name, ARTIFACT_FUNCTIONS, strlen(ARTIFACT_FUNCTIONS)) == 0;
}

bool artifact_function_path(const char *path, uint32_t version, char *out, size_t room)
{
    const char *name = slash_before(path, path + strlen(path));
    const char *end = name; /* Of the folder of all functions. */
    char folder[16] = "";
    if (version == 0 || name == NULL) {
        return (size_t)snprintf(out, room, "%s", path) < room;
    }
    if (!is_function_folder(path, name) && slash_before(path, name) != NULL) {
        end = slash_before(path, name);
    }
    if (version > 1) {
        (void)snprintf(folder, sizeof(folder), "/%" PRIu32, version);
    }
    const int length = snprintf(out, room, "%.*s%s%s", (int)(end - path), path, folder, name);
    return length > 0 && (size_t)length < room;
}

uint32_t artifact_version_at(const struct artifact_versions *versions, uint32_t edition)
{
    uint32_t found = ARTIFACT_VERSIONS_MAX;
    for (uint32_t i = 0; i < versions->count; i++) {
        found = versions->items[i].edition <= edition ? i : found;
    }
    return found;
}

struct artifact_file artifact_file_at(const struct artifact *artifact, uint32_t edition)
{
    const struct artifact_versions *versions = &artifact->versions;
    const uint32_t at = artifact_version_at(versions, edition);
    const bool is_there = at < ARTIFACT_VERSIONS_MAX;
    return (struct artifact_file){
        .version = is_there ? versions->items[at].version : 0,
        .is_missing = versions->count > 0 && !is_there ? 1 : 0,
        .renewals = artifact->renewals,
    };
}

void artifact_set_file(struct artifact *artifact, const struct artifact_file *file)
{
    if (artifact->kind != ARTIFACT_FUNCTION) {
        return;
    }
    artifact->versions = (struct artifact_versions){
        .count = 1,
        .items = {{
            .edition = file->is_missing != 0 ? UINT32_MAX : 0, /* No job has that one. */
            .version = file->version,
        }},
    };
    artifact->renewals = file->renewals;
}

bool artifact_must_reload(
    const struct artifact_versions *before, const struct artifact_versions *now)
{
    bool must = before->count != now->count;
    for (uint32_t i = 0; i < now->count && !must; i++) {
        /* An edition may come later that is older, and means the same version. */
        must = before->items[i].version != now->items[i].version ||
               before->items[i].edition > now->items[i].edition;
    }
    return must;
}
