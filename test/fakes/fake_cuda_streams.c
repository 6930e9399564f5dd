/*
 * fake_cuda_streams.c - the fake driver: streams, events, graphs and shares.
 *
 * tidy: foreign interface
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fakes/fake_cuda_inside.h"

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
EXPORT int cuStreamCreate(void **out, unsigned flags);
EXPORT int cuStreamCreateWithPriority(void **out, unsigned flags, int priority);
EXPORT int cuCtxGetStreamPriorityRange(int *least_out, int *greatest_out);
EXPORT int cuStreamDestroy_v2(void *stream);
EXPORT int cuStreamSynchronize(void *stream);
EXPORT int cuEventCreate(void **out, unsigned flags);
EXPORT int cuEventDestroy_v2(void *event);
EXPORT int cuEventRecord(void *event, void *stream);
EXPORT int cuEventQuery(void *event);
EXPORT int cuEventSynchronize(void *event);
EXPORT int cuStreamBeginCapture_v2(void *stream, int mode);
EXPORT int cuStreamEndCapture(void *stream, void **out);
EXPORT int cuGraphInstantiateWithFlags(void **out, void *graph, unsigned long long flags);
EXPORT int cuGraphLaunch(void *exec, void *stream);
EXPORT int cuGraphExecDestroy(void *exec);
EXPORT int cuGraphDestroy(void *graph);
EXPORT int cuDeviceGetDevResource(int device, struct cuda_resource *out, int type);
EXPORT int cuDevSmResourceSplitByCount(
    struct cuda_resource *parts, unsigned *count, const struct cuda_resource *whole,
    struct cuda_resource *rest, unsigned flags, unsigned size);
EXPORT int cuDevResourceGenerateDesc(void **out, struct cuda_resource *parts, unsigned count);
EXPORT int cuGreenCtxCreate(void **out, void *parts, int device, unsigned flags);
EXPORT int cuGreenCtxDestroy(void *green);
EXPORT int cuGreenCtxStreamCreate(void **out, void *green, unsigned flags, int priority);
EXPORT int cuModuleLoadData(void **out, const void *text);
EXPORT int cuModuleUnload(void *module);
EXPORT int cuModuleGetFunction(void **out, void *module, const char *name);
EXPORT int cuLaunchKernel(
    void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared, void *stream, void **arguments, void **extra);

struct copy {
    uint64_t to;
    uint64_t from;
    uint64_t bytes;
};

/* A line for the file that @name names in the environment, if it does. */
static void note_in(const char *name, const char *line)
{
    const char *path = getenv(name);
    FILE *file = path == NULL ? NULL : fopen(path, "a");
    if (file != NULL) {
        (void)fputs(line, file);
        (void)fclose(file);
    }
}

/* A line for the file of FAKE_RUNS: fake_cuda.h. */
static void note(const char *line)
{
    note_in(FAKE_RUNS, line);
}

static void run_copy_in(void *stream, const void *arguments)
{
    struct copy copy;
    (void)stream;
    memcpy(&copy, arguments, sizeof(copy));
    if (fake_cuda_touch(copy.to, copy.bytes) == 0) {
        memcpy((void *)(uintptr_t)copy.to, (const void *)(uintptr_t)copy.from, copy.bytes);
        fake.counts.copied_bytes += copy.bytes;
        fake.counts.copies++;
    }
}

static void run_copy_out(void *stream, const void *arguments)
{
    struct copy copy;
    (void)stream;
    memcpy(&copy, arguments, sizeof(copy));
    if (fake_cuda_touch(copy.from, copy.bytes) == 0) {
        memcpy((void *)(uintptr_t)copy.to, (const void *)(uintptr_t)copy.from, copy.bytes);
        note(find_range(RANGE_HOST, copy.to, copy.bytes) != NULL ? "out own\n" : "out there\n");
    }
}

struct gather {
    uint64_t to;
    const uint64_t *table;
    unsigned each;   /* Pieces of a row. */
    unsigned blocks; /* Of a row. */
    unsigned threads;
    unsigned grid;
};

