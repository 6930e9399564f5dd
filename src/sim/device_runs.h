/*
 * device_runs.h - batches side by side on one device, and how they slow each other.
 *
 * A batch alone advances by a nanosecond of its run time in a nanosecond. With others on the
 * device, in shares of one worker or in partitions, it takes longer, as model/sharing.h says;
 * whenever one begins or ends, what is left of the others is computed again. Processors of a node,
 * which batches can be split over, slow each other in the same way, as model/slowing.h says. There
 * a model that is being loaded slows batches, too. For the files of this layer.
 */
#ifndef SIM_DEVICE_RUNS_H
#define SIM_DEVICE_RUNS_H

#include <stdbool.h>
#include <stdint.h>

struct sim;

/* A batch on a device. */
struct run {
    uint32_t node;
    uint32_t batch;
    uint32_t worker;
    uint32_t workflow;
    uint32_t task;
    uint32_t task_count;
    uint32_t gpu;
    uint32_t slice;
    uint64_t workspace_bytes;
    int64_t run_ns;      /* Alone on its device. */
    uint32_t threads;    /* On processors: its parts. */
    double interference; /* Of what it runs. */

    bool begun; /* Its inputs are there, and it is among those that run. */

    /* Once it has begun. */
    uint32_t next;  /* Of its device. */
    uint32_t stamp; /* Of the timed event that ends it; others are out of date. */
    int64_t begun_ns;
    int64_t ends_at_ns; /* As things are. */
    double left_ns;     /* What was left of run_ns at since_ns. */
    int64_t since_ns;
};

/* What runs on a device, or on all processors of a node, kept with the first of their workers. */
struct running {
    uint32_t first; /* POOL_NONE: nothing. */
    uint32_t count;
    uint32_t units;      /* That they hold. */
    uint32_t threads;    /* Of processors: of all of them, and of loads. */
    uint32_t processors; /* 0: it is a device. */
};

/* The worker that keeps what runs on the device of @worker, or on the processors of its node. */
uint32_t runs_keeper(const struct sim *sim, uint32_t worker);

void runs_init(struct sim *sim, uint32_t worker);

/* Run @slot begins now: TIMED_BATCH_DONE follows. */
void runs_begin(struct sim *sim, uint32_t slot);

/* It ends, or is not wanted any more. */
void runs_end(struct sim *sim, uint32_t slot);

/* From now on a thread of the processors of @worker's node loads a model, or does so no more. */
void runs_set_loading(struct sim *sim, uint32_t worker, bool is_loading);

/* Whether the timed event with @stamp ends run @slot now; a later one does, or it is gone. */
bool runs_is_over(const struct sim *sim, uint32_t slot, uint32_t stamp);

/* The node that hears of the end of run @slot; NODE_NONE if it is gone: cancelled, or lost. */
uint32_t runs_node(const struct sim *sim, uint32_t slot);

#endif /* SIM_DEVICE_RUNS_H */
