/*
 * swarm.h - a whole experiment drawn from a seed: cluster, workflows, load, policy, faults.
 */
#ifndef SIM_SWARM_H
#define SIM_SWARM_H

#include "document/scenario.h"
#include "sim/sim.h"

enum { SWARM_FAULTS_MAX = 32 };

struct swarm {
    struct fleet *fleet;
    struct catalogue *catalogue;
    struct profile *profile;
    struct profile *drawn; /* While it is drawn: before models have their numbers. */
    struct policy_set policies;
    struct arrivals arrivals;
    struct sim_options options;
    struct fault faults[SWARM_FAULTS_MAX];
    struct fault_random random;
};

void swarm_draw(struct swarm *swarm, uint64_t seed);
void swarm_free(struct swarm *swarm);

/* The same experiment as a scenario, which takes all of @swarm. The caller owns it. */
struct scenario *swarm_to_scenario(struct swarm *swarm);

/* Print what was drawn, on one line. */
void swarm_print(const struct swarm *swarm);

#endif /* SIM_SWARM_H */
