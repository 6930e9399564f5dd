#include "document/arrivals_document.h"

#include "base/error.h"
#include "document/path.h"
#include "document/trace_document.h"

static const struct reader_range rate_range = {1e-6, 1e9, "more than 0 and at most 1e9/s"};
static const struct reader_range weight_range = {0, 1e6, "between 0 and 1000000"};
static const struct reader_range cv_range = {0.01, 100, "between 0.01 and 100"};
static const struct reader_range every_range = {1e6, 864e12, "between 1ms and 240h"};
static const struct reader_range span_range = {1e3, 864e12, "between 1us and 240h"};
static const struct reader_range period_range = {1e9, 864e12, "between 1s and 240h"};
static const struct reader_range swing_range = {0, 1, "between 0% and 100%"};
static const struct reader_range speed_range = {1e-3, 1e6, "between 0.001 and 1000000"};
static const struct reader_range items_per_range = {1, 1e9, "between 1 and 1000000000"};

#define KIND_BIT(kind) (1U << (kind))

/* In the order of enum arrivals_kind. */
static const char *const kind_words[] = {
    "poisson", "constant", "list", "gamma", "burst", "mmpp", "diurnal", "trace", NULL,
};

/* Keys that only some kinds have. The first kind is meant where none is said. */
struct special {
    const char *key;
    enum arrivals_kind kind;
    uint32_t kinds; /* One bit each. */
    const char *text;
};

static const struct special specials[] = {
    {"list", ARRIVALS_LIST, KIND_BIT(ARRIVALS_LIST), "'kind: list'"},
    {"cv", ARRIVALS_GAMMA, KIND_BIT(ARRIVALS_GAMMA), "'kind: gamma'"},
    {"burst", ARRIVALS_BURST, KIND_BIT(ARRIVALS_BURST) | KIND_BIT(ARRIVALS_MMPP),
     "'kind: burst' or 'kind: mmpp'"},
    {"diurnal", ARRIVALS_DIURNAL, KIND_BIT(ARRIVALS_DIURNAL), "'kind: diurnal'"},
    {"trace", ARRIVALS_TRACE, KIND_BIT(ARRIVALS_TRACE), "'kind: trace'"},
    {"speed", ARRIVALS_TRACE, KIND_BIT(ARRIVALS_TRACE), "'kind: trace'"},
    {"repeat", ARRIVALS_TRACE, KIND_BIT(ARRIVALS_TRACE), "'kind: trace'"},
    {"items_per", ARRIVALS_TRACE, KIND_BIT(ARRIVALS_TRACE), "'kind: trace'"},
};

enum { SPECIALS = sizeof(specials) / sizeof(specials[0]) };

/* What every part of the arrivals is read with. */
struct parts {
    struct reader *reader;
    const struct catalogue *catalogue;
    struct arena *arena;
    struct arrivals *arrivals;
};

static void read_kind(struct parts *parts, const struct tree_node *node)
{
    const struct tree_node *kind = tree_find(node, "kind");

    parts->arrivals->kind = (enum arrivals_kind)reader_word(parts->reader, kind, kind_words);
    for (uint32_t i = 0; i < SPECIALS && reader_is_good(parts->reader); i++) {
        const struct special *special = &specials[i];
        const struct tree_node *found = tree_find(node, special->key);
        if (found == NULL) {
            continue;
        }
        if (kind == NULL && parts->arrivals->kind == ARRIVALS_POISSON) {
            parts->arrivals->kind = special->kind;
        }
        if ((special->kinds & KIND_BIT(parts->arrivals->kind)) == 0) {
            reader_fail(parts->reader, found, "'%s' goes with %s", special->key, special->text);
        }
    }
}

/* The number of the workflow called @name; the reader fails at @node if there is none. */
static uint32_t find_workflow(struct parts *parts, const struct tree_node *node, const char *name)
{
    char quoted[READER_QUOTE_BYTES];
    char suggestion[READER_QUOTE_BYTES];

    if (!reader_is_good(parts->reader)) {
        return 0;
    }
    const uint32_t workflow = catalogue_find_workflow(parts->catalogue, name);
    if (workflow != UINT32_MAX) {
        return workflow;
    }
    reader_fail(
        parts->reader, node, "%s is not one of the workflows%s", reader_quote_text(quoted, name),
        trace_suggest_workflow(parts->catalogue, name, suggestion));
    return 0;
}

