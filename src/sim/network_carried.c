#include "sim/network_carried.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "sim/inside.h"

enum { NOTES_FIRST = 256 };

void carried_init(struct network_carried *carried)
{
    carried->note_capacity = NOTES_FIRST;
    carried->notes = memory_zeroed(NOTES_FIRST, sizeof(*carried->notes));
    map_init(&carried->counts, 16);
}

void carried_deinit(struct network_carried *carried)
{
    free(carried->notes);
    map_deinit(&carried->counts);
}

static uint64_t key_of(uint32_t node, struct job_id job)
{
    return hash_mix(job_key(job), node);
}

/* The parcel of @note if it is still under way, or NULL. */
static struct parcel *find(const struct sim *sim, const struct carried_note *note)
{
    if (!pool_is_live(&sim->parcels, note->slot, note->generation)) {
        return NULL;
    }
    struct parcel *parcel = pool_at(&sim->parcels, note->slot);
    return parcel->is_lost ? NULL : parcel;
}

/* The list is full: forget what has arrived, or make it longer. */
ATTR_COLD static void make_room(struct sim *sim)
{
    struct network_carried *carried = &sim->network.carried;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < carried->note_count; i++) {
        if (find(sim, &carried->notes[i]) != NULL) {
            carried->notes[kept] = carried->notes[i];
            kept++;
        }
    }
    carried->note_count = kept;
    if (kept < carried->note_capacity / 2) {
        return;
    }
    struct carried_note *notes = memory_zeroed(2 * (size_t)carried->note_capacity, sizeof(*notes));
    memcpy(notes, carried->notes, kept * sizeof(*notes));
    free(carried->notes);
    carried->notes = notes;
    carried->note_capacity *= 2;
}

void carried_note(struct sim *sim, uint32_t slot)
{
    struct network_carried *carried = &sim->network.carried;
    if (carried->note_count == carried->note_capacity) {
        make_room(sim);
    }
    struct carried_note *note = &carried->notes[carried->note_count];
    carried->note_count++;
    note->slot = slot;
    note->generation = pool_generation(&sim->parcels, slot);
}

static void count(struct network_carried *carried, struct parcel *parcel)
{
    const uint64_t key = key_of(parcel->from, parcel->message.job);
    const uint32_t before = map_get(&carried->counts, key);
    (void)map_remove(&carried->counts, key);
    (void)map_reserve(&carried->counts, 1);
    map_put(&carried->counts, key, before == MAP_NONE ? 1 : before + 1);
    parcel->is_carried = true;
}

void carried_drop(struct sim *sim, struct parcel *parcel)
{
    struct map *counts = &sim->network.carried.counts;
    const uint64_t key = key_of(parcel->from, parcel->message.job);
    const uint32_t before = map_get(counts, key);
    ASSERT(before != MAP_NONE);
    (void)map_remove(counts, key);
    if (before > 1) {
        map_put(counts, key, before - 1);
    }
    parcel->is_carried = false;
}

bool carried_has(struct sim *sim, uint32_t node, struct job_id job)
{
    struct network_carried *carried = &sim->network.carried;
    for (uint32_t i = 0; i < carried->note_count; i++) {
        struct parcel *parcel = find(sim, &carried->notes[i]);
        if (parcel != NULL) {
            count(carried, parcel);
        }
    }
    carried->note_count = 0;
    return map_get(&carried->counts, key_of(node, job)) != MAP_NONE;
}
