/*
 * links_fair.c - transfers come, and end.
 *
 * links_fill.c says how fast they are. Of those that a link holds back the earliest is
 * waited for, and of all links the one whose earliest is first: one time is asked for.
 */
#include "sim/links_fair.h"

#include <stdlib.h>

#include "base/memory.h"
#include "sim/links_inside.h"

#define NEVER_NS    INT64_MAX
#define WAIT_NS_MAX (INT64_C(1) << 62)

enum { FLOWS_FIRST = 64 };

void links_fair_init(
    struct links_fair *links, uint32_t link_count, const uint64_t *bytes_per_s,
    void (*wake)(void *context, int64_t at_ns), void *context)
{
    *links = (struct links_fair){
        .link_count = link_count,
        .links = memory_zeroed(link_count, sizeof(*links->links)),
        .changed = memory_zeroed(link_count + 1, sizeof(*links->changed)),
        .watched = memory_zeroed(link_count + 1, sizeof(*links->watched)),
        .touched = memory_zeroed(link_count + 1, sizeof(*links->touched)),
        .wake_ns = NEVER_NS,
        .wake = wake,
        .context = context,
    };
    pool_init_plain(&links->flows, sizeof(struct flow), FLOWS_FIRST, UINT32_MAX - 1);
    ASSERT(links->flows.slot_bytes == sizeof(struct flow));
    links_heap_init(&links->levels, link_count);
    links_heap_init(&links->ends, link_count);
    for (uint32_t i = 0; i < link_count; i++) {
        ASSERT(bytes_per_s[i] < INT64_MAX / FAIR_RATE_UNIT);
        links->links[i].rate = (int64_t)(bytes_per_s[i] * FAIR_RATE_UNIT);
        links->links[i].left = links->links[i].rate;
    }
}

void links_fair_deinit(struct links_fair *links)
{
    for (uint32_t i = 0; i < links->link_count; i++) {
        free(links->links[i].guests);
        free(links->links[i].held);
    }
    pool_deinit(&links->flows);
    links_heap_deinit(&links->levels);
    links_heap_deinit(&links->ends);
    free(links->links);
    free(links->changed);
    free(links->watched);
    free(links->touched);
    *links = (struct links_fair){0};
}

/* It takes nothing of its links yet, and rises. */
static void board(struct links_fair *links, uint32_t slot)
{
    const struct route *route = &flow_at(links, slot)->route;
    for (uint32_t hop = 0; hop < route->count; hop++) {
        struct fair_link *link = &links->links[route->links[hop]];
        ASSERT(link->rate > 0);
        links_guests_add(links, slot, hop);
        link->rising++;
        links_fill_reach(links, route->links[hop]);
    }
}

static void alight(struct links_fair *links, uint32_t slot)
{
    const struct flow *flow = flow_at(links, slot);
    const uint64_t rate = flow_rate(links, flow);
    links_held_remove(links, flow->held_by, flow->place);
    for (uint32_t hop = 0; hop < flow->route.count; hop++) {
        const uint32_t number = flow->route.links[hop];
        if (number != flow->held_by) {
            links_guests_remove(links, slot, hop);
        }
        links->links[number].left += (int64_t)rate;
        links_fill_reach(links, number);
    }
}

/* When the first of those that a link holds back will have passed. */
static int64_t first_end_ns(const struct fair_link *link, int64_t now_ns)
{
    const fair_work end = link->held[0].end;
    const fair_work left = end > link->moved ? end - link->moved : 0;
    if (left <= UINT64_MAX) { /* Most are that short, and this division is faster. */
        const uint64_t wait_ns = (uint64_t)left / link->level;
        const uint64_t odd = (uint64_t)left % link->level > 0;
        return now_ns + (wait_ns < (uint64_t)WAIT_NS_MAX ? (int64_t)(wait_ns + odd) : WAIT_NS_MAX);
    }
    const fair_work wait_ns = (left - 1) / link->level + 1;
    return now_ns + (wait_ns < (fair_work)WAIT_NS_MAX ? (int64_t)wait_ns : WAIT_NS_MAX);
}

