/*
 * random_graph.h - small random workflows, and what is true of them by brute force.
 *
 * Tasks are named t0, t1, … in the order of their indices. The references ask about
 * paths and nothing else, so that they share no idea with the code under test.
 */
#ifndef UNIT_RANDOM_GRAPH_H
#define UNIT_RANDOM_GRAPH_H

#include <stdint.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/rng.h"
#include "model/workflow.h"

enum { RANDOM_TASKS_MAX = 12 };

/* reach[a][b]: there is a way of at least one edge from a to b. */
struct reach {
    bool from[RANDOM_TASKS_MAX][RANDOM_TASKS_MAX];
};

static inline uint32_t add_named(struct workflow *workflow, uint32_t number)
{
    struct workflow_task task = {.run = number};
    uint32_t index;

    (void)snprintf(task.name, sizeof(task.name), "t%u", number);
    ASSERT(workflow_add_task(workflow, &task, &index) == WEFT_OK);
    return index;
}

static inline enum weft_status connect(struct workflow *workflow, uint32_t from, uint32_t to)
{
    const struct workflow_edge edge = {.from = from, .to = to, .bytes = 1};
    return workflow_add_edge(workflow, &edge);
}

/* An unsealed graph; with @cycles, edges may point anywhere. The caller owns it. */
static inline struct workflow *random_graph(struct rng *rng, bool cycles)
{
    struct workflow *workflow = workflow_create("random");
    const uint32_t count = 1 + rng_below(rng, RANDOM_TASKS_MAX);
    const uint32_t density = rng_below(rng, 100);
    uint32_t level[RANDOM_TASKS_MAX];

    for (uint32_t i = 0; i < count; i++) {
        (void)add_named(workflow, i);
        level[i] = rng_below(rng, 1000); /* Edges go up: not by index, which would be too tidy. */
    }
    for (uint32_t i = 0; i < count * count; i++) {
        const uint32_t from = rng_below(rng, count);
        const uint32_t to = rng_below(rng, count);
        if (rng_below(rng, 100) < density && (cycles || level[from] < level[to])) {
            (void)connect(workflow, from, to); /* It may be there already. */
        }
    }
    return workflow;
}

/* All ways that do not pass @without; TASK_NONE leaves out nothing. */
static inline void find_reach(
    const struct workflow *workflow, uint32_t without, struct reach *reach_out)
{
    *reach_out = (struct reach){0};
    for (uint32_t i = 0; i < workflow->edge_count; i++) {
        const struct workflow_edge *edge = &workflow->edges[i];
        if (edge->from != without && edge->to != without) {
            reach_out->from[edge->from][edge->to] = true;
        }
    }
    for (uint32_t k = 0; k < workflow->task_count; k++) {
        for (uint32_t i = 0; i < workflow->task_count; i++) {
            for (uint32_t j = 0; j < workflow->task_count; j++) {
                reach_out->from[i][j] |= reach_out->from[i][k] && reach_out->from[k][j];
            }
        }
    }
}

#endif /* UNIT_RANDOM_GRAPH_H */
