#include "document/mixture_document.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/units.h"
#include "document/reader.h"
#include "mixture/mixture.h"
#include "model/catalogue.h"
#include "model/links_route.h"

static const struct reader_range weight_range = {0, 1e12, "between 0 and 1e12"};
static const struct reader_range mean_range = {0, 1e15, "between 0 and 1e15"};
static const struct reader_range load_range = {0, 1e6, "between 0 and 1000000"};

/* How busy each of several is expected to be. */
struct loads {
    const char *key;
    uint32_t count;
    double *read;
    const double *written;
};

/* All of a document: what is read is filled in, what is written is there. */
struct root {
    uint32_t version;
    double mean_ms;
    const struct catalogue *catalogue;
    struct mixture *read;
    const struct mixture *written;
    struct loads workers;
    struct loads links;
};

/* One of its workflows. */
struct mixed {
    double rate_per_s;
    double mean_ms;
    uint32_t number;
    const struct workflow *workflow;
    uint32_t tasks[WORKFLOW_TASKS_MAX]; /* Of which each column of the patterns is. */
    struct mixture *read;
    const struct mixture_workflow *written;
};

/* One of its patterns. */
struct pattern {
    double weight;
    uint32_t task_count;
    const uint16_t *placement; /* Where it is written. */
};

/* A prediction that was not made, or that has no end, is left out. */
static double to_ms(double mean_ns)
{
    return isfinite(mean_ns) ? mean_ns / (double)NS_PER_MS : 0;
}

/* Every task once. */
static void read_tasks(struct reader *reader, const struct tree_node *node, void *record)
{
    struct mixed *mixed = record;
    const struct workflow *workflow = mixed->workflow;
    char name[NAME_BYTES_MAX];
    char quoted[READER_QUOTE_BYTES];
    uint32_t count = 0;

    reader_list(reader, node);
    if (reader_is_good(reader) && node->child_count != workflow->task_count) {
        reader_fail(
            reader, node, "'%s' has %u tasks, not %u", workflow->name, workflow->task_count,
            node->child_count);
    }
    READER_EACH (item, reader, node) {
        reader_name(reader, item, name);
        const uint32_t task = workflow_find_task(workflow, name);
        if (task == TASK_NONE && reader_is_good(reader)) {
            reader_fail(
                reader, item, "'%s' has no task %s", workflow->name, reader_quote(quoted, item));
        }
        for (uint32_t i = 0; i < count && reader_is_good(reader); i++) {
            if (mixed->tasks[i] == task) {
                reader_fail(reader, item, "task '%s' is named twice", name);
            }
        }
        mixed->tasks[count++] = task;
    }
}

static void write_tasks(struct writer *writer, const void *record)
{
    const struct workflow *workflow = ((const struct mixed *)record)->workflow;

    writer_key(writer, "tasks");
    writer_open_list(writer, WRITER_INLINE);
    for (uint32_t task = 0; task < workflow->task_count; task++) {
        writer_text(writer, workflow->tasks[task].name);
    }
    writer_close(writer);
}

static void write_workers(struct writer *writer, const void *record)
{
    const struct pattern *pattern = record;

    writer_key(writer, "workers");
    writer_open_list(writer, WRITER_INLINE);
    for (uint32_t task = 0; task < pattern->task_count; task++) {
        writer_quantity(writer, QUANTITY_COUNT, pattern->placement[task]);
    }
    writer_close(writer);
}

const struct field mixture_pattern_fields[] = {
    {"weight", FIELD_NUMBER(struct pattern, weight), .range = &weight_range, .needed = true,
     .help = "how often it is drawn, relative to the others"},
    {"workers", .write = write_workers, .needed = true, .form = "list of numbers",
     .help = "one for each task, numbered from 0 over all machines"},
    {0},
};

