/*
 * mixture_oracle.h - the same program by Ipopt, a general interior-point solver.
 *
 * Built in where Ipopt is installed; the benchmark goes without it otherwise. Variables are
 * the shares of all patterns of an draft. Values and slopes are those of mixture/congestion.h,
 * so that only the search differs; second derivatives are left to Ipopt's own approximation.
 */
#ifndef MIXTURE_ORACLE_H
#define MIXTURE_ORACLE_H

#include <stdbool.h>

struct draft;

bool mixture_oracle_is_there(void);

/*
 * Start from the shares of @draft, which change, and stop after @seconds. With @near the
 * barrier is small from the start, so that it does not leave the shares for the middle first.
 * Returns the mean time; @ended_out says whether Ipopt itself saw nothing more to gain.
 */
double mixture_oracle_solve(struct draft *draft, double seconds, bool near, bool *ended_out);

#endif /* MIXTURE_ORACLE_H */
