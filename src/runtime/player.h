/*
 * player.h - an open loop of requests: they come when they come, answered or not.
 *
 * Plays the arrivals of a scenario on the clock of a runtime, each to a node drawn from
 * the same streams as in the simulator.
 */
#ifndef RUNTIME_PLAYER_H
#define RUNTIME_PLAYER_H

#include "model/arrivals.h"
#include "runtime/runtime.h"

struct player;

struct player_options {
    struct runtime *runtime; /* Borrowed, like the next three. */
    const struct fleet *fleet;
    const struct catalogue *catalogue;
    const struct arrivals *arrivals;
    uint64_t seed;
    uint64_t jobs;    /* How many at most. 0: without end. */
    bool has_keys;    /* Requests have keys, as clients of the simulator give them. */
    int64_t until_ns; /* None after this time. 0: without end. */

    /* Called when the last request has been answered and no more will come. May be NULL. */
    void (*ended)(void *context);
    void *context;

    /*
     * Make what a request for @workflow with @items brings; the player passes it on. The
     * number may be any, and comes back with the answer. NULL: as many bytes as the workflow
     * says, only pretended.
     */
    struct handle (*make_inputs)(
        void *context, struct runtime *runtime, uint32_t workflow, uint32_t items,
        uint32_t *number_out);

    /* Look at an answer before its outputs are released. May be NULL. */
    void (*on_answer)(
        void *context, const struct runtime *runtime, uint32_t workflow, uint32_t number,
        const struct runtime_answer *answer);
    void *inputs_context;
};

struct player_counts {
    uint64_t arrived;
    uint64_t answered; /* In any way. */
    uint64_t failed;   /* Answered with any status but WEFT_OK. */
};

/* Make a player, whose first request waits for its time. It must outlive the runtime's run. */
struct player *player_create(const struct player_options *options);

/* NULL is allowed. */
void player_destroy(struct player *player);

/* Let no more requests come. */
void player_stop(struct player *player);

struct player_counts player_counts(const struct player *player);

#endif /* RUNTIME_PLAYER_H */
