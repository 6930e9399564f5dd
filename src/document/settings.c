#include "document/settings.h"

#include <string.h>

#include "base/assert.h"
#include "document/policy_document.h"
#include "document/record.h"

static const struct reader_range row_range = {1e3, 3600e9, "between 1us and 1h"};
static const struct reader_range time_range = {1e6, 8.64e14, "between 1ms and 240h"};

static const char *const isolates[] = {
    [ISOLATE_NOTHING] = "false",
    [ISOLATE_ALL] = "true",
    [ISOLATE_FUNCTIONS] = "functions",
    NULL,
};
static const char *const sandboxes[] = {"true", "false", NULL}; /* The second is open. */
static const char *const admissions[] = {"on", "off", NULL};
static const char *const shares[] = {"streams", "processors", "priorities", NULL};
static const char *const priorities[] = {"honour", "ignore", NULL};

static void read_models(struct reader *reader, const struct tree_node *node, void *record)
{
    struct settings *settings = record;

    reader_any_mapping(reader, node);
    READER_EACH (child, reader, node) {
        struct settings_model *model = &settings->models[settings->model_count];
        if (settings->model_count == MODELS_MAX) {
            reader_fail(reader, child, "more than %d models and functions", MODELS_MAX);
            return;
        }
        reader_key_name(reader, child, model->name);
        model->line = child->key_line;
        record_read(reader, child, settings_model_fields, model);
        settings->model_count++;
    }
}

/* "16": so many nodes, under any names. No name in a document begins with '#'. */
static void number_members(
    struct reader *reader, const struct tree_node *node, struct settings *settings)
{
    static const struct reader_range range = {1, SETTINGS_MEMBERS_MAX, "between 1 and 256"};
    const double count = reader_quantity(reader, node, QUANTITY_COUNT, &range);
    if (!reader_is_good(reader)) {
        return;
    }
    settings->has_open_members = true;
    settings->member_count = (uint32_t)count;
    for (uint32_t i = 0; i < settings->member_count; i++) {
        (void)snprintf(settings->members[i], NAME_BYTES_MAX, "#%u", i + 1);
    }
}

static void read_members(struct reader *reader, const struct tree_node *node, void *record)
{
    struct settings *settings = record;

    if (node->kind == TREE_SCALAR) {
        number_members(reader, node, settings);
        return;
    }
    reader_list(reader, node);
    reader_filled(reader, node);
    READER_EACH (child, reader, node) {
        if (settings->member_count == SETTINGS_MEMBERS_MAX) {
            reader_fail(reader, child, "more than %d members", SETTINGS_MEMBERS_MAX);
            return;
        }
        char *name = settings->members[settings->member_count];
        reader_name(reader, child, name);
        for (uint32_t i = 0; i < settings->member_count; i++) {
            if (reader_is_good(reader) && strcmp(settings->members[i], name) == 0) {
                reader_fail(reader, child, "member '%s' is named twice", name);
            }
        }
        settings->member_count++;
    }
}

const struct field settings_rows_fields[] = {
    {"load", FIELD_DURATION(struct settings_rows, load_ns), .range = &row_range, .always = true,
     .fallback = "10ms", .help = "what workers have to do"},
    {"cache", FIELD_DURATION(struct settings_rows, cache_ns), .range = &row_range, .always = true,
     .fallback = "100ms", .help = "which models they hold"},
    {0},
};

