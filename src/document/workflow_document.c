#include "document/workflow_document.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/limits.h"
#include "document/edges.h"
#include "document/ports.h"
#include "document/record.h"
#include "document/reference.h"
#include "model/builtin.h"

static const struct reader_range priority_range = {1, PRIORITY_MAX, "between 1 and 16"};

static uint32_t number_model(struct reader *reader, const struct tree_node *node)
{
    struct catalogue *catalogue = reader->context;
    char name[NAME_BYTES_MAX] = "";

    reader_name(reader, node, name);
    if (builtin_is_reserved(name)) {
        reader_fail(reader, node, "names that begin with '%s' are built in", BUILTIN_PREFIX);
    }
    if (!reader_is_good(reader)) {
        return MODEL_NONE;
    }
    const uint32_t model = catalogue_model(catalogue, name);
    if (model == MODEL_NONE) {
        reader_fail(reader, node, "more than %d models and functions", MODELS_MAX);
    }
    return model;
}

static void add_model(
    struct reader *reader, const struct tree_node *node, struct workflow_task *task, uint32_t model)
{
    if (!reader_is_good(reader)) {
        return;
    }
    for (uint32_t i = 0; i < task->model_count; i++) {
        if (task->models[i] == model) {
            reader_fail(reader, node, "model '%s' is named twice", node->text);
            return;
        }
    }
    if (task->model_count == TASK_MODELS_MAX) {
        reader_fail(
            reader, node, "task '%s' names more than %d models", task->name, TASK_MODELS_MAX);
        return;
    }
    task->models[task->model_count++] = model;
}

/* What runs, and which models it needs: either a model, or a function with its models. */
static void read_run(
    struct reader *reader, const struct tree_node *node, struct workflow_task *task)
{
    const struct tree_node *model = tree_find(node, "model");
    const struct tree_node *function = tree_find(node, "function");
    const struct tree_node *models = tree_find(node, "models");

    if ((model == NULL) == (function == NULL)) {
        reader_fail(
            reader, node, "task '%s' wants either 'model' or 'function'%s", task->name,
            model == NULL ? "" : ", not both");
        return;
    }
    if (model != NULL && models != NULL) {
        reader_fail(reader, models, "'models' goes with 'function', not with 'model'");
        return;
    }
    task->run = number_model(reader, model != NULL ? model : function);
    if (model != NULL) {
        add_model(reader, model, task, task->run);
    }
    if (models == NULL) {
        return;
    }
    reader_list(reader, models);
    READER_EACH (item, reader, models) {
        add_model(reader, item, task, number_model(reader, item));
    }
}

static uint32_t read_items(struct reader *reader, const struct tree_node *node)
{
    return (uint32_t)reader_quantity(reader, node, QUANTITY_COUNT, &reader_items);
}

/* A number of items, or the two ends of a range. */
static void read_gives(struct reader *reader, const struct tree_node *node, void *record)
{
    struct items_rule *rule = &((struct task_entry *)record)->task.gives;

    if (node->kind != TREE_LIST) {
        rule->low = read_items(reader, node);
        rule->high = rule->low;
        return;
    }
    if (node->child_count != 2) {
        reader_fail(reader, node, "'gives' wants a number or a range such as '[1, 20]'");
        return;
    }
    rule->low = read_items(reader, node->first);
    rule->high = read_items(reader, node->first->next);
    if (rule->low > rule->high) {
        reader_fail(reader, node, "'gives' is a range from %u down to %u", rule->low, rule->high);
    }
}

/* `model` or `function`, and its `models`. */
static void write_run(struct writer *writer, const void *record)
{
    const struct workflow_task *task = &((const struct task_entry *)record)->task;
    const struct catalogue *catalogue = writer->context;
    const bool is_model = task->model_count == 1 && task->models[0] == task->run;

    writer_key(writer, is_model ? "model" : "function");
    writer_text(writer, catalogue->models[task->run]);
    if (is_model || task->model_count == 0) {
        return;
    }
    writer_key(writer, "models");
    writer_open_list(writer, WRITER_INLINE);
    for (uint32_t i = 0; i < task->model_count; i++) {
        writer_text(writer, catalogue->models[task->models[i]]);
    }
    writer_close(writer);
}

