/*
 * links_route.h - the links of a fleet by number, and those that a transfer crosses.
 *
 * With N machines: link n leads up from machine n, link N + n down to it. The core comes
 * after those: two links for each rack, up and down, or the one link of a bottleneck. A
 * link whose rate is 0 has no limit and is on no route.
 */
#ifndef MODEL_LINKS_ROUTE_H
#define MODEL_LINKS_ROUTE_H

#include "model/fleet.h"

enum { ROUTE_LINKS_MAX = 4 };

/* In the order of travel. */
struct route {
    uint32_t count;
    uint32_t links[ROUTE_LINKS_MAX];
};

uint32_t links_count(const struct fleet *fleet);

/* The rate of every link, in bytes per second. */
void links_rates(const struct fleet *fleet, uint64_t *rates_out);

/* What a transfer crosses; @rates are those of links_rates(). */
void links_route(
    const struct fleet *fleet, const uint64_t *rates, uint32_t from, uint32_t to,
    struct route *route_out);

#endif /* MODEL_LINKS_ROUTE_H */
