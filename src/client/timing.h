/*
 * timing.h - how a server says that its time went into an answer: the header weft-timing.
 */
#ifndef CLIENT_TIMING_H
#define CLIENT_TIMING_H

#include <stdint.h>

#include "protocol/http_head.h"

struct timing {
    int64_t total_ns;
    int64_t queue_ns;
    int64_t run_ns;
    int64_t other_ns;
};

/* What @head says; all zero if it says nothing. */
void timing_read(const struct http_head *head, struct timing *timing_out);

#endif /* CLIENT_TIMING_H */