static void read_mix(struct parts *parts, const struct tree_node *mix)
{
    struct reader *reader = parts->reader;
    double sum = 0;

    if (mix == NULL) {
        for (uint32_t i = 0; i < parts->catalogue->workflow_count; i++) {
            parts->arrivals->mix[i] = 1;
        }
        return;
    }
    reader_any_mapping(reader, mix);
    for (const struct tree_node *part = mix->first; part != NULL && reader_is_good(reader);
         part = part->next) {
        const uint32_t workflow = find_workflow(parts, part, part->key);
        const double weight = reader_quantity(reader, part, QUANTITY_NUMBER, &weight_range);
        parts->arrivals->mix[workflow] = weight;
        sum += weight;
    }
    if (!(sum > 0)) {
        reader_fail(reader, mix, "'mix' gives no workflow a weight");
    }
}

static void read_arrival(
    struct parts *parts, const struct tree_node *node, struct arrival *arrival_out)
{
    static const char *const keys[] = {"at", "workflow", "items", NULL};
    struct reader *reader = parts->reader;

    reader_mapping(reader, node, keys);
    const struct tree_node *workflow = reader_need(reader, node, "workflow");
    const struct tree_node *items = tree_find(node, "items");
    arrival_out->at_ns = (int64_t)reader_quantity(
        reader, reader_need(reader, node, "at"), QUANTITY_DURATION, &reader_any_duration);
    arrival_out->workflow = find_workflow(parts, workflow, reader_text(reader, workflow));
    arrival_out->items = 1;
    if (items != NULL) {
        arrival_out->items =
            (uint32_t)reader_quantity(reader, items, QUANTITY_COUNT, &reader_items);
    }
}

static void read_list(struct parts *parts, const struct tree_node *node)
{
    struct reader *reader = parts->reader;
    int64_t before_ns = 0;
    uint32_t count = 0;

    reader_list(reader, node);
    if (!reader_is_good(reader)) {
        return;
    }
    if (node->child_count == 0) {
        reader_fail(reader, node, "'list' is empty");
        return;
    }
    struct arrival *list = arena_alloc(parts->arena, node->child_count * sizeof(*list));
    for (const struct tree_node *item = node->first; item != NULL && reader_is_good(reader);
         item = item->next) {
        struct arrival *arrival = &list[count++];
        read_arrival(parts, item, arrival);
        if (arrival->at_ns < before_ns) {
            reader_fail(reader, item, "'at' goes back in time; the list is by time, ascending");
        }
        before_ns = arrival->at_ns;
    }
    parts->arrivals->list = list;
    parts->arrivals->list_count = count;
}

/* A rate so low, or bursts so short, that drawing one request would take too long. */
static void check_bursts(
    struct reader *reader, const struct tree_node *node, const struct arrivals *arrivals)
{
    if (reader_is_good(reader) && arrivals->burst.every_ns > 0 &&
        arrivals_per_burst(arrivals) * ARRIVALS_IDLE_BURSTS_MAX < 1) {
        reader_fail(
            reader, node, "only one of more than %d bursts would bring a request",
            ARRIVALS_IDLE_BURSTS_MAX);
    }
}

void arrivals_read_rate(
    struct reader *reader, const struct tree_node *node, struct arrivals *arrivals)
{
    if (arrivals->kind == ARRIVALS_LIST) {
        reader_fail(reader, node, "'rate' does not go with a list of arrivals");
        return;
    }
    const double rate = reader_quantity(reader, node, QUANTITY_RATE, &rate_range);
    if (!reader_is_good(reader)) {
        return;
    }
    if (!arrivals_set_rate(arrivals, rate)) {
        reader_fail(reader, node, "'rate' does not go with a trace that takes no time");
        return;
    }
    check_bursts(reader, node, arrivals);
}

static void read_burst(struct parts *parts, const struct tree_node *node)
{
    static const char *const keys[] = {"rate", "every", "length", NULL};
    struct reader *reader = parts->reader;
    struct arrivals_burst *burst = &parts->arrivals->burst;

    reader_mapping(reader, node, keys);
    const struct tree_node *length = reader_need(reader, node, "length");
    burst->rate_per_s =
        reader_quantity(reader, reader_need(reader, node, "rate"), QUANTITY_RATE, &rate_range);
    burst->every_ns = (int64_t)reader_quantity(
        reader, reader_need(reader, node, "every"), QUANTITY_DURATION, &every_range);
    burst->length_ns = (int64_t)reader_quantity(reader, length, QUANTITY_DURATION, &span_range);
    if (burst->length_ns >= burst->every_ns) {
        reader_fail(reader, length, "'length' must be less than 'every'");
    }
    check_bursts(reader, node, parts->arrivals);
}

