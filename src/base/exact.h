/*
 * exact.h - functions and distributions that give the same bits everywhere.
 *
 * The exp, log and pow of libm differ between versions and processors, which
 * makes a simulation depend on the machine that runs it. These use only + - * /
 * on doubles, each rounded as IEEE 754 says, and nothing else. Compile with
 * -ffp-contract=off: a fused multiply-add rounds once where these round twice.
 */
#ifndef BASE_EXACT_H
#define BASE_EXACT_H

struct rng;

/* Natural logarithm, relative error below 1e-15. Of 0: -infinity. Below 0: not a number. */
double exact_log(double x);

/* Exponential function, relative error below 1e-15 where the result is normal. */
double exact_exp(double x);

/*
 * @x to the power @y, for x >= 0. Relative error below 1e-15 times the larger of
 * 1 and |y log x|; whole powers from 1 to 16 are products. 0 to the power 0 is 1.
 */
double exact_pow(double x, double y);

/* Exponential with mean 1. One draw. */
double exact_exponential(struct rng *rng);

/* Normal with mean 0 and variance 1. A varying number of draws. */
double exact_normal(struct rng *rng);

/* Gamma with @shape > 0 and scale 1: mean and variance are @shape. A varying number of draws. */
double exact_gamma(struct rng *rng, double shape);

#endif /* BASE_EXACT_H */
