#include "document/profile_document.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/assert.h"
#include "base/error.h"

enum {
    PATH_BYTES_MAX = 4096,
    /* A day in nanoseconds has 14 digits; 17 would write 0.6 as 0.59999999999999998. */
    DIGITS = 15,
};

static const char *figures_text(enum profile_figures figures)
{
    switch (figures) {
    case FIGURES_MEASURED:
        return "measured";
    case FIGURES_PUBLISHED:
        return "published";
    case FIGURES_ASSUMED:
        return "assumed";
    }
    return "assumed";
}

static json_t *ms_value(int64_t ns)
{
    return ns % 1000000 == 0 ? json_integer(ns / 1000000) : json_real((double)ns / 1e6);
}

/* Fails only without memory, and then the program stops: see base/memory.h. */
static void put(json_t *object, const char *key, json_t *value)
{
    const int failed = json_object_set_new(object, key, value);
    ASSERT(failed == 0);
}

/* What is zero is not written. */
static void put_count(json_t *object, const char *key, uint64_t value)
{
    if (value != 0) {
        put(object, key, json_integer((json_int_t)value));
    }
}

static void put_ms(json_t *object, const char *key, int64_t ns)
{
    if (ns != 0) {
        put(object, key, ms_value(ns));
    }
}

static json_t *point_value(const struct profile_point *point)
{
    json_t *object = json_object();

    put_count(object, "items", point->items);
    put_count(object, "cpu", point->cpu);
    put_count(object, "gpu", point->gpu);
    put_ms(object, "ms", point->run_ns);
    put_ms(object, "sd_ms", point->sd_ns);
    return object;
}

static const char *distribution_text(enum profile_distribution distribution)
{
    switch (distribution) {
    case DISTRIBUTION_NORMAL:
        return "normal";
    case DISTRIBUTION_EXPONENTIAL:
        return "exponential";
    case DISTRIBUTION_GAMMA:
        return "gamma";
    case DISTRIBUTION_DETERMINISTIC:
        return "deterministic";
    }
    return "normal";
}

static json_t *curve_value(const struct profile_curve *curve)
{
    json_t *object = json_object();
    json_t *points = json_array();

    if (curve->distribution != DISTRIBUTION_NORMAL) {
        put(object, "distribution", json_string(distribution_text(curve->distribution)));
    }
    for (uint32_t i = 0; i < curve->point_count; i++) {
        const int failed = json_array_append_new(points, point_value(&curve->points[i]));
        ASSERT(failed == 0);
    }
    put(object, "points", points);
    return object;
}

static json_t *model_value(const struct profile_model *model, const struct fleet *fleet)
{
    json_t *object = json_object();
    json_t *devices = json_object();

    /* Both are written always: one that is left out is read as equal to the other. */
    put(object, "load", json_integer((json_int_t)model->load_bytes));
    put(object, "resident", json_integer((json_int_t)model->resident_bytes));
    put_count(object, "workspace", model->workspace_bytes);
    put_count(object, "workspace_per_item", model->workspace_bytes_per_item);
    put_ms(object, "load_fixed_ms", model->load_fixed_ns);
    if (model->pinned) {
        put(object, "pinned", json_true());
    }
    for (uint32_t i = 0; i < fleet->device_count; i++) {
        if (model->curves[i].point_count > 0) {
            put(devices, fleet->devices[i], curve_value(&model->curves[i]));
        }
    }
    put(object, "devices", devices);
    return object;
}

/* NULL if it cannot be written as UTF-8, which the source may not be. */
static char *document_text(
    const struct catalogue *catalogue, const struct fleet *fleet,
    const struct profile_document *document)
{
    json_t *models = json_object();
    json_t *root = json_pack(
        "{s:i, s:s}", "weft_profile", (int)PROFILE_VERSION, "figures",
        figures_text(document->origin.figures));

    if (document->origin.source[0] != '\0') {
        put(root, "source", json_string_nocheck(document->origin.source));
    }
    for (uint32_t i = 0; i < document->profile->model_count; i++) {
        if (model_set_has(&document->listed, i)) {
            put(models, catalogue->models[i], model_value(&document->profile->models[i], fleet));
        }
    }
    put(root, "models", models);
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(DIGITS));
    json_decref(root);
    return text;
}

enum weft_status profile_write(
    FILE *file, const struct catalogue *catalogue, const struct fleet *fleet,
    const struct profile_document *document)
{
    char *text = document_text(catalogue, fleet, document);

    if (text == NULL) {
        return WEFT_INVALID;
    }
    (void)fprintf(file, "%s\n", text); /* Whether that went well, the file knows. */
    free(text);
    return WEFT_OK;
}

/* Beside its place first, then into it: a reader sees the old document or the new one. */
static enum weft_status write_text(const char *path, const char *text, struct weft_error *error)
{
    char beside[PATH_BYTES_MAX];
    const int length = snprintf(beside, sizeof(beside), "%s.new", path);

    if (length < 0 || (size_t)length >= sizeof(beside)) {
        return error_set(error, WEFT_IO, "%s: the path is too long", path);
    }
    FILE *file = fopen(beside, "wb");
    if (file == NULL) {
        return error_set(error, WEFT_IO, "%s: cannot be opened: %s", beside, strerror(errno));
    }
    const bool is_written = fputs(text, file) >= 0 && fputc('\n', file) >= 0 && fflush(file) == 0 &&
                            fsync(fileno(file)) == 0;
    const bool is_closed = fclose(file) == 0;
    if (!is_written || !is_closed || rename(beside, path) != 0) {
        const int cause = errno;
        (void)remove(beside); /* Half a document is of no use. */
        return error_set(error, WEFT_IO, "%s: cannot be written: %s", path, strerror(cause));
    }
    return WEFT_OK;
}

enum weft_status profile_save(
    const char *path, const struct catalogue *catalogue, const struct fleet *fleet,
    const struct profile_document *document, struct weft_error *error)
{
    char *text = document_text(catalogue, fleet, document);

    if (text == NULL) {
        return error_set(error, WEFT_INVALID, "%s: the source is not UTF-8", path);
    }
    const enum weft_status status = write_text(path, text, error);
    free(text);
    return status;
}
