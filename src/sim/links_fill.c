/*
 * links_fill.c - progressive filling, of what a change changes.
 *
 * All rates rise together from zero. The link that fills first holds back the transfers on
 * it: they keep the level reached, and the rest goes on rising. (Bertsekas, Gallager 1992,
 * section 6.5.2.) In the end each transfer is held back by some link that is full and on
 * which none is faster; an allocation with that property is the only one.
 *
 * When a transfer comes or goes, this is gone through once more, in the order of levels, and
 * only where it now goes another way than it went before:
 *
 * - A link fills at a lower level than it did. Transfers that were faster on it stay there,
 *   and leave more of their other links to others.
 * - A link that has more to give than before has come to its old level and is not full. Those
 *   that it held back there rise on, and take more of their other links.
 *
 * All that either does to another link happens at the present level or above: what is below
 * is settled, and a link that neither happens to is never looked at.
 *
 * A link's place in this order is a lower bound, as if all of its guests took what they take
 * now. When its turn comes it is found out whether one takes more than that level, and the
 * bound is raised if so. A link that is not full is left out of the order, although others
 * rise on it: should it get over its rate, it is put in then, takes back what is too much,
 * and the links that it takes it from have more to give.
 */
#include "base/numbers.h"
#include "base/units.h"
#include "sim/links_inside.h"

/* Those that it has held back so far and that do not rise. */
static uint32_t resting(const struct fair_link *link)
{
    return link->is_lifted ? 0 : link->held_count;
}

static bool is_rising(const struct links_fair *links, const struct flow *flow)
{
    return flow->held_by == LINK_NONE || links->links[flow->held_by].is_lifted;
}

/* Whether those that rise may all rise to the level at which it holds back others. */
static bool suffices(const struct fair_link *link)
{
    return link->left >= (int64_t)(link->rising * link->level);
}

/* The level at which it is full if no guest is faster. */
static uint64_t level_of(const struct fair_link *link)
{
    const uint32_t rest = resting(link);
    return fair_part(link->left + (int64_t)(rest * link->level), link->rising + rest);
}

/* Put a link on which something rises into the order. */
static void order(struct links_fair *links, uint32_t number)
{
    struct fair_link *link = &links->links[number];
    link->is_exact = false;
    const bool is_old = resting(link) > 0 && suffices(link);
    links_heap_set(&links->levels, number, is_old ? link->level : level_of(link));
}

/*
 * A link is over its rate. If that was not expected, then it is in the order from now on, as
 * long as this change lasts.
 */
static void watch(struct links_fair *links, uint32_t number)
{
    struct fair_link *link = &links->links[number];
    if (!links_heap_has(&links->levels, number)) {
        links_heap_set(&links->levels, number, /* key */ 1);
        links->watched[links->watched_count] = number;
        links->watched_count += !link->is_watched;
        link->is_watched = true;
    }
}

/* A link has more to give than before: is it still full at its level? */
static void recheck(struct links_fair *links, uint32_t number)
{
    const struct fair_link *link = &links->links[number];
    const uint32_t rest = resting(link);
    if (rest > 0 && link->left >= (int64_t)rest && !links_heap_has(&links->levels, number)) {
        links_heap_set(&links->levels, number, link->level);
    }
}

void links_fill_reach(struct links_fair *links, uint32_t number)
{
    if (links->links[number].rising > 0) {
        order(links, number);
    } else {
        recheck(links, number);
    }
}

/* A guest has this rate now. */
static void raise_guests_max(struct fair_link *link, uint64_t rate)
{
    link->guests_max = max_u64(rate, link->guests_max);
}

/* No more than the slowest link would carry in the longest duration there is. */
static fair_work work_of(const struct links_fair *links, const struct route *route, uint64_t bytes)
{
    fair_work work = (fair_work)bytes * (NS_PER_S * FAIR_RATE_UNIT);
    for (uint32_t i = 0; i < route->count; i++) {
        const fair_work most =
            (fair_work)links->links[route->links[i]].rate * (uint64_t)DURATION_NS_MAX;
        work = work < most ? work : most;
    }
    return work;
}

