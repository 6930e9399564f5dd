#include "service/local_notes.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onnx/cache.h"
#include "service/ports_check.h"

static void on_model(
    void *context, const char *name, uint32_t index, uint32_t count, bool is_measured)
{
    struct local_notes *notes = context;
    const struct log_field fields[] = {
        log_text("model", name),
        log_number("number", (int64_t)index + 1),
        log_number("of", count),
    };
    if (!notes->is_silent) {
        notes->progress.label = "measuring";
        notes->progress.item = name;
        progress_show(&notes->progress, index, count);
    }
    if (is_measured && !notes->progress.is_watched) {
        log_say(notes->log, LOG_INFO, "measuring", 3, fields);
    }
}

/* What only fails on made-up inputs is nothing to worry about. */
static void on_failed(
    void *context, const char *name, const char *cause, enum measure_failure failure)
{
    struct local_notes *notes = context;
    const struct log_field fields[] = {log_text("model", name), log_text("cause", cause)};
    progress_clear(&notes->progress);
    switch (failure) {
    case MEASURE_LATER:
        log_say(notes->log, LOG_INFO, "model is measured when it first runs", 1, fields);
        return;
    case MEASURE_NOT_ON_GPUS:
        log_say(notes->log, LOG_WARN, "model runs on processors alone", 2, fields);
        return;
    case MEASURE_UNAVAILABLE:
        log_say(notes->log, LOG_ERROR, "model unavailable", 2, fields);
        return;
    }
}

/* Such a model is slower than others under load; nothing is wrong. */
static void on_alone(void *context, const char *name, const char *cause)
{
    struct local_notes *notes = context;
    const struct log_field fields[] = {log_text("model", name), log_text("cause", cause)};
    progress_clear(&notes->progress);
    log_say(notes->log, LOG_INFO, "model is never batched", 2, fields);
}

static void on_misfit(void *context, const struct weft_error *error)
{
    const struct log_field field = log_text("cause", error->message);
    log_say(context, LOG_WARN, "workflow does not fit its models", 1, &field);
}

void local_notes_workflows(struct log *log, const struct measured *measured)
{
    for (uint32_t i = 0; i < measured->repository->written; i++) {
        struct tree_listener listener = {.on_error = on_misfit, .context = log};
        ports_check(measured, i, &listener);
    }
}

void local_notes_unsaved(struct log *log, const char *cause)
{
    const struct log_field field = log_text("cause", cause);
    log_say(log, LOG_WARN, "measurements are not kept", 1, &field);
}

static void on_unsaved(void *context, const char *cause)
{
    struct local_notes *notes = context;
    progress_clear(&notes->progress);
    local_notes_unsaved(notes->log, cause);
}

void local_notes_start(struct local_notes *notes, struct measure_request *request)
{
    progress_start(&notes->progress, "");
    request->on_model = on_model;
    request->on_failed = on_failed;
    request->on_alone = on_alone;
    request->on_unsaved = on_unsaved;
    request->context = notes;
}

void local_notes_read(void *context, const char *name, uint32_t index, uint32_t count)
{
    struct local_notes *notes = context;
    const struct log_field fields[] = {log_number("of", count)};
    if (!notes->is_silent) {
        notes->progress.label = "reading";
        notes->progress.item = name;
        progress_show(&notes->progress, index, count);
    }
    if (index == 0 && !notes->progress.is_watched) {
        log_say(notes->log, LOG_INFO, "reading models", 1, fields);
    }
}

void local_notes_end(struct local_notes *notes)
{
    progress_clear(&notes->progress);
}

void local_notes_cache(struct log *log)
{
    char path[ONNX_CACHE_PATH_BYTES];
    struct log_field fields[2] = {log_text("folder", ""), log_text("cause", "")};
    if (!onnx_cache_default_folder(path)) {
        fields[1].text = "no home folder is known; set WEFT_CACHE to a folder";
        log_say(log, LOG_WARN, "models are not cached", 2, fields);
        return;
    }
    char folder[ONNX_CACHE_PATH_BYTES];
    memcpy(folder, path, sizeof(folder));
    fields[0].text = path;
    /* What is not there yet is made, in the first folder above that is. */
    for (char *slash = strrchr(folder, '/');
         access(folder, W_OK | X_OK) != 0 && errno == ENOENT && slash != NULL;
         slash = strrchr(folder, '/')) {
        slash[slash == folder ? 1 : 0] = '\0';
        if (slash == folder) {
            break;
        }
    }
    struct stat found;
    if (stat(folder, &found) == 0 && !S_ISDIR(found.st_mode)) {
        fields[1].text = strerror(ENOTDIR);
    } else if (access(folder, W_OK | X_OK) != 0) {
        fields[1].text = strerror(errno);
    } else {
        return;
    }
    log_say(log, LOG_WARN, "models are not cached", 2, fields);
}
