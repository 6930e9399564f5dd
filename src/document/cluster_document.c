#include "document/cluster_document.h"

#include <stdio.h>

#include "document/network_document.h"
#include "model/sharing.h"

static const struct reader_range count_range = {1, NODES_MAX, "between 1 and 16384"};
static const struct reader_range units_range = {1, 1024, "between 1 and 1024"};
static const struct reader_range price_range = {0, 1e6, "between 0 and 1000000"};

_Static_assert(NODES_MAX == 16384, "as count_range says");

static const char *const sharings[] = {"counted", "mig", "sm", NULL};

/* An entry of `machines`: some that are alike. */
struct machines {
    uint32_t count;
    uint32_t devices;
    uint32_t cpu;
    uint64_t up_bytes_per_s;
    uint64_t down_bytes_per_s;
    char kind[NAME_BYTES_MAX];
    struct fleet_worker device; /* With the memory of all its partitions. */
};

const struct field cluster_device_fields[] = {
    {"kind", FIELD_NAME(struct machines, kind), .needed = true, .help = "as profiles name it"},
    {"memory", FIELD_BYTES(struct machines, device.memory_bytes), .range = &reader_memory,
     .needed = true, .help = "for models and workspaces"},
    {"h2d", FIELD_BANDWIDTH(struct machines, device.bus_bytes_per_s), .range = &reader_bandwidth,
     .needed = true, .help = "the bandwidth from host to device"},
    {"units", FIELD_COUNT(struct machines, device.gpu_units),
     .range = FIELD_RANGE(1, 128, "between 1 and 128"), .fallback = "1",
     .help = "what shares are counted in"},
    {"sharing", FIELD_WORD(struct machines, device.sharing), .words = sharings,
     .help = "how units are given out: in any number, in instances of MIG, or as "
             "processors without isolation"},
    {"reshape", FIELD_DURATION(struct machines, device.reshape_ns), .range = &reader_latency,
     .help = "the time to make a share of a new size"},
    {"interference", FIELD_FRACTION(struct machines, device.interference),
     .range = FIELD_RANGE(0, 100, "between 0% and 10000%"),
     .help = "how much longer a batch takes for each other batch on the device, with `sharing: sm` "
             "if others hold all of it"},
    {"keep_alive", FIELD_DURATION(struct machines, device.keep_alive_ns),
     .range = FIELD_RANGE(1e6, 8.64e14, "between 1ms and 240h"),
     .help = "the time after which a model that nothing has used leaves the device",
     .left_out = "models stay until their room is needed"},
    {"bus_inputs", FIELD_FLAG(struct machines, device.bus_inputs),
     .help = "`true` if inputs of batches cross the bus as well"},
    {"shares_memory", FIELD_FLAG(struct machines, device.shares_memory),
     .help = "`true` for processors: all devices of the machine have one memory, of which `memory` "
             "says how much. A model takes its room there once, whichever of them have it loaded"},
    {"splits", FIELD_FLAG(struct machines, device.splits),
     .help = "`true` for processors: idle ones of the machine take part in a batch, if policies "
             "let workers share"},
    {0},
};

const struct field cluster_machines_fields[] = {
    {"count", FIELD_COUNT(struct machines, count), .range = &count_range, .fallback = "1",
     .always = true, .help = "how many machines are like this"},
    {"devices", FIELD_COUNT(struct machines, devices), .range = &units_range, .fallback = "1",
     .help = "devices of each machine"},
    {"partitions", FIELD_COUNT(struct machines, device.partitions),
     .range = FIELD_RANGE(1, 64, "between 1 and 64"), .fallback = "1",
     .help = "workers that each device is divided into; each has its share of the memory, its own "
             "units, and run times as profiles give them for `kind`; they share the bus"},
    {"device", FIELD_SAME_RECORD(cluster_device_fields), .needed = true,
     .help = "what each device is: see below"},
    {"cpu", FIELD_COUNT(struct machines, cpu), .range = &units_range, .fallback = "16",
     .always = true, .help = "units of CPU of each machine: cores, or what profiles count in"},
    {"up", FIELD_BANDWIDTH(struct machines, up_bytes_per_s), .range = &network_rate,
     .help = "the rate of its link into the network", .left_out = "as `network` says"},
    {"down", FIELD_BANDWIDTH(struct machines, down_bytes_per_s), .range = &network_rate,
     .help = "the rate of its link back", .left_out = "as `network` says"},
    {0},
};

const struct field cluster_prices_fields[] = {
    {"cpu", FIELD_NUMBER(struct fleet_prices, cpu), .range = &price_range, .always = true,
     .help = "of a unit of CPU"},
    {"gpu", FIELD_NUMBER(struct fleet_prices, gpu), .range = &price_range, .always = true,
     .help = "of a unit of a device"},
    {0},
};

/* How batches on one device, and its partitions, get in each other's way. */
static void check_sharing(
    struct reader *reader, const struct tree_node *node, const struct fleet_worker *device)
{
    const struct tree_node *inside = tree_find(node, "device");

    if (!reader_is_good(reader) || device->sharing != SHARES_MIG) {
        return;
    }
    if (device->gpu_units != MIG_UNITS) {
        reader_fail(
            reader, tree_find(inside, "sharing"), "'sharing: mig' wants 'units: %d'", MIG_UNITS);
    } else if (device->interference > 0) {
        reader_fail(
            reader, tree_find(inside, "interference"),
            "instances of 'sharing: mig' have no interference");
    } else if (device->partitions > 1) {
        reader_fail(
            reader, tree_find(node, "partitions"), "'partitions' do not go with 'sharing: mig'");
    }
}

