#include "engine/task_inputs.h"

#include <string.h>

#include "base/error.h"

static const char *producer_name(const struct workflow *workflow, uint32_t from)
{
    return from == TASK_NONE ? "the request" : workflow->tasks[from].name;
}

/* The bundle that @port takes its tensor from; NULL if there is none. */
static const struct bundle *source_of(
    const struct task_inputs *inputs, const struct workflow_port *port)
{
    uint32_t index = 0;
    if (port->from != TASK_NONE) {
        index = UINT32_MAX;
        for (uint32_t i = 0; i < inputs->workflow->tasks[inputs->task].in_count; i++) {
            const struct workflow_edge *edge = workflow_in(inputs->workflow, port->task, i);
            index = edge->from == port->from ? edge->in_index : index;
        }
    }
    return index < inputs->given->input_count ? inputs->given->inputs[index].contents : NULL;
}

static enum weft_status take_ports(
    const struct task_inputs *inputs, struct weft_tensor *tensors_out, uint32_t *count_out,
    struct weft_error *error)
{
    const struct workflow *workflow = inputs->workflow;
    uint32_t count = 0;
    for (uint32_t i = 0; i < workflow->port_count; i++) {
        const struct workflow_port *port = &workflow->ports[i];
        if (port->task != inputs->task) {
            continue;
        }
        if (count == BUNDLE_TENSORS_MAX) {
            return error_set(error, WEFT_LIMIT, "more than %d inputs", BUNDLE_TENSORS_MAX);
        }
        const struct bundle *source = source_of(inputs, port);
        const struct weft_tensor *found = source == NULL ? NULL : bundle_find(source, port->output);
        if (found == NULL) {
            return error_set(
                error, WEFT_NOT_FOUND, "input '%s': %s has no '%s'", port->name,
                producer_name(workflow, port->from), port->output);
        }
        tensors_out[count] = *found;
        memcpy(tensors_out[count].name, port->name, sizeof(port->name));
        count++;
    }
    *count_out = count;
    return WEFT_OK;
}

static void take_all(
    const struct task_inputs *inputs, struct weft_tensor *tensors_out, uint32_t *count_out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < inputs->given->input_count; i++) {
        const struct bundle *bundle = inputs->given->inputs[i].contents;
        const uint32_t offered = bundle == NULL ? 0 : bundle->count;
        for (uint32_t k = 0; k < offered && count < BUNDLE_TENSORS_MAX; k++) {
            tensors_out[count++] = bundle->tensors[k];
        }
    }
    *count_out = count;
}

enum weft_status task_inputs_take(
    const struct task_inputs *inputs, struct weft_tensor *tensors_out, uint32_t *count_out,
    struct weft_error *error)
{
    bool has_ports = false;
    for (uint32_t i = 0; i < inputs->workflow->port_count; i++) {
        has_ports = has_ports || inputs->workflow->ports[i].task == inputs->task;
    }
    if (has_ports) {
        return take_ports(inputs, tensors_out, count_out, error);
    }
    take_all(inputs, tensors_out, count_out);
    return WEFT_OK;
}

/* Whether @output has what the answer takes of it, as the document declares it. */
static enum weft_status check_result(
    const struct workflow_result *result, const struct bundle *output, struct weft_error *error)
{
    const struct weft_tensor *made = bundle_find(output, result->output);
    char wanted[DTYPE_SHAPE_BYTES];
    char got[DTYPE_SHAPE_BYTES];
    if (made == NULL) {
        return error_set(
            error, WEFT_FAILED, "output '%s', which the answer has as '%s', was not made",
            result->output, result->name);
    }
    bool fits =
        !result->is_declared || (made->dtype == result->dtype && made->rank == result->rank);
    for (uint32_t i = 0; result->is_declared && i < result->rank && fits; i++) {
        fits = result->shape[i] < 0 || result->shape[i] == made->shape[i];
    }
    if (fits) {
        return WEFT_OK;
    }
    return error_set(
        error, WEFT_FAILED, "output '%s' is declared as %s, and was made as %s", result->name,
        dtype_shape_text(wanted, result->dtype, result->rank, result->shape),
        dtype_shape_text(got, made->dtype, made->rank, made->shape));
}

enum weft_status task_output_check(
    const struct workflow *workflow, uint32_t task, const struct bundle *output,
    struct weft_error *error)
{
    for (uint32_t i = 0; i < workflow->port_count; i++) {
        const struct workflow_port *port = &workflow->ports[i];
        if (port->from == task && bundle_find(output, port->output) == NULL) {
            return error_set(
                error, WEFT_FAILED, "output '%s', which task '%s' takes, was not made",
                port->output, workflow->tasks[port->task].name);
        }
    }
    for (uint32_t i = 0; i < workflow->result_count; i++) {
        if (workflow->results[i].task == task &&
            check_result(&workflow->results[i], output, error) != WEFT_OK) {
            return error->status;
        }
    }
    return WEFT_OK;
}
