#include "service/screen.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/units.h"
#include "service/history.h"
#include "service/screen_parts.h"
#include "trace/text.h"

enum {
    BAR_CELLS = 6,
    MODELS_INDENT = 9, /* Below the worker they are on. */
    RUNNING_COLUMNS = 18,
    RUNNING_COLUMNS_WIDE = 28,
    WIDE_COLUMNS = 120,
    SMALL_ROWS = 20,   /* With fewer, models and history are left out. */
    BUSY_SECONDS = 10, /* That the use of a worker is a mean of. */
    NEWS_ROWS_MIN = 5, /* Kept for late jobs. */
    HISTORY_ROWS_MIN = 4,
    HISTORY_ROWS_MAX = 7,
};

#define PICTURE_NS  (150 * NS_PER_MS)
#define LINE_NS     NS_PER_S
#define BYTES_OF_MB 1e6
#define BYTES_OF_GB 1e9
#define MB_MAX      1e10 /* Above, memory is shown in GB. */
#define MET_GOOD    0.9  /* Of what was admitted: with less, something is wrong. */

static double ms(int64_t ns)
{
    return (double)ns / 1e6;
}

void screen_gap(struct frame *frame)
{
    if (frame->rows >= SCREEN_SPACIOUS_ROWS) {
        frame_line(frame);
    }
}

void screen_heading(struct frame *frame, const char *text)
{
    frame_style(frame, FRAME_BOLD);
    frame_put(frame, "%s", text);
}

/* What is served; when, how much and where. */
static void draw_title(const struct screen *screen, struct frame *frame)
{
    const struct runtime_counts counts = runtime_counts(screen->runtime);
    const int64_t now_s = runtime_now_ns(screen->runtime) / NS_PER_S;
    screen_heading(frame, screen->title);
    frame_line(frame);
    frame_put(
        frame, "%02" PRId64 ":%02" PRId64 "   %" PRIu64 " in the system", now_s / 60, now_s % 60,
        counts.requested - counts.answered);
    if (screen->is_draining) {
        frame_put(frame, "   no more come; Ctrl-C stops at once");
    } else if (screen->asking != NULL) {
        frame_put(frame, "   %s", screen->asking);
    }
    frame_line(frame);
    /* Half a command would not work. */
    if (screen->hint != NULL && strlen(screen->hint) + strlen("try: ") <= frame->columns) {
        frame_put(frame, "try: %s", screen->hint);
        frame_line(frame);
    } else if (screen->url != NULL) {
        frame_put(frame, "%s", screen->url);
        frame_line(frame);
    }
    screen_gap(frame);
}

static void draw_memory(struct frame *frame, uint64_t used, uint64_t all)
{
    char bar[BAR_CELLS + 1];
    const double part = all == 0 ? 0 : (double)used / (double)all;
    const bool is_large = (double)all >= MB_MAX;
    const double unit = is_large ? BYTES_OF_GB : BYTES_OF_MB;
    for (int i = 0; i < BAR_CELLS; i++) {
        bar[i] = i < (int)(part * BAR_CELLS + 0.5) ? '#' : '.';
    }
    bar[BAR_CELLS] = '\0';
    frame_put(
        frame, "[%s] %3.*f/%.*f %s", bar, is_large ? 1 : 0, (double)used / unit, is_large ? 1 : 0,
        (double)all / unit, is_large ? "GB" : "MB");
}

static void draw_set(
    const struct screen *screen, struct frame *frame, const struct model_set *models,
    enum frame_style style)
{
    const struct catalogue *catalogue = screen->catalogue;
    for (uint32_t model = 0; model < catalogue->model_count; model++) {
        if (model_set_has(models, model)) {
            frame_style(frame, style);
            frame_put(frame, " %s", catalogue->models[model]);
            frame_style(frame, FRAME_PLAIN);
        }
    }
}

/* What is on its way into the memory of a worker, and what is there. */
static void draw_models(
    const struct screen *screen, struct frame *frame, const struct worker_counts *counts)
{
    frame_indent(frame, MODELS_INDENT);
    draw_set(screen, frame, &counts->loading, FRAME_YELLOW);
    draw_set(screen, frame, &counts->resident, FRAME_PLAIN);
    frame_line(frame);
}

