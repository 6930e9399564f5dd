#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/assert.h"

static volatile sig_atomic_t caught; /* The signal, or 0. */

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
    abort(); /* Blocked by whoever started us. */
}
