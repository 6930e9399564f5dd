/* thread_seen.h - what the system says about a thread of this process. */
#ifndef UNIT_THREAD_SEEN_H
#define UNIT_THREAD_SEEN_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

/* The line of @file of @thread that begins with @start, without it, in @line; "" if none does. */
static inline const char *thread_line(
    pid_t thread, const char *name, const char *start, char line[512])
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/%s", (int)thread, name);
    FILE *file = fopen(path, "r");
    const char *found = "";
    while (file != NULL && found[0] == '\0' && fgets(line, 512, file) != NULL) {
        found = strncmp(line, start, strlen(start)) == 0 ? line + strlen(start) : "";
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

static inline bool thread_is_asleep(pid_t thread)
{
    char line[512];
    return strncmp(thread_line(thread, "status", "State:\t", line), "S", 1) == 0;
}

/* How often it went to sleep. */
static inline long thread_sleeps(pid_t thread)
{
    char line[512];
    return strtol(thread_line(thread, "status", "voluntary_ctxt_switches:", line), NULL, 10);
}

/* The thread called @name; 0: there is none. */
static inline pid_t thread_called(const char *name)
{
    DIR *folder = opendir("/proc/self/task");
    pid_t found = 0;
    const struct dirent *entry;
    while (folder != NULL && found == 0 && (entry = readdir(folder)) != NULL) {
        char line[512];
        const pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        const char *called = thread > 0 ? thread_line(thread, "comm", name, line) : "";
        found = called[0] == '\n' ? thread : 0;
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return found;
}

/* Whether the thread called @name, which was joined, has gone: the system shows it a while longer.
 */
static inline bool thread_has_gone(const char *name)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    uint32_t tries = 0;
    while (thread_called(name) != 0 && tries < 10000) {
        (void)nanosleep(&pause, NULL);
        tries++;
    }
    return tries < 10000;
}

#endif /* UNIT_THREAD_SEEN_H */
