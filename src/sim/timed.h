/*
 * timed.h - what the queue of a simulation holds: a kind and a few numbers, packed in one.
 */
#ifndef SIM_TIMED_H
#define SIM_TIMED_H

#include <stdint.h>

/* What the queue holds. Small things are packed into the payload, others are slots. */
enum timed_kind {
    TIMED_ARRIVAL,    /* The next of the stream. */
    TIMED_REQUEST,    /* slot: a scripted one. */
    TIMED_CANCEL,     /* number of the request. */
    TIMED_SCRIPT,     /* slot: a scripted event of a node. */
    TIMED_TIMER,      /* worker or node, timer kind. */
    TIMED_CROSSED,    /* worker, stamp: something has crossed the bus of its device. */
    TIMED_UNLOADED,   /* worker, model. */
    TIMED_SHAPED,     /* worker, units. */
    TIMED_BATCH_DONE, /* stamp, slot of a run. */
    TIMED_AT_SWITCH,  /* slot of a parcel: it reaches its next link. */
    TIMED_DELIVERED,  /* slot of a parcel. */
    TIMED_PASSED,     /* A transfer may have passed its fair links. */
    TIMED_BACKGROUND, /* link: other traffic. */
    TIMED_FAULT,      /* number of the fault. */
    TIMED_HINT,       /* node, peer and whether it broke: a connection broke, or is back. */
    TIMED_VERDICT,    /* The member list changes now. */
    TIMED_MEMBERS,    /* node: it hears of that. */
    TIMED_FAULT_OVER, /* number of the fault. */
    TIMED_HANG_UP,    /* slot of a client, who has waited for long enough. */
    TIMED_RETRY,      /* node or none, slot of a client, who asks again. */
    TIMED_EDITION,    /* node: it looks at what the others say of editions. */
};

/* kind : 6, incarnation : 8, small : 18, large : 32 */
enum { PAYLOAD_INCARNATION_MAX = 0xff, PAYLOAD_SMALL_MAX = 0x3ffff };

static inline uint64_t payload_of(
    enum timed_kind kind, uint32_t incarnation, uint32_t small, uint32_t large)
{
    return (uint64_t)kind << 58 | (uint64_t)(incarnation & PAYLOAD_INCARNATION_MAX) << 50 |
           (uint64_t)(small & PAYLOAD_SMALL_MAX) << 32 | large;
}

static inline enum timed_kind payload_kind(uint64_t payload)
{
    return (enum timed_kind)(payload >> 58);
}

static inline uint32_t payload_incarnation(uint64_t payload)
{
    return payload >> 50 & PAYLOAD_INCARNATION_MAX;
}

static inline uint32_t payload_small(uint64_t payload)
{
    return payload >> 32 & PAYLOAD_SMALL_MAX;
}

static inline uint32_t payload_large(uint64_t payload)
{
    return (uint32_t)payload;
}

#endif /* SIM_TIMED_H */
