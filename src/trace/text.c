/* text.c - records as lines for people. Golden traces are made of them. */
#include "trace/text.h"

#include <inttypes.h>

#include "base/assert.h"
#include "base/text.h"
#include "base/units.h"
#include "trace/value.h"

const char *record_kind_name(uint32_t kind)
{
    static const char *const names[] = {
#define X(kind, name) [kind] = (name),
        RECORD_KINDS(X)
#undef X
    };
    return kind < RECORD_KIND_COUNT ? names[kind] : "unknown";
}

const char *reason_name(uint32_t reason)
{
    static const char *const names[] = {
#define X(reason, name) [reason] = (name),
        REASONS(X)
#undef X
    };
    return reason < REASON_COUNT ? names[reason] : "unknown";
}

enum value_meaning value_meaning(uint32_t kind)
{
    static const enum value_meaning meanings[RECORD_KIND_COUNT] = {
        [RECORD_ARRIVED] = VALUE_ITEMS,        [RECORD_REFUSED] = VALUE_RETRY_NS,
        [RECORD_RESERVED] = VALUE_RESERVED_NS, [RECORD_ACKNOWLEDGED] = VALUE_SEQUENCE,
        [RECORD_SENT] = VALUE_BYTES,           [RECORD_QUEUED] = VALUE_ITEMS,
        [RECORD_OFFERED] = VALUE_HOME,         [RECORD_CLAIMED] = VALUE_ITEMS,
        [RECORD_DECLINED] = VALUE_TASKS,       [RECORD_RELEASED] = VALUE_RUN_NS,
        [RECORD_LOADING] = VALUE_BYTES,        [RECORD_LOAD_FAILED] = VALUE_RETRY_NS,
        [RECORD_SHAPED] = VALUE_UNITS,         [RECORD_STARTED] = VALUE_ITEMS,
        [RECORD_ENDED] = VALUE_RUN_NS,         [RECORD_ANSWERED] = VALUE_LATENCY_NS,
        [RECORD_CANCELLED] = VALUE_LATENCY_NS, [RECORD_NODE_LOST] = VALUE_PEER,
        [RECORD_NODE_BACK] = VALUE_PEER,       [RECORD_SUSPECTED] = VALUE_PEER,
        [RECORD_SOLVED] = VALUE_PROBLEM,       [RECORD_REPEATED] = VALUE_ATTEMPT,
        [RECORD_IGNORED] = VALUE_PEER,         [RECORD_DEPUTED] = VALUE_PEER,
        [RECORD_TAKEN_OVER] = VALUE_PEER,      [RECORD_AWAITED] = VALUE_PEER,
        [RECORD_WEIGHED] = VALUE_END_NS,
    };
    return kind < RECORD_KIND_COUNT ? meanings[kind] : VALUE_NONE;
}

/* In milliseconds with three decimals, rounded; @width as of printf. */
static void add_ms(struct text *text, int64_t ns, int width)
{
    const int64_t us = ns / 1000 + (ns % 1000 >= 500 ? 1 : 0);
    text_add(text, "%*" PRId64 ".%03" PRId64 " ms", width, us / 1000, us % 1000);
}

/* In steps of 1000 with one decimal: "4.7 MB". */
static void add_bytes(struct text *text, uint64_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    enum { UNITS = ARRAY_COUNT(units) };
    if (bytes < 1000) {
        text_add(text, "%" PRIu64 " B", bytes);
        return;
    }
    uint32_t unit = 0;
    uint64_t size = 1000;
    /* The next unit begins where this one would round to 1000.0. */
    while (unit + 1 < UNITS && bytes >= size * 1000 - size / 20) {
        size *= 1000;
        unit++;
    }
    const uint64_t tenths = bytes / size * 10 + (bytes % size * 10 + size / 2) / size;
    text_add(text, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10, units[unit]);
}

void trace_text_weighed(
    struct text *text, const struct record *record, const struct catalogue *catalogue,
    bool is_first)
{
    text_add(
        text, "%sw%" PRIu32 ": %s", is_first ? "; " : ", ", record->worker,
        is_first ? "ends in " : "");
    add_ms(text, record->value, 0);
    if (record->batch > 0) {
        text_add(text, " (batch of %u", (unsigned)record->batch);
        if (record->gpu > 0) {
            text_add(text, ", %u unit%s", (unsigned)record->gpu, record->gpu == 1 ? "" : "s");
        }
        text_add(text, ")");
    }
    if (record->model < catalogue->model_count) {
        text_add(text, " (must load %s)", catalogue->models[record->model]);
    }
}

