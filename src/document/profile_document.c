#include "document/profile_document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "document/bytes.h"
#include "document/path.h"

static const struct reader_range ms_range = {1e-6, 86400e3, "more than 0 and at most a day"};
static const struct reader_range spread_range = {0, 86400e3, "between 0 and a day"};
static const struct reader_range share_range = {0, 1024, "between 0 and 1024"};

static const struct reader_range beside_range = {0, 1, "between 0% and 100%"};
static const struct reader_range quantile_range = {0, 1e6, "between 0 and 1000000"};
static const struct reader_range interference_range = {0, 10, "between 0% and 1000%"};

static const char *const figures[] = {"measured", "published", "assumed", NULL};
static const char *const distributions[] = {
    "normal", "exponential", "gamma", "deterministic", NULL,
};

/* What a document is read with. */
struct scope {
    enum profile_scope kind;
    struct catalogue *catalogue;
    struct fleet *fleet;
    struct profile_document *document;
    uint32_t model; /* The one being read; MODEL_NONE: it is only checked. */
};

/* What a document is written with. */
struct writing {
    enum profile_scope kind;
    const struct catalogue *catalogue;
    const struct fleet *fleet;
    const struct profile_document *document;
};

/* What a document is, and what it says of a model on a kind of device. */
struct root {
    uint32_t version;
    struct profile_origin origin;
};

struct device {
    struct profile_point point; /* Where there is no list of them. */
    enum profile_distribution distribution;
    int64_t load_ns;
    int64_t handoff_ns;
    int64_t first_run_ns;
    double interference;
    double quantiles[PROFILE_QUANTILES];
    double load_quantiles[PROFILE_QUANTILES];
    const struct profile_curve *curve; /* Where it is written. */
};

const struct field profile_point_fields[] = {
    {"items", FIELD_COUNT(struct profile_point, items), .range = &reader_items, .fallback = "1",
     .always = true, .help = "how many run together"},
    {"cpu", FIELD_COUNT(struct profile_point, cpu), .range = &share_range, .help = "units of CPU",
     .left_out = "any"},
    {"gpu", FIELD_COUNT(struct profile_point, gpu), .range = &share_range,
     .help = "units of the device", .left_out = "the whole device"},
    {"ms", FIELD_MS(struct profile_point, run_ns), .range = &ms_range, .needed = true,
     .help = "the mean run time"},
    {"sd_ms", FIELD_MS(struct profile_point, sd_ns), .range = &spread_range,
     .help = "its standard deviation"},
    {"beside", FIELD_FRACTION(struct profile_point, slowing.beside), .range = &beside_range,
     .help = "the part of the machine's other processors that was busy meanwhile, on average. "
             "Learnt while serving, as is the next"},
    {"crowded", FIELD_FRACTION(struct profile_point, slowing.crowded), .range = &interference_range,
     .help = "how many threads wanted a processor beyond those that have one, as a part of the "
             "processors, on average"},
    {"interference", FIELD_FRACTION(struct profile_point, interference),
     .range = &interference_range,
     .help =
         "how much longer such a batch takes while others like it hold all of the device, where "
         "the device has any interference",
     .left_out = "that of the device"},
    {0},
};

static void write_points(struct writer *writer, const void *record)
{
    const struct profile_curve *curve = ((const struct device *)record)->curve;

    writer_key(writer, "points");
    writer_open_list(writer, WRITER_INLINE);
    for (uint32_t i = 0; i < curve->point_count; i++) {
        record_write_inline(writer, profile_point_fields, &curve->points[i]);
    }
    writer_close(writer);
}

static void read_scatter(
    struct reader *reader, const struct tree_node *node, const char *key, double *quantiles_out)
{
    uint32_t count = 0;

    reader_list(reader, node);
    if (reader_is_good(reader) && node->child_count != PROFILE_QUANTILES) {
        reader_fail(reader, node, "'%s' wants %d numbers", key, PROFILE_QUANTILES);
    }
    READER_EACH (value, reader, node) {
        quantiles_out[count] = reader_quantity(reader, value, QUANTITY_NUMBER, &quantile_range);
        if (reader_is_good(reader) && count > 0 &&
            quantiles_out[count] < quantiles_out[count - 1]) {
            reader_fail(reader, value, "'%s' must not fall", key);
        }
        count++;
    }
}

