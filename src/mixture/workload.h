/*
 * workload.h - what the jobs of a program ask for, looked up once: times, bytes, shape.
 *
 * Tasks that may as well run together (model/contract.h) are one unit: a placement gives
 * each unit a worker. Everything is in nanoseconds and rates per nanosecond.
 */
#ifndef MIXTURE_WORKLOAD_H
#define MIXTURE_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/status.h>

#include "model/fleet.h"

struct contraction;
struct program_input;
struct workflow;

/* How long a task runs on one kind of device. */
struct task_time {
    double mean_ns; /* Below 0: it was never measured there. */
    double variance;
};

/* The jobs of one workflow. */
struct stream {
    uint32_t number; /* Of the workflow. */
    const struct workflow *workflow;
    double rate;             /* Jobs a nanosecond. */
    struct task_time *times; /* By task, then by kind of device. */
    double *edge_bytes;      /* By edge. */
    double input_bytes;
    struct contraction *units;
};

struct workload {
    uint32_t stream_count; /* Workflows with a rate. */
    struct stream *streams;
    double rate;      /* Of all together. */
    bool requeue;     /* See struct program_options. */
    bool plain_joins; /* The same. */
};

/*
 * Look everything up. The caller owns the result.
 *
 * Errors: WEFT_INVALID for a rate that is negative or not finite, or if all are 0;
 * WEFT_NOT_FOUND if a task was measured on no device of the fleet.
 */
enum weft_status workload_create(
    const struct program_input *input, uint32_t items, struct workload **workload_out,
    struct weft_error *error);

/* Release @workload. NULL is allowed. */
void workload_destroy(struct workload *workload);

static inline const struct task_time *stream_time(
    const struct stream *stream, uint32_t task, uint32_t device)
{
    return &stream->times[task * DEVICE_KINDS_MAX + device];
}

#endif /* MIXTURE_WORKLOAD_H */
