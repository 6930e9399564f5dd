/*
 * weft_home.h - how weft runs tasks that were measured on shares of a device, or in batches.
 *
 * Such tasks wait in home queues, so that batches form from the whole cluster. Their configs are
 * those of esg's search: the cheapest that end in time, or sooner while devices are idle; where no
 * workflow has an SLO, those of weft_quick.h and weft_priced.h. What differs is the worker. All
 * that could ever run the config are looked at, also those that have no room for it yet, by when
 * the batch would end there and what that costs others (weft_spot.h).
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
#include "policy/esg_warm.h"
#include "policy/weft_begin.h"
#include "policy/weft_home_plan.h"
#include "policy/weft_inputs.h"
#include "policy/weft_learn.h"
#include "policy/weft_links.h"
#include "policy/weft_quick.h"
#include "policy/weft_warm.h"

/* What every node uses comes first: where no task waits, the rest is never touched. */
struct weft_state {
    struct weft_links links;
    int64_t own_ns;     /* What own workers have to do when a job comes, on average of late. */
    int64_t idle_at_ns; /* When idle was found out. */
    int64_t idle;       /* Units of devices that are free, of all, in 1024ths. */
    int64_t idle_mean;  /* The same, on average over some starts, in 2^20ths. */
    int64_t slower;     /* Than expected, by rows, on average, then as well. */
    int64_t off;        /* By which share of their time batches start off their plan, in 2^20ths, */
    int64_t late;       /* and which share of the jobs of this node ends late while much is idle, */
    int64_t missed;     /* or at all. */
    struct weft_quick quick;      /* What is idle, by kind of device. */
    uint32_t lost[WORKFLOWS_MAX]; /* Jobs given up since the last one that was completed. */
    struct weft_begin begin;      /* Which jobs are put off before they begin. */
    struct demand demand;         /* Where memory is short: what is used again soon. */
    struct weft_learn learn;
    struct esg_state esg;
    int64_t gathers_ns[ESG_QUEUES_MAX];     /* Until when tasks of a batch before are awaited. */
    int64_t warm_at_ns;                     /* When these were looked at last. */
    struct weft_wait waits[ESG_QUEUES_MAX]; /* Where memory is short: for full workers. */
    struct weft_brought brought;            /* What its batches bring together. */
    struct esg_pace placed[ESG_QUEUES_MAX]; /* Where nothing waits: what it placed, of shares. */
};

/*
 * Within which time of its arrival @job is due; and, if it has neither an SLO nor a priority, for
 * how much longer it waits for those that have one.
 */
int64_t weft_home_whole_ns(const struct policy_input *input, const struct job_facts *job);
int64_t weft_home_later_ns(const struct policy_input *input, const struct job_facts *job);

/* A task that waits has joined its queue; and its key there. */
void weft_home_queued(const struct policy_input *input, const struct ready_facts *task);
int64_t weft_home_order(const struct policy_input *input, const struct ready_facts *task);

void weft_home_dispatch(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out);

#endif /* POLICY_WEFT_HOME_H */
