/*
 * progress.h - how far a long command has come, for a person who watches.
 *
 * One line on standard error if that is a terminal, drawn over and over and removed at
 * the end; nothing at all otherwise. For short work nothing is shown either.
 */
#ifndef CONSOLE_PROGRESS_H
#define CONSOLE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *label; /* What is done. Borrowed. */
    const char *item;  /* To what, shown behind that. NULL: to everything. Borrowed. */
    bool is_watched;
    bool is_drawn;
    int64_t started_ns;
    int64_t drawn_ns;
};

void progress_start(struct progress *progress, const char *label);

/* @done of @total parts are done. Cheap enough to call hundreds of times a second. */
void progress_show(struct progress *progress, uint64_t done, uint64_t total);

/* Remove the line: before anything else is printed. */
void progress_clear(struct progress *progress);

/* A clock that never goes back. */
int64_t progress_clock_ns(void);

#endif /* CONSOLE_PROGRESS_H */