/* Partitions are made so that each has memory of its own. */
static void check_memory(
    struct reader *reader, const struct tree_node *node, const struct fleet_worker *device)
{
    if (reader_is_good(reader) && device->shares_memory && device->partitions > 1) {
        reader_fail(
            reader, tree_find(node, "partitions"), "'partitions' do not go with 'shares_memory'");
    }
}

static void read_entry(struct reader *reader, const struct tree_node *node, struct fleet *fleet)
{
    struct machines machines = {.count = 0};
    struct fleet_worker *device = &machines.device;

    record_read(reader, node, cluster_machines_fields, &machines);
    check_sharing(reader, node, device);
    check_memory(reader, node, device);
    if (!reader_is_good(reader)) {
        return;
    }
    device->memory_bytes /= device->partitions; /* Each has its share. */
    device->device = fleet_device(fleet, machines.kind);
    if (device->device == WORKER_NONE) {
        reader_fail(
            reader, tree_find(tree_find(node, "device"), "kind"), "more than %d kinds of devices",
            DEVICE_KINDS_MAX);
    }
    for (uint32_t i = 0; i < machines.count && reader_is_good(reader); i++) {
        if (!fleet_add_machine(fleet, device, machines.devices, machines.cpu)) {
            reader_fail(reader, node, "more than %d devices", WORKERS_MAX);
        } else if (machines.up_bytes_per_s != 0 || machines.down_bytes_per_s != 0) {
            fleet_set_rates(
                fleet, fleet->node_count - 1, machines.up_bytes_per_s, machines.down_bytes_per_s);
        }
    }
}

static void read_machines(struct reader *reader, const struct tree_node *node, void *record)
{
    if (node->kind != TREE_LIST) {
        read_entry(reader, node, record);
        return;
    }
    reader_filled(reader, node);
    READER_EACH (item, reader, node) {
        read_entry(reader, item, record);
    }
}

static bool are_same_machines(const struct fleet *fleet, uint32_t a, uint32_t b)
{
    const struct fleet_node *one = &fleet->nodes[a];
    const struct fleet_node *other = &fleet->nodes[b];
    return one->worker_count == other->worker_count && one->cpu_units == other->cpu_units &&
           one->up_bytes_per_s == other->up_bytes_per_s &&
           one->down_bytes_per_s == other->down_bytes_per_s &&
           fleet_is_alike(&fleet->workers[one->worker_first], &fleet->workers[other->worker_first]);
}

static void write_entry(
    struct writer *writer, const struct fleet *fleet, uint32_t node, uint32_t count)
{
    const struct fleet_node *machine = &fleet->nodes[node];
    struct machines machines = {
        .count = count,
        .cpu = machine->cpu_units,
        .up_bytes_per_s = machine->up_bytes_per_s,
        .down_bytes_per_s = machine->down_bytes_per_s,
        .device = fleet->workers[machine->worker_first],
    };
    struct fleet_worker *device = &machines.device;

    device->partitions = fleet_partitions(device);
    device->memory_bytes *= device->partitions;
    machines.devices = machine->worker_count / device->partitions;
    (void)snprintf(machines.kind, sizeof(machines.kind), "%s", fleet->devices[device->device]);
    record_write_inline(writer, cluster_machines_fields, &machines);
}

static void write_machines(struct writer *writer, const void *record)
{
    const struct fleet *fleet = record;

    writer_key(writer, "machines");
    writer_open_list(writer, WRITER_LINES);
    for (uint32_t first = 0; first < fleet->node_count;) {
        uint32_t end = first + 1;
        while (end < fleet->node_count && are_same_machines(fleet, first, end)) {
            end++;
        }
        write_entry(writer, fleet, first, end - first);
        first = end;
    }
    writer_close(writer);
}

static void read_name(struct reader *reader, const struct tree_node *node, void *record)
{
    char name[NAME_BYTES_MAX];

    (void)record; /* It is for people, and not kept. */
    reader_name(reader, node, name);
}

const struct field cluster_fields[] = {
    {"cluster", .read = read_name, .form = "name", .help = "its name, for people"},
    {"machines", .read = read_machines, .write = write_machines, .needed = true,
     .form = "list of mappings, or one", .help = "machines that are alike, each: see below"},
    {"network", .relies = true, .read = network_read, .write = network_write, .form = "mapping",
     .help = "what connects them: see below", .left_out = "nothing is limited"},
    {"prices", FIELD_RECORD(struct fleet, prices, cluster_prices_fields),
     .help = "what a unit costs for an hour, in any currency: see below",
     .left_out = "nothing is charged"},
    {0},
};

enum weft_status cluster_read(
    const struct tree_node *node, struct fleet **fleet_out, struct weft_error *error)
{
    struct reader reader = {.error = error};
    struct fleet *fleet = fleet_create();

    record_read(&reader, node, cluster_fields, fleet);
    if (!reader_is_good(&reader)) {
        fleet_destroy(fleet);
        return reader.status;
    }
    *fleet_out = fleet;
    return WEFT_OK;
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

void cluster_write(struct writer *writer, const struct fleet *fleet)
{
    writer_open_mapping(writer, WRITER_LINES);
    record_write(writer, cluster_fields, fleet);
    writer_close(writer);
}
