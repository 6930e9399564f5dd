/*
 * links_fair.h - links whose transfers share them by max-min fairness.
 *
 * A transfer crosses all links of its route at one rate. No rate can grow without another
 * one shrinking that is not larger: what a link has is divided evenly among those that it
 * holds back, and the others take less of it because some other link holds them back.
 *
 * Work is counted in whole units, a rate is a whole number of units a nanosecond, and
 * time is whole nanoseconds: nothing is rounded between the start and the end of a
 * transfer, links are never over their rate, and a transfer ends at the first nanosecond
 * at which all of it has passed.
 *
 * This module keeps no clock. It calls wake() when something may end earlier than it has
 * asked for before; the owner then calls links_fair_finish() at that time. A time that has
 * become too early is not taken back: finish() finds nothing to do, and asks again. One
 * thread at a time.
 */
#ifndef SIM_LINKS_FAIR_H
#define SIM_LINKS_FAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "model/links_route.h"
#include "sim/links_heap.h"

/* A rate of one byte a second in the units of this module, which are 2^-10 of that. */
#define FAIR_RATE_UNIT (UINT64_C(1) << 10)

struct fair_link;

struct links_fair {
    struct fair_link *links;
    uint32_t link_count;
    uint32_t changed_count;
    uint32_t *changed; /* Links: who ends first there has to be found out. */
    uint32_t *watched; /* Links that were found over their rate. */
    uint32_t *touched; /* Links, while it is gone through them. */
    uint32_t watched_count;
    struct pool flows;
    uint64_t started;         /* Transfers, ever. */
    uint64_t coming_bytes;    /* Of the one that comes. */
    struct links_heap levels; /* Links that the present change may change, by level. */
    struct links_heap ends;   /* Links that hold something back, by when the first will end. */
    int64_t wake_ns;          /* The earliest time asked for and not come yet. */
    void (*wake)(void *context, int64_t at_ns);
    void *context;
};

/* Links of @bytes_per_s each, all above 0 that are ever used. */
void links_fair_init(
    struct links_fair *links, uint32_t link_count, const uint64_t *bytes_per_s,
    void (*wake)(void *context, int64_t at_ns), void *context);
void links_fair_deinit(struct links_fair *links);

/* Start to move @bytes, above 0, along @route, which has a link. Returns its number. */
uint32_t links_fair_start(
    struct links_fair *links, int64_t now_ns, const struct route *route, uint64_t bytes,
    uint32_t tag);

/*
 * Take off one transfer that has passed by now. False if there is none, or no more: call
 * until then whenever a time of wake() has come.
 */
bool links_fair_finish(struct links_fair *links, int64_t now_ns, uint32_t *tag_out);

/* The rate at which transfer @flow moves now, in units of FAIR_RATE_UNIT. */
uint64_t links_fair_rate(const struct links_fair *links, uint32_t flow);

/*
 * Stop the program unless every link is what it says: within its rate, by the transfers on it;
 * and if it holds back any, full but for what cannot be divided, with none faster.
 */
void links_fair_check(const struct links_fair *links);

#endif /* SIM_LINKS_FAIR_H */
