/*
 * ort.h - ONNX Runtime: the library, loaded at run time, and its one environment.
 *
 * The library is looked for once: where WEFT_ONNXRUNTIME says, else among what ships with the
 * program (shipped.h), else by name where the system keeps libraries. It stays for the life of the
 * process: it does not survive being unloaded. A run uses the thread that asks for it and no other;
 * nothing spins; nothing is reported to anyone. Safe from any thread.
 */
#ifndef ONNX_ORT_H
#define ONNX_ORT_H

#include <weft/status.h>

#include "onnx/ort_abi.h"

enum { ORT_VERSION_BYTES = 32 };

struct ort {
    struct ort_abi api;
    struct OrtEnv *env;
    struct OrtMemoryInfo *memory; /* Of the processor. */
    struct OrtAllocator *names;   /* For names that the library hands out. */
    char version[ORT_VERSION_BYTES];
    char path[512];
};

/*
 * Tell the library, before it is loaded, to report nothing to its makers: versions after the
 * one that is fetched would. Changes the environment: for a time when no thread reads it.
 */
void ort_silence(void);

/*
 * Load the library if it is not loaded yet.
 *
 * Errors: WEFT_NOT_FOUND if there is none; WEFT_INVALID if it is too old or none at all;
 * WEFT_FAILED if it does not start. What failed once fails again.
 */
enum weft_status ort_open(const struct ort **ort_out, struct weft_error *error);

/*
 * What the library @said, as short as it can be: which node it was, and the point of it, which
 * stands behind the name of a file, a function and a condition. One line.
 */
enum { ORT_SAID_BYTES = 176 };
void ort_shorten(const char *said, char out[static ORT_SAID_BYTES]);

/*
 * WEFT_OK if @outcome is NULL. Otherwise release it, and say in @error what the library
 * says, after "@what: ".
 */
enum weft_status ort_check(
    const struct ort *ort, struct OrtStatus *outcome, const char *what, struct weft_error *error);

#endif /* ONNX_ORT_H */
