/*
 * echo.h - a cluster whose one engine gives back what it gets: a server's contents, tested.
 *
 * Workflows: "echo" (x FP32 [-1]), "types" (one input of each type, named after it),
 * "image" (pixels UINT8 [-1,-1,3]), "text" (text BYTES [-1]), "slow" (x, in 300 ms, or
 * when a file is there), "fail" (x; always fails, and says why), "hops" (x, through eight tasks).
 * Outputs are called like inputs.
 */
#ifndef SERVING_ECHO_H
#define SERVING_ECHO_H

#include "policy/compose.h"
#include "runtime/runtime.h"

struct echo_cluster {
    struct fleet *fleet;
    struct catalogue *catalogue;
    struct profile *profile;
    struct policy_set policies;
    struct runtime *runtime;
    uint32_t jobs_max;      /* At once. 0: no limit. */
    const char *slow_until; /* "slow" runs until this file is there. NULL: 300 ms. Borrowed. */

    /* Called with every record. NULL: none. */
    void (*on_record)(void *context, const struct record *record);
    void *context;
};

/* Start it, with jobs_max, slow_until, on_record and context set and everything else zero. */
void echo_start(struct echo_cluster *cluster);

/* Destroy the runtime and everything behind it. */
void echo_stop(struct echo_cluster *cluster);

#endif /* SERVING_ECHO_H */
