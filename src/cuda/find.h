/*
 * find.h - which GPUs this machine has, and what they can do.
 *
 * A process that has opened the driver cannot be forked any more, and engine processes are forked.
 * So each GPU is looked at in a process of its own, which ends at once.
 */
#ifndef CUDA_FIND_H
#define CUDA_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/status.h>

struct fleet;

enum { CUDA_FOUND_MAX = 16, CUDA_FOUND_NAME_BYTES = 96 };

struct cuda_found {
    char name[CUDA_FOUND_NAME_BYTES]; /* As the driver calls it. */
    uint64_t memory_bytes;
    uint64_t room_bytes; /* Of that, for models: what others and engines themselves leave. */
    uint32_t processors;
    uint32_t units;          /* That shares are counted in. 1: it cannot be shared. */
    bool is_exclusive;       /* One process at a time may use it. */
    bool has_rest;           /* The last of them is what is left over: share.h. */
    uint32_t version;        /* Of CUDA, as the driver says it: 13000 is 13.0. */
    enum weft_status status; /* Whether engines can use it. */
    char cause[240];         /* If not: why. */
};

/*
 * Look for the GPUs of this machine, @most of them at most, with the driver @path; NULL: the
 * system's. Returns how many there are, usable or not; one that is not, if there is a driver which
 * does not work. Called while this process has one thread.
 */
uint32_t cuda_find(const char *path, uint32_t most, struct cuda_found *found_out);

/*
 * Which GPU of this machine @worker of @fleet is on: the first such worker is on the first GPU.
 * Where every machine has @gpu_count of them, it begins again with each. 0: there is one machine.
 */
uint32_t cuda_gpu_of(const struct fleet *fleet, uint32_t worker, uint32_t gpu_count);

#endif /* CUDA_FIND_H */
