#include "document/scenario.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "document/arrivals_document.h"
#include "document/reader.h"
#include "document/scenario_check.h"
#include "document/scenario_parts.h"

static const struct reader_range workers_range = {1, WORKERS_MAX, "between 1 and 16384"};

_Static_assert(WORKERS_MAX == 16384, "as workers_range says");

static void set_rate(
    struct reader *reader, const struct tree_node *value, struct scenario *scenario)
{
    const struct arrivals before = scenario->arrivals;

    scenario_read_rate(reader, value, scenario);
    scenario_check_length(reader, value, scenario);
    if (!reader_is_good(reader)) {
        scenario->arrivals = before;
    }
}

static void set_patience(
    struct reader *reader, const struct tree_node *value, struct scenario *scenario)
{
    arrivals_read_patience(reader, value, &scenario->arrivals);
}

static void set_jobs(
    struct reader *reader, const struct tree_node *value, struct scenario *scenario)
{
    const uint64_t before = scenario->jobs;

    scenario_read_jobs(reader, value, scenario);
    scenario_check_length(reader, value, scenario);
    if (!reader_is_good(reader)) {
        scenario->jobs = before;
    }
}

static void set_row_load(
    struct reader *reader, const struct tree_node *value, struct scenario *scenario)
{
    scenario_read_row(reader, value, &scenario->row_load_ns);
}

static void set_row_cache(
    struct reader *reader, const struct tree_node *value, struct scenario *scenario)
{
    scenario_read_row(reader, value, &scenario->row_cache_ns);
}

static void set_link(
    struct reader *reader, const struct tree_node *value, struct scenario *scenario)
{
    const double link = reader_quantity(reader, value, QUANTITY_BANDWIDTH, &reader_bandwidth);

    if (reader_is_good(reader)) {
        scenario->fleet->network.link_bytes_per_s = (uint64_t)link;
    }
}

static void set_latency(
    struct reader *reader, const struct tree_node *value, struct scenario *scenario)
{
    const double latency = reader_quantity(reader, value, QUANTITY_DURATION, &reader_latency);

    if (reader_is_good(reader)) {
        scenario->fleet->network.latency_ns = (int64_t)latency;
    }
}

/* The same machines and network, made anew. NULL if some machine differs from the first. */
static struct fleet *copy_fleet(const struct fleet *fleet, uint32_t node_count)
{
    const struct fleet_worker *device = &fleet->workers[0];
    const struct fleet_node *node = &fleet->nodes[0];

    for (uint32_t i = 0; i < fleet->worker_count; i++) {
        const struct fleet_node *owner = &fleet->nodes[fleet->workers[i].node];
        if (!fleet_is_alike(&fleet->workers[i], device) ||
            owner->worker_count != node->worker_count || owner->cpu_units != node->cpu_units ||
            owner->up_bytes_per_s != node->up_bytes_per_s ||
            owner->down_bytes_per_s != node->down_bytes_per_s) {
            return NULL;
        }
    }
    struct fleet *copy = fleet_create();
    for (uint32_t i = 0; i < fleet->device_count; i++) {
        (void)fleet_device(copy, fleet->devices[i]); /* As many as there were before. */
    }
    for (uint32_t i = 0; i < node_count; i++) {
        /* At most WORKERS_MAX in all, as the range of the value says. */
        const uint32_t devices = node->worker_count / fleet_partitions(device);
        (void)fleet_add_machine(copy, device, devices, node->cpu_units);
        fleet_set_rates(copy, i, node->up_bytes_per_s, node->down_bytes_per_s);
    }
    copy->network = fleet->network;
    return copy;
}

static void set_workers(
    struct reader *reader, const struct tree_node *value, struct scenario *scenario)
{
    const uint32_t per_node = scenario->fleet->nodes[0].worker_count;
    const uint32_t count = (uint32_t)reader_quantity(reader, value, QUANTITY_COUNT, &workers_range);