static void write_gives(struct writer *writer, const void *record)
{
    const struct items_rule *rule = &((const struct task_entry *)record)->task.gives;

    if (rule->low == 0 && rule->high == 0) {
        return;
    }
    writer_key(writer, "gives");
    if (rule->low == rule->high) {
        writer_quantity(writer, QUANTITY_COUNT, rule->low);
        return;
    }
    writer_open_list(writer, WRITER_INLINE);
    writer_quantity(writer, QUANTITY_COUNT, rule->low);
    writer_quantity(writer, QUANTITY_COUNT, rule->high);
    writer_close(writer);
}

const struct field workflow_task_fields[] = {
    {"model", .write = write_run, .form = "name",
     .help = "the model that runs; it must be resident while it does", .left_out = "or `function`"},
    {"function", .form = "name", .help = "the function that runs, instead of a model",
     .left_out = "or `model`"},
    {"models", .form = "list of names",
     .help = "with `function`: the models, at most four, that must be resident while it runs",
     .left_out = "none"},
    {"after", .write = edges_write_after, .form = "list of names, or one",
     .help = "the tasks whose outputs it takes; `input` is the request",
     .left_out = "the request alone"},
    {"in", .write = ports_write_in, .form = "mapping from ports to `task.output`",
     .help =
         "the same, port by port; `inputs.name` is a part of the request. Ports and outputs are "
         "called as the model or function calls its tensors"},
    {"bytes", .write = edges_write_bytes,
     .form = "size, `60KB per item`, or mapping from producers to these",
     .help = "what crosses each edge into the task; `per item` counts the items of the producer's "
             "output. `inputs` is the request: of one without producers, what it takes of it",
     .left_out = "0"},
    {"gives", .read = read_gives, .write = write_gives, .form = "number, or `[low, high]`",
     .help = "how many items its output has; a range is drawn from uniformly",
     .left_out = "as many as the input that has most"},
    {"work", FIELD_NUMBER(struct task_entry, task.work),
     .range = FIELD_RANGE(0.001, 1000, "between 0.001 and 1000"), .fallback = "1",
     .help = "how many times as long as the profile says it runs, in simulations: for requests "
             "that are more or less work than others. Policies do not know it"},
    {0},
};

static void read_task(
    struct reader *reader, const struct tree_node *node, struct workflow *workflow)
{
    struct task_entry entry = {.number = 0};
    struct workflow_task *task = &entry.task;

    reader_key_name(reader, node, task->name);
    if (strcmp(task->name, REFERENCE_INPUT) == 0 || strcmp(task->name, REFERENCE_INPUTS) == 0) {
        reader_fail(reader, node, "'%s' is the request, not the name of a task", task->name);
    }
    if (strncmp(task->name, BUILTIN_ANSWER_TASK, sizeof(BUILTIN_ANSWER_TASK) - 1) == 0) {
        reader_fail(reader, node, "'%s' is part of the answer, not the name of a task", task->name);
    }
    const bool has_name = reader_is_good(reader);
    record_read(reader, node, workflow_task_fields, &entry);
    if (reader_is_good(reader)) {
        read_run(reader, node, task);
    }
    if (has_name) { /* One that is wrong is still a task that others may name. */
        const enum weft_status status = workflow_add_task(workflow, task, &entry.number);
        ASSERT(status == WEFT_OK); /* Names are different, and there is room. */
    }
}

static void read_tasks(struct reader *reader, const struct tree_node *tasks, void *record)
{
    reader_any_mapping(reader, tasks);
    reader_filled(reader, tasks);
    READER_EACH (task, reader, tasks) {
        if (((struct workflow *)record)->task_count == WORKFLOW_TASKS_MAX) {
            reader_fail(reader, task, "more than %d tasks", WORKFLOW_TASKS_MAX);
            return;
        }
        read_task(reader, task, record);
    }
}