/* What the table points at must be pinned when the kernel runs. */
static void run_gather(void *stream, const void *arguments)
{
    struct gather gather;
    (void)stream;
    memcpy(&gather, arguments, sizeof(gather));
    for (unsigned i = 0; i < gather.grid; i++) {
        const uint64_t first = (uint64_t)(i % gather.blocks) * gather.threads;
        const uint64_t left = first < gather.each ? gather.each - first : 0;
        const uint64_t bytes = 16 * (left < gather.threads ? left : gather.threads);
        const void *from = (const void *)(uintptr_t)(gather.table[i] + 16 * first);
        const uint64_t to = gather.to + 16 * ((uint64_t)(i / gather.blocks) * gather.each + first);
        if (!is_pinned(from, bytes) || (uintptr_t)from % 16 != 0) {
            wrong("a kernel that reads host memory which is not pinned, or not aligned");
        }
        if (fake_cuda_touch(to, bytes) == 0) {
            memcpy((void *)(uintptr_t)to, from, bytes);
        }
    }
    const uint64_t last = gather.table[gather.grid - 1];
    note(find_range(RANGE_REGISTERED, last, /* bytes */ 1) != NULL ? "there\n" : "own\n");
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    const int result = enter_context("cuMemcpyHtoDAsync");
    const struct copy copy = {.to = to, .from = (uint64_t)(uintptr_t)from, .bytes = bytes};
    if (!is_pinned(from, bytes)) {
        wrong("cuMemcpyHtoDAsync from memory that is not pinned");
    }
    const struct range *range = find_range(RANGE_MAPPED, to, bytes);
    if (find_range(RANGE_RESERVED, to, 1) != NULL &&
        (range == NULL || range->access != CUDA_READ_WRITE)) {
        return leave(1);
    }
    fake.copying++;
    fake.counts.copies_most =
        fake.copying > fake.counts.copies_most ? fake.copying : fake.counts.copies_most;
    char line[16];
    (void)snprintf(line, sizeof(line), "%u\n", fake.copying);
    note_in(FAKE_COPIES, line);
    return leave(
        result != 0 ? result
                    : put(check(stream, STREAM, "a copy"), run_copy_in, &copy, sizeof(copy)));
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    const int result = enter_context("cuMemcpyDtoHAsync");
    const struct copy copy = {.to = (uint64_t)(uintptr_t)to, .from = from, .bytes = bytes};
    if (!is_pinned(to, bytes)) {
        wrong("cuMemcpyDtoHAsync to memory that is not pinned");
    }
    return leave(
        result != 0 ? result
                    : put(check(stream, STREAM, "a copy"), run_copy_out, &copy, sizeof(copy)));
}

static int make_stream(void **out, unsigned flags, struct object *owner)
{
    if (flags != CUDA_STREAM_APART) {
        wrong("a stream that waits for the default stream");
    }
    struct object *stream = make(STREAM);
    stream->nodes = calloc(NODES_MAX, sizeof(*stream->nodes));
    stream->owner = owner;
    *out = stream;
    return CUDA_SUCCESS;
}

int cuStreamCreate(void **out, unsigned flags)
{
    const int result = enter_context("cuStreamCreate");
    return leave(result != 0 ? result : make_stream(out, flags, NULL));
}

int cuCtxGetStreamPriorityRange(int *least_out, int *greatest_out)
{
    const int result = enter_context("cuCtxGetStreamPriorityRange");
    *least_out = 0;
    *greatest_out = -FAKE_PRIORITIES;
    return leave(result);
}

int cuStreamCreateWithPriority(void **out, unsigned flags, int priority)
{
    const int result = enter_context("cuStreamCreateWithPriority");
    if (priority > 0 || priority < -FAKE_PRIORITIES) {
        wrong("a stream with a priority that the device has not");
    }
    if (result != 0) {
        return leave(result);
    }
    (void)make_stream(out, flags, NULL);
    ((struct object *)*out)->priority = priority;
    return leave(0);
}

int cuStreamDestroy_v2(void *handle)
{
    const int result = enter_context("cuStreamDestroy");
    struct object *stream = check(handle, STREAM, "cuStreamDestroy");
    if (stream->is_recording) {
        wrong("cuStreamDestroy of a stream that records");
    }
    destroy(stream);
    return leave(result);
}

/* A wait without end: the test that wanted it kills this process. */
static void wait_forever(void)
{
    (void)pthread_mutex_unlock(&fake.lock);
    for (;;) {
        (void)pause();
    }
}

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* How many other streams than @stream run at @now. */
static int64_t others_beside(const struct object *stream, int64_t now)
{
    int64_t others = 0;
    for (uint32_t i = 0; i < OBJECTS_MAX; i++) {
        const struct object *other = &fake.objects[i];
        others += other->is_live && other->kind == STREAM && other != stream && other->busy_ns > now
                      ? 1
                      : 0;
    }
    return others;
}

