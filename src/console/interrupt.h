/*
 * interrupt.h - Ctrl-C as a question: a command asks between two pieces of work, puts
 * away what is half done, and lets the signal have its way.
 */
#ifndef CONSOLE_INTERRUPT_H
#define CONSOLE_INTERRUPT_H

#include <stdbool.h>

/* From now on SIGINT and SIGTERM are only remembered. */
void interrupt_catch(void);

/* From now on SIGHUP is only remembered, unless it is ignored anyway: until a loop is told of it.
 */
void interrupt_catch_hang_up(void);

/* Whether one has come until then. */
bool interrupt_hang_up_came(void);

/* Whether one has come. */
bool interrupt_came(void);

/* Die of the signal that came, as the waiting parent process expects. */
_Noreturn void interrupt_obey(void);

/* As before interrupt_catch(): for children. */
void interrupt_release(void);

/*
 * End the process with exit code 1 after @seconds, whatever it is waiting for then; 0: do not,
 * after all. For work that cannot be stopped, such as a function that never returns.
 */
void interrupt_limit(unsigned int seconds);

#endif /* CONSOLE_INTERRUPT_H */
