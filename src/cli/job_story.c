#include "cli/job_story.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/error.h"
#include "model/grow.h"

/* Reading a trace. */
struct reading {
    struct job_story *story;
    const char *job;
    const char *name; /* Of the trace. */
    uint64_t line;    /* From 1. */
    json_t *batch;    /* The starts of a batch that were read last: they follow each other. */
};

const char *job_story_text(const json_t *record, const char *key)
{
    const char *text = json_string_value(json_object_get(record, key));
    return text == NULL ? "" : text;
}

int64_t job_story_number(const json_t *record, const char *key, int64_t otherwise)
{
    const json_t *number = json_object_get(record, key);
    return json_is_integer(number) ? (int64_t)json_integer_value(number) : otherwise;
}

int64_t job_story_life(const json_t *record)
{
    return job_story_number(record, "life", 0);
}

static bool is_kind(const json_t *record, const char *kind)
{
    return strcmp(job_story_text(record, "kind"), kind) == 0;
}

static struct job_story_line *add_line(struct job_story *story, json_t *record)
{
    story->lines = grow(story->lines, story->count, sizeof(*story->lines));
    struct job_story_line *line = &story->lines[story->count++];
    *line = (struct job_story_line){
        .at_ns = job_story_number(record, "at_ns", 0),
        .json = record,
    };
    (void)json_array_append(story->records, record);
    return line;
}

/* Nodes that start again count from 1 again: the job of the last life is meant. */
static void take_own(struct reading *reading, json_t *record)
{
    struct job_story *story = reading->story;
    const int64_t life = job_story_life(record);
    const int64_t known = story->count == 0 ? life : job_story_life(story->lines[0].json);
    if (strcmp(job_story_text(record, "job"), reading->job) != 0 || life < known) {
        return;
    }
    if (life > known) {
        story->count = 0;
        (void)json_array_clear(story->records);
    }
    add_line(story, record)->is_own = true;
    story->own_count = story->count;
}

/* Whether both are starts of one batch. */
static bool is_same_batch(const json_t *a, const json_t *b)
{
    return is_kind(a, "started") && is_kind(b, "started") &&
           job_story_number(a, "at_ns", -1) == job_story_number(b, "at_ns", -1) &&
           job_story_number(a, "worker", -1) == job_story_number(b, "worker", -1) &&
           strcmp(job_story_text(a, "task"), job_story_text(b, "task")) == 0 &&
           strcmp(job_story_text(a, "workflow"), job_story_text(b, "workflow")) == 0;
}

/* Whether some task of the job waited on the worker of @record at that time. */
static bool was_waiting(const struct job_story *story, const json_t *record)
{
    const int64_t at_ns = job_story_number(record, "at_ns", 0);
    const int64_t worker = job_story_number(record, "worker", -1);
    int64_t waiting = 0;
    for (uint32_t i = 0; i < story->own_count && story->lines[i].at_ns <= at_ns; i++) {
        const struct job_story_line *line = &story->lines[i];
        if (job_story_number(line->json, "worker", -1) != worker) {
            continue;
        }
        waiting += is_kind(line->json, "queued") ? 1 : 0;
        waiting -= is_kind(line->json, "started") && line->at_ns < at_ns ? 1 : 0;
    }
    return waiting > 0;
}

/* The start of the load that @record ends, if it is among the lines. */
static struct job_story_line *find_load(const struct job_story *story, const json_t *record)
{
    for (uint32_t i = story->count; i-- > 0;) {
        struct job_story_line *line = &story->lines[i];
        if (!line->is_own && is_kind(line->json, "loading") &&
            strcmp(job_story_text(line->json, "model"), job_story_text(record, "model")) == 0 &&
            job_story_number(line->json, "worker", -1) == job_story_number(record, "worker", -2)) {
            return line;
        }
    }
    return NULL;
}

/* If the batch that has been read is one of the job, note who ran in it. */
static void take_batch(struct reading *reading)
{
    const json_t *first = json_array_get(reading->batch, 0);
    struct job_story *story = reading->story;
    for (uint32_t i = 0; i < story->own_count; i++) { /* They come first until the end. */
        struct job_story_line *line = &story->lines[i];
        bool has_own = false;
        for (size_t k = 0; k < json_array_size(reading->batch); k++) {
            has_own = has_own || json_equal(json_array_get(reading->batch, k), line->json);
        }
        if (!has_own || !is_same_batch(first, line->json)) {
            continue;
        }
        json_decref(line->mates);
        line->mates = json_array();
        for (size_t k = 0; k < json_array_size(reading->batch); k++) {
            json_t *mate = json_object_get(json_array_get(reading->batch, k), "job");
            if (!json_equal(mate, json_object_get(line->json, "job"))) {
                (void)json_array_append(line->mates, mate);
            }
        }
    }
    (void)json_array_clear(reading->batch);
}

