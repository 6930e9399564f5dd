/*
 * screen_parts.h - what the files of the screen share: the pieces of a picture.
 */
#ifndef SERVICE_SCREEN_PARTS_H
#define SERVICE_SCREEN_PARTS_H

#include "console/frame.h"
#include "service/screen.h"

enum {
    SCREEN_SPACIOUS_ROWS = 30, /* With fewer, no line is left empty. */
    SCREEN_CELLS_MIN = 8,      /* Fewer cells of time say nothing. */
};

static inline double screen_seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* An empty line, where there is room for such. */
void screen_gap(struct frame *frame);

/* @text in bold. */
void screen_heading(struct frame *frame, const char *text);

/* Look at all workers, for the history. */
void screen_look(const struct screen *screen);

/* What @worker did over time: a cell per second, to the end of the line. */
void screen_worker_cells(const struct screen *screen, struct frame *frame, uint32_t worker);

/* What those cells mean. */
void screen_legend(const struct screen *screen, struct frame *frame);

/* Rates, latencies and open requests over time, in @row_count lines at most. */
void screen_history(const struct screen *screen, struct frame *frame, uint32_t row_count);

/* Late jobs, and models that came and went, in the lines that are left. */
void screen_news(const struct screen *screen, struct frame *frame);

#endif /* SERVICE_SCREEN_PARTS_H */
