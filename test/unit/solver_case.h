/*
 * solver_case.h - small clusters and workflows for the tests of planning.
 *
 * Models are functions of one run time on devices of kind 0 ("plain"); faster and slower
 * kinds come as a test adds them. Rates are in jobs a second, times in milliseconds.
 */
#ifndef UNIT_SOLVER_CASE_H
#define UNIT_SOLVER_CASE_H

#include "base/rng.h"
#include "mixture/mixture.h"
#include "mixture/program.h"
#include "model/catalogue.h"
#include "model/fleet.h"
#include "profile/profile.h"

struct solver_case {
    struct catalogue *catalogue;
    struct fleet *fleet;
    struct profile *profile;
    double rates[16];
    struct program_input input;
};

/* @node_count machines with @worker_count plain devices each. */
void solver_case_open(struct solver_case *plan, uint32_t node_count, uint32_t worker_count);
void solver_case_close(struct solver_case *plan);

/* One more machine with one device of a kind that takes @factor times as long. */
void solver_case_add_kind(struct solver_case *plan, const char *kind, double factor);

/* A model that takes @ms on plain devices, and in proportion on kinds that are there by now. */
struct profile_curve *solver_case_model(struct solver_case *plan, const char *name, double ms);

/* A workflow of one task. */
void solver_case_single(struct solver_case *plan, const char *model, double rate_per_s);

/* Two tasks of @ms each, the first with @bytes for the second. */
void solver_case_pair(struct solver_case *plan, double ms, uint64_t bytes, double rate_per_s);

/* The diamond of 2, 8, 10 and 2 ms with transfers of 1, 9, 1 and 9 MB times @scale. */
void solver_case_diamond(struct solver_case *plan, double scale, double rate_per_s);

/* A random graph of @task_count tasks, connected, with inputs of @input_bytes. */
void solver_case_random(
    struct solver_case *plan, struct rng *rng, uint32_t task_count, uint64_t input_bytes,
    double rate_per_s);

/* Short, middle and long jobs, of 2, 8 and 60 ms, 6 to 3 to 1, that load 80 machines. */
void solver_case_sizes(struct solver_case *plan, double load);

/* Solve, and expect that it works. */
struct mixture *solver_case_solve(
    struct solver_case *plan, const struct program_options *options, struct program_report *report);

/* Every pattern of @placements, with equal weights, for the only workflow. */
struct mixture *solver_case_by_hand(
    const struct solver_case *plan, const uint16_t *placements, uint32_t count);

void solver_case_near(double value, double expected, double tolerance);

#endif /* UNIT_SOLVER_CASE_H */
