#include "document/reference.h"

#include <stdio.h>
#include <string.h>

#include "model/builtin.h"

static const char *suggest_task(
    const struct scope *scope, const char *text, char out[READER_QUOTE_BYTES])
{
    const char *names[WORKFLOW_TASKS_MAX + 1] = {NULL};

    for (uint32_t i = 0; i < scope->written; i++) {
        names[i] = scope->workflow->tasks[i].name;
    }
    return reader_suggestion(text, names, out);
}

static const char *suggest_input(
    const struct scope *scope, const char *text, char out[READER_QUOTE_BYTES])
{
    const char *names[WORKFLOW_TASKS_MAX + 1] = {NULL};
    const struct tree_node *input = scope->inputs->first;

    for (uint32_t i = 0; i < WORKFLOW_TASKS_MAX && input != NULL; i++) {
        names[i] = input->key;
        input = input->next;
    }
    return reader_suggestion(text, names, out);
}

uint32_t reference_find_task(
    const struct scope *scope, const struct tree_node *node, const char *name)
{
    char quoted[READER_QUOTE_BYTES];
    char suggestion[READER_QUOTE_BYTES];
    const uint32_t task = workflow_find_task(scope->workflow, name);

    if (task == TASK_NONE || task >= scope->written) {
        reader_fail(
            scope->reader, node, "%s is not a task%s", reader_quote_text(quoted, name),
            suggest_task(scope, name, suggestion));
        return TASK_NONE;
    }
    return task;
}

void reference_port_name(
    struct reader *reader, const struct tree_node *node, const char *text, char out[NAME_BYTES_MAX])
{
    char quoted[READER_QUOTE_BYTES];
    const size_t length = strlen(text);

    if (!reader_is_good(reader)) {
        return;
    }
    if (length == 0 || length >= NAME_BYTES_MAX) {
        reader_fail(
            reader, node, "the name %s is %s", reader_quote_text(quoted, text),
            length == 0 ? "empty" : "longer than 63 letters");
        return;
    }
    memcpy(out, text, length + 1);
}

_Static_assert(NAME_BYTES_MAX == 64, "as reference_port_name() says");

/* Where @text is divided: at the last dot with a task, or the request, before it. */
static const char *find_dot(const struct scope *scope, const char *text)
{
    const char *last = strrchr(text, '.');

    for (const char *dot = last; dot != NULL && dot > text; dot--) {
        char name[NAME_BYTES_MAX];
        const size_t length = (size_t)(dot - text);
        if (*dot != '.' || length >= sizeof(name)) {
            continue;
        }
        memcpy(name, text, length);
        name[length] = '\0';
        if (strcmp(name, REFERENCE_INPUTS) == 0 ||
            workflow_find_task(scope->workflow, name) < scope->written) {
            return dot;
        }
    }
    return last;
}

bool reference_read(
    const struct scope *scope, const struct tree_node *node, struct reference *reference_out)
{
    char quoted[READER_QUOTE_BYTES];
    char suggestion[READER_QUOTE_BYTES];
    char name[NAME_BYTES_MAX];
    const char *text = reader_text(scope->reader, node);

    if (!reader_is_good(scope->reader)) {
        return false;
    }
    const char *dot = find_dot(scope, text);
    const size_t length = dot == NULL ? 0 : (size_t)(dot - text);
    if (length == 0 || length >= sizeof(name) || dot[1] == '\0') {
        reader_fail(
            scope->reader, node, "'%s' wants 'task.output' or 'inputs.name', not %s", node->key,
            reader_quote(quoted, node));
        return false;
    }
    memcpy(name, text, length);
    name[length] = '\0';
    reference_port_name(scope->reader, node, dot + 1, reference_out->output);
    reference_out->task = TASK_NONE;
    if (strcmp(name, REFERENCE_INPUTS) != 0) {
        reference_out->task = reference_find_task(scope, node, name);
    } else if (scope->inputs != NULL && tree_find(scope->inputs, dot + 1) == NULL) {
        reader_fail(
            scope->reader, node, "%s is not among the inputs%s", reader_quote_text(quoted, dot + 1),
            suggest_input(scope, dot + 1, suggestion));
    }
    return reader_is_good(scope->reader);
}

void reference_link(
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

bool reference_is_added(
    const struct workflow *workflow, const struct catalogue *catalogue, uint32_t task)
{
    return task != TASK_NONE && builtin_is_reserved(catalogue->models[workflow->tasks[task].run]);
}

const char *reference_task_name(
    const struct workflow *workflow, const struct catalogue *catalogue, uint32_t task)
{
    return task == TASK_NONE || reference_is_added(workflow, catalogue, task)
               ? REFERENCE_INPUTS
               : workflow->tasks[task].name;
}

void reference_write(struct writer *writer, const char *key, const char *task, const char *output)
{
    char reference[2 * NAME_BYTES_MAX];

    writer_key(writer, key);
    (void)snprintf(reference, sizeof(reference), "%s.%s", task, output);
    writer_text(writer, reference);
}
