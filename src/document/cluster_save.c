#include "document/cluster_save.h"

#include <inttypes.h>

#include "document/scalar_save.h"

static bool are_same_machines(const struct fleet *fleet, uint32_t a, uint32_t b)
{
    const struct fleet_node *one = &fleet->nodes[a];
    const struct fleet_node *other = &fleet->nodes[b];
    return one->worker_count == other->worker_count && one->cpu_units == other->cpu_units &&
           one->up_bytes_per_s == other->up_bytes_per_s &&
           one->down_bytes_per_s == other->down_bytes_per_s &&
           fleet_is_alike(&fleet->workers[one->worker_first], &fleet->workers[other->worker_first]);
}

bool cluster_is_writable(const struct fleet *fleet)
{
    for (uint32_t i = 0; i < fleet->node_count; i++) {
        const struct fleet_node *node = &fleet->nodes[i];
        const struct fleet_worker *first = &fleet->workers[node->worker_first];
        if (node->worker_count == 0 || node->worker_count % fleet_partitions(first) != 0) {
            return false;
        }
        for (uint32_t j = 1; j < node->worker_count; j++) {
            if (!fleet_is_alike(&fleet->workers[node->worker_first + j], first)) {
                return false;
            }
        }
    }
    return fleet->node_count > 0;
}

static void write_device(const struct fleet *fleet, const struct fleet_worker *worker, FILE *file)
{
    (void)fputs("device: {kind: ", file);
    scalar_write_text(fleet->devices[worker->device], file);
    (void)fputs(", memory: ", file);
    scalar_write_bytes(worker->memory_bytes * fleet_partitions(worker), file);
    (void)fputs(", h2d: ", file);
    scalar_write_bandwidth(worker->bus_bytes_per_s, file);
    if (worker->gpu_units > 1) {
        (void)fprintf(file, ", units: %" PRIu32, worker->gpu_units);
    }
    if (worker->sharing != SHARES_COUNTED) {
        (void)fputs(worker->sharing == SHARES_MIG ? ", sharing: mig" : ", sharing: sm", file);
    }
    if (worker->reshape_ns > 0) {
        (void)fputs(", reshape: ", file);
        scalar_write_duration(worker->reshape_ns, file);
    }
    if (worker->interference > 0) {
        (void)fputs(", interference: ", file);
        scalar_write_number(worker->interference, file);
    }
    if (worker->keep_alive_ns > 0) {
        (void)fputs(", keep_alive: ", file);
        scalar_write_duration(worker->keep_alive_ns, file);
    }
    (void)fputs(worker->bus_inputs ? ", bus_inputs: true}" : "}", file);
}

static void write_rate(const char *key, uint64_t bytes_per_s, FILE *file)
{
    if (bytes_per_s > 0) {
        (void)fprintf(file, ", %s: ", key);
        scalar_write_bandwidth(bytes_per_s, file);
    }
}

static void write_machines(const struct fleet *fleet, uint32_t node, uint32_t count, FILE *file)
{
    const struct fleet_node *machine = &fleet->nodes[node];
    const struct fleet_worker *worker = &fleet->workers[machine->worker_first];
    const uint32_t partitions = fleet_partitions(worker);

    (void)fprintf(file, "{count: %" PRIu32 ", ", count);
    if (machine->worker_count > partitions) {
        (void)fprintf(file, "devices: %" PRIu32 ", ", machine->worker_count / partitions);
    }
    if (partitions > 1) {
        (void)fprintf(file, "partitions: %" PRIu32 ", ", partitions);
    }
    write_device(fleet, worker, file);
    (void)fprintf(file, ", cpu: %" PRIu32, machine->cpu_units);
    write_rate("up", machine->up_bytes_per_s, file);
    write_rate("down", machine->down_bytes_per_s, file);
    (void)fputs("}\n", file);
}

/* Traffic of others needs a link with a limit; without one it does nothing. */
static bool has_limits(const struct fleet *fleet)
{
    if (fleet->network.kind != NETWORK_STAR && fleet->network.core_bytes_per_s > 0) {
        return true;
    }
    for (uint32_t i = 0; i < fleet->node_count; i++) {
        if (fleet_up_rate(fleet, i) > 0 || fleet_down_rate(fleet, i) > 0) {
            return true;
        }
    }
    return false;
}

static void write_background(const struct network_background *background, FILE *file)
{
    if (background->load > 0) {
        (void)fputs(", background: {load: ", file);
        scalar_write_number(background->load, file);
    } else {
        (void)fputs(", background: {rate: ", file);
        scalar_write_number(background->rate_per_s, file);
        (void)fputs("/s", file);
    }
    (void)fputs(", bytes: ", file);
    scalar_write_bytes(background->bytes, file);
    (void)fputs(background->exponential ? ", sizes: exponential}" : "}", file);
}

static void write_network(const struct fleet *fleet, FILE *file)
{
    static const char *const kinds[] = {"star", "two-tier", "bottleneck"};
    const struct fleet_network *network = &fleet->network;
    const struct network_background *background = &network->background;

    (void)fprintf(file, "network: {kind: %s", kinds[network->kind]);
    if (network->kind == NETWORK_TWO_TIER && network->rack_count == 0 &&
        network->nodes_per_rack > 0) {
        (void)fprintf(file, ", per_rack: %" PRIu32, network->nodes_per_rack);
    } else if (network->kind == NETWORK_TWO_TIER) { /* Without racks, all are in one. */
        (void)fprintf(
            file, ", racks: %" PRIu32, network->rack_count == 0 ? 1 : network->rack_count);
    }
    if (network->kind != NETWORK_STAR) {
        (void)fputs(", core: ", file);
        scalar_write_bandwidth(network->core_bytes_per_s, file);
    }
    write_rate("link", network->link_bytes_per_s, file);
    write_rate("up", network->up_bytes_per_s, file);
    write_rate("down", network->down_bytes_per_s, file);
    if (network->latency_ns > 0) {
        (void)fputs(", latency: ", file);
        scalar_write_duration(network->latency_ns, file);
    }
    (void)fputs(network->sharing == SHARING_FAIR ? ", sharing: fair" : "", file);
    if ((background->load > 0 || background->rate_per_s > 0) && has_limits(fleet)) {
        write_background(background, file);
    }
    (void)fputs("}\n", file);
}

void cluster_write(const struct fleet *fleet, int indent, FILE *file)
{
    (void)fprintf(file, "%*smachines:\n", indent, "");
    for (uint32_t first = 0; first < fleet->node_count;) {
        uint32_t end = first + 1;
        while (end < fleet->node_count && are_same_machines(fleet, first, end)) {
            end++;
        }
        (void)fprintf(file, "%*s- ", indent + 2, "");
        write_machines(fleet, first, end - first, file);
        first = end;
    }
    (void)fprintf(file, "%*s", indent, "");
    write_network(fleet, file);
    if (fleet->prices.cpu > 0 || fleet->prices.gpu > 0) {
        (void)fprintf(file, "%*sprices: {cpu: ", indent, "");
        scalar_write_number(fleet->prices.cpu, file);
        (void)fputs(", gpu: ", file);
        scalar_write_number(fleet->prices.gpu, file);
        (void)fputs("}\n", file);
    }
}
