#include "document/cluster_document.h"

#include "document/network_document.h"
#include "document/reader.h"
#include "model/sharing.h"

enum { CPU_UNITS_DEFAULT = 16 };

static const struct reader_range count_range = {1, NODES_MAX, "between 1 and 16384"};
static const struct reader_range units_range = {1, 1024, "between 1 and 1024"};
static const struct reader_range gpu_range = {1, 128, "between 1 and 128"};
static const struct reader_range partitions_range = {1, 64, "between 1 and 64"};
static const struct reader_range price_range = {0, 1e6, "between 0 and 1000000"};
static const struct reader_range interference_range = {0, 100, "between 0 and 100"};

static const struct reader_range keep_range = {1e6, 8.64e14, "between 1ms and 240h"};

_Static_assert(NODES_MAX == 16384, "as count_range says");

/* A whole number of @mapping, or @fallback if it says nothing. */
static uint32_t read_count(
    struct reader *reader, const struct tree_node *mapping, const char *key,
    const struct reader_range *range, uint32_t fallback)
{
    const struct tree_node *node = tree_find(mapping, key);

    return node == NULL ? fallback : (uint32_t)reader_quantity(reader, node, QUANTITY_COUNT, range);
}

/* How batches on one device, and what crosses its bus, get in each other's way. */
static void read_sharing(
    struct reader *reader, const struct tree_node *node, struct fleet_worker *device_out)
{
    static const char *const answers[] = {"false", "true", NULL};
    static const char *const kinds[] = {"counted", "mig", "sm", NULL};
    const struct tree_node *sharing = tree_find(node, "sharing");
    const struct tree_node *interference = tree_find(node, "interference");
    const struct tree_node *bus_inputs = tree_find(node, "bus_inputs");

    device_out->interference =
        reader_quantity(reader, interference, QUANTITY_SHARE, &interference_range);
    device_out->bus_inputs = reader_word(reader, bus_inputs, answers) == 1;
    device_out->sharing = (enum device_sharing)reader_word(reader, sharing, kinds);
    if (device_out->sharing != SHARES_MIG) {
        return;
    }
    if (device_out->gpu_units != MIG_UNITS) {
        reader_fail(reader, sharing, "'sharing: mig' wants 'units: %d'", MIG_UNITS);
    } else if (device_out->interference > 0) {
        reader_fail(reader, interference, "instances of 'sharing: mig' have no interference");
    }
}

static void read_device(
    struct reader *reader, const struct tree_node *node, struct fleet *fleet,
    struct fleet_worker *device_out)
{
    static const char *const keys[] = {
        "kind",         "memory",  "h2d",        "units",      "reshape",
        "interference", "sharing", "bus_inputs", "keep_alive", NULL,
    };
    char kind[NAME_BYTES_MAX] = "";

    reader_mapping(reader, node, keys);
    const struct tree_node *name = reader_need(reader, node, "kind");
    reader_name(reader, name, kind);
    device_out->memory_bytes = (uint64_t)reader_quantity(
        reader, reader_need(reader, node, "memory"), QUANTITY_BYTES, &reader_memory);
    device_out->bus_bytes_per_s = (uint64_t)reader_quantity(
        reader, reader_need(reader, node, "h2d"), QUANTITY_BANDWIDTH, &reader_bandwidth);
    device_out->gpu_units = read_count(reader, node, "units", &gpu_range, 1);
    const struct tree_node *reshape = tree_find(node, "reshape");
    if (reshape != NULL) {
        device_out->reshape_ns =
            (int64_t)reader_quantity(reader, reshape, QUANTITY_DURATION, &reader_latency);
    }
    const struct tree_node *keep_alive = tree_find(node, "keep_alive");
    if (keep_alive != NULL) {
        device_out->keep_alive_ns =
            (int64_t)reader_quantity(reader, keep_alive, QUANTITY_DURATION, &keep_range);
    }
    read_sharing(reader, node, device_out);
    if (!reader_is_good(reader)) {
        return;
    }
    device_out->device = fleet_device(fleet, kind);
    if (device_out->device == WORKER_NONE) {
        reader_fail(reader, name, "more than %d kinds of devices", DEVICE_KINDS_MAX);
    }
}

