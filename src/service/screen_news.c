/* screen_news.c - the lower part of the screen: jobs that were late or failed, and models. */
#include <inttypes.h>
#include <string.h>

#include "service/screen_parts.h"
#include "trace/text.h"

enum {
    LATE_ROWS_MIN = 4,  /* Of what is left, if that many jobs were late. */
    SIDE_COLUMNS = 160, /* From here on, models have a column of their own. */
    SIDE_COLUMN = 92,
    NAME_COLUMNS = 12,
    WHY_BYTES = 256,
    TASK_COLUMNS = 8, /* Half a name says little, half a number is wrong. */
};

/* A latency and what it is made of; the largest part stands out. */
static void draw_parts(struct frame *frame, int64_t total_ns, const int64_t *parts_ns, uint64_t of)
{
    uint32_t most = 0;
    for (uint32_t i = 1; i < LATENCY_PARTS; i++) {
        most = parts_ns[i] > parts_ns[most] ? i : most;
    }
    frame_put(frame, "%7.2f", screen_seconds(total_ns) / (double)of);
    for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
        frame_style(frame, i == most ? FRAME_BOLD : FRAME_PLAIN);
        frame_put(
            frame, "%*.2f", (int)strlen(latency_part_names[i]) + 1,
            screen_seconds(parts_ns[i]) / (double)of);
    }
    frame_style(frame, FRAME_PLAIN);
}

/* The longest wait or run of a job: how long, which task, where. */
static void draw_longest(struct frame *frame, const struct watch_job *job, const char *task)
{
    frame_put(frame, "%7.2f", screen_seconds(job->spent.longest_ns));
    if (frame->column + TASK_COLUMNS <= frame->columns) {
        const int room = (int)(frame->columns - frame->column) - 5; /* For " w10 ". */
        frame_put(frame, " %.*s w%" PRIu32, room, task, job->spent.worker);
    }
}

static void draw_job(const struct screen *screen, struct frame *frame, const struct watch_job *job)
{
    const struct workflow *workflow = screen->catalogue->workflows[job->workflow];
    frame_put(
        frame, "%6.1f %-*.*s", screen_seconds(job->at_ns), NAME_COLUMNS, NAME_COLUMNS,
        workflow->name);
    frame_style(frame, FRAME_RED);
    if (job->reason == REASON_LATE) {
        frame_put(frame, "  given up after %.2f s", screen_seconds(job->latency_ns));
    } else if (job->reason != REASON_NONE) {
        frame_put(frame, "  failed: %s", reason_name(job->reason));
    } else {
        frame_put(frame, "%8.2f", screen_seconds(job->late_ns));
        frame_style(frame, FRAME_PLAIN);
        draw_parts(frame, job->latency_ns, job->spent.ns, 1);
        draw_longest(frame, job, workflow->tasks[job->spent.task].name);
    }
    frame_style(frame, FRAME_PLAIN);
}

static void draw_late_heading(struct frame *frame)
{
    screen_heading(
        frame, "at, s  workflow     late by    took queued loading running moving  longest, s");
}

/* Where the time of all late jobs went. False if there were none. */
static bool draw_late_mean(const struct screen *screen, struct frame *frame)
{
    struct watch_workflow total;
    int64_t took_ns = 0;
    watch_total(screen->watch, &total);
    for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
        took_ns += total.late_ns[i];
    }
    if (total.late > 0) {
        frame_put(frame, "       mean of %-12" PRIu64, total.late);
        draw_parts(frame, took_ns, total.late_ns, total.late);
    }
    return total.late > 0;
}

/* A command that tells the story of the newest of these jobs. False if there is no room for it. */
static bool say_why(
    const struct screen *screen, const struct frame *frame, char line[static WHY_BYTES])
{
    const struct watch_job *job = watch_job(screen->watch, 0);
    if (screen->program == NULL || job == NULL) {
        return false;
    }
    const int length = snprintf(
        line, WHY_BYTES, "       why: %s explain %" PRIu32 ".%" PRIu64 "%s", screen->program,
        job->id.node, job_count(job->id), screen->at);
    return length < WHY_BYTES && length <= (int)frame->columns;
}

