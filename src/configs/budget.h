/*
 * budget.h - how much of a workflow's time each task may use.
 *
 * The time is divided in proportion to how long tasks usually take, along the nested parts
 * of the graph (ESG, HPDC 2024, dominator-based SLO distribution). Tasks that no way through
 * a part can avoid follow one another; between two of them everything shares one interval, of
 * which each independent branch gets all and divides it again. A branch that has no such
 * task inside, because of edges across, is divided task by task: each ends where it would
 * if the longest way through it filled the interval.
 *
 * Budgets are cumulative: when a task must have ended, counted from the arrival of its job.
 * No way through the graph exceeds the whole, and the longest uses all of it. Tasks in a row,
 * without a fork or a join between them, are planned together in groups.
 */
#ifndef CONFIGS_BUDGET_H
#define CONFIGS_BUDGET_H

#include <stdint.h>

struct workflow;

struct budget_task {
    int64_t start_ns; /* Of its interval, after the arrival of the job. */
    int64_t end_ns;   /* Of its interval, likewise. */
    uint32_t next;    /* The task after it in its group; TASK_NONE for the last. */
    uint32_t left;    /* Tasks of its group from this one on. */
};

/*
 * Average normalised lengths: over all configs that every task has, the mean share that a
 * task has in the time of all of them. @run_ns has @config_count rows of a time for each of
 * @task_count tasks. In 2^-40 of the whole, and at least 1: every task has some time.
 */
void budget_lengths(
    const int64_t *run_ns, uint32_t task_count, uint32_t config_count, int64_t *lengths_out);

/*
 * Divide @whole_ns among the tasks of the sealed @workflow and form groups of at most
 * @group_max. @lengths and @tasks_out have one entry per task; lengths are positive, and their
 * sum fits into 60 bits.
 */
void budget_split(
    const struct workflow *workflow, const int64_t *lengths, int64_t whole_ns, uint32_t group_max,
    struct budget_task *tasks_out);

#endif /* CONFIGS_BUDGET_H */