static void write_tasks(struct writer *writer, const void *record)
{
    const struct workflow *workflow = record;

    writer_key(writer, "tasks");
    writer_open_mapping(writer, WRITER_LINES);
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        const struct task_entry entry = {
            .task = workflow->tasks[i], .workflow = workflow, .number = i};
        if (!reference_is_added(workflow, writer->context, i)) {
            writer_key(writer, entry.task.name);
            record_write_inline(writer, workflow_task_fields, &entry);
        }
    }
    writer_close(writer);
}

/* As clients count: 1 is the highest. */
static void read_priority(struct reader *reader, const struct tree_node *node, void *record)
{
    struct workflow *workflow = record;
    const double priority = reader_quantity(reader, node, QUANTITY_COUNT, &priority_range);

    workflow->priority = PRIORITY_MAX + 1 - (uint32_t)priority;
}

static void write_priority(struct writer *writer, const void *record)
{
    const struct workflow *workflow = record;

    if (workflow->priority > 0) {
        writer_key(writer, "priority");
        writer_quantity(writer, QUANTITY_COUNT, PRIORITY_MAX + 1 - workflow->priority);
    }
}

const struct field workflow_fields[] = {
    {"workflow", FIELD_NAME(struct workflow, name), .needed = true, .help = "its name"},
    {"slo", FIELD_DURATION(struct workflow, slo_ns),
     .range = FIELD_RANGE(1e3, 8.64e14, "between 1us and 240h"),
     .help = "the time from arrival to the last result", .left_out = "best effort"},
    {"priority", .read = read_priority, .write = write_priority, .form = "number, between 1 and 16",
     .help = "of requests that say none: 1 is the highest", .left_out = "after all of these"},
    {"input", FIELD_BYTES(struct workflow, input_bytes), .range = &reader_edge_bytes,
     .help = "what a request brings"},
    {"inputs", .write = ports_write_inputs, .form = "mapping from names to mappings",
     .help = "the parts of a request: see below", .left_out = "none are declared"},
    {"tasks", .read = read_tasks, .write = write_tasks, .needed = true,
     .form = "mapping from names to mappings", .help = "its tasks: see below"},
    {"outputs", .write = ports_write_outputs,
     .form = "mapping from names to `task.output`, or to mappings",
     .help = "the parts of the answer; a mapping declares its type and shape, and a job that makes "
             "another fails: see below",
     .left_out = "what tasks make that have no consumers"},
    {0},
};

static void seal(struct reader *reader, const struct tree_node *node, struct workflow *workflow)
{
    struct weft_error cause = {0};

    if (!reader_is_good(reader)) {
        return;
    }
    /* Its cycles have been looked for already, with their lines. */
    if (workflow_seal(workflow, &cause) != WEFT_OK) {
        reader_fail(reader, node, "%s", cause.message);
    }
}

enum weft_status workflow_read(
    const struct tree_node *node, struct catalogue *catalogue, struct workflow **workflow_out,
    struct weft_error *error)
{
    struct reader reader = {.error = error, .context = catalogue};
    struct workflow *workflow = workflow_create("");
    const struct tree_node *tasks = tree_find(node, "tasks");
    const uint32_t mark = reader_mark(&reader, node);

    record_read(&reader, node, workflow_fields, workflow);
    if (tasks != NULL && workflow->task_count > 0 && workflow->task_count == tasks->child_count) {
        reader_go_on(&reader);
    }
    edges_read(&reader, node, catalogue, workflow);
    reader_settle(&reader, mark);
    seal(&reader, node, workflow);
    if (!reader_is_good(&reader)) {
        workflow_destroy(workflow);
        return reader.status;
    }
    *workflow_out = workflow;
    return WEFT_OK;
}

void workflow_write(
    struct writer *writer, const struct workflow *workflow, const struct catalogue *catalogue)
{
    const void *context = writer->context;

    ASSERT(workflow->sealed);
    writer->context = catalogue;
    writer_open_mapping(writer, WRITER_LINES);
    record_write(writer, workflow_fields, workflow);
    writer_close(writer);
    writer->context = context;
}

void workflow_print(const struct workflow *workflow, const struct catalogue *catalogue, FILE *file)
{
    struct writer writer;

    writer_init(&writer, file, WRITER_YAML);
    workflow_write(&writer, workflow, catalogue);
}