static void read_points(
    struct reader *reader, const struct tree_node *node, struct arrivals_shape *shape)
{
    double sum = 0;

    reader_list(reader, node);
    if (!reader_is_good(reader)) {
        return;
    }
    if (node->child_count < 2 || node->child_count > ARRIVALS_SHAPE_POINTS_MAX) {
        reader_fail(
            reader, node, "'shape' has %u points; it must have between 2 and %d", node->child_count,
            ARRIVALS_SHAPE_POINTS_MAX);
        return;
    }
    for (const struct tree_node *point = node->first; point != NULL; point = point->next) {
        const double weight = reader_quantity(reader, point, QUANTITY_NUMBER, &weight_range);
        shape->points[shape->point_count++] = weight;
        sum += weight;
    }
    if (!(sum > 0)) {
        reader_fail(reader, node, "'shape' is zero everywhere");
    }
}

/* A triangle from low to high and back, or the points of a shape of one's own. */
static void read_diurnal(struct parts *parts, const struct tree_node *node)
{
    static const char *const keys[] = {"period", "swing", "shape", NULL};
    struct reader *reader = parts->reader;
    struct arrivals_shape *shape = &parts->arrivals->shape;

    reader_mapping(reader, node, keys);
    shape->period_ns = (int64_t)reader_quantity(
        reader, reader_need(reader, node, "period"), QUANTITY_DURATION, &period_range);
    const struct tree_node *swing = tree_find(node, "swing");
    const struct tree_node *points = tree_find(node, "shape");
    if ((swing == NULL) == (points == NULL)) {
        reader_fail(reader, node, "'diurnal' wants either 'swing' or 'shape'");
        return;
    }
    if (points != NULL) {
        read_points(reader, points, shape);
        return;
    }
    const double part = reader_quantity(reader, swing, QUANTITY_SHARE, &swing_range);
    shape->point_count = 2;
    shape->points[0] = 1 - part;
    shape->points[1] = 1 + part;
}

static void load_rows(struct parts *parts, const struct tree_node *node, struct trace *trace_out)
{
    struct reader *reader = parts->reader;
    const struct tree_node *named = reader_need(reader, node, "trace");
    const struct tree_node *items_per = tree_find(node, "items_per");
    struct trace_options options = {.catalogue = parts->catalogue};
    char path[DOCUMENT_PATH_BYTES_MAX];
    struct weft_error cause = {0};

    if (items_per != NULL) {
        options.items_per =
            (uint32_t)reader_quantity(reader, items_per, QUANTITY_COUNT, &items_per_range);
    }
    const char *text = reader_text(reader, named);
    if (!reader_is_good(reader)) {
        return;
    }
    if (!path_beside(path, named->file, text)) {
        reader_fail(reader, named, "the path is longer than %d bytes", DOCUMENT_PATH_BYTES_MAX);
        return;
    }
    const enum weft_status status = trace_load(path, &options, parts->arena, trace_out, &cause);
    /* A file that is not there is the fault of the line that names it. */
    if (status == WEFT_IO && named->file != NULL) {
        reader_keep(
            reader,
            error_set(
                reader->error, status, "%s:%u: %s", named->file, named->key_line, cause.message));
    } else if (status == WEFT_IO) {
        reader_fail(reader, named, "%s", cause.message);
    } else if (status != WEFT_OK) {
        reader_keep(reader, error_set(reader->error, status, "%s", cause.message));
    } else if (trace_out->has_workflows && items_per != NULL) {
        reader_fail(reader, items_per, "'items_per' goes with a trace of tokens");
    }
}

