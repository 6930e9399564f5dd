/*
 * toll.h - what one more visit to a queue costs all the others.
 *
 * Work of T per job, with a second moment of M, makes a queue of utilisation load and
 * residual R longer for all: by M / (2 (1 - load)) + T R / (2 (1 - load)^2) for each
 * visit of the others to it. (The gradient of Pollaczek and Khinchine's mean wait; Nona's
 * congestion term.) Where part of the work goes ahead of the rest, both waits are longer
 * by 1 / (1 - ahead), and work that goes ahead pays for that besides.
 */
#ifndef QUEUEING_TOLL_H
#define QUEUEING_TOLL_H

/* What a job pays for a unit of its work, and of the second moment of it. */
struct toll {
    double work;
    double second;
    double ahead; /* For a unit of its work that goes ahead, more. */
};

/* Visits to a queue a unit of time: at its end, and ahead of those who wait. */
struct toll_waiters {
    double behind;
    double ahead;
};

/* At a queue whose @load, of which @ahead goes ahead, is below 1. */
static inline struct toll toll_at(
    double load, double ahead, double residual, struct toll_waiters waiters)
{
    const double room = 1 - load;
    const double room_ahead = 1 - ahead;
    const double second = (waiters.behind / room + waiters.ahead) / (2 * room_ahead);
    return (struct toll){
        .work = waiters.behind * residual / (2 * room * room * room_ahead),
        .second = second,
        .ahead = second * residual / room_ahead,
    };
}

static inline double toll_of(const struct toll *toll, double work, double ahead, double second)
{
    return toll->work * work + toll->ahead * ahead + toll->second * second;
}

#endif /* QUEUEING_TOLL_H */
