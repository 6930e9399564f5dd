/* generate_trace.c - requests drawn from any kind of arrivals, written down as a trace. */
#include "lab/generate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/units.h"
#include "console/whole_file.h"
#include "document/arrivals_document.h"
#include "document/trace_document.h"
#include "lab/option_list.h"

enum {
    SETTINGS_MAX = 16,
    JOBS_DEFAULT = 1000,
    RATE_BYTES_MAX = 64,
};

#define SEED_DEFAULT 1

/* Settings as a scenario would have them, in a mapping without a file. */
struct settings {
    struct tree_node root;
    struct tree_node nodes[SETTINGS_MAX];
    uint32_t count;
    char rates[2][RATE_BYTES_MAX];
};

/* A bare number of the command line is per second; documents say so. */
static const char *with_unit(char out[RATE_BYTES_MAX], const char *rate)
{
    if (rate == NULL || rate[0] == '\0' || rate[strspn(rate, "0123456789.")] != '\0') {
        return rate;
    }
    (void)snprintf(out, RATE_BYTES_MAX, "%s/s", rate);
    return out;
}

/* Add @key to @mapping, after the last one. NULL adds nothing. */
static struct tree_node *add(
    struct settings *settings, struct tree_node *mapping, const char *key, const char *text)
{
    if (text == NULL) {
        return NULL;
    }
    ASSERT(settings->count < SETTINGS_MAX);
    struct tree_node *node = &settings->nodes[settings->count++];
    *node = (struct tree_node){.kind = TREE_SCALAR, .key = key, .text = text};
    node->next = mapping->first;
    mapping->first = node;
    mapping->child_count++;
    return node;
}

static struct tree_node *add_mapping(struct settings *settings, const char *key)
{
    struct tree_node *node = add(settings, &settings->root, key, "");
    node->kind = TREE_MAPPING;
    return node;
}

static void collect(const struct generate_values *values, struct settings *settings)
{
    struct tree_node *root = &settings->root;

    root->kind = TREE_MAPPING;
    root->text = "";
    (void)add(settings, root, "kind", values->kind);
    (void)add(settings, root, "rate", with_unit(settings->rates[0], values->rate));
    (void)add(settings, root, "cv", values->cv);
    (void)add(settings, root, "trace", values->trace);
    (void)add(settings, root, "speed", values->speed);
    (void)add(settings, root, "items_per", values->items_per);
    if (values->burst_rate != NULL || values->every != NULL || values->length != NULL) {
        struct tree_node *burst = add_mapping(settings, "burst");
        (void)add(settings, burst, "rate", with_unit(settings->rates[1], values->burst_rate));
        (void)add(settings, burst, "every", values->every);
        (void)add(settings, burst, "length", values->length);
    }
    if (values->period != NULL || values->swing != NULL) {
        struct tree_node *diurnal = add_mapping(settings, "diurnal");
        (void)add(settings, diurnal, "period", values->period);
        (void)add(settings, diurnal, "swing", values->swing);
    }
}

/* A workflow of which only the name matters. */
static enum weft_status add_workflow(
    struct catalogue *catalogue, const char *text, struct weft_error *error)
{
    const struct tree_node node = {.kind = TREE_SCALAR, .key = "--workflows", .text = text};
    const struct workflow_task task = {.name = "task"};
    struct reader reader = {.error = error};
    char name[NAME_BYTES_MAX] = "";
    uint32_t number;

    reader_name(&reader, &node, name);
    if (!reader_is_good(&reader)) {
        return reader.status;
    }
    struct workflow *workflow = workflow_create(name);
    enum weft_status status = workflow_add_task(workflow, &task, &number);
    ASSERT(status == WEFT_OK);
    status = workflow_seal(workflow, /* error */ NULL);
    ASSERT(status == WEFT_OK);
    status = catalogue_add_workflow(catalogue, workflow);
    if (status != WEFT_OK) {
        workflow_destroy(workflow);
        return error_set(error, status, "'--workflows' names '%s' twice", name);
    }
    return WEFT_OK;
}

/* "a=2,b": names, and what each weighs in the mix, which is 1 if it is not said. */
static enum weft_status read_workflows(
    const char *text, struct catalogue *catalogue, double mix[WORKFLOWS_MAX],
    struct weft_error *error)
{
    static const struct reader_range weight_range = {0, 1e6, "between 0 and 1000000"};
    struct option_list list = {0};
    double sum = 0;
    enum weft_status status = option_list_commas(text, &list, error);

