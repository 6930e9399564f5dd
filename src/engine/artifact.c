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

uint32_t artifact_version_at(const struct artifact_versions *versions, uint32_t edition)
{
    uint32_t found = ARTIFACT_VERSIONS_MAX;
    for (uint32_t i = 0; i < versions->count; i++) {
        found = versions->items[i].edition <= edition ? i : found;
    }
    return found;
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
