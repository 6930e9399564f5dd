/* screen_history.c - the last minutes on the screen: a cell per second, the newest at the right. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "service/history.h"
#include "service/screen_parts.h"

enum { LABEL_COLUMNS = 30, LEVELS = 8 };

/* How high a cell is, from nearly nothing to full. */
static const char *const blocks[LEVELS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const letters[LEVELS] = {".", ":", "-", "=", "+", "*", "%", "#"};

struct line {
    enum history_line line;
    const char *name;
    int decimals;
    bool is_bad; /* Whatever is above nothing. */
};

/* In the order of importance: a small screen shows the first few. */
static const struct line lines[] = {
    {HISTORY_ASKED, "asked per s", 0, false},       {HISTORY_P99_S, "p99 of 10 s, s", 2, false},
    {HISTORY_OPEN, "in the system", 0, false},      {HISTORY_REFUSED, "refused per s", 0, true},
    {HISTORY_ANSWERED, "answered per s", 0, false}, {HISTORY_P50_S, "p50 of 10 s, s", 2, false},
};

/* How many seconds fit into a line from @column on. */
static uint32_t cells_from(const struct screen *screen, const struct frame *frame, uint32_t column)
{
    const uint32_t kept = history_count(watch_history(screen->watch));
    const uint32_t room = frame->columns > column ? frame->columns - column : 0;
    return room < kept ? room : kept;
}

static void put_number(struct frame *frame, double value, int decimals)
{
    if (isnan(value)) {
        frame_put(frame, "%7s", "-");
    } else {
        frame_put(frame, "%7.*f", decimals, value);
    }
}

static const char *cell_of(const struct screen *screen, double value, double most)
{
    const char *const *levels = screen->is_ascii ? letters : blocks;
    if (isnan(value) || value <= 0) {
        return " ";
    }
    const int level = (int)(value / most * LEVELS);
    return levels[level < LEVELS ? level : LEVELS - 1];
}

static void draw_line(const struct screen *screen, struct frame *frame, const struct line *line)
{
    const struct history *history = watch_history(screen->watch);
    const uint32_t count = cells_from(screen, frame, LABEL_COLUMNS);
    double most = 0;
    for (uint32_t i = 0; i < count; i++) {
        most = fmax(most, history_figure(history, line->line, i)); /* Not what is NAN. */
    }
    frame_put(frame, "%-15s", line->name);
    put_number(
        frame, count == 0 ? (double)NAN : history_figure(history, line->line, 0), line->decimals);
    put_number(frame, most, line->decimals);
    frame_put(frame, " ");
    for (uint32_t i = count; i > 0; i--) {
        const double value = history_figure(history, line->line, i - 1);
        frame_style(frame, line->is_bad && value > 0 ? FRAME_YELLOW : FRAME_PLAIN);
        frame_put(frame, "%s", cell_of(screen, value, most));
    }
    frame_line(frame);
}

void screen_history(const struct screen *screen, struct frame *frame, uint32_t row_count)
{
    if (row_count < 2) {
        return;
    }
    screen_heading(frame, "over time          now   most");
    frame_line(frame);
    for (uint32_t i = 0; i < ARRAY_COUNT(lines) && i + 1 < row_count; i++) {
        draw_line(screen, frame, &lines[i]);
    }
    screen_gap(frame);
}

/* Each workflow's own letter: the first of its name that no earlier one has. */
static char letter_of(const struct screen *screen, uint32_t workflow)
{
    const struct catalogue *catalogue = screen->catalogue;
    bool is_taken[UINT8_MAX + 1] = {false};
    for (uint32_t i = 0;; i++) {
        const char *c = catalogue->workflows[i]->name;
        while (*c != '\0' && (is_taken[(uint8_t)*c] || !isalnum((unsigned char)*c))) {
            c++;
        }
        if (i == workflow) {
            return (char)(*c == '\0' ? '?' : *c);
        }
        is_taken[(uint8_t)*c] = true;
    }
}

static uint32_t work_of(const struct screen *screen, uint32_t worker)
{
    const struct node *node = runtime_node(screen->runtime, screen->fleet->workers[worker].node);
    if (node == NULL || screen->fleet->workers[worker].is_absent) {
        return HISTORY_IDLE;
    }
    const struct worker_counts counts = node_worker_counts(node, worker);
    if (counts.running > 0) {
        return HISTORY_RUNS + watch_worker(screen->watch, worker)->workflow;
    }
    return model_set_is_empty(&counts.loading) ? HISTORY_IDLE : HISTORY_LOADS;
}

void screen_look(const struct screen *screen)
{
    const struct runtime_counts counts = runtime_counts(screen->runtime);
    struct history *history = watch_history(screen->watch);
    history_pass(
        history, runtime_now_ns(screen->runtime), (uint32_t)(counts.requested - counts.answered));
    for (uint32_t i = 0; i < screen->fleet->worker_count; i++) {
        history_see(history, i, work_of(screen, i));
    }
}

void screen_worker_cells(const struct screen *screen, struct frame *frame, uint32_t worker)
{
    const uint32_t count = cells_from(screen, frame, frame->column);
    for (uint32_t i = count; i > 0; i--) {
        const uint32_t work = history_work(watch_history(screen->watch), worker, i - 1);
        if (work == HISTORY_IDLE) {
            frame_put(frame, ".");
        } else if (work == HISTORY_LOADS) {
            frame_style(frame, FRAME_YELLOW);
            frame_put(frame, "+");
            frame_style(frame, FRAME_PLAIN);
        } else {
            frame_put(frame, "%c", letter_of(screen, work - HISTORY_RUNS));
        }
    }
}

void screen_legend(const struct screen *screen, struct frame *frame)
{
    for (uint32_t i = 0; i < screen->catalogue->workflow_count; i++) {
        const struct workflow *workflow = screen->catalogue->workflows[i];
        if (workflow->task_count > 1 || watch_workflow(screen->watch, i)->arrived > 0) {
            frame_put(frame, " %c %s,", letter_of(screen, i), workflow->name);
        }
    }
    frame_put(frame, " + loading, . idle");
}
