#include "mixture/drift.h"

#include <math.h>

#include "base/exact.h"

#define LOG_2      0.69314718055994530942
#define STEPS      4.0
#define DEVIATIONS 4.0
#define RATE_MIN   1e-6

bool drift_is_real(double measured, double expected, double part, double share)
{
    const double larger = measured > expected ? measured : expected;
    const double distance = measured > expected ? measured - expected : expected - measured;
    /* Variance of a count over one second is the rate; of the average, part / (2 - part) of it. */
    return distance > share * expected && distance > DEVIATIONS * sqrt(larger * part / (2 - part));
}

double drift_round(double rate)
{
    if (!(rate > RATE_MIN)) {
        return 0;
    }
    const double steps = floor(exact_log(rate) / LOG_2 * STEPS + 0.5);
    return exact_exp(steps * LOG_2 / STEPS);
}
