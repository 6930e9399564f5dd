/*
 * folder.h - what lies in a folder of a repository, by name, and nothing from outside of it.
 *
 * Links are followed, but not out of the repository: what is served is what was put there.
 * Names that begin with a dot are not seen.
 */
#ifndef DOCUMENT_FOLDER_H
#define DOCUMENT_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/status.h>

#include "base/arena.h"

enum { FOLDER_ENTRIES_MAX = 4096 };

struct folder_entry {
    const char *name;
    const char *path; /* With the folder it was listed as. */
    bool is_folder;   /* Otherwise it is a file. */
    uint64_t bytes;   /* Of a file. */
    enum weft_status status;
    const char *problem; /* Unless the status is WEFT_OK: "path: cause". */
};

struct folder {
    uint32_t count;
    struct folder_entry *entries; /* By name, ascending. */
};

/*
 * List the folder at @path of the repository at @root, which may be the same, into @arena.
 * An entry that cannot be used says so itself.
 *
 * Errors: WEFT_IO if it cannot be read, WEFT_LIMIT if it has too much; "path: cause".
 */
enum weft_status folder_list(
    struct arena *arena, const char *root, const char *path, struct folder *folder_out,
    struct weft_error *error);

/* NULL if there is no such entry. */
const struct folder_entry *folder_find(const struct folder *folder, const char *name);

#endif /* DOCUMENT_FOLDER_H */
