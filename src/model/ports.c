#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
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

void workflow_describe(
    struct workflow *workflow, const struct workflow_input *inputs, uint32_t input_count,
    const struct workflow_input *outputs, uint32_t output_count)
{
    ASSERT(workflow->task_count == 1);
    ASSERT(workflow->port_count == 0);
    free(workflow->inputs);
    free(workflow->results);
    workflow->inputs = memory_zeroed(input_count + 1, sizeof(*workflow->inputs));
    workflow->results = memory_zeroed(output_count + 1, sizeof(*workflow->results));
    workflow->input_count = input_count;
    workflow->result_count = output_count;
    for (uint32_t i = 0; i < input_count; i++) {
        workflow->inputs[i] = inputs[i];
    }
    for (uint32_t i = 0; i < output_count; i++) {
        struct workflow_result *result = &workflow->results[i];
        result->task = 0;
        memcpy(result->name, outputs[i].name, sizeof(result->name));
        memcpy(result->output, outputs[i].name, sizeof(result->output));
    }
}
