/* process_seen.h - what the system says about processes. */
#ifndef UNIT_PROCESS_SEEN_H
#define UNIT_PROCESS_SEEN_H

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>

/* The newest process whose parent is @parent; 0: none. */
static inline pid_t process_child_of(pid_t parent)
{
    char command[96];
    int found = 0;
    (void)snprintf(command, sizeof(command), "pgrep -P %d | tail -n 1", (int)parent);
    FILE *pipe = parent > 1 ? popen(command, "r") : NULL;
    if (pipe == NULL) {
        return 0;
    }
    if (fscanf(pipe, "%d", &found) != 1) {
        found = 0;
    }
    (void)pclose(pipe);
    return (pid_t)found;
}

/* Whether all threads of @process stand still. */
static inline bool process_has_stopped(pid_t process)
{
    char path[300];
    bool has_stopped = true;
    const struct dirent *entry;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
    DIR *folder = opendir(path);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char state = 'T';
        (void)snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", (int)process, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file != NULL) {
            (void)fscanf(file, "%*d (%*[^)]) %c", &state);
            (void)fclose(file);
        }
        has_stopped = has_stopped && state == 'T';
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return has_stopped;
}

/* Stop it, and wait until it has. */
static inline bool process_stop(pid_t process)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    const bool is_there = kill(process, SIGSTOP) == 0;
    for (unsigned tries = 0; is_there && tries < 10000 && !process_has_stopped(process); tries++) {
        (void)nanosleep(&pause, NULL);
    }
    return is_there && process_has_stopped(process);
}

#endif /* UNIT_PROCESS_SEEN_H */
