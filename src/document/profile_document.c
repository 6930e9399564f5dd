#include "document/profile_document.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "document/reader.h"

static const struct reader_range version_range = {
    PROFILE_VERSION,
    PROFILE_VERSION,
    "1, the only version known",
};
static const struct reader_range ms_range = {1e-6, 86400e3, "more than 0 and at most a day"};
static const struct reader_range spread_range = {0, 86400e3, "between 0 and a day"};
static const struct reader_range share_range = {0, 1024, "between 0 and 1024"};

/* Everything that the models of a document are read with. */
struct scope {
    struct reader *reader;
    enum profile_scope kind;
    struct catalogue *catalogue;
    struct fleet *fleet;
    struct profile_document *document;
};

/* Whose points are read. */
struct curve {
    uint32_t model;  /* MODEL_NONE, or */
    uint32_t device; /* WORKER_NONE: of no interest here. */
    enum profile_distribution distribution;
};

static bool is_wanted(const struct curve *curve)
{
    return curve->model != MODEL_NONE && curve->device != WORKER_NONE;
}

static int64_t read_ms(
    struct reader *reader, const struct tree_node *node, const struct reader_range *range)
{
    const double ms = reader_quantity(reader, node, QUANTITY_NUMBER, range);
    return (int64_t)floor(ms * 1e6 + 0.5);
}

static uint64_t read_bytes(
    struct reader *reader, const struct tree_node *model, const char *key,
    const struct reader_range *range)
{
    return (uint64_t)reader_quantity(reader, tree_find(model, key), QUANTITY_BYTES, range);
}

static void read_point(
    struct reader *reader, const struct tree_node *node, struct profile_point *point_out)
{
    const struct tree_node *items = tree_find(node, "items");

    point_out->items = 1;
    if (items != NULL) {
        point_out->items = (uint32_t)reader_quantity(reader, items, QUANTITY_COUNT, &reader_items);
    }
    point_out->cpu =
        (uint32_t)reader_quantity(reader, tree_find(node, "cpu"), QUANTITY_COUNT, &share_range);
    point_out->gpu =
        (uint32_t)reader_quantity(reader, tree_find(node, "gpu"), QUANTITY_COUNT, &share_range);
    point_out->run_ns = read_ms(reader, reader_need(reader, node, "ms"), &ms_range);
    point_out->sd_ns = read_ms(reader, tree_find(node, "sd_ms"), &spread_range);
}

/* The point is checked even if nobody wants it. */
static void add_point(
    const struct scope *scope, const struct tree_node *node, const struct curve *curve)
{
    struct profile_point point = {0};

    read_point(scope->reader, node, &point);
    if (curve->distribution == DISTRIBUTION_GAMMA && point.sd_ns == 0) {
        reader_fail(scope->reader, node, "a gamma distribution wants 'sd_ms'");
    }
    if (!reader_is_good(scope->reader) || !is_wanted(curve)) {
        return;
    }
    const enum weft_status status =
        profile_add_point(scope->document->profile, curve->model, curve->device, &point);
    if (status == WEFT_EXISTS) {
        reader_fail(
            scope->reader, node, "a second point for items %u, cpu %u, gpu %u", point.items,
            point.cpu, point.gpu);
    } else if (status != WEFT_OK) {
        reader_fail(scope->reader, node, "this point makes no sense");
    }
}

static uint32_t number_device(const struct scope *scope, const struct tree_node *node)
{
    char name[NAME_BYTES_MAX] = "";

    reader_key_name(scope->reader, node, name);
    if (!reader_is_good(scope->reader)) {
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
        reader_fail(scope->reader, node, "more than %d kinds of devices", DEVICE_KINDS_MAX);
    }
    return device;
}

static void read_points(
    const struct scope *scope, const struct tree_node *points, const struct curve *curve)
{
    static const char *const keys[] = {"items", "cpu", "gpu", "ms", "sd_ms", NULL};
    struct reader *reader = scope->reader;

    reader_list(reader, points);
    if (points->child_count == 0) {
        reader_fail(reader, points, "'points' is empty");
    }
    if (points->child_count > PROFILE_POINTS_MAX) {
        reader_fail(reader, points, "more than %d points", PROFILE_POINTS_MAX);
    }
    for (const struct tree_node *point = points->first; point != NULL && reader_is_good(reader);
         point = point->next) {
        reader_mapping(reader, point, keys);
        add_point(scope, point, curve);
    }
}

/* Either a list of points, or, in place of it, one point for a single item. */
static void read_device(const struct scope *scope, const struct tree_node *node, uint32_t model)
{
    static const char *const keys[] = {"ms", "sd_ms", "points", "distribution", NULL};
    /* In the order of enum profile_distribution. */
    static const char *const words[] = {"normal", "exponential", "gamma", "deterministic", NULL};
    struct reader *reader = scope->reader;
    struct curve curve = {.model = model};

    reader_mapping(reader, node, keys);
    curve.device = number_device(scope, node);
    curve.distribution =
        (enum profile_distribution)reader_word(reader, tree_find(node, "distribution"), words);
    const struct tree_node *points = tree_find(node, "points");
    if (points == NULL) {
        add_point(scope, node, &curve);
    } else if (tree_find(node, "ms") != NULL || tree_find(node, "sd_ms") != NULL) {
        reader_fail(reader, points, "'points' stands alone, in place of 'ms' and 'sd_ms'");
    } else {
        read_points(scope, points, &curve);
    }
    if (reader_is_good(reader) && is_wanted(&curve)) {
        scope->document->profile->models[model].curves[curve.device].distribution =
            curve.distribution;
    }
}

