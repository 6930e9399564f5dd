#include "service/screen.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/units.h"
#include "console/frame.h"
#include "trace/text.h"

enum {
    BAR_CELLS = 10,
    MODELS_COLUMN = 63, /* Behind the memory they are in, on a wide terminal. */
    MODELS_INDENT = 5,  /* Below it, on a narrow one. */
    WIDE_COLUMNS = 140,
    SPACIOUS_ROWS = 24, /* With fewer, no line is left empty. */
    LATE_ROWS_MIN = 4,  /* Of what is left for events, if that many jobs were late. */
    JOB_NAME_BYTES = 48,
    DURATION_COLUMNS = 8, /* Half a number would be a wrong one. */
};

#define PICTURE_NS  INT64_C(150000000)
#define LINE_NS     NS_PER_S
#define BYTES_OF_MB 1e6
#define BYTES_OF_GB 1e9
#define MB_MAX      1e10 /* Above, memory is shown in GB. */

static double ms(int64_t ns)
{
    return (double)ns / 1e6;
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static double percent(uint64_t part, uint64_t all)
{
    return all == 0 ? 100 : 100 * (double)part / (double)all;
}

static void draw_gap(struct frame *frame)
{
    if (frame->rows >= SPACIOUS_ROWS) {
        frame_line(frame);
    }
}

static void draw_heading(struct frame *frame, const char *text)
{
    frame_style(frame, FRAME_BOLD);
    frame_put(frame, "%s", text);
}

/* Where to ask, and how: the first workflow that says what it takes. */
static void draw_invitation(const struct screen *screen, struct frame *frame)
{
    frame_put(frame, "   %s", screen->url);
    for (uint32_t i = 0; i < screen->catalogue->workflow_count; i++) {
        const struct workflow *workflow = screen->catalogue->workflows[i];
        if (workflow->task_count > 1 && workflow->input_count > 0) {
            frame_put(frame, "   weft infer %s %s=@FILE", workflow->name, workflow->inputs[0].name);
            return;
        }
    }
}

/* Two lines: what is served, then when and where. */
static void draw_title(const struct screen *screen, struct frame *frame)
{
    const struct runtime_counts counts = runtime_counts(screen->runtime);
    const int64_t now_s = runtime_now_ns(screen->runtime) / NS_PER_S;
    draw_heading(frame, screen->title);
    frame_line(frame);
    frame_put(
        frame, "%02" PRId64 ":%02" PRId64 "   %" PRIu64 " in the system", now_s / 60, now_s % 60,
        counts.requested - counts.answered);
    if (screen->is_draining) {
        frame_put(frame, "   no more come; Ctrl-C stops at once");
    } else if (screen->url != NULL) {
        draw_invitation(screen, frame);
    }
    frame_line(frame);
    draw_gap(frame);
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

static uint32_t models_column(const struct frame *frame)
{
    return frame->columns >= WIDE_COLUMNS ? MODELS_COLUMN : MODELS_INDENT;
}

/* The names of @models, in as many lines as they take. */
static void draw_set(
    const struct screen *screen, struct frame *frame, const struct model_set *models,
    enum frame_style style)
{
    const struct catalogue *catalogue = screen->catalogue;
    const uint32_t column = models_column(frame);
    for (uint32_t model = 0; model < catalogue->model_count; model++) {
        const char *name = catalogue->models[model];
        if (!model_set_has(models, model)) {
            continue;
        }
        if (frame->column + strlen(name) > frame->columns && frame->column > column) {
            frame_line(frame);
            frame_indent(frame, column);
        }
        frame_style(frame, style);
        frame_put(frame, "%s", name);
        frame_style(frame, FRAME_PLAIN);
        frame_put(frame, " ");
    }
}

/*
 * What is in the memory of a worker, and what is on its way there. Takes as many lines as it ever
 * took for any of them: what stands below should not jump.
 */
static void draw_models(
    struct screen *screen, struct frame *frame, const struct worker_counts *counts)
{
    if (models_column(frame) == MODELS_INDENT) {
        frame_line(frame);
    }
    const uint32_t first = frame->row;
    frame_indent(frame, models_column(frame));
    draw_set(screen, frame, &counts->resident, FRAME_PLAIN);
    draw_set(screen, frame, &counts->loading, FRAME_YELLOW);
    frame_line(frame);
    const uint32_t taken = frame->row - first;
    screen->model_lines = taken > screen->model_lines ? taken : screen->model_lines;
    for (uint32_t i = taken; i < screen->model_lines; i++) {
        frame_line(frame);
    }
}

static void draw_worker(struct screen *screen, struct frame *frame, uint32_t worker)
{
    const struct fleet_worker *spec = &screen->fleet->workers[worker];
    const struct watch_worker *watched = watch_worker(screen->watch, worker);
    const struct node *node = runtime_node(screen->runtime, spec->node);
    char running[NAME_BYTES_MAX + 16] = "-";
    frame_put(frame, "%4" PRIu32 " w%-5" PRIu32, spec->node, worker);
    if (node == NULL) {
        frame_put(frame, " lost");
        frame_line(frame);
        return;
    }
    const struct worker_counts counts = node_worker_counts(node, worker);
    if (counts.running > 0) {
        const char *model = screen->catalogue->models[watched->model];
        (void)snprintf(
            running, sizeof(running), counts.running == 1 ? "%.18s" : "%.14s x%" PRIu32, model,
            counts.running);
    }
    frame_put(frame, " %6" PRIu32 " %-18s ", counts.queued, running);
    draw_memory(frame, counts.memory_used_bytes, spec->memory_bytes);
    draw_models(screen, frame, &counts);
}

static void draw_workers(struct screen *screen, struct frame *frame)
{
    draw_heading(
        frame, "node worker queued running            memory                   resident, ");
    frame_style(frame, FRAME_YELLOW);
    frame_put(frame, "loading");
    frame_line(frame);
    for (uint32_t i = 0; i < screen->fleet->worker_count && frame_room(frame) > 0; i++) {
        draw_worker(screen, frame, i);
    }
    draw_gap(frame);
}

static void draw_workflow(
    struct frame *frame, const struct workflow *workflow, const struct watch_workflow *counts)
{
    frame_put(
        frame, "%-18.18s %8" PRIu64 " %7" PRIu64 " %7" PRIu64 " %9.0f %9.0f", workflow->name,
        counts->arrived, counts->done, counts->failed,
        ms(histogram_quantile(&counts->latency_ns, 0.5)),
        ms(histogram_quantile(&counts->latency_ns, 0.95)));
    if (workflow->slo_ns > 0) {
        frame_put(
            frame, " %8.0f %7.1f", ms(workflow->slo_ns),
            percent(counts->done - counts->late, counts->done));
    }
    frame_line(frame);
}

static void draw_workflows(const struct screen *screen, struct frame *frame)
{
    const struct catalogue *catalogue = screen->catalogue;
    draw_heading(
        frame, "workflow            arrived    done  failed    p50 ms    p95 ms   SLO ms   met %");
    frame_line(frame);
    for (uint32_t i = 0; i < catalogue->workflow_count && frame_room(frame) > 0; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        const struct watch_workflow *counts = watch_workflow(screen->watch, i);
        /* A model that no client asks for by itself would only take room. */
        if (workflow->task_count > 1 || counts->arrived > 0) {
            draw_workflow(frame, workflow, counts);
        }
    }
    draw_gap(frame);
}

/* A latency and what it is made of; the largest part stands out. */
static void draw_parts(struct frame *frame, int64_t total_ns, const int64_t *parts_ns, uint64_t of)
{
    uint32_t most = 0;
    for (uint32_t i = 1; i < LATENCY_PARTS; i++) {
        most = parts_ns[i] > parts_ns[most] ? i : most;
    }
    frame_put(frame, "%6.2f", seconds(total_ns) / (double)of);
    for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
        frame_style(frame, i == most ? FRAME_RED : FRAME_PLAIN);
        frame_put(
            frame, "%*.2f", (int)strlen(latency_part_names[i]) + 1,
            seconds(parts_ns[i]) / (double)of);
    }
    frame_style(frame, FRAME_PLAIN);
}

static void draw_job(const struct screen *screen, struct frame *frame, const struct watch_job *job)
{
    const struct workflow *workflow = screen->catalogue->workflows[job->workflow];
    const struct latency_parts *spent = &job->spent;
    char name[JOB_NAME_BYTES];
    (void)snprintf(
        name, sizeof(name), "%.9s %" PRIu32 ".%" PRIu32, workflow->name, job->id.node,
        job->id.number);
    frame_put(frame, "%6.1f %-14.14s", seconds(job->at_ns), name);
    if (job->reason != REASON_NONE) {
        frame_style(frame, FRAME_RED);
        frame_put(frame, "failed: %s", reason_name(job->reason));
    } else {
        draw_parts(frame, job->latency_ns, spent->ns, 1);
        frame_put(
            frame, "  %s on w%" PRIu32 " %s", workflow->tasks[spent->task].name, spent->worker,
            latency_part_names[spent->longest]);
        if (frame->column + DURATION_COLUMNS <= frame->columns) {
            frame_put(frame, " %.2f", seconds(spent->longest_ns));
        }
    }
    frame_line(frame);
}

/* Jobs that were late or failed: where the time of all of them went, then one by one. */
static void draw_late(const struct screen *screen, struct frame *frame, uint32_t row_count)
{
    struct watch_workflow total;
    int64_t late_ns = 0;
    watch_total(screen->watch, &total);
    draw_heading(frame, "at, s  late, in s      took queued loading running moving  longest");
    frame_line(frame);
    if (total.late == 0 && watch_job(screen->watch, 0) == NULL) {
        frame_put(frame, "       none");
        frame_line(frame);
        return;
    }
    if (total.late > 0) {
        for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
            late_ns += total.late_ns[i];
        }
        frame_put(frame, "       mean of %-6" PRIu64, total.late);
        draw_parts(frame, late_ns, total.late_ns, total.late);
        frame_line(frame);
    }
    for (uint32_t i = 0; i < row_count; i++) {
        const struct watch_job *job = watch_job(screen->watch, i);
        if (job == NULL || frame_room(frame) == 0) {
            return;
        }
        draw_job(screen, frame, job);
    }
}

