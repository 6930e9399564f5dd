/* merge.c - `weft merge`: traces of several servers as one, on one clock. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/clocks.h"
#include "cli/command.h"
#include "cli/job_story.h"
#include "console/whole_file.h"
#include "model/grow.h"
#include "trace/writer.h"

struct line {
    json_t *record; /* Owned. */
    int64_t at_ns;
    uint32_t trace; /* Which one it is of. */
    uint32_t index; /* In reading order. */
};

/* A job, where its owner's trace is among those that are merged. */
struct known_job {
    uint32_t trace;
    bool has_arrived;
    bool is_repeated; /* What ended may have ended for nothing, after the answer. */
    int64_t arrived_ns;
    int64_t answered_ns; /* INT64_MAX: not, or without outputs. */
};

struct merging {
    struct line *lines;
    uint32_t count;
    json_t *jobs; /* By name and life: an index of the next. */
    struct known_job *known;
    uint32_t known_count;
    struct clocks clocks;
};

static bool is_kind(const struct line *line, const char *kind)
{
    return strcmp(job_story_text(line->record, "kind"), kind) == 0;
}

/* The job that @line is about; NULL if it is about none. */
static struct known_job *job_of(struct merging *merging, const struct line *line)
{
    char name[NAME_BYTES_MAX];
    if (job_story_text(line->record, "job")[0] == '\0') {
        return NULL;
    }
    (void)snprintf(
        name, sizeof(name), "%" PRId64 ": %s", job_story_life(line->record),
        job_story_text(line->record, "job"));
    const json_t *index = json_object_get(merging->jobs, name);
    if (index == NULL) {
        merging->known = grow(merging->known, merging->known_count, sizeof(*merging->known));
        merging->known[merging->known_count] = (struct known_job){.answered_ns = INT64_MAX};
        (void)json_object_set_new(merging->jobs, name, json_integer(merging->known_count));
        merging->known_count++;
        return &merging->known[merging->known_count - 1];
    }
    return &merging->known[json_integer_value(index)];
}

static enum weft_status read_trace(
    struct merging *merging, uint32_t trace, const char *path, struct weft_error *error)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;
    uint32_t number = 0;
    enum weft_status status = WEFT_OK;
    if (file == NULL) {
        return error_set(error, WEFT_IO, "%s: %s", path, strerror(errno));
    }
    while (status == WEFT_OK && getline(&text, &room, file) > 0) {
        json_t *record = json_loads(text, 0, NULL);
        number++;
        if (!json_is_integer(json_object_get(record, "at_ns"))) {
            json_decref(record);
            status = error_set(
                error, WEFT_INVALID, "%s:%" PRIu32 ": not a line of a trace; traces end in .jsonl",
                path, number);
            break;
        }
        merging->lines = grow(merging->lines, merging->count, sizeof(*merging->lines));
        merging->lines[merging->count] = (struct line){
            .record = record,
            .at_ns = job_story_number(record, "at_ns", 0),
            .trace = trace,
            .index = merging->count,
        };
        merging->count++;
    }
    free(text);
    (void)fclose(file);
    return status;
}

/* When jobs came to their owners, and were answered. */
static void find_jobs(struct merging *merging)
{
    for (uint32_t i = 0; i < merging->count; i++) {
        const struct line *line = &merging->lines[i];
        struct known_job *job = job_of(merging, line);
        if (job == NULL) {
            continue;
        }
        if (is_kind(line, "arrived")) {
            job->has_arrived = true;
            job->trace = line->trace;
            job->arrived_ns = line->at_ns;
        } else if (is_kind(line, "answered") && job_story_text(line->record, "reason")[0] == '\0') {
            job->answered_ns = line->at_ns;
        } else if (is_kind(line, "repeated")) {
            job->is_repeated = true;
        }
    }
}

/* A task waits after its job has come, and has ended before the job is answered. */
static void find_trips(struct merging *merging)
{
    for (uint32_t i = 0; i < merging->count; i++) {
        const struct line *line = &merging->lines[i];
        const struct known_job *job = job_of(merging, line);
        if (job == NULL || !job->has_arrived || job->is_repeated || job->trace == line->trace) {
            continue;
        }
        if (is_kind(line, "queued")) {
            clocks_note(&merging->clocks, job->trace, job->arrived_ns, line->trace, line->at_ns);
        } else if (is_kind(line, "ended") && job->answered_ns != INT64_MAX) {
            clocks_note(&merging->clocks, line->trace, line->at_ns, job->trace, job->answered_ns);
        }
    }
}

static int by_time(const void *a, const void *b)
{
    const struct line *left = a;
    const struct line *right = b;
    if (left->at_ns != right->at_ns) {
        return left->at_ns < right->at_ns ? -1 : 1;
    }
    return left->index < right->index ? -1 : 1;
}

/* Put all lines on the clock of the first trace, by time. */
static void set_clocks(struct merging *merging)
{
    for (uint32_t i = 0; i < merging->count; i++) {
        struct line *line = &merging->lines[i];
        line->at_ns -= merging->clocks.ahead_ns[line->trace];
        (void)json_object_set_new(line->record, "at_ns", json_integer(line->at_ns));
    }
    qsort(merging->lines, merging->count, sizeof(*merging->lines), by_time);
}

