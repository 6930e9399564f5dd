/*
 * program.h - the mixture of placements under which jobs take the shortest time on average.
 *
 * Every worker and every link of the network is a queue with Poisson arrivals, served in
 * the order of arrival; what a placement asks of each is known from the profile. Loads are
 * linear in the probabilities, waits follow from the loads (Pollaczek and Khinchine), and a
 * job takes the longest way through its placed graph. docs/QUEUEING.md has the formulas, and
 * says which of them are exact. (Nona, with patterns in place of pairs of tasks.)
 *
 * The program is not convex: the result is the best of several starts, not a proven minimum.
 * The same input gives the same bits on every machine; work is limited by counting, never by
 * a clock.
 */
#ifndef MIXTURE_PROGRAM_H
#define MIXTURE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/status.h>

struct catalogue;
struct fleet;
struct mixture;
struct profile;

/*
 * The cluster, and what comes to it. Every workflow with a rate needs a worker with a kind
 * of device on which each of its tasks was measured. Models are taken to be resident.
 */
struct program_input {
    const struct catalogue *catalogue;
    const struct profile *profile;
    const struct fleet *fleet;
    const double *rates_per_s; /* Jobs of each workflow. 0: it gets no patterns. */
    const uint64_t *away;      /* A bit per machine of the fleet that is not there now: it gets
                                  nothing, and no request comes to it. NULL: all are there. */
};

/* All zero: the defaults. */
struct program_options {
    uint64_t seed;
    uint32_t restarts;        /* Starts from different points. 0: 6. */
    uint32_t patterns_max;    /* Of one workflow, before they are spread over equal machines.
                                 0: 64. */
    uint64_t evaluations_max; /* Of single patterns. 0: 20 million. */
    uint32_t items;           /* Of a request. 0: 1. */
    bool requeue;             /* Each task queues again, though the one before it ran on the same
                                 worker. If not, it goes on at once, as policy nona makes it. */
    bool plain_joins; /* A join waits for the latest mean, not for the mean of the latest. */
    const struct mixture *start; /* Begin here: a solution for similar rates. NULL: from nothing.
                                    If machines are away, it is one start of several.
                                    Patterns of another fleet or catalogue are an error. */
};

struct program_report {
    double mean_ns;       /* Predicted, over all jobs: as in the mixture. */
    double idle_ns;       /* The same if no job ever waited. */
    double load_max;      /* Of the busiest worker or link. */
    double gap;           /* How much a better response would gain at most, relative: 0 is a
                             stationary point. */
    uint64_t evaluations; /* Of single patterns. */
    uint32_t patterns;    /* With a positive probability, over all workflows, before spreading. */
};

/*
 * Solve the program. The caller owns the sealed mixture. @report_out may be NULL.
 *
 * Errors: WEFT_NOT_FOUND if a task can run nowhere; WEFT_REFUSED if no mixture was found
 * that leaves every worker and link with less work than it can do: @error names the
 * busiest; WEFT_INVALID for rates that are none, or a start that does not fit.
 */
enum weft_status program_solve(
    const struct program_input *input, const struct program_options *options,
    struct mixture **mixture_out, struct program_report *report_out, struct weft_error *error);

/*
 * Predict what the sealed @mixture does at the rates of @input: fill in its rates, times and
 * loads. For mixtures that were not solved for, such as placements by hand. Times are
 * infinite where a queue grows without end.
 *
 * Errors: WEFT_INVALID if it does not belong to this cluster; WEFT_NOT_FOUND if a task is
 * placed where it was never measured.
 */
enum weft_status program_predict(
    const struct program_input *input, const struct program_options *options,
    struct mixture *mixture, struct program_report *report_out, struct weft_error *error);

#endif /* MIXTURE_PROGRAM_H */