const struct field settings_functions_fields[] = {
    {"time", FIELD_DURATION(struct settings_functions, time_ns), .range = &time_range,
     .help = "how long a call may take, without the models that it runs; then its process is ended "
             "and the task fails. If this is longer than the `time` of a batch, raise that, too",
     .left_out = "`30s`"},
    {"memory", FIELD_BYTES(struct settings_functions, memory_bytes),
     .range = FIELD_RANGE(64e6, 1e15, "between 64MB and 1000TB"),
     .help = "of one process; it gets no more. One that has kept a quarter of this since its first "
             "call is replaced after a call",
     .left_out = "`4GiB`"},
    {"output", FIELD_BYTES(struct settings_functions, output_bytes),
     .range = FIELD_RANGE(1e6, 1e12, "between 1MB and 1TB"),
     .help = "of a call, all outputs together", .left_out = "`1GiB`"},
    {"sandbox", FIELD_FLAG(struct settings_functions, is_open), .words = sandboxes,
     .help = "`true`: they can reach no network, no other process and no files but their own, "
             "[FUNCTIONS.md](FUNCTIONS.md#what-a-function-may-do); `false`: what the server's user "
             "may"},
    {0},
};

const struct field settings_gpus_fields[] = {
    {"count", FIELD_COUNT(struct settings_gpus, count),
     .range = FIELD_RANGE(0, 64, "between 0 and 64"), .fallback = "64",
     .help = "how many are used at most, the first of them; `0`: none"},
    {"memory", FIELD_BYTES(struct settings_gpus, memory_bytes), .range = &reader_memory,
     .help = "of each, for models", .left_out = "what it has"},
    {"workers", FIELD_COUNT(struct settings_gpus, workers),
     .range = FIELD_RANGE(1, 16, "between 1 and 16"), .fallback = "1",
     .help =
         "how many each is cut into: each has an equal part of the memory, with its own copy of "
         "every model that it holds, and an equal part of the units. As many as a GPU has units, "
         "at most"},
    {"spin", FIELD_DURATION(struct settings_gpus, spin_ns),
     .range = FIELD_RANGE(0, 1e9, "between 0 and 1s"), .fallback = "2ms",
     .help =
         "how long the server's thread polls for the end of a batch there before it sleeps, and "
         "half as long for the next one if others came that soon; a wake-up takes tens of "
         "microseconds"},
    {"shares", FIELD_WORD(struct settings_gpus, shares), .words = shares, .fallback = "streams",
     .help = "what batches that run at the same time share a GPU by: streams, which use whatever "
             "processors are idle; processors of their own, which keep others out; or streams of "
             "which those of shorter runs get processors first"},
    {0},
};

const struct field settings_model_fields[] = {
    {"batch", FIELD_COUNT(struct settings_model, batch_max), .range = &reader_items,
     .help = "how many items run together at most", .left_out = "no limit"},
    {"time", FIELD_DURATION(struct settings_model, time_ns), .range = &time_range,
     .help = "of a function: how long a call may take, instead of the `time` of all functions",
     .left_out = "as all functions"},
    {"pinned", FIELD_FLAG(struct settings_model, pinned), .help = "as in a profile"},
    {0},
};

