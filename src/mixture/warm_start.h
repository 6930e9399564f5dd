/*
 * restart.h - the program again, from a mixture that was good for other rates.
 *
 * Rates that are measured change all the time, mostly by little. The placements of the old
 * mixture are then kept, and only their shares improved, for as long as that gains much.
 */
#ifndef MIXTURE_WARM_START_H
#define MIXTURE_WARM_START_H

#include <stdbool.h>
#include <stdint.h>

struct draft;
struct mixture;
struct program_input;
struct program_options;
struct workload;

/*
 * Start from the mixture of @options, which fits the cluster; count what was evaluated. NULL if
 * it has no placements for some workflow, or none that are enough. The caller owns the result.
 */
struct draft *warm_start_solve(
    const struct program_input *input, const struct program_options *options,
    const struct workload *workload, uint64_t *evaluations);

/*
 * Whether jobs would take clearly longer than the predictions of @start let expect at the new
 * rates: the machines may then have to be divided otherwise, which no small steps do. False
 * where nothing was predicted.
 */
bool warm_start_is_poor(const struct draft *draft, const struct mixture *start);

#endif /* MIXTURE_WARM_START_H */
