#include <string.h>

#include "base/assert.h"
#include "model/grow.h"
#include "model/workflow.h"

enum weft_status workflow_add_port(struct workflow *workflow, const struct workflow_port *port)
{
    ASSERT(!workflow->sealed);
    if (port->task >= workflow->task_count ||
        (port->from != TASK_NONE && port->from >= workflow->task_count)) {
        return WEFT_NOT_FOUND;
    }
    for (uint32_t i = 0; i < workflow->port_count; i++) {
        if (workflow->ports[i].task == port->task &&
            strcmp(workflow->ports[i].name, port->name) == 0) {
            return WEFT_EXISTS;
        }
    }
    if (workflow->port_count == WORKFLOW_PORTS_MAX) {
        return WEFT_LIMIT;
    }
    workflow->ports = grow(workflow->ports, workflow->port_count, sizeof(*workflow->ports));
    workflow->ports[workflow->port_count] = *port;
    workflow->port_count++;
    return WEFT_OK;
}

enum weft_status workflow_add_input(struct workflow *workflow, const struct workflow_input *input)
{
    ASSERT(!workflow->sealed);
    ASSERT(input->rank <= WEFT_RANK_MAX);
    for (uint32_t i = 0; i < workflow->input_count; i++) {
        if (strcmp(workflow->inputs[i].name, input->name) == 0) {
            return WEFT_EXISTS;
        }
    }
    if (workflow->input_count == WORKFLOW_PORTS_MAX) {
        return WEFT_LIMIT;
    }
    workflow->inputs = grow(workflow->inputs, workflow->input_count, sizeof(*workflow->inputs));
    workflow->inputs[workflow->input_count] = *input;
    workflow->input_count++;
    return WEFT_OK;
}

enum weft_status workflow_add_result(
    struct workflow *workflow, const struct workflow_result *result)
{
    ASSERT(!workflow->sealed);
    if (result->task >= workflow->task_count) {
        return WEFT_NOT_FOUND;
    }
    for (uint32_t i = 0; i < workflow->result_count; i++) {
        if (strcmp(workflow->results[i].name, result->name) == 0) {
            return WEFT_EXISTS;
        }
    }
    if (workflow->result_count == WORKFLOW_PORTS_MAX) {
        return WEFT_LIMIT;
    }
    workflow->results = grow(workflow->results, workflow->result_count, sizeof(*workflow->results));
    workflow->results[workflow->result_count] = *result;
    workflow->result_count++;
    return WEFT_OK;
}
