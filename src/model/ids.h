/*
 * ids.h - names of things that cross layers and machines.
 *
 * Workers, nodes, models and workflows are small dense indices that every node of
 * a cluster agrees on. A job is named by the node that owns it and a number which
 * that node never uses twice.
 */
#ifndef MODEL_IDS_H
#define MODEL_IDS_H

#include <stdbool.h>
#include <stdint.h>

#define WORKER_NONE UINT32_MAX /* No worker: not placed, or none to ask. */
#define NODE_NONE   UINT32_MAX
#define MODEL_NONE  UINT32_MAX
#define TASK_NONE   UINT32_MAX

struct job_id {
    uint32_t node;   /* The owner. */
    uint32_t number; /* From 1; never reused by this incarnation of the owner. */
};

/*
 * A placement has one entry per task: a worker, or PLACEMENT_UNBOUND while none is
 * chosen. It travels in every message of its job, hence the two bytes.
 */
#define PLACEMENT_UNBOUND ((uint16_t)UINT16_MAX)

static inline uint32_t placement_worker(uint16_t entry)
{
    return entry == PLACEMENT_UNBOUND ? WORKER_NONE : entry;
}

static inline uint64_t job_key(struct job_id job)
{
    return (uint64_t)job.node << 32 | job.number;
}

static inline struct job_id job_of_key(uint64_t key)
{
    return (struct job_id){.node = (uint32_t)(key >> 32), .number = (uint32_t)key};
}

static inline bool job_equal(struct job_id a, struct job_id b)
{
    return job_key(a) == job_key(b);
}

#endif /* MODEL_IDS_H */
