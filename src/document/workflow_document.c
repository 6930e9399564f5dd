#include "document/workflow_document.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/limits.h"
#include "document/edges.h"
#include "document/reader.h"
#include "document/reference.h"
#include "model/builtin.h"

static const struct reader_range slo_range = {1e3, 8.64e14, "between 1us and 240h"};
static const struct reader_range priority_range = {1, PRIORITY_MAX, "between 1 and 16"};

static uint32_t number_model(
    struct reader *reader, struct catalogue *catalogue, const struct tree_node *node)
{
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
    struct reader *reader, const struct tree_node *node, struct catalogue *catalogue,
    struct workflow_task *task)
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
    task->run = number_model(reader, catalogue, model != NULL ? model : function);
    if (model != NULL) {
        add_model(reader, model, task, task->run);
    }
    if (models == NULL) {
        return;
    }
    reader_list(reader, models);
    for (const struct tree_node *item = models->first; item != NULL && reader_is_good(reader);
         item = item->next) {
        add_model(reader, item, task, number_model(reader, catalogue, item));
    }
}

static uint32_t read_items(struct reader *reader, const struct tree_node *node)
{
    return (uint32_t)reader_quantity(reader, node, QUANTITY_COUNT, &reader_items);
}

/* A number of items, or the two ends of a range. */
static struct items_rule read_gives(struct reader *reader, const struct tree_node *node)
{
    struct items_rule rule = {0};

    if (node == NULL) {
        return rule;
    }
    if (node->kind != TREE_LIST) {
        rule.low = read_items(reader, node);
        rule.high = rule.low;
        return rule;
    }
    if (node->child_count != 2) {
        reader_fail(reader, node, "'gives' wants a number or a range such as '[1, 20]'");
        return rule;
    }
    rule.low = read_items(reader, node->first);
    rule.high = read_items(reader, node->first->next);
    if (rule.low > rule.high) {
        reader_fail(reader, node, "'gives' is a range from %u down to %u", rule.low, rule.high);
    }
    return rule;
}

static void read_task(
    struct reader *reader, const struct tree_node *node, struct catalogue *catalogue,
    struct workflow *workflow)
{
    static const char *const keys[] = {
        "model", "function", "models", "after", "in", "bytes", "gives", NULL,
    };
    struct workflow_task task = {0};
    uint32_t number = 0;

    reader_key_name(reader, node, task.name);
    if (strcmp(task.name, REFERENCE_INPUT) == 0 || strcmp(task.name, REFERENCE_INPUTS) == 0) {
        reader_fail(reader, node, "'%s' is the request, not the name of a task", task.name);
    }
    if (strncmp(task.name, BUILTIN_ANSWER_TASK, sizeof(BUILTIN_ANSWER_TASK) - 1) == 0) {
        reader_fail(reader, node, "'%s' is of the answer, not the name of a task", task.name);
    }
    reader_mapping(reader, node, keys);
    if (!reader_is_good(reader)) {
        return;
    }
    read_run(reader, node, catalogue, &task);
    task.gives = read_gives(reader, tree_find(node, "gives"));
    if (!reader_is_good(reader)) {
        return;
    }
    if (workflow_add_task(workflow, &task, &number) != WEFT_OK) {
        reader_fail(reader, node, "more than %d tasks", WORKFLOW_TASKS_MAX);
    }
}

static void read_tasks(
    struct reader *reader, const struct tree_node *tasks, struct catalogue *catalogue,
    struct workflow *workflow)
{
    reader_any_mapping(reader, tasks);
    if (!reader_is_good(reader)) {
        return;
    }
    if (tasks->child_count == 0) {
        reader_fail(reader, tasks, "'tasks' is empty");
    }
    for (const struct tree_node *task = tasks->first; task != NULL && reader_is_good(reader);
         task = task->next) {
        read_task(reader, task, catalogue, workflow);
    }
}

static void read_body(
    struct reader *reader, const struct tree_node *node, struct catalogue *catalogue,
    struct workflow *workflow)
{
    const struct tree_node *slo = tree_find(node, "slo");
    const struct tree_node *priority = tree_find(node, "priority");
    const struct tree_node *input = tree_find(node, "input");

    if (slo != NULL) {
        workflow->slo_ns = (int64_t)reader_quantity(reader, slo, QUANTITY_DURATION, &slo_range);
    }
    if (priority != NULL) { /* As clients count: 1 is the highest. */
        workflow->priority =
            PRIORITY_MAX + 1 -
            (uint32_t)reader_quantity(reader, priority, QUANTITY_COUNT, &priority_range);
    }
    if (input != NULL) {
        workflow->input_bytes =
            (uint64_t)reader_quantity(reader, input, QUANTITY_BYTES, &reader_edge_bytes);
    }
    read_tasks(reader, reader_need(reader, node, "tasks"), catalogue, workflow);
    edges_read(reader, node, catalogue, workflow);
}

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
    static const char *const keys[] = {
        "workflow", "slo", "priority", "input", "inputs", "tasks", "outputs", NULL,
    };
    struct reader reader = {.error = error};
    char name[NAME_BYTES_MAX] = "";

    reader_mapping(&reader, node, keys);
    reader_name(&reader, reader_need(&reader, node, "workflow"), name);
    if (!reader_is_good(&reader)) {
        return reader.status;
    }
    struct workflow *workflow = workflow_create(name);
    read_body(&reader, node, catalogue, workflow);
    seal(&reader, node, workflow);
    if (!reader_is_good(&reader)) {
        workflow_destroy(workflow);
        return reader.status;
    }
    *workflow_out = workflow;
    return WEFT_OK;
}

enum weft_status workflow_load(
    const char *path, struct catalogue *catalogue, struct workflow **workflow_out,
    struct weft_error *error)
{
    struct tree *tree = NULL;

    enum weft_status status = tree_load(path, &tree, error);
    if (status != WEFT_OK) {
        return status;
    }
    status = workflow_read(tree->root, catalogue, workflow_out, error);
    tree_destroy(tree);
    return status;
}
