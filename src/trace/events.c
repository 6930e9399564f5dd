#include "trace/events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/text.h"
#include "trace/text.h"
#include "trace/value.h"

enum {
    LANES_MAX = 64, /* Batches of a worker that are drawn at once; more share the last lane. */
    SPANS_FIRST = 64,
    JOBS_BYTES_MAX = 1024,
    EVENT_BYTES_MAX = 6 * TRACE_LINE_BYTES_MAX,
};

/* A batch that runs. */
struct span {
    int64_t began_ns;
    uint32_t lane;
    char jobs[JOBS_BYTES_MAX]; /* As a list of JSON that is still open. */
};

struct trace_events {
    struct trace_writer_options options;
    bool has_any;
    uint64_t *lanes;   /* By worker: a bit for each batch that runs. */
    uint64_t *named;   /* By worker: a bit for each of its threads that has a name. */
    int64_t *loads_ns; /* By worker and model: when its load began. */
    struct map runs;   /* From the first task of each batch to its span. */
    struct pool spans;
    uint32_t mates;       /* Tasks of the last batch whose start has not been read yet. */
    uint32_t slot;        /* The span of that. */
    struct map transfers; /* Tasks whose inputs are on their way. */
    int64_t open_jobs;
};

/* Begin an event: name, kind and time are common to all. The object stays open. */
static void begin_event(
    struct text *text, const char *name, char phase, int64_t at_ns, uint32_t process)
{
    text_add(text, "{\"ph\":\"%c\"", phase);
    trace_json_string(text, "name", name);
    text_add(
        text, ",\"ts\":%" PRId64 ".%03" PRId64 ",\"pid\":%" PRIu32, at_ns / 1000, at_ns % 1000,
        process);
}

static void end_event(struct trace_events *events, struct text *text)
{
    text_add(text, "}");
    events->options.write(
        events->options.context, events->has_any ? ",\n" : "\n", events->has_any ? 2 : 1);
    events->options.write(events->options.context, text->bytes, text->length);
    events->has_any = true;
}

/* Threads are numbered by worker: its loads, then its lanes. */
static uint32_t thread_of(uint32_t worker, uint32_t lane)
{
    return worker * (LANES_MAX + 1) + lane + 1;
}

static void name_it(
    struct trace_events *events, const char *what, uint32_t process, uint32_t thread,
    const char *name)
{
    char bytes[EVENT_BYTES_MAX];
    struct text text;
    text_init(&text, bytes, sizeof(bytes));
    begin_event(&text, what, 'M', 0, process);
    text_add(&text, ",\"tid\":%" PRIu32 ",\"args\":{\"name\":\"%s\"}", thread, name);
    end_event(events, &text);
}

/* The first lane of a worker has its name, further ones a number as well. */
static void name_lane(struct trace_events *events, uint32_t worker, uint32_t lane)
{
    const struct fleet *fleet = events->options.fleet;
    const char *device = fleet->devices[fleet->workers[worker].device];
    char name[2 * NAME_BYTES_MAX];
    if ((events->named[worker] >> lane & 1) != 0) {
        return;
    }
    events->named[worker] |= UINT64_C(1) << lane;
    (void)snprintf(name, sizeof(name), "w%" PRIu32 " %s", worker, device);
    if (lane > 0) {
        (void)snprintf(
            name, sizeof(name), "w%" PRIu32 " %s (%" PRIu32 ")", worker, device, lane + 1);
    }
    name_it(events, "thread_name", fleet->workers[worker].node, thread_of(worker, lane + 1), name);
}

static void name_all(struct trace_events *events)
{
    const struct fleet *fleet = events->options.fleet;
    char name[2 * NAME_BYTES_MAX];
    for (uint32_t i = 0; i < fleet->node_count; i++) {
        (void)snprintf(name, sizeof(name), "n%" PRIu32, i);
        name_it(events, "process_name", i, 0, name);
    }
    name_it(events, "process_name", fleet->node_count, 0, "jobs and transfers");
    for (uint32_t i = 0; i < fleet->worker_count; i++) {
        (void)snprintf(name, sizeof(name), "w%" PRIu32 " loads", i);
        name_it(events, "thread_name", fleet->workers[i].node, thread_of(i, 0), name);
        name_lane(events, i, /* lane */ 0);
    }
}

