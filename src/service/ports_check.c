#include "service/ports_check.h"

#include <string.h>

#include "base/text.h"
#include "document/reader.h"
#include "model/builtin.h"
#include "model/dtype.h"

enum { MAKES_BYTES = 120 };

struct check {
    const struct measured *measured;
    const struct workflow *workflow;
    const struct tree_node *node;
    struct reader reader;
};

static const struct tree_node *task_node(const struct check *check, uint32_t task)
{
    return tree_find(tree_find(check->node, "tasks"), check->workflow->tasks[task].name);
}

/* Where a task, or with @port one of its ports, is written. */
static const struct tree_node *find_node(const struct check *check, uint32_t task, const char *port)
{
    const struct tree_node *node = task_node(check, task);
    const struct tree_node *in = tree_find(node, "in");
    const struct tree_node *found = port == NULL ? in : tree_find(in, port);
    return found == NULL ? node : found;
}

/* Whether @task is not of the document: it hands on the request, or a part of the answer. */
static bool is_added(const struct check *check, uint32_t task)
{
    const struct catalogue *catalogue = check->measured->repository->catalogue;
    return builtin_is_reserved(catalogue->models[check->workflow->tasks[task].run]);
}

/* What @task makes and takes, if a model runs that could be loaded. NULL: that is not known. */
static const struct measure_signature *signature_of(const struct check *check, uint32_t task)
{
    const uint32_t run = check->workflow->tasks[task].run;
    const struct measure_look *look = &check->measured->looks[run];
    return check->measured->repository->files[run].kind == REPOSITORY_MODEL &&
                   look->fault[0] == '\0' && look->signature.output_count > 0
               ? &look->signature
               : NULL;
}

static const struct workflow_input *find_tensor(
    const struct workflow_input *tensors, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(tensors[i].name, name) == 0) {
            return &tensors[i];
        }
    }
    return NULL;
}

/* What @port is given, as far as that is known. */
static const struct workflow_input *given_to(
    const struct check *check, const struct workflow_port *port)
{
    const struct workflow *workflow = check->workflow;
    if (port->from == TASK_NONE || is_added(check, port->from)) {
        return find_tensor(workflow->inputs, workflow->input_count, port->output);
    }
    const struct measure_signature *made = signature_of(check, port->from);
    return made == NULL ? NULL : find_tensor(made->outputs, made->output_count, port->output);
}

/* Whether some tensor that is as @given says is one that @wanted says. Rows may be any number. */
static bool can_fit(const struct workflow_input *wanted, const struct workflow_input *given)
{
    if (wanted->dtype != given->dtype) {
        return false;
    }
    if (wanted->rank == 0 || wanted->is_any_rank || given->is_any_rank) {
        return true;
    }
    bool fits = wanted->rank == given->rank;
    for (uint32_t i = wanted->shape[0] == 1 ? 1 : 0; i < wanted->rank && fits; i++) {
        fits = wanted->shape[i] < 0 || given->shape[i] < 0 || wanted->shape[i] == given->shape[i];
    }
    return fits;
}

static const struct workflow_port *find_port(
    const struct check *check, uint32_t task, const char *name)
{
    for (uint32_t i = 0; i < check->workflow->port_count; i++) {
        const struct workflow_port *port = &check->workflow->ports[i];
        if (port->task == task && strcmp(port->name, name) == 0) {
            return port;
        }
    }
    return NULL;
}

/* A port of @task that its model does not have: the missing one may be meant. "": none. */
static const char *find_stranger(
    const struct check *check, uint32_t task, const struct measure_signature *signature)
{
    for (uint32_t i = 0; i < check->workflow->port_count; i++) {
        const struct workflow_port *port = &check->workflow->ports[i];
        if (port->task == task &&
            find_tensor(signature->inputs, signature->input_count, port->name) == NULL) {
            return port->name;
        }
    }
    return "";
}

static void check_input(
    struct check *check, uint32_t task, const struct measure_signature *signature,
    const struct workflow_input *wanted)
{
    const struct catalogue *catalogue = check->measured->repository->catalogue;
    const char *model = catalogue->models[check->workflow->tasks[task].run];
    const struct workflow_port *port = find_port(check, task, wanted->name);
    char wanted_text[DTYPE_SHAPE_BYTES];
    char given_text[DTYPE_SHAPE_BYTES];
    (void)dtype_shape_text(wanted_text, wanted->dtype, wanted->rank, wanted->shape);
    if (port == NULL) {
        const char *stranger = find_stranger(check, task, signature);
        const bool has_stranger = stranger[0] != '\0';
        reader_fail(
            &check->reader, find_node(check, task, has_stranger ? stranger : NULL),
            "model '%s': input '%s' (%s) is not given%s%s%s", model, wanted->name, wanted_text,
            has_stranger ? "; it has no input '" : "", stranger, has_stranger ? "'" : "");
        return;
    }
    const struct workflow_input *given = given_to(check, port);
    if (given != NULL && !can_fit(wanted, given)) {
        reader_fail(
            &check->reader, find_node(check, task, port->name),
            "model '%s': input '%s' wants %s, and is given %s", model, wanted->name, wanted_text,
            dtype_shape_text(given_text, given->dtype, given->rank, given->shape));
    }
}