static int running_columns(const struct frame *frame)
{
    return frame->columns >= WIDE_COLUMNS ? RUNNING_COLUMNS_WIDE : RUNNING_COLUMNS;
}

/* What @worker runs, and how many at once, in @room columns. */
static void say_running(
    const struct screen *screen, uint32_t worker, uint32_t count, int room, char *out)
{
    char times[16] = "";
    const char *model = screen->catalogue->models[watch_worker(screen->watch, worker)->model];
    if (count > 1) {
        (void)snprintf(times, sizeof(times), " x%" PRIu32, count);
    }
    (void)snprintf(
        out, (size_t)room + 1, "%.*s%s", room - (int)strlen(times), count == 0 ? "-" : model,
        times);
}

static void draw_worker(const struct screen *screen, struct frame *frame, uint32_t worker)
{
    const struct fleet_worker *spec = &screen->fleet->workers[worker];
    const struct node *node = runtime_node(screen->runtime, spec->node);
    const int room = running_columns(frame);
    char running[RUNNING_COLUMNS_WIDE + 1];
    frame_put(frame, "%4" PRIu32 " w%-4" PRIu32, spec->node, worker);
    if (node == NULL) {
        frame_style(frame, FRAME_RED);
        frame_put(frame, " lost");
        frame_line(frame);
        return;
    }
    const struct worker_counts counts = node_worker_counts(node, worker);
    const double busy = history_busy(watch_history(screen->watch), worker, BUSY_SECONDS);
    say_running(screen, worker, counts.running, room, running);
    frame_put(frame, " %6" PRIu32 " %3.0f %%  %-*s ", counts.queued, 100 * busy, room, running);
    draw_memory(frame, counts.memory_used_bytes, spec->memory_bytes);
    frame_put(frame, "  ");
    if (frame->column + SCREEN_CELLS_MIN <= frame->columns) {
        screen_worker_cells(screen, frame, worker);
    }
    frame_line(frame);
    if (frame->rows >= SMALL_ROWS) {
        draw_models(screen, frame, &counts);
    }
}

static void draw_workers(const struct screen *screen, struct frame *frame)
{
    char heading[128];
    (void)snprintf(
        heading, sizeof(heading), "node worker queued  busy  %-*s memory             over time",
        running_columns(frame), "running");
    screen_heading(frame, heading);
    frame_line(frame);
    for (uint32_t i = 0; i < screen->fleet->worker_count && frame_room(frame) > 0; i++) {
        if (runtime_has_worker(screen->runtime, i)) {
            draw_worker(screen, frame, i);
        }
    }
    if (frame->rows >= SCREEN_SPACIOUS_ROWS) {
        frame_indent(frame, MODELS_INDENT);
        frame_style(frame, FRAME_DIM);
        screen_legend(screen, frame);
        frame_line(frame);
    }
    screen_gap(frame);
}

/* A figure of a workflow, as text, and whether it is bad. */
struct figure {
    char text[24];
    enum frame_style style;
};

struct workflow_row {
    const struct workflow *workflow;
    const struct watch_workflow *counts;
};

/* Answered within the SLO, of all that were admitted and have ended. NAN: of none. */
static double met_part(const struct workflow_row *row)
{
    const struct watch_workflow *counts = row->counts;
    const uint64_t ended = counts->done + counts->given_up;
    return ended == 0 || row->workflow->slo_ns == 0
               ? (double)NAN
               : (double)(counts->done - counts->late) / (double)ended;
}

static void put_count(struct figure *figure, uint64_t count, enum frame_style style)
{
    (void)snprintf(figure->text, sizeof(figure->text), "%" PRIu64, count);
    figure->style = count > 0 ? style : FRAME_PLAIN;
}

/* A number that may not be known. */
static void put_number(struct figure *figure, double number, int decimals)
{
    if (isnan(number)) {
        (void)snprintf(figure->text, sizeof(figure->text), "-");
    } else {
        (void)snprintf(figure->text, sizeof(figure->text), "%.*f", decimals, number);
    }
}

static double quantile_ms(const struct workflow_row *row, double q)
{
    return row->counts->done == 0 ? (double)NAN
                                  : ms(histogram_quantile(&row->counts->latency_ns, q));
}

static void fill_asked(const struct workflow_row *row, struct figure *figure)
{
    put_count(figure, row->counts->arrived, FRAME_PLAIN);
}

