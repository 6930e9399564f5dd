/*
 * machine.h - the machine this runs on: what it has, and what a repository makes of it.
 */
#ifndef SERVICE_MACHINE_H
#define SERVICE_MACHINE_H

#include <stdint.h>
#include <stdio.h>

#include <weft/status.h>

#include "base/limits.h"
#include "cuda/find.h"
#include "document/settings.h"
#include "model/fleet.h"

/* A GPU that engines can use. */
struct machine_gpu {
    char device[NAME_BYTES_MAX]; /* Its model, as a name. */
    uint64_t memory_bytes;       /* For models. */
    uint32_t units;              /* That shares are counted in. */
    bool has_rest;               /* As in struct cuda_found. */
    uint32_t version;            /* Of CUDA: 13000 is 13.0. */
};

struct machine {
    uint32_t cores;              /* That this process may use: at least 1. */
    uint64_t memory_bytes;       /* The same. */
    char device[NAME_BYTES_MAX]; /* The model of its processor, as a name. */
    uint32_t gpu_count;
    struct machine_gpu gpus[CUDA_FOUND_MAX];
};

/* Look at this machine without its GPUs: what it has, and what its container, if any, leaves of it.
 */
void machine_read(struct machine *machine_out);

/*
 * Look for its first @most GPUs, while this process has one thread. @on_note hears what one cannot
 * do; if it cannot be used, neither are those after it.
 */
void machine_find_gpus(
    struct machine *machine, uint32_t most,
    void (*on_note)(void *context, const char *note, bool is_used), void *context);

/* The driver of GPUs, and the folder of libtorch, as WEFT_CUDA and WEFT_TORCH say. NULL: the
 * system's. */
const char *machine_cuda_driver(void);
const char *machine_cuda_torch(void);

/* Whether a node of @settings has slots enough for what they, and the GPUs of @machine, make. */
bool machine_fits(const struct machine *machine, const struct settings *settings);

/*
 * The workers that @settings ask for, on processors of kind @device, which is the first kind, and
 * on each GPU; the caller owns them. Where they say nothing: one worker a core, and all of
 * these together half of the memory.
 * machine_fits() must be true.
 */
struct fleet *machine_fleet(
    const struct machine *machine, const struct settings *settings, const char *device);

/* Lower-case letters, digits and single dashes of @text: "Intel(R) X 4" is "intel-r-x-4". */
void machine_slug(const char *text, char out[NAME_BYTES_MAX]);

/* A number as control groups write it in @file; @fallback if it is "max" or none. */
uint64_t machine_read_limit(FILE *file, uint64_t fallback);

#endif /* SERVICE_MACHINE_H */