/* From now on link @number holds back @slot, which has been a guest there. */
static void hold(struct links_fair *links, uint32_t number, uint32_t slot, int64_t now_ns)
{
    const struct flow *flow = flow_at(links, slot);
    const uint32_t before = flow->held_by;
    struct held held = {.number = links->started};
    if (before == LINK_NONE) {
        held.end = work_of(links, &flow->route, links->coming_bytes);
    } else {
        struct fair_link *from = &links->links[before];
        link_count_up(from, now_ns);
        held = from->held[flow->place];
        held.end = held.end > from->moved ? held.end - from->moved : 0;
        links_held_remove(links, before, flow->place);
    }
    held.end += links->links[number].moved;
    held.flow = slot;
    held.other_count = 0;
    for (uint32_t hop = 0; hop < flow->route.count; hop++) {
        const uint32_t link = flow->route.links[hop];
        if (link == number) {
            links_guests_remove(links, slot, hop);
        } else {
            held.others[held.other_count] = link;
            held.other_count++;
        }
        if (link == before) {
            links_guests_add(links, slot, hop);
            raise_guests_max(&links->links[link], links->links[number].level);
        }
    }
    links_held_add(links, number, &held);
}

/* On another of its links, one that rose stays at @level. */
static void tell_risen(struct links_fair *links, uint32_t number, uint64_t level)
{
    struct fair_link *link = &links->links[number];
    link->is_exact = false;
    raise_guests_max(link, level);
    link->left -= (int64_t)level;
    link->rising--;
    if (link->left < 0) {
        watch(links, number);
    } else if (link->rising + resting(link) == 0) {
        links_heap_drop(&links->levels, number);
    }
}

/* On another of its links, one that was faster by @less stays behind. */
static void tell_slowed(struct links_fair *links, uint32_t number, uint64_t less)
{
    struct fair_link *link = &links->links[number];
    link->is_exact = false;
    link->left += (int64_t)less;
    recheck(links, number);
}

/* A guest that was faster, or rises, stays at the level at which this link is full. */
static void take_guest(struct links_fair *links, uint32_t number, uint32_t slot, int64_t now_ns)
{
    struct fair_link *link = &links->links[number];
    const struct flow *flow = flow_at(links, slot);
    const bool has_risen = is_rising(links, flow);
    const uint64_t less = has_risen ? 0 : flow_rate(links, flow) - link->level;
    hold(links, number, slot, now_ns);
    for (uint32_t hop = 0; hop < flow->route.count; hop++) {
        const uint32_t other = flow->route.links[hop];
        if (other == number) {
            link->left += has_risen ? -(int64_t)link->level : (int64_t)less;
            link->rising -= has_risen;
        } else if (has_risen) {
            tell_risen(links, other, link->level);
        } else {
            tell_slowed(links, other, less);
        }
    }
}

static void take_guests(struct links_fair *links, uint32_t number, int64_t now_ns)
{
    const struct fair_link *link = &links->links[number];
    for (uint32_t i = 0; i < link->guest_count;) {
        const uint32_t slot = link->guests[i].flow;
        const struct flow *flow = flow_at(links, slot);
        if (is_rising(links, flow) || flow_rate(links, flow) > link->level) {
            take_guest(links, number, slot, now_ns); /* And another is in its place. */
        } else {
            i++;
        }
    }
}

/* Those that a link held back rose, and it is full at @level. */
static void stop_risen(struct links_fair *links, struct fair_link *link, uint64_t level)
{
    for (uint32_t i = 0; i < link->held_count; i++) {
        const struct held *held = &link->held[i];
        for (uint32_t other = 0; other < held->other_count; other++) {
            tell_risen(links, held->others[other], level);
        }
    }
    link->left -= (int64_t)(link->held_count * level);
    link->rising -= link->held_count;
    link->is_lifted = false;
    link_mark_changed(links, link);
}

/* Those that a link holds back stay behind by @less. */
static void slow_down(struct links_fair *links, struct fair_link *link, uint64_t less)
{
    for (uint32_t i = 0; i < link->held_count; i++) {
        const struct held *held = &link->held[i];
        for (uint32_t other = 0; other < held->other_count; other++) {
            tell_slowed(links, held->others[other], less);
        }
    }
    link->left += (int64_t)(link->held_count * less);
    link->is_late = true;
}

/* A link is full at @level: transfers that are faster, or rise, stay there. */
static void close_link(struct links_fair *links, uint32_t number, uint64_t level, int64_t now_ns)
{
    struct fair_link *link = &links->links[number];
    link_count_up(link, now_ns);
    links_heap_drop(&links->levels, number);
    if (link->is_lifted) {
        stop_risen(links, link, level);
    } else if (link->held_count > 0 && level < link->level) {
        slow_down(links, link, link->level - level);
    }
    link->level = level;
    link->is_exact = false;
    if (link->rising > 0 || link->guests_max > level) {
        take_guests(links, number, now_ns);
        link->guests_max = level;
    }
}