/* The next start: of the batch that is being read, or of another one. */
static void take_start(struct reading *reading, json_t *record)
{
    const json_t *first = json_array_get(reading->batch, 0);
    if (first != NULL && !is_same_batch(first, record)) {
        (void)json_array_clear(reading->batch); /* It was cut off. */
    }
    (void)json_array_append(reading->batch, record);
    if ((int64_t)json_array_size(reading->batch) >= job_story_number(record, "batch", 1)) {
        take_batch(reading);
    }
}

static void take_others(struct reading *reading, json_t *record)
{
    struct job_story *story = reading->story;
    if (is_kind(record, "started")) {
        take_start(reading, record);
    } else if (is_kind(record, "loading")) {
        (void)add_line(story, record); /* Until it is known whether a task waited for it. */
    } else if (is_kind(record, "loaded") && was_waiting(story, record)) {
        const struct job_story_line *load = find_load(story, record);
        const int64_t began_ns = load == NULL ? 0 : load->at_ns;
        add_line(story, record)->began_ns = began_ns;
    }
}

static enum weft_status read_lines(
    struct reading *reading, FILE *file, void (*take)(struct reading *, json_t *),
    struct weft_error *error)
{
    char *text = NULL;
    size_t capacity = 0;
    enum weft_status status = WEFT_OK;
    for (reading->line = 1; status == WEFT_OK && getline(&text, &capacity, file) > 0;
         reading->line++) {
        json_error_t cause;
        json_t *record = json_loads(text, 0, &cause);
        if (json_is_object(record) && json_object_get(record, "kind") != NULL) {
            take(reading, record);
        } else {
            status = error_set(
                error, WEFT_INVALID,
                "%s:%llu: not a record; 'weft sim --trace FILE.jsonl' writes what is wanted here",
                reading->name, (unsigned long long)reading->line);
        }
        json_decref(record);
    }
    free(text);
    return status;
}

static int compare_lines(const void *left, const void *right)
{
    const struct job_story_line *a = left;
    const struct job_story_line *b = right;
    if (a->at_ns != b->at_ns) {
        return a->at_ns < b->at_ns ? -1 : 1;
    }
    return a->is_own == b->is_own ? 0 : a->is_own - b->is_own; /* A load ends before the start. */
}

/* Drop loads that no task waited for, and sort. The order of equal times is that of the trace. */
static void arrange(struct job_story *story)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < story->count; i++) {
        if (story->lines[i].is_own || is_kind(story->lines[i].json, "loaded")) {
            story->lines[kept++] = story->lines[i];
        }
    }
    story->count = kept;
    for (uint32_t i = 1; i < kept; i++) { /* By insertion: it is nearly sorted, and stable. */
        const struct job_story_line line = story->lines[i];
        uint32_t at = i;
        while (at > 0 && compare_lines(&story->lines[at - 1], &line) > 0) {
            story->lines[at] = story->lines[at - 1];
            at--;
        }
        story->lines[at] = line;
    }
}

enum weft_status job_story_read(
    FILE *file, const char *name, const char *job, struct job_story *story_out,
    struct weft_error *error)
{
    struct job_story story = {.records = json_array()};
    struct reading reading = {.story = &story, .job = job, .name = name, .batch = json_array()};
    enum weft_status status = read_lines(&reading, file, take_own, error);
    if (status == WEFT_OK && story.count == 0) {
        status = error_set(error, WEFT_NOT_FOUND, "%s: there is no job '%s' in it", name, job);
    }
    if (status == WEFT_OK) {
        rewind(file);
        status = read_lines(&reading, file, take_others, error);
    }
    json_decref(reading.batch);
    if (status != WEFT_OK) {
        job_story_deinit(&story);
        return status;
    }
    arrange(&story);
    *story_out = story;
    return WEFT_OK;
}

void job_story_deinit(struct job_story *story)
{
    for (uint32_t i = 0; i < story->count; i++) {
        json_decref(story->lines[i].mates);
    }
    free(story->lines);
    json_decref(story->records);
    *story = (struct job_story){.count = 0};
}
