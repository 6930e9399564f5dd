/*
 * fleet.h - machines, devices and links as configured.
 *
 * A fleet is filled once and then only read. Nodes are numbered like machines: one
 * node runs on each, with one worker for each of its devices, or for each partition of
 * them. Partitions have their own memory and share one bus. Processors of a machine can share one
 * memory: a model is there once, however many of them run it.
 *
 * One whose machines have slots is the exception: a machine may be replaced by another, between
 * two steps of those who read it (resources.h). Numbers of nodes and workers stay.
 */
#ifndef MODEL_FLEET_H
#define MODEL_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "model/ids.h"

enum { DEVICE_KINDS_MAX = 32 };

/* What every computed duration is cut to: 13 days, so that thousands can be added. */
#define DURATION_NS_MAX (INT64_C(1) << 50)

/* How batches share a device: model/sharing.h. */
enum device_sharing { SHARES_COUNTED, SHARES_MIG, SHARES_SM };

struct fleet_worker {
    uint32_t node;
    uint32_t device;          /* Index of its kind: what profiles are looked up by. */
    uint64_t memory_bytes;    /* For models and workspaces; where it is shared: of all together. */
    uint64_t bus_bytes_per_s; /* Host to device. */
    uint32_t gpu_units;       /* The whole device, in shares. At least 1. */
    int64_t reshape_ns;       /* To make a share of a new size ready. 0: always ready. */
    uint32_t partitions;      /* Workers that its device is divided into. 0: it is one worker. */
    uint32_t partition;       /* Which of these it is. Set when it is added. */
    double interference;      /* How much longer a batch takes for each other on the device.
                                 SM: for others that hold all of it. MIG: 0. */
    enum device_sharing sharing;
    int64_t keep_alive_ns; /* A model that nothing has used for so long leaves. 0: it stays. */
    bool bus_inputs;       /* Inputs of batches cross the bus too, before the batch runs. */
    bool splits;           /* A processor: other idle ones of its node can take part in a batch. */
    bool shares_memory;    /* With all of its node that do. */
    bool is_absent;        /* A slot that its machine has no device for. */
};

struct fleet_node {
    uint32_t worker_first;
    uint32_t worker_count; /* That are there: slots without a device come after them. */
    uint32_t slot_count;   /* Numbers that are kept for it: at least as many. */
    uint32_t cpu_units;
    uint64_t up_bytes_per_s; /* See fleet_set_rates(). 0: as the network says. */
    uint64_t down_bytes_per_s;
};

/*
 *   star          machine - switch - machine
 *   two-tier      machine - switch of its rack - core - switch of its rack - machine
 *   bottleneck    machine - switch - one link for all - switch - machine
 */
enum network_kind { NETWORK_STAR, NETWORK_TWO_TIER, NETWORK_BOTTLENECK };

enum network_sharing {
    SHARING_FIFO, /* One transfer after the other, in the order of arrival at the link. */
    SHARING_FAIR, /* All at once, with max-min fair rates. */
};

/* Traffic of others: on each limited link its own, with exponential gaps. */
struct network_background {
    double load;       /* A share of the link's rate; if 0, rate_per_s says how much. */
    double rate_per_s; /* Transfers per second. Both 0: there is none. */
    uint64_t bytes;    /* Of each, or their mean. */
    bool exponential;  /* Sizes are drawn, with that mean. */
};

/* All zero: a star without limits. A rate of 0 means no limit unless another field decides. */
struct fleet_network {
    uint64_t link_bytes_per_s; /* Of each machine, each direction. */
    int64_t latency_ns;        /* Added to every message between machines. */
    enum network_kind kind;
    enum network_sharing sharing;
    uint64_t up_bytes_per_s; /* From each machine, and to it. 0: link_bytes_per_s. */
    uint64_t down_bytes_per_s;
    uint64_t core_bytes_per_s; /* Of each rack, each direction; or of the one link for all. */
    uint32_t rack_count;       /* Racks of equal size; if 0, nodes_per_rack says how many. */
    uint32_t nodes_per_rack;
    bool has_own_rates; /* Some machine has: fleet_set_rates() was called. */
    struct network_background background;
};

