/*
 * deadline_learn.h - what came of jobs against what was expected of them, as two ratios.
 *
 * For deadline.c. A ratio is that of what came to what was expected, in parts of RATIO_ONE.
 * A job in time moves it a little towards what was seen; one that was late all the way. Where many
 * are late it grows until few are, where none is it is about the mean.
 */
#ifndef POLICY_DEADLINE_LEARN_H
#define POLICY_DEADLINE_LEARN_H

#include "base/numbers.h"
#include "policy/facts.h"

#define RATIO_ONE (INT64_C(1) << 20)
#define RATIO_MAX (64 * RATIO_ONE)
#define RATIO_MIN (RATIO_ONE / 64)
#define TIME_MAX  (INT64_C(1) << 46) /* 19 hours: products with ratios fit. */

/* What was learnt of a workflow, and the work of its open jobs. */
struct flow {
    int64_t wait_ratio; /* Of what came to what was expected, in parts of RATIO_ONE. */
    int64_t run_ratio;  /* Likewise. */
    uint32_t waits;     /* How often each was learnt, up to a bound. */
    uint32_t runs;
    uint32_t refused;    /* In a row. */
    uint32_t lost;       /* Given up, since the last one that was completed. */
    uint32_t tries;      /* How often a job was admitted against the odds since. */
    int64_t admitted_ns; /* Work of jobs that have not ended. */
    int64_t target_ns;   /* From arrival to the deadline, of the last job. */
};

struct deadline_state {
    int64_t admitted_ns[PRIORITY_MAX + 1]; /* By priority: the same work. */
    uint32_t open;                         /* How many jobs that is. */
    int64_t caution; /* A ratio for all: by how much jobs that were nearly late took longer. */
    struct flow flows[WORKFLOWS_MAX];
};

static inline int64_t bounded(int64_t ns)
{
    return min_i64(ns, TIME_MAX);
}

static inline int64_t times(int64_t ns, int64_t ratio)
{
    return ns / RATIO_ONE * ratio + ns % RATIO_ONE * ratio / RATIO_ONE;
}

/* As if everything came as expected. */
void deadline_learn_init(struct flow *flow);

/*
 * A job of @flow that was to end within @due_ns has ended: whether the machine is slower than it
 * was, which concerns all workflows. To be called before deadline_learn().
 */
void deadline_learn_caution(
    struct deadline_state *state, const struct flow *flow, const struct answered_facts *job,
    int64_t due_ns);

/*
 * The ratio for what is left of a job of @flow, at best. Halved by every few jobs that are given up
 * in a row: what is given up is not measured, so nothing else would correct a profile that is
 * too slow.
 */
int64_t deadline_rest_ratio(const struct flow *flow);

/* A job of @flow that was to end within @due_ns has ended. */
void deadline_learn(struct flow *flow, const struct answered_facts *job, int64_t due_ns);

/*
 * A job of @flow would be refused. Whether it is to be tried all the same: after many refusals in
 * a row one job must be, or a model that is not in memory would never get there. Bad experience
 * fades then, too, as nothing else would correct it.
 */
bool deadline_starves(struct flow *flow);

/*
 * Whether a job of @flow that will hardly be in time may be tried by those who want to be sure: the
 * rarer, the more were given up in a row.
 */
bool deadline_may_try(const struct flow *flow);

/* A job of @flow was admitted, as one that will be in time. */
void deadline_admitted(struct flow *flow);

#endif /* POLICY_DEADLINE_LEARN_H */
