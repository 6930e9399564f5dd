/*
 * cache.h - models in the form that loads fastest, made once and kept in a folder.
 *
 * ONNX Runtime can write a model, optimised for the processor at hand, in a format that is
 * mapped instead of read: its weights stay in the page cache and cost neither time nor
 * private memory. Such a file is good for one version of the library on one kind of
 * processor, so its name is made of both and of the model's contents. Safe from any thread
 * and any process: a file appears complete or not at all.
 */
#ifndef ONNX_CACHE_H
#define ONNX_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "onnx/ort.h"

enum { ONNX_CACHE_PATH_BYTES = 4096 };

/* What the contents of a file hash to, with the files beside it if it names any for its weights. */
struct onnx_digest {
    uint64_t hash[2];
    uint64_t bytes;     /* 0: nothing is known. */
    bool has_external;  /* It names files beside it. */
    uint64_t external;  /* What those were, but for their contents. */
    int64_t changed_ns; /* When the file was changed. */
    uint64_t inode;     /* Of the file. */
};

/*
 * Bring @digest up to date: the file is read only if it has changed since.
 *
 * Errors: WEFT_IO if @path cannot be read.
 */
enum weft_status onnx_digest_file(
    const char *path, struct onnx_digest *digest, struct weft_error *error);

/*
 * The folder to use if none is named: WEFT_CACHE, or `weft` where the user's caches are.
 * False if the environment names none.
 */
bool onnx_cache_default_folder(char out[static ONNX_CACHE_PATH_BYTES]);

/*
 * The path of model @path, whose contents are @digest, in the mapped format, in @folder. It
 * is made now if it is not there, which takes longer than loading the model as it is.
 *
 * Weights in other files come along: what is mapped later is ours, and cannot be cut short.
 *
 * Errors: WEFT_REFUSED if there is no place for it; WEFT_FAILED if the library cannot write it,
 * more than 2 GB of weights for one. After either, load it as it is.
 */
enum weft_status onnx_cache_path(
    const struct ort *ort, const char *folder, const char *path, const struct onnx_digest *digest,
    char out[static ONNX_CACHE_PATH_BYTES], struct weft_error *error);

#endif /* ONNX_CACHE_H */