/* What a unit costs for an hour, in any currency. 0: nothing is charged. */
struct fleet_prices {
    double cpu;
    double gpu;
};

struct fleet {
    uint32_t worker_count;
    uint32_t node_count;
    uint32_t device_count;
    struct fleet_worker *workers;
    struct fleet_node *nodes;
    char (*devices)[NAME_BYTES_MAX];
    struct fleet_network network;
    struct fleet_prices prices;
    bool has_slots; /* Machines may be replaced by others that differ. */
};

/* An empty fleet with room for DEVICE_KINDS_MAX kinds; the caller owns it. */
struct fleet *fleet_create(void);

/* Release @fleet. NULL is allowed. */
void fleet_destroy(struct fleet *fleet);

/* The index of device kind @name, added if it is new. WORKER_NONE past the limit. */
uint32_t fleet_device(struct fleet *fleet, const char *name);

/*
 * Add a machine with @device_count devices, whose workers are each like @device (its node
 * is set here): one worker per device, or per partition, with the memory of a partition.
 * False past NODES_MAX or WORKERS_MAX.
 */
bool fleet_add_machine(
    struct fleet *fleet, const struct fleet_worker *device, uint32_t device_count,
    uint32_t cpu_units);

/*
 * Give the machine that was added last @count more devices, whose workers are each like @device:
 * one per device, or per partition. False past WORKERS_MAX.
 */
bool fleet_add_devices(struct fleet *fleet, const struct fleet_worker *device, uint32_t count);

/*
 * Keep numbers for @count workers of the machine that was added last, some of which it has already:
 * another in its place may have so many. False past WORKERS_MAX, or if it has more.
 */
bool fleet_add_slots(struct fleet *fleet, uint32_t count);

/* How many workers the device of @worker is divided into: at least 1. */
static inline uint32_t fleet_partitions(const struct fleet_worker *worker)
{
    return worker->partitions == 0 ? 1 : worker->partitions;
}

/* The first worker on the device of @worker: itself, unless the device has partitions. */
static inline uint32_t fleet_first_partition(const struct fleet *fleet, uint32_t worker)
{
    return worker - fleet->workers[worker].partition;
}

/* The first worker that has the memory of @worker: itself, unless it shares that. */
uint32_t fleet_first_sharer(const struct fleet *fleet, uint32_t worker);

/*
 * The next worker after @after, or the first of all if that is WORKER_NONE, that @worker shares its
 * memory with. WORKER_NONE if there is none.
 */
uint32_t fleet_next_sharer(const struct fleet *fleet, uint32_t worker, uint32_t after);

/* How many workers have the memory of @worker: at least 1. */
uint32_t fleet_sharers(const struct fleet *fleet, uint32_t worker);

/* Give @node links with other rates; a rate of 0 stays what the network says. */
void fleet_set_rates(
    struct fleet *fleet, uint32_t node, uint64_t up_bytes_per_s, uint64_t down_bytes_per_s);

/* The rate of the link from @node into the network, and of the one back. 0: no limit. */
uint64_t fleet_up_rate(const struct fleet *fleet, uint32_t node);
uint64_t fleet_down_rate(const struct fleet *fleet, uint32_t node);

/* The rack of @node, and how many there are. Without racks, all are in the first. */
uint32_t fleet_rack(const struct fleet *fleet, uint32_t node);
uint32_t fleet_rack_count(const struct fleet *fleet);

/* How long @bytes take between two nodes on an idle network: the slowest link decides. */
int64_t fleet_transfer_ns(const struct fleet *fleet, uint32_t from, uint32_t to, uint64_t bytes);

/* As long as that between any two nodes, or less. */
int64_t fleet_transfer_least_ns(const struct fleet *fleet, uint64_t bytes);

/* @bytes at @bytes_per_s, rounded up, at most DURATION_NS_MAX; 0 if the rate is 0: no limit. */
int64_t fleet_bytes_ns(uint64_t bytes, uint64_t bytes_per_s);

/* Whether two workers differ in nothing but the machine they are on. */
bool fleet_is_alike(const struct fleet_worker *a, const struct fleet_worker *b);

#endif /* MODEL_FLEET_H */
