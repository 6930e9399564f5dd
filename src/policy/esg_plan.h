/*
 * esg_plan.h - what esg knows of every queue before the first job: configs, fronts, budgets.
 *
 * Made once, in the arena of the host, and only read from then on.
 */
#ifndef POLICY_ESG_PLAN_H
#define POLICY_ESG_PLAN_H

#include "configs/configs.h"
#include "configs/search.h"
#include "policy/policy.h"

enum esg_option {
    ESG_K,
    ESG_GROUP,
    ESG_SHARE,
    ESG_BATCH,
    ESG_ADAPT,
    ESG_SPLIT,
    ESG_LOCALITY,
    ESG_RECHECK,
    ESG_WAIT,
    ESG_PREWARM,
    ESG_MARGIN,
    ESG_TRANSFERS,
    ESG_TOGETHER, /* Not an option of esg. */
};

/* Choices for at most @batch items: those to which no other is both as fast and as cheap. */
struct esg_level {
    uint32_t batch;
    struct search_stage stage;
};

/* One queue: a task of a workflow. Times are planned ones, with the margin. */
struct esg_queue {
    struct configs configs;
    struct search_stage stage;  /* The same, for the search. */
    struct search_front *rests; /* Of its group: whatever follows, or after each level. */
    uint32_t level_count;
    struct esg_level *levels; /* One for each batch that was measured, ascending. */
    int64_t
        group_start_ns;   /* Where its share of the budget starts, as if the workflow had WHOLE. */
    int64_t group_end_ns; /* Where the share of its group ends, likewise. */
    int64_t end_ns;       /* Where its own share ends, likewise. */
    int64_t tail_ns;      /* It and the longest way after it, all as fast as can be. */
    int64_t after_ns;     /* Of it: what comes after its group. */
    int64_t transfer_ns;  /* Of one item's inputs, if budgets count transfers. */
    uint64_t bytes_per_item;
    uint32_t planned; /* The choice of a plan that is made once. */
    uint32_t batch_max;
    uint32_t next; /* The task after it in its group; TASK_NONE for the last. */
};

/* Budgets are divided as if every workflow had this much time. */
#define ESG_WHOLE_NS (INT64_C(1) << 40)

struct esg_plan {
    struct esg_queue *queues; /* By number, as in the catalogue. */
};

const void *esg_plan(struct arena *arena, const struct plan_input *input);

/* @part_ns of ESG_WHOLE_NS, of @time_ns. */
int64_t esg_scaled(int64_t time_ns, int64_t part_ns);

#endif /* POLICY_ESG_PLAN_H */
