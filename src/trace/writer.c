#include "trace/writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "trace/events.h"
#include "trace/tally.h"
#include "trace/text.h"
#include "trace/value.h"

enum { LINE_BYTES_MAX = 4096, WEIGHED_MAX = 8 };

struct trace_writer {
    struct trace_writer_options options;
    struct trace_events *events; /* Only for those. */
    struct tally *tally;         /* Only for lines of JSON. */
    uint32_t weighed_count;      /* For the next choice. */
    struct record weighed[WEIGHED_MAX];
};

static bool ends_with(const char *text, const char *end)
{
    const size_t text_length = strlen(text);
    const size_t end_length = strlen(end);
    return text_length >= end_length && strcmp(text + text_length - end_length, end) == 0;
}

enum trace_form trace_form_of(const char *path)
{
    if (ends_with(path, ".json")) {
        return TRACE_EVENTS;
    }
    return ends_with(path, ".jsonl") ? TRACE_LINES : TRACE_TEXT;
}

struct trace_writer *trace_writer_create(const struct trace_writer_options *options)
{
    struct trace_writer *writer = memory_zeroed(1, sizeof(*writer));
    writer->options = *options;
    if (options->form == TRACE_EVENTS) {
        writer->events = trace_events_create(options);
    } else if (options->form == TRACE_LINES) {
        writer->tally = tally_create(options->fleet, options->catalogue, /* follows */ true);
    }
    return writer;
}

void trace_writer_destroy(struct trace_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    trace_events_destroy(writer->events);
    tally_destroy(writer->tally);
    free(writer);
}

/* Whether what was weighed belongs to @record. */
static bool is_choice(const struct trace_writer *writer, const struct record *record)
{
    const struct record *first = &writer->weighed[0];
    return writer->weighed_count > 0 &&
           (record->kind == RECORD_PLACED || record->kind == RECORD_CLAIMED) &&
           job_equal(record->job, first->job) && record->task == first->task;
}

static void add_text(
    const struct trace_writer *writer, const struct record *record, struct text *line)
{
    for (uint32_t i = 0; is_choice(writer, record) && i < writer->weighed_count; i++) {
        trace_text_weighed(line, &writer->weighed[i], writer->options.catalogue, i == 0);
    }
}

static void add_weighed(
    const struct record *weighed, const struct catalogue *catalogue, struct text *line)
{
    text_add(line, "{\"worker\":%" PRIu32 ",\"end_ns\":%" PRId64, weighed->worker, weighed->value);
    if (weighed->batch > 0) {
        text_add(
            line, ",\"batch\":%u,\"gpu\":%u,\"cpu\":%u", (unsigned)weighed->batch,
            (unsigned)weighed->gpu, (unsigned)weighed->cpu);
    }
    if (weighed->model < catalogue->model_count) {
        trace_json_string(line, "load", catalogue->models[weighed->model]);
    }
    text_add(line, "}");
}

/* What lines of JSON have beside the record, whose object is still open. */
static void add_json(
    const struct trace_writer *writer, const struct record *record, struct text *line)
{
    const struct catalogue *catalogue = writer->options.catalogue;
    struct latency_parts parts;
    const enum outcome outcome = tally_add(writer->tally, record, &parts);
    if (record->kind == RECORD_ARRIVED && catalogue->workflows[record->workflow]->slo_ns > 0) {
        text_add(line, ",\"slo_ns\":%" PRId64, catalogue->workflows[record->workflow]->slo_ns);
    }
    if (outcome == OUTCOME_GOOD || outcome == OUTCOME_SLOW) {
        for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
            text_add(line, ",\"%s_ns\":%" PRId64, latency_part_names[i], parts.ns[i]);
        }
    }
    if (is_choice(writer, record)) {
        text_add(line, ",\"weighed\":[");
        for (uint32_t i = 0; i < writer->weighed_count; i++) {
            text_add(line, "%s", i == 0 ? "" : ",");
            add_weighed(&writer->weighed[i], catalogue, line);
        }
        text_add(line, "]");
    }
    text_add(line, "}");
}

static void write_line(const struct trace_writer *writer, const struct record *record)
{
    const struct catalogue *catalogue = writer->options.catalogue;
    char bytes[LINE_BYTES_MAX];
    char more_bytes[LINE_BYTES_MAX];
    struct text more;
    size_t length;
    text_init(&more, more_bytes, sizeof(more_bytes) - TRACE_LINE_BYTES_MAX);
    if (writer->options.form == TRACE_LINES) {
        length = trace_json(record, catalogue, bytes, TRACE_LINE_BYTES_MAX);
        length -= 1; /* The end of the object. */
        add_json(writer, record, &more);
    } else {
        length = trace_text(record, catalogue, bytes, TRACE_LINE_BYTES_MAX);
        add_text(writer, record, &more);
    }
    memcpy(bytes + length, more_bytes, more.length);
    length += more.length;
    bytes[length] = '\n';
    writer->options.write(writer->options.context, bytes, length + 1);
}

void trace_writer_add(struct trace_writer *writer, const struct record *record)
{
    if (record->kind == RECORD_WEIGHED) {
        const struct record *first = &writer->weighed[0];
        if (writer->weighed_count > 0 &&
            (!job_equal(record->job, first->job) || record->task != first->task)) {
            writer->weighed_count = 0;
        }
        if (writer->weighed_count < WEIGHED_MAX) {
            writer->weighed[writer->weighed_count++] = *record;
        }
        return;
    }
    if (writer->events != NULL) {
        trace_events_add(writer->events, record);
    } else {
        write_line(writer, record);
    }
    writer->weighed_count = 0;
}