    for (uint32_t i = 0; i < list.count && status == WEFT_OK; i++) {
        char *weight = strchr(list.parts[i], '=');
        mix[i] = 1;
        if (weight != NULL) {
            struct reader reader = {.error = error};
            const struct tree_node node = {
                .kind = TREE_SCALAR, .key = "--workflows", .text = weight + 1};
            *weight = '\0';
            mix[i] = reader_quantity(&reader, &node, QUANTITY_NUMBER, &weight_range);
            status = reader.status;
        }
        if (status == WEFT_OK) {
            status = add_workflow(catalogue, list.parts[i], error);
        }
        sum += mix[i];
    }
    if (status == WEFT_OK && !(sum > 0)) {
        status = error_set(error, WEFT_INVALID, "'--workflows' gives no workflow a weight");
    }
    option_list_deinit(&list);
    return status;
}

/* Milliseconds without zeros at the end: as short as they are exact. */
static void write_time(int64_t ns, FILE *file)
{
    char decimals[8];
    (void)snprintf(decimals, sizeof(decimals), "%06d", (int)(ns % NS_PER_MS));
    size_t length = strlen(decimals);
    while (length > 0 && decimals[length - 1] == '0') {
        length--;
    }
    (void)fprintf(file, "%" PRId64, ns / NS_PER_MS);
    (void)fprintf(file, "%s%.*s", length == 0 ? "" : ".", (int)length, decimals);
}

static enum weft_status write_rows(
    struct arrival_stream *stream, const struct catalogue *catalogue, uint64_t jobs, FILE *file,
    struct weft_error *error)
{
    const bool has_items = stream->arrivals->kind == ARRIVALS_TRACE;
    struct arrival arrival;

    (void)fputs(has_items ? "t_ms,workflow,items\n" : "t_ms,workflow\n", file);
    for (uint64_t i = 0; i < jobs; i++) {
        if (!arrival_stream_next(stream, &arrival) || arrival.at_ns > TRACE_SPAN_NS) {
            return error_set(
                error, WEFT_INVALID, "a trace is at most ten days long; only %" PRIu64 " jobs fit",
                i);
        }
        write_time(arrival.at_ns, file);
        (void)fprintf(file, ",%s", catalogue->workflows[arrival.workflow]->name);
        if (has_items) {
            (void)fprintf(file, ",%" PRIu32, arrival.items);
        }
        (void)fputc('\n', file);
    }
    return WEFT_OK;
}

static enum weft_status count_jobs(
    const struct generate_values *values, const struct arrivals *arrivals, uint64_t *jobs_out,
    struct weft_error *error)
{
    const bool is_trace = arrivals->kind == ARRIVALS_TRACE;
    const uint64_t most = is_trace ? arrivals->list_count : ARRIVALS_ROWS_MAX;
    uint64_t jobs = is_trace ? most : JOBS_DEFAULT;

    if (values->jobs.given) {
        jobs = values->jobs.value;
    }
    if (jobs < 1 || jobs > most) {
        return error_set(error, WEFT_INVALID, "'--jobs' must be between 1 and %" PRIu64, most);
    }
    *jobs_out = jobs;
    return WEFT_OK;
}

static enum weft_status write_trace(
    const struct generate_values *values, const struct arrivals *arrivals,
    const struct catalogue *catalogue, struct weft_error *error)
{
    const uint64_t seed = values->seed.given ? values->seed.value : SEED_DEFAULT;
    uint64_t jobs = 0;
    struct arrival_stream stream;
    struct whole_file file;

    enum weft_status status = count_jobs(values, arrivals, &jobs, error);
    if (status != WEFT_OK) {
        return status;
    }
    status = whole_file_open(&file, values->output == NULL ? "-" : values->output, error);
    if (status != WEFT_OK) {
        return status;
    }
    arrival_stream_init(&stream, arrivals, catalogue, seed);
    status = write_rows(&stream, catalogue, jobs, file.stream, error);
    if (status != WEFT_OK) {
        whole_file_discard(&file);
        return status;
    }
    return whole_file_commit(&file, error);
}

enum weft_status generate_trace(const struct generate_values *values, struct weft_error *error)
{
    struct settings settings = {0};
    struct reader reader = {.error = error};
    struct arrivals arrivals = {0};
    double mix[WORKFLOWS_MAX] = {0};
    struct arena arena;

    if (values->workflows == NULL) {
        return error_set(error, WEFT_INVALID, "a trace needs '--workflows'");
    }
    arena_init(&arena);
    struct catalogue *catalogue = catalogue_create();
    enum weft_status status = read_workflows(values->workflows, catalogue, mix, error);
    if (status == WEFT_OK) {
        collect(values, &settings);
        arrivals_read(&reader, &settings.root, catalogue, &arena, &arrivals);
        status = reader.status;
    }
    if (status == WEFT_OK) {
        memcpy(arrivals.mix, mix, sizeof(mix));
        status = write_trace(values, &arrivals, catalogue, error);
    }
    catalogue_destroy(catalogue);
    arena_deinit(&arena);
    return status;
}
