/*
 * artifact.h - what stands behind the models of a catalogue: files that engines run.
 *
 * A repository fills the table once, before engines are made; from then on it is only
 * read, by any thread, but for the versions. Those the host's thread may change.
 */
#ifndef ENGINE_ARTIFACT_H
#define ENGINE_ARTIFACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

/* Of one model that can be in memory at once. */
enum { ARTIFACT_VERSIONS_MAX = 4 };

/* Which version of a model the editions of a repository mean, oldest first. */
struct artifact_versions {
    uint32_t count; /* 0: whatever the edition, the file of the table. */
    struct artifact_version {
        uint32_t edition; /* From this one on, to before that of the next. */
        uint32_t version; /* Its folder. */
    } items[ARTIFACT_VERSIONS_MAX];
    int64_t since_ns[ARTIFACT_VERSIONS_MAX]; /* As artifact.cuda_since_ns, of each. 0: that. */
};

enum artifact_kind {
    ARTIFACT_NONE,     /* There is no file: only an engine that pretends can run it, or a GPU. */
    ARTIFACT_ONNX,     /* An ONNX file for ONNX Runtime. */
    ARTIFACT_FUNCTION, /* A C function in a shared object: include/weft/function.h. */
};

struct artifact {
    enum artifact_kind kind;
    char *path;                    /* Of the file; owned by the table, like the next. */
    char *cuda;                    /* Folder with packages for GPUs: cuda/manifest.h. NULL: none. */
    int64_t cuda_since_ns;         /* What changed there later is compared again. 0: never. */
    char function[NAME_BYTES_MAX]; /* FUNCTION: its name in the shared object. */
    int64_t run_ns_max;            /* FUNCTION: of a call. 0: as struct function_limits says. */
    uint32_t batch_max; /* ONNX: items of one run at most. 0: no limit, 1: never batched. */
    uint64_t bytes;     /* ONNX: what it occupied when it was loaded alone. 0: unknown. */
    struct artifact_versions versions; /* Of a model: what the next load brings. Of a function:
                                          what the next launch runs. */
    uint32_t renewals; /* FUNCTION: how often other files have come to stand behind it. */
};

/* By model number of the catalogue. */
struct artifacts {
    uint32_t count;
    struct artifact *items;
};

/*
 * The file of @version of the model at @path, which lies in a folder of that name beside the one
 * of @path; 0 is that itself. False if there is no room for it.
 */
bool artifact_path(const char *path, uint32_t version, char *out, size_t room);

/*
 * The same for the shared object at @path: version 1 of it lies in the folder ARTIFACT_FUNCTIONS,
 * any other in a folder of that number in there.
 */
#define ARTIFACT_FUNCTIONS "functions"
bool artifact_function_path(const char *path, uint32_t version, char *out, size_t room);

/* Which file of a function a job runs. */
struct artifact_file {
    uint32_t version;
    uint32_t is_missing; /* The version that it names is not here. */
    uint32_t renewals;
};

/* That of a job of @edition. */
struct artifact_file artifact_file_at(const struct artifact *artifact, uint32_t edition);

/* If @artifact is a function, let that be @file, whatever the edition. */
void artifact_set_file(struct artifact *artifact, const struct artifact_file *file);

/* Which of @versions @edition means; ARTIFACT_VERSIONS_MAX: none. */
uint32_t artifact_version_at(const struct artifact_versions *versions, uint32_t edition);

/*
 * Whether what was loaded for @before does not do for @now: a version is missing, or an edition
 * would be run by another one than it means, or by none.
 */
bool artifact_must_reload(
    const struct artifact_versions *before, const struct artifact_versions *now);

#endif /* ENGINE_ARTIFACT_H */