/* A graph is launched on @stream: one after another they take their time. */
static void take_time(struct object *stream)
{
    const char *us = getenv(FAKE_RUN_US);
    const char *more_us = getenv(FAKE_BESIDE_US);
    if (us != NULL) {
        const int64_t now = now_ns();
        const int64_t others = more_us == NULL ? 0 : others_beside(stream, now);
        stream->busy_ns = stream->busy_ns > now ? stream->busy_ns : now;
        stream->busy_ns += strtol(us, NULL, 10) * 1000;
        stream->busy_ns += more_us == NULL ? 0 : others * strtol(more_us, NULL, 10) * 1000;
    }
}

int cuStreamSynchronize(void *handle)
{
    const int result = enter_context("cuStreamSynchronize");
    const struct object *stream = check(handle, STREAM, "cuStreamSynchronize");
    if (stream->is_recording) {
        wrong("cuStreamSynchronize of a stream that records");
    }
    if (stream->is_hung && result == 0) {
        wait_forever();
    }
    fake.copying = 0;
    return leave(result);
}

int cuEventCreate(void **out, unsigned flags)
{
    const int result = enter_context("cuEventCreate");
    if (flags != CUDA_EVENT_UNTIMED) {
        wrong("an event that keeps times");
    }
    *out = make(EVENT);
    return leave(result);
}

/* What @event stands for has ended. */
static void end_use(struct object *event)
{
    if (event->uses != NULL) {
        event->uses->users--;
        event->uses = NULL;
    }
}

int cuEventDestroy_v2(void *event)
{
    const int result = enter_context("cuEventDestroy");
    struct object *object = check(event, EVENT, "cuEventDestroy");
    end_use(object);
    destroy(object);
    return leave(result);
}

int cuEventRecord(void *handle, void *stream)
{
    const int result = enter_context("cuEventRecord");
    struct object *event = check(handle, EVENT, "cuEventRecord");
    event->stream = check(stream, STREAM, "cuEventRecord");
    if (event->stream->is_recording) {
        wrong("cuEventRecord on a stream that records");
    }
    end_use(event);
    event->was_recorded = true;
    event->questions = event->stream->lingers;
    event->busy_ns = event->stream->busy_ns;
    event->uses = event->stream->uses;
    event->stream->lingers = 0;
    event->stream->uses = NULL;
    if (event->uses != NULL) {
        event->uses->users++;
    }
    return leave(result);
}

int cuEventQuery(void *handle)
{
    int result = enter_context("cuEventQuery");
    struct object *event = check(handle, EVENT, "cuEventQuery");
    if (!event->was_recorded) {
        wrong("cuEventQuery of an event that was not recorded");
    }
    if (result == 0 && (event->stream->is_hung || event->questions > 0)) {
        event->questions -= event->questions > 0 ? 1 : 0;
        result = CUDA_NOT_READY;
    } else if (result == 0 && event->busy_ns > 0 && now_ns() < event->busy_ns) {
        result = CUDA_NOT_READY;
    } else {
        end_use(event);
    }
    return leave(result);
}

int cuEventSynchronize(void *handle)
{
    const int result = enter_context("cuEventSynchronize");
    struct object *event = check(handle, EVENT, "cuEventSynchronize");
    if (!event->was_recorded) {
        wrong("cuEventSynchronize of an event that was not recorded");
    }
    if (event->stream->is_hung && result == 0) {
        wait_forever();
    }
    event->questions = 0;
    end_use(event);
    fake.copying -= fake.copying > 0 ? 1 : 0;
    return leave(result);
}

/* Without the lock: everything else goes on. */
static void wait_for_gate(void)
{
    const char *gate = getenv(FAKE_GATE);
    while (gate != NULL && access(gate, F_OK) == 0) {
        (void)usleep(/* us */ 1000);
    }
}

int cuStreamBeginCapture_v2(void *handle, int mode)
{
    wait_for_gate();
    const int result = enter_context("cuStreamBeginCapture");
    struct object *stream = check(handle, STREAM, "cuStreamBeginCapture");
    if (stream->is_recording || fake_recording != NULL || mode != CUDA_CAPTURE_THREAD) {
        wrong("cuStreamBeginCapture of a stream that records, or in another mode");
    }
    if (result == 0) {
        stream->is_recording = true;
        stream->node_count = 0;
        fake_recording = stream;
    }
    return leave(result);
}

/* A graph, or what can be launched of one, with the nodes of @from. */
static struct object *make_graph(enum kind kind, const struct object *from)
{
    struct object *graph = make(kind);
    graph->nodes = calloc(NODES_MAX, sizeof(*graph->nodes));
    memcpy(graph->nodes, from->nodes, NODES_MAX * sizeof(*graph->nodes));
    graph->node_count = from->node_count;
    graph->stream = from->kind == GRAPH ? from->stream : NULL;
    return graph;
}

