/*
 * pattern.h - placements of jobs on sites, taken apart into what they ask of each queue.
 *
 * A placed job is a graph of steps: runs of tasks on one worker that nothing can part. A
 * step begins when the last of its arcs allows it. An arc takes a fixed time, and the waits
 * at the queues that it visits. So the time of a job is the longest way to the last step,
 * and it is linear in the waits as long as the same way is the longest.
 *
 * Waits are looked up by price: price q is the wait of who joins the end of queue q, price
 * queue_count + q of who goes ahead of it, as its job has been there.
 */
#ifndef MIXTURE_PATTERN_H
#define MIXTURE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

struct sites;
struct stream;

#define STEP_NONE UINT32_MAX /* An arc from here starts when the job arrives. */

/* Every task a step, every one a join that gathers before it waits, and the answer. */
enum { PATTERN_STEPS_MAX = 2 * WORKFLOW_TASKS_MAX + 1 };

/* A worker: copy 0 of a site is one of its machines, copy 1 another one. */
struct spot {
    uint16_t site;
    uint16_t copy;
    uint16_t slot;
};

struct wait_term {
    uint32_t price;
    double weight;
};

struct arc {
    uint32_t from; /* A step of the same pattern, with a lower number. */
    uint32_t wait_first;
    uint32_t wait_count;
    bool own;        /* From the worker of this step itself. */
    uint32_t up;     /* The link up from the machine of @from. QUEUE_NONE: it is not crossed. */
    double quiet_ns; /* Since that worker last sent something, when this reaches the link. */
    double fixed_ns; /* From the begin of @from, with no waits. */
    double variance; /* Of that. */
};

/*
 * The last step of a pattern is the answer. It takes no time, nor do steps that only gather the
 * inputs of a join, before all of them wait for the worker at once: they have no queue.
 */
struct step {
    uint32_t arc_first;
    uint32_t arc_count;
    uint32_t queue;
    bool goes_ahead; /* Of those who wait there: an input was made on its worker. */
    bool goes_on;    /* Right behind the step before it there, if its inputs are in time. */
    double work_ns;
    double variance;
};

/* What one job asks of a queue: time, how much of it goes ahead, squares over its visits. */
struct demand {
    uint32_t queue;
    double work_ns;
    double ahead_ns;
    double second;
};

struct pattern {
    uint32_t stream;
    uint32_t step_first;
    uint32_t step_count;
    uint32_t demand_first;
    uint32_t demand_count;
    uint32_t spot_first; /* A spot for each task. */
    double idle_ns;      /* The time of a job that never waits. */
};

/* Patterns of one program. They own their memory; clearing keeps it. */
struct patterns {
    uint32_t count;
    uint32_t capacity;
    struct pattern *items;
    uint32_t step_count;
    uint32_t step_capacity;
    struct step *steps;
    uint32_t arc_count;
    uint32_t arc_capacity;
    struct arc *arcs;
    uint32_t wait_count;
    uint32_t wait_capacity;
    struct wait_term *waits;
    uint32_t demand_count;
    uint32_t demand_capacity;
    struct demand *demands;
    uint32_t spot_count;
    uint32_t spot_capacity;
    struct spot *spots;
    struct taking_apart *work;
};

void patterns_init(struct patterns *patterns);
void patterns_deinit(struct patterns *patterns);
void patterns_clear(struct patterns *patterns);

/* What a placement is of. */
struct pattern_of {
    const struct sites *sites;
    const struct stream *stream;
    uint32_t number; /* Of the stream. */
    bool requeue;    /* See struct program_options. */
};

/* The pattern that places the tasks of @of at @spots; UINT32_MAX if there is none. */
uint32_t patterns_find(
    const struct patterns *patterns, const struct pattern_of *of, const struct spot *spots);

/*
 * Take the placement @spots apart, one for each task, and add it. Returns its index, or
 * UINT32_MAX if a task is where it was never measured.
 */
uint32_t patterns_add(
    struct patterns *patterns, const struct pattern_of *of, const struct spot *spots);

/*
 * The longest path through pattern @index at these prices. @starts_out has room for its steps
 * and gets the begin of each; @via_out, if not NULL, the arc by which each was held up.
 */
double pattern_length(
    const struct patterns *patterns, uint32_t index, const double *prices, double *starts_out,
    uint32_t *via_out);

static inline bool spot_equal(struct spot a, struct spot b)
{
    return a.site == b.site && a.copy == b.copy && a.slot == b.slot;
}

static inline bool spot_same_machine(struct spot a, struct spot b)
{
    return a.site == b.site && a.copy == b.copy;
}

#endif /* MIXTURE_PATTERN_H */
