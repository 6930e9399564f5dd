/*
 * repository.h - a folder of models, functions and workflows, read as a whole.
 *
 *     MODEL/VERSION/model.onnx     the highest version is served
 *     MODEL/VERSION/model.cuda/    the same model for GPUs, or a model for GPUs alone
 *     functions/FILE.so            functions are called FILE.NAME
 *     functions/VERSION/FILE.so    newer versions of them
 *     NAME.workflow.yaml, workflow.yaml, at the top or in a folder
 *     weft.yaml                    settings of this machine; may be left out
 *     profiles/NAME.profile.json   what was measured
 *
 * Every workflow is servable, and every model alone, as a workflow of one task under its
 * own name. Nothing is half-loaded: either all of it is good, or each bad file has said in
 * one line what is wrong. Read once, then only read.
 */
#ifndef DOCUMENT_REPOSITORY_H
#define DOCUMENT_REPOSITORY_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/status.h>

#include "base/arena.h"
#include "document/settings.h"
#include "model/catalogue.h"

enum repository_kind {
    REPOSITORY_BUILTIN, /* Part of Weft itself. */
    REPOSITORY_MODEL,
    REPOSITORY_FUNCTION,
};

/* What stands behind a model or function of the catalogue. */
struct repository_file {
    enum repository_kind kind;
    const char *path;              /* NULL if it is built in, or a model for GPUs alone. */
    uint64_t bytes;                /* Of the file. */
    const char *cuda;              /* MODEL: its folder for GPUs. NULL: there is none. */
    uint64_t cuda_bytes;           /* Of its weights there. */
    uint32_t version;              /* 0: it is built in. */
    char function[NAME_BYTES_MAX]; /* FUNCTION: its name in the shared object. */
    uint32_t batch_max;            /* As the settings say; 0: no limit. */
    int64_t time_ns;               /* FUNCTION: of a call, as the settings say; 0: as of all. */
    bool pinned;
};

struct repository {
    struct arena arena;
    const char *folder;
    struct settings settings;
    struct catalogue *catalogue;
    uint32_t written;              /* Workflows of documents; behind them are the models alone. */
    const char **documents;        /* Their paths, by workflow. */
    struct repository_file *files; /* By model number. */
};

/* Who hears of what. All may be NULL. */
struct repository_listener {
    void (*on_problem)(void *context, const char *message); /* One for every bad file. */
    void (*on_ignored)(void *context, const char *path);    /* Nothing that Weft knows. */
    void *context;
};

/*
 * Read the repository at @folder. On success the caller owns *repository_out.
 *
 * Errors: WEFT_IO, WEFT_INVALID or WEFT_LIMIT; @error is the first problem.
 */
enum weft_status repository_load(
    const char *folder, const struct repository_listener *listener,
    struct repository **repository_out, struct weft_error *error);

/* Release @repository. NULL is allowed. */
void repository_destroy(struct repository *repository);

/* The version that the folder called @name holds; 0: it holds none. */
uint32_t repository_version(const char *name);

/* Whether there is a folder at @path, rather than a file or nothing. */
bool repository_is_folder(const char *path);

/* Whether @workflow is a model alone: what it takes and gives, only its file says. */
static inline bool repository_is_alone(const struct repository *repository, uint32_t workflow)
{
    return workflow >= repository->written;
}

#endif /* DOCUMENT_REPOSITORY_H */
