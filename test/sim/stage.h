/*
 * stage.h - a small cluster on which a scripted simulation is played.
 *
 * Numbers are round so that a trace can be checked in the head: buses carry 1 MB a
 * millisecond, so a model of 50 MB loads in 50 ms; links are unlimited with a latency of
 * 1 ms unless the test says otherwise; rows are shown every 10 ms (load) and 20 ms (cache).
 */
#ifndef SIM_STAGE_H
#define SIM_STAGE_H

#include "base/text.h"
#include "sim/sim.h"

enum { STAGE_TRACE_BYTES = 1 << 18 };

struct stage {
    struct fleet *fleet;
    struct catalogue *catalogue;
    struct profile *profile;
    struct policy_set policies;
    struct arrivals arrivals;
    struct sim_options options;
    struct sim *sim;
    struct fault faults[16];
    struct text trace;
    char *trace_bytes;
};

#define MS(n) ((int64_t)((n)*1e6))
#define MB(n) ((uint64_t)(n)*1000000)

/* @node_count machines with one device of @memory each. */
void stage_open(struct stage *stage, uint32_t node_count, uint64_t memory_bytes);
void stage_close(struct stage *stage);

/* A model (a function if @bytes is 0) that runs @run_ns an item. Returns its number. */
uint32_t stage_model(struct stage *stage, const char *name, uint64_t bytes, int64_t run_ns);

/* A workflow "a b c" in which each task, named after its model, follows the one before. */
uint32_t stage_chain(struct stage *stage, const char *name, const char *tasks);

/* a -> {b, c} -> d with these four models. */
uint32_t stage_diamond(struct stage *stage, const char *name, const char *const models[4]);

/* Start the simulation with @policies. Requests, faults and events come after this. */
void stage_start(struct stage *stage, const char *policies);
void stage_start_with(struct stage *stage, const struct policy *policy);

void stage_request(struct stage *stage, int64_t at_ns, uint32_t node, uint32_t workflow);

/* Play to the end and compare the whole trace with test/sim/golden/@name.txt. */
void stage_expect(struct stage *stage, const char *name);

#endif /* SIM_STAGE_H */