static void draw_events(const struct screen *screen, struct frame *frame)
{
    draw_heading(frame, "at, s  models");
    frame_line(frame);
    for (uint32_t i = 0; i < WATCH_EVENTS && frame_room(frame) > 0; i++) {
        const struct watch_event *event = watch_event(screen->watch, i);
        if (event == NULL) {
            return;
        }
        frame_put(frame, "%6.1f %s", seconds(event->at_ns), event->text);
        frame_line(frame);
    }
}

/* Late jobs have half of the room that is left, and more if there is not much. */
static void draw_news(const struct screen *screen, struct frame *frame)
{
    const uint32_t room = frame_room(frame);
    const uint32_t half = room / 2 > LATE_ROWS_MIN ? room / 2 - 2 : LATE_ROWS_MIN;
    draw_late(screen, frame, half < WATCH_EVENTS ? half : WATCH_EVENTS);
    if (frame_room(frame) > 2) {
        draw_gap(frame);
        draw_events(screen, frame);
    }
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
        screen->model_lines = 0;
    }
    draw_title(screen, &frame);
    draw_workers(screen, &frame);
    draw_workflows(screen, &frame);
    draw_news(screen, &frame);
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
    const uint64_t counts[] = {total.arrived, total.done, total.late,
                               total.failed,  queued,     running};
    if (screen->is_begun && memcmp(counts, screen->shown, sizeof(counts)) == 0) {
        return; /* Lines that repeat the last one are left out. */
    }
    screen->is_begun = true;
    memcpy(screen->shown, counts, sizeof(counts));
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