static void set_end(struct links_fair *links, uint32_t number, int64_t now_ns)
{
    struct fair_link *link = &links->links[number];
    link->is_late = false;
    link_count_up(link, now_ns);
    links_heap_set(&links->ends, number, (uint64_t)first_end_ns(link, now_ns));
}

/* Ask for the time at which the first of all ends, if that was not asked for. */
static void wait_for_first(struct links_fair *links, int64_t now_ns)
{
    while (links->ends.count > 0) {
        const uint32_t first = links_heap_first(&links->ends);
        const int64_t first_ns = (int64_t)links_heap_key(&links->ends);
        if (!links->links[first].is_late) {
            if (first_ns < links->wake_ns) {
                links->wake_ns = first_ns;
                links->wake(links->context, first_ns);
            }
            return;
        }
        set_end(links, first, now_ns);
    }
}

/* Let what has changed be felt, and look who ends first then. */
static void settle(struct links_fair *links, int64_t now_ns)
{
    links_fill(links, now_ns);
    for (uint32_t i = 0; i < links->changed_count; i++) {
        const uint32_t number = links->changed[i];
        links->links[number].is_changed = false;
        if (links->links[number].held_count == 0) {
            links_heap_drop(&links->ends, number);
        } else {
            set_end(links, number, now_ns);
        }
    }
    links->changed_count = 0;
    wait_for_first(links, now_ns);
}

uint32_t links_fair_start(
    struct links_fair *links, int64_t now_ns, const struct route *route, uint64_t bytes,
    uint32_t tag)
{
    ASSERT(route->count > 0);
    ASSERT(bytes > 0);
    (void)pool_reserve(&links->flows, 1);
    const uint32_t slot = pool_take(&links->flows);
    *flow_at(links, slot) = (struct flow){
        .held_by = LINK_NONE,
        .tag = tag,
        .route = *route,
    };
    links->coming_bytes = bytes;
    board(links, slot);
    settle(links, now_ns);
    links->started++;
    return slot;
}

bool links_fair_finish(struct links_fair *links, int64_t now_ns, uint32_t *tag_out)
{
    if (links->wake_ns != now_ns) {
        return false; /* An earlier time has come first, and with it all there was to do. */
    }
    if (links->ends.count == 0 || (int64_t)links_heap_key(&links->ends) > now_ns) {
        links->wake_ns = NEVER_NS;
        wait_for_first(links, now_ns);
        return false;
    }
    const struct fair_link *first = &links->links[links_heap_first(&links->ends)];
    ASSERT((int64_t)links_heap_key(&links->ends) == now_ns);
    ASSERT(!first->is_late);
    const uint32_t slot = first->held[0].flow;
    *tag_out = flow_at(links, slot)->tag;
    alight(links, slot);
    pool_give(&links->flows, slot);
    settle(links, now_ns);
    return true;
}

uint64_t links_fair_rate(const struct links_fair *links, uint32_t flow)
{
    ASSERT(pool_is_taken(&links->flows, flow));
    return flow_rate(links, flow_at(links, flow));
}

static void check_link(const struct links_fair *links, const struct fair_link *link)
{
    int64_t left = link->rate - (int64_t)(link->held_count * link->level);
    for (uint32_t i = 0; i < link->guest_count; i++) {
        const uint64_t rate = flow_rate(links, flow_at(links, link->guests[i].flow));
        ASSERT(link->held_count == 0 || rate <= link->level);
        left -= (int64_t)rate;
    }
    ASSERT(link->left == left);
    ASSERT(left >= 0 || link->rate < (int64_t)(link->held_count + link->guest_count));
    ASSERT(link->held_count == 0 || left < (int64_t)link->held_count);
}

void links_fair_check(const struct links_fair *links)
{
    for (uint32_t i = 0; i < links->link_count; i++) {
        check_link(links, &links->links[i]);
    }
}
