#include "function/usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

void function_usage_open(struct function_usage *usage, pid_t process)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%ld/statm", (long)process);
    *usage = (struct function_usage){.memory = open(path, O_RDONLY | O_CLOEXEC)};
    usage->has_clock = clock_getcpuclockid(process, &usage->clock) == 0;
}

void function_usage_close(struct function_usage *usage)
{
    if (usage->memory >= 0) {
        (void)close(usage->memory); /* It was only read. */
    }
    usage->memory = -1;
}

/* Resident, and not of a file: what the process itself has written to. */
static uint64_t own_bytes(const struct function_usage *usage)
{
    char text[128];
    unsigned long size;
    unsigned long resident;
    unsigned long shared;
    const ssize_t bytes = usage->memory < 0 ? -1 : pread(usage->memory, text, sizeof(text) - 1, 0);
    if (bytes <= 0) {
        return 0;
    }
    text[bytes] = '\0';
    if (sscanf(text, "%lu %lu %lu", &size, &resident, &shared) != 3 || shared > resident) {
        return 0;
    }
    return (uint64_t)(resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t function_usage_grown(struct function_usage *usage)
{
    const uint64_t bytes = own_bytes(usage);
    if (!usage->has_first) {
        usage->has_first = true;
        usage->first_bytes = bytes;
    }
    return bytes > usage->first_bytes ? bytes - usage->first_bytes : 0;
}

int64_t function_usage_cpu_s(const struct function_usage *usage)
{
    struct timespec used;
    if (!usage->has_clock || clock_gettime(usage->clock, &used) != 0) {
        return 0; /* It is gone, which is found out elsewhere. */
    }
    return used.tv_sec;
}
