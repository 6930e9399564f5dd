/*
 * screen.h - a served cluster on a terminal, or as a line per second.
 *
 * On a terminal one picture is drawn over and over; anywhere else, and if asked for, it
 * is one line of counts that programs and logs can live with, while they change.
 */
#ifndef SERVICE_SCREEN_H
#define SERVICE_SCREEN_H

#include <stdio.h>

#include "runtime/runtime.h"
#include "service/watch.h"

struct screen {
    FILE *file; /* Borrowed, like all below. */
    const struct runtime *runtime;
    const struct fleet *fleet;
    const struct catalogue *catalogue;
    const struct watch *watch; /* Its history is added to, by what is seen. */
    const char *title;
    const char *asking;  /* The rate of requests of our own. NULL: there are none. */
    const char *url;     /* Where clients are served. NULL: nowhere. */
    const char *hint;    /* A command that asks for something. NULL: none. */
    const char *program; /* That explains jobs. NULL: it may not. */
    const char *at;      /* Its option that names this server, or "". */
    bool is_ascii;       /* The terminal shows nothing else. */
    bool is_drawn;       /* Over and over, on a terminal. */
    bool is_coloured;    /* With colours. */
    bool is_draining;    /* No more requests come. */
    bool is_begun;
    uint32_t columns; /* Of the last picture. */
    uint32_t rows;
    uint64_t shown[7]; /* The counts of the last line. */
};

/* How long to wait between two calls of screen_show(). */
int64_t screen_interval_ns(const struct screen *screen);

/* Draw the picture, or print the line, of this moment. */
void screen_show(struct screen *screen);

/* Leave the terminal as it was found, below the last picture. */
void screen_end(struct screen *screen);

#endif /* SERVICE_SCREEN_H */
