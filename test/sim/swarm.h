/*
 * swarm.h - a whole experiment drawn from a seed: cluster, workflows, load, policy, faults.
 */
#ifndef SIM_SWARM_H
#define SIM_SWARM_H

#include "sim/sim.h"

struct swarm {
    struct fleet *fleet;
    struct catalogue *catalogue;
    struct profile *profile;
    struct policy_set policies;
    struct arrivals arrivals;
    struct sim_options options;
    struct fault faults[8];
};

void swarm_draw(struct swarm *swarm, uint64_t seed);
void swarm_free(struct swarm *swarm);

/* Print what was drawn, on one line. */
void swarm_print(const struct swarm *swarm);

#endif /* SIM_SWARM_H */
