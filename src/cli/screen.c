#include "cli/screen.h"

#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/text.h"

enum {
    FRAME_BYTES = 64 * 1024,
    BAR_CELLS = 20,
    MODELS_COLUMN = 7,
    COLUMNS_DEFAULT = 100,
    ROWS_DEFAULT = 40
};

#define PICTURE_NS INT64_C(150000000)
#define LINE_NS    INT64_C(1000000000)

#define BOLD   "\033[1m"
#define YELLOW "\033[33m"
#define RED    "\033[31m"
#define PLAIN  "\033[0m"

/* Text that is cut at the edge of the terminal; colours take no room. */
struct frame {
    struct text text;
    uint32_t columns;
    uint32_t rows;
    uint32_t row;
    uint32_t column;
};

static double ms(int64_t ns)
{
    return (double)ns / 1e6;
}

static double percent(uint64_t part, uint64_t all)
{
    return all == 0 ? 100 : 100 * (double)part / (double)all;
}

/* As much of @piece as fits into the line. */
static void put(struct frame *frame, const char *piece)
{
    for (const char *c = piece; *c != '\0' && frame->column < frame->columns; c++) {
        text_add(&frame->text, "%c", *c);
        frame->column += ((unsigned char)*c & 0xc0U) == 0x80U ? 0 : 1;
    }
}

static void put_room(struct frame *frame)
{
    while (frame->column < MODELS_COLUMN && frame->column < frame->columns) {
        put(frame, " ");
    }
}

static void colour(struct frame *frame, const char *escape)
{
    text_add(&frame->text, "%s", escape);
}

/* End the line. Rows past the last of the terminal are not drawn: they would scroll it. */
static bool end_line(struct frame *frame)
{
    text_add(&frame->text, "%s\033[K\n", PLAIN);
    frame->row++;
    frame->column = 0;
    return frame->row + 1 < frame->rows;
}

static void frame_size(struct frame *frame, FILE *file)
{
    struct winsize size;
    frame->columns = COLUMNS_DEFAULT;
    frame->rows = ROWS_DEFAULT;
    if (ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 1) {
        frame->columns = size.ws_col;
        frame->rows = size.ws_row;
    }
}

/* Two lines: what is served, then when and where. */
static bool draw_title(const struct screen *screen, struct frame *frame)
{
    char piece[256];
    const struct runtime_counts counts = runtime_counts(screen->runtime);
    const int64_t seconds = runtime_now_ns(screen->runtime) / 1000000000;
    colour(frame, BOLD);
    put(frame, screen->title);
    (void)end_line(frame);
    (void)snprintf(
        piece, sizeof(piece), "%02" PRId64 ":%02" PRId64 "   %" PRIu64 " in the system",
        seconds / 60, seconds % 60, counts.requested - counts.answered);
    put(frame, piece);
    if (screen->is_draining) {
        put(frame, "   draining: Ctrl-C again stops at once");
    } else if (screen->url != NULL) {
        put(frame, "   ask it: weft infer ... --url ");
        put(frame, screen->url);
    }
    return end_line(frame);
}

static void draw_bar(struct frame *frame, uint64_t used, uint64_t all)
{
    char piece[64];
    char bar[BAR_CELLS + 1];
    const double part = all == 0 ? 0 : (double)used / (double)all;
    for (int i = 0; i < BAR_CELLS; i++) {
        bar[i] = i < (int)(part * BAR_CELLS + 0.5) ? '#' : '.';
    }
    bar[BAR_CELLS] = '\0';
    (void)snprintf(piece, sizeof(piece), "[%s] %3.0f %%  ", bar, 100 * part);
    put(frame, piece);
}

/* How wide the names of @models are together. */
static size_t models_width(const struct screen *screen, const struct model_set *models)
{
    size_t width = 0;
    for (uint32_t model = 0; model < screen->catalogue->model_count; model++) {
        width += model_set_has(models, model) ? strlen(screen->catalogue->models[model]) + 1 : 0;
    }
    return width;
}

/* The names of @models, in as many lines as they take. */
static bool draw_models(
    const struct screen *screen, struct frame *frame, const struct model_set *models,
    const char *escape)
{
    const struct catalogue *catalogue = screen->catalogue;
    bool fits = true;
    for (uint32_t model = 0; model < catalogue->model_count && fits; model++) {
        const char *name = catalogue->models[model];
        if (!model_set_has(models, model)) {
            continue;
        }
        if (frame->column + strlen(name) > frame->columns && frame->column > MODELS_COLUMN) {
            fits = end_line(frame);
            put_room(frame);
        }
        colour(frame, escape);
        put(frame, name);
        colour(frame, PLAIN);
        put(frame, " ");
    }
    return fits;
}

