/*
 * weft_links.h - what a node knows of the links that its tensors cross.
 *
 * A node sees what it sends itself and nothing else. From that it knows when its own link is free
 * again, and how busy it keeps that link and, if the machines of its rack do as it does, the link
 * of the rack. The load is what was sent within about the last second, over that time; of a link
 * that was idle before, over the time since it was used first. A toll is what a transfer costs
 * those that come after it: busy time, times the load over what is left of the link, which is how
 * much longer a queue becomes by one more customer. All in whole nanoseconds.
 */
#ifndef POLICY_WEFT_LINKS_H
#define POLICY_WEFT_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/fleet.h"

struct weft_link {
    int64_t free_ns; /* When what was put on it has left. */
    int64_t seen_ns; /* When busy_ns was brought up to date. */
    int64_t busy_ns; /* Within about the last WEFT_LINK_SPAN_NS, */
    int64_t span_ns; /* of which it was seen for so long. */
};

/* Links of one node. All zero: nothing was sent. */
struct weft_links {
    struct weft_link up;   /* Of the machine. */
    struct weft_link core; /* Of its rack, or the one for all: as if all sent as much. */
};

#define WEFT_LINK_SPAN_NS INT64_C(1000000000)

/* What a transfer that keeps @link busy for @use_ns costs those that come after it. */
int64_t weft_link_toll_ns(const struct weft_link *link, int64_t use_ns, int64_t now_ns);

/* @times transfers that keep @link busy for @use_ns each. */
void weft_link_send(struct weft_link *link, int64_t use_ns, uint32_t times, int64_t now_ns);

/* A transfer of @bytes between two nodes, over idle links. */
struct weft_transfer {
    int64_t whole_ns; /* From the first byte to the last; 0 within a node. */
    int64_t up_ns;    /* How long it keeps the link of a machine busy. */
    int64_t core_ns;  /* The same for the link of a rack; 0 if it does not leave it. */
};

struct weft_transfer weft_transfer(
    const struct fleet *fleet, uint32_t from, uint32_t to, uint64_t bytes);

/* Whether what goes from one node to another crosses the link of a rack, or the one for all. */
bool weft_crosses_core(const struct fleet *fleet, uint32_t from, uint32_t to);

/* What @transfer costs others, if it were sent now. */
int64_t weft_toll_ns(
    const struct weft_links *links, const struct weft_transfer *transfer, int64_t now_ns);

/* The node sends @transfer. @rack: how many machines share the link of the core. */
void weft_links_send(
    struct weft_links *links, const struct weft_transfer *transfer, uint32_t rack, int64_t now_ns);

/* How many machines share the link of the core with one of them. */
uint32_t weft_links_rack(const struct fleet *fleet);

#endif /* POLICY_WEFT_LINKS_H */
