/*
 * links_inside.h - what fair links are made of. For the files of links_fair.h alone.
 *
 * All transfers that one link holds back have one rate, its level, and so they have all moved
 * the same since they were held back there: the link counts that once, for all of them. A
 * transfer is known by what the count will be when it has ended. A level that changes moves
 * none of them.
 */
#ifndef SIM_LINKS_INSIDE_H
#define SIM_LINKS_INSIDE_H

#include "sim/links_fair.h"

#define LINK_NONE UINT32_MAX /* Not an enum constant: those are ints. */

/* Bytes times FAIR_RATE_UNIT times ns a second: what one unit of rate moves in one ns is 1. */
__extension__ typedef unsigned __int128 fair_work;

/*
 * A transfer. It is held back by one link of its route and a guest on the others; one that
 * comes is a guest on all of them until it is held back for the first time.
 */
struct flow {
    uint32_t held_by; /* The link that holds it back, or LINK_NONE. */
    uint32_t place;   /* Its place among the flows that it holds back. */
    uint32_t tag;
    struct route route;
    uint32_t guest_places[ROUTE_LINKS_MAX]; /* Where among the guests of each link. */
};

/* A transfer that some other link holds back: which, and the how-many-eth of its links this is. */
struct guest {
    uint32_t flow;
    uint32_t hop;
};

/* A transfer that this link holds back. */
struct held {
    fair_work end;   /* What the link's count will be when it has passed. */
    uint64_t number; /* Earlier ones have lower numbers. */
    uint32_t flow;
    uint32_t other_count;
    uint32_t others[ROUTE_LINKS_MAX - 1]; /* Its other links. */
};

struct fair_link {
    int64_t left;        /* Of its rate, by those that do not rise. */
    uint64_t level;      /* The rate of those that it holds back. */
    uint64_t guests_max; /* No guest that does not rise is faster. */
    uint32_t rising;     /* Transfers on it that rise. */
    uint32_t held_count;
    bool is_lifted;  /* Those that it held back rise, in this change. */
    bool is_exact;   /* Its place among the levels is exact, not a lower bound. */
    bool is_changed; /* In another way than to a lower level: the first may end earlier. */
    bool is_late;    /* Its place among the ends is a mere lower bound. */
    bool is_touched;
    bool is_watched;   /* It was over its rate in this change. */
    struct held *held; /* A heap: who ends first comes first. */
    struct guest *guests;
    uint32_t guest_count;
    uint32_t guest_capacity;
    uint32_t held_capacity;
    int64_t since_ns; /* When `moved` was counted. */
    fair_work moved;
    int64_t rate;
};

static inline struct flow *flow_at(const struct links_fair *links, uint32_t flow)
{
    return (struct flow *)(void *)links->flows.slots + flow;
}

/* An even part, which is never nothing: a transfer must end some day. */
static inline uint64_t fair_part(int64_t rate, uint32_t count)
{
    return rate > (int64_t)count ? (uint64_t)rate / count : 1;
}

/* How fast a transfer is that does not rise. */
static inline uint64_t flow_rate(const struct links_fair *links, const struct flow *flow)
{
    return flow->held_by == LINK_NONE ? 0 : links->links[flow->held_by].level;
}

/* Bring the count of a link up to now. Before its level changes. */
static inline void link_count_up(struct fair_link *link, int64_t now_ns)
{
    link->moved += (fair_work)link->level * (uint64_t)(now_ns - link->since_ns);
    link->since_ns = now_ns;
}

/* When the first of a link ends has to be found again. */
static inline void link_mark_changed(struct links_fair *links, struct fair_link *link)
{
    links->changed[links->changed_count] = (uint32_t)(link - links->links);
    links->changed_count += !link->is_changed;
    link->is_changed = true;
}

/* links_held.c: those that a link holds back. The flow knows what holds it back and its place. */
void links_held_add(struct links_fair *links, uint32_t link, const struct held *held);
void links_held_remove(struct links_fair *links, uint32_t link, uint32_t place);

/* Guests: @slot is one on the link that is the @hop-th of its route, or is gone. */
void links_guests_add(struct links_fair *links, uint32_t slot, uint32_t hop);
void links_guests_remove(struct links_fair *links, uint32_t slot, uint32_t hop);

/* links_fill.c: a link may have more or less to give than its transfers take. */
void links_fill_reach(struct links_fair *links, uint32_t link);
/* Change all rates that have to change, from the links that were reached on. */
void links_fill(struct links_fair *links, int64_t now_ns);

#endif /* SIM_LINKS_INSIDE_H */