static void read_pattern(struct reader *reader, const struct tree_node *node, struct mixed *mixed)
{
    const uint32_t task_count = mixed->workflow->task_count;
    const struct reader_range worker_range = {
        0, mixed->read->worker_count - 1.0, "the number of a worker"};
    const struct tree_node *workers = tree_find(node, "workers");
    struct pattern pattern = {.weight = 0};
    uint16_t placement[WORKFLOW_TASKS_MAX];
    uint32_t count = 0;

    record_read(reader, node, mixture_pattern_fields, &pattern);
    reader_list(reader, workers);
    if (reader_is_good(reader) && workers->child_count != task_count) {
        reader_fail(
            reader, workers, "a pattern needs %u workers, one for each task, not %u", task_count,
            workers->child_count);
    }
    READER_EACH (item, reader, workers) {
        placement[mixed->tasks[count++]] =
            (uint16_t)reader_quantity(reader, item, QUANTITY_COUNT, &worker_range);
    }
    if (reader_is_good(reader) &&
        mixture_add_pattern(mixed->read, mixed->number, placement, pattern.weight) != WEFT_OK) {
        reader_fail(reader, node, "more than %d patterns", MIXTURE_PATTERNS_MAX);
    }
}

static void read_patterns(struct reader *reader, const struct tree_node *node, void *record)
{
    struct mixed *mixed = record;
    struct mixture_workflow *filled = &mixed->read->workflows[mixed->number];
    double sum = 0;

    mixture_set_workflow(
        mixed->read, mixed->number, mixed->workflow->task_count, mixed->rate_per_s);
    filled->mean_ns = (double)NS_PER_MS * mixed->mean_ms;
    reader_list(reader, node);
    READER_EACH (item, reader, node) {
        read_pattern(reader, item, mixed);
    }
    for (uint32_t i = 0; i < filled->pattern_count; i++) {
        sum += filled->weights[i];
    }
    if (reader_is_good(reader) && !(sum > 0)) { /* It could not be drawn. */
        reader_fail(reader, node, "no pattern has a weight above 0");
    }
}

static void write_patterns(struct writer *writer, const void *record)
{
    const struct mixture_workflow *written = ((const struct mixed *)record)->written;

    writer_key(writer, "patterns");
    writer_open_list(writer, WRITER_LINES);
    for (uint32_t i = 0; i < written->pattern_count; i++) {
        const struct pattern pattern = {
            .weight = written->weights[i],
            .task_count = written->task_count,
            .placement = written->placements + (size_t)i * written->task_count,
        };
        if (pattern.weight > 0) {
            record_write_inline(writer, mixture_pattern_fields, &pattern);
        }
    }
    writer_close(writer);
}

const struct field mixture_workflow_fields[] = {
    {"rate_per_s", FIELD_NUMBER(struct mixed, rate_per_s), .always = true,
     .range = FIELD_RANGE(0, 1e9, "between 0 and 1000000000"),
     .help = "what it was solved for: `nona` solves again when rates drift from here"},
    {"mean_ms", FIELD_NUMBER(struct mixed, mean_ms), .range = &mean_range,
     .help = "the time that its jobs are expected to take; for people"},
    {"tasks", .read = read_tasks, .write = write_tasks, .needed = true, .form = "list of names",
     .help = "its tasks, each once, in the order of the columns of the patterns"},
    {"patterns", .relies = true, .read = read_patterns, .write = write_patterns, .needed = true,
     .form = "list of mappings", .help = "placements and how often each is drawn: see below"},
    {0},
};

static void read_workflows(struct reader *reader, const struct tree_node *node, void *record)
{
    const struct root *root = record;
    char name[NAME_BYTES_MAX];

    reader_any_mapping(reader, node);
    READER_EACH (item, reader, node) {
        struct mixed mixed = {.read = root->read};
        reader_key_name(reader, item, name);
        mixed.number = catalogue_find_workflow(root->catalogue, name);
        if (reader_is_good(reader) && mixed.number == UINT32_MAX) {
            reader_fail(reader, item, "there is no workflow '%s'", name);
        }
        if (reader_is_good(reader)) {
            mixed.workflow = root->catalogue->workflows[mixed.number];
            record_read(reader, item, mixture_workflow_fields, &mixed);
        }
    }
}

