/*
 * toll.h - what one more visit to a queue costs all the others.
 *
 * Work of T a job, with a second moment of M, makes a queue of utilisation load and
 * residual R longer for everybody: by M / (2 (1 - load)) + T R / (2 (1 - load)^2) for each
 * visit of the others to it. (The gradient of Pollaczek and Khinchine's mean wait; Nona's
 * congestion term.)
 */
#ifndef QUEUEING_TOLL_H
#define QUEUEING_TOLL_H

/* What a job pays for a unit of its work, and of the second moment of it. */
struct toll {
    double work;
    double second;
};

/* At a queue that @visits visits a unit of time come to. The load is below 1. */
static inline struct toll toll_at(double load, double residual, double visits)
{
    const double room = 1 - load;
    return (struct toll){
        .work = visits * residual / (2 * room * room),
        .second = visits / (2 * room),
    };
}

static inline double toll_of(const struct toll *toll, double work, double second)
{
    return toll->work * work + toll->second * second;
}

#endif /* QUEUEING_TOLL_H */