static bool draw_worker(const struct screen *screen, struct frame *frame, uint32_t worker)
{
    const struct fleet_worker *spec = &screen->fleet->workers[worker];
    const struct watch_worker *watched = watch_worker(screen->watch, worker);
    const struct node *node = runtime_node(screen->runtime, spec->node);
    char piece[128];
    if (node == NULL) {
        (void)snprintf(piece, sizeof(piece), "w%-5" PRIu32 " lost", worker);
        put(frame, piece);
        return end_line(frame);
    }
    const struct worker_counts counts = node_worker_counts(node, worker);
    (void)snprintf(
        piece, sizeof(piece), "w%-5" PRIu32 " %5" PRIu32 "  %-18.18s ", worker, counts.queued,
        counts.running == 0 ? "-" : screen->catalogue->models[watched->model]);
    put(frame, piece);
    draw_bar(frame, counts.memory_used_bytes, spec->memory_bytes);
    const size_t width =
        models_width(screen, &counts.resident) + models_width(screen, &counts.loading);
    if (width > 0 && frame->column + width > frame->columns + 1) {
        if (!end_line(frame)) {
            return false;
        }
        put_room(frame);
    }
    return draw_models(screen, frame, &counts.resident, PLAIN) &&
           draw_models(screen, frame, &counts.loading, YELLOW) && end_line(frame);
}

static bool draw_workers(const struct screen *screen, struct frame *frame)
{
    (void)end_line(frame);
    colour(frame, BOLD);
    put(frame, "worker queue  running            memory                       resident, ");
    colour(frame, YELLOW);
    put(frame, "loading");
    bool fits = end_line(frame);
    for (uint32_t i = 0; i < screen->fleet->worker_count && fits; i++) {
        fits = draw_worker(screen, frame, i);
    }
    return fits && end_line(frame);
}

static bool draw_workflow(
    struct frame *frame, const char *name, const struct watch_workflow *counts, int64_t slo_ns)
{
    char piece[256];
    char met[32] = "-";
    if (slo_ns > 0 && counts->done > 0) {
        (void)snprintf(
            met, sizeof(met), "%.1f %%", percent(counts->done - counts->late, counts->done));
    }
    (void)snprintf(
        piece, sizeof(piece), "%-18.18s %8" PRIu64 " %8" PRIu64 " %7" PRIu64 " %9.1f %9.1f %9s",
        name, counts->arrived, counts->done, counts->failed,
        ms(histogram_quantile(&counts->latency_ns, 0.5)),
        ms(histogram_quantile(&counts->latency_ns, 0.95)), met);
    put(frame, piece);
    return end_line(frame);
}

static bool draw_workflows(const struct screen *screen, struct frame *frame)
{
    const struct catalogue *catalogue = screen->catalogue;
    colour(frame, BOLD);
    put(frame, "workflow            arrived     done  failed    p50 ms    p95 ms   SLO met");
    bool fits = end_line(frame);
    for (uint32_t i = 0; i < catalogue->workflow_count && fits; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        const struct watch_workflow *counts = watch_workflow(screen->watch, i);
        /* A model that nobody asks for by itself would only take room. */
        if (workflow->task_count > 1 || counts->arrived > 0) {
            fits = draw_workflow(frame, workflow->name, counts, workflow->slo_ns);
        }
    }
    return fits && end_line(frame);
}

static bool draw_events(
    const struct screen *screen, struct frame *frame, bool is_bad, uint32_t count)
{
    bool fits = true;
    for (uint32_t i = 0; i < count && fits; i++) {
        const struct watch_event *event = watch_event(screen->watch, is_bad, i);
        if (event == NULL) {
            break;
        }
        char at[32];
        (void)snprintf(at, sizeof(at), "%6.1f s  ", (double)event->at_ns / 1e9);
        put(frame, at);
        colour(frame, is_bad ? RED : PLAIN);
        put(frame, event->text);
        fits = end_line(frame);
    }
    return fits;
}

/* Why jobs were late has half of the room that is left, if that many were. */
static void draw_all_events(const struct screen *screen, struct frame *frame)
{
    const uint32_t room = frame->rows - 1 - frame->row;
    const uint32_t half = room < 2 * WATCH_EVENTS ? (room + 1) / 2 : WATCH_EVENTS;
    if (draw_events(screen, frame, /* is_bad */ true, half)) {
        (void)draw_events(screen, frame, /* is_bad */ false, WATCH_EVENTS);
    }
}

static void show_picture(struct screen *screen)
{
    char bytes[FRAME_BYTES];
    struct frame frame = {.row = 0};
    text_init(&frame.text, bytes, sizeof(bytes));
    frame_size(&frame, screen->file);
    text_add(&frame.text, "%s", screen->is_begun ? "\033[H" : "\033[?25l\033[2J\033[H");
    screen->is_begun = true;
    if (draw_title(screen, &frame) && draw_workers(screen, &frame) &&
        draw_workflows(screen, &frame)) {
        draw_all_events(screen, &frame);
    }
    text_add(&frame.text, "\033[J");
    (void)fwrite(bytes, 1, frame.text.length, screen->file); /* The next one is soon there. */
    (void)fflush(screen->file);
}

static void show_line(const struct screen *screen)
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
    (void)fprintf(
        screen->file,
        "%7.1f s  %" PRIu64 " arrived, %" PRIu64 " done, %" PRIu64 " late, %" PRIu64
        " failed; %" PRIu32 " tasks queued, %" PRIu32 " running; p50 %.1f ms, p95 %.1f ms\n",
        (double)runtime_now_ns(screen->runtime) / 1e9, total.arrived, total.done, total.late,
        total.failed, queued, running, ms(histogram_quantile(&total.latency_ns, 0.5)),
        ms(histogram_quantile(&total.latency_ns, 0.95)));
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
