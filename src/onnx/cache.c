#include "onnx/cache.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "onnx/cache_trim.h"

enum { FORMAT = 2 }; /* Of what is kept: grows when files of an earlier Weft cannot be used. */

bool onnx_cache_default_folder(char out[static ONNX_CACHE_PATH_BYTES])
{
    const char *own = getenv("WEFT_CACHE");
    const char *caches = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int length = -1;
    if (own != NULL && *own != '\0') {
        length = snprintf(out, ONNX_CACHE_PATH_BYTES, "%s", own);
    } else if (caches != NULL && *caches != '\0') {
        length = snprintf(out, ONNX_CACHE_PATH_BYTES, "%s/weft", caches);
    } else if (home != NULL && *home != '\0') {
        length = snprintf(out, ONNX_CACHE_PATH_BYTES, "%s/.cache/weft", home);
    }
    return length > 0 && length < ONNX_CACHE_PATH_BYTES;
}

/* What the processor can do, hashed: code was chosen by it when the model was written. */
static uint64_t hash_processor(void)
{
    char line[8192];
    uint64_t hash = 0;
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (file == NULL) {
        return 0;
    }
    while (fgets(line, sizeof(line), file) != NULL && hash == 0) {
        if (strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0) {
            hash = hash_text(line);
        }
    }
    (void)fclose(file); /* Nothing was written to it. */
    return hash;
}

/* Make @folder and those above it. False if in the end it is not there, or not ours alone. */
static bool make_folder(const char *folder)
{
    char path[ONNX_CACHE_PATH_BYTES];
    struct stat stat_of;
    if (snprintf(path, sizeof(path), "%s", folder) >= (int)sizeof(path)) {
        return false;
    }
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700); /* The last one decides. */
        *slash = '/';
    }
    (void)mkdir(path, 0700); /* Looked at below. */
    /* What lies there is run: no other user may have put it there. */
    return stat(path, &stat_of) == 0 && S_ISDIR(stat_of.st_mode) && stat_of.st_uid == geteuid() &&
           (stat_of.st_mode & (S_IWGRP | S_IWOTH)) == 0 && access(path, W_OK) == 0;
}

static enum weft_status write_model(
    const struct ort *ort, const char *path, const char *to, struct weft_error *error)
{
    const struct ort_abi *api = &ort->api;
    struct OrtSessionOptions *options = NULL;
    struct OrtSession *session = NULL;
    struct OrtStatus *outcome = api->CreateSessionOptions(&options);
    if (outcome == NULL) {
        outcome = api->SetSessionGraphOptimizationLevel(options, ORT_OPTIMISE_ALL);
    }
    if (outcome == NULL) {
        outcome = api->DisablePerSessionThreads(options);
    }
    if (outcome == NULL) {
        outcome = api->SetOptimizedModelFilePath(options, to);
    }
    if (outcome == NULL) {
        outcome = api->AddSessionConfigEntry(options, "session.save_model_format", "ORT");
    }
    if (outcome == NULL) {
        outcome = api->AddSessionConfigEntry(options, "session.disable_prepacking", "1");
    }
    if (outcome == NULL) {
        outcome = api->CreateSession(ort->env, path, options, &session);
    }
    const enum weft_status status = ort_check(ort, outcome, path, error);
    if (session != NULL) {
        api->ReleaseSession(session);
    }
    if (options != NULL) {
        api->ReleaseSessionOptions(options);
    }
    return status;
}

enum weft_status onnx_cache_path(
    const struct ort *ort, const char *folder, const char *path, const struct onnx_digest *digest,
    char out[static ONNX_CACHE_PATH_BYTES], struct weft_error *error)
{
    static atomic_uint tries; /* Two threads may make the same file at once. */
    char made[ONNX_CACHE_PATH_BYTES];
    if (!make_folder(folder)) {
        return error_set(error, WEFT_REFUSED, "%s cannot be kept in %s", path, folder);
    }
    const uint64_t processor = hash_mix(hash_processor(), FORMAT);
    const int length = snprintf(
        out, ONNX_CACHE_PATH_BYTES, "%s/%016llx%016llx-%s-%016llx.ort", folder,
        (unsigned long long)digest->hash[0], (unsigned long long)digest->hash[1], ort->version,
        (unsigned long long)processor);
    const int made_length = snprintf(
        made, sizeof(made), "%s/.%lld-%u.ort", folder, (long long)getpid(),
        atomic_fetch_add(&tries, 1));
    if (length >= ONNX_CACHE_PATH_BYTES || made_length >= (int)sizeof(made)) {
        return error_set(error, WEFT_REFUSED, "%s: the path is too long", folder);
    }
    if (access(out, R_OK) == 0) {
        onnx_cache_touch(out);
        return WEFT_OK;
    }
    const enum weft_status status = write_model(ort, path, made, error);
    if (status != WEFT_OK) {
        (void)unlink(made); /* It may not be there. */
        return status;
    }
    if (rename(made, out) != 0) {
        (void)unlink(made); /* The same. */
        return error_set(error, WEFT_REFUSED, "%s: %s", out, strerror(errno));
    }
    onnx_cache_trim(folder, ONNX_CACHE_BYTES_MAX, ONNX_CACHE_UNUSED_S);
    return WEFT_OK;
}