static void read_trace(struct parts *parts, const struct tree_node *node)
{
    static const char *const answers[] = {"false", "true", NULL};
    struct reader *reader = parts->reader;
    struct arrivals *arrivals = parts->arrivals;
    const struct tree_node *mix = tree_find(node, "mix");
    const struct tree_node *rate = tree_find(node, "rate");
    const struct tree_node *speed = tree_find(node, "speed");
    const struct tree_node *repeat = tree_find(node, "repeat");
    struct trace trace = {0};

    load_rows(parts, node, &trace);
    if (!reader_is_good(reader)) {
        return;
    }
    arrivals->list = trace.rows;
    arrivals->list_count = trace.count;
    arrivals->repeat = reader_word(reader, repeat, answers) == 1;
    arrivals_set_speed(arrivals, 1);
    if (speed != NULL) {
        const double times = reader_quantity(reader, speed, QUANTITY_NUMBER, &speed_range);
        arrivals_set_speed(arrivals, reader_is_good(reader) ? times : 1);
    }
    if (mix != NULL && trace.has_workflows) {
        reader_fail(reader, mix, "'mix' does not go with a trace that names workflows");
    }
    if (arrivals->repeat && arrivals_lap_ns(arrivals) == 0) {
        reader_fail(reader, repeat, "a trace that takes no time cannot be repeated");
    }
    if (rate != NULL && speed != NULL) {
        reader_fail(reader, rate, "a trace has either a 'rate' or a 'speed'");
    } else if (rate != NULL) {
        arrivals_read_rate(reader, rate, arrivals);
    }
}

static void read_by_kind(struct parts *parts, const struct tree_node *node)
{
    struct reader *reader = parts->reader;
    const struct tree_node *mix = tree_find(node, "mix");
    const struct tree_node *rate = tree_find(node, "rate");

    if (parts->arrivals->kind == ARRIVALS_LIST) {
        if (mix != NULL) {
            reader_fail(reader, mix, "'mix' does not go with a list of arrivals");
        }
        if (rate != NULL) {
            arrivals_read_rate(reader, rate, parts->arrivals);
        }
        read_list(parts, reader_need(reader, node, "list"));
        return;
    }
    if (parts->arrivals->kind == ARRIVALS_TRACE) {
        read_trace(parts, node);
        return;
    }
    arrivals_read_rate(reader, reader_need(reader, node, "rate"), parts->arrivals);
    if (parts->arrivals->kind == ARRIVALS_GAMMA) {
        parts->arrivals->cv =
            reader_quantity(reader, reader_need(reader, node, "cv"), QUANTITY_NUMBER, &cv_range);
    } else if (parts->arrivals->kind == ARRIVALS_BURST || parts->arrivals->kind == ARRIVALS_MMPP) {
        read_burst(parts, reader_need(reader, node, "burst"));
    } else if (parts->arrivals->kind == ARRIVALS_DIURNAL) {
        read_diurnal(parts, reader_need(reader, node, "diurnal"));
    }
}

void arrivals_read_patience(
    struct reader *reader, const struct tree_node *node, struct arrivals *arrivals)
{
    static const char *const keys[] = {"mean", NULL};
    const bool is_mean = node->kind == TREE_MAPPING;

    if (is_mean) {
        reader_mapping(reader, node, keys);
    }
    const double patience_ns = reader_quantity(
        reader, is_mean ? reader_need(reader, node, "mean") : node, QUANTITY_DURATION, &span_range);
    if (reader_is_good(reader)) {
        arrivals->patience_ns = (int64_t)patience_ns;
        arrivals->patience_is_mean = is_mean;
    }
}

void arrivals_read(
    struct reader *reader, const struct tree_node *node, const struct catalogue *catalogue,
    struct arena *arena, struct arrivals *arrivals_out)
{
    static const char *const keys[] = {
        "kind",  "rate",  "mix",    "list",      "cv",       "burst", "diurnal",
        "trace", "speed", "repeat", "items_per", "patience", NULL,
    };
    struct arrivals arrivals = {0};
    struct parts parts = {
        .reader = reader,
        .catalogue = catalogue,
        .arena = arena,
        .arrivals = &arrivals,
    };

    reader_mapping(reader, node, keys);
    read_kind(&parts, node);
    if (reader_is_good(reader)) {
        read_by_kind(&parts, node);
        read_mix(&parts, tree_find(node, "mix"));
        const struct tree_node *patience = tree_find(node, "patience");
        if (patience != NULL) {
            arrivals_read_patience(reader, patience, &arrivals);
        }
    }
    if (reader_is_good(reader)) {
        *arrivals_out = arrivals;
    }
}