static void write_scatter(struct writer *writer, const char *key, const double *quantiles)
{
    if (quantiles[PROFILE_QUANTILES - 1] > 0) {
        writer_numbers(writer, key, quantiles, PROFILE_QUANTILES);
    }
}

static void read_quantiles(struct reader *reader, const struct tree_node *node, void *record)
{
    read_scatter(reader, node, "quantiles", ((struct device *)record)->quantiles);
}

static void write_quantiles(struct writer *writer, const void *record)
{
    write_scatter(writer, "quantiles", ((const struct device *)record)->curve->quantiles);
}

static void read_load_quantiles(struct reader *reader, const struct tree_node *node, void *record)
{
    read_scatter(reader, node, "load_quantiles", ((struct device *)record)->load_quantiles);
}

static void write_load_quantiles(struct writer *writer, const void *record)
{
    write_scatter(writer, "load_quantiles", ((const struct device *)record)->curve->load_quantiles);
}

const struct field profile_device_fields[] = {
    {"ms", FIELD_MS(struct device, point.run_ns), .range = &ms_range,
     .help = "the mean run time of one item on the whole device", .left_out = "or `points`"},
    {"sd_ms", FIELD_MS(struct device, point.sd_ns), .range = &spread_range,
     .help = "its standard deviation"},
    {"points", .write = write_points, .form = "list of mappings",
     .help = "run times by items and shares: see below", .left_out = "or `ms`"},
    {"distribution", FIELD_WORD(struct device, distribution), .words = distributions,
     .help = "how simulated run times scatter around their mean: `normal`, by `sd_ms`, but never "
             "below a tenth of the mean; `exponential`, by the mean alone; `gamma`, by `sd_ms`, "
             "which it requires; `deterministic`, not at all"},
    {"load_ms", FIELD_MS(struct device, load_ns), .range = &spread_range,
     .help = "the time of a load on this kind of device, with the copy",
     .left_out = "`load_fixed_ms`, and the copy of `load` over the bus"},
    {"handoff_ms", FIELD_MS(struct device, handoff_ns), .range = &spread_range,
     .help = "what every batch takes beside its run: to hand it to the engine and to notice its "
             "end. Learnt while serving"},
    {"first_run_ms", FIELD_MS(struct device, first_run_ns), .range = &spread_range,
     .help = "what the first run after a load takes longer than later ones: pages that are not "
             "mapped yet, caches that are cold. Learnt while serving"},
    {"interference", FIELD_FRACTION(struct device, interference), .range = &interference_range,
     .help = "how much longer a batch takes while others hold all of the device, as measured. A "
             "served GPU has the mean of its models; simulated devices have that of their "
             "cluster. Of a processor: while all others of its machine are busy, learnt while "
             "serving; simulated processors that `splits` have it too"},
    {"quantiles", .read = read_quantiles, .write = write_quantiles, .form = "list of 13 numbers",
     .help = "how simulated run times scatter, instead of `distribution`: as parts of their mean, "
             "the least, those that 1/8, 2/8 … 7/8, 15/16, 31/32, 63/64 and 127/128 of all runs do "
             "not exceed, and the end of what is drawn. Learnt while serving",
     .left_out = "`distribution`"},
    {"load_quantiles", .read = read_load_quantiles, .write = write_load_quantiles,
     .form = "list of 13 numbers",
     .help = "how simulated loads scatter: likewise, as parts of what a load takes",
     .left_out = "all take as long"},
    {0},
};

/* The point is checked even if it is of no interest. */
static void add_point(
    struct reader *reader, const struct tree_node *node, uint32_t device,
    enum profile_distribution distribution, const struct profile_point *point)
{
    const struct scope *scope = reader->context;

    if (distribution == DISTRIBUTION_GAMMA && point->sd_ns == 0) {
        reader_fail(reader, node, "a gamma distribution wants 'sd_ms'");
    }
    if (!reader_is_good(reader) || scope->model == MODEL_NONE || device == WORKER_NONE) {
        return;
    }
    const enum weft_status status =
        profile_add_point(scope->document->profile, scope->model, device, point);
    if (status == WEFT_EXISTS) {
        reader_fail(
            reader, node, "a second point for items %u, cpu %u, gpu %u", point->items, point->cpu,
            point->gpu);
    } else if (status != WEFT_OK) {
        reader_fail(reader, node, "this point makes no sense");
    }
}

