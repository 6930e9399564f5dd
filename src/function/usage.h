/*
 * usage.h - what a process has used, as its kernel tells it: nothing it could forge.
 *
 * Where the kernel does not tell, it seems to use nothing.
 */
#ifndef FUNCTION_USAGE_H
#define FUNCTION_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct function_usage {
    int memory; /* /proc/PID/statm, or -1. */
    clockid_t clock;
    bool has_clock;
    bool has_first;
    uint64_t first_bytes; /* After the first call: what it loads once is not a leak. */
};

void function_usage_open(struct function_usage *usage, pid_t process);
void function_usage_close(struct function_usage *usage);

/* By how much its own memory has grown since this was first asked. */
uint64_t function_usage_grown(struct function_usage *usage);

/* The processor time of all its threads. */
int64_t function_usage_cpu_s(const struct function_usage *usage);

#endif /* FUNCTION_USAGE_H */
