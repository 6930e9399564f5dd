/*
 * waiting.h - how long one waits at a server that is shared by two classes.
 *
 * Arrivals are Poisson. The first class goes ahead of the other but does not interrupt it
 * (Cobham); with one class this is Pollaczek and Khinchine's mean. Times may be in any unit. A
 * queue that is given more than it can serve has an infinite wait. Pure functions.
 */
#ifndef QUEUEING_WAITING_H
#define QUEUEING_WAITING_H

/*
 * The mean wait of those ahead, and behind. @ahead is the utilisation by the first class; @load is
 * that by both, and @residual the sum of rate times second moment over all that is served.
 */
double waiting_ahead(double ahead, double residual);
double waiting_behind(double load, double ahead, double residual);

#endif /* QUEUEING_WAITING_H */
