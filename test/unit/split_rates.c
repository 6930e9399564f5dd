#include "split_rates.h"

#include <math.h>

#include "base/assert.h"

enum { BISECTIONS_MAX = 200 };

/*
 * Where the marginal time of one more job is @toll:
 * load = 1 - 1 / sqrt(1 + 2 (toll - mean) / ((1 + squared) mean)), and 0 below @mean.
 */
static double load_at(const struct split_server *server, double toll)
{
    if (toll <= server->mean) {
        return 0;
    }
    const double excess = 2 * (toll - server->mean) / ((1 + server->squared) * server->mean);
    return 1 - 1 / sqrt(1 + excess);
}

static double rate_at(const struct split_server *servers, uint32_t count, double toll)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += load_at(&servers[i], toll) / servers[i].mean;
    }
    return sum;
}

static double find_toll(const struct split_server *servers, uint32_t count, double rate)
{
    double low = 0;
    double high = servers[0].mean;
    while (rate_at(servers, count, high) < rate) {
        low = high;
        high *= 2;
    }
    for (uint32_t i = 0; i < BISECTIONS_MAX; i++) {
        const double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high) {
            break;
        }
        if (rate_at(servers, count, middle) < rate) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

double split_rates(
    const struct split_server *servers, uint32_t count, double rate, double *rates_out)
{
    ASSERT(count > 0);
    ASSERT(rate > 0);
    double capacity = 0;
    for (uint32_t i = 0; i < count; i++) {
        ASSERT(servers[i].mean > 0);
        capacity += 1 / servers[i].mean;
    }
    if (rate >= capacity) {
        return (double)INFINITY;
    }
    const double toll = find_toll(servers, count, rate);
    const double scale = rate / rate_at(servers, count, toll); /* 1, but for rounding. */
    double time = 0;
    for (uint32_t i = 0; i < count; i++) {
        const double load = load_at(&servers[i], toll);
        const double one = 1 + (1 + servers[i].squared) * load / (2 * (1 - load));
        rates_out[i] = load / servers[i].mean * scale;
        time += rates_out[i] * servers[i].mean * one;
    }
    return time / rate;
}
