/*
 * device_bus.h - the bus from host to device: what crosses it, one after the other.
 *
 * Models that are loaded and inputs of batches wait for it in the order in which they were
 * asked for. The workers that share a device share its bus. For the files of this layer.
 */
#ifndef SIM_DEVICE_BUS_H
#define SIM_DEVICE_BUS_H

#include <stdbool.h>
#include <stdint.h>

struct sim;

/* What crosses a bus: a model, or the inputs of a batch. */
struct crossing {
    uint32_t next; /* Behind it. */
    uint32_t worker;
    uint32_t model; /* MODEL_NONE: inputs of a batch. */
    uint32_t run;   /* The batch whose inputs they are; else POOL_NONE. */
    int64_t bus_ns;
};

/* Of a device, kept with the first of its workers. */
struct bus {
    uint32_t first; /* On its way; the others wait. POOL_NONE: the bus is idle. */
    uint32_t last;
    uint32_t stamp;   /* Of the timed event that ends the first: others are out of date. */
    int64_t until_ns; /* When that is. */
    bool is_thread;   /* The first is a load, which keeps a processor busy. */
};

void bus_init(struct sim *sim, uint32_t worker);

/* @crossing, whose next does not matter, waits for the bus of its worker. */
void bus_push(struct sim *sim, const struct crossing *crossing);

/* Forget the crossing of a model, or of the inputs of a run; one of the two is none. */
void bus_drop(struct sim *sim, uint32_t worker, uint32_t model, uint32_t run);

/*
 * The timed event with @stamp of the device that starts with @worker: what has crossed
 * leaves the bus to the next. False if it was dropped meanwhile.
 */
bool bus_pop(struct sim *sim, uint32_t worker, uint32_t stamp, struct crossing *crossing_out);

#endif /* SIM_DEVICE_BUS_H */