    if (count % per_node != 0) {
        reader_fail(
            reader, value, "'workers' is %u, but each machine has %u devices", count, per_node);
    }
    for (uint32_t i = 0; i < scenario->fault_count; i++) {
        if (scenario->faults[i].victim >=
            (fault_hits_worker(scenario->faults[i].kind) ? count : count / per_node)) {
            reader_fail(
                reader, value, "'workers' is %u, but a fault names %s %u", count,
                fault_hits_worker(scenario->faults[i].kind) ? "worker" : "node",
                scenario->faults[i].victim);
        }
    }
    if (scenario->fault_random_count > 0 && count < 2 * per_node) {
        reader_fail(
            reader, value, "'workers' is %u, but random faults spare node 0, and there is no other",
            count);
    }
    if (scenario->mixture != NULL && count != scenario->fleet->worker_count) {
        reader_fail(
            reader, value, "'workers' is %u, but the mixture is for %u", count,
            scenario->fleet->worker_count);
    }
    if (!reader_is_good(reader)) {
        return;
    }
    struct fleet *fleet = copy_fleet(scenario->fleet, count / per_node);
    if (fleet == NULL) {
        reader_fail(reader, value, "'workers' can be set only if all machines are alike");
        return;
    }
    fleet_destroy(scenario->fleet);
    scenario->fleet = fleet;
}

static void set_all_memory(struct fleet *fleet, uint64_t bytes)
{
    for (uint32_t i = 0; i < fleet->worker_count; i++) {
        fleet->workers[i].memory_bytes = bytes / fleet_partitions(&fleet->workers[i]);
    }
}

/* Tried on a copy first. */
static void set_memory(
    struct reader *reader, const struct tree_node *value, struct scenario *scenario)
{
    const uint64_t bytes = (uint64_t)reader_quantity(reader, value, QUANTITY_BYTES, &reader_memory);
    struct fleet tried = *scenario->fleet;
    struct scenario view = *scenario;

    if (!reader_is_good(reader)) {
        return;
    }
    tried.workers = memory_zeroed(tried.worker_count, sizeof(*tried.workers));
    memcpy(tried.workers, scenario->fleet->workers, tried.worker_count * sizeof(*tried.workers));
    set_all_memory(&tried, bytes);
    view.fleet = &tried;
    scenario_check_memory(reader, &view, /* workflows */ NULL, value);
    free(tried.workers);
    if (reader_is_good(reader)) {
        set_all_memory(scenario->fleet, bytes);
    }
}

struct setting {
    const char *key;
    void (*set)(struct reader *reader, const struct tree_node *value, struct scenario *scenario);
};

static const struct setting settings[] = {
    {"rate", set_rate},
    {"patience", set_patience},
    {"jobs", set_jobs},
    {"noise", scenario_read_noise},
    {"profile_error", scenario_read_profile_error},
    {"warmup", scenario_read_warmup},
    {"workers", set_workers},
    {"link", set_link},
    {"latency", set_latency},
    {"rows.load", set_row_load},
    {"rows.cache", set_row_cache},
    {"memory", set_memory},
    {"policy", scenario_read_policy},
};

enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

enum weft_status scenario_set(
    struct scenario *scenario, const char *key, const char *value, struct weft_error *error)
{
    const char *names[SETTINGS + 1] = {NULL};
    char quoted[READER_QUOTE_BYTES];
    char suggestion[READER_QUOTE_BYTES];

    for (uint32_t i = 0; i < SETTINGS; i++) {
        names[i] = settings[i].key;
        if (strcmp(settings[i].key, key) == 0) {
            struct reader reader = {.error = error};
            const struct tree_node node = {.kind = TREE_SCALAR, .key = key, .text = value};
            settings[i].set(&reader, &node, scenario);
            return reader.status;
        }
    }
    return error_set(
        error, WEFT_NOT_FOUND, "unknown setting %s%s", reader_quote_text(quoted, key),
        reader_suggestion(key, names, suggestion));
}
