#include "engine/edge_part.h"

#include <string.h>

/* Whether the answer has output @name of @task. Where no results are named it has everything. */
static bool answer_has(const struct workflow *workflow, uint32_t task, const char *name)
{
    for (uint32_t i = 0; i < workflow->result_count; i++) {
        if (workflow->results[i].task == task && strcmp(workflow->results[i].output, name) == 0) {
            return true;
        }
    }
    return workflow->result_count == 0;
}

/* Whether the ports of @to take output @name of @from; so they do where there are none. */
static bool ports_take(
    const struct workflow *workflow, uint32_t from, uint32_t to, const char *name,
    bool *has_ports_out)
{
    *has_ports_out = false;
    for (uint32_t i = 0; i < workflow->port_count; i++) {
        const struct workflow_port *port = &workflow->ports[i];
        *has_ports_out = *has_ports_out || port->task == to;
        if (port->task == to && port->from == from && strcmp(port->output, name) == 0) {
            return true;
        }
    }
    return !*has_ports_out;
}

/* Whether one of those after @task, which hands on what it is given, takes @name. */
static bool is_passed_on(const struct workflow *workflow, uint32_t task, const char *name)
{
    const uint32_t count = workflow->tasks[task].out_count;
    bool is_taken = count == 0 && answer_has(workflow, task, name);
    for (uint32_t i = 0; i < count && !is_taken; i++) {
        bool has_ports; /* One that hands on again gets everything. */
        is_taken =
            ports_take(workflow, task, workflow_out(workflow, task, i)->to, name, &has_ports);
    }
    return is_taken;
}

bool edge_part_has(const struct edge_part *edge, const char *name)
{
    const struct workflow *workflow = edge->workflow;
    bool has_ports;
    if (edge->to == TASK_NONE) {
        return answer_has(workflow, edge->from, name);
    }
    const bool is_taken = ports_take(workflow, edge->from, edge->to, name, &has_ports);
    return has_ports || workflow->tasks[edge->to].run != edge->pass
               ? is_taken
               : is_passed_on(workflow, edge->to, name);
}

struct bundle *edge_part_take(const struct edge_part *edge, const struct bundle *bundle)
{
    bool takes[BUNDLE_TENSORS_MAX];
    bool takes_all = true;
    for (uint32_t i = 0; i < bundle->count; i++) {
        takes[i] = edge_part_has(edge, bundle->tensors[i].name);
        takes_all = takes_all && takes[i];
    }
    struct bundle *part = takes_all ? NULL : bundle_part(bundle, takes);
    return part == NULL ? bundle_share(bundle) : part;
}
