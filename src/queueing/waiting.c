#include "queueing/waiting.h"

#include <math.h>

#include "base/assert.h"

struct service service_constant(double rate, double mean)
{
    return (struct service){rate, mean, mean * mean, mean * mean * mean};
}

struct service service_exponential(double rate, double mean)
{
    return (struct service){rate, mean, 2 * mean * mean, 6 * mean * mean * mean};
}

double waiting_mean(double load, double residual)
{
    return load < 1 ? residual / (2 * (1 - load)) : (double)INFINITY;
}

double waiting_ahead(double ahead, double residual)
{
    return waiting_mean(ahead, residual);
}

double waiting_behind(double load, double ahead, double residual)
{
    return load < 1 ? waiting_mean(load, residual) / (1 - ahead) : (double)INFINITY;
}

double waiting_mg1(const struct service *service)
{
    return waiting_mean(service->rate * service->mean, service->rate * service->second);
}

double waiting_mg1_variance(const struct service *service)
{
    const double load = service->rate * service->mean;
    if (load >= 1) {
        return (double)INFINITY;
    }
    const double mean = waiting_mg1(service);
    return service->rate * service->third / (3 * (1 - load)) + mean * mean;
}

double waiting_all_busy(double rate, double mean, uint32_t servers)
{
    ASSERT(servers > 0);
    const double offered = rate * mean;
    double blocked = 1; /* Erlang's B, one server after the other. */
    if (offered >= servers) {
        return 1;
    }
    for (uint32_t i = 1; i <= servers; i++) {
        blocked = offered * blocked / (i + offered * blocked);
    }
    return servers * blocked / (servers - offered * (1 - blocked));
}

double waiting_mmn(double rate, double mean, uint32_t servers)
{
    const double offered = rate * mean;
    if (offered >= servers) {
        return (double)INFINITY;
    }
    return waiting_all_busy(rate, mean, servers) * mean / (servers - offered);
}

double waiting_mgn(const struct service *service, uint32_t servers)
{
    if (service->rate <= 0 || service->mean <= 0) {
        return 0;
    }
    const double ratio = service->second / (2 * service->mean * service->mean);
    return ratio * waiting_mmn(service->rate, service->mean, servers);
}
