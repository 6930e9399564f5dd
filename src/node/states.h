/*
 * states.h - the states of things inside a node, and which may follow which.
 *
 * A row of a table lists, as bits, the states that may come next. Every change goes
 * through one of the functions below, so that an impossible move stops the program
 * where it is made and not where it is noticed.
 */
#ifndef NODE_STATES_H
#define NODE_STATES_H

#include <stdint.h>

#include "base/assert.h"

/*
 *              (RESERVE)         last input           launch
 *   nothing ──► PLANNED ──► GATHERING ──► QUEUED ──────► RUNNING ──► gone
 *      └──────────(first input)──┘ │ └► gone (forwarded)    ▲
 *                                  ├──► OFFERED ──► CLAIMED ┘
 *                                  └──────(pulled)────┘ └► OFFERED (did not fit)
 *   every state ──► gone: cancelled, unreserved, pulled, failed, owner lost
 *
 * An OFFERED task waits in the queue of its home; a CLAIMED one is in a batch that gathers.
 */
enum task_state {
    TASK_GONE,
    TASK_PLANNED,
    TASK_GATHERING,
    TASK_OFFERED,
    TASK_CLAIMED,
    TASK_QUEUED,
    TASK_RUNNING,
    TASK_STATES
};

/* A batch waits for the tasks that were claimed, for its GPU share, runs, and is gone. */
enum batch_state { BATCH_GONE, BATCH_GATHERING, BATCH_SHAPING, BATCH_RUNNING, BATCH_STATES };

/* A model on a worker. A failed or dropped load makes it absent again. */
enum model_state { MODEL_ABSENT, MODEL_LOADING, MODEL_RESIDENT, MODEL_UNLOADING, MODEL_STATES };

static inline void state_move(const uint8_t *allowed, uint32_t from, uint32_t to)
{
    ASSERT((allowed[from] >> to & 1) != 0);
}

static inline void task_state_move(uint8_t *state, enum task_state to)
{
    static const uint8_t allowed[TASK_STATES] = {
        [TASK_GONE] = 1 << TASK_PLANNED | 1 << TASK_GATHERING,
        [TASK_PLANNED] = 1 << TASK_GATHERING | 1 << TASK_GONE,
        [TASK_GATHERING] =
            1 << TASK_OFFERED | 1 << TASK_CLAIMED | 1 << TASK_QUEUED | 1 << TASK_GONE,
        [TASK_OFFERED] = 1 << TASK_CLAIMED | 1 << TASK_GONE,
        [TASK_CLAIMED] = 1 << TASK_OFFERED | 1 << TASK_RUNNING | 1 << TASK_GONE,
        [TASK_QUEUED] = 1 << TASK_RUNNING | 1 << TASK_GONE,
        [TASK_RUNNING] = 1 << TASK_GONE,
    };
    state_move(allowed, *state, to);
    *state = (uint8_t)to;
}

static inline void batch_state_move(uint8_t *state, enum batch_state to)
{
    static const uint8_t allowed[BATCH_STATES] = {
        [BATCH_GONE] = 1 << BATCH_GATHERING | 1 << BATCH_SHAPING | 1 << BATCH_RUNNING,
        [BATCH_GATHERING] = 1 << BATCH_SHAPING | 1 << BATCH_RUNNING | 1 << BATCH_GONE,
        [BATCH_SHAPING] = 1 << BATCH_RUNNING | 1 << BATCH_GONE,
        [BATCH_RUNNING] = 1 << BATCH_GONE,
    };
    state_move(allowed, *state, to);
    *state = (uint8_t)to;
}

static inline void model_state_move(uint8_t *state, enum model_state to)
{
    static const uint8_t allowed[MODEL_STATES] = {
        [MODEL_ABSENT] = 1 << MODEL_LOADING,
        [MODEL_LOADING] = 1 << MODEL_RESIDENT | 1 << MODEL_ABSENT,
        [MODEL_RESIDENT] = 1 << MODEL_UNLOADING,
        [MODEL_UNLOADING] = 1 << MODEL_ABSENT,
    };
    state_move(allowed, *state, to);
    *state = (uint8_t)to;
}

#endif /* NODE_STATES_H */
