#include "served.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/onnx_writer.h"

enum { LAYERS = 8, PATH_BYTES = 256 };

static void die(const char *cause)
{
    (void)fprintf(stderr, "%s\n", cause);
    exit(1);
}

static char *path_of(const struct served *served, const char *name, char out[PATH_BYTES])
{
    (void)snprintf(out, PATH_BYTES, "%s/%s", served->folder, name);
    return out;
}

static void make_folder(const struct served *served, const char *name)
{
    char path[PATH_BYTES];
    if (mkdir(path_of(served, name, path), 0700) != 0) {
        die("no folder can be made");
    }
}

static void put(const struct served *served, const char *name, const char *text)
{
    char path[PATH_BYTES];
    FILE *file = fopen(path_of(served, name, path), "wb");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        die("a file cannot be written");
    }
}

static void need_library(void)
{
    const struct ort *ort = NULL;
    struct weft_error error = {.status = WEFT_OK};
    if (access("build/deps/onnxruntime/libonnxruntime.so", R_OK) == 0) {
        (void)setenv(
            "WEFT_ONNXRUNTIME", "build/deps/onnxruntime/libonnxruntime.so", /* overwrite */ 0);
    }
    if (ort_open(&ort, &error) != WEFT_OK) {
        (void)printf("skipped: %s\n", error.message);
        exit(0);
    }
}

void served_make(
    struct served *served, const uint32_t *widths, uint32_t count, const char *const *documents)
{
    need_library();
    *served = (struct served){.folder = "/tmp/weft-bench-XXXXXX"};
    if (mkdtemp(served->folder) == NULL) {
        die("no folder can be made");
    }
    char path[PATH_BYTES];
    (void)setenv("WEFT_CACHE", path_of(served, ".cache", path), /* overwrite */ 1);
    for (uint32_t i = 0; i < count; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "%c", (char)('a' + (int)i));
        make_folder(served, name);
        (void)snprintf(name, sizeof(name), "%c/1", (char)('a' + (int)i));
        make_folder(served, name);
        (void)snprintf(name, sizeof(name), "%c/1/model.onnx", (char)('a' + (int)i));
        onnx_write_mlp(path_of(served, name, path), widths[i], LAYERS);
    }
    for (; documents[0] != NULL; documents += 2) {
        put(served, documents[0], documents[1]);
    }
}

void served_open(struct served *served)
{
    struct weft_error error = {.status = WEFT_OK};
    if (repository_load(served->folder, NULL, &served->repository, &error) != WEFT_OK ||
        local_repository_open(
            &served->local, served->repository, /* nursery */ NULL, /* is_silent */ true,
            /* log */ NULL, &error) != WEFT_OK) {
        die(error.message);
    }
    struct scenario *scenario = &served->scenario;
    scenario->fleet = served->local.measured.fleet;
    scenario->catalogue = served->repository->catalogue;
    scenario->profile = served->local.measured.document.profile;
    scenario->rows.load_ns = served->repository->settings.rows.load_ns;
    scenario->rows.cache_ns = served->repository->settings.rows.cache_ns;
}

void served_close(struct served *served)
{
    local_repository_close(&served->local);
    repository_destroy(served->repository);
}

static void remove_all(const char *path)
{
    char command[PATH_BYTES + 16];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", path);
    if (system(command) != 0) {
        die("a folder cannot be removed");
    }
}

void served_forget(const struct served *served)
{
    char path[PATH_BYTES];
    remove_all(path_of(served, "profiles", path));
}

void served_remove(const struct served *served)
{
    remove_all(served->folder);
}

static void parse(const char *policy, struct policy_set *policies)
{
    struct weft_error error = {.status = WEFT_OK};
    if (policy_set_parse(policy, policies, &error) != WEFT_OK) {
        die(error.message);
    }
}

struct report served_run(struct served *served, const char *policy, uint64_t seed, double seconds)
{
    struct policy_set policies;
    struct service_result result;
    struct weft_error error = {.status = WEFT_OK};
    const struct service_parts parts = local_repository_parts(&served->local);
    parse(policy, &policies);
    const struct service_options options = {
        .scenario = &served->scenario,
        .policies = &policies,
        .parts = &parts,
        .title = "",
        .seed = seed,
        .seconds = (uint64_t)seconds,
        .plays = true,
        .silent = true,
    };
    if (service_run(&options, &result, &error) != WEFT_OK) {
        die(error.message);
    }
    if (result.report.completed != result.arrived) {
        die("not every request was answered well");
    }
    return result.report;
}

struct report served_predict(
    struct served *served, const char *policy, uint64_t seed, uint64_t jobs)
{
    struct policy_set policies;
    struct run_result result;
    parse(policy, &policies);
    const struct run_options options = {.policies = &policies, .seed = seed};
    served->scenario.jobs = jobs;
    if (!run_simulate(&served->scenario, &options, &result)) {
        die("interrupted");
    }
    return result.report;
}