static void fill_refused(const struct workflow_row *row, struct figure *figure)
{
    put_count(figure, row->counts->refused, FRAME_YELLOW);
}

static void fill_done(const struct workflow_row *row, struct figure *figure)
{
    put_count(figure, row->counts->done, FRAME_PLAIN);
}

static void fill_late(const struct workflow_row *row, struct figure *figure)
{
    put_count(figure, row->counts->late + row->counts->given_up, FRAME_RED);
}

static void fill_left(const struct workflow_row *row, struct figure *figure)
{
    put_count(figure, row->counts->left, FRAME_YELLOW);
}

static void fill_failed(const struct workflow_row *row, struct figure *figure)
{
    put_count(figure, row->counts->failed, FRAME_RED);
}

static void fill_p50(const struct workflow_row *row, struct figure *figure)
{
    put_number(figure, quantile_ms(row, 0.5), 0);
}

static void fill_p95(const struct workflow_row *row, struct figure *figure)
{
    const double p95_ms = quantile_ms(row, 0.95);
    const int64_t slo_ns = row->workflow->slo_ns;
    put_number(figure, p95_ms, 0);
    figure->style = slo_ns > 0 && p95_ms > ms(slo_ns) ? FRAME_RED : FRAME_PLAIN;
}

static void fill_slo(const struct workflow_row *row, struct figure *figure)
{
    const int64_t slo_ns = row->workflow->slo_ns;
    put_number(figure, slo_ns == 0 ? (double)NAN : ms(slo_ns), 0);
}

static void fill_met(const struct workflow_row *row, struct figure *figure)
{
    const double part = met_part(row);
    put_number(figure, 100 * part, 1);
    figure->style = part < MET_GOOD ? FRAME_RED : FRAME_PLAIN;
}

/* A column of the table of workflows. */
struct column {
    const char *name;
    uint32_t width;
    uint32_t rank; /* The highest falls away first where the terminal is narrow. */
    void (*fill)(const struct workflow_row *row, struct figure *figure);
};

static const struct column figures[] = {
    {"asked", 7, 1, fill_asked}, {"refused", 8, 2, fill_refused}, {"done", 7, 4, fill_done},
    {"late", 6, 3, fill_late},   {"left", 6, 8, fill_left},       {"failed", 7, 5, fill_failed},
    {"p50 ms", 8, 7, fill_p50},  {"p95 ms", 8, 4, fill_p95},      {"SLO ms", 8, 6, fill_slo},
    {"met %", 7, 0, fill_met},
};

enum { COLUMN_COUNT = ARRAY_COUNT(figures), WORKFLOW_COLUMNS = 12 };

/* Up to which rank columns have room. */
static uint32_t rank_max(const struct frame *frame)
{
    uint32_t rank = COLUMN_COUNT;
    for (;; rank--) {
        uint32_t width = WORKFLOW_COLUMNS + 2; /* The sign that some are missing. */
        for (uint32_t i = 0; i < COLUMN_COUNT; i++) {
            width += figures[i].rank <= rank ? figures[i].width : 0;
        }
        if (width <= frame->columns || rank == 0) {
            return rank;
        }
    }
}

static void draw_workflow(struct frame *frame, const struct workflow_row *row, uint32_t rank)
{
    frame_put(frame, "%-*.*s", WORKFLOW_COLUMNS, WORKFLOW_COLUMNS, row->workflow->name);
    for (uint32_t i = 0; i < COLUMN_COUNT; i++) {
        struct figure figure = {.style = FRAME_PLAIN};
        if (figures[i].rank <= rank) {
            figures[i].fill(row, &figure);
            frame_style(frame, figure.style);
            frame_put(frame, "%*s", (int)figures[i].width, figure.text);
            frame_style(frame, FRAME_PLAIN);
        }
    }
    frame_line(frame);
}

