#include "document/ports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/builtin.h"

static const char *const dtype_words[] = {
#define X(name, bytes, text) [name] = (text),
    WEFT_DTYPE_MAP(X)
#undef X
        [WEFT_DTYPES] = NULL,
};

/* An extent: 0 or more, or -1 for any. */
static int64_t read_extent(struct reader *reader, const struct tree_node *node)
{
    char quoted[READER_QUOTE_BYTES];
    const char *text = reader_text(reader, node);
    char *end = NULL;

    if (!reader_is_good(reader)) {
        return 0;
    }
    errno = 0;
    const long long extent = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0' || text[0] == ' ' || text[0] == '+' || extent < -1 ||
        extent > INT32_MAX) {
        reader_fail(
            reader, node, "'shape' wants whole numbers, or -1 for any, not %s",
            reader_quote(quoted, node));
    }
    return extent;
}

static void read_shape(
    struct reader *reader, const struct tree_node *shape, uint32_t *rank_out, int64_t *extents_out)
{
    reader_list(reader, shape);
    if (!reader_is_good(reader)) {
        return;
    }
    if (shape->child_count > WEFT_RANK_MAX) {
        reader_fail(reader, shape, "'shape' has more than %d dimensions", WEFT_RANK_MAX);
        return;
    }
    READER_EACH (extent, reader, shape) {
        extents_out[*rank_out] = read_extent(reader, extent);
        (*rank_out)++;
    }
}

static void write_shape(struct writer *writer, uint32_t rank, const int64_t *extents)
{
    writer_key(writer, "shape");
    writer_open_list(writer, WRITER_INLINE);
    for (uint32_t i = 0; i < rank; i++) {
        writer_quantity(writer, QUANTITY_COUNT, (double)extents[i]);
    }
    writer_close(writer);
}

static void read_input_shape(struct reader *reader, const struct tree_node *node, void *record)
{
    struct workflow_input *input = record;
    read_shape(reader, node, &input->rank, input->shape);
}

static void write_input_shape(struct writer *writer, const void *record)
{
    const struct workflow_input *input = record;
    write_shape(writer, input->rank, input->shape);
}

static void read_output_shape(struct reader *reader, const struct tree_node *node, void *record)
{
    struct workflow_result *result = record;
    read_shape(reader, node, &result->rank, result->shape);
}

static void write_output_shape(struct writer *writer, const void *record)
{
    const struct workflow_result *result = record;
    write_shape(writer, result->rank, result->shape);
}

#define DTYPE_HELP "as the Open Inference Protocol writes it"
#define SHAPE_FORM "list of whole numbers"
#define SHAPE_HELP "its dimensions; -1 is any size"

const struct field ports_input_fields[] = {
    {"dtype", FIELD_WORD(struct workflow_input, dtype), .words = dtype_words, .needed = true,
     .help = DTYPE_HELP},
    {"shape", .read = read_input_shape, .write = write_input_shape, .needed = true,
     .form = SHAPE_FORM, .help = SHAPE_HELP},
    {0},
};

const struct field ports_output_fields[] = {
    {"from", .needed = true, .form = "`task.output`", .help = "what it is"},
    {"dtype", FIELD_WORD(struct workflow_result, dtype), .words = dtype_words, .needed = true,
     .help = DTYPE_HELP},
    {"shape", .read = read_output_shape, .write = write_output_shape, .needed = true,
     .form = SHAPE_FORM, .help = SHAPE_HELP},
    {0},
};

void ports_read_inputs(
    struct reader *reader, const struct tree_node *node, struct workflow *workflow)
{
    reader_any_mapping(reader, node);
    if (node == NULL) {
        return;
    }
    READER_EACH (child, reader, node) {
        struct workflow_input input = {.rank = 0};
        reference_port_name(reader, child, child->key, input.name);
        record_read(reader, child, ports_input_fields, &input);
        if (reader_is_good(reader) && workflow_add_input(workflow, &input) != WEFT_OK) {
            reader_fail(reader, child, "more than %d inputs", WORKFLOW_PORTS_MAX);
        }
    }
}

