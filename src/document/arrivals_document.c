#include "document/arrivals_document.h"

#include "base/error.h"
#include "document/path.h"
#include "document/trace_document.h"

static const struct reader_range rate_range = {1e-6, 1e9, "more than 0 and at most 1e9/s"};
static const struct reader_range weight_range = {0, 1e6, "between 0 and 1000000"};
static const struct reader_range span_range = {1e3, 864e12, "between 1us and 240h"};
static const struct reader_range swing_range = {0, 1, "between 0% and 100%"};

#define KIND_BIT(kind) (UINT32_C(1) << (kind))
#define IN_BURSTS      (KIND_BIT(ARRIVALS_BURST) | KIND_BIT(ARRIVALS_MMPP))
#define NO_LIST        (~KIND_BIT(ARRIVALS_LIST))

/* In the order of enum arrivals_kind. */
static const char *const kind_words[] = {
    "poisson", "constant", "list", "gamma", "burst", "mmpp", "diurnal", "trace", NULL,
};

/* What is read, and with what; what is written has a context instead. */
struct arriving {
    struct arrivals arrivals;
    uint32_t items_per;
    const struct catalogue *catalogue;
    struct arena *arena;
};

/* One of a list. */
struct entry {
    struct arrival arrival;
    const struct catalogue *catalogue;
};

/* The number of the workflow called @name; the reader fails at @node if there is none. */
static uint32_t find_workflow(
    struct reader *reader, const struct catalogue *catalogue, const struct tree_node *node,
    const char *name)
{
    char quoted[READER_QUOTE_BYTES];
    char suggestion[READER_QUOTE_BYTES];

    if (!reader_is_good(reader)) {
        return 0;
    }
    const uint32_t workflow = catalogue_find_workflow(catalogue, name);
    if (workflow != UINT32_MAX) {
        return workflow;
    }
    reader_fail(
        reader, node, "%s is not one of the workflows%s", reader_quote_text(quoted, name),
        trace_suggest_workflow(catalogue, name, suggestion));
    return 0;
}

static void read_mix(struct reader *reader, const struct tree_node *mix, void *record)
{
    struct arriving *arriving = record;
    double sum = 0;

    reader_any_mapping(reader, mix);
    READER_EACH (part, reader, mix) {
        const uint32_t workflow = find_workflow(reader, arriving->catalogue, part, part->key);
        const double weight = reader_quantity(reader, part, QUANTITY_NUMBER, &weight_range);
        arriving->arrivals.mix[workflow] = weight;
        sum += weight;
    }
    if (!(sum > 0)) {
        reader_fail(reader, mix, "'mix' gives no workflow a weight");
    }
}

static void write_mix(struct writer *writer, const void *record)
{
    const struct arrivals_written *written = writer->context;
    const struct arriving *arriving = record;

    writer_key(writer, "mix");
    writer_open_mapping(writer, WRITER_INLINE);
    for (uint32_t i = 0; i < written->catalogue->workflow_count; i++) {
        if (arriving->arrivals.mix[i] > 0) {
            writer_key(writer, written->catalogue->workflows[i]->name);
            writer_quantity(writer, QUANTITY_NUMBER, arriving->arrivals.mix[i]);
        }
    }
    writer_close(writer);
}

static void read_workflow(struct reader *reader, const struct tree_node *node, void *record)
{
    struct entry *entry = record;
    entry->arrival.workflow =
        find_workflow(reader, entry->catalogue, node, reader_text(reader, node));
}

static void write_workflow(struct writer *writer, const void *record)
{
    const struct entry *entry = record;
    writer_key(writer, "workflow");
    writer_text(writer, entry->catalogue->workflows[entry->arrival.workflow]->name);
}

const struct field arrivals_list_fields[] = {
    {"at", FIELD_DURATION(struct entry, arrival.at_ns), .range = &reader_any_duration,
     .needed = true, .help = "when it comes; the list is by time, ascending"},
    {"workflow", .read = read_workflow, .write = write_workflow, .needed = true, .form = "name",
     .help = "what it asks for"},
    {"items", FIELD_COUNT(struct entry, arrival.items), .range = &reader_items, .fallback = "1",
     .help = "how many items it has"},
    {"deadline", FIELD_DURATION(struct entry, arrival.deadline_ns), .range = &span_range,
     .help = "the deadline that its client names", .left_out = "that of all arrivals"},
    {0},
};

