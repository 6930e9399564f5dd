/*
 * limits.h - what the process of a function may use, and how far it is shut in.
 *
 * In all of them 0 means the default.
 */
#ifndef FUNCTION_LIMITS_H
#define FUNCTION_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#define FUNCTION_RUN_NS_MAX       INT64_C(30000000000)
#define FUNCTION_MEMORY_BYTES_MAX (UINT64_C(4) << 30)
#define FUNCTION_OUTPUT_BYTES_MAX (UINT64_C(1) << 30)

struct function_limits {
    int64_t run_ns_max;        /* Of a call, without the models that it runs. */
    uint64_t memory_bytes_max; /* Of the process. A quarter of it may be kept between calls. */
    uint64_t output_bytes_max; /* Of a task, all outputs together. */
    bool no_sandbox;           /* The limits hold all the same. */
};

/* @limits with the defaults filled in. */
static inline struct function_limits function_limits_filled(struct function_limits limits)
{
    limits.run_ns_max = limits.run_ns_max == 0 ? FUNCTION_RUN_NS_MAX : limits.run_ns_max;
    limits.memory_bytes_max =
        limits.memory_bytes_max == 0 ? FUNCTION_MEMORY_BYTES_MAX : limits.memory_bytes_max;
    limits.output_bytes_max =
        limits.output_bytes_max == 0 ? FUNCTION_OUTPUT_BYTES_MAX : limits.output_bytes_max;
    return limits;
}

#endif /* FUNCTION_LIMITS_H */
