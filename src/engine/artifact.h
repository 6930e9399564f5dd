/*
 * artifact.h - what stands behind the models of a catalogue: files that engines run.
 *
 * A repository fills the table once, before engines are made; from then on it is only
 * read, by any thread.
 */
#ifndef ENGINE_ARTIFACT_H
#define ENGINE_ARTIFACT_H

#include <stdint.h>

#include "base/limits.h"

enum artifact_kind {
    ARTIFACT_NONE,     /* There is no file: only an engine that pretends can run it, or a GPU. */
    ARTIFACT_ONNX,     /* An ONNX file for ONNX Runtime. */
    ARTIFACT_FUNCTION, /* A C function in a shared object: include/weft/function.h. */
};

struct artifact {
    enum artifact_kind kind;
    char *path;                    /* Of the file; owned by the table, like the next. */
    char *cuda;                    /* Folder with packages for GPUs: cuda_manifest.h. NULL: none. */
    int64_t cuda_since_ns;         /* What changed there later is compared again. 0: never. */
    char function[NAME_BYTES_MAX]; /* FUNCTION: its name in the shared object. */
    int64_t run_ns_max;            /* FUNCTION: of a call. 0: as struct function_limits says. */
    uint32_t batch_max; /* ONNX: items of one run at most. 0: no limit, 1: never batched. */
    uint64_t bytes;     /* ONNX: what it occupied when it was loaded alone. 0: unknown. */
};

/* By model number of the catalogue. */
struct artifacts {
    uint32_t count;
    struct artifact *items;
};

#endif /* ENGINE_ARTIFACT_H */
