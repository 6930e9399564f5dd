#include "document/network_document.h"

#define LOAD_MAX       0.95 /* Beyond, what waits grows almost without end. */
#define KIND_BIT(kind) (UINT32_C(1) << (kind))

const struct reader_range network_rate = {1, 1e15, "between 1B/s and 1000TB/s"};

static const struct reader_range racks_range = {1, NODES_MAX, "between 1 and 16384"};
static const struct reader_range load_range = {0, LOAD_MAX, "between 0% and 95%"};

_Static_assert(NODES_MAX == 16384, "as racks_range says");

static const char *const kinds[] = {"star", "two-tier", "bottleneck", NULL};
static const char *const sharings[] = {"fifo", "fair", NULL};
static const char *const sizes[] = {"fixed", "exponential", NULL};

const struct field network_background_fields[] = {
    {"load", FIELD_FRACTION(struct network_background, load), .range = &load_range,
     .help = "a share of each link's rate; or `rate`"},
    {"rate", FIELD_RATE(struct network_background, rate_per_s),
     .range = FIELD_RANGE(0, 1e9, "between 0 and 1e9/s"), .help = "transfers on each link"},
    {"bytes", FIELD_BYTES(struct network_background, bytes),
     .range = FIELD_RANGE(1, 1e12, "between 1 and 1TB"), .fallback = "1MB", .always = true,
     .help = "of each transfer, or their mean"},
    {"sizes", FIELD_FLAG(struct network_background, exponential), .words = sizes,
     .help = "how the sizes of transfers are drawn"},
    {0},
};

/* A share of each link, or a mapping with that or with a rate. */
static void read_background(struct reader *reader, const struct tree_node *node, void *record)
{
    struct network_background *background = &((struct fleet_network *)record)->background;

    if (node->kind == TREE_SCALAR) {
        record_read(reader, /* node */ NULL, network_background_fields, background);
        background->load = reader_quantity(reader, node, QUANTITY_FRACTION, &load_range);
        return;
    }
    record_read(reader, node, network_background_fields, background);
    if ((tree_find(node, "load") == NULL) == (tree_find(node, "rate") == NULL)) {
        reader_fail(reader, node, "background traffic has one of load and rate");
    }
}

static void write_background(struct writer *writer, const void *record)
{
    const struct network_background *background =
        &((const struct fleet_network *)record)->background;

    if (background->load > 0 || background->rate_per_s > 0) {
        writer_key(writer, "background");
        record_write_inline(writer, network_background_fields, background);
    }
}

const struct field network_fields[] = {
    {"kind", FIELD_WORD(struct fleet_network, kind), .words = kinds, .always = true,
     .help = "`star`: machines at one switch; `two-tier`: racks at a core; `bottleneck`: one link "
             "that everything between machines crosses"},
    {"racks", FIELD_COUNT(struct fleet_network, rack_count), .range = &racks_range,
     .only = KIND_BIT(NETWORK_TWO_TIER),
     .help = "how many racks of equal size, in the order of the machines",
     .left_out = "as `per_rack` says"},
    {"per_rack", FIELD_COUNT(struct fleet_network, nodes_per_rack), .range = &racks_range,
     .only = KIND_BIT(NETWORK_TWO_TIER), .help = "how many machines in each rack",
     .left_out = "as `racks` says"},
    {"core", FIELD_BANDWIDTH(struct fleet_network, core_bytes_per_s), .range = &reader_bandwidth,
     .only = KIND_BIT(NETWORK_TWO_TIER) | KIND_BIT(NETWORK_BOTTLENECK), .needed = true,
     .help = "the rate between each rack and the core, in each direction, or of the one link; 0 is "
             "no limit"},
    {"link", FIELD_BANDWIDTH(struct fleet_network, link_bytes_per_s), .range = &reader_bandwidth,
     .help = "the rate of each machine's link, in each direction", .left_out = "no limit"},
    {"up", FIELD_BANDWIDTH(struct fleet_network, up_bytes_per_s), .range = &network_rate,
     .help = "the rate from each machine", .left_out = "as `link`"},
    {"down", FIELD_BANDWIDTH(struct fleet_network, down_bytes_per_s), .range = &network_rate,
     .help = "the rate to each machine", .left_out = "as `link`"},
    {"latency", FIELD_DURATION(struct fleet_network, latency_ns), .range = &reader_latency,
     .help = "the minimum time of every message between machines"},
    {"sharing", FIELD_WORD(struct fleet_network, sharing), .words = sharings,
     .help = "`fifo`: one transfer after the other; `fair`: all at once, max-min fair"},
    {"background", .relies = true, .read = read_background, .write = write_background,
     .form = "fraction, between 0% and 95%, or mapping",
     .help = "traffic of others on each limited link, simulated only: a share of its rate, or as "
             "below. At most 95 % of a link",
     .left_out = "none"},
    {0},
};

/* The slowest link that has a limit; 0 if none has. */
static double slowest_link(const struct fleet *fleet)
{
    double slowest =
        fleet->network.kind == NETWORK_STAR ? 0 : (double)fleet->network.core_bytes_per_s;

    for (uint32_t i = 0; i < fleet->node_count; i++) {
        const double rates[2] = {
            (double)fleet_up_rate(fleet, i), (double)fleet_down_rate(fleet, i)};
        for (uint32_t j = 0; j < 2; j++) {
            slowest = rates[j] > 0 && (slowest <= 0 || rates[j] < slowest) ? rates[j] : slowest;
        }
    }
    return slowest;
}

/* Others must leave something of every link that has a limit. */
static void check_background(
    struct reader *reader, const struct tree_node *node, const struct fleet *fleet)
{
    const struct network_background *background = &fleet->network.background;
    const double slowest = slowest_link(fleet);

    if (slowest <= 0) {
        reader_fail(reader, node, "'background' needs links with a limit");
    } else if (background->rate_per_s * (double)background->bytes > LOAD_MAX * slowest) {
        reader_fail(reader, node, "'background' is more than 95%% of the slowest link");
    }
}

void network_read(struct reader *reader, const struct tree_node *node, void *record)
{
    struct fleet *fleet = record;
    const struct tree_node *background = tree_find(node, "background");

    record_read(reader, node, network_fields, &fleet->network);
    if (reader_is_good(reader) && fleet->network.kind == NETWORK_TWO_TIER &&
        (tree_find(node, "racks") == NULL) == (tree_find(node, "per_rack") == NULL)) {
        reader_fail(reader, node, "a two-tier network has one of racks and per_rack");
    }
    if (reader_is_good(reader) && background != NULL) {
        check_background(reader, background, fleet);
    }
}

void network_write(struct writer *writer, const void *record)
{
    const struct fleet *fleet = record;
    struct fleet_network network = fleet->network;

    if (network.rack_count > 0 || network.nodes_per_rack == 0) {
        network.nodes_per_rack = 0; /* Racks come first; without either, all are in one. */
        network.rack_count = network.rack_count == 0 ? 1 : network.rack_count;
    }
    if (slowest_link(fleet) <= 0) { /* Without a limit, traffic of others does nothing. */
        network.background = (struct network_background){.load = 0};
    }
    writer_key(writer, "network");
    record_write_inline(writer, network_fields, &network);
}
