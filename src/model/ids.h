/*
 * ids.h - names of things that cross layers and machines.
 *
 * Workers, nodes, models and workflows are small dense indices that every node of
 * a cluster agrees on. A job is named by the node that owns it, the incarnation of that node, and
 * a number which this incarnation never uses twice. The number also says under which edition of the
 * repository the job was accepted: wherever its tasks go, their name goes with them.
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
    uint32_t node;        /* The owner. */
    uint32_t incarnation; /* Of the owner: each life of a node has a higher one than all before. */
    uint64_t number;      /* Of job_number(). 0: no job. */
};

/* 65,536 changes of a repository by each of 256 nodes; 30 years of a thousand jobs per second. */
enum { EDITION_BITS = 24, EDITION_NODE_BITS = 8, JOB_COUNT_BITS = 40 };

_Static_assert(sizeof(struct job_id) == 16, "no padding: records are hashed as bytes");

/*
 * A placement has one entry per task: a worker, or PLACEMENT_UNBOUND while none is
 * chosen. It travels in every message of its job, hence the two bytes.
 */
#define PLACEMENT_UNBOUND ((uint16_t)UINT16_MAX)

static inline uint32_t placement_worker(uint16_t entry)
{
    return entry == PLACEMENT_UNBOUND ? WORKER_NONE : entry;
}

/* What a client calls its request, the same whenever it asks again. All zero: it has no key. */
struct request_key {
    uint64_t words[2];
};

static inline bool request_key_is_set(struct request_key key)
{
    return (key.words[0] | key.words[1]) != 0;
}

static inline bool request_key_equal(struct request_key a, struct request_key b)
{
    return a.words[0] == b.words[0] && a.words[1] == b.words[1];
}

/* The number of the job that its node counts as @count, from 1, accepted under @edition. */
static inline uint64_t job_number(uint32_t edition, uint64_t count)
{
    return (uint64_t)edition << JOB_COUNT_BITS | count;
}

static inline uint32_t job_edition(struct job_id job)
{
    return (uint32_t)(job.number >> JOB_COUNT_BITS);
}

/* What people call the job, together with its node. */
static inline uint64_t job_count(struct job_id job)
{
    return job.number & ((UINT64_C(1) << JOB_COUNT_BITS) - 1);
}

static inline bool job_equal(struct job_id a, struct job_id b)
{
    return a.number == b.number && a.node == b.node && a.incarnation == b.incarnation;
}

/*
 * For tables and seeds. Two jobs can have the same key, if they are 2^28 numbers, or millions of
 * incarnations, apart: who looks a job up by its key compares the whole name.
 */
static inline uint64_t job_key(struct job_id job)
{
    const uint64_t in_node = ((uint64_t)job.incarnation << 28) + job.number;
    const uint64_t above = in_node >> 32; /* Beside the node, which has 14 bits. */
    return ((uint64_t)job.node << 32 | (uint32_t)in_node) ^ above * UINT64_C(0x9e3779b97f4a7c15);
}

#endif /* MODEL_IDS_H */