static void read_model(const struct scope *scope, const struct tree_node *node, uint32_t model)
{
    static const char *const keys[] = {
        "load",          "resident", "workspace", "workspace_per_item",
        "load_fixed_ms", "pinned",   "devices",   NULL,
    };
    static const char *const answers[] = {"false", "true", NULL};
    struct reader *reader = scope->reader;
    struct profile_model known = {0};

    reader_mapping(reader, node, keys);
    known.load_bytes = read_bytes(reader, node, "load", &reader_any_bytes);
    known.resident_bytes = read_bytes(reader, node, "resident", &reader_any_bytes);
    known.workspace_bytes = read_bytes(reader, node, "workspace", &reader_any_bytes);
    known.workspace_bytes_per_item =
        read_bytes(reader, node, "workspace_per_item", &reader_edge_bytes);
    known.load_fixed_ns = read_ms(reader, tree_find(node, "load_fixed_ms"), &spread_range);
    known.pinned = reader_word(reader, tree_find(node, "pinned"), answers) == 1;
    /* Most models stay as they were copied. */
    if (tree_find(node, "resident") == NULL) {
        known.resident_bytes = known.load_bytes;
    } else if (tree_find(node, "load") == NULL) {
        known.load_bytes = known.resident_bytes;
    }
    if (model != MODEL_NONE) {
        scope->document->profile->models[model] = known;
        model_set_add(&scope->document->listed, model);
    }
    const struct tree_node *devices = tree_find(node, "devices");
    reader_any_mapping(reader, devices);
    for (const struct tree_node *device = devices == NULL ? NULL : devices->first;
         device != NULL && reader_is_good(reader); device = device->next) {
        read_device(scope, device, model);
    }
}

static uint32_t find_model(const struct scope *scope, const struct tree_node *node)
{
    return catalogue_find_model(scope->catalogue, node->key);
}

/* Number every model first: a profile is made for as many as there are. */
static void number_models(const struct scope *scope, const struct tree_node *models)
{
    char name[NAME_BYTES_MAX] = "";

    for (const struct tree_node *node = models->first; node != NULL; node = node->next) {
        reader_key_name(scope->reader, node, name);
        if (!reader_is_good(scope->reader)) {
            return;
        }
        if (scope->kind == PROFILE_ALL && catalogue_model(scope->catalogue, name) == MODEL_NONE) {
            reader_fail(scope->reader, node, "more than %d models and functions", MODELS_MAX);
        }
    }
}

static void read_origin(
    struct reader *reader, const struct tree_node *node, struct profile_origin *origin_out)
{
    static const char *const words[] = {"measured", "published", "assumed", NULL};
    const struct tree_node *figures = tree_find(node, "figures");
    const struct tree_node *source = tree_find(node, "source");

    (void)reader_quantity(
        reader, reader_need(reader, node, "weft_profile"), QUANTITY_COUNT, &version_range);
    origin_out->figures = (enum profile_figures)reader_word(reader, figures, words);
    const char *text = reader_text(reader, source);
    if (strlen(text) >= sizeof(origin_out->source)) {
        reader_fail(
            reader, source, "'source' is longer than %d letters", PROFILE_SOURCE_BYTES_MAX - 1);
        return;
    }
    (void)snprintf(origin_out->source, sizeof(origin_out->source), "%s", text);
    if (origin_out->figures == FIGURES_PUBLISHED && source == NULL) {
        reader_fail(reader, figures, "published figures want a 'source'");
    }
}

enum weft_status profile_read(
    const struct tree_node *node, enum profile_scope scope, struct catalogue *catalogue,
    struct fleet *fleet, struct profile_document *document_out, struct weft_error *error)
{
    static const char *const keys[] = {"weft_profile", "figures", "source", "models", NULL};
    struct reader reader = {.error = error};
    struct profile_document document = {0};
    const struct scope all = {
        .reader = &reader,
        .kind = scope,
        .catalogue = catalogue,
        .fleet = fleet,
        .document = &document,
    };

    reader_mapping(&reader, node, keys);
    read_origin(&reader, node, &document.origin);
    const struct tree_node *models = reader_need(&reader, node, "models");
    reader_any_mapping(&reader, models);
    if (reader_is_good(&reader)) {
        number_models(&all, models);
    }
    if (!reader_is_good(&reader)) {
        return reader.status;
    }
    document.profile = profile_create(catalogue->model_count);
    for (const struct tree_node *model = models->first; model != NULL && reader_is_good(&reader);
         model = model->next) {
        read_model(&all, model, find_model(&all, model));
    }
    if (!reader_is_good(&reader)) {
        profile_destroy(document.profile);
        return reader.status;
    }
    *document_out = document;
    return WEFT_OK;
}

enum weft_status profile_load(
    const char *path, struct catalogue *catalogue, struct fleet *fleet,
    struct profile_document *document_out, struct weft_error *error)
{
    struct tree *tree = NULL;

    enum weft_status status = tree_load(path, &tree, error);
    if (status != WEFT_OK) {
        return status;
    }
    status = profile_read(tree->root, PROFILE_ALL, catalogue, fleet, document_out, error);
    tree_destroy(tree);
    return status;
}