/* A batch that has ended, as an event for viewers: a process per node, a thread per worker. */
static json_t *event_of(const struct line *line)
{
    char name[512];
    const int64_t run_ns = job_story_number(line->record, "run_ns", 0);
    (void)snprintf(
        name, sizeof(name), "%s/%s", job_story_text(line->record, "workflow"),
        job_story_text(line->record, "task"));
    return json_pack(
        "{s:s, s:s, s:f, s:f, s:I, s:I, s:{s:s}}", "ph", "X", "name", name, "ts",
        (double)(line->at_ns - run_ns) / 1e3, "dur", (double)run_ns / 1e3, "pid",
        (json_int_t)job_story_number(line->record, "node", 0), "tid",
        (json_int_t)job_story_number(line->record, "worker", 0), "args", "job",
        job_story_text(line->record, "job"));
}

static void write_json(struct whole_file *file, json_t *json, const char *before)
{
    char *text = json_dumps(json, JSON_COMPACT);
    whole_file_write(file, before, strlen(before));
    if (text != NULL) {
        whole_file_write(file, text, strlen(text));
    }
    free(text);
}

static void write_lines(const struct merging *merging, struct whole_file *file)
{
    for (uint32_t i = 0; i < merging->count; i++) {
        write_json(file, merging->lines[i].record, "");
        whole_file_write(file, "\n", 1);
    }
}

static void write_events(const struct merging *merging, struct whole_file *file)
{
    const char *before = "{\"traceEvents\":[\n";
    for (uint32_t i = 0; i < merging->count; i++) {
        if (is_kind(&merging->lines[i], "ended")) {
            json_t *event = event_of(&merging->lines[i]);
            write_json(file, event, before);
            json_decref(event);
            before = ",\n";
        }
    }
    const char *end = before[0] == '{' ? "{\"traceEvents\":[]}\n" : "\n]}\n";
    whole_file_write(file, end, strlen(end));
}

static enum weft_status write_merged(
    const struct merging *merging, const char *path, struct weft_error *error)
{
    struct whole_file file;
    const enum weft_status status = whole_file_open(&file, path, error);
    if (status != WEFT_OK) {
        return status;
    }
    if (trace_form_of(path) == TRACE_EVENTS) {
        write_events(merging, &file);
    } else {
        write_lines(merging, &file);
    }
    return whole_file_commit(&file, error);
}

/* What was found out about clocks. */
static enum weft_status report(
    struct merging *merging, const char *const *paths, struct weft_error *error)
{
    if (!clocks_compare(&merging->clocks)) {
        uint32_t unknown = 0;
        while (merging->clocks.is_known[unknown]) {
            unknown++;
        }
        return error_set(
            error, WEFT_NOT_FOUND,
            "%s: no job went from its node to one of the others and back, so nothing says how its "
            "clock stands to theirs",
            paths[unknown]);
    }
    for (uint32_t i = 1; i < merging->clocks.count; i++) {
        (void)printf(
            "%s: %+.6f s, within %.3f ms\n", paths[i], -(double)merging->clocks.ahead_ns[i] / 1e9,
            (double)merging->clocks.error_ns[i] / 1e6);
    }
    return WEFT_OK;
}

static enum weft_status merge(
    struct merging *merging, const char *const *paths, uint32_t count, const char *out,
    struct weft_error *error)
{
    enum weft_status status = WEFT_OK;
    for (uint32_t i = 0; i < count && status == WEFT_OK; i++) {
        status = read_trace(merging, i, paths[i], error);
    }
    if (status != WEFT_OK) {
        return status;
    }
    find_jobs(merging);
    find_trips(merging);
    status = report(merging, paths, error);
    if (status != WEFT_OK) {
        return status;
    }
    set_clocks(merging);
    return write_merged(merging, out, error);
}

static int run(const struct command *command, void *values, const struct operands *operands)
{
    struct merging merging = {.jobs = json_object()};
    struct weft_error error = {0};
    const uint32_t count = operands->count - 1;
    (void)values;
    clocks_init(&merging.clocks, count);
    const enum weft_status status = merge(
        &merging, (const char *const *)operands->items + 1, count, operands->items[0], &error);
    for (uint32_t i = 0; i < merging.count; i++) {
        json_decref(merging.lines[i].record);
    }
    free(merging.lines);
    free(merging.known);
    json_decref(merging.jobs);
    if (status != WEFT_OK) {
        return command_fail(command, &error, COMMAND_WRONG);
    }
    return command_flush(command);
}

static const struct argument rows[] = {
    {.name = NULL},
};

const struct command command_merge = {
    .name = "merge",
    .summary = "lay the traces of several servers side by side, on one clock",
    .usage = "OUT TRACE TRACE...",
    .description =
        "Each TRACE is a file of JSON lines that a node of a cluster has written: 'weft serve ...\n"
        "--trace FILE.jsonl'. Every process counts time from its own start. How far their clocks\n"
        "are apart is estimated from jobs that one node owned and another worked for, and printed\n"
        "with how wrong it can be at most. Times in OUT are those of the first TRACE.\n"
        "\n"
        "OUT has all records as JSON lines, for 'weft explain OUT JOB'. If it ends in .json, it\n"
        "has the batches of all nodes as events for viewers such as Perfetto.\n",
    .arguments = {.operand = "OUT", .operand_min = 3, .operand_max = 1 + CLOCKS_MAX, .rows = rows},
    .run = run,
};
