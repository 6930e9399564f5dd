#include "document/settings.h"

#include <stdio.h>

#include "document/reader.h"
#include "document/scenario_parts.h"

#define ROW_LOAD_NS_DEFAULT  INT64_C(10000000)
#define ROW_CACHE_NS_DEFAULT INT64_C(100000000)

static const struct reader_range nodes_range = {1, 64, "between 1 and 64"};
static const struct reader_range workers_range = {1, 64, "between 1 and 64"};
static const struct reader_range threads_range = {1, 1, "1: a batch runs on one thread"};
static const struct reader_range jobs_range = {1, 1e9, "between 1 and 1000000000"};
static const struct reader_range time_range = {1e6, 8.64e14, "between 1ms and 240h"};
static const struct reader_range slo_range = {1e3, 8.64e14, "between 1us and 240h"};
static const struct reader_range process_range = {64e6, 1e15, "between 64MB and 1000TB"};
static const struct reader_range output_range = {1e6, 1e12, "between 1MB and 1TB"};
static const char *const answers[] = {"false", "true", NULL};

void settings_default(struct settings *settings_out)
{
    *settings_out = (struct settings){
        .nodes = 1,
        .isolate = ISOLATE_ALL,
        .row_load_ns = ROW_LOAD_NS_DEFAULT,
        .row_cache_ns = ROW_CACHE_NS_DEFAULT,
    };
    (void)snprintf(settings_out->policy, sizeof(settings_out->policy), SETTINGS_POLICY_DEFAULT);
}

/* A whole number of @mapping; @out stays as it is if nothing is said. */
static void read_count(
    struct reader *reader, const struct tree_node *mapping, const char *key,
    const struct reader_range *range, uint32_t *out)
{
    const struct tree_node *node = tree_find(mapping, key);

    if (node != NULL) {
        *out = (uint32_t)reader_quantity(reader, node, QUANTITY_COUNT, range);
    }
}

static void read_rows(
    struct reader *reader, const struct tree_node *node, struct settings *settings)
{
    static const char *const keys[] = {"load", "cache", NULL};

    reader_mapping(reader, node, keys);
    scenario_read_row(reader, tree_find(node, "load"), &settings->row_load_ns);
    scenario_read_row(reader, tree_find(node, "cache"), &settings->row_cache_ns);
}

/* How long a call of a function may take; 0 if nothing is said. */
static int64_t read_time(struct reader *reader, const struct tree_node *mapping)
{
    const struct tree_node *node = tree_find(mapping, "time");

    return node == NULL ? 0
                        : (int64_t)reader_quantity(reader, node, QUANTITY_DURATION, &time_range);
}

static void read_functions(
    struct reader *reader, const struct tree_node *node, struct settings_functions *functions)
{
    static const char *const keys[] = {"time", "memory", "output", "sandbox", NULL};
    const struct tree_node *memory = tree_find(node, "memory");
    const struct tree_node *output = tree_find(node, "output");
    const struct tree_node *sandbox = tree_find(node, "sandbox");

    reader_mapping(reader, node, keys);
    functions->time_ns = read_time(reader, node);
    if (memory != NULL) {
        functions->memory_bytes =
            (uint64_t)reader_quantity(reader, memory, QUANTITY_BYTES, &process_range);
    }
    if (output != NULL) {
        functions->output_bytes =
            (uint64_t)reader_quantity(reader, output, QUANTITY_BYTES, &output_range);
    }
    if (sandbox != NULL) {
        functions->is_open = reader_word(reader, sandbox, answers) == 0;
    }
}

static void read_model(
    struct reader *reader, const struct tree_node *node, struct settings_model *model)
{
    static const char *const keys[] = {"batch", "time", "pinned", NULL};

