/*
 * interrupt.h - Ctrl-C as a question: a command asks between two pieces of work, puts
 * away what is half done, and lets the signal have its way.
 */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on SIGINT and SIGTERM are only remembered. */
void interrupt_catch(void);

/* Whether one has come. */
bool interrupt_came(void);

/* Die of the signal that came, as whoever waits for this process expects. */
_Noreturn void interrupt_obey(void);

/* As before interrupt_catch(): for children. */
void interrupt_release(void);

#endif /* CLI_INTERRUPT_H */
