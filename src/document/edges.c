#include "document/edges.h"

#include <stdio.h>
#include <string.h>

#include "document/cycle.h"

enum { AMOUNT_BYTES_MAX = 64 };

/* Everything that one task's edges are read with. */
struct scope {
    struct reader *reader;
    struct workflow *workflow;
    const struct tree_node *inputs; /* The declared parts of a request; NULL if none are. */
    uint32_t task;
};

static const char *suggest_task(
    const struct workflow *workflow, const char *text, char out[READER_QUOTE_BYTES])
{
    const char *names[WORKFLOW_TASKS_MAX + 1] = {NULL};

    for (uint32_t i = 0; i < workflow->task_count; i++) {
        names[i] = workflow->tasks[i].name;
    }
    return reader_suggestion(text, names, out);
}

/* TASK_NONE, and the reader has failed, if there is no such task. */
static uint32_t find_task(const struct scope *scope, const struct tree_node *node, const char *name)
{
    char quoted[READER_QUOTE_BYTES];
    char suggestion[READER_QUOTE_BYTES];
    const uint32_t task = workflow_find_task(scope->workflow, name);

    if (task == TASK_NONE) {
        reader_fail(
            scope->reader, node, "%s is not a task%s", reader_quote_text(quoted, name),
            suggest_task(scope->workflow, name, suggestion));
    }
    return task;
}

/* The task of "task.output"; TASK_NONE for a part of the request, and on failure. */
static uint32_t read_reference(const struct scope *scope, const struct tree_node *node)
{
    char quoted[READER_QUOTE_BYTES];
    char name[NAME_BYTES_MAX];
    const char *text = reader_text(scope->reader, node);
    const char *dot = strrchr(text, '.');

    if (!reader_is_good(scope->reader)) {
        return TASK_NONE;
    }
    const size_t length = dot == NULL ? 0 : (size_t)(dot - text);
    if (length == 0 || length >= sizeof(name) || dot[1] == '\0') {
        reader_fail(
            scope->reader, node, "'%s' wants 'task.output' or 'inputs.name', not %s", node->key,
            reader_quote(quoted, node));
        return TASK_NONE;
    }
    memcpy(name, text, length);
    name[length] = '\0';
    if (strcmp(name, EDGES_INPUTS) != 0) {
        return find_task(scope, node, name);
    }
    if (scope->inputs != NULL && tree_find(scope->inputs, dot + 1) == NULL) {
        reader_fail(
            scope->reader, node, "%s is not among the inputs", reader_quote_text(quoted, dot + 1));
    }
    return TASK_NONE;
}

/* Make @from a producer of the task at hand. @twice: whether it may be one already. */
static void link_task(
    const struct scope *scope, const struct tree_node *node, uint32_t from, bool twice)
{
    const struct workflow_edge edge = {.from = from, .to = scope->task};
    const char *name = scope->workflow->tasks[scope->task].name;

    const enum weft_status status = workflow_add_edge(scope->workflow, &edge);
    if (status == WEFT_INVALID) {
        reader_fail(scope->reader, node, "task '%s' comes after itself", name);
    } else if (status == WEFT_LIMIT) {
        reader_fail(scope->reader, node, "more than %d edges", WORKFLOW_EDGES_MAX);
    } else if (status == WEFT_EXISTS && !twice) {
        reader_fail(
            scope->reader, node, "task '%s' comes after '%s' twice", name,
            scope->workflow->tasks[from].name);
    }
}

static void read_producer(const struct scope *scope, const struct tree_node *node)
{
    const char *text = reader_text(scope->reader, node);

    if (!reader_is_good(scope->reader) || strcmp(text, EDGES_INPUT) == 0) {
        return;
    }
    const uint32_t from = find_task(scope, node, text);
    if (from != TASK_NONE) {
        link_task(scope, node, from, /* twice */ false);
    }
}

static void read_after(const struct scope *scope, const struct tree_node *after)
{
    if (after == NULL) {
        return;
    }
    if (after->kind == TREE_SCALAR) { /* A single producer needs no brackets. */
        read_producer(scope, after);
        return;
    }
    reader_list(scope->reader, after);
    for (const struct tree_node *item = after->first; item != NULL && reader_is_good(scope->reader);
         item = item->next) {
        read_producer(scope, item);
    }
}

static void read_in(const struct scope *scope, const struct tree_node *in)
{
    if (in == NULL) {
        return;
    }
    reader_any_mapping(scope->reader, in);
    for (const struct tree_node *port = in->first; port != NULL && reader_is_good(scope->reader);
         port = port->next) {
        const uint32_t from = read_reference(scope, port);
        if (from != TASK_NONE) {
            link_task(scope, port, from, /* twice */ true);
        }
    }
}

