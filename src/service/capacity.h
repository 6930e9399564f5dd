/*
 * capacity.h - how many requests per second a cluster can carry, found by trying.
 *
 * A closed loop of requests, in the proportions of the arrivals, keeps all workers busy for some
 * seconds; nothing is refused. What other processes take of the machine at that time, loads of
 * models and batches are all in the figure. Profiles follow what was seen, as they always do.
 */
#ifndef SERVICE_CAPACITY_H
#define SERVICE_CAPACITY_H

#include "service/service.h"

struct capacity {
    double per_s;
    uint32_t answered; /* Well, in that time. */
    double seconds;
};

/*
 * Measure the cluster that @options describe, with its parts.
 *
 * Errors: those of runtime_create(); WEFT_INVALID if hardly anything is answered.
 */
enum weft_status capacity_measure(
    const struct service_options *options, struct capacity *capacity_out, struct weft_error *error);

#endif /* SERVICE_CAPACITY_H */
