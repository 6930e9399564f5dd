/*
 * links_fair.c - progressive filling, where a change is felt.
 *
 * All rates rise together from zero. The link that fills first holds back the transfers
 * on it: they keep the level reached, and the rest goes on rising. (Bertsekas, Gallager
 * 1992, section 6.5.2.) In the end each transfer is held back by some link that is full
 * and on which none is faster; an allocation with that property is the only one.
 *
 * When a transfer comes or goes, its links are filled anew. A transfer on them that a
 * link elsewhere holds back does not rise above its present rate. If one comes out with
 * another rate, then the change is felt on its other links, if they hold something back or
 * would be over their rate: the filling is repeated with them, until it is felt on no
 * further link. All transfers elsewhere keep the property, and so they keep their rates.
 *
 * The transfers that one link holds back have one rate. The earliest of them is the
 * link's next, and only that one is waited for.
 */
#include "sim/links_fair.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define NS_PER_S    UINT64_C(1000000000)
#define NEVER_NS    INT64_MAX
#define WAIT_NS_MAX (INT64_C(1) << 62)
#define NO_CAP      UINT64_MAX

enum { FLOWS_FIRST = 64, PASSENGERS_FIRST = 4 };

/* Bytes times FAIR_RATE_UNIT times NS_PER_S: what one unit of rate moves in one ns is 1. */
__extension__ typedef unsigned __int128 fair_work;

struct flow {
    fair_work left; /* At since_ns. */
    int64_t since_ns;
    int64_t due_ns;
    uint64_t rate;
    uint64_t next_rate;
    uint64_t cap;    /* Where a link that is not reached holds it back. */
    uint64_t number; /* Earlier ones have lower numbers. */
    uint64_t round;  /* The last in which it rose. */
    bool is_rising;
    uint32_t holder; /* The link that holds it back. */
    uint32_t tag;
    struct route route;
    uint32_t places[ROUTE_LINKS_MAX]; /* Among the passengers of each link. */
};

/* A transfer on a link: which, and the how-many-eth of its links this is. */
struct passenger {
    uint32_t flow;
    uint32_t hop;
};

struct fair_link {
    uint64_t rate;
    uint64_t used;       /* By its passengers together. */
    uint64_t left;       /* Not yet given away in this round. */
    uint64_t lowest_cap; /* Of those still rising; perhaps of one that no longer is. */
    uint32_t open;       /* Passengers still rising. */
    uint32_t count;      /* Passengers. */
    struct passenger *passengers;
    uint64_t change;   /* The last that reached it. */
    uint64_t round;    /* The last in which foreseen was set: */
    uint64_t foreseen; /* used, after the round. */
    int64_t wake_ns;   /* The earliest time asked for and not come yet. */
    uint32_t held;     /* Passengers that it holds back, */
    uint32_t next;     /* and the first of them to end, or POOL_NONE. */
    uint32_t capacity; /* Room for passengers. */
    bool is_stale;     /* Its place in the heap is older than left and open. */
};

_Static_assert(sizeof(struct flow) % 16 == 0, "flows lie in their pool without gaps");

static struct flow *flow_at(const struct links_fair *links, uint32_t flow)
{
    return (struct flow *)(void *)links->flows.slots + flow;
}

void links_fair_init(
    struct links_fair *links, uint32_t link_count, const uint64_t *bytes_per_s,
    void (*wake)(void *context, uint32_t link, int64_t at_ns), void *context)
{
    *links = (struct links_fair){.link_count = link_count, .wake = wake, .context = context};
    links->links = memory_zeroed(link_count, sizeof(*links->links));
    links->reached = memory_zeroed(link_count, sizeof(*links->reached));
    pool_init(&links->flows, sizeof(struct flow), FLOWS_FIRST, UINT32_MAX - 1);
    ASSERT(links->flows.slot_bytes == sizeof(struct flow));
    links->levels.items = memory_zeroed(link_count, sizeof(*links->levels.items));
    links->moved = memory_zeroed(links->flows.capacity, sizeof(*links->moved));
    for (uint32_t i = 0; i < link_count; i++) {
        ASSERT(bytes_per_s[i] < UINT64_MAX / FAIR_RATE_UNIT);
        links->links[i].rate = bytes_per_s[i] * FAIR_RATE_UNIT;
        links->links[i].next = POOL_NONE;
        links->links[i].wake_ns = NEVER_NS;
    }
}

