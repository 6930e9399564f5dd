/*
 * json.c - records as lines for programs: one object a record, without what it lacks.
 *
 *     {"at_ns":12500000,"node":0,"kind":"placed","job":"0.1","workflow":"ocr",
 *      "task":"detect","worker":3,"reason":"planned"}
 */
#include <inttypes.h>

#include "base/text.h"
#include "trace/text.h"
#include "trace/value.h"

void trace_json_string(struct text *text, const char *key, const char *value)
{
    text_add(text, ",\"%s\":\"", key);
    for (const char *c = value; *c != '\0'; c++) {
        const unsigned char byte = (unsigned char)*c;
        if (byte == '"' || byte == '\\') {
            text_add(text, "\\%c", byte);
        } else if (byte < ' ') {
            text_add(text, "\\u%04x", (unsigned)byte);
        } else {
            text_add(text, "%c", byte);
        }
    }
    text_add(text, "\"");
}

/* The key of the value; NULL if the kind has none. */
static const char *value_key(uint32_t kind)
{
    switch (value_meaning(kind)) {
    case VALUE_NONE:
        return NULL;
    case VALUE_ITEMS:
        return "items";
    case VALUE_BYTES:
        return "bytes";
    case VALUE_UNITS:
        return "units";
    case VALUE_SEQUENCE:
        return "sequence";
    case VALUE_RETRY_NS:
        return "retry_ns";
    case VALUE_RESERVED_NS:
        return "reserved_ns";
    case VALUE_RUN_NS:
        return "run_ns";
    case VALUE_LATENCY_NS:
        return "latency_ns";
    case VALUE_PEER:
        return "peer";
    case VALUE_PROBLEM:
        return "problem";
    case VALUE_HOME:
        return "home";
    case VALUE_TASKS:
        return "tasks";
    case VALUE_ATTEMPT:
        return "attempt";
    case VALUE_END_NS:
        return "end_ns";
    }
    return NULL;
}

static void add_names(
    struct text *text, const struct record *record, const struct catalogue *catalogue)
{
    const struct workflow *workflow = value_workflow(record, catalogue);
    if (workflow != NULL) {
        trace_json_string(text, "workflow", workflow->name);
        if (record->task < workflow->task_count) {
            trace_json_string(text, "task", workflow->tasks[record->task].name);
        }
    }
    if (record->model < catalogue->model_count) {
        trace_json_string(text, "model", catalogue->models[record->model]);
    }
}

size_t trace_json(
    const struct record *record, const struct catalogue *catalogue, char *line, size_t line_bytes)
{
    struct text text;
    text_init(&text, line, line_bytes);
    text_add(&text, "{\"at_ns\":%" PRId64 ",\"node\":%" PRIu32, record->at_ns, record->node);
    trace_json_string(&text, "kind", record_kind_name(record->kind));
    if (record->job.number != 0) {
        text_add(
            &text, ",\"job\":\"%" PRIu32 ".%" PRIu64 "\"", record->job.node,
            job_count(record->job));
        if (record->job.incarnation != 0) { /* Each life of a node counts from 1. */
            text_add(&text, ",\"life\":%" PRIu32, record->job.incarnation);
        }
    }
    add_names(&text, record, catalogue);
    if (record->worker != WORKER_NONE) {
        text_add(&text, ",\"worker\":%" PRIu32, record->worker);
    }
    if (record->reason != REASON_NONE) {
        trace_json_string(&text, "reason", reason_name(record->reason));
    }
    if (record->batch != 0) {
        text_add(&text, ",\"batch\":%u,\"gpu\":%u", (unsigned)record->batch, (unsigned)record->gpu);
    }
    if (record->cpu != 0) {
        text_add(&text, ",\"cpu\":%u", (unsigned)record->cpu);
    }
    if (value_key(record->kind) != NULL) {
        text_add(&text, ",\"%s\":%" PRId64, value_key(record->kind), record->value);
    }
    text_add(&text, "}");
    return text.length;
}