/* What the record is about: a job, one of its tasks, or only a workflow. */
static void add_subject(
    struct text *text, const struct record *record, const struct catalogue *catalogue)
{
    if (record->job.number != 0) {
        text_add(text, " job %" PRIu32 ".%" PRIu64, record->job.node, job_count(record->job));
    }
    const struct workflow *workflow = value_workflow(record, catalogue);
    if (workflow != NULL) {
        text_add(text, " %s", workflow->name);
        if (record->task < workflow->task_count) {
            text_add(text, "/%s", workflow->tasks[record->task].name);
        }
    }
    if (record->model < catalogue->model_count) {
        text_add(text, " %s", catalogue->models[record->model]);
    }
    if (record->worker != WORKER_NONE) {
        const char *link =
            record->kind == RECORD_SENT || record->kind == RECORD_STOLEN ? "to" : "on";
        text_add(text, " %s w%" PRIu32, link, record->worker);
    }
}

/* What stands in brackets: details after the first are preceded by a comma. */
static void add_separator(struct text *text, uint32_t *count)
{
    text_add(text, "%s", *count == 0 ? " (" : ", ");
    ++*count;
}

static bool is_bracketed(const struct record *record)
{
    switch (value_meaning(record->kind)) {
    case VALUE_ITEMS: /* One item per task is so usual that it goes without saying. */
        return record->value > (record->batch == 0 ? 1 : record->batch);
    case VALUE_RETRY_NS:
        return record->value > 0;
    case VALUE_RESERVED_NS:
    case VALUE_BYTES:
    case VALUE_SEQUENCE:
    case VALUE_UNITS:
    case VALUE_HOME:
    case VALUE_ATTEMPT:
        return true;
    case VALUE_TASKS:
        return record->value > 1;
    case VALUE_NONE:
    case VALUE_END_NS:
    case VALUE_RUN_NS:
    case VALUE_LATENCY_NS:
    case VALUE_PEER:
    case VALUE_PROBLEM:
        return false;
    }
    return false;
}

static void add_bracketed_value(struct text *text, const struct record *record)
{
    const enum value_meaning meaning = value_meaning(record->kind);
    if (meaning == VALUE_ITEMS) {
        text_add(text, "%" PRId64 " items", record->value);
    } else if (meaning == VALUE_RETRY_NS) {
        text_add(text, "again after ");
        add_ms(text, record->value, 0);
    } else if (meaning == VALUE_RESERVED_NS) {
        add_ms(text, record->value, 0);
    } else if (meaning == VALUE_BYTES) {
        add_bytes(text, (uint64_t)record->value);
    } else if (meaning == VALUE_SEQUENCE) {
        text_add(text, "sequence %" PRId64, record->value);
    } else if (meaning == VALUE_HOME) {
        text_add(text, "home n%" PRId64, record->value);
    } else if (meaning == VALUE_TASKS) {
        text_add(text, "%" PRId64 " tasks", record->value);
    } else if (meaning == VALUE_ATTEMPT) {
        text_add(text, "attempt %" PRId64, record->value);
    } else {
        text_add(text, "%" PRId64 " units", record->value);
    }
}

static void add_details(struct text *text, const struct record *record)
{
    const bool is_start = record->kind == RECORD_STARTED || record->kind == RECORD_CLAIMED;
    uint32_t count = 0;
    if (record->reason != REASON_NONE) {
        add_separator(text, &count);
        text_add(text, "%s", reason_name(record->reason));
    }
    if (is_start && record->batch > 1) {
        add_separator(text, &count);
        text_add(text, "batch of %u", (unsigned)record->batch);
    }
    if (is_bracketed(record)) {
        add_separator(text, &count);
        add_bracketed_value(text, record);
    }
    if (is_start && record->gpu > 1) {
        add_separator(text, &count);
        text_add(text, "%u units", (unsigned)record->gpu);
    }
    if (is_start && record->cpu > 0) {
        add_separator(text, &count);
        text_add(text, "%u cpu", (unsigned)record->cpu);
    }
    if (count > 0) {
        text_add(text, ")");
    }
}

size_t trace_text(
    const struct record *record, const struct catalogue *catalogue, char *line, size_t line_bytes)
{
    struct text text;
    text_init(&text, line, line_bytes);
    text_add(&text, "[");
    add_ms(&text, record->at_ns, /* width */ 5);
    text_add(&text, "] n%" PRIu32 " %s", record->node, record_kind_name(record->kind));
    add_subject(&text, record, catalogue);
    const enum value_meaning meaning = value_meaning(record->kind);
    if (meaning == VALUE_RUN_NS || meaning == VALUE_LATENCY_NS) {
        text_add(&text, " after ");
        add_ms(&text, record->value, 0);
    } else if (meaning == VALUE_PEER) {
        text_add(&text, " n%" PRId64, record->value);
    } else if (meaning == VALUE_PROBLEM) {
        text_add(&text, " problem %" PRId64, record->value);
    }
    add_details(&text, record);
    return text.length;
}
