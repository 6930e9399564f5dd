/*
 * sites.h - a fleet as queues: machines that are alike taken together, and their links.
 *
 * A site is a number of equal machines that get equal shares of whatever is placed there;
 * its size need not be whole while a program is being solved. Each slot (the first worker
 * of a machine, the second, ...) and each limited link of a site is one queue that stands
 * for all its copies. A site of size 1 is a machine. Links of the core have no copies.
 */
#ifndef MIXTURE_SITES_H
#define MIXTURE_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/links_route.h"

struct workload;

#define QUEUE_NONE UINT32_MAX
#define SITE_EMPTY 0x1p-20 /* The size of a site that has no machine, and nothing placed on it. */

/* A worker or link and all its copies. */
struct queue_site {
    double copies;
    double load;         /* What others put on each copy. */
    double residual_ns;  /* Of that load. */
    double bytes_per_ns; /* Of a link; 0 for a worker. */
    bool shared;         /* All that is there at once is served: a fair link. */
    uint32_t site;       /* Whose size are its copies; QUEUE_NONE for the core. */
    uint32_t slot;       /* Of a worker. */
};

/* Machines that differ in nothing the program sees. */
struct machine_class {
    uint32_t node_count;
    uint32_t *nodes; /* Of the sites, ascending. The first stands for all of them. */
};

struct site {
    uint32_t machines; /* The class. */
    double size;
    uint32_t slot_count;
    uint32_t worker_first; /* Queue of its first slot. */
    uint32_t up;           /* Queues of its links; QUEUE_NONE without a limit. */
    uint32_t down;
    uint32_t core_up; /* Of its rack, if racks have a core between them. */
    uint32_t core_down;
};

struct sites {
    const struct fleet *fleet;
    uint32_t node_count; /* Of the machines that are there. */
    uint32_t class_count;
    struct machine_class *classes;
    uint32_t *nodes; /* By class. */
    uint32_t site_count;
    struct site *sites;
    uint32_t queue_count;
    struct queue_site *queues;
    uint32_t bottleneck; /* The queue of the one link for all, or QUEUE_NONE. */
    double latency_ns;
    double ingress_rate; /* Requests with inputs that leave one machine per nanosecond. */
    double ingress_work; /* Work of those requests there, per nanosecond. */
};

/* The links of a transfer, as queues. */
struct crossing {
    uint32_t count;
    uint32_t queues[ROUTE_LINKS_MAX];
};

/* Which machines are taken together. All zero: those that are alike, evenly used. */
struct sites_options {
    const uint64_t *away; /* A bit per machine that is left out. NULL: none is. */
    const uint32_t *uses; /* By machine: those of different numbers stay apart. NULL: none. */
    uint32_t parts;       /* Sites of a class of several machines, at first of equal size. 0: 1. */
};

/*
 * Group the machines of @fleet that are there, of which there is at least one. The fleet stays with
 * the result, which the caller owns.
 */
struct sites *sites_create(const struct fleet *fleet, const struct sites_options *options);

/* Release @sites. NULL is allowed. */
void sites_destroy(struct sites *sites);

/* Change the size of @site, and the copies of its queues with it. */
void sites_resize(struct sites *sites, uint32_t site, double size);

/*
 * Count what the inputs of requests put on the links up from the machines that they reach,
 * which are drawn evenly: the same whatever the placement, but for the n-th part that is
 * placed where it arrives.
 */
void sites_add_ingress(struct sites *sites, const struct workload *workload);

/* The links between two different machines, one of each of the sites. */
void sites_cross(
    const struct sites *sites, uint32_t from, uint32_t to, struct crossing *crossing_out);

/* The worker of slot @slot on machine @node. */
uint32_t sites_worker(const struct sites *sites, uint32_t node, uint32_t slot);

/* The kind of device of a slot. */
uint32_t sites_device(const struct sites *sites, uint32_t site, uint32_t slot);

#endif /* MIXTURE_SITES_H */
