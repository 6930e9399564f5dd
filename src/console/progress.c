#include "console/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/units.h"
#include "console/style.h"

enum {
    BAR_CELLS = 30,
    BAR_CELLS_MIN = 4,
    OTHER_COLUMNS = 25, /* " [] 100 %  1000000 s left" */
};

#define DRAW_FIRST_NS (300 * NS_PER_MS)
#define DRAW_EVERY_NS (100 * NS_PER_MS)

int64_t progress_clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* This clock is always there. */
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

void progress_start(struct progress *progress, const char *label)
{
    ASSERT(label != NULL);
    *progress = (struct progress){
        .label = label,
        .is_watched = isatty(STDERR_FILENO) == 1,
        .started_ns = progress_clock_ns(),
    };
    progress->drawn_ns = progress->started_ns + DRAW_FIRST_NS - DRAW_EVERY_NS;
}

/* As long as the line still fits: one that wraps is not drawn over. */
static int bar_cells(size_t label_columns)
{
    const uint32_t columns = style_columns(stderr);
    const uint32_t others = OTHER_COLUMNS + (uint32_t)label_columns;
    if (columns >= others + BAR_CELLS) {
        return BAR_CELLS;
    }
    return columns > others + BAR_CELLS_MIN ? (int)(columns - others) : BAR_CELLS_MIN;
}

static void draw(const struct progress *progress, double part, double passed_s)
{
    char bar[BAR_CELLS + 1];
    const char *item = progress->item == NULL ? "" : progress->item;
    const char *gap = progress->item == NULL ? "" : " ";
    const int cells = bar_cells(strlen(progress->label) + strlen(gap) + strlen(item));
    for (int i = 0; i < cells; i++) {
        bar[i] = i < (int)(part * cells) ? '#' : '.';
    }
    bar[cells] = '\0';
    (void)fprintf(
        stderr, "\r\033[K%s%s%s [%s] %3.0f %%", progress->label, gap, item, bar, 100 * part);
    if (part > 0.01) {
        (void)fprintf(stderr, "  %.0f s left", passed_s / part * (1 - part));
    }
    (void)fflush(stderr);
}

void progress_show(struct progress *progress, uint64_t done, uint64_t total)
{
    if (!progress->is_watched || total == 0) {
        return;
    }
    const int64_t now_ns = progress_clock_ns();
    if (now_ns - progress->drawn_ns < DRAW_EVERY_NS) {
        return;
    }
    const double part = done < total ? (double)done / (double)total : 1.0;
    draw(progress, part, (double)(now_ns - progress->started_ns) / 1e9);
    progress->drawn_ns = now_ns;
    progress->is_drawn = true;
}

void progress_clear(struct progress *progress)
{
    if (progress->is_drawn) {
        (void)fputs("\r\033[K", stderr);
        (void)fflush(stderr);
        progress->is_drawn = false;
    }
}