static uint32_t number_device(
    struct reader *reader, const struct scope *scope, const struct tree_node *node)
{
    char name[NAME_BYTES_MAX] = "";

    reader_key_name(reader, node, name);
    if (!reader_is_good(reader)) {
        return WORKER_NONE;
    }
    for (uint32_t i = 0; i < scope->fleet->device_count; i++) {
        if (strcmp(scope->fleet->devices[i], name) == 0) {
            return i;
        }
    }
    if (scope->kind == PROFILE_KNOWN) {
        return WORKER_NONE;
    }
    const uint32_t device = fleet_device(scope->fleet, name);
    if (device == WORKER_NONE) {
        reader_fail(reader, node, "more than %d kinds of devices", DEVICE_KINDS_MAX);
    }
    return device;
}

static void read_points(
    struct reader *reader, const struct tree_node *points, uint32_t device,
    enum profile_distribution distribution)
{
    reader_list(reader, points);
    reader_filled(reader, points);
    if (points->child_count > PROFILE_POINTS_MAX) {
        reader_fail(reader, points, "more than %d points", PROFILE_POINTS_MAX);
    }
    READER_EACH (node, reader, points) {
        struct profile_point point = {.items = 0};
        record_read(reader, node, profile_point_fields, &point);
        add_point(reader, node, device, distribution, &point);
    }
}

/* Either a list of points, or, in place of it, one point for a single item. */
static void read_device(struct reader *reader, const struct tree_node *node)
{
    const struct scope *scope = reader->context;
    const struct tree_node *points = tree_find(node, "points");
    struct device device = {.point = {.items = 1}};

    record_read(reader, node, profile_device_fields, &device);
    const uint32_t number = number_device(reader, scope, node);
    if (points == NULL) {
        (void)reader_need(reader, node, "ms");
        add_point(reader, node, number, device.distribution, &device.point);
    } else if (tree_find(node, "ms") != NULL || tree_find(node, "sd_ms") != NULL) {
        reader_fail(reader, points, "'points' stands alone, in place of 'ms' and 'sd_ms'");
    } else {
        read_points(reader, points, number, device.distribution);
    }
    if (reader_is_good(reader) && scope->model != MODEL_NONE && number != WORKER_NONE) {
        struct profile_curve *curve =
            &scope->document->profile->models[scope->model].curves[number];
        curve->distribution = device.distribution;
        curve->load_ns = device.load_ns;
        curve->first_run_ns = device.first_run_ns;
        curve->interference = device.interference;
        memcpy(curve->quantiles, device.quantiles, sizeof(curve->quantiles));
        memcpy(curve->load_quantiles, device.load_quantiles, sizeof(curve->load_quantiles));
        profile_set_handoff(scope->document->profile, scope->model, number, device.handoff_ns);
    }
}

static bool has_device(
    const struct writing *writing, const struct profile_model *model, uint32_t device)
{
    bool is_known = writing->kind == PROFILE_ALL;

    for (uint32_t i = 0; i < writing->fleet->worker_count && !is_known; i++) {
        is_known = writing->fleet->workers[i].device == device;
    }
    return is_known && model->curves[device].point_count > 0;
}

static void write_devices(struct writer *writer, const void *record)
{
    const struct writing *writing = writer->context;
    const struct profile_model *model = record;
    bool is_empty = writing->kind != PROFILE_ALL;

    for (uint32_t i = 0; i < writing->fleet->device_count; i++) {
        is_empty = is_empty && !has_device(writing, model, i);
    }
    if (is_empty) {
        return;
    }
    writer_key(writer, "devices");
    writer_open_mapping(writer, WRITER_LINES);
    for (uint32_t i = 0; i < writing->fleet->device_count; i++) {
        const struct profile_curve *curve = &model->curves[i];
        const struct device device = {
            .distribution = curve->distribution,
            .load_ns = curve->load_ns,
            .handoff_ns = curve->handoff_ns,
            .first_run_ns = curve->first_run_ns,
            .interference = curve->interference,
            .curve = curve,
        };
        if (has_device(writing, model, i)) {
            writer_key(writer, writing->fleet->devices[i]);
            record_write_inline(writer, profile_device_fields, &device);
        }
    }
    writer_close(writer);
}