int cuStreamEndCapture(void *handle, void **out)
{
    const int result = enter_context("cuStreamEndCapture");
    struct object *stream = check(handle, STREAM, "cuStreamEndCapture");
    if (!stream->is_recording || fake_recording != stream) {
        wrong("cuStreamEndCapture of a stream that this thread does not record");
    }
    stream->is_recording = false;
    fake_recording = NULL;
    fake.counts.captures++;
    struct object *graph = make_graph(GRAPH, stream);
    graph->stream = stream;
    *out = graph;
    return leave(result);
}

/* Tell a test where a graph runs, or will: fake_cuda.h. */
static void note_run(const char *what, const struct object *stream)
{
    char line[32];
    const uint64_t processors = stream->owner == NULL ? 0 : stream->owner->bytes;
    (void)snprintf(line, sizeof(line), "%s%llx\n", what, (unsigned long long)processors);
    note(line);
}

static void mind_graphs(void)
{
    const char *most = getenv(FAKE_GRAPHS_MOST);
    uint32_t count = 0;
    for (uint32_t i = 0; i < OBJECTS_MAX && most != NULL; i++) {
        count += fake.objects[i].is_live && fake.objects[i].kind == EXEC ? 1 : 0;
    }
    if (most != NULL && count > (uint32_t)strtoul(most, NULL, 10)) {
        wrong("more than %s graphs", most);
    }
}

int cuGraphInstantiateWithFlags(void **out, void *graph, unsigned long long flags)
{
    const int result = enter_context("cuGraphInstantiate");
    if (flags != 0) {
        wrong("cuGraphInstantiate with flags");
    }
    *out = make_graph(EXEC, check(graph, GRAPH, "cuGraphInstantiate"));
    mind_graphs();
    note_run("+", ((const struct object *)*out)->stream);
    return leave(result);
}

/* What a test expects of the streams that an engine process uses: fake_cuda.h. */
static void mind_expectations(struct object *stream)
{
    const char *most = getenv(FAKE_STREAMS_MOST);
    fake.streams_used += stream->was_used ? 0 : 1;
    stream->was_used = true;
    if (most != NULL && fake.streams_used > (uint32_t)strtoul(most, NULL, 10)) {
        wrong("work on more than %s streams", most);
    }
    if (getenv(FAKE_NEEDS_PRIORITY) != NULL && stream->priority == 0) {
        wrong("cuGraphLaunch on a stream without a priority");
    }
}

int cuGraphLaunch(void *handle, void *target)
{
    const int result = enter_context("cuGraphLaunch");
    const struct object *exec = check(handle, EXEC, "cuGraphLaunch");
    struct object *stream = check(target, STREAM, "cuGraphLaunch");
    if (exec->stream->owner != stream->owner) {
        wrong("cuGraphLaunch on another share than it was recorded on");
    }
    mind_expectations(stream);
    take_time(stream);
    note_run("", stream);
    for (uint32_t i = 0; i < exec->node_count && result == 0; i++) {
        (void)put(
            stream, exec->nodes[i].run, exec->nodes[i].arguments, sizeof(exec->nodes[i].arguments));
    }
    fake.counts.launches++;
    return leave(result);
}

int cuGraphExecDestroy(void *exec)
{
    const int result = enter_context("cuGraphExecDestroy");
    destroy(check(exec, EXEC, "cuGraphExecDestroy"));
    note("-\n");
    return leave(result);
}

int cuGraphDestroy(void *graph)
{
    const int result = enter_context("cuGraphDestroy");
    destroy(check(graph, GRAPH, "cuGraphDestroy"));
    return leave(result);
}

int cuDeviceGetDevResource(int device, struct cuda_resource *out, int type)
{
    const int result = enter("cuDeviceGetDevResource");
    (void)device;
    *out = (struct cuda_resource){.type = type, .sm = {.count = FAKE_PROCESSORS}};
    return leave(result);
}

int cuDevSmResourceSplitByCount(
    struct cuda_resource *parts, unsigned *count, const struct cuda_resource *whole,
    struct cuda_resource *rest, unsigned flags, unsigned size)
{
    const int result = enter("cuDevSmResourceSplitByCount");
    if (flags != 0 || size != 8 || whole->sm.count != FAKE_PROCESSORS) {
        wrong("cuDevSmResourceSplitByCount with such arguments");
    }
    if (result != 0 || fake.is_whole || getenv("FAKE_CUDA_WHOLE") != NULL) {
        return leave(result != 0 ? result : 801);
    }
    const unsigned most = FAKE_UNITS - 1; /* As the real one: the last four are of no group. */
    *count = *count < most ? *count : most;
    for (unsigned i = 0; i < *count; i++) {
        parts[i] = (struct cuda_resource){.type = CUDA_RESOURCE_SM, .sm = {.count = size}};
        parts[i].internal[0] = (unsigned char)(i + 1);
    }
    *rest = (struct cuda_resource){.type = CUDA_RESOURCE_SM, .sm = {.count = 12}};
    rest->internal[0] = FAKE_UNITS;
    return leave(0);
}