void links_fair_deinit(struct links_fair *links)
{
    for (uint32_t i = 0; i < links->link_count; i++) {
        free(links->links[i].passengers);
    }
    pool_deinit(&links->flows);
    free(links->links);
    free(links->reached);
    free(links->moved);
    free(links->levels.items);
    *links = (struct links_fair){0};
}

static void add_passenger(struct fair_link *link, struct passenger passenger)
{
    if (link->count == link->capacity) {
        const uint32_t capacity = link->count == 0 ? PASSENGERS_FIRST : 2 * link->count;
        struct passenger *more = memory_zeroed(capacity, sizeof(*more));
        if (link->count > 0) {
            memcpy(more, link->passengers, link->count * sizeof(*more));
        }
        free(link->passengers);
        link->passengers = more;
        link->capacity = capacity;
    }
    link->passengers[link->count] = passenger;
    link->count++;
}

static void board(struct links_fair *links, uint32_t slot)
{
    struct flow *flow = flow_at(links, slot);
    for (uint32_t hop = 0; hop < flow->route.count; hop++) {
        struct fair_link *link = &links->links[flow->route.links[hop]];
        ASSERT(link->rate > 0);
        flow->places[hop] = link->count;
        add_passenger(link, (struct passenger){.flow = slot, .hop = hop});
    }
    flow->holder = flow->route.links[0];
    links->links[flow->holder].held++;
}

static void alight(struct links_fair *links, const struct flow *flow)
{
    for (uint32_t hop = 0; hop < flow->route.count; hop++) {
        struct fair_link *link = &links->links[flow->route.links[hop]];
        const uint32_t place = flow->places[hop];
        link->count--;
        link->used -= flow->rate;
        const struct passenger last = link->passengers[link->count];
        link->passengers[place] = last;
        flow_at(links, last.flow)->places[last.hop] = place;
    }
    links->links[flow->holder].held--;
}

static uint64_t less(uint64_t from, uint64_t taken)
{
    return from > taken ? from - taken : 0;
}

/* An even part, which is never nothing: a transfer must end some day. */
static uint64_t part(uint64_t rate, uint32_t count)
{
    const uint64_t even = rate / count;
    return even > 0 ? even : 1;
}

static bool is_reached(const struct links_fair *links, uint32_t link)
{
    return links->links[link].change == links->change;
}

static void reach(struct links_fair *links, uint32_t link)
{
    if (!is_reached(links, link)) {
        links->links[link].change = links->change;
        links->reached[links->reached_count] = link;
        links->reached_count++;
    }
}

/* Let the passengers of a link rise again from zero. */
static void open_link(struct links_fair *links, uint32_t number)
{
    struct fair_link *link = &links->links[number];
    link->left = link->rate;
    link->open = link->count;
    link->is_stale = false;
    link->lowest_cap = NO_CAP;
    for (uint32_t i = 0; i < link->count; i++) {
        struct flow *flow = flow_at(links, link->passengers[i].flow);
        if (flow->round != links->round) {
            flow->round = links->round;
            flow->is_rising = true;
            flow->cap = is_reached(links, flow->holder) ? NO_CAP : flow->rate;
        }
        link->lowest_cap = flow->cap < link->lowest_cap ? flow->cap : link->lowest_cap;
    }
    if (link->open > 0) {
        levels_add(
            &links->levels, (struct level){.level = part(link->left, link->open), .link = number});
    }
}

/* @slot rises no further. */
static void stay(struct links_fair *links, uint32_t slot, uint64_t level)
{
    struct flow *flow = flow_at(links, slot);
    flow->is_rising = false;
    flow->next_rate = level;
    if (level != flow->rate) {
        links->moved[links->moved_count] = slot;
        links->moved_count++;
    }
    for (uint32_t hop = 0; hop < flow->route.count; hop++) {
        struct fair_link *link = &links->links[flow->route.links[hop]];
        link->left = less(link->left, level); /* Of links that are not reached, this */
        link->open--;                         /* and this mean nothing. */
        link->is_stale = true;
    }
}

/*
 * Before a link gives @level to each: whoever cannot take that much, because of a link
 * elsewhere, stays where it is. False if there was nobody.
 */