static void draw_models_heading(const struct screen *screen, struct frame *frame)
{
    const struct watch_loads loads = watch_loads(screen->watch);
    screen_heading(frame, "at, s  models");
    frame_style(frame, FRAME_PLAIN);
    frame_put(
        frame, ": loaded %" PRIu64 " times in %.1f s, evicted %" PRIu64, loads.loads,
        screen_seconds(loads.load_ns), loads.evictions);
}

static void draw_event(
    const struct screen *screen, struct frame *frame, const struct watch_event *event)
{
    static const char *const verbs[] = {
        [WATCH_LOADING] = "loading", [WATCH_LOADED] = "loaded", [WATCH_EVICTED] = "evicted"};
    frame_style(frame, event->change == WATCH_LOADING ? FRAME_YELLOW : FRAME_PLAIN);
    frame_put(
        frame, "%6.1f %s %s on w%" PRIu32, screen_seconds(event->at_ns), verbs[event->change],
        screen->catalogue->models[event->model], event->worker);
    if (event->change == WATCH_LOADED) {
        const double ms = (double)event->took_ns / 1e6; /* A mapped model takes a few. */
        frame_put(frame, ms < 10 ? " in %.1f ms" : " in %.2f s", ms < 10 ? ms : ms / 1000);
    }
    if (event->reason == REASON_ROOM) {
        frame_put(frame, " (room for a model or a run)");
    } else if (event->reason != REASON_NONE) {
        frame_put(frame, " (%s)", reason_name(event->reason));
    }
    frame_style(frame, FRAME_PLAIN);
}

/* Line @row of the late jobs: their heading, their mean, how to ask why, then the newest first. */
static bool draw_late_row(const struct screen *screen, struct frame *frame, uint32_t row)
{
    char why[WHY_BYTES];
    struct watch_workflow total;
    watch_total(screen->watch, &total);
    const uint32_t mean_row = total.late > 0 ? 1 : 0; /* 0: there is none. */
    const uint32_t why_row = say_why(screen, frame, why) ? mean_row + 1 : mean_row;
    if (row == 0) {
        draw_late_heading(frame);
        frame_style(frame, FRAME_PLAIN);
        return true;
    }
    if (row == mean_row) {
        return draw_late_mean(screen, frame);
    }
    if (row == why_row) {
        frame_put(frame, "%s", why);
        return true;
    }
    const struct watch_job *job = watch_job(screen->watch, row - why_row - 1);
    if (job != NULL) {
        draw_job(screen, frame, job);
    } else if (row == 1) {
        frame_put(frame, "       none");
    }
    return job != NULL || row == 1;
}

/* The same of models. */
static bool draw_models_row(const struct screen *screen, struct frame *frame, uint32_t row)
{
    const struct watch_event *event = row == 0 ? NULL : watch_event(screen->watch, row - 1);
    if (row == 0) {
        draw_models_heading(screen, frame);
    } else if (event != NULL) {
        draw_event(screen, frame, event);
    }
    return row == 0 || event != NULL;
}

static void draw_side_by_side(const struct screen *screen, struct frame *frame)
{
    const uint32_t columns = frame->columns;
    bool is_more = true;
    for (uint32_t row = 0; is_more && frame_room(frame) > 0; row++) {
        frame_limit(frame, SIDE_COLUMN - 2);
        is_more = draw_late_row(screen, frame, row);
        frame_limit(frame, columns);
        frame_indent(frame, SIDE_COLUMN);
        is_more = draw_models_row(screen, frame, row) || is_more;
        frame_line(frame);
    }
}

void screen_news(const struct screen *screen, struct frame *frame)
{
    if (frame->columns >= SIDE_COLUMNS) {
        draw_side_by_side(screen, frame);
        return;
    }
    const uint32_t room = frame_room(frame);
    const uint32_t half = room / 2 > LATE_ROWS_MIN ? room / 2 : LATE_ROWS_MIN;
    for (uint32_t row = 0; row < half && draw_late_row(screen, frame, row); row++) {
        frame_line(frame);
    }
    if (frame_room(frame) > 2) {
        screen_gap(frame);
        for (uint32_t row = 0; frame_room(frame) > 0 && draw_models_row(screen, frame, row);
             row++) {
            frame_line(frame);
        }
    }
}
