/*
 * network.h - what is between the machines: links, who shares them, and other traffic.
 *
 * Tensors cross the links of their route, messages without one only take the latency. All
 * events that this part puts into the queue come back to one of the functions here.
 */
#ifndef SIM_NETWORK_H
#define SIM_NETWORK_H

#include "base/rng.h"
#include "node/event.h"
#include "sim/links_fair.h"
#include "sim/links_fifo.h"
#include "sim/network_carried.h"
#include "wire/message.h"

struct parcel;
struct sim;

/* The streams of RNG_NETWORK: what is drawn for a link has its own. */
enum { NETWORK_STREAM_LINKS = 2 };

#define NETWORK_TAG_BACKGROUND UINT32_MAX /* A fair transfer that is not a parcel. */

/* Traffic of others on one link. */
struct network_link {
    struct rng rng;
    double rate_per_s; /* 0: there is none. */
};

struct network {
    uint32_t link_count;
    uint64_t *rates; /* Bytes a second, by link. 0: no limit. */
    struct links_fifo fifo;
    uint32_t *awaited;   /* By FIFO link: parcels that will reach it in events of their own. */
    bool goes_ahead;     /* Links may be taken before they are reached, if nothing comes between. */
    int64_t *reached_ns; /* By FIFO link: when the last was reached; only if checked. */
    struct links_fair fair;
    struct network_link *links;
    struct network_carried carried;
    uint64_t queued;           /* Events of links and of other traffic, stale ones included. */
    uint64_t background_count; /* Transfers of others so far. */
    uint64_t background_bytes; /* Bytes of others so far. */
};

/* Build the links of the fleet. */
void network_init(struct sim *sim);
void network_deinit(struct sim *sim);

void network_send(
    struct sim *sim, uint32_t from, uint32_t to, const struct message *message,
    struct handle tensor);

/* Tell @node if a tensor of @job is on its way from there, because @asker wants to know. */
ATTR_COLD void network_find(struct sim *sim, uint32_t node, struct job_id job, uint32_t asker);

/* A parcel reaches the next FIFO link of its route, or its receiver. */
void network_at_switch(struct sim *sim, uint32_t parcel);
void network_deliver(struct sim *sim, uint32_t parcel);

/* Whether a parcel under way is lost because of what happens to node @a, or between @a and @b. */
typedef bool network_loses(const struct parcel *parcel, uint32_t a, uint32_t b);

/* Connections break: what of the parcels under way @loses says never arrives. */
ATTR_COLD void network_lose(struct sim *sim, network_loses *loses, uint32_t a, uint32_t b);

/* A transfer may have passed its fair links. */
void network_passed(struct sim *sim);

/* network_background.c: the first transfers of others, and the next one on @link. */
void network_background_start(struct sim *sim);
void network_background_next(struct sim *sim, uint32_t link);

#endif /* SIM_NETWORK_H */
