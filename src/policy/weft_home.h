/*
 * weft_home.h - how weft runs tasks that were measured on shares of a device, if units cost.
 *
 * Such tasks wait in home queues, so that batches form from the whole cluster. Their configs are
 * those of esg's search: the cheapest that end in time, or sooner while devices are idle. What
 * differs is the worker. All that could ever run the config are looked at, also those that have no
 * room for it yet:
 *
 *     delay = wait for room + max(load of models, transfers of all inputs)
 *     score = delay + what runs take longer there + wait for room + 2 x load, if it evicts
 *
 * If a config would be in time on a worker that has no room, and none is on one that has, the
 * queue waits. If none is in time anywhere, the config and worker that end first are taken.
 *
 * Tasks that ran together are offered one after another, and awaited for a moment, so that they
 * stay together; plans count on no larger batches later.
 *
 * Where machines may be replaced by others (slots) nothing waits: nodes that know of different
 * machines would not agree on which tasks do.
 */
#ifndef POLICY_WEFT_HOME_H
#define POLICY_WEFT_HOME_H

#include "policy/demand.h"
#include "policy/esg_plan.h"
#include "policy/esg_warm.h"
#include "policy/weft_begin.h"
#include "policy/weft_learn.h"
#include "policy/weft_links.h"

struct weft_plan {
    const int64_t *path_ns;     /* By workflow: its critical path on the fastest devices. */
    const int64_t *ranks_ns;    /* By queue: the longest way from its tasks on, likewise. */
    const struct esg_plan *esg; /* What esg would know. */
    const bool *waits;          /* By queue: whether its tasks wait at their home. */
    bool is_short;              /* Models may have to leave memory. */
};

/* What every node uses comes first: where no task waits, the rest is never touched. */
struct weft_state {
    struct weft_links links;
    int64_t own_ns;     /* What own workers have to do when a job comes, on average of late. */
    int64_t idle_at_ns; /* When idle was found out. */
    int64_t idle;       /* Units of devices that are free, of all, in 1024ths. */
    int64_t off;        /* By which share of their time batches start off their plan, in 2^20ths. */
    uint32_t lost[WORKFLOWS_MAX]; /* Jobs given up since the last one that was completed. */
    struct weft_begin begin;      /* Which jobs are put off before they begin. */
    struct demand demand;         /* Where memory is short: what is used again soon. */
    struct weft_learn learn;
    struct esg_state esg;
    int64_t gathers_ns[ESG_QUEUES_MAX]; /* Until when tasks of a batch before are awaited. */
};

/* Find out which tasks wait, and prepare for them. */
void weft_home_plan(
    struct arena *arena, const struct plan_input *input, struct weft_plan *plan_out);

/* @input as esg's functions want it. */
struct policy_input weft_home_as_esg(const struct policy_input *input);

/* A task that waits has joined its queue; and its key there. */
void weft_home_queued(const struct policy_input *input, const struct ready_facts *task);
int64_t weft_home_order(const struct policy_input *input, const struct ready_facts *task);

void weft_home_dispatch(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out);

/* Learn from a batch. */
void weft_home_ended(const struct policy_input *input, const struct ended_facts *ended);

#endif /* POLICY_WEFT_HOME_H */