/*
 * Whether a link on which others rise has to be in the order. One that is not full and has
 * never been seems to have enough: to find out otherwise, now and then, costs less.
 */
static bool is_ordered(const struct links_fair *links, uint32_t number)
{
    const struct fair_link *link = &links->links[number];
    return resting(link) > 0 || link->is_watched || links_heap_has(&links->levels, number);
}

/* A link is not full at its old level: those that it held back rise on. */
static void lift(struct links_fair *links, uint32_t number)
{
    struct fair_link *lifted = &links->links[number];
    uint32_t touched_count = 0;
    for (uint32_t i = 0; i < lifted->held_count; i++) {
        const struct held *held = &lifted->held[i];
        for (uint32_t other = 0; other < held->other_count; other++) {
            struct fair_link *link = &links->links[held->others[other]];
            link->left += (int64_t)lifted->level;
            link->rising++;
            links->touched[touched_count] = held->others[other];
            const bool is_first = !link->is_touched && is_ordered(links, held->others[other]);
            touched_count += is_first;
            link->is_touched = link->is_touched || is_first;
        }
    }
    lifted->left += (int64_t)(lifted->held_count * lifted->level);
    lifted->rising += lifted->held_count;
    lifted->is_lifted = true;
    order(links, number);
    for (uint32_t i = 0; i < touched_count; i++) {
        links->links[links->touched[i]].is_touched = false;
        order(links, links->touched[i]);
    }
}

/* The level at which a link is full, which is @level or above. */
static uint64_t find_level(const struct links_fair *links, struct fair_link *link, uint64_t level)
{
    const uint32_t rest = resting(link);
    while (link->guests_max > level) {
        int64_t left = link->left + (int64_t)(rest * link->level);
        uint32_t count = link->rising + rest;
        uint64_t guests_max = 0;
        for (uint32_t i = 0; i < link->guest_count; i++) {
            const struct flow *flow = flow_at(links, link->guests[i].flow);
            const uint64_t rate = is_rising(links, flow) ? 0 : flow_rate(links, flow);
            guests_max = max_u64(rate, guests_max);
            left += rate > level ? (int64_t)rate : 0;
            count += rate > level;
        }
        link->guests_max = guests_max;
        if (count == 0 || fair_part(left, count) <= level) {
            break;
        }
        level = fair_part(left, count);
    }
    return level;
}

/* The turn of a link that holds back others at its level, and cannot be full below that. */
static void at_old_level(struct links_fair *links, uint32_t number, int64_t now_ns)
{
    const struct fair_link *link = &links->links[number];
    const int64_t spare = link->left - (int64_t)(link->rising * link->level);
    if (spare >= (int64_t)link->rising + (int64_t)resting(link)) {
        lift(links, number);
    } else if (link->rising > 0) {
        close_link(links, number, link->level, now_ns);
    } else {
        links_heap_drop(&links->levels, number);
    }
}

static void take_turn(struct links_fair *links, uint32_t number, uint64_t key, int64_t now_ns)
{
    struct fair_link *link = &links->links[number];
    const uint32_t rest = resting(link);
    uint64_t level = key;
    if (link->is_exact) {
        close_link(links, number, level, now_ns);
        return;
    }
    if (rest > 0 && suffices(link)) {
        if (level < link->level) {
            links_heap_set(&links->levels, number, link->level);
        } else {
            at_old_level(links, number, now_ns);
        }
        return;
    }
    if (link->rising + rest > 0) {
        level = level_of(link);
    } else if (link->left >= 0) {
        links_heap_drop(&links->levels, number);
        return;
    }
    if (level <= key) {
        level = find_level(links, link, key);
        link->is_exact = true;
    }
    if (link->is_exact && level <= links_heap_second(&links->levels)) {
        close_link(links, number, level, now_ns);
    } else {
        links_heap_set(&links->levels, number, level);
    }
}

void links_fill(struct links_fair *links, int64_t now_ns)
{
    while (links->levels.count > 0) {
        take_turn(links, links_heap_first(&links->levels), links_heap_key(&links->levels), now_ns);
    }
    for (uint32_t i = 0; i < links->watched_count; i++) {
        links->links[links->watched[i]].is_watched = false;
    }
    links->watched_count = 0;
}