static void check_task(struct check *check, uint32_t task)
{
    const struct measured *measured = check->measured;
    const uint32_t run = check->workflow->tasks[task].run;
    const struct measure_signature *signature = signature_of(check, task);
    if (measured->repository->files[run].kind == REPOSITORY_FUNCTION &&
        measured->looks[run].fault[0] != '\0') {
        const struct tree_node *node = tree_find(task_node(check, task), "function");
        reader_fail(&check->reader, node, "%s", measured->looks[run].fault);
    }
    for (uint32_t i = 0; signature != NULL && i < signature->input_count; i++) {
        check_input(check, task, signature, &signature->inputs[i]);
        reader_go_on(&check->reader);
    }
}

/* "; it makes 'y', 'z'", as far as there is room. */
static const char *list_outputs(
    const struct measure_signature *signature, char out[static MAKES_BYTES])
{
    struct text text;
    text_init(&text, out, MAKES_BYTES);
    for (uint32_t i = 0; i < signature->output_count && text.length < MAKES_BYTES / 2; i++) {
        text_add(&text, "%s'%s'", i == 0 ? "; it makes " : ", ", signature->outputs[i].name);
    }
    return out;
}

static void check_port(struct check *check, const struct workflow_port *port)
{
    char makes[MAKES_BYTES];
    if (port->from == TASK_NONE || is_added(check, port->from) || is_added(check, port->task)) {
        return;
    }
    const struct measure_signature *made = signature_of(check, port->from);
    if (made != NULL && find_tensor(made->outputs, made->output_count, port->output) == NULL) {
        reader_fail(
            &check->reader, find_node(check, port->task, port->name),
            "output '%s', which task '%s' takes, was not made%s", port->output,
            check->workflow->tasks[port->task].name, list_outputs(made, makes));
    }
}

static void check_result(struct check *check, const struct workflow_result *result)
{
    const struct tree_node *node = tree_find(tree_find(check->node, "outputs"), result->name);
    const uint32_t maker = is_added(check, result->task)
                               ? workflow_in(check->workflow, result->task, 0)->from
                               : result->task;
    const struct measure_signature *signature = signature_of(check, maker);
    char declared_text[DTYPE_SHAPE_BYTES];
    char made_text[DTYPE_SHAPE_BYTES];
    char makes[MAKES_BYTES];
    if (signature == NULL) {
        return;
    }
    const struct workflow_input *made =
        find_tensor(signature->outputs, signature->output_count, result->output);
    if (made == NULL) {
        reader_fail(
            &check->reader, node, "output '%s', which the answer has as '%s', was not made%s",
            result->output, result->name, list_outputs(signature, makes));
        return;
    }
    struct workflow_input declared = {.dtype = result->dtype, .rank = result->rank};
    memcpy(declared.shape, result->shape, sizeof(declared.shape));
    if (result->is_declared && !can_fit(&declared, made)) {
        reader_fail(
            &check->reader, node, "output '%s' is declared as %s, and was made as %s", result->name,
            dtype_shape_text(declared_text, declared.dtype, declared.rank, declared.shape),
            dtype_shape_text(made_text, made->dtype, made->rank, made->shape));
    }
}

static void check_all(struct check *check)
{
    const struct workflow *workflow = check->workflow;
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        if (!is_added(check, i)) {
            check_task(check, i);
            reader_go_on(&check->reader);
        }
    }
    for (uint32_t i = 0; i < workflow->port_count; i++) {
        check_port(check, &workflow->ports[i]);
        reader_go_on(&check->reader);
    }
    for (uint32_t i = 0; i < workflow->result_count; i++) {
        check_result(check, &workflow->results[i]);
        reader_go_on(&check->reader);
    }
}

void ports_check(const struct measured *measured, uint32_t number, struct tree_listener *listener)
{
    const struct repository *repository = measured->repository;
    struct check check = {
        .measured = measured,
        .workflow = repository->catalogue->workflows[number],
    };
    struct tree *tree = NULL;
    struct weft_error error = {.status = WEFT_OK};
    if (tree_load(repository->documents[number], &tree, &error) != WEFT_OK) {
        tree_tell(listener, &error);
        return;
    }
    tree->listener = listener;
    check.node = tree->root;
    check_all(&check);
    tree_destroy(tree);
}