static void draw_workflows(const struct screen *screen, struct frame *frame)
{
    const struct catalogue *catalogue = screen->catalogue;
    const uint32_t rank = rank_max(frame);
    bool is_whole = true;
    frame_style(frame, FRAME_BOLD);
    frame_put(frame, "%-*s", WORKFLOW_COLUMNS, "workflow");
    for (uint32_t i = 0; i < COLUMN_COUNT; i++) {
        if (figures[i].rank <= rank) {
            frame_put(frame, "%*s", (int)figures[i].width, figures[i].name);
        }
        is_whole = is_whole && figures[i].rank <= rank;
    }
    frame_put(frame, "%s", is_whole ? "" : screen->is_ascii ? " >" : " …");
    frame_line(frame);
    for (uint32_t i = 0; i < catalogue->workflow_count && frame_room(frame) > 0; i++) {
        const struct workflow_row row = {
            .workflow = catalogue->workflows[i], .counts = watch_workflow(screen->watch, i)};
        /* A model that no client asks for by itself would only take room. */
        if (row.workflow->task_count > 1 || row.counts->arrived > 0) {
            draw_workflow(frame, &row, rank);
        }
    }
    screen_gap(frame);
}

/* How many lines the history has: what is left beside a few for news. */
static uint32_t history_rows(const struct frame *frame)
{
    const uint32_t room = frame_room(frame);
    if (frame->rows < SMALL_ROWS || room < NEWS_ROWS_MIN + HISTORY_ROWS_MIN) {
        return 0;
    }
    const uint32_t rows = room - NEWS_ROWS_MIN;
    return rows < HISTORY_ROWS_MAX ? rows : HISTORY_ROWS_MAX;
}

static void show_picture(struct screen *screen)
{
    struct frame frame;
    const uint32_t columns = screen->columns;
    const uint32_t rows = screen->rows;
    frame_begin(&frame, screen->file, screen->is_coloured, !screen->is_begun);
    screen->is_begun = true;
    screen->columns = frame.columns;
    screen->rows = frame.rows;
    if (columns > 0 && (columns != frame.columns || rows != frame.rows)) {
        /* What a terminal makes of old lines that are too long for it differs. */
        frame_begin(&frame, screen->file, screen->is_coloured, /* clears */ true);
    }
    frame.is_ascii = screen->is_ascii;
    screen_look(screen);
    draw_title(screen, &frame);
    draw_workers(screen, &frame);
    draw_workflows(screen, &frame);
    screen_history(screen, &frame, history_rows(&frame));
    screen_news(screen, &frame);
    frame_end(&frame, screen->file);
}

static void show_line(struct screen *screen)
{
    struct watch_workflow total;
    uint32_t queued = 0;
    uint32_t running = 0;
    watch_total(screen->watch, &total);
    for (uint32_t i = 0; i < screen->fleet->node_count; i++) {
        const struct node *node = runtime_node(screen->runtime, i);
        if (node != NULL) {
            const struct node_counts counts = node_counts(node);
            queued += counts.queued;
            running += counts.running;
        }
    }
    const uint64_t late = total.late + total.given_up;
    const uint64_t failed = total.failed + total.left;
    const uint64_t counts[] = {total.arrived, total.refused, total.done, late,
                               failed,        queued,        running};
    if (screen->is_begun && memcmp(counts, screen->shown, sizeof(counts)) == 0) {
        return; /* Lines that repeat the last one are left out. */
    }
    screen->is_begun = true;
    memcpy(screen->shown, counts, sizeof(counts));
    (void)fprintf(
        screen->file,
        "%7.1f s  %" PRIu64 " arrived, %" PRIu64 " refused, %" PRIu64 " done, %" PRIu64
        " late, %" PRIu64 " failed; %" PRIu32 " tasks queued, %" PRIu32 " running",
        (double)runtime_now_ns(screen->runtime) / 1e9, total.arrived, total.refused, total.done,
        late, failed, queued, running);
    if (total.done > 0) {
        (void)fprintf(
            screen->file, "; p50 %.1f ms, p95 %.1f ms",
            ms(histogram_quantile(&total.latency_ns, 0.5)),
            ms(histogram_quantile(&total.latency_ns, 0.95)));
    }
    (void)fputc('\n', screen->file);
    (void)fflush(screen->file);
}

int64_t screen_interval_ns(const struct screen *screen)
{
    return screen->is_drawn ? PICTURE_NS : LINE_NS;
}

void screen_show(struct screen *screen)
{
    if (screen->is_drawn) {
        show_picture(screen);
    } else {
        show_line(screen);
    }
}

void screen_end(struct screen *screen)
{
    if (!screen->is_drawn || !screen->is_begun) {
        return;
    }
    show_picture(screen);
    (void)fputs("\033[?25h\n", screen->file);
    (void)fflush(screen->file);
}