struct trace_events *trace_events_create(const struct trace_writer_options *options)
{
    static const char head[] = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    struct trace_events *events = memory_zeroed(1, sizeof(*events));
    const uint32_t workers = options->fleet->worker_count;
    events->options = *options;
    events->lanes = memory_zeroed(workers + 1, sizeof(*events->lanes));
    events->named = memory_zeroed(workers + 1, sizeof(*events->named));
    events->loads_ns = memory_zeroed(
        (size_t)workers * options->catalogue->model_count + 1, sizeof(*events->loads_ns));
    map_init(&events->runs, SPANS_FIRST);
    map_init(&events->transfers, SPANS_FIRST);
    pool_init(&events->spans, sizeof(struct span), SPANS_FIRST, UINT32_MAX - 1);
    options->write(options->context, head, sizeof(head) - 1);
    name_all(events);
    return events;
}

void trace_events_destroy(struct trace_events *events)
{
    if (events == NULL) {
        return;
    }
    events->options.write(events->options.context, "\n]}\n", 4);
    map_deinit(&events->runs);
    map_deinit(&events->transfers);
    pool_deinit(&events->spans);
    free(events->lanes);
    free(events->named);
    free(events->loads_ns);
    free(events);
}

static uint64_t task_key(const struct record *record)
{
    return hash_mix(job_key(record->job), record->task);
}

static void add_job(struct text *text, const struct record *record)
{
    text_add(text, "\"%" PRIu32 ".%" PRIu64 "\"", record->job.node, job_count(record->job));
}

static const char *task_name(
    const struct trace_events *events, const struct record *record,
    char name[static 2 * NAME_BYTES_MAX])
{
    const struct workflow *workflow = events->options.catalogue->workflows[record->workflow];
    (void)snprintf(
        name, (size_t)2 * NAME_BYTES_MAX, "%s/%s", workflow->name,
        workflow->tasks[record->task].name);
    return name;
}

static uint32_t take_lane(struct trace_events *events, uint32_t worker)
{
    uint32_t lane = 0;
    while (lane < LANES_MAX - 1 && (events->lanes[worker] >> lane & 1) != 0) {
        lane++;
    }
    events->lanes[worker] |= UINT64_C(1) << lane;
    return lane;
}

static void add_mate(struct trace_events *events, const struct record *record, const char *before)
{
    struct span *span = pool_at(&events->spans, events->slot);
    const size_t length = strlen(span->jobs);
    struct text text;
    if (length + 3 * sizeof("4294967295") < sizeof(span->jobs)) {
        text_init(&text, span->jobs + length, sizeof(span->jobs) - length);
        text_add(&text, "%s", before);
        add_job(&text, record);
    }
}

/* The records of the tasks of a batch follow each other. */
static void start(struct trace_events *events, const struct record *record)
{
    if (events->mates > 0) {
        events->mates--;
        add_mate(events, record, ",");
        return;
    }
    (void)pool_reserve(&events->spans, 1);
    (void)map_reserve(&events->runs, 1);
    const uint32_t slot = pool_take(&events->spans);
    struct span *span = pool_at(&events->spans, slot);
    span->began_ns = record->at_ns;
    span->lane = take_lane(events, record->worker);
    name_lane(events, record->worker, span->lane);
    span->jobs[0] = '\0';
    map_put(&events->runs, task_key(record), slot);
    events->slot = slot;
    events->mates = record->batch > 1 ? record->batch - 1U : 0;
    add_mate(events, record, "");
}

static void stop(struct trace_events *events, const struct record *record)
{
    const uint32_t slot = map_get(&events->runs, task_key(record));
    char name[2 * NAME_BYTES_MAX];
    char bytes[EVENT_BYTES_MAX];
    struct text text;
    if (slot == MAP_NONE) {
        return;
    }
    const struct span *span = pool_at(&events->spans, slot);
    const int64_t took_ns = record->at_ns - span->began_ns;
    text_init(&text, bytes, sizeof(bytes));
    begin_event(
        &text, task_name(events, record, name), 'X', span->began_ns,
        events->options.fleet->workers[record->worker].node);
    text_add(
        &text,
        ",\"tid\":%" PRIu32 ",\"dur\":%" PRId64 ".%03" PRId64
        ",\"cat\":\"batch\",\"args\":{\"batch\":%u,\"gpu\":%u,\"jobs\":[%s]}",
        thread_of(record->worker, span->lane + 1), took_ns / 1000, took_ns % 1000,
        (unsigned)record->batch, (unsigned)record->gpu, span->jobs);
    end_event(events, &text);
    events->lanes[record->worker] &= ~(UINT64_C(1) << span->lane);
    (void)map_remove(&events->runs, task_key(record));
    pool_give(&events->spans, slot);
}

