#include "document/edges.h"

#include <stdio.h>
#include <string.h>

#include "document/cycle.h"
#include "document/ports.h"
#include "document/reference.h"
#include "model/builtin.h"

enum { AMOUNT_BYTES_MAX = 64 };

static void read_producer(const struct scope *scope, const struct tree_node *node)
{
    const char *text = reader_text(scope->reader, node);

    if (!reader_is_good(scope->reader) || strcmp(text, REFERENCE_INPUT) == 0) {
        return;
    }
    if (strcmp(text, REFERENCE_INPUTS) == 0) {
        scope->wants_request[scope->task] = true;
        return;
    }
    const uint32_t from = reference_find_task(scope, node, text);
    if (from != TASK_NONE) {
        reference_link(scope, node, from, /* twice */ false);
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
    uint32_t from = workflow_find_task(scope->workflow, BUILTIN_REQUEST_TASK);

    if (strcmp(bytes->key, REFERENCE_INPUTS) != 0 || from == TASK_NONE) {
        from = reference_find_task(scope, bytes, bytes->key);
    }
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

void edges_read(
    struct reader *reader, const struct tree_node *node, struct catalogue *catalogue,
    struct workflow *workflow)
{
    const struct tree_node *tasks = tree_find(node, "tasks");
    bool wants_request[WORKFLOW_TASKS_MAX] = {false};
    struct scope scope = {
        .reader = reader,
        .catalogue = catalogue,
        .workflow = workflow,
        .inputs = tree_find(node, "inputs"),
        .written = workflow->task_count,
        .wants_request = wants_request,
    };

    if (!reader_is_good(reader)) {
        return;
    }
    ports_read_inputs(reader, scope.inputs, workflow);
    for (const struct tree_node *task = tasks->first; task != NULL && reader_is_good(reader);
         task = task->next) {
        read_after(&scope, tree_find(task, "after"));
        ports_read_in(&scope, tree_find(task, "in"));
        scope.task++;
    }
    ports_pass_request(&scope, node);
    scope.task = 0;
    for (const struct tree_node *task = tasks->first; task != NULL && reader_is_good(reader);
         task = task->next) {
        read_bytes(&scope, tree_find(task, "bytes"));
        scope.task++;
    }
    ports_read_outputs(&scope, tree_find(node, "outputs"));
    if (reader_is_good(reader)) {
        cycle_refuse(reader, tasks, workflow);
    }
}