int cuDevResourceGenerateDesc(void **out, struct cuda_resource *parts, unsigned count)
{
    static struct object descriptions[64];
    static unsigned next;
    const int result = enter("cuDevResourceGenerateDesc");
    uint64_t units = 0;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t unit = UINT64_C(1) << parts[i].internal[0];
        if (parts[i].internal[0] == 0 || (units & unit) != 0) {
            wrong("cuDevResourceGenerateDesc of the same part twice, or of none");
        }
        units |= unit;
    }
    struct object *description = &descriptions[next++ % 64]; /* The driver keeps them, too. */
    *description = (struct object){.kind = DESCRIPTION, .is_live = true, .bytes = units};
    *out = description;
    return leave(result);
}

int cuGreenCtxCreate(void **out, void *parts, int device, unsigned flags)
{
    const int result = enter("cuGreenCtxCreate");
    const struct object *description = parts;
    (void)device;
    if (description->kind != DESCRIPTION || flags != CUDA_GREEN_DEFAULT_STREAM) {
        wrong("cuGreenCtxCreate with such arguments");
    }
    if (result != 0) {
        return leave(result);
    }
    struct object *green = make(GREEN);
    green->bytes = description->bytes;
    *out = green;
    return leave(0);
}

int cuGreenCtxDestroy(void *handle)
{
    const int result = enter("cuGreenCtxDestroy");
    struct object *green = check(handle, GREEN, "cuGreenCtxDestroy");
    for (uint32_t i = 0; i < OBJECTS_MAX; i++) {
        const struct object *other = &fake.objects[i];
        if (other->is_live && other->kind == STREAM && other->owner == green) {
            wrong("cuGreenCtxDestroy while it has a stream");
        }
    }
    destroy(green);
    return leave(result);
}

int cuGreenCtxStreamCreate(void **out, void *green, unsigned flags, int priority)
{
    const int result = enter("cuGreenCtxStreamCreate");
    (void)priority;
    return leave(
        result != 0 ? result
                    : make_stream(out, flags, check(green, GREEN, "cuGreenCtxStreamCreate")));
}

int cuModuleLoadData(void **out, const void *text)
{
    const int result = enter_context("cuModuleLoadData");
    if (strstr(text, ".entry weft_gather") == NULL) {
        wrong("cuModuleLoadData of something else");
    }
    *out = make(MODULE);
    return leave(result);
}

int cuModuleUnload(void *handle)
{
    const int result = enter_context("cuModuleUnload");
    struct object *module = check(handle, MODULE, "cuModuleUnload");
    destroy(module);
    return leave(result);
}

int cuModuleGetFunction(void **out, void *module, const char *name)
{
    static struct object function = {.kind = FUNCTION, .is_live = true};
    const int result = enter_context("cuModuleGetFunction");
    (void)check(module, MODULE, "cuModuleGetFunction");
    (void)snprintf(function.name, sizeof(function.name), "%s", name);
    *out = &function;
    return leave(result);
}

int cuLaunchKernel(
    void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared, void *stream, void **arguments, void **extra)
{
    const int result = enter_context("cuLaunchKernel");
    const struct object *kernel = function;
    const struct gather gather = {
        .to = *(uint64_t *)arguments[0],
        .table = *(const uint64_t **)arguments[1],
        .each = *(unsigned *)arguments[2],
        .blocks = *(unsigned *)arguments[3],
        .threads = bx,
        .grid = gx,
    };
    if (strcmp(kernel->name, "weft_gather") != 0 || gather.blocks == 0 || gx % gather.blocks != 0 ||
        gather.blocks * bx < gather.each || gy != 1 || gz != 1 || by != 1 || bz != 1 ||
        shared != 0 || extra != NULL) {
        wrong("cuLaunchKernel with such arguments");
    }
    if (!is_pinned(gather.table, gx * sizeof(*gather.table))) {
        wrong("a kernel that reads a table which is not pinned");
    }
    return leave(
        result != 0 ? result
                    : put(check(stream, STREAM, "a kernel"), run_gather, &gather, sizeof(gather)));
}