/* Load and resident are written always: one that is left out is read as the other. */
const struct field profile_model_fields[] = {
    {"load", FIELD_BYTES(struct profile_model, load_bytes), .range = &reader_any_bytes,
     .always = true, .help = "bytes that are copied to the device; a function has none",
     .left_out = "as `resident`"},
    {"resident", FIELD_BYTES(struct profile_model, resident_bytes), .range = &reader_any_bytes,
     .always = true, .help = "bytes that stay there", .left_out = "as `load`"},
    {"workspace", FIELD_BYTES(struct profile_model, workspace_bytes), .range = &reader_any_bytes,
     .help = "bytes that a running batch needs on top"},
    {"workspace_per_item", FIELD_BYTES(struct profile_model, workspace_bytes_per_item),
     .range = &reader_edge_bytes, .help = "the same for each of its items"},
    {"load_fixed_ms", FIELD_MS(struct profile_model, load_fixed_ns), .range = &spread_range,
     .help = "the time of a load beyond the copy"},
    {"pinned", FIELD_FLAG(struct profile_model, pinned),
     .help = "`true`: where it is resident it stays as long as anything else can leave"},
    {"alone", FIELD_FLAG(struct profile_model, alone),
     .help = "`true`: tasks of a batch do not share a run of it ([ITEMS](ITEMS.md)). As it was "
             "measured; it changes no decision"},
    {"devices", .write = write_devices, .form = "mapping from kinds of devices to mappings",
     .help = "run times: see below",
     .left_out = "none: tasks use it only as weights of a function"},
    {0},
};

static void read_model(struct reader *reader, const struct tree_node *node)
{
    struct scope *scope = reader->context;
    struct profile_model known = {0};
    const struct tree_node *devices = tree_find(node, "devices");

    const uint32_t mark = reader_mark(reader, node);

    scope->model = catalogue_find_model(scope->catalogue, node->key);
    record_read(reader, node, profile_model_fields, &known);
    reader_go_on(reader);
    /* Most models stay as they were copied. */
    if (tree_find(node, "resident") == NULL) {
        known.resident_bytes = known.load_bytes;
    } else if (tree_find(node, "load") == NULL) {
        known.load_bytes = known.resident_bytes;
    }
    if (scope->model != MODEL_NONE) {
        scope->document->profile->models[scope->model] = known;
        model_set_add(&scope->document->listed, scope->model);
    }
    reader_any_mapping(reader, devices);
    READER_EACH (device, reader, devices) {
        read_device(reader, device);
    }
    reader_settle(reader, mark);
}

/* Number every model first: a profile is made for as many as there are. */
static void number_models(struct reader *reader, const struct tree_node *models)
{
    const struct scope *scope = reader->context;
    char name[NAME_BYTES_MAX] = "";

    for (const struct tree_node *node = models->first; node != NULL; node = node->next) {
        reader_key_name(reader, node, name);
        if (!reader_is_good(reader)) {
            return;
        }
        if (scope->kind == PROFILE_ALL && catalogue_model(scope->catalogue, name) == MODEL_NONE) {
            reader_fail(reader, node, "more than %d models and functions", MODELS_MAX);
        }
    }
}

static void read_models(struct reader *reader, const struct tree_node *models, void *record)
{
    const struct scope *scope = reader->context;

    (void)record;
    reader_any_mapping(reader, models);
    number_models(reader, models);
    if (!reader_is_good(reader)) {
        return;
    }
    scope->document->profile = profile_create(scope->catalogue->model_count);
    READER_EACH (model, reader, models) {
        read_model(reader, model);
    }
}

static void write_models(struct writer *writer, const void *record)
{
    const struct writing *writing = writer->context;

    (void)record;
    writer_key(writer, "models");
    writer_open_mapping(writer, WRITER_LINES);
    for (uint32_t i = 0; i < writing->document->profile->model_count; i++) {
        if (model_set_has(&writing->document->listed, i)) {
            writer_key(writer, writing->catalogue->models[i]);
            writer_open_mapping(writer, WRITER_LINES);
            record_write(writer, profile_model_fields, &writing->document->profile->models[i]);
            writer_close(writer);
        }
    }
    writer_close(writer);
}