static void read_list(struct reader *reader, const struct tree_node *node, void *record)
{
    struct arriving *arriving = record;
    int64_t before_ns = 0;
    uint32_t count = 0;

    reader_list(reader, node);
    reader_filled(reader, node);
    if (!reader_is_good(reader)) {
        return;
    }
    struct arrival *list = arena_alloc(arriving->arena, node->child_count * sizeof(*list));
    READER_EACH (item, reader, node) {
        struct entry entry = {.catalogue = arriving->catalogue};
        record_read(reader, item, arrivals_list_fields, &entry);
        if (entry.arrival.at_ns < before_ns) {
            reader_fail(reader, item, "'at' goes back in time; the list is by time, ascending");
        }
        before_ns = entry.arrival.at_ns;
        list[count++] = entry.arrival;
    }
    arriving->arrivals.list = list;
    arriving->arrivals.list_count = count;
}

/* Every request by itself, as a list or trace gives them. */
static void write_list(struct writer *writer, const void *record)
{
    const struct arrivals_written *written = writer->context;
    struct entry entry = {.catalogue = written->catalogue};
    struct arrival_stream stream;

    (void)record;
    writer_key(writer, "list");
    writer_open_list(writer, WRITER_LINES);
    arrival_stream_init(&stream, written->arrivals, written->catalogue, written->seed);
    for (uint64_t i = 0; i < written->jobs && arrival_stream_next(&stream, &entry.arrival); i++) {
        record_write_inline(writer, arrivals_list_fields, &entry);
    }
    writer_close(writer);
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

const struct field arrivals_burst_fields[] = {
    {"rate", FIELD_RATE(struct arrivals_burst, rate_per_s), .range = &rate_range, .needed = true,
     .help = "while a burst lasts"},
    {"every", FIELD_DURATION(struct arrivals_burst, every_ns), .needed = true,
     .range = FIELD_RANGE(1e6, 864e12, "between 1ms and 240h"),
     .help = "the time from burst to burst; in `mmpp` its mean"},
    {"length", FIELD_DURATION(struct arrivals_burst, length_ns), .range = &span_range,
     .needed = true, .help = "how much of it the burst takes; in `mmpp` on average"},
    {0},
};

static void read_burst(struct reader *reader, const struct tree_node *node, void *record)
{
    struct arrivals *arrivals = &((struct arriving *)record)->arrivals;

    record_read(reader, node, arrivals_burst_fields, &arrivals->burst);
    if (reader_is_good(reader) && arrivals->burst.length_ns >= arrivals->burst.every_ns) {
        reader_fail(reader, tree_find(node, "length"), "'length' must be less than 'every'");
    }
    check_bursts(reader, node, arrivals);
}

/* A triangle from low to high and back. */
static void read_swing(struct reader *reader, const struct tree_node *node, void *record)
{
    struct arrivals_shape *shape = record;
    const double part = reader_quantity(reader, node, QUANTITY_FRACTION, &swing_range);

    shape->point_count = 2;
    shape->points[0] = 1 - part;
    shape->points[1] = 1 + part;
}

static void read_shape(struct reader *reader, const struct tree_node *node, void *record)
{
    struct arrivals_shape *shape = record;
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
    shape->point_count = 0;
    READER_EACH (point, reader, node) {
        const double weight = reader_quantity(reader, point, QUANTITY_NUMBER, &weight_range);
        shape->points[shape->point_count++] = weight;
        sum += weight;
    }
    if (!(sum > 0)) {
        reader_fail(reader, node, "'shape' is zero everywhere");
    }
}

static void write_shape(struct writer *writer, const void *record)
{
    const struct arrivals_shape *shape = record;
    writer_numbers(writer, "shape", shape->points, shape->point_count);
}

const struct field arrivals_diurnal_fields[] = {
    {"period", FIELD_DURATION(struct arrivals_shape, period_ns), .needed = true,
     .range = FIELD_RANGE(1e9, 864e12, "between 1s and 240h"),
     .help = "after which it starts again"},
    {"swing", .read = read_swing, .form = "fraction, between 0% and 100%",
     .help = "`80%`: from 20 % of the rate straight to 180 % and back", .left_out = "or `shape`"},
    {"shape", .read = read_shape, .write = write_shape, .form = "list of at most 96 numbers",
     .help = "weights, evenly over the period, with straight lines between them. Either way `rate` "
             "is the mean",
     .left_out = "or `swing`"},
    {0},
};

static void read_diurnal(struct reader *reader, const struct tree_node *node, void *record)
{
    struct arriving *arriving = record;

    record_read(reader, node, arrivals_diurnal_fields, &arriving->arrivals.shape);
    if ((tree_find(node, "swing") == NULL) == (tree_find(node, "shape") == NULL)) {
        reader_fail(reader, node, "'diurnal' wants either 'swing' or 'shape'");
    }
}

/* How long clients wait: a time, or a mapping with the mean of one. */
static void read_patience(struct reader *reader, const struct tree_node *node, void *record)
{
    static const char *const keys[] = {"mean", NULL};
    struct arrivals *arrivals = &((struct arriving *)record)->arrivals;

    arrivals->patience_is_mean = node->kind == TREE_MAPPING;
    if (arrivals->patience_is_mean) {
        reader_mapping(reader, node, keys);
        node = reader_need(reader, node, "mean");
    }
    arrivals->patience_ns = (int64_t)reader_quantity(reader, node, QUANTITY_DURATION, &span_range);
}

static void write_patience(struct writer *writer, const void *record)
{
    const struct arrivals *arrivals = &((const struct arriving *)record)->arrivals;

    if (arrivals->patience_ns == 0) {
        return;
    }
    writer_key(writer, "patience");
    if (!arrivals->patience_is_mean) {
        writer_quantity(writer, QUANTITY_DURATION, (double)arrivals->patience_ns);
        return;
    }
    writer_open_mapping(writer, WRITER_INLINE);
    writer_key(writer, "mean");
    writer_quantity(writer, QUANTITY_DURATION, (double)arrivals->patience_ns);
    writer_close(writer);
}

/* That of a trace, when the trace has been read. */
static void read_rate(struct reader *reader, const struct tree_node *node, void *record)
{
    struct arrivals *arrivals = &((struct arriving *)record)->arrivals;
    const double rate = reader_quantity(reader, node, QUANTITY_RATE, &rate_range);

    if (!reader_is_good(reader) ||
        (arrivals->kind == ARRIVALS_TRACE && arrivals->list_count == 0)) {
        return;
    }
    if (!arrivals_set_rate(arrivals, rate)) {
        reader_fail(reader, node, "'rate' does not go with a trace that takes no time");
    }
}

const struct field arrivals_fields[] = {
    {"kind", FIELD_WORD(struct arriving, arrivals.kind), .words = kind_words, .always = true,
     .help = "of the table above", .left_out = "the kind that goes with the other keys"},
    {"deadline", FIELD_DURATION(struct arriving, arrivals.deadline_ns), .range = &span_range,
     .help = "the deadline that clients name with each request, as by `x-slo-ms`: a job that is "
             "not done by then ends",
     .left_out = "none: an SLO is only a target"},
    {"patience", .read = read_patience, .write = write_patience,
     .form = "duration, between 1us and 240h, or `{mean: duration}`",
     .help = "how long a client waits before it hangs up, which cancels its job; with `mean` drawn "
             "exponentially",
     .left_out = "as long as it takes"},
    {"rate", FIELD_RATE(struct arriving, arrivals.rate_per_s), .range = &rate_range,
     .read = read_rate, .only = NO_LIST, .always = true,
     .help = "requests of all workflows together, on average; with bursts, between them",
     .left_out = "needed, except with a list or a trace"},
    {"cv", FIELD_NUMBER(struct arriving, arrivals.cv), .only = KIND_BIT(ARRIVALS_GAMMA),
     .range = FIELD_RANGE(0.01, 100, "between 0.01 and 100"), .needed = true,
     .help =
         "the coefficient of variation of the gaps: their standard deviation over their mean. 1 "
         "is as `poisson`, 4 very clumped"},
    {"burst", .relies = true, FIELD_RECORD(struct arriving, arrivals.burst, arrivals_burst_fields),
     .read = read_burst, .only = IN_BURSTS, .needed = true,
     .help = "such as `{rate: 20/s, every: 10s, length: 1s}`: see below"},
    {"diurnal", FIELD_RECORD(struct arriving, arrivals.shape, arrivals_diurnal_fields),
     .read = read_diurnal, .only = KIND_BIT(ARRIVALS_DIURNAL), .needed = true,
     .help =
         "such as `{period: 24h, swing: 80%}` or `{period: 24h, shape: [1, 1, 2, 6, 8, 5]}`: see "
         "below"},
    {"list", .read = read_list, .write = write_list, .only = KIND_BIT(ARRIVALS_LIST),
     .needed = true, .form = "list of mappings", .help = "every request: see below"},
    {"trace", .only = KIND_BIT(ARRIVALS_TRACE), .needed = true, .form = "path",
     .help = "a [trace of requests](#trace)"},
    {"speed", FIELD_NUMBER(struct arriving, arrivals.speed), .only = KIND_BIT(ARRIVALS_TRACE),
     .range = FIELD_RANGE(1e-3, 1e6, "between 0.001 and 1000000"), .fallback = "1",
     .help = "how many times faster than written the trace is played; or `rate`, to be reached on "
             "average"},
    {"repeat", FIELD_FLAG(struct arriving, arrivals.repeat), .only = KIND_BIT(ARRIVALS_TRACE),
     .help = "`true`: the trace starts again, one mean gap after its last row"},
    {"items_per", FIELD_COUNT(struct arriving, items_per), .only = KIND_BIT(ARRIVALS_TRACE),
     .range = FIELD_RANGE(1, 1e9, "between 1 and 1000000000"),
     .help = "how many tokens of a trace of tokens are one item, rounded up",
     .left_out = "each request has one item"},
    {"mix", .read = read_mix, .write = write_mix, .only = NO_LIST,
     .form = "mapping from workflows to numbers",
     .help = "weights; workflows that are not named do not come", .left_out = "all alike"},
    {0},
};

static void load_rows(
    struct reader *reader, const struct tree_node *node, const struct arriving *arriving,
    struct trace *trace_out)
{
    const struct tree_node *named = tree_find(node, "trace");
    const struct tree_node *items_per = tree_find(node, "items_per");
    const struct trace_options options = {
        .catalogue = arriving->catalogue, .items_per = arriving->items_per};
    char path[DOCUMENT_PATH_BYTES_MAX];
    struct weft_error cause = {0};

    const char *text = reader_text(reader, named);
    if (!reader_is_good(reader)) {
        return;
    }
    if (!path_beside(path, named->file, text)) {
        reader_fail(reader, named, "the path is longer than %d bytes", DOCUMENT_PATH_BYTES_MAX);
        return;
    }
    const enum weft_status status = trace_load(path, &options, arriving->arena, trace_out, &cause);
    /* A file that is not there is the fault of the line that names it. */
    if (status == WEFT_IO && named->file != NULL) {
        const struct weft_error missing = cause;
        (void)error_set(&cause, status, "%s:%u: %s", named->file, named->key_line, missing.message);
        reader_report(reader, named, status, cause.message);
    } else if (status == WEFT_IO) {
        reader_fail(reader, named, "%s", cause.message);
    } else if (status != WEFT_OK) {
        reader_report(reader, named, status, cause.message);
    } else if (trace_out->has_workflows && items_per != NULL) {
        reader_fail(reader, items_per, "'items_per' goes with a trace of tokens");
    }
}

static void read_trace(
    struct reader *reader, const struct tree_node *node, struct arriving *arriving)
{
    struct arrivals *arrivals = &arriving->arrivals;
    const struct tree_node *mix = tree_find(node, "mix");
    const struct tree_node *rate = tree_find(node, "rate");
    struct trace trace = {0};

    load_rows(reader, node, arriving, &trace);
    if (!reader_is_good(reader)) {
        return;
    }
    arrivals->list = trace.rows;
    arrivals->list_count = trace.count;
    arrivals_set_speed(arrivals, arrivals->speed);
    if (mix != NULL && trace.has_workflows) {
        reader_fail(reader, mix, "'mix' does not go with a trace that names workflows");
    }
    if (arrivals->repeat && arrivals_lap_ns(arrivals) == 0) {
        reader_fail(
            reader, tree_find(node, "repeat"), "a trace that takes no time cannot be repeated");
    }
    if (rate != NULL && tree_find(node, "speed") != NULL) {
        reader_fail(reader, rate, "a trace has either a 'rate' or a 'speed'");
    } else if (rate != NULL) {
        read_rate(reader, rate, arriving);
    }
}

/* The first kind that goes with the keys of @node, if it names none. */
static enum arrivals_kind implied_kind(const struct tree_node *node)
{
    for (const struct field *field = arrivals_fields; field->key != NULL; field++) {
        if (field->only != 0 && field->only != NO_LIST && tree_find(node, field->key) != NULL) {
            uint32_t kind = 0;
            while ((field->only >> kind & 1) == 0) {
                kind++;
            }
            return (enum arrivals_kind)kind;
        }
    }
    return ARRIVALS_POISSON;
}

void arrivals_read(
    struct reader *reader, const struct tree_node *node, const struct catalogue *catalogue,
    struct arena *arena, struct arrivals *arrivals_out)
{
    struct arriving arriving = {
        .arrivals = {.kind = implied_kind(node)}, .catalogue = catalogue, .arena = arena};
    struct arrivals *arrivals = &arriving.arrivals;

    record_read(reader, node, arrivals_fields, &arriving);
    if (arrivals->kind == ARRIVALS_TRACE) {
        read_trace(reader, node, &arriving);
    } else if (arrivals->kind != ARRIVALS_LIST) {
        (void)reader_need(reader, node, "rate");
    }
    for (uint32_t i = 0; i < catalogue->workflow_count && tree_find(node, "mix") == NULL; i++) {
        arrivals->mix[i] = 1;
    }
    if (reader_is_good(reader)) {
        *arrivals_out = *arrivals;
    }
}

void arrivals_write(struct writer *writer, const struct arrivals_written *written)
{
    struct arriving arriving = {.arrivals = *written->arrivals};
    const void *context = writer->context;

    if (arriving.arrivals.kind == ARRIVALS_TRACE) {
        arriving.arrivals.kind = ARRIVALS_LIST;
    }
    writer->context = written;
    writer_open_mapping(writer, WRITER_LINES);
    record_write(writer, arrivals_fields, &arriving);
    writer_close(writer);
    writer->context = context;
}
