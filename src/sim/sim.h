/*
 * sim.h - the host with a virtual clock: nodes, links, buses and devices in one queue.
 *
 * Runs the very same nodes as the runtime. Everything comes from the options and the
 * seed: the same options give the same trace, on every compiler and machine.
 *
 *     struct sim *sim = sim_create(&options);
 *     sim_run(sim);
 *     sim_report(sim, &report);
 *     sim_destroy(sim);
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "model/arrivals.h"
#include "model/fault.h"
#include "model/pace.h"
#include "node/node.h"
#include "trace/summary.h"

struct sim;

struct sim_options {
    const struct fleet *fleet; /* Borrowed, like all below. */
    const struct catalogue *catalogue;
    const struct profile *profile; /* What policies believe. */
    const struct profile *truth;   /* How long batches really take. NULL: as the profile says. */
    const struct policy_set *policies;
    const struct arrivals *arrivals;
    uint64_t jobs; /* How many arrive; of a list, at most. */
    double warmup;
    bool warmup_auto; /* See summary_options. */
    uint64_t seed;
    int64_t row_load_ns;
    int64_t row_cache_ns;
    uint32_t cell_nodes;           /* As in struct node_options. */
    const struct mixture *mixture; /* As the scenario names it; NULL: it names none. */
    int64_t solve_ns;              /* How long a search of a policy takes; 0: 10 ms. */
    double noise;                  /* Run times vary uniformly by this fraction up and down. */
    double profile_error; /* Run times of each config are off by a factor within this fraction. */
    struct pace pace;     /* Of every machine. */
    uint32_t fault_count;
    const struct fault *faults;
    uint32_t fault_random_count;
    const struct fault_random *fault_randoms; /* Drawn from the seed. */
    int64_t members_after_ns; /* Within which each node hears of a new member list. */
    bool detailed;            /* See summary_options. */
    bool has_deputies;        /* Clients have keys, and ask again: node/keys.h. */
    bool is_asked_twice;      /* With them: some clients ask once more for what they have. */
    bool weighs;              /* Records also tell what policies weighed. */
    bool check;               /* Look for broken invariants after every event. */

    /* Called with every record, in order. NULL: they are not needed. */
    void (*on_record)(void *context, const struct record *record);
    void *context;
    uint64_t (*stopwatch_ns)(void); /* To time decisions. NULL: they are only counted. */
};

struct sim_counters {
    uint64_t events; /* All that happened: steps of nodes, and what links do by themselves. */
    uint64_t steps;  /* Of nodes. */
    uint64_t decisions;
    double decision_mean_ns; /* 0 without a stopwatch. */
    double decision_p99_ns;
    double row_age_mean_ns;  /* Of the load rows of other nodes that placements went by. */
    uint64_t row_messages;   /* Rows, times the nodes that they are for. */
    uint64_t cache_messages; /* Of these, with the cache part. */
    int64_t now_ns;
    uint64_t arrived;  /* For progress bars. */
    uint64_t answered; /* Answered or refused. */
};

/*
 * Whether faults of @options may keep the directory away for so long that nodes give up what they
 * have for a life that they have not heard of.
 */
bool sim_may_list_late(const struct sim_options *options);

/* Whether they may do so, or lose messages, and no node is told. */
bool sim_may_be_silent(const struct sim_options *options);

struct sim *sim_create(const struct sim_options *options);
void sim_destroy(struct sim *sim);

/* Run until nothing is left to happen. */
ATTR_HOT void sim_run(struct sim *sim);

/* Run at most @events, of any kind. False when nothing is left to happen. */
ATTR_HOT bool sim_run_some(struct sim *sim, uint64_t events);

/* Beside those of the options: for scripts. */
void sim_request(struct sim *sim, int64_t at_ns, uint32_t node, const struct arrival *arrival);
/* Cancel the @nth request made (from 0), if it is still running. */
void sim_cancel(struct sim *sim, int64_t at_ns, uint64_t nth);
void sim_event(struct sim *sim, uint32_t node, const struct event *event);

void sim_report(const struct sim *sim, struct report *report_out);
/* Of a simulation that is detailed. The caller owns them. */
struct details *sim_details(const struct sim *sim);
void sim_counters(const struct sim *sim, struct sim_counters *counters_out);

#endif /* SIM_SIM_H */