/* "3MB", or "60KB per item". */
static void read_amount(
    struct reader *reader, const struct tree_node *node, struct workflow_edge *amount_out)
{
    static const char suffix[] = " per item";
    struct tree_node amount = *node;
    char text[AMOUNT_BYTES_MAX];
    const size_t length = strlen(node->text);
    const size_t tail = sizeof(suffix) - 1;

    amount_out->per_item = length > tail && length - tail < sizeof(text) &&
                           strcmp(node->text + length - tail, suffix) == 0;
    if (amount_out->per_item) {
        (void)snprintf(text, sizeof(text), "%.*s", (int)(length - tail), node->text);
        amount.text = text;
    }
    amount_out->bytes =
        (uint64_t)reader_quantity(reader, &amount, QUANTITY_BYTES, &reader_edge_bytes);
}

static void set_amount(struct workflow_edge *edge, const struct workflow_edge *amount)
{
    edge->bytes = amount->bytes;
    edge->per_item = amount->per_item;
}

/* One amount for every edge into the task at hand. */
static void read_amount_of_all(const struct scope *scope, const struct tree_node *bytes)
{
    struct workflow_edge amount = {0};
    bool is_used = false;

    read_amount(scope->reader, bytes, &amount);
    for (uint32_t i = 0; i < scope->workflow->edge_count; i++) {
        if (scope->workflow->edges[i].to == scope->task) {
            set_amount(&scope->workflow->edges[i], &amount);
            is_used = true;
        }
    }
    if (!is_used) {
        reader_fail(
            scope->reader, bytes, "task '%s' has no producer; the request's bytes are 'input'",
            scope->workflow->tasks[scope->task].name);
    }
}

static void read_amount_of_one(const struct scope *scope, const struct tree_node *bytes)
{
    const uint32_t from = find_task(scope, bytes, bytes->key);

    if (from == TASK_NONE) {
        return;
    }
    for (uint32_t i = 0; i < scope->workflow->edge_count; i++) {
        struct workflow_edge *edge = &scope->workflow->edges[i];
        if (edge->to == scope->task && edge->from == from) {
            struct workflow_edge amount = {0};
            read_amount(scope->reader, bytes, &amount);
            set_amount(edge, &amount);
            return;
        }
    }
    reader_fail(
        scope->reader, bytes, "task '%s' does not come after '%s'",
        scope->workflow->tasks[scope->task].name, bytes->key);
}

static void read_bytes(const struct scope *scope, const struct tree_node *bytes)
{
    if (bytes == NULL || !reader_is_good(scope->reader)) {
        return;
    }
    if (bytes->kind != TREE_MAPPING) {
        read_amount_of_all(scope, bytes);
        return;
    }
    for (const struct tree_node *one = bytes->first; one != NULL && reader_is_good(scope->reader);
         one = one->next) {
        read_amount_of_one(scope, one);
    }
}

/* What a request has, and what a job gives: checked, but only edges are kept. */
static void check_ends(const struct scope *scope, const struct tree_node *outputs)
{
    static const char *const keys[] = {"dtype", "shape", NULL};

    reader_any_mapping(scope->reader, scope->inputs);
    for (const struct tree_node *input = scope->inputs == NULL ? NULL : scope->inputs->first;
         input != NULL && reader_is_good(scope->reader); input = input->next) {
        reader_mapping(scope->reader, input, keys);
    }
    reader_any_mapping(scope->reader, outputs);
    for (const struct tree_node *output = outputs == NULL ? NULL : outputs->first;
         output != NULL && reader_is_good(scope->reader); output = output->next) {
        (void)read_reference(scope, output);
    }
}

void edges_read(struct reader *reader, const struct tree_node *node, struct workflow *workflow)
{
    const struct tree_node *tasks = tree_find(node, "tasks");
    struct scope scope = {
        .reader = reader,
        .workflow = workflow,
        .inputs = tree_find(node, "inputs"),
    };

    if (!reader_is_good(reader)) {
        return;
    }
    check_ends(&scope, tree_find(node, "outputs"));
    for (const struct tree_node *task = tasks->first; task != NULL && reader_is_good(reader);
         task = task->next) {
        read_after(&scope, tree_find(task, "after"));
        read_in(&scope, tree_find(task, "in"));
        read_bytes(&scope, tree_find(task, "bytes"));
        scope.task++;
    }
    if (reader_is_good(reader)) {
        cycle_refuse(reader, tasks, workflow);
    }
}
