#include "queueing/waiting.h"

#include <math.h>

double waiting_ahead(double ahead, double residual)
{
    return ahead < 1 ? residual / (2 * (1 - ahead)) : (double)INFINITY;
}

double waiting_behind(double load, double ahead, double residual)
{
    return load < 1 ? residual / (2 * (1 - load)) / (1 - ahead) : (double)INFINITY;
}
