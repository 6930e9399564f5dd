#include "console/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/assert.h"

static volatile sig_atomic_t caught; /* The signal, or 0. */
static volatile sig_atomic_t hang_up;

static void remember(int signal_number)
{
    caught = signal_number;
}

static void handle(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL); /* Cannot fail for these. */
    (void)sigaction(SIGTERM, &action, NULL);
}

void interrupt_catch(void)
{
    handle(remember);
}

static void remember_hang_up(int signal_number)
{
    (void)signal_number;
    hang_up = 1;
}

void interrupt_catch_hang_up(void)
{
    struct sigaction action = {.sa_handler = remember_hang_up, .sa_flags = SA_RESTART};
    struct sigaction before;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGHUP, NULL, &before); /* Cannot fail for this one. */
    if (before.sa_handler == SIG_DFL) {
        (void)sigaction(SIGHUP, &action, NULL);
    }
}

bool interrupt_hang_up_came(void)
{
    return hang_up != 0;
}

bool interrupt_came(void)
{
    return caught != 0;
}

void interrupt_release(void)
{
    handle(SIG_DFL);
}

void interrupt_obey(void)
{
    const int signal_number = caught;
    ASSERT(signal_number != 0);
    interrupt_release();
    (void)raise(signal_number);
    abort(); /* Blocked by the parent process. */
}

static void on_limit(int signal_number)
{
    static const char text[] = "weft: something still running did not stop; ended without it\n";
    (void)signal_number;
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1); /* Nowhere else to say so. */
    _exit(1);
}

void interrupt_limit(unsigned int seconds)
{
    struct sigaction action = {.sa_handler = on_limit};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGALRM, &action, NULL); /* Cannot fail for this one. */
    (void)alarm(seconds);
}