const struct field profile_fields[] = {
    {"weft_profile", FIELD_COUNT(struct root, version), .needed = true,
     .range = FIELD_RANGE(PROFILE_VERSION, PROFILE_VERSION, "1, the only version known"),
     .help = "the version of the form"},
    {"figures", FIELD_WORD(struct root, origin.figures), .words = figures, .always = true,
     .help = "where they come from; `published` requires a `source`"},
    {"source", FIELD_TEXT(struct root, origin.source), .help = "who published them, and where"},
    {"models", .read = read_models, .write = write_models, .needed = true,
     .form = "mapping from names to mappings", .help = "models and functions: see below"},
    {0},
};

enum weft_status profile_read(
    const struct tree_node *node, enum profile_scope scope, struct catalogue *catalogue,
    struct fleet *fleet, struct profile_document *document_out, struct weft_error *error)
{
    struct profile_document document = {.profile = NULL};
    struct scope all = {
        .kind = scope,
        .catalogue = catalogue,
        .fleet = fleet,
        .document = &document,
    };
    struct reader reader = {.error = error, .context = &all};
    struct root root = {.version = 0};

    record_read(&reader, node, profile_fields, &root);
    if (root.origin.figures == FIGURES_PUBLISHED && root.origin.source[0] == '\0') {
        reader_fail(&reader, tree_find(node, "figures"), "published figures need a 'source'");
    }
    if (!reader_is_good(&reader)) {
        profile_destroy(document.profile);
        return reader.status;
    }
    document.origin = root.origin;
    *document_out = document;
    return WEFT_OK;
}

void profile_write(
    struct writer *writer, enum profile_scope scope, const struct catalogue *catalogue,
    const struct fleet *fleet, const struct profile_document *document)
{
    const struct writing all = {
        .kind = scope, .catalogue = catalogue, .fleet = fleet, .document = document};
    const struct root root = {.version = PROFILE_VERSION, .origin = document->origin};
    const void *context = writer->context;

    writer->context = &all;
    writer_open_mapping(writer, WRITER_LINES);
    record_write(writer, profile_fields, &root);
    writer_close(writer);
    writer->context = context;
}

static bool is_utf8(const char *text)
{
    return bytes_check_utf8("text", text, strlen(text), /* error */ NULL) == WEFT_OK;
}

enum weft_status profile_print(
    FILE *file, const struct catalogue *catalogue, const struct fleet *fleet,
    const struct profile_document *document)
{
    struct writer writer;

    if (!is_utf8(document->origin.source)) {
        return WEFT_INVALID;
    }
    writer_init(&writer, file, WRITER_JSON_SPREAD);
    profile_write(&writer, PROFILE_ALL, catalogue, fleet, document);
    return WEFT_OK;
}

/*
 * Beside its place first, then into it: a reader sees the old document or the new one, and several
 * processes may write it.
 */
enum weft_status profile_save(
    const char *path, const struct catalogue *catalogue, const struct fleet *fleet,
    const struct profile_document *document, struct weft_error *error)
{
    char beside[DOCUMENT_PATH_BYTES_MAX];
    const int length = snprintf(beside, sizeof(beside), "%s.%ld.new", path, (long)getpid());

    if (length < 0 || (size_t)length >= sizeof(beside)) {
        return error_set(error, WEFT_IO, "%s: the path is too long", path);
    }
    if (!is_utf8(document->origin.source)) {
        return error_set(error, WEFT_INVALID, "%s: the source is not UTF-8", path);
    }
    FILE *file = fopen(beside, "wb");
    if (file == NULL) {
        return error_set(error, WEFT_IO, "%s: cannot be opened: %s", path, strerror(errno));
    }
    (void)profile_print(file, catalogue, fleet, document); /* Its source has been looked at. */
    const bool is_written = ferror(file) == 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;
    const bool is_closed = fclose(file) == 0;
    if (!is_written || !is_closed || rename(beside, path) != 0) {
        const int cause = errno;
        (void)remove(beside); /* Half a document is of no use. */
        return error_set(error, WEFT_IO, "%s: cannot be written: %s", path, strerror(cause));
    }
    return WEFT_OK;
}
