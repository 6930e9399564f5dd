/*
 * dies.h - tells whether a call stops the program, as a failed ASSERT does.
 *
 * The call runs in a child process, so the test goes on whatever happens.
 */
#ifndef UNIT_DIES_H
#define UNIT_DIES_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether @call aborts when given @argument. What it prints is dropped. */
static inline bool dies(void (*call)(void *), void *argument)
{
    (void)fflush(NULL); /* Or the child would print it again. */
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit none = {0};
        (void)setrlimit(RLIMIT_CORE, &none); /* Without it, a core file is left behind. */
        (void)signal(SIGABRT, SIG_DFL);
        if (freopen("/dev/null", "w", stderr) != NULL) {
            call(argument);
        }
        _exit(0);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGABRT;
}

#endif /* UNIT_DIES_H */
