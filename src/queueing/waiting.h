/*
 * waiting.h - how long one waits in a queue that is served first come, first served.
 *
 * Arrivals are Poisson. Times may be in any unit, rates in the inverse of it. A queue
 * that is offered more than it can serve has an infinite wait. Pure functions.
 *
 * M/G/1 and M/M/n are exact. M/G/n is an approximation: exact for one server and for
 * exponential times, about 10 % off where the load is high, more where it is low.
 */
#ifndef QUEUEING_WAITING_H
#define QUEUEING_WAITING_H

#include <stdint.h>

/* What arrives at a queue, and the first three moments of how long one of it is served. */
struct service {
    double rate;
    double mean;
    double second;
    double third;
};

/* Constant and exponential times of @mean. */
struct service service_constant(double rate, double mean);
struct service service_exponential(double rate, double mean);

/*
 * Pollaczek and Khinchine: the mean wait at a server of utilisation @load, where @residual
 * is the sum of rate times second moment over all that it serves.
 */
double waiting_mean(double load, double residual);

/*
 * Two classes at one server, the first of which goes ahead of the other but does not interrupt
 * (Cobham): the mean wait of those ahead, and behind. @ahead is the utilisation by the first;
 * @load and @residual are of both.
 */
double waiting_ahead(double ahead, double residual);
double waiting_behind(double load, double ahead, double residual);

/* The same of one stream, and the variance of the wait. */
double waiting_mg1(const struct service *service);
double waiting_mg1_variance(const struct service *service);

/* Erlang's C: the probability that all of @servers are busy, and the mean wait of M/M/n. */
double waiting_all_busy(double rate, double mean, uint32_t servers);
double waiting_mmn(double rate, double mean, uint32_t servers);

/* Lee and Longton 1959: the wait of M/M/n times (1 + squared variation) / 2. */
double waiting_mgn(const struct service *service, uint32_t servers);

#endif /* QUEUEING_WAITING_H */