    reader_mapping(reader, node, keys);
    reader_key_name(reader, node, model->name);
    read_count(reader, node, "batch", &reader_items, &model->batch_max);
    model->time_ns = read_time(reader, node);
    model->pinned = reader_word(reader, tree_find(node, "pinned"), answers) == 1;
    model->line = node->key_line;
}

static void read_models(
    struct reader *reader, const struct tree_node *models, struct settings *settings)
{
    reader_any_mapping(reader, models);
    if (models == NULL) {
        return;
    }
    for (const struct tree_node *node = models->first; node != NULL && reader_is_good(reader);
         node = node->next) {
        if (settings->model_count == MODELS_MAX) {
            reader_fail(reader, node, "more than %d models and functions", MODELS_MAX);
            return;
        }
        read_model(reader, node, &settings->models[settings->model_count]);
        settings->model_count++;
    }
}

static void read_amounts(
    struct reader *reader, const struct tree_node *node, struct settings *settings)
{
    static const char *const isolated[] = {
        [ISOLATE_NOTHING] = "false",
        [ISOLATE_ALL] = "true",
        [ISOLATE_FUNCTIONS] = "functions",
        NULL,
    };
    const struct tree_node *memory = tree_find(node, "memory");
    const struct tree_node *slo = tree_find(node, "slo");
    const struct tree_node *time = tree_find(node, "time");
    const struct tree_node *isolate = tree_find(node, "isolate");
    uint32_t threads = 1; /* Checked, for documents that say it; there is no choice. */

    read_count(reader, node, "nodes", &nodes_range, &settings->nodes);
    read_count(reader, node, "workers", &workers_range, &settings->workers);
    read_count(reader, node, "threads", &threads_range, &threads);
    read_count(reader, node, "jobs", &jobs_range, &settings->jobs_max);
    settings->memory_bytes =
        (uint64_t)reader_quantity(reader, memory, QUANTITY_BYTES, &reader_memory);
    if (isolate != NULL) {
        settings->isolate =
            (enum settings_isolate)reader_word(reader, isolate, isolated); /* In that order. */
    }
    if (time != NULL) {
        settings->run_ns_max =
            (int64_t)reader_quantity(reader, time, QUANTITY_DURATION, &time_range);
    }
    if (slo != NULL) {
        settings->slo_ns = (int64_t)reader_quantity(reader, slo, QUANTITY_DURATION, &slo_range);
    }
}

/* Who is taken, and who goes first. */
static void read_admission(
    struct reader *reader, const struct tree_node *node, struct settings *settings)
{
    static const char *const admissions[] = {"on", "off", NULL};
    static const char *const priorities[] = {"honour", "ignore", NULL};

    settings->admits_all = reader_word(reader, tree_find(node, "admission"), admissions) == 1;
    settings->ignores_priority = reader_word(reader, tree_find(node, "priority"), priorities) == 1;
}

enum weft_status settings_read(
    const struct tree_node *node, struct settings *settings_out, struct weft_error *error)
{
    static const char *const keys[] = {
        "weft",      "nodes",  "workers",   "memory",   "threads", "device",
        "policy",    "slo",    "rows",      "jobs",     "isolate", "time",
        "functions", "models", "admission", "priority", NULL,
    };
    struct reader reader = {.error = error};
    struct settings settings;

    settings_default(&settings);
    reader_mapping(&reader, node, keys);
    reader_name(&reader, reader_need(&reader, node, "weft"), settings.name);
    read_amounts(&reader, node, &settings);
    reader_name(&reader, tree_find(node, "device"), settings.device);
    scenario_policy_text(&reader, tree_find(node, "policy"), settings.policy);
    read_rows(&reader, tree_find(node, "rows"), &settings);
    read_functions(&reader, tree_find(node, "functions"), &settings.functions);
    read_admission(&reader, node, &settings);
    read_models(&reader, tree_find(node, "models"), &settings);
    if (!reader_is_good(&reader)) {
        return reader.status;
    }
    *settings_out = settings;
    return WEFT_OK;
}