static bool stop_capped(struct links_fair *links, struct fair_link *link, uint64_t level)
{
    if (link->lowest_cap > level) {
        return false;
    }
    bool has_stopped = false;
    link->lowest_cap = NO_CAP;
    for (uint32_t i = 0; i < link->count; i++) {
        const uint32_t slot = link->passengers[i].flow;
        const struct flow *flow = flow_at(links, slot);
        if (!flow->is_rising) {
            continue;
        }
        if (flow->cap <= level) {
            stay(links, slot, flow->cap);
            has_stopped = true;
        } else {
            link->lowest_cap = flow->cap < link->lowest_cap ? flow->cap : link->lowest_cap;
        }
    }
    return has_stopped;
}

/* A link is full: whoever still rises on it stays at @level. */
static void hold_back(struct links_fair *links, uint32_t number, uint64_t level)
{
    const struct fair_link *link = &links->links[number];
    for (uint32_t i = 0; link->open > 0; i++) {
        const uint32_t slot = link->passengers[i].flow;
        struct flow *flow = flow_at(links, slot);
        if (!flow->is_rising) {
            continue;
        }
        if (is_reached(links, flow->holder)) {
            flow->holder = number;
        }
        stay(links, slot, level);
    }
}

static void fill(struct links_fair *links)
{
    struct levels *levels = &links->levels;
    links->round++;
    links->moved_count = 0;
    levels->count = 0;
    for (uint32_t i = 0; i < links->reached_count; i++) {
        open_link(links, links->reached[i]);
    }
    levels_order(levels);
    while (levels->count > 0) {
        const struct level first = levels->items[0];
        struct fair_link *link = &links->links[first.link];
        if (link->open == 0) {
            levels_drop(levels);
        } else if (link->is_stale) { /* It has more to give than when it was put there. */
            link->is_stale = false;
            levels_raise(levels, part(link->left, link->open));
        } else if (!stop_capped(links, link, first.level)) {
            levels_drop(levels);
            hold_back(links, first.link, first.level);
        }
    }
}

/* What a link that was not reached would have to carry after this round. */
static void foresee(struct links_fair *links, const struct flow *flow)
{
    for (uint32_t hop = 0; hop < flow->route.count; hop++) {
        struct fair_link *link = &links->links[flow->route.links[hop]];
        if (link->round != links->round) {
            link->round = links->round;
            link->foreseen = link->used;
        }
        link->foreseen += flow->next_rate - flow->rate;
    }
}

/*
 * Reach the other full links of those that a link holds back: if it is felt here, then
 * there, too, more often than not. To find out in turn costs a round for each step.
 */
static void reach_beyond(struct links_fair *links, uint32_t number)
{
    const struct fair_link *link = &links->links[number];
    for (uint32_t i = 0; i < link->count; i++) {
        const struct flow *flow = flow_at(links, link->passengers[i].flow);
        for (uint32_t hop = 0; flow->holder == number && hop < flow->route.count; hop++) {
            if (links->links[flow->route.links[hop]].held > 0) {
                reach(links, flow->route.links[hop]);
            }
        }
    }
}

/* Reach the links on which this round is felt beyond those it filled. False if there are none. */
static bool spread(struct links_fair *links)
{
    const uint32_t before = links->reached_count;
    for (uint32_t i = 0; i < links->moved_count; i++) {
        foresee(links, flow_at(links, links->moved[i]));
    }
    for (uint32_t i = 0; i < links->moved_count; i++) {
        const struct route *route = &flow_at(links, links->moved[i])->route;
        for (uint32_t hop = 0; hop < route->count; hop++) {
            const struct fair_link *link = &links->links[route->links[hop]];
            if (link->held > 0 || link->foreseen > link->rate) {
                reach(links, route->links[hop]);
            }
        }
    }
    for (uint32_t i = before; i < links->reached_count; i++) { /* Which grows meanwhile. */
        reach_beyond(links, links->reached[i]);
    }
    return links->reached_count > before;
}

/* What @flow has left now, and when that will have passed at its new rate. */
static void set_rate(struct links_fair *links, struct flow *flow, int64_t now_ns)
{
    const fair_work passed = (fair_work)flow->rate * (uint64_t)(now_ns - flow->since_ns);
    for (uint32_t hop = 0; hop < flow->route.count; hop++) {
        links->links[flow->route.links[hop]].used += flow->next_rate - flow->rate;
    }
    flow->left = flow->left > passed ? flow->left - passed : 0;
    flow->since_ns = now_ns;
    flow->rate = flow->next_rate;
    fair_work wait_ns = flow->left / flow->rate;
    if (wait_ns * flow->rate != flow->left) {
        wait_ns++;
    }
    flow->due_ns = now_ns + (wait_ns < (fair_work)WAIT_NS_MAX ? (int64_t)wait_ns : WAIT_NS_MAX);
}

