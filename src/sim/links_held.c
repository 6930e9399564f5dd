/*
 * links_held.c - whom a link holds back, and whom others do.
 *
 * Of those that it holds back it is known who ends first; of two at once, who came first.
 */

#include "base/memory.h"
#include "sim/links_inside.h"

enum { ROOM_FIRST = 4 };

static bool is_before(const struct held *one, const struct held *other)
{
    return one->end < other->end || (one->end == other->end && one->number < other->number);
}

static void put(
    const struct links_fair *links, struct fair_link *link, uint32_t place, const struct held *held)
{
    link->held[place] = *held;
    flow_at(links, held->flow)->place = place;
}

static void rise(
    const struct links_fair *links, struct fair_link *link, uint32_t place, const struct held *held)
{
    while (place > 0) {
        const uint32_t parent = (place - 1) / 2;
        if (!is_before(held, &link->held[parent])) {
            break;
        }
        put(links, link, place, &link->held[parent]);
        place = parent;
    }
    put(links, link, place, held);
}

static void sink(
    const struct links_fair *links, struct fair_link *link, uint32_t place, const struct held *held)
{
    const struct held *all = link->held;
    for (uint32_t child = 2 * place + 1; child < link->held_count; child = 2 * place + 1) {
        if (child + 1 < link->held_count && is_before(&all[child + 1], &all[child])) {
            child++;
        }
        if (!is_before(&all[child], held)) {
            break;
        }
        put(links, link, place, &all[child]);
        place = child;
    }
    put(links, link, place, held);
}

/* Twice the room, with what is there. */
static void *more_room(void *items, uint32_t count, size_t item_bytes, uint32_t *capacity)
{
    *capacity = count == 0 ? ROOM_FIRST : 2 * count;
    return memory_zeroed_more(items, count, *capacity, item_bytes);
}

void links_held_add(struct links_fair *links, uint32_t number, const struct held *held)
{
    struct fair_link *link = &links->links[number];
    if (link->held_count == link->held_capacity) {
        link->held = more_room(link->held, link->held_count, sizeof(*held), &link->held_capacity);
    }
    link->held_count++;
    rise(links, link, link->held_count - 1, held);
    flow_at(links, held->flow)->held_by = number;
    link_mark_changed(links, link);
}

void links_held_remove(struct links_fair *links, uint32_t number, uint32_t place)
{
    struct fair_link *link = &links->links[number];
    link_mark_changed(links, link);
    link->held_count--;
    if (place == link->held_count) {
        link->is_lifted = link->is_lifted && link->held_count > 0;
        return;
    }
    const struct held last = link->held[link->held_count];
    if (place > 0 && is_before(&last, &link->held[(place - 1) / 2])) {
        rise(links, link, place, &last);
    } else {
        sink(links, link, place, &last);
    }
}

void links_guests_add(struct links_fair *links, uint32_t slot, uint32_t hop)
{
    struct flow *flow = flow_at(links, slot);
    struct fair_link *link = &links->links[flow->route.links[hop]];
    if (link->guest_count == link->guest_capacity) {
        link->guests = more_room(
            link->guests, link->guest_count, sizeof(*link->guests), &link->guest_capacity);
    }
    link->guests[link->guest_count] = (struct guest){.flow = slot, .hop = hop};
    flow->guest_places[hop] = link->guest_count;
    link->guest_count++;
}

void links_guests_remove(struct links_fair *links, uint32_t slot, uint32_t hop)
{
    const struct flow *flow = flow_at(links, slot);
    struct fair_link *link = &links->links[flow->route.links[hop]];
    link->guest_count--;
    const struct guest last = link->guests[link->guest_count];
    link->guests[flow->guest_places[hop]] = last;
    flow_at(links, last.flow)->guest_places[last.hop] = flow->guest_places[hop];
}
