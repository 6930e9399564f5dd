#include "document/served_workflow.h"

#include <string.h>

#include "document/reader.h"
#include "document/reference.h"

struct check {
    struct reader *reader;
    const struct workflow *workflow; /* NULL: the document is wrong in itself. */
    const struct repository_scan *scan;
};

/* What is no name has been refused already. */
static bool is_named(const struct tree_node *node)
{
    struct reader reader = {.error = NULL};
    char name[NAME_BYTES_MAX];

    if (node == NULL) {
        return false;
    }
    struct tree_node unheard = *node;
    unheard.tree = NULL;
    reader_name(&reader, &unheard, name);
    return reader_is_good(&reader);
}

static void check_model(const struct check *check, const struct tree_node *node)
{
    const char *names[MODELS_MAX + 1] = {NULL};
    char quoted[READER_QUOTE_BYTES];
    char suggestion[READER_QUOTE_BYTES];

    if (!is_named(node) || repository_scan_find_model(check->scan, node->text) != NULL) {
        return;
    }
    for (uint32_t i = 0; i < check->scan->model_count; i++) {
        names[i] = check->scan->models[i].name;
    }
    reader_fail(
        check->reader, node, "model %s is not in the repository%s",
        reader_quote_text(quoted, node->text), reader_suggestion(node->text, names, suggestion));
}

static void check_function(const struct check *check, const struct tree_node *node)
{
    struct scanned_function found;
    if (!is_named(node)) {
        return;
    }
    const char *dot = strrchr(node->text, '.');
    if (dot == NULL || dot == node->text || dot[1] == '\0') {
        reader_fail(
            check->reader, node,
            "a function is called FILE.NAME, as in functions/FILE.so, not '%s'", node->text);
        return;
    }
    if (!repository_scan_find_function(check->scan, node->text, &found)) {
        reader_fail(
            check->reader, node, "function '%s' wants functions/%.*s.so, which is not there",
            node->text, (int)(dot - node->text), node->text);
    }
}

static void check_task(const struct check *check, const struct tree_node *node)
{
    const struct tree_node *model = tree_find(node, "model");
    const struct tree_node *function = tree_find(node, "function");
    const struct tree_node *models = tree_find(node, "models");

    check_model(check, model);
    check_function(check, function);
    READER_EACH (item, check->reader, models) {
        check_model(check, item);
    }
    reader_go_on(check->reader);
    if (check->workflow != NULL && tree_find(node, "in") == NULL) {
        reader_fail(
            check->reader, node,
            "task '%s' does not say what it takes; add 'in: {PORT: TASK.OUTPUT}', or '%s.NAME' for "
            "a part of the request",
            node->key, REFERENCE_INPUTS);
    }
}

/* The first task without consumers: a likely result. */
static const char *find_sink(const struct workflow *workflow)
{
    uint32_t i = 0;
    while (workflow->tasks[i].sink == TASK_NONE) {
        i++;
    }
    return workflow->tasks[i].name;
}

static void check_ends(const struct check *check, const struct tree_node *node)
{
    const struct tree_node *outputs = tree_find(node, "outputs");

    if (tree_find(node, "inputs") == NULL) {
        reader_fail(
            check->reader, node,
            "'inputs' is missing; add what a request brings, such as 'inputs: {x: {dtype: FP32, "
            "shape: [-1, 3]}}'");
    }
    if (outputs == NULL || outputs->child_count == 0) {
        reader_fail(
            check->reader, outputs == NULL ? node : outputs,
            "'outputs' is %s; add what a job gives back, such as 'outputs: {y: %s.y}'",
            outputs == NULL ? "missing" : "empty", find_sink(check->workflow));
    }
}

enum weft_status served_workflow_check(
    const struct tree_node *node, const struct workflow *workflow,
    const struct repository_scan *scan, struct weft_error *error)
{
    struct reader reader = {.error = error};
    const struct check check = {.reader = &reader, .workflow = workflow, .scan = scan};

    const uint32_t mark = reader_mark(&reader, node);
    READER_EACH (task, &reader, tree_find(node, "tasks")) {
        check_task(&check, task);
    }
    reader_go_on(&reader);
    if (workflow != NULL) {
        check_ends(&check, node);
    }
    reader_settle(&reader, mark);
    return reader.status;
}