void ports_read_in(const struct scope *scope, const struct tree_node *in)
{
    reader_any_mapping(scope->reader, in);
    if (in == NULL) {
        return;
    }
    READER_EACH (node, scope->reader, in) {
        struct workflow_port port = {.task = scope->task};
        struct reference reference;
        reference_port_name(scope->reader, node, node->key, port.name);
        if (!reference_read(scope, node, &reference)) {
            continue;
        }
        port.from = reference.task;
        memcpy(port.output, reference.output, sizeof(port.output));
        if (port.from == TASK_NONE) {
            scope->wants_request[scope->task] = true;
        } else {
            reference_link(scope, node, port.from, /* twice */ true);
        }
        if (workflow_add_port(scope->workflow, &port) != WEFT_OK) {
            reader_fail(scope->reader, node, "more than %d ports", WORKFLOW_PORTS_MAX);
        }
    }
}

/* The task of weft.pass called @name, added if it is new. TASK_NONE if there is no room. */
static uint32_t pass_task(
    const struct scope *scope, const struct tree_node *node, const char *prefix, const char *name)
{
    struct workflow_task task = {0};

    const int length = snprintf(task.name, sizeof(task.name), "%s%s", prefix, name);
    if (length < 0 || (size_t)length >= sizeof(task.name)) {
        reader_fail(
            scope->reader, node,
            "'%s' is the name of a task with consumers, and too long for one "
            "whose output is an output of the workflow",
            name);
        return TASK_NONE;
    }
    uint32_t number = workflow_find_task(scope->workflow, task.name);
    if (number != TASK_NONE) {
        return number;
    }
    task.run = catalogue_model(scope->catalogue, BUILTIN_PASS);
    if (task.run == MODEL_NONE) {
        reader_fail(scope->reader, node, "more than %d models and functions", MODELS_MAX);
        return TASK_NONE;
    }
    if (workflow_add_task(scope->workflow, &task, &number) != WEFT_OK) {
        reader_fail(scope->reader, node, "more than %d tasks", WORKFLOW_TASKS_MAX);
        return TASK_NONE;
    }
    return number;
}

bool ports_has_producer(const struct workflow *workflow, uint32_t task)
{
    for (uint32_t i = 0; i < workflow->edge_count; i++) {
        if (workflow->edges[i].to == task) {
            return true;
        }
    }
    return false;
}

static bool has_consumer(const struct workflow *workflow, uint32_t task)
{
    for (uint32_t i = 0; i < workflow->edge_count; i++) {
        if (workflow->edges[i].from == task) {
            return true;
        }
    }
    return false;
}

/* Let @request, a task of weft.pass, stand for the request where @task takes it. */
static void pass_to(
    const struct scope *scope, const struct tree_node *node, uint32_t request, uint32_t task)
{
    struct workflow *workflow = scope->workflow;
    const struct workflow_edge edge = {.from = request, .to = task, .bytes = workflow->input_bytes};

    if (workflow_add_edge(workflow, &edge) != WEFT_OK) {
        reader_fail(scope->reader, node, "more than %d edges", WORKFLOW_EDGES_MAX);
    }
    for (uint32_t i = 0; i < workflow->port_count; i++) {
        if (workflow->ports[i].task == task && workflow->ports[i].from == TASK_NONE) {
            workflow->ports[i].from = request;
        }
    }
}

void ports_pass_request(struct scope *scope, const struct tree_node *node)
{
    for (uint32_t task = 0; task < scope->written && reader_is_good(scope->reader); task++) {
        if (!scope->wants_request[task] || !ports_has_producer(scope->workflow, task)) {
            continue; /* A task without producers is given the request itself. */
        }
        const uint32_t request = pass_task(scope, node, BUILTIN_REQUEST_TASK, "");
        if (request != TASK_NONE) {
            pass_to(scope, node, request, task);
        }
    }
}

