/*
 * machine.h - the machine this runs on: what it has, and what a repository makes of it.
 */
#ifndef SERVICE_MACHINE_H
#define SERVICE_MACHINE_H

#include <stdint.h>
#include <stdio.h>

#include <weft/status.h>

#include "base/limits.h"
#include "document/settings.h"
#include "model/fleet.h"

struct machine {
    uint32_t cores;              /* That this process may use: at least 1. */
    uint64_t memory_bytes;       /* The same. */
    char device[NAME_BYTES_MAX]; /* The model of its processor, as a name. */
};

/* Look at this machine: what it has, and what its container, if any, leaves of it. */
void machine_read(struct machine *machine_out);

/*
 * The workers that @settings ask for, on devices of kind @device; the caller owns them. Where
 * they say nothing: one worker a core, and all workers together half of the memory.
 */
struct fleet *machine_fleet(
    const struct machine *machine, const struct settings *settings, const char *device);

/* Lower-case letters, digits and single dashes of @text: "Intel(R) X 4" is "intel-r-x-4". */
void machine_slug(const char *text, char out[NAME_BYTES_MAX]);

/* A number as control groups write it in @file; @fallback if it is "max" or none. */
uint64_t machine_read_limit(FILE *file, uint64_t fallback);

#endif /* SERVICE_MACHINE_H */
