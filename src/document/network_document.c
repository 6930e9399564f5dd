#include "document/network_document.h"

#define LOAD_MAX 0.95 /* Beyond, what waits grows almost without end. */

enum { BACKGROUND_BYTES_DEFAULT = 1000000 };

static const struct reader_range limited = {1, 1e15, "between 1B/s and 1000TB/s"};
static const struct reader_range racks = {1, NODES_MAX, "between 1 and 16384"};
static const struct reader_range background_bytes = {1, 1e12, "between 1 and 1TB"};
static const struct reader_range background_load = {0, LOAD_MAX, "between 0% and 95%"};
static const struct reader_range background_rate = {0, 1e9, "between 0 and 1e9/s"};

_Static_assert(NODES_MAX == 16384, "as racks says");

uint64_t network_read_rate(struct reader *reader, const struct tree_node *mapping, const char *key)
{
    const struct tree_node *node = tree_find(mapping, key);

    return node == NULL ? 0 : (uint64_t)reader_quantity(reader, node, QUANTITY_BANDWIDTH, &limited);
}

/* Fail if @mapping has @key, which means something only for other kinds of networks. */
static void refuse(
    struct reader *reader, const struct tree_node *mapping, const char *key, const char *kind)
{
    const struct tree_node *node = tree_find(mapping, key);

    if (node != NULL) {
        reader_fail(reader, node, "'%s' does not go with kind '%s'", key, kind);
    }
}

static void read_racks(
    struct reader *reader, const struct tree_node *node, struct fleet_network *network)
{
    const struct tree_node *count = tree_find(node, "racks");
    const struct tree_node *size = tree_find(node, "per_rack");

    if ((count == NULL) == (size == NULL)) {
        reader_fail(reader, node, "a two-tier network has one of racks and per_rack");
    }
    network->rack_count = (uint32_t)reader_quantity(reader, count, QUANTITY_COUNT, &racks);
    network->nodes_per_rack = (uint32_t)reader_quantity(reader, size, QUANTITY_COUNT, &racks);
}

/* The core, which two kinds have, and the racks, which one has. */
static void read_kind(
    struct reader *reader, const struct tree_node *node, struct fleet_network *network)
{
    static const char *const kinds[] = {"star", "two-tier", "bottleneck", NULL};

    network->kind = (enum network_kind)reader_word(reader, tree_find(node, "kind"), kinds);
    const char *kind = kinds[network->kind];
    if (network->kind == NETWORK_TWO_TIER) {
        read_racks(reader, node, network);
    } else {
        refuse(reader, node, "racks", kind);
        refuse(reader, node, "per_rack", kind);
    }
    if (network->kind == NETWORK_STAR) {
        refuse(reader, node, "core", kind);
    } else {
        network->core_bytes_per_s = (uint64_t)reader_quantity(
            reader, reader_need(reader, node, "core"), QUANTITY_BANDWIDTH, &reader_bandwidth);
    }
}

/* A share of each link, or a mapping with that or with a rate. */
static void read_background(
    struct reader *reader, const struct tree_node *node, struct network_background *background)
{
    static const char *const keys[] = {"load", "rate", "bytes", "sizes", NULL};
    static const char *const sizes[] = {"fixed", "exponential", NULL};

    background->bytes = BACKGROUND_BYTES_DEFAULT;
    if (node->kind == TREE_SCALAR) {
        background->load = reader_quantity(reader, node, QUANTITY_SHARE, &background_load);
        return;
    }
    reader_mapping(reader, node, keys);
    const struct tree_node *load = tree_find(node, "load");
    const struct tree_node *rate = tree_find(node, "rate");
    const struct tree_node *bytes = tree_find(node, "bytes");
    if ((load == NULL) == (rate == NULL)) {
        reader_fail(reader, node, "background traffic has one of load and rate");
    }
    background->load = reader_quantity(reader, load, QUANTITY_SHARE, &background_load);
    background->rate_per_s = reader_quantity(reader, rate, QUANTITY_RATE, &background_rate);
    if (bytes != NULL) {
        background->bytes =
            (uint64_t)reader_quantity(reader, bytes, QUANTITY_BYTES, &background_bytes);
    }
    background->exponential = reader_word(reader, tree_find(node, "sizes"), sizes) == 1;
}

/* Others must leave something of every link that has a limit. */
static void check_background(
    struct reader *reader, const struct tree_node *node, const struct fleet *fleet)
{
    const struct network_background *background = &fleet->network.background;
    const double bytes_per_s = background->rate_per_s * (double)background->bytes;
    double slowest = (double)fleet->network.core_bytes_per_s;

    for (uint32_t i = 0; i < fleet->node_count; i++) {
        const double rates[2] = {
            (double)fleet_up_rate(fleet, i), (double)fleet_down_rate(fleet, i)};
        for (uint32_t j = 0; j < 2; j++) {
            slowest = rates[j] > 0 && (slowest <= 0 || rates[j] < slowest) ? rates[j] : slowest;
        }
    }
    if (slowest <= 0) {
        reader_fail(reader, node, "'background' needs links with a limit");
    } else if (bytes_per_s > LOAD_MAX * slowest) {
        reader_fail(reader, node, "'background' is more than 95%% of the slowest link");
    }
}

void network_read(struct reader *reader, const struct tree_node *node, struct fleet *fleet)
{
    static const char *const keys[] = {"kind",    "link",       "up",   "down",
                                       "racks",   "per_rack",   "core", "latency",
                                       "sharing", "background", NULL};
    static const char *const sharings[] = {"fifo", "fair", NULL};
    struct fleet_network *network = &fleet->network;

    if (node == NULL) {
        return;
    }
    reader_mapping(reader, node, keys);
    read_kind(reader, node, network);
    network->sharing =
        (enum network_sharing)reader_word(reader, tree_find(node, "sharing"), sharings);
    network->link_bytes_per_s = (uint64_t)reader_quantity(
        reader, tree_find(node, "link"), QUANTITY_BANDWIDTH, &reader_bandwidth);
    network->up_bytes_per_s = network_read_rate(reader, node, "up");
    network->down_bytes_per_s = network_read_rate(reader, node, "down");
    network->latency_ns = (int64_t)reader_quantity(
        reader, tree_find(node, "latency"), QUANTITY_DURATION, &reader_latency);
    const struct tree_node *background = tree_find(node, "background");
    if (background != NULL) {
        read_background(reader, background, &network->background);
        check_background(reader, background, fleet);
    }
}