const struct field settings_fields[] = {
    {"weft", FIELD_NAME(struct settings, name), .needed = true, .help = "the name of this server"},
    {"nodes", FIELD_COUNT(struct settings, nodes), .range = FIELD_RANGE(1, 64, "between 1 and 64"),
     .fallback = "1", .help = "nodes in this process, which share nothing but the machine"},
    {"members", .read = read_members, .form = "list of names, or a number",
     .help = "every node that may join the cluster, also those that are not there yet, or how many "
             "there may be at a time, under any names; for `weft serve --cluster`, where each is a "
             "process of its own. All have the `workers` and `memory` that are said here, unless "
             "there are `slots`: [CLUSTER](CLUSTER.md)"},
    {"slots", FIELD_COUNT(struct settings, slots),
     .range = FIELD_RANGE(1, 256, "between 1 and 256"),
     .help = "how many workers a node of the cluster may have, with those of its GPUs; nodes then "
             "have `workers`, `memory`, `device` and `gpus` of their own: "
             "[CLUSTER](CLUSTER.md#machines-that-differ)",
     .left_out = "all nodes have the same"},
    {"workers", FIELD_COUNT(struct settings, workers),
     .range = FIELD_RANGE(1, 64, "between 1 and 64"),
     .help = "workers of each node; each runs one batch at a time, on one core",
     .left_out = "one for every core, over all nodes"},
    {"threads", FIELD_COUNT(struct settings, threads),
     .range = FIELD_RANGE(1, 1, "1: a batch runs on one thread"), .fallback = "1",
     .help = "of each worker; a batch of ONNX Runtime always runs on one thread here"},
    {"memory", FIELD_BYTES(struct settings, memory_bytes), .range = &reader_memory,
     .help = "of each worker, for models and workspaces. Workers of a node put theirs together: a "
             "model takes its room once, whichever of them have it loaded",
     .left_out = "all workers together: half of the machine's, or of its container's"},
    {"device", FIELD_NAME(struct settings, device),
     .help = "the kind of device, as profiles call it",
     .left_out = "the processor's name; with `--emulated` the first device of the first profile"},
    {"policy", FIELD_PART(struct settings, policy), .read = policy_read, .form = POLICY_FORM,
     .fallback = SETTINGS_POLICY_DEFAULT,
     .help = "how decisions are made: [POLICIES](POLICIES.md)"},
    {"slo", FIELD_DURATION(struct settings, slo_ns),
     .range = FIELD_RANGE(1e3, 8.64e14, "between 1us and 240h"),
     .help = "of workflows that say none", .left_out = "best effort"},
    {"rows", FIELD_RECORD(struct settings, rows, settings_rows_fields), .form = "`{load, cache}`",
     .help = "how often workers tell the others of their load and of their cache",
     .left_out = "`10ms`, `100ms`"},
    {"jobs", FIELD_COUNT(struct settings, jobs_max),
     .range = FIELD_RANGE(1, 1e9, "between 1 and 1000000000"),
     .help = "how many jobs a node takes at once; more are refused", .left_out = "no limit"},
    {"admission", FIELD_FLAG(struct settings, admits_all), .words = admissions,
     .help = "`on`: requests that could not be answered in time are refused at once, by the policy "
             "`deadline` unless `policy` names another for `admit`; `off`: all are taken"},
    {"priority", FIELD_FLAG(struct settings, ignores_priority), .words = priorities,
     .help = "of clients: `honour` it, or `ignore` it; that of workflows counts either way"},
    {"isolate", FIELD_WORD(struct settings, isolate), .words = isolates, .fallback = "true",
     .help =
         "`true`: models run in a process for each worker, and functions in others: a crash "
         "there hurts nothing else; `functions`: only functions do; `false`: everything runs in "
         "the server's process, and can end it"},
    {"time", FIELD_DURATION(struct settings, run_ns_max), .range = &time_range,
     .help = "how long a batch may run in the process of its worker; a load may take ten times as "
             "long. "
             "Then that process is ended and replaced, and the batch or load fails",
     .left_out = "`60s`"},
    {"functions", FIELD_RECORD(struct settings, functions, settings_functions_fields),
     .help = "what functions in processes of their own may use: see below"},
    {"gpus", FIELD_RECORD(struct settings, gpus, settings_gpus_fields),
     .help = "NVIDIA GPUs of this machine, for models that have a form for them: see below",
     .left_out = "all that there are"},
    {"models", .read = read_models,
     .form = "mapping from names of models and functions to mappings",
     .help = "what holds for one of them: see below"},
    {0},
};

void settings_default(struct settings *settings_out)
{
    struct reader reader = {.error = NULL};

    *settings_out = (struct settings){.nodes = 0};
    record_read(&reader, /* node */ NULL, settings_fields, settings_out);
    ASSERT(reader_is_good(&reader));
}

enum weft_status settings_read(
    const struct tree_node *node, struct settings *settings_out, struct weft_error *error)
{
    struct reader reader = {.error = error};
    struct settings settings = {.nodes = 0};

    record_read(&reader, node, settings_fields, &settings);
    if (reader_is_good(&reader)) {
        *settings_out = settings;
    }
    return reader.status;
}
