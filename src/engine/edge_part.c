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

/* Whether one of those after @edge->to, which hands on what it is given, takes @name. */
static bool passes_on(const struct edge_part *edge, const char *name)
{
    const struct workflow *workflow = edge->workflow;
    const struct workflow_task *task = &workflow->tasks[edge->to];
    if (task->out_count == 0) {
        return answer_has(workflow, edge->to, name);
    }
    for (uint32_t i = 0; i < task->out_count; i++) {
        const struct edge_part next = {
            .workflow = workflow,
            .from = edge->to,
            .to = workflow_out(workflow, edge->to, i)->to,
            .pass = edge->pass,
        };
        if (edge_part_has(&next, name)) { /* As deep as the graph. */
            return true;
        }
    }
    return false;
}

bool edge_part_has(const struct edge_part *edge, const char *name)
{
    const struct workflow *workflow = edge->workflow;
    bool has_ports = false;
    if (edge->to == TASK_NONE) {
        return answer_has(workflow, edge->from, name);
    }
    for (uint32_t i = 0; i < workflow->port_count; i++) {
        const struct workflow_port *port = &workflow->ports[i];
        if (port->task == edge->to) {
            has_ports = true;
            if (port->from == edge->from && strcmp(port->output, name) == 0) {
                return true;
            }
        }
    }
    if (has_ports) {
        return false;
    }
    return workflow->tasks[edge->to].run != edge->pass || passes_on(edge, name);
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
