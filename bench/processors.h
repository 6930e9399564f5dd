/* processors.h - hold processes on one processor, so that all that is compared is placed alike. */
#ifndef PROCESSORS_H
#define PROCESSORS_H

#include <dirent.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "bench.h"

/* The processor with number @index of those that this process may use, the last if there are less.
 */
static inline uint32_t processors_find(uint32_t index)
{
    static cpu_set_t usable; /* As it was at first: holding this process changes it. */
    uint32_t found = 0;
    if (CPU_COUNT(&usable) == 0) {
        check(sched_getaffinity(0, sizeof(usable), &usable) == 0, "no processors");
    }
    for (uint32_t i = 0, seen = 0; i < CPU_SETSIZE && seen <= index; i++) {
        if (CPU_ISSET(i, &usable)) {
            found = i;
            seen++;
        }
    }
    return found;
}

/* Hold all threads of @process, and those that they start, on the processor with number @index. */
static inline void processors_hold(pid_t process, uint32_t index)
{
    char path[32];
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    CPU_SET(processors_find(index), &wanted);
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
    DIR *threads = opendir(path);
    check(threads != NULL, "no such process");
    for (const struct dirent *one = readdir(threads); one != NULL; one = readdir(threads)) {
        const int thread = (int)strtol(one->d_name, NULL, 10);
        if (thread > 0) {
            (void)sched_setaffinity(thread, sizeof(wanted), &wanted); /* Or it has ended. */
        }
    }
    (void)closedir(threads);
}

#endif /* PROCESSORS_H */
