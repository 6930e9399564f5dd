#include "document/edges.h"

#include <stdio.h>
#include <string.h>

#include "document/cycle.h"
#include "document/ports.h"
#include "document/reference.h"
#include "model/builtin.h"

enum { AMOUNT_BYTES_MAX = 64, INPUTS_A_LINE = 2 /* More get a line for their bytes. */ };

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
    READER_EACH (item, scope->reader, after) {
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

/* One amount for every edge into the task being read. */
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

/* What of the request goes to the task being read, which is given it without a producer between. */
static void read_part(const struct scope *scope, const struct tree_node *bytes)
{
    struct workflow_task *task = &scope->workflow->tasks[scope->task];
    struct workflow_edge amount = {0};

    read_amount(scope->reader, bytes, &amount);
    if (amount.per_item) {
        reader_fail(scope->reader, bytes, "a part of the request has bytes, but not 'per item'");
    }
    task->takes_part = true;
    task->part_bytes = amount.bytes;
}

static void read_amount_of_one(const struct scope *scope, const struct tree_node *bytes)
{
    uint32_t from = workflow_find_task(scope->workflow, BUILTIN_REQUEST_TASK);

    if (strcmp(bytes->key, REFERENCE_INPUTS) == 0 &&
        !ports_has_producer(scope->workflow, scope->task)) {
        read_part(scope, bytes);
        return;
    }
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
    READER_EACH (one, scope->reader, bytes) {
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
    const uint32_t mark = reader_mark(reader, node);
    ports_read_inputs(reader, scope.inputs, workflow);
    reader_go_on(reader);
    READER_EACH (task, reader, tasks) {
        read_after(&scope, tree_find(task, "after"));
        ports_read_in(&scope, tree_find(task, "in"));
        scope.task++;
    }
    ports_pass_request(&scope, node);
    scope.task = 0;
    READER_EACH (task, reader, tasks) {
        read_bytes(&scope, tree_find(task, "bytes"));
        scope.task++;
    }
    reader_go_on(reader);
    ports_read_outputs(&scope, tree_find(node, "outputs"));
    reader_settle(reader, mark);
    if (reader_is_good(reader)) {
        cycle_refuse(reader, tasks, workflow);
    }
}

static bool has_port(const struct workflow *workflow, uint32_t task, uint32_t from)
{
    for (uint32_t i = 0; i < workflow->port_count; i++) {
        if (workflow->ports[i].task == task && workflow->ports[i].from == from) {
            return true;
        }
    }
    return false;
}

void edges_write_after(struct writer *writer, const void *record)
{
    const struct task_entry *entry = record;
    const struct workflow *workflow = entry->workflow;
    const struct catalogue *catalogue = writer->context;
    bool is_open = false;

    for (uint32_t i = 0; i < entry->task.in_count; i++) {
        const uint32_t from = workflow_in(workflow, entry->number, i)->from;
        if (has_port(workflow, entry->number, from)) {
            continue;
        }
        if (!is_open) {
            writer_key(writer, "after");
            writer_open_list(writer, WRITER_INLINE);
            is_open = true;
        }
        writer_text(writer, reference_task_name(workflow, catalogue, from));
    }
    if (is_open) {
        writer_close(writer);
    }
}

/* Whether some edge into @task says other than what is meant if nothing is said. */
static bool has_bytes(
    const struct workflow *workflow, const struct catalogue *catalogue, uint32_t task)
{
    for (uint32_t i = 0; i < workflow->tasks[task].in_count; i++) {
        const struct workflow_edge *edge = workflow_in(workflow, task, i);
        const bool is_request = reference_is_added(workflow, catalogue, edge->from);
        if (edge->bytes != (is_request ? workflow->input_bytes : 0)) {
            return true;
        }
    }
    return false;
}

void edges_write_bytes(struct writer *writer, const void *record)
{
    const struct task_entry *entry = record;
    const struct workflow *workflow = entry->workflow;
    const struct catalogue *catalogue = writer->context;
    const uint32_t count = entry->task.in_count;

    if (count == 0 && entry->task.takes_part) {
        writer_key(writer, "bytes");
        writer_open_mapping(writer, WRITER_INLINE);
        writer_key(writer, REFERENCE_INPUTS);
        writer_quantity(writer, QUANTITY_BYTES, (double)entry->task.part_bytes);
        writer_close(writer);
        return;
    }
    if (!has_bytes(workflow, catalogue, entry->number)) {
        return;
    }
    if (count <= INPUTS_A_LINE) {
        writer_key(writer, "bytes");
    } else {
        writer_key_below(writer, "bytes");
    }
    writer_open_mapping(writer, WRITER_INLINE);
    for (uint32_t i = 0; i < count; i++) {
        const struct workflow_edge *edge = workflow_in(workflow, entry->number, i);
        writer_key(writer, reference_task_name(workflow, catalogue, edge->from));
        writer_quantity(writer, QUANTITY_BYTES, (double)edge->bytes);
        (void)fputs(edge->per_item ? " per item" : "", writer->file);
    }
    writer_close(writer);
}
