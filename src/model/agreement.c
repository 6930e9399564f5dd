#include "model/agreement.h"

#include "base/hash.h"
#include "model/catalogue.h"
#include "model/fleet.h"

static uint64_t add_fleet(uint64_t hash, const struct fleet *fleet)
{
    hash = hash_mix(hash, fleet->node_count);
    for (uint32_t i = 0; i < fleet->node_count && fleet->has_slots; i++) {
        hash = hash_mix(hash, UINT64_C(1) << 32 | fleet->nodes[i].slot_count);
    }
    if (fleet->has_slots) { /* What fills them, each node says itself. */
        return hash;
    }
    for (uint32_t i = 0; i < fleet->node_count; i++) {
        hash = hash_mix(hash, fleet->nodes[i].worker_count);
        hash = hash_mix(hash, fleet->nodes[i].cpu_units);
    }
    for (uint32_t i = 0; i < fleet->worker_count; i++) {
        const struct fleet_worker *worker = &fleet->workers[i];
        hash = hash_mix(hash, hash_text(fleet->devices[worker->device]));
        hash = hash_mix(hash, worker->memory_bytes);
        hash = hash_mix(hash, (uint64_t)worker->gpu_units << 32 | (uint32_t)worker->sharing);
        hash = worker->shares_memory ? hash_mix(hash, 1) : hash;
    }
    return hash;
}

static uint64_t add_workflow(uint64_t hash, const struct workflow *workflow)
{
    hash = hash_mix(hash, hash_text(workflow->name));
    hash = hash_mix(hash, (uint64_t)workflow->task_count << 32 | workflow->edge_count);
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        hash = hash_mix(hash, hash_text(workflow->tasks[i].name));
        hash = hash_mix(hash, workflow->tasks[i].run);
    }
    for (uint32_t i = 0; i < workflow->edge_count; i++) {
        hash = hash_mix(hash, (uint64_t)workflow->edges[i].from << 32 | workflow->edges[i].to);
    }
    for (uint32_t i = 0; i < workflow->port_count; i++) {
        const struct workflow_port *port = &workflow->ports[i];
        hash = hash_mix(hash, (uint64_t)port->task << 32 | port->from);
        hash = hash_mix(hash, hash_text(port->name));
        hash = hash_mix(hash, hash_text(port->output));
    }
    return hash;
}

uint64_t agreement_of(
    const struct fleet *fleet, const struct catalogue *catalogue, uint64_t names, uint32_t protocol)
{
    const uint64_t cluster = hash_mix(add_fleet(hash_text("weft"), fleet), names);
    uint64_t hash = hash_mix(hash_text("catalogue"), protocol);
    hash = hash_mix(hash, catalogue->model_count);
    for (uint32_t i = 0; i < catalogue->model_count; i++) {
        hash = hash_mix(hash, hash_text(catalogue->models[i]));
    }
    hash = hash_mix(hash, catalogue->workflow_count);
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        hash = add_workflow(hash, catalogue->workflows[i]);
    }
    return (cluster >> 32 << 32) | hash >> 32;
}
