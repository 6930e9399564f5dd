#include "mixture/machine_classes.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "mixture/background.h"
#include "mixture/sites.h"

/* What is compared of two machines. */
struct comparison {
    const struct program_input *input;
    const struct sites_options *options;
    const uint64_t *rates;
};

static bool same_background(struct program_background a, struct program_background b)
{
    return a.load == b.load && a.residual_ns == b.residual_ns;
}

static uint32_t use_of(const struct sites_options *options, uint32_t node)
{
    return options->uses == NULL ? 0 : options->uses[node];
}

static bool has_racks(const struct fleet *fleet)
{
    return fleet->network.kind == NETWORK_TWO_TIER;
}

/* Whether two machines differ in nothing that the program sees, or but for backgrounds. */
static bool is_same(const struct comparison *comparison, uint32_t a, uint32_t b)
{
    const struct program_input *input = comparison->input;
    const struct fleet *fleet = input->fleet;
    const uint32_t links[][2] = {{a, b}, {fleet->node_count + a, fleet->node_count + b}};
    const struct fleet_node *one = &fleet->nodes[a];
    const struct fleet_node *two = &fleet->nodes[b];
    if (use_of(comparison->options, a) != use_of(comparison->options, b) ||
        one->worker_count != two->worker_count ||
        (has_racks(fleet) && fleet_rack(fleet, a) != fleet_rack(fleet, b))) {
        return false;
    }
    for (uint32_t i = 0; i < 2; i++) {
        const uint64_t rate = comparison->rates[links[i][0]];
        if (rate != comparison->rates[links[i][1]] ||
            !same_background(
                background_of_link(input, links[i][0], rate),
                background_of_link(input, links[i][1], rate))) {
            return false;
        }
    }
    for (uint32_t slot = 0; slot < one->worker_count; slot++) {
        const uint32_t left = one->worker_first + slot;
        const uint32_t right = two->worker_first + slot;
        if (fleet->workers[left].device != fleet->workers[right].device) {
            return false;
        }
        const struct program_background one_load = background_of_worker(input, left);
        const struct program_background two_load = background_of_worker(input, right);
        if (comparison->options->average ? (one_load.load < 1) != (two_load.load < 1)
                                         : !same_background(one_load, two_load)) {
            return false;
        }
    }
    return true;
}

static uint64_t hash_double(uint64_t hash, double value)
{
    const double positive = value + 0.0; /* Both zeros are the same. */
    uint64_t bits;
    memcpy(&bits, &positive, sizeof(bits));
    return hash_mix(hash, bits);
}

/* Of all that tells machines apart. */
static uint64_t hash_machine(const struct comparison *comparison, uint32_t node)
{
    const struct program_input *input = comparison->input;
    const struct fleet *fleet = input->fleet;
    const struct fleet_node *machine = &fleet->nodes[node];
    uint64_t hash = hash_mix(use_of(comparison->options, node), machine->worker_count);
    hash = has_racks(fleet) ? hash_mix(hash, fleet_rack(fleet, node)) : hash;
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t link = i * fleet->node_count + node;
        const uint64_t rate = comparison->rates[link];
        const struct program_background others = background_of_link(input, link, rate);
        hash = hash_double(hash_double(hash_mix(hash, rate), others.load), others.residual_ns);
    }
    for (uint32_t slot = 0; slot < machine->worker_count; slot++) {
        const uint32_t worker = machine->worker_first + slot;
        const struct program_background others = background_of_worker(input, worker);
        hash = hash_mix(hash, fleet->workers[worker].device);
        if (!comparison->options->average) {
            hash = hash_double(hash_double(hash, others.load), others.residual_ns);
        }
    }
    return hash;
}

/* By machine: its class. @first_out has room for a machine of each, and @table for twice that. */
static uint32_t find_classes(
    const struct comparison *comparison, uint32_t *class_of_out, uint32_t *first_out,
    uint32_t *table, uint32_t mask)
{
    const uint32_t node_count = comparison->input->fleet->node_count;
    uint32_t count = 0;
    for (uint32_t node = 0; node < node_count; node++) {
        uint32_t slot = (uint32_t)hash_machine(comparison, node) & mask;
        while (table[slot] != 0 && !is_same(comparison, first_out[table[slot] - 1], node)) {
            slot = (slot + 1) & mask;
        }
        if (table[slot] == 0) {
            first_out[count++] = node;
            table[slot] = count;
        }
        class_of_out[node] = table[slot] - 1;
    }
    return count;
}

void machine_classes(
    struct sites *sites, const struct program_input *input, const struct sites_options *options,
    const uint64_t *rates)
{
    const struct comparison comparison = {input, options, rates};
    const uint32_t node_count = sites->fleet->node_count;
    uint32_t slots = 2;
    while (slots < 2 * node_count) {
        slots *= 2;
    }
    uint32_t *class_of = memory_zeroed(node_count, sizeof(*class_of));
    uint32_t *first = memory_zeroed(node_count, sizeof(*first));
    uint32_t *table = memory_zeroed(slots, sizeof(*table));
    sites->classes = memory_zeroed(node_count, sizeof(*sites->classes));
    sites->nodes = memory_zeroed(node_count, sizeof(*sites->nodes));
    sites->class_count = find_classes(&comparison, class_of, first, table, slots - 1);
    for (uint32_t node = 0; node < node_count; node++) {
        sites->classes[class_of[node]].node_count++;
    }
    uint32_t *next = sites->nodes;
    for (uint32_t group = 0; group < sites->class_count; group++) {
        struct machine_class *machines = &sites->classes[group];
        machines->nodes = next;
        next += machines->node_count;
        machines->node_count = 0;
    }
    for (uint32_t node = 0; node < node_count; node++) {
        struct machine_class *machines = &sites->classes[class_of[node]];
        machines->nodes[machines->node_count++] = node;
    }
    free(table);
    free(first);
    free(class_of);
}
