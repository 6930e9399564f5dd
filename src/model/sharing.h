/*
 * sharing.h - how batches share a device: its units, and what they do to each other.
 *
 * Three kinds behind one set of questions. Counted: any units, while there are enough. MIG:
 * instances of 1, 2, 3, 4 or 7 of 7 units, which start at given slices of memory and do not
 * disturb each other; changing the set of instances takes a while, and only what is idle can
 * be changed. SM: units of processors without isolation, slower the more the others hold.
 *
 * A layout is one word. Of MIG devices it lists the instances by the slice that they start
 * at, and which of them are in use; of others it is 0.
 */
#ifndef MODEL_SHARING_H
#define MODEL_SHARING_H

#include "model/fleet.h"

enum { MIG_UNITS = 7, MIG_SLICES = 8 };

/* What is free on a device. */
struct shares {
    uint32_t free; /* Units that no batch holds. */
    uint32_t layout;
};

/* A part of it that a batch holds. */
struct share {
    uint32_t gpu;   /* Units. */
    uint32_t slice; /* MIG: where it starts; 0 otherwise. */
    bool is_new;    /* It had to be made: reshape_ns until it can be used. */
};

/* The smallest share of the device that has at least @gpu units; 0 is the whole device. */
uint32_t sharing_round(const struct fleet_worker *device, uint32_t gpu);

/* Nothing is in use. MIG: one instance as large as the device. */
struct shares sharing_idle(const struct fleet_worker *device);

/* Whether a share of @gpu units, as rounded, can be had now. */
bool sharing_fits(const struct fleet_worker *device, const struct shares *shares, uint32_t gpu);

/*
 * Take a share of @gpu units, which must fit: an instance that is there and idle, else one
 * that takes the place of as few others as possible, at the highest slice.
 */
struct share sharing_take(const struct fleet_worker *device, struct shares *shares, uint32_t gpu);

/* Give it back; its instance stays, unless it has never been ready. */
void sharing_give(
    const struct fleet_worker *device, struct shares *shares, const struct share *share,
    bool was_ready);

/* The slices, as bits, of an instance of @gpu units that starts at @slice; 0 if none may. */
uint32_t sharing_slices(uint32_t gpu, uint32_t slice);

/*
 * How much longer than alone a batch takes while others hold all of @device: @interference, which
 * is that of such a batch. As the device says if that is 0, or if the device has none.
 */
double sharing_interference(const struct fleet_worker *device, double interference);

/*
 * How much longer than alone a batch takes beside @others batches on its device, in all its
 * partitions, that hold @units together. @interference is that of such a batch where processors are
 * shared: see sharing_interference().
 */
double sharing_stretch(
    const struct fleet_worker *device, uint32_t others, uint32_t units, double interference);

#endif /* MODEL_SHARING_H */
