/*
 * network_carried.h - whether a tensor of a job is on its way from a node.
 *
 * That is asked rarely, of jobs that have been silent for long, but then of thousands at
 * once. So a parcel that leaves is only noted, at the end of a list; when a node asks, those of
 * the list that are still under way are counted, by sender and job.
 */
#ifndef SIM_NETWORK_CARRIED_H
#define SIM_NETWORK_CARRIED_H

#include "base/attributes.h"
#include "base/map.h"
#include "model/ids.h"

struct parcel;
struct sim;

/* A parcel as it left: its slot may be another's by now. */
struct carried_note {
    uint32_t slot;
    uint32_t generation;
};

struct network_carried {
    uint32_t note_count;
    uint32_t note_capacity;
    struct carried_note *notes; /* Parcels with tensors that have not been counted. */
    struct map counts;          /* Of those that have: how many, by sender and job. */
};

void carried_init(struct network_carried *carried);
void carried_deinit(struct network_carried *carried);

/* Parcel @slot, which has a tensor, leaves. */
void carried_note(struct sim *sim, uint32_t slot);

/* @parcel, which has been counted, has arrived or is lost. */
ATTR_COLD void carried_drop(struct sim *sim, struct parcel *parcel);

/* Whether a tensor of @job that is not lost is on its way from @node. */
ATTR_COLD bool carried_has(struct sim *sim, uint32_t node, struct job_id job);

#endif /* SIM_NETWORK_CARRIED_H */