static void write_workflows(struct writer *writer, const void *record)
{
    const struct root *root = record;

    writer_key(writer, "workflows");
    writer_open_mapping(writer, WRITER_LINES);
    for (uint32_t i = 0; i < root->written->workflow_count; i++) {
        const struct mixture_workflow *written = &root->written->workflows[i];
        const struct mixed mixed = {
            .rate_per_s = written->rate_per_s,
            .mean_ms = to_ms(written->mean_ns),
            .workflow = root->catalogue->workflows[i],
            .written = written,
        };
        if (mixture_has(root->written, i)) {
            writer_key(writer, mixed.workflow->name);
            writer_open_mapping(writer, WRITER_LINES);
            record_write(writer, mixture_workflow_fields, &mixed);
            writer_close(writer);
        }
    }
    writer_close(writer);
}

static void read_loads(struct reader *reader, const struct tree_node *node, void *record)
{
    const struct loads *loads = record;
    uint32_t count = 0;

    reader_list(reader, node);
    if (reader_is_good(reader) && node->child_count != loads->count) {
        reader_fail(
            reader, node, "there are %u %s, not %u", loads->count, node->key, node->child_count);
    }
    READER_EACH (item, reader, node) {
        loads->read[count++] = reader_quantity(reader, item, QUANTITY_NUMBER, &load_range);
    }
}

static void write_loads(struct writer *writer, const void *record)
{
    const struct loads *loads = record;
    writer_numbers(writer, loads->key, loads->written, loads->count);
}

const struct field mixture_fields[] = {
    {"weft_mixture", FIELD_COUNT(struct root, version), .needed = true,
     .range = FIELD_RANGE(MIXTURE_VERSION, MIXTURE_VERSION, "1"),
     .help = "the version of the form"},
    {"mean_ms", FIELD_NUMBER(struct root, mean_ms), .range = &mean_range,
     .help = "the time that jobs are expected to take, over all; for people"},
    {"workflows", .read = read_workflows, .write = write_workflows, .needed = true,
     .form = "mapping from names to mappings",
     .help = "where each is placed: see below. One that is left out has no patterns"},
    {"workers", FIELD_PART(struct root, workers), .read = read_loads, .write = write_loads,
     .form = "list of numbers", .help = "how busy each is expected to be; for people"},
    {"links", FIELD_PART(struct root, links), .read = read_loads, .write = write_loads,
     .form = "list of numbers",
     .help = "the same: up from each machine, down to each, then those of the core"},
    {0},
};

enum weft_status mixture_read(
    const struct tree_node *node, const struct catalogue *catalogue, const struct fleet *fleet,
    struct mixture **mixture_out, struct weft_error *error)
{
    struct reader reader = {.error = error};
    struct mixture *mixture =
        mixture_create(catalogue->workflow_count, fleet->worker_count, links_count(fleet));
    struct root root = {
        .catalogue = catalogue,
        .read = mixture,
        .workers = {.count = mixture->worker_count, .read = mixture->worker_load},
        .links = {.count = mixture->link_count, .read = mixture->link_load},
    };

    record_read(&reader, node, mixture_fields, &root);
    if (reader_is_good(&reader)) {
        struct weft_error cause = {.status = WEFT_OK};
        const enum weft_status status = mixture_seal(mixture, &cause);
        mixture->mean_ns = (double)NS_PER_MS * root.mean_ms;
        if (status != WEFT_OK) {
            reader_report(&reader, node, status, cause.message);
        }
    }
    if (!reader_is_good(&reader)) {
        mixture_destroy(mixture);
        return reader.status;
    }
    *mixture_out = mixture;
    return WEFT_OK;
}

void mixture_write(
    struct writer *writer, const struct mixture *mixture, const struct catalogue *catalogue)
{
    const struct root root = {
        .version = MIXTURE_VERSION,
        .mean_ms = to_ms(mixture->mean_ns),
        .catalogue = catalogue,
        .written = mixture,
        .workers = {"workers", mixture->worker_count, .written = mixture->worker_load},
        .links = {"links", mixture->link_count, .written = mixture->link_load},
    };

    ASSERT(mixture->sealed);
    writer_open_json(writer);
    record_write(writer, mixture_fields, &root);
    writer_close(writer);
}

void mixture_print(const struct mixture *mixture, const struct catalogue *catalogue, FILE *file)
{
    struct writer writer;

    writer_init(&writer, file, WRITER_JSON);
    mixture_write(&writer, mixture, catalogue);
}