static void add_load(struct trace_events *events, const struct record *record, const char *end)
{
    const struct catalogue *catalogue = events->options.catalogue;
    int64_t *began_ns =
        &events->loads_ns[(size_t)record->worker * catalogue->model_count + record->model];
    char bytes[EVENT_BYTES_MAX];
    struct text text;
    if (end == NULL) {
        *began_ns = record->at_ns;
        return;
    }
    const int64_t took_ns = record->at_ns - *began_ns;
    text_init(&text, bytes, sizeof(bytes));
    begin_event(
        &text, catalogue->models[record->model], 'X', *began_ns,
        events->options.fleet->workers[record->worker].node);
    text_add(
        &text,
        ",\"tid\":%" PRIu32 ",\"dur\":%" PRId64 ".%03" PRId64
        ",\"cat\":\"load\",\"args\":{\"end\":\"%s\"}",
        thread_of(record->worker, 0), took_ns / 1000, took_ns % 1000, end);
    end_event(events, &text);
}

/* The beginning or the end of something that is drawn by its own name. */
static void add_async(
    struct trace_events *events, const struct record *record, const char *what, char phase)
{
    const bool is_job = what[0] == 'j';
    char name[2 * NAME_BYTES_MAX];
    char bytes[EVENT_BYTES_MAX];
    struct text text;
    text_init(&text, bytes, sizeof(bytes));
    begin_event(
        &text,
        is_job ? events->options.catalogue->workflows[record->workflow]->name
               : task_name(events, record, name),
        phase, record->at_ns, events->options.fleet->node_count);
    text_add(
        &text, ",\"tid\":0,\"cat\":\"%s\",\"id\":\"%" PRIx64 "\"", what,
        is_job ? job_key(record->job) : task_key(record));
    if (phase == 'b') {
        text_add(&text, ",\"args\":{\"job\":");
        add_job(&text, record);
        text_add(&text, "}");
    }
    end_event(events, &text);
}

static void count_jobs(struct trace_events *events, const struct record *record, int64_t more)
{
    char bytes[EVENT_BYTES_MAX];
    struct text text;
    events->open_jobs += more;
    text_init(&text, bytes, sizeof(bytes));
    begin_event(&text, "jobs", 'C', record->at_ns, events->options.fleet->node_count);
    text_add(&text, ",\"tid\":0,\"args\":{\"open\":%" PRId64 "}", events->open_jobs);
    end_event(events, &text);
}

/* From the first input of a task that leaves for another machine until the task has all. */
static void add_transfer(struct trace_events *events, const struct record *record)
{
    const uint32_t node = events->options.fleet->workers[record->worker].node;
    const uint64_t key = task_key(record);
    const bool is_open = map_get(&events->transfers, key) != MAP_NONE;
    if (record->kind == RECORD_SENT && !is_open && node != record->node) {
        (void)map_reserve(&events->transfers, 1);
        map_put(&events->transfers, key, 0);
        add_async(events, record, "transfer", 'b');
    } else if (record->kind == RECORD_QUEUED && is_open) {
        (void)map_remove(&events->transfers, key);
        add_async(events, record, "transfer", 'e');
    }
}

void trace_events_add(struct trace_events *events, const struct record *record)
{
    switch (record->kind) {
    case RECORD_ARRIVED:
        add_async(events, record, "job", 'b');
        count_jobs(events, record, 1);
        return;
    case RECORD_ANSWERED:
        add_async(events, record, "job", 'e');
        count_jobs(events, record, -1);
        return;
    case RECORD_SENT:
    case RECORD_QUEUED:
        add_transfer(events, record);
        return;
    case RECORD_STARTED:
        start(events, record);
        return;
    case RECORD_ENDED:
    case RECORD_STOPPED:
    case RECORD_FAILED:
        stop(events, record);
        return;
    case RECORD_LOADING:
        add_load(events, record, /* end */ NULL);
        return;
    case RECORD_LOADED:
        add_load(events, record, "loaded");
        return;
    case RECORD_LOAD_FAILED:
        add_load(events, record, "failed");
        return;
    case RECORD_LOAD_DROPPED:
        add_load(events, record, "dropped");
        return;
    default:
        return;
    }
}
