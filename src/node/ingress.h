/*
 * ingress.h - which node owns the job of a request: the same choice in both hosts.
 *
 * A client goes to one node, drawn as clients that know nothing of each other would draw it,
 * and to the next one that is up where that one is lost.
 */
#ifndef NODE_INGRESS_H
#define NODE_INGRESS_H

#include <stdbool.h>

#include "model/arrivals.h"
#include "model/ids.h"

struct ingress {
    struct rng rng;
    uint32_t node_count;
    bool (*is_up)(const void *host, uint32_t node);
    const void *host; /* Borrowed; the argument of is_up. */
};

/* The node that the next client goes to. One draw per request. */
static inline uint32_t ingress_draw(struct ingress *ingress)
{
    return arrival_ingress(&ingress->rng, ingress->node_count);
}

/* Who owns the job of a client that goes to @wanted; NODE_NONE if no node is up. */
static inline uint32_t ingress_owner(const struct ingress *ingress, uint32_t wanted)
{
    for (uint32_t i = 0; i < ingress->node_count; i++) {
        const uint32_t node = (wanted + i) % ingress->node_count;
        if (ingress->is_up(ingress->host, node)) {
            return node;
        }
    }
    return NODE_NONE;
}

#endif /* NODE_INGRESS_H */
