/*
 * delay.h - times that are partly certain: a fixed part, and a wait that may be none.
 *
 * The wait is 0 with probability 1 - busy, and exponential otherwise: what a queue looks
 * like to who comes to it (exactly so in M/M/1). The maximum of two independent delays is fitted to
 * this form again by mean and variance; its mean is exact. Pure functions; any unit of time.
 */
#ifndef QUEUEING_DELAY_H
#define QUEUEING_DELAY_H

struct delay {
    double fixed;
    double wait; /* Its mean, zeros included. */
    double busy; /* The probability that it is not 0: in (0, 1] unless the wait is 0. */
};

/* At a queue of utilisation @load with a mean wait of @wait. */
struct delay delay_at(double fixed, double wait, double load);

/* The delay of this mean, @fixed + @wait, and @variance. What does not scatter is fixed. */
struct delay delay_fit(double fixed, double wait, double variance);

double delay_variance(const struct delay *delay);

/* The later of two that run side by side. */
struct delay delay_max(const struct delay *a, const struct delay *b);

/* The probability that @a is larger than @b. */
double delay_exceeds(const struct delay *a, const struct delay *b);

#endif /* QUEUEING_DELAY_H */