static void wait_for_next(struct links_fair *links, uint32_t number)
{
    struct fair_link *link = &links->links[number];
    if (link->next == POOL_NONE) {
        return;
    }
    const int64_t due_ns = flow_at(links, link->next)->due_ns;
    if (due_ns < link->wake_ns) {
        link->wake_ns = due_ns;
        links->wake(links->context, number, due_ns);
    }
}

/* Count anew whom a link holds back, and look who of them ends first. */
static void find_next(struct links_fair *links, uint32_t number)
{
    struct fair_link *link = &links->links[number];
    const struct flow *first = NULL;
    link->held = 0;
    link->next = POOL_NONE;
    for (uint32_t i = 0; i < link->count; i++) {
        const struct flow *flow = flow_at(links, link->passengers[i].flow);
        if (flow->holder != number) {
            continue;
        }
        link->held++;
        if (first == NULL || flow->due_ns < first->due_ns ||
            (flow->due_ns == first->due_ns && flow->number < first->number)) {
            first = flow;
            link->next = link->passengers[i].flow;
        }
    }
    wait_for_next(links, number);
}

/* Fill the links that were reached, and those that feel it. */
static void settle(struct links_fair *links, int64_t now_ns)
{
    do {
        fill(links);
    } while (spread(links));
    for (uint32_t i = 0; i < links->moved_count; i++) {
        set_rate(links, flow_at(links, links->moved[i]), now_ns);
    }
    for (uint32_t i = 0; i < links->reached_count; i++) {
        find_next(links, links->reached[i]);
    }
}

/* No more than the slowest link would carry in the longest duration there is. */
static fair_work work_of(const struct links_fair *links, const struct route *route, uint64_t bytes)
{
    fair_work work = (fair_work)bytes * (NS_PER_S * FAIR_RATE_UNIT);
    for (uint32_t i = 0; i < route->count; i++) {
        const fair_work most = (fair_work)links->links[route->links[i]].rate * DURATION_NS_MAX;
        work = work < most ? work : most;
    }
    return work;
}

static uint32_t add_flow(struct links_fair *links)
{
    const uint32_t capacity = links->flows.capacity;
    (void)pool_reserve(&links->flows, 1);
    if (links->flows.capacity != capacity) {
        free(links->moved);
        links->moved = memory_zeroed(links->flows.capacity, sizeof(*links->moved));
    }
    return pool_take(&links->flows);
}

uint32_t links_fair_start(
    struct links_fair *links, int64_t now_ns, const struct route *route, uint64_t bytes,
    uint32_t tag)
{
    ASSERT(route->count > 0);
    ASSERT(bytes > 0);
    const uint32_t slot = add_flow(links);
    struct flow *flow = flow_at(links, slot);
    *flow = (struct flow){
        .left = work_of(links, route, bytes),
        .since_ns = now_ns,
        .number = links->started,
        .tag = tag,
        .route = *route,
    };
    links->started++;
    links->change++;
    links->reached_count = 0;
    board(links, slot);
    for (uint32_t i = 0; i < route->count; i++) {
        reach(links, route->links[i]);
    }
    settle(links, now_ns);
    return slot;
}

bool links_fair_finish(struct links_fair *links, int64_t now_ns, uint32_t number, uint32_t *tag_out)
{
    struct fair_link *link = &links->links[number];
    if (link->wake_ns != now_ns) {
        return false; /* An earlier time has come first, and with it all there was to do. */
    }
    if (link->next == POOL_NONE || flow_at(links, link->next)->due_ns > now_ns) {
        link->wake_ns = NEVER_NS;
        wait_for_next(links, number);
        return false;
    }
    const uint32_t slot = link->next;
    const struct flow done = *flow_at(links, slot);
    ASSERT(done.due_ns == now_ns);
    *tag_out = done.tag;
    alight(links, &done);
    pool_give(&links->flows, slot);
    links->change++;
    links->reached_count = 0;
    for (uint32_t i = 0; i < done.route.count; i++) {
        const uint32_t crossed = done.route.links[i];
        if (links->links[crossed].held > 0 || crossed == done.holder) {
            reach(links, crossed);
        }
    }
    settle(links, now_ns);
    return true;
}

uint64_t links_fair_rate(const struct links_fair *links, uint32_t flow)
{
    ASSERT((pool_generation(&links->flows, flow) & 1) == 1);
    return flow_at(links, flow)->rate;
}