/* Where the reference of the output at @node is, which may say what it is besides. */
static const struct tree_node *read_declared(
    struct reader *reader, const struct tree_node *node, struct workflow_result *result)
{
    if (node->kind != TREE_MAPPING) {
        return node;
    }
    record_read(reader, node, ports_output_fields, result);
    result->is_declared = true;
    return tree_find(node, "from");
}

void ports_read_outputs(struct scope *scope, const struct tree_node *outputs)
{
    reader_any_mapping(scope->reader, outputs);
    if (outputs == NULL) {
        return;
    }
    READER_EACH (node, scope->reader, outputs) {
        struct workflow_result result = {.task = TASK_NONE};
        struct reference reference;
        reference_port_name(scope->reader, node, node->key, result.name);
        const struct tree_node *from = read_declared(scope->reader, node, &result);
        if (!reader_is_good(scope->reader) || !reference_read(scope, from, &reference)) {
            continue;
        }
        if (reference.task == TASK_NONE) {
            reader_fail(scope->reader, node, "an output is made by a task, not by the request");
            continue;
        }
        memcpy(result.output, reference.output, sizeof(result.output));
        result.task = reference.task;
        if (has_consumer(scope->workflow, reference.task)) {
            scope->task = pass_task(
                scope, node, BUILTIN_ANSWER_TASK, scope->workflow->tasks[reference.task].name);
            if (scope->task == TASK_NONE) {
                return;
            }
            reference_link(scope, node, reference.task, /* twice */ true);
            result.task = scope->task;
        }
        if (reader_is_good(scope->reader) &&
            workflow_add_result(scope->workflow, &result) != WEFT_OK) {
            reader_fail(scope->reader, node, "more than %d outputs", WORKFLOW_PORTS_MAX);
        }
    }
}

void ports_write_inputs(struct writer *writer, const void *record)
{
    const struct workflow *workflow = record;

    if (workflow->input_count == 0) {
        return;
    }
    writer_key(writer, "inputs");
    writer_open_mapping(writer, WRITER_LINES);
    for (uint32_t i = 0; i < workflow->input_count; i++) {
        writer_key(writer, workflow->inputs[i].name);
        record_write_inline(writer, ports_input_fields, &workflow->inputs[i]);
    }
    writer_close(writer);
}

void ports_write_in(struct writer *writer, const void *record)
{
    const struct task_entry *entry = record;
    const struct workflow *workflow = entry->workflow;
    bool is_open = false;

    for (uint32_t i = 0; i < workflow->port_count; i++) {
        const struct workflow_port *port = &workflow->ports[i];
        if (port->task != entry->number) {
            continue;
        }
        if (!is_open) {
            writer_key(writer, "in");
            writer_open_mapping(writer, WRITER_INLINE);
            is_open = true;
        }
        reference_write(
            writer, port->name, reference_task_name(workflow, writer->context, port->from),
            port->output);
    }
    if (is_open) {
        writer_close(writer);
    }
}

void ports_write_outputs(struct writer *writer, const void *record)
{
    const struct workflow *workflow = record;

    if (workflow->result_count == 0) {
        return;
    }
    writer_key(writer, "outputs");
    writer_open_mapping(writer, WRITER_LINES);
    for (uint32_t i = 0; i < workflow->result_count; i++) {
        const struct workflow_result *result = &workflow->results[i];
        const uint32_t task = reference_is_added(workflow, writer->context, result->task)
                                  ? workflow_in(workflow, result->task, 0)->from
                                  : result->task;
        const char *name = workflow->tasks[task].name;
        if (result->is_declared) {
            writer_key(writer, result->name);
            writer_open_mapping(writer, WRITER_INLINE);
            reference_write(writer, "from", name, result->output);
            record_write(writer, ports_output_fields, result);
            writer_close(writer);
        } else {
            reference_write(writer, result->name, name, result->output);
        }
    }
    writer_close(writer);
}