static void read_machines(struct reader *reader, const struct tree_node *node, struct fleet *fleet)
{
    static const char *const keys[] = {"count", "device", "devices", "partitions",
                                       "cpu",   "up",     "down",    NULL};
    struct fleet_worker device = {0};

    reader_mapping(reader, node, keys);
    const uint32_t count = read_count(reader, node, "count", &count_range, 1);
    const uint32_t devices = read_count(reader, node, "devices", &units_range, 1);
    const uint32_t cpu = read_count(reader, node, "cpu", &units_range, CPU_UNITS_DEFAULT);
    const uint64_t up = network_read_rate(reader, node, "up");
    const uint64_t down = network_read_rate(reader, node, "down");
    read_device(reader, reader_need(reader, node, "device"), fleet, &device);
    device.partitions = read_count(reader, node, "partitions", &partitions_range, 1);
    device.memory_bytes /= fleet_partitions(&device); /* Each has its share. */
    if (device.sharing == SHARES_MIG && device.partitions > 1) {
        reader_fail(
            reader, tree_find(node, "partitions"), "'partitions' do not go with 'sharing: mig'");
    }
    for (uint32_t i = 0; i < count && reader_is_good(reader); i++) {
        if (!fleet_add_machine(fleet, &device, devices, cpu)) {
            reader_fail(reader, node, "more than %d devices", WORKERS_MAX);
        } else if (up != 0 || down != 0) {
            fleet_set_rates(fleet, fleet->node_count - 1, up, down);
        }
    }
}

static void read_fleet(struct reader *reader, const struct tree_node *node, struct fleet *fleet)
{
    if (node == NULL || node->kind != TREE_LIST) {
        read_machines(reader, node, fleet);
        return;
    }
    if (node->child_count == 0) {
        reader_fail(reader, node, "'machines' is empty");
    }
    for (const struct tree_node *item = node->first; item != NULL && reader_is_good(reader);
         item = item->next) {
        read_machines(reader, item, fleet);
    }
}

static void read_prices(
    struct reader *reader, const struct tree_node *node, struct fleet_prices *prices_out)
{
    static const char *const keys[] = {"cpu", "gpu", NULL};

    if (node == NULL) {
        return;
    }
    reader_mapping(reader, node, keys);
    const struct tree_node *cpu = tree_find(node, "cpu");
    const struct tree_node *gpu = tree_find(node, "gpu");
    if (cpu != NULL) {
        prices_out->cpu = reader_quantity(reader, cpu, QUANTITY_NUMBER, &price_range);
    }
    if (gpu != NULL) {
        prices_out->gpu = reader_quantity(reader, gpu, QUANTITY_NUMBER, &price_range);
    }
}

enum weft_status cluster_read(
    const struct tree_node *node, struct fleet **fleet_out, struct weft_error *error)
{
    static const char *const keys[] = {"cluster", "machines", "network", "prices", NULL};
    struct reader reader = {.error = error};
    char name[NAME_BYTES_MAX];

    struct fleet *fleet = fleet_create();
    reader_mapping(&reader, node, keys);
    reader_name(&reader, tree_find(node, "cluster"), name); /* For people; not kept. */
    read_fleet(&reader, reader_need(&reader, node, "machines"), fleet);
    network_read(&reader, tree_find(node, "network"), fleet);
    read_prices(&reader, tree_find(node, "prices"), &fleet->prices);
    if (!reader_is_good(&reader)) {
        fleet_destroy(fleet);
        return reader.status;
    }
    *fleet_out = fleet;
    return WEFT_OK;
}

enum weft_status cluster_load(const char *path, struct fleet **fleet_out, struct weft_error *error)
{
    struct tree *tree = NULL;

    enum weft_status status = tree_load(path, &tree, error);
    if (status != WEFT_OK) {
        return status;
    }
    status = cluster_read(tree->root, fleet_out, error);
    tree_destroy(tree);
    return status;
}
